//! What packs make of the programs that ran and of the instructions that they were given.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::U256;

use super::instructions::{InstructionEffect, SYSTEM, TOKEN_RENT_LAMPORTS_MAX, WRAPPED_SOL};
use super::json::Instruction;
use super::movements::Flow;
use super::scene::SolanaScene;
use super::{Key, instructions};
use crate::asset::{Asset, Seen};
use crate::category::{Category, Legs, Nature, Presence};
use crate::legs::{Direction, LEGS_MAX, Leg, position};
use crate::opinion::{Opinion, Source, Strength};
use crate::role::Role;
use crate::rules::solana::{InstructionRule, Weight};
use crate::rules::{Holder, Rules, TransferRule};
use crate::shares::{Shares, Tie};
use crate::sources::{OPINIONS_MAX, Opinions};

/// A rule of a pack that matches for the wallet, and the instruction that it matches.
pub type Match<'a> = (&'a InstructionRule, &'a Instruction);

/// `left` is what the legs come to without fees that packs know.
pub fn opinions(scene: &SolanaScene<'_>, rules: &Rules, matched: &[Match<'_>], left: &[U256]) -> Opinions {
    let is_unsettled = matched.iter().any(|(rule, _)| rule.unsettled);
    let is_mixed = is_mixed(scene, rules, matched);
    let categories: BTreeSet<Category> = matched.iter().map(|(rule, _)| rule.means).collect();
    let matched_outer: BTreeSet<usize> = matched.iter().map(|(_, instruction)| instruction.outer).collect();
    let is_clean = is_clean(scene, rules);
    let moves: LazyCell<BTreeSet<(usize, Asset)>, _> =
        LazyCell::new(|| scene.flows.iter().map(|flow| (flow.outer, flow.asset)).collect());
    let explained_assets: LazyCell<BTreeSet<Asset>, _> = LazyCell::new(|| {
        scene.flows.iter().filter(|flow| matched_outer.contains(&flow.outer)).map(|flow| flow.asset).collect()
    });
    // Where several rules match, each explains what its instruction moved, and what no instruction is known to have moved.
    let is_touched = |leg: &Leg, outer| moves.contains(&(outer, leg.asset)) || !explained_assets.contains(&leg.asset);
    let claims = matched.iter().take(OPINIONS_MAX).map(|(rule, instruction)| {
        let mut explains = Shares::default();
        for (at, (leg, left)) in scene.legs.iter().zip(left).enumerate().take(LEGS_MAX) {
            let is_its_own = categories.len() == 1 || is_touched(leg, instruction.outer);
            let has_part = if rule.means == Category::ContractDeploy {
                scene.is_deposit(leg)
            } else if rule.means.moves_nothing() {
                scene.is_rent(leg)
            } else if rule.means == Category::NftMint && scene.is_only_rent(leg) {
                false
            } else {
                let is_cost = is_clean && scene.is_rent(leg);
                is_cost || (is_its_own && fits(rule.means, leg))
            };
            if has_part {
                explains.push(at, *left, Tie::Linked);
            }
        }
        claim(rules, rule, instruction, explains)
    });
    let mut said: Vec<Opinion> = claims.collect();
    said.extend(mint_rent(scene, matched, left));
    Opinions { said, is_cut: false, is_unsettled, is_mixed }
}

/// Whoever mints for nothing still pays for the accounts that the item is kept in.
fn mint_rent(scene: &SolanaScene<'_>, matched: &[Match<'_>], left: &[U256]) -> Option<Opinion> {
    let (_, instruction) = matched.iter().find(|(rule, _)| rule.means == Category::NftMint)?;
    let (at, _) = scene.legs.iter().enumerate().find(|(_, leg)| scene.is_only_rent(leg))?;
    let mut explains = Shares::default();
    explains.push(at, *left.get(at)?, Tie::Stated);
    let rent = Opinion::new(Source::Shape, "solana/rent", Category::FeePayment, Strength::Verified, explains);
    Some(Opinion { role: Role::Fee, at: Some(Seen::Instruction(instruction.outer)), ..rent })
}

