//! What packs make of the programs that ran and of the instructions that they were given.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::U256;

use super::inside::{Inside, Match, is_exchange};
use super::instructions::{RENT_LAMPORTS_MAX, may_be_rent};
use super::json::Instruction;
use super::movements::Flow;
use super::scene::SolanaScene;
use super::{Key, instructions};
use crate::asset::{Asset, Seen};
use crate::category::{Category, Legs, Presence, Rank};
use crate::legs::{Direction, LEGS_MAX, Leg, position};
use crate::opinion::{Opinion, Source, Strength};
use crate::rules::solana::{InstructionRule, Weight};
use crate::rules::{Holder, Rules, TransferRule};
use crate::shares::{Shares, Tie};
use crate::sources::{OPINIONS_MAX, Opinions};

/// The rules that match for the wallet, and what belongs to their instructions.
#[derive(Default)]
pub struct Matched<'a> {
    pub rules: Vec<Match<'a>>,
    pub inside: Inside,
}

impl<'a> Matched<'a> {
    pub fn of(scene: &'a SolanaScene<'_>, rules: &'a Rules) -> Self {
        let matched = matches(scene, rules);
        Self { inside: Inside::of(scene, rules, &matched), rules: matched }
    }

    /// Something was exchanged, and nothing else was done.
    fn is_exchange(&self) -> bool {
        !self.rules.is_empty() && is_exchange(&self.rules)
    }
}

/// `left` is what the legs come to without fees and rent.
pub fn opinions(scene: &SolanaScene<'_>, rules: &Rules, matched: &Matched<'_>, left: &[U256]) -> Opinions {
    let is_mixed = is_mixed(scene, rules, matched);
    let matched = matched.rules.as_slice();
    let is_unsettled = matched.iter().any(|(rule, _)| rule.unsettled);
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
    Opinions { said: claims.collect(), is_unsettled, is_mixed, ..Opinions::default() }
}

/// What went into accounts that were made on the way, and what came back out of those that are gone, is no part of what was given, paid or earned.
pub fn rent(scene: &SolanaScene<'_>, matched: &Matched<'_>, left: &[U256]) -> Vec<Opinion> {
    // What only prepares something is about the accounts themselves.
    let is_for_accounts =
        |(rule, _): &Match<'_>| rule.means.moves_nothing() || rule.means.meaning().rank >= Rank::Account;
    let first = matched.rules.first().filter(|_| !matched.rules.iter().any(is_for_accounts));
    let Some((rule, instruction)) = first else { return Vec::new() };
    // Without what it is about there is nothing that the rent could be beside.
    let is_beside = |leg: &Leg| scene.legs.len() > 1 || rule.means.meaning().way.is_none_or(|way| way == leg.direction);
    let is_coin = |(_, leg): &(usize, &Leg)| leg.asset == Asset::Native && is_beside(leg);
    let coin = scene.legs.iter().enumerate().find(is_coin);
    let Some((at, leg, left)) = coin.and_then(|(at, leg)| Some((at, leg, *left.get(at)?))) else { return Vec::new() };
    let account = |category, amount| {
        let explains = Shares::one(at, amount, Tie::Stated);
        Opinion::new(Source::Shape, "solana/rent", category, Strength::Verified, explains)
    };
    let said = match leg.direction {
        Direction::Out => {
            let [rent, cost] = rent_and_cost(scene, matched, leg, left);
            vec![account(Category::AccountOpen, rent), Opinion::fee("solana/accounts", at, cost, Strength::Verified)]
        }
        Direction::In => rent_set_free(scene, matched, leg, left)
            .map(|rent| account(Category::AccountClose, rent))
            .into_iter()
            .collect(),
    };
    let is_some = |said: &Opinion| !said.explains.is_empty() && said.explains.of(at) <= U256::from(RENT_LAMPORTS_MAX);
    let at = Some(Seen::Instruction(instruction.outer));
    said.into_iter().filter(is_some).map(|said| Opinion { at, ..said }).collect()
}

/// Of the coin that went out: what stays in new accounts as their rent, and what making them cost, which is rent that nobody gets back and what
/// another program charges for it.
fn rent_and_cost(scene: &SolanaScene<'_>, matched: &Matched<'_>, leg: &Leg, left: U256) -> [U256; 2] {
    let mut sums = [0_u64; 2];
    for made in &scene.made {
        // What an account of a program got that the transaction is about is a part of that.
        let is_its = |program: Key| matched.rules.iter().any(|(_, instruction)| instruction.program == program);
        let is_charged = made.program.is_some_and(|program| !is_its(program));
        let beyond = if is_charged { made.paid.saturating_sub(made.rent) } else { 0 };
        let [rent, cost] = match (made.is_token, made.is_lasting) {
            // Somebody else's, in a trade of which it is no part.
            (true, _) if matched.is_exchange() => [0, made.rent],
            (true, _) => [0, 0],
            (false, true) => [0, made.rent.saturating_add(beyond)],
            (false, false) => [made.rent, beyond],
        };
        sums = [sums[0].saturating_add(rent), sums[1].saturating_add(cost)];
    }
    let [rent, cost] = sums.map(U256::from);
    // Whoever mints for nothing still pays for the accounts that the item is kept in.
    let is_mint = matched.rules.iter().any(|(rule, _)| rule.means == Category::NftMint);
    if scene.is_only_rent(leg) && (is_mint || gives_tokens(scene)) {
        return [left.saturating_sub(cost), cost.min(left)];
    }
    if rent.saturating_add(cost) < left { [rent, cost] } else { [U256::ZERO; 2] }
}

