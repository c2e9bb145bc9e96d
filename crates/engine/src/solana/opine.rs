//! What each source says of a Solana transaction: packs over programs and their instructions, the standard programs, and the
//! shape of what moved.

use std::sync::Arc;

use super::Key;
use super::instructions::{InstructionEffect, SYSTEM};
use super::json::{Effects, Instruction};
use super::programs::{self, Match};
use super::scene::SolanaScene;
use crate::asset::{Account, Asset};
use crate::category::Category;
use crate::legs::{Direction, Leg};
use crate::opinion::{Opinion, Source, Strength};
use crate::rules::file::TransferDirection;
use crate::rules::{Rules, TransferRule};
use crate::scene::Outcome;
use crate::shares::{Shares, Tie};
use crate::sources::{OPINIONS_MAX, Opinions, shape, spam};

/// What packs match in the transaction, looked up once and the same for every source.
struct PackMatches<'a> {
    /// Nothing came in but tokens that lure or imitate, and the wallet did not ask: they are spam, whatever else the transaction calls.
    bait: Option<Opinion>,
    instructions: Vec<Match<'a>>,
    transfers: Vec<ListedTransfer<'a>>,
}

impl PackMatches<'_> {
    /// No pack has a rule for what was asked or for whom it went to.
    fn is_nothing(&self) -> bool {
        self.bait.is_none() && self.instructions.is_empty() && self.transfers.is_empty()
    }
}

fn known<'a>(scene: &'a SolanaScene<'_>, rules: &'a Rules) -> PackMatches<'a> {
    let bait = if scene.acts { None } else { spam::unsolicited(scene, rules) };
    if bait.is_some() {
        return PackMatches { bait, instructions: Vec::new(), transfers: Vec::new() };
    }
    PackMatches { bait, instructions: programs::matches(scene, rules), transfers: listed_transfers(scene, rules) }
}

/// Sources get the scene, the rules and what packs know. None gets what another said.
pub fn opine(scene: &SolanaScene<'_>, rules: &Rules) -> Opinions {
    if scene.outcome == Outcome::Failed {
        return Opinions::default();
    }
    let known = known(scene, rules);
    let mut opinions = programs::opinions(scene, rules, &known.instructions);
    opinions.said.extend(transfers(scene, rules, &known.transfers));
    opinions.said.extend(plain(scene, rules, &known));
    opinions.said.extend(exchanged(scene, rules, &known));
    opinions.said.extend(untouched(scene, rules, &known));
    opinions.said.extend(shape::opinion(scene));
    opinions.said.extend(known.bait);
    opinions.is_cut = opinions.said.len() >= OPINIONS_MAX;
    opinions
}

/// A leg whose counterparty is listed by a pack as one where a plain transfer is an action.
struct ListedTransfer<'a> {
    leg: usize,
    pack: usize,
    rule: &'a TransferRule,
}

fn listed_transfers<'a>(scene: &SolanaScene<'_>, rules: &'a Rules) -> Vec<ListedTransfer<'a>> {
    let mut found = Vec::new();
    for (at, leg) in scene.legs.iter().enumerate() {
        let Account::Solana(other) = leg.other else { continue };
        if !scene.moved(leg.direction, leg.asset).iter().all(|own| own.other == leg.other) {
            continue;
        }
        for holder in rules.solana.holders(&other) {
            let fits = |way: TransferDirection| {
                matches!(
                    (way, leg.direction),
                    (TransferDirection::Out, Direction::Out) | (TransferDirection::In, Direction::In)
                )
            };
            let all = rules.transfers(holder.pack, &holder.role).iter();
            let fitting = all.filter(|rule| fits(rule.way) && (!rule.native || leg.asset == Asset::Native));
            found.extend(fitting.map(|rule| ListedTransfer { leg: at, pack: holder.pack, rule }));
        }
    }
    found
}