/// Small coin that left beside an exchange for somebody who has no part in it: the fee of whoever brought it about, or saw to it that it was
/// included.
pub fn small_fees(scene: &SolanaScene<'_>, rules: &Rules, matched: &[Match<'_>], left: &[U256]) -> Vec<(usize, U256)> {
    let is_exchange = |(rule, _): &Match<'_>| rule.means.meaning().nature == Nature::Exchange;
    let Some(at) = position(&scene.legs, Direction::Out, Asset::Native) else { return Vec::new() };
    let is_coin = |flow: &&Flow| !flow.comes_in && flow.asset == Asset::Native && scene.is_small(flow);
    let is_known = |flow: &&Flow| takes_fee(scene, rules, &flow.party, (Direction::Out, flow.asset));
    let mut small = scene.flows.iter().filter(is_coin).filter(|flow| !is_known(flow)).peekable();
    if matched.is_empty() || !matched.iter().all(is_exchange) || small.peek().is_none() {
        return Vec::new();
    }
    let inside = Inside::of(scene, rules, matched);
    let made: BTreeSet<Key> = opened(scene).collect();
    let outside = small.filter(|flow| !inside.did(flow) && !inside.takes(flow) && !made.contains(&flow.account));
    let fees: Vec<U256> = outside.map(|flow| U256::from(flow.amount)).collect();
    let sum = fees.iter().fold(U256::ZERO, |sum, fee| sum.saturating_add(*fee));
    // Where nothing is left for the exchange, they are what it is about.
    let is_beside = left.get(at).is_some_and(|left| sum < *left);
    if is_beside { fees.into_iter().map(|fee| (at, fee)).collect() } else { Vec::new() }
}

/// Accounts that were made here for tokens, but for those that only wrap coin.
fn opened<'a>(scene: &'a SolanaScene<'_>) -> impl Iterator<Item = Key> + 'a {
    scene.done.iter().filter_map(|(_, done)| match done {
        InstructionEffect::Opened { account, mint, .. } => (*mint != WRAPPED_SOL).then_some(*account),
        _ => None,
    })
}

/// Its instructions do not tell the purpose of a transaction: the standard programs, and those that packs call quiet.
pub fn is_plumbing(program: &Key, rules: &Rules) -> bool {
    instructions::is_plumbing(program) || rules.solana.holders(program).any(|holder| holder.is_quiet)
}

/// What packs say of plain transfers with the account, each with its pack.
pub fn transfer_rules<'a>(rules: &'a Rules, account: &Key) -> impl Iterator<Item = (usize, &'a TransferRule)> {
    let of = |holder: &'a Holder| rules.transfers(holder.pack, &holder.role).iter().map(|rule| (holder.pack, rule));
    rules.solana.holders(account).flat_map(of)
}

/// Whether what goes to the account is a fee, beside whatever else the transaction is about.
pub fn takes_fee(
    scene: &SolanaScene<'_>,
    rules: &Rules,
    account: &Key,
    (direction, asset): (Direction, Asset),
) -> bool {
    let mut fitting = transfer_rules(rules, account).filter(|(_, rule)| rule.fits(direction, asset, scene.block));
    fitting.next().is_some_and(|(_, rule)| rule.means == Category::FeePayment)
}