/// Coin that no instruction moved, where it is just what lay in one account that is gone, or in all of them, and what token accounts of others were made
/// with. It may be all that is left of the coin where something else came in. An account that kept a bid gives the price to the seller, and what it was
/// made with back.
fn rent_set_free(scene: &SolanaScene<'_>, matched: &Matched<'_>, leg: &Leg, left: U256) -> Option<U256> {
    let unseen = leg.amount.checked_sub(scene.seen(leg)?)?;
    let rents = || scene.emptied.iter().filter(|held| may_be_rent(**held)).map(|rent| U256::from(*rent));
    let is_all = unseen == rents().fold(U256::ZERO, U256::saturating_add);
    let is_bought = matched.rules.iter().any(|(rule, _)| rule.means == Category::NftPurchase);
    let is_of_bid = |unseen: u64| {
        let held_more = || scene.emptied.iter().any(|held| *held > unseen);
        may_be_rent(unseen) && unseen <= RENT_LAMPORTS_MAX && held_more()
    };
    let is_rent =
        is_all || rents().any(|rent| rent == unseen) || is_bought && u64::try_from(unseen).is_ok_and(is_of_bid);
    let rent = if is_rent { unseen } else { U256::ZERO }.saturating_add(U256::from(scene.rent_closed));
    let is_alone = !scene.legs.iter().any(|other| other.direction == leg.direction && other.asset != leg.asset);
    let is_beside = if is_alone { rent < left } else { rent <= left };
    is_beside.then_some(rent)
}

fn gives_tokens(scene: &SolanaScene<'_>) -> bool {
    scene.legs.iter().any(|leg| leg.direction == Direction::Out && leg.asset != Asset::Native)
}

/// Small coin that left beside an exchange for somebody who has no part in it: the fee of whoever brought it about, or saw to it that it was
/// included.
pub fn small_fees(scene: &SolanaScene<'_>, rules: &Rules, matched: &Matched<'_>, left: &[U256]) -> Vec<Opinion> {
    let is_coin = |flow: &&Flow| !flow.comes_in && flow.asset == Asset::Native && scene.is_small(flow);
    let is_beside = |flow: &&Flow| !matched.inside.has_part(flow) && !is_known_fee(scene, rules, flow);
    let place = position(&scene.legs, Direction::Out, Asset::Native).filter(|_| matched.is_exchange());
    let Some((at, left)) = place.and_then(|at| Some((at, left.get(at)?))) else { return Vec::new() };
    let small = scene.flows.iter().filter(is_coin).filter(is_beside);
    let fees: Vec<U256> = small.map(|flow| U256::from(flow.amount)).collect();
    // Where nothing is left for the exchange, they are what it is about.
    let sum = fees.iter().fold(U256::ZERO, |sum, fee| sum.saturating_add(*fee));
    if sum > *left || (sum == *left && !gives_tokens(scene)) {
        return Vec::new();
    }
    fees.into_iter().map(|fee| Opinion::fee("shape/fee", at, fee, Strength::Verified)).collect()
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

fn is_known_fee(scene: &SolanaScene<'_>, rules: &Rules, flow: &Flow) -> bool {
    !flow.comes_in && takes_fee(scene, rules, &flow.party, (Direction::Out, flow.asset))
}

/// The rules that match for the wallet. Within an outer instruction only those at the shallowest depth at which one matches: what a
/// program calls is part of what that program does.
fn matches<'a>(scene: &'a SolanaScene<'_>, rules: &'a Rules) -> Vec<Match<'a>> {
    let mut found: Vec<Match<'a>> = Vec::new();
    for instruction in &scene.facts.transaction.instructions {
        found.extend(of_instruction(scene, rules, instruction).into_iter().map(|rule| (rule, instruction)));
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

/// The rules that match one instruction for the wallet.
fn of_instruction<'a>(scene: &SolanaScene<'_>, rules: &'a Rules, asked: &Instruction) -> Vec<&'a InstructionRule> {
    let mut matching = rules.solana.instructions(asked);
    matching.retain(|rule| acts_for_wallet(scene, rule, asked) && is_plausible(scene, rule.means));
    let is_special = matching.iter().any(|rule| !rule.same.is_empty());
    matching.retain(|rule| is_special != rule.same.is_empty());
    // What pays out may pay out nothing, and then it was only a call.
    let is_call = |rule: &InstructionRule| rule.means == Category::ContractCall;
    let needs_legs = |rule: &InstructionRule| !rule.unseen && rule.means.meaning().legs != Legs::Any;
    if matching.iter().any(|rule| is_call(rule)) && matching.iter().any(|rule| needs_legs(rule)) {
        let is_still = scene.legs.is_empty();
        matching.retain(|rule| if is_still { !needs_legs(rule) } else { !is_call(rule) });
    }
    matching
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
    // A price beside it would make it a trade; and whoever buys one is paid nothing.
    let is_item =
        category == Category::NftTransfer || category == Category::NftPurchase && leg.direction == Direction::In;
    if is_item {
        return leg.asset.is_nft();
    }
    category.meaning().way.is_none_or(|way| leg.direction == way) || leg.minted_or_burned
}

/// Whether something moved between the wallet and somebody who has no part in what a rule matches. Fees that packs know and accounts made for the
/// purpose do not count; nor, of an exchange, which is taxed whole, what is too little to be one of its own: tips and integrators' fees.
fn is_mixed(scene: &SolanaScene<'_>, rules: &Rules, matched: &Matched<'_>) -> bool {
    if matched.rules.is_empty() {
        return false;
    }
    let inside = &matched.inside;
    let is_trifle = |flow: &Flow| matched.is_exchange() && scene.is_small(flow);
    let is_beside = |flow: &Flow| !is_trifle(flow) && !inside.has_part(flow) && !is_known_fee(scene, rules, flow);
    scene.handed_over.iter().any(|account| !inside.is_given(account)) || scene.flows.iter().any(is_beside)
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