fn transfers<'a>(
    scene: &'a SolanaScene<'_>,
    rules: &'a Rules,
    listed: &'a [ListedTransfer<'_>],
) -> impl Iterator<Item = Opinion> + use<'a> {
    listed.iter().map(|ListedTransfer { leg, pack, rule }| {
        // What is left beside it is the rent of the account that receives it.
        let mut explains = rent_of(scene);
        if let Some(of_leg) = scene.legs.get(*leg).filter(|_| !explains.contains(*leg)) {
            explains.push(*leg, of_leg.amount, Tie::Linked);
        }
        Opinion {
            protocol: rules.protocol(*pack),
            role: rule.means.meaning().role,
            may_exchange: rules.may_exchange(*pack),
            ..Opinion::new(Source::Protocol, rule.id.clone(), rule.means, Strength::Verified, explains)
        }
    })
}

fn rent_of(scene: &SolanaScene<'_>) -> Shares {
    Shares::whole(scene.legs.iter().enumerate().filter(|(_, leg)| scene.is_rent(leg)))
}

/// Only the standard programs ran: accounts were opened or closed, or something was handed over.
fn plain(scene: &SolanaScene<'_>, rules: &Rules, known: &PackMatches<'_>) -> Option<Opinion> {
    if !known.is_nothing() || !is_plumbing_only(scene, rules) {
        return None;
    }
    let has = |direction| scene.legs.iter().any(|leg| leg.direction == direction);
    let did = |wanted: fn(&InstructionEffect) -> bool| scene.done.iter().any(|(_, done)| wanted(done));
    if did(|done| matches!(done, InstructionEffect::HandedOver)) && scene.legs.is_empty() {
        return None;
    }
    let is_nft_or_rent = |leg: &Leg| leg.asset.is_nft() || scene.is_rent(leg);
    let category = match (has(Direction::Out), has(Direction::In)) {
        (true, true) => return None,
        (false, false) if moves_to_itself(scene) => {
            let to_itself = by_itself(scene, Source::Call, "solana/to-itself", Category::SelfTransfer);
            return Some(Opinion { has_no_balance_leg: true, ..to_itself });
        }
        (false, false) if did(|done| matches!(done, InstructionEffect::Approved)) => Category::Approval,
        (false, false) if did(|done| matches!(done, InstructionEffect::Revoked)) => Category::Revoke,
        (false, false) if did(|done| matches!(done, InstructionEffect::Closed { .. })) => Category::AccountClose,
        (false, false) if did(|done| matches!(done, InstructionEffect::Opened { .. })) => Category::AccountOpen,
        (false, false) => Category::ContractCall,
        (true, false) if scene.flows.iter().any(|flow| !flow.comes_in && flow.party == SYSTEM) => Category::TokenBurn,
        _ if scene.legs.iter().any(|leg| leg.asset.is_nft()) && scene.legs.iter().all(is_nft_or_rent) => {
            Category::NftTransfer
        }
        _ => Category::Transfer,
    };
    Some(by_itself(scene, Source::Call, "solana/plain", category))
}

/// The wallet only signed: nothing of its own moved or was handed over, it called no protocol that a pack knows, and no program that ran may hold a
/// position for it. Without a wallet in the question the caller may be another account, so nothing may have moved for anybody.
fn untouched(scene: &SolanaScene<'_>, rules: &Rules, known: &PackMatches<'_>) -> Option<Opinion> {
    let is_still = scene.legs.is_empty() && scene.flows.is_empty() && scene.lost.is_empty();
    let is_handed_over = scene.done.iter().any(|(_, done)| matches!(done, InstructionEffect::HandedOver));
    let is_outside = |Instruction { program, depth, .. }: &Instruction| {
        let holders = || rules.solana.holders(program);
        let is_known = *depth == 1 && rules.has_protocol(holders());
        programs::is_plumbing(program, rules) || !(is_known || rules.may_hold_positions(holders()))
    };
    let is_about_wallet =
        scene.is_wallet_named || scene.facts.transaction.effects.as_ref().is_some_and(Effects::is_only_fee);
    let is_asked = is_about_wallet && scene.acts && known.is_nothing() && !is_plumbing_only(scene, rules);
    (is_asked && is_still && !is_handed_over && scene.facts.transaction.instructions.iter().all(is_outside))
        .then(|| by_itself(scene, Source::Call, "solana/nothing-moved", Category::ContractCall))
}