/// The rules that match for the wallet. Within an outer instruction only those at the shallowest depth at which one matches: what a
/// program calls is part of what that program does.
pub fn matches<'a>(scene: &'a SolanaScene<'_>, rules: &'a Rules) -> Vec<Match<'a>> {
    let all = &scene.facts.transaction.instructions;
    let mut found: Vec<Match<'a>> = Vec::new();
    for instruction in all {
        let mut matching = rules.solana.instructions(instruction);
        matching.retain(|rule| acts_for_wallet(scene, rule, instruction) && is_plausible(scene, rule.means));
        let is_special = matching.iter().any(|rule| !rule.same.is_empty());
        matching.retain(|rule| is_special != rule.same.is_empty());
        // What pays out may pay out nothing, and then it was only a call.
        let is_call = |rule: &InstructionRule| rule.means == Category::ContractCall;
        let needs_legs = |rule: &InstructionRule| !rule.unseen && rule.means.meaning().legs != Legs::Any;
        if matching.iter().any(|rule| is_call(rule)) && matching.iter().any(|rule| needs_legs(rule)) {
            let is_still = scene.legs.is_empty();
            matching.retain(|rule| if is_still { !needs_legs(rule) } else { !is_call(rule) });
        }
        found.extend(matching.into_iter().map(|rule| (rule, instruction)));
    }
    let weightiest = found.iter().map(|(rule, _)| rule.weight).max();
    found.retain(|(rule, _)| Some(rule.weight) == weightiest);
    let traded = found.iter().filter(|(rule, _)| is_trade(scene, rule));
    let trades: BTreeSet<usize> = traded.map(|(rule, _)| rule.pack).collect();
    found.retain(|(rule, _)| !is_order(rule) || !trades.contains(&rule.pack));
    let mut shallowest: BTreeMap<usize, usize> = BTreeMap::new();
    for (_, instruction) in &found {
        let depth = shallowest.entry(instruction.outer).or_insert(instruction.depth);
        *depth = instruction.depth.min(*depth);
    }
    found.retain(|(_, instruction)| shallowest.get(&instruction.outer) == Some(&instruction.depth));
    found
}

/// A buyer of an NFT sends none, and has a leg for it or for its price; a seller receives none.
fn is_plausible(scene: &SolanaScene<'_>, category: Category) -> bool {
    let has = |direction| scene.legs.iter().any(|leg| leg.direction == direction);
    let has_nft = |direction| scene.legs.iter().any(|leg| leg.direction == direction && leg.asset.is_nft());
    if category == Category::NftPurchase {
        return !has_nft(Direction::Out) && (has_nft(Direction::In) || has(Direction::Out));
    }
    category != Category::NftSale || (!has_nft(Direction::In) && (has_nft(Direction::Out) || has(Direction::In)))
}

/// Something was given and something came back.
fn is_trade(scene: &SolanaScene<'_>, rule: &InstructionRule) -> bool {
    let has = |direction| scene.legs.iter().any(|leg| leg.direction == direction);
    let is_two_sided = rule.escrowed || (has(Direction::Out) && has(Direction::In));
    (rule.means == Category::Swap || rule.means.is_nft_sale()) && is_two_sided
}

/// What a trade of the same protocol includes: the order that was filled, the escrow that was emptied.
fn is_order(rule: &InstructionRule) -> bool {
    rule.means.meaning().presence == Presence::InTrade
}

/// Whether the instruction acts for the wallet: at one of the rule's positions, by an account of it, or, if it names none, asked
/// by the wallet itself.
fn acts_for_wallet(scene: &SolanaScene<'_>, rule: &InstructionRule, instruction: &Instruction) -> bool {
    let wallet = scene.wallet_key;
    let account = |place: &usize| instruction.accounts.get(*place);
    let is_at_position = rule.who.iter().any(|place| account(place) == Some(&wallet));
    let owner = |place: &usize| account(place).and_then(|account| scene.owners.get(account));
    let owns = rule.owner_of.iter().any(|place| owner(place) == Some(&wallet));
    let is_open = rule.who.is_empty() && rule.owner_of.is_empty();
    // Whoever pays for a call that moves nothing, such as the settling of others' orders, need not be named in it.
    let is_given = || instruction.accounts.contains(&wallet) || rule.means == Category::ContractCall;
    let is_named = is_open && scene.acts && instruction.depth == 1 && is_given();
    // What a stranger mints to a wallet that did not ask is no purchase.
    if rule.means == Category::NftMint && !scene.acts {
        return false;
    }
    let mut shared = rule.same.iter().map(account);
    let first = shared.next();
    (is_at_position || owns || is_named)
        && first.is_none_or(|first| first.is_some() && shared.all(|other| other == first))
}

