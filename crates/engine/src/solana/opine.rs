//! What each source says of a Solana transaction: packs over programs and their instructions, the standard programs, and the
//! shape of what moved.

use std::sync::Arc;

use alloy_primitives::U256;

use super::Key;
use super::instructions::{InstructionEffect, SYSTEM};
use super::json::{Effects, Instruction};
use super::programs::{self, Matched};
use super::scene::SolanaScene;
use crate::asset::{Account, Asset};
use crate::category::Category;
use crate::legs::{Direction, Leg};
use crate::opinion::{Opinion, Source, Strength};
use crate::rules::{Rules, TransferRule};
use crate::scene::{Outcome, Own};
use crate::shares::{Shares, Tie};
use crate::sources::{OPINIONS_MAX, Opinions, shape, spam};

/// What packs match in the transaction, looked up once and the same for every source.
struct PackMatches<'a> {
    /// Nothing came in but tokens that lure or imitate, and the wallet did not ask: they are spam, whatever else the transaction calls.
    bait: Option<Opinion>,
    programs: Matched<'a>,
    transfers: Vec<ListedTransfer<'a>>,
    /// Fees beside an exchange, for somebody whom no pack knows, and rent.
    beside: Vec<Opinion>,
    /// What the legs come to without fees and rent.
    left: Vec<U256>,
}

impl<'a> PackMatches<'a> {
    fn of(scene: &'a SolanaScene<'_>, rules: &'a Rules) -> Self {
        let bait = if scene.acts { None } else { spam::unsolicited(scene, rules) };
        let left = scene.legs.iter().map(|leg| leg.amount).collect();
        let mut known = Self { bait, programs: Matched::default(), transfers: vec![], beside: vec![], left };
        if known.bait.is_some() {
            return known;
        }
        known.programs = Matched::of(scene, rules);
        known.transfers = listed_transfers(scene, rules);
        for fee in known.transfers.iter().filter(|transfer| transfer.is_fee()) {
            take(&mut known.left, fee.leg, fee.amount);
        }
        let small_fees = programs::small_fees(scene, rules, &known.programs, &known.left);
        known.add_beside(small_fees);
        let rent = programs::rent(scene, &known.programs, &known.left);
        known.add_beside(rent);
        known
    }

    fn add_beside(&mut self, said: impl IntoIterator<Item = Opinion>) {
        for opinion in said {
            for share in opinion.explains.iter() {
                take(&mut self.left, share.leg, share.amount);
            }
            self.beside.push(opinion);
        }
    }

    /// No pack has a rule for what was asked or for whom it went to, but for a fee beside it.
    fn is_nothing(&self) -> bool {
        self.bait.is_none() && self.programs.rules.is_empty() && self.transfers.iter().all(ListedTransfer::is_fee)
    }
}

fn take(left: &mut [U256], leg: usize, amount: U256) {
    if let Some(left) = left.get_mut(leg) {
        *left = left.saturating_sub(amount);
    }
}

/// Sources get the scene, the rules and what packs know. None gets what another said.
pub fn opine(scene: &SolanaScene<'_>, rules: &Rules) -> Opinions {
    if scene.outcome == Outcome::Failed {
        return Opinions::default();
    }
    let known = PackMatches::of(scene, rules);
    let mut opinions = programs::opinions(scene, rules, &known.programs, &known.left);
    opinions.said.extend(transfers(scene, rules, &known));
    opinions.said.extend(plain(scene, rules, &known));
    opinions.said.extend(exchanged(scene, rules, &known));
    opinions.said.extend(untouched(scene, rules, &known));
    opinions.said.extend(shape::opinion(scene));
    opinions.said.extend(known.beside);
    opinions.said.extend(known.bait);
    opinions.is_cut = opinions.said.len() >= OPINIONS_MAX;
    opinions
}

/// What moved with an account that a pack lists as one where a plain transfer is an action.
struct ListedTransfer<'a> {
    leg: usize,
    amount: U256,
    pack: usize,
    rule: &'a TransferRule,
}

impl ListedTransfer<'_> {
    /// Paid beside whatever else the transaction is about.
    fn is_fee(&self) -> bool {
        self.rule.means == Category::FeePayment
    }
}

/// Fees movement by movement; anything else only where the rest of the leg has one other side.
fn listed_transfers<'a>(scene: &SolanaScene<'_>, rules: &'a Rules) -> Vec<ListedTransfer<'a>> {
    let mut found: Vec<ListedTransfer<'a>> = Vec::new();
    let is_fee = |leg: &Leg, other| matches!(other, Account::Solana(key) if programs::takes_fee(scene, rules, &key, (leg.direction, leg.asset)));
    for (at, leg) in scene.legs.iter().enumerate() {
        let moved = scene.moved(leg.direction, leg.asset).iter();
        let (fees, others): (Vec<&Own>, Vec<&Own>) = moved.partition(|own| is_fee(leg, own.other));
        let mut left = leg.amount;
        for fee in fees {
            let amount = fee.amount.min(left);
            left = left.saturating_sub(amount);
            let rules = listed(scene, rules, leg, fee.other).into_iter().take(1);
            found.extend(rules.map(|(pack, rule)| ListedTransfer { leg: at, amount, pack, rule }));
        }
        let Some(other) = others.first().map(|own| own.other) else { continue };
        if others.iter().all(|own| own.other == other) {
            let rules = listed(scene, rules, leg, other).into_iter();
            found.extend(rules.map(|(pack, rule)| ListedTransfer { leg: at, amount: left, pack, rule }));
        }
    }
    found
}