fn is_plumbing_only(scene: &SolanaScene<'_>, rules: &Rules) -> bool {
    scene.facts.transaction.instructions.iter().all(|instruction| programs::is_plumbing(&instruction.program, rules))
}

/// Coin or tokens sent from the wallet to the wallet; making or filling an account of its own is no such move.
fn moves_to_itself(scene: &SolanaScene<'_>) -> bool {
    scene.done.iter().any(|(_, done)| match done {
        InstructionEffect::Lamports { from, to, amount } => *from == scene.wallet_key && from == to && *amount > 0,
        InstructionEffect::Tokens { from, to, amount } => {
            let is_own = |account: &Key| scene.owners.get(account) == Some(&scene.wallet_key);
            is_own(from) && is_own(to) && *amount > 0
        }
        InstructionEffect::Minted { .. }
        | InstructionEffect::Burned { .. }
        | InstructionEffect::Opened { .. }
        | InstructionEffect::Closed { .. }
        | InstructionEffect::Approved
        | InstructionEffect::Revoked
        | InstructionEffect::HandedOver => false,
    })
}

/// One asset for another through a program that no pack lists: a swap by its shape, and no stronger than that. Coin that only
/// went into new accounts or to those who submit transactions, or came out of closed ones, is no side of an exchange.
fn exchanged(scene: &SolanaScene<'_>, rules: &Rules, known: &PackMatches<'_>) -> Option<Opinion> {
    if !known.is_nothing() {
        return None;
    }
    let sides: Vec<&Leg> = scene.legs.iter().filter(|leg| !scene.is_rent(leg)).collect();
    let [one, other] = sides.as_slice() else { return None };
    let is_pair = one.direction != other.direction && !one.asset.is_nft() && !other.asset.is_nft();
    let is_made = one.minted_or_burned || other.minted_or_burned;
    let may_be_else = programs::may_mean_other_than_swap(scene, rules);
    let called: Vec<&Instruction> = (scene.facts.transaction.instructions.iter())
        .filter(|instruction| instruction.depth == 1 && !programs::is_plumbing(&instruction.program, rules))
        .collect();
    let [only] = called.as_slice() else { return None };
    let is_inside = scene.flows.iter().all(|flow| flow.outer == only.outer || scene.is_small(flow));
    let is_bait = sides.iter().any(|leg| spam::is_bait(scene, rules, leg));
    (scene.acts && is_pair && !is_made && !may_be_else && is_inside && !is_bait)
        .then(|| by_itself(scene, Source::Shape, "shape/exchanged", Category::Swap))
}

fn by_itself(scene: &SolanaScene<'_>, source: Source, rule: &str, category: Category) -> Opinion {
    Opinion::new(source, rule, category, Strength::Standard, Shares::whole(scene.legs.iter().enumerate()))
}

/// A name for the protocol even where no rule decided: of a program that some pack lists, the outermost first.
pub fn named(scene: &SolanaScene<'_>, rules: &Rules) -> Option<Arc<str>> {
    let mut programs: Vec<(usize, Key)> = scene
        .facts
        .transaction
        .instructions
        .iter()
        .map(|instruction| (instruction.depth, instruction.program))
        .collect();
    programs.sort_by_key(|(depth, _)| *depth);
    programs.iter().find_map(|(_, program)| name(program, rules))
}

/// The name of the first called program that is neither standard nor quiet.
pub fn called(scene: &SolanaScene<'_>, rules: &Rules) -> Option<Arc<str>> {
    let outer = scene.facts.transaction.instructions.iter().filter(|instruction| instruction.depth == 1);
    let mut programs =
        outer.map(|instruction| instruction.program).filter(|program| !programs::is_plumbing(program, rules));
    programs.find_map(|program| name(&program, rules))
}

fn name(program: &Key, rules: &Rules) -> Option<Arc<str>> {
    let mut holders = rules.solana.holders(program).filter(|holder| !holder.is_quiet);
    holders.find_map(|holder| rules.protocol(holder.pack))
}