/// Every program that was called is known.
fn is_clean(scene: &SolanaScene<'_>, rules: &Rules) -> bool {
    scene.facts.transaction.instructions.iter().all(|instruction| {
        let is_known = || rules.solana.holders(&instruction.program).next().is_some();
        instruction.depth > 1 || instructions::is_plumbing(&instruction.program) || is_known()
    })
}

/// A deposit explains what went out and the receipt that was minted for it, not what else came in: that may have been earned.
fn fits(category: Category, leg: &Leg) -> bool {
    // A price beside it would make it a trade.
    if category == Category::NftTransfer {
        return leg.asset.is_nft();
    }
    category.meaning().way.is_none_or(|way| leg.direction == way) || leg.minted_or_burned
}

/// Whether something moved between the wallet and somebody who has no part in what a rule matches. Fees that packs know and accounts made for the
/// purpose do not count; nor, of an exchange, which is taxed whole, what is too little to be one of its own: tips and integrators' fees.
fn is_mixed(scene: &SolanaScene<'_>, rules: &Rules, matched: &[Match<'_>]) -> bool {
    if matched.is_empty() {
        return false;
    }
    let inside = Inside::of(scene, rules, matched);
    let is_exchange = matched.iter().all(|(rule, _)| rule.means.meaning().nature == Nature::Exchange);
    let is_fee = |flow: &Flow| !flow.comes_in && takes_fee(scene, rules, &flow.party, (Direction::Out, flow.asset));
    let opened: LazyCell<BTreeSet<Key>, _> = LazyCell::new(|| opened(scene).collect());
    // What somebody else's account was made with.
    let is_rent = |flow: &Flow| {
        !flow.comes_in
            && flow.asset == Asset::Native
            && flow.amount <= TOKEN_RENT_LAMPORTS_MAX
            && opened.contains(&flow.account)
    };
    scene.handed_over.iter().any(|account| !inside.given.contains(account))
        || scene.flows.iter().any(|flow| {
            let is_trifle = is_exchange && scene.is_small(flow);
            !inside.did(flow) && !is_trifle && !inside.takes(flow) && !is_rent(flow) && !is_fee(flow)
        })
}

/// What belongs to the instructions that rules match.
struct Inside {
    /// Positions among all instructions: they, and what they call.
    called: BTreeSet<usize>,
    /// Outer instructions of programs that packs list: all of each.
    outer: BTreeSet<usize>,
    /// Accounts that they use. One that only rides along is used by nothing that they call.
    parties: BTreeSet<Key>,
    /// Accounts that they are given, used or not.
    given: BTreeSet<Key>,
    /// Those of instructions that call nothing. Such a program may find what the wallet paid into an account of its own before; it makes nobody pay.
    filled: BTreeSet<Key>,
}