/// What packs say of a transfer of this leg's kind with the account.
fn listed<'a>(scene: &SolanaScene<'_>, rules: &'a Rules, leg: &Leg, other: Account) -> Vec<(usize, &'a TransferRule)> {
    let Account::Solana(key) = other else { return Vec::new() };
    programs::transfer_rules(rules, &key).filter(|(_, rule)| rule.fits(leg.direction, leg.asset, scene.block)).collect()
}

fn transfers<'a>(
    scene: &'a SolanaScene<'_>,
    rules: &'a Rules,
    known: &'a PackMatches<'_>,
) -> impl Iterator<Item = Opinion> + use<'a> {
    // With nothing beside it, what would be a fee is what the transaction is about: coin is given for a service.
    let is_alone = known.is_nothing() && known.left.iter().all(U256::is_zero) && is_plumbing_only(scene, rules);
    known.transfers.iter().map(move |transfer| {
        let ListedTransfer { leg, amount, pack, rule } = transfer;
        let means = if is_alone { Category::Payment } else { rule.means };
        let explains = if transfer.is_fee() {
            Shares::one(*leg, *amount, Tie::Stated)
        } else {
            // What is left beside it is the rent of the account that receives it.
            let mut explains = rent_of(scene, &known.left);
            if !explains.contains(*leg) {
                explains.push(*leg, *amount, Tie::Linked);
            }
            explains
        };
        Opinion {
            protocol: rules.protocol(*pack),
            role: means.meaning().role,
            may_exchange: rules.may_exchange(*pack),
            ..Opinion::new(Source::Protocol, rule.id.clone(), means, Strength::Verified, explains)
        }
    })
}

fn rent_of(scene: &SolanaScene<'_>, left: &[U256]) -> Shares {
    linked(scene.legs.iter().zip(left).map(|(leg, left)| if scene.is_rent(leg) { *left } else { U256::ZERO }))
}

/// So much of each leg.
fn linked(amounts: impl Iterator<Item = U256>) -> Shares {
    let mut shares = Shares::default();
    for (at, amount) in amounts.enumerate() {
        shares.push(at, amount, Tie::Linked);
    }
    shares
}

/// Only the standard programs ran: accounts were opened or closed, or something was handed over.
fn plain(scene: &SolanaScene<'_>, rules: &Rules, known: &PackMatches<'_>) -> Option<Opinion> {
    let left = known.left.as_slice();
    let is_only_fees = !left.is_empty() && left.iter().all(U256::is_zero);
    if !known.is_nothing() || is_only_fees || !is_plumbing_only(scene, rules) {
        return None;
    }
    let has = |direction| scene.legs.iter().any(|leg| leg.direction == direction);
    let did = |wanted: fn(&InstructionEffect) -> bool| scene.done.iter().any(|(_, done)| wanted(done));
    if did(|done| matches!(done, InstructionEffect::HandedOver)) && scene.legs.is_empty() {
        return None;
    }
    // Coin that no instruction moved is what a program did with an account of its own.
    if scene.legs.iter().any(|leg| leg.asset == Asset::Native && !scene.is_seen(leg)) {
        return None;
    }
    let is_nft_or_rent = |leg: &Leg| leg.asset.is_nft() || scene.is_rent(leg);
    let category = match (has(Direction::Out), has(Direction::In)) {
        (true, true) => return None,
        (false, false) if moves_to_itself(scene) => {
            let to_itself = by_itself(left, Source::Call, "solana/to-itself", Category::SelfTransfer);
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
    Some(by_itself(left, Source::Call, "solana/plain", category))
}

/// The wallet only signed: nothing of its own moved or was handed over, it called no protocol that a pack knows, and no program that ran may hold a
/// position for it. Without a wallet in the question the caller may be another account, so nothing may have moved for anybody.
fn untouched(scene: &SolanaScene<'_>, rules: &Rules, known: &PackMatches<'_>) -> Option<Opinion> {
    let is_still = scene.legs.is_empty() && scene.flows.is_empty() && scene.handed_over.is_empty();
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
        .then(|| by_itself(&[], Source::Call, "solana/nothing-moved", Category::ContractCall))
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
        InstructionEffect::Item { from, to, .. } => *from == scene.wallet_key && from == to,
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
        .then(|| by_itself(&known.left, Source::Shape, "shape/exchanged", Category::Swap))
}

/// Of all that is left.
fn by_itself(left: &[U256], source: Source, rule: &str, category: Category) -> Opinion {
    Opinion::new(source, rule, category, Strength::Standard, linked(left.iter().copied()))
}

/// A name for the protocol even where no rule decided: of a program that some pack lists, the outermost first.
pub fn named(scene: &SolanaScene<'_>, rules: &Rules) -> Option<Arc<str>> {
    let instructions = scene.facts.transaction.instructions.iter();
    let named = instructions.filter_map(|instruction| Some((instruction.depth, name(&instruction.program, rules)?)));
    named.min_by_key(|(depth, _)| *depth).map(|(_, name)| name)
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
