//! Coin that only a balance shows, where no node traces: how much it was, and what in the transaction bears it out.

use alloy_primitives::{Address, U256};

use super::json::Log;
use super::movements::WITHDRAWAL;
use super::{BalanceChange, EvmFacts};
use crate::asset::{Account, Asset, Movement, Seen};
use crate::chain::Chain;
use crate::rules::compile::{CallRule, RulePlace};
use crate::rules::{Known, Rules};
use crate::scene::Doubt;

/// Without a trace, native coin that reached the wallet inside the transaction shows only in its balance. The
/// difference counts as read where a log, or what a listed contract was asked for, proves the same amount, and as inferred where nothing does.
pub fn unseen_value(
    facts: &EvmFacts,
    rules: (&Rules, &Known<'_>),
    (wallet, gas): (Address, Option<U256>),
    known: &[Movement],
    doubts: &mut Vec<Doubt>,
) -> Option<Movement> {
    let change = facts.balances.get(&wallet).copied();
    let Some(change @ BalanceChange { before: Some(before), after: Some(after), .. }) = change else {
        doubts.push(Doubt::InternalValueUnknown);
        return None;
    };
    let account = Account::from(wallet);
    let sum = |side: fn(&Movement) -> Account| {
        known
            .iter()
            .filter(|m| m.asset == Asset::Native && side(m) == account)
            .fold(U256::ZERO, |total, m| total.saturating_add(m.amount))
    };
    let expected_in = before.saturating_add(sum(|m| m.to));
    let expected_out = after.saturating_add(sum(|m| m.from)).saturating_add(gas.unwrap_or_default());
    let other = Account::from(facts.transaction.to.unwrap_or_default());
    let (from, to, amount) = if expected_out > expected_in {
        (other, account, expected_out.saturating_sub(expected_in))
    } else {
        (account, other, expected_in.saturating_sub(expected_out))
    };
    let is_alone = change.sent_exactly(u64::from(facts.transaction.from == wallet));
    if amount.is_zero() {
        // What came in may have left again by another transaction of the same block.
        if !is_alone {
            doubts.push(Doubt::InternalValueUnknown);
        }
        return None;
    }
    // What came back of what was sent is proved by a log that states what was kept.
    let kept = sum(|m| m.from).checked_sub(amount).filter(|_| to == account);
    // Another transaction of the wallet in the same block would be in the difference too.
    let is_left = |log: &Log| is_alone && to == account && states_less_fee(log, amount);
    // Anybody logs any figure: whoever proves it is listed, was called, took part in what moved, or logs as the protocol does that was called.
    let takes_part = |log: &Log| known.iter().any(|m| [m.from, m.to].contains(&log.address.into()));
    let called = facts.transaction.to.filter(|called| rules.1.is_listed(*called)).map(|called| rules.1.holders(called));
    let is_of_called = |log: &Log| {
        let read = log.topic0().map_or(&[][..], |topic0| rules.0.events(&topic0));
        called.into_iter().flatten().any(|holder| read.iter().any(|rule| rule.pack == holder.pack))
    };
    let is_known = |log: &Log| {
        let is_listed = rules.1.is_on_list(log.address) || facts.chain.is_wrapped_native(log.address);
        is_listed || facts.transaction.to == Some(log.address) || takes_part(log) || is_of_called(log)
    };
    let says = |log: &Log| states(log, amount) || kept.is_some_and(|kept| states(log, kept)) || is_left(log);
    let is_stated = |log: &Log| says(log) && is_known(log);
    let logs = &facts.receipt.logs;
    let unwrapped = logs.iter().position(|log| is_unwrapped(log, &facts.chain, amount)).filter(|_| to == account);
    let proof = unwrapped.or_else(|| logs.iter().position(is_stated));
    let seen = match proof {
        Some(at) => Seen::Log(at),
        None if is_alone && to == account && was_asked_for(facts, rules, amount) => Seen::Value,
        None => {
            doubts.push(Doubt::BalanceDelta);
            Seen::Balance
        }
    };
    Some(Movement { asset: Asset::Native, from, to, amount, seen })
}

/// The wrapped coin's contract paid out as much.
fn is_unwrapped(log: &Log, chain: &Chain, amount: U256) -> bool {
    let is_its = log.topic0() == Some(WITHDRAWAL) && chain.is_wrapped_native(log.address);
    let paid = log.data_u256(0).filter(|_| is_its && amount >= U256::from(PROVABLE_WEI_MIN));
    paid.is_some_and(|paid| is_passed_on(paid, amount))
}

/// Routers keep a wei of what they pass on, since a balance that is not empty is cheaper to write.
fn is_passed_on(paid: U256, amount: U256) -> bool {
    paid == amount || paid.checked_sub(U256::ONE) == Some(amount)
}

/// Words of a call that are looked at, alone and in pairs.
const ASKED_WORDS_MAX: usize = 32;

/// A listed contract was asked for exactly this amount by a call that some pack knows. The amount is one word of the call or the sum of two: an
/// order is taken back together with the fee that was set aside for it.
fn was_asked_for(facts: &EvmFacts, (rules, known): (&Rules, &Known<'_>), amount: U256) -> bool {
    let (Some(called), Some(selector)) = (facts.transaction.to, facts.transaction.selector()) else { return false };
    let is_vouched = known.vouchers(called).next().is_some();
    let is_class = |rule: &CallRule| !matches!(rule.place, RulePlace::Role(_));
    let is_its = |rule: &CallRule| known.is_place_of(rule, called) || is_vouched && is_class(rule);
    if !rules.calls(&selector.into()).iter().any(is_its) || amount < U256::from(PROVABLE_WEI_MIN) {
        return false;
    }
    let words = facts.transaction.input.get(4..).unwrap_or_default().chunks_exact(32).take(ASKED_WORDS_MAX);
    let words: Vec<U256> = words.map(U256::from_be_slice).filter(|word| !word.is_zero()).collect();
    let pairs = |(at, one): (usize, &U256)| {
        let others = words.iter().skip(at.saturating_add(1));
        others.into_iter().any(|other| one.checked_add(*other) == Some(amount))
    };
    words.iter().any(|word| is_passed_on(*word, amount)) || words.iter().enumerate().any(pairs)
}

/// An amount this small could be in a log by chance.
const PROVABLE_WEI_MIN: u64 = 1_000_000;

fn states(log: &Log, amount: U256) -> bool {
    let bytes = amount.to_be_bytes::<32>();
    amount >= U256::from(PROVABLE_WEI_MIN) && log.data.chunks_exact(32).any(|word| word == bytes)
}

/// Amounts before a fee may be any of a thousand figures, so chance needs larger ones.
const PROVABLE_BEFORE_FEE_WEI_MIN: u64 = 1_000_000_000_000;
const BASIS_POINTS: u64 = 10_000;
/// Nobody keeps more than this of what they pass on.
const FEE_BASIS_POINTS_MAX: u64 = 1_000;

/// A log states an amount of which this is left after a fee of whole basis points, to the wei.
fn states_less_fee(log: &Log, amount: U256) -> bool {
    let whole = U256::from(BASIS_POINTS);
    let is_left = |paid: U256| {
        let Some(fee) = paid.checked_sub(amount).filter(|fee| !fee.is_zero()) else { return false };
        let Some(points) = fee.checked_mul(whole).and_then(|fee| fee.checked_div(paid)) else { return false };
        // Division cuts off, so the fee is of these points or of one more.
        let of = |points: U256| paid.checked_mul(points).and_then(|part| part.checked_div(whole));
        let is_fee = |points: U256| of(points) == Some(fee);
        points <= U256::from(FEE_BASIS_POINTS_MAX) && (is_fee(points) || is_fee(points.saturating_add(U256::ONE)))
    };
    amount >= U256::from(PROVABLE_BEFORE_FEE_WEI_MIN) && log.data.chunks_exact(32).map(U256::from_be_slice).any(is_left)
}