impl Inside {
    fn of(scene: &SolanaScene<'_>, rules: &Rules, matched: &[Match<'_>]) -> Self {
        let all = &scene.facts.transaction.instructions;
        let packs: BTreeSet<usize> = matched.iter().map(|(rule, _)| rule.pack).collect();
        let is_of_them = |program: &Key| rules.solana.holders(program).any(|holder| packs.contains(&holder.pack));
        let is_listed = |program: &Key| rules.solana.holders(program).next().is_some();
        let matched_outer: BTreeSet<usize> = matched.iter().map(|(_, instruction)| instruction.outer).collect();
        let is_exchange = matched.iter().all(|(rule, _)| rule.means.meaning().nature == Nature::Exchange);
        // An unknown program may call a known one and pay beside it. What it makes of an exchange is part of the exchange.
        let is_whole = |instruction: &&Instruction| {
            let is_matched = matched_outer.contains(&instruction.outer);
            is_of_them(&instruction.program) || (is_matched && (is_exchange || is_listed(&instruction.program)))
        };
        let outermost = all.iter().filter(|instruction| instruction.depth == 1);
        let outer = outermost.filter(is_whole).map(|instruction| instruction.outer).collect();
        let (mut called, mut parties) = (BTreeSet::new(), BTreeSet::new());
        let (mut given, mut filled) = (BTreeSet::new(), BTreeSet::new());
        // Accounts that are made for a program are its own, whether or not it calls anything.
        let programs: BTreeSet<Key> = matched.iter().map(|(_, instruction)| instruction.program).collect();
        let made = all.iter().filter_map(instructions::created_for).filter(|(_, owner)| programs.contains(owner));
        parties.extend(made.map(|(account, _)| account));
        let is_one: BTreeSet<*const Instruction> = matched.iter().map(|(_, one)| std::ptr::from_ref(*one)).collect();
        let matched = all.iter().enumerate().filter(|(_, one)| is_one.contains(&std::ptr::from_ref(*one)));
        for (at, instruction) in matched {
            let next = all.iter().enumerate().skip(at.saturating_add(1));
            let below: Vec<(usize, &Instruction)> = next
                .take_while(|(_, other)| other.outer == instruction.outer && other.depth > instruction.depth)
                .collect();
            called.insert(at);
            called.extend(below.iter().map(|(at, _)| *at));
            if below.is_empty() {
                filled.extend(instruction.accounts.iter().copied());
            }
            parties.extend(below.iter().flat_map(|(_, other)| &other.accounts).copied());
            given.extend(instruction.accounts.iter().copied());
        }
        // It is named wherever something is made, and stands for whoever mints or burns.
        parties.remove(&SYSTEM);
        filled.remove(&SYSTEM);
        Self { called, outer, parties, given, filled }
    }

    /// Whether the other side of the flow has a part in them. An NFT is often put into escrow first, by an instruction of its own.
    fn takes(&self, flow: &Flow) -> bool {
        let is_escrow = flow.asset.is_nft() && !flow.comes_in;
        let accounts = if is_escrow { &self.given } else { &self.parties };
        let is_one = |accounts: &BTreeSet<Key>| accounts.contains(&flow.account) || accounts.contains(&flow.party);
        is_one(accounts) || !flow.comes_in && is_one(&self.filled)
    }

    fn did(&self, flow: &Flow) -> bool {
        self.called.contains(&flow.at) || self.outer.contains(&flow.outer)
    }
}

fn claim(rules: &Rules, rule: &InstructionRule, instruction: &Instruction, explains: Shares) -> Opinion {
    Opinion {
        protocol: rules.protocol(rule.pack),
        role: rule.role,
        at: Some(Seen::Instruction(instruction.outer)),
        counterleg_in_earlier_tx: rule.escrowed,
        // A contract that some pack lists only passes it on.
        whose: rule.recipient(&instruction.data).filter(|other| !rules.is_contract(other)),
        may_exchange: rules.may_exchange(rule.pack),
        has_no_balance_leg: rule.unseen,
        ..Opinion::new(Source::Protocol, rule.id.clone(), rule.means, Strength::Verified, explains)
    }
}

/// Whether a known program ran that may have done something else than swap, for whomever.
pub fn may_mean_other_than_swap(scene: &SolanaScene<'_>, rules: &Rules) -> bool {
    let is_else = |rule: &InstructionRule| rule.means != Category::Swap && rule.weight == Weight::Full;
    scene.facts.transaction.instructions.iter().any(|instruction| {
        let asked = rules.solana.instructions(instruction);
        if asked.is_empty() {
            rules.solana.of_program(&instruction.program).any(is_else)
        } else {
            asked.into_iter().any(is_else)
        }
    })
}
