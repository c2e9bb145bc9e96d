//! Receipt tokens whose balance grows: a market mints or burns what grew together with what was put in or taken out, and states how much of it
//! was growth. That part is told apart here, before anything is netted.

use alloy_primitives::{Address, U256};

use super::EvmFacts;
use super::json::{Log, word_address};
use crate::asset::{Account, Asset, Movement, Seen};
use crate::opinion::Strength;
use crate::rules::compile::{AccrualRule, Field};
use crate::rules::file::TransferDirection;
use crate::rules::{ChainRules, Rules};
use crate::scene::Accrual;

/// A market rounds what it passes on by at most so many units.
const ROUNDING_MAX: u64 = 2;

/// Takes the growth of the wallet's balances out of its movements.
pub fn split(
    facts: &EvmFacts,
    rules: &Rules,
    known: &ChainRules,
    wallet: Address,
    movements: &mut Vec<Movement>,
) -> Vec<Accrual> {
    let mut found = Vec::new();
    for (position, log) in facts.receipt.logs.iter().enumerate().take(super::LOGS_MAX) {
        let Some(topic0) = log.topic0() else { continue };
        for rule in rules.accruals(&topic0).iter().filter(|rule| rule.event.layout.fits(log)) {
            found.extend(accrual(facts, known, wallet, movements, rule, (position, log)));
        }
    }
    movements.retain(|m| !m.amount.is_zero());
    found
}

fn accrual(
    facts: &EvmFacts,
    known: &ChainRules,
    wallet: Address,
    movements: &mut [Movement],
    rule: &AccrualRule,
    (position, log): (usize, &Log),
) -> Option<Accrual> {
    let word = |field: &Field| field.in_log(log, 0).map(|word| U256::from_be_bytes(*word));
    let holder = rule.holder.in_log(log, 0).and_then(word_address)?;
    let (value, grew) = (word(&rule.value)?, word(&rule.grew)?);
    let symbol = facts.tokens.get(&log.address)?.symbol.as_deref()?.to_lowercase();
    if holder != wallet || grew.is_zero() || symbol.contains(&rule.unless_symbol) {
        return None;
    }
    let is_minted = matches!(rule.way, TransferDirection::In);
    let asset = Asset::Token(log.address.into());
    let zero = Account::from(Address::ZERO);
    let ends = if is_minted { (zero, Account::from(wallet)) } else { (Account::from(wallet), zero) };
    // What is put in or taken out beside it: more than was minted or burned, or less, or nothing.
    let (taken_out, rest) = match (is_minted, value.checked_sub(grew)) {
        (true, Some(rest)) => (None, rest),
        (true, None) => (Some(grew.checked_sub(value)?), U256::ZERO),
        (false, _) => (Some(value.checked_add(grew)?), U256::ZERO),
    };
    let is_stated = is_stated(facts, known, taken_out.unwrap_or(rest));
    // More was taken out than was burned, so only another movement shows it.
    if let Some(amount) = taken_out
        && !(is_stated || is_received(wallet, movements, asset, amount))
    {
        return None;
    }
    let is_it = |m: &&mut Movement| {
        let is_before = matches!(m.seen, Seen::Log(at) if at <= position);
        m.asset == asset && (m.from, m.to) == ends && m.amount == value && is_before
    };
    let movement = movements.iter_mut().rev().find(is_it)?;
    match taken_out {
        Some(amount) => (movement.from, movement.to, movement.amount) = (Account::from(wallet), zero, amount),
        None => movement.amount = rest,
    }
    let is_listed = || known.vouchers(log.address).next().is_some() || known.is_canonical(log.address);
    let strength = if is_stated || is_listed() { Strength::Verified } else { Strength::Standard };
    Some(Accrual { asset, amount: grew, at: Seen::Log(position), rule: rule.id.clone(), pack: rule.pack, strength })
}

fn is_near(one: U256, other: U256) -> bool {
    one.abs_diff(other) <= U256::from(ROUNDING_MAX)
}

/// The wallet got just that much of another asset.
fn is_received(wallet: Address, movements: &[Movement], asset: Asset, amount: U256) -> bool {
    movements.iter().any(|m| m.asset != asset && m.to == Account::from(wallet) && is_near(m.amount, amount))
}

/// A contract that some pack lists states the amount.
fn is_stated(facts: &EvmFacts, known: &ChainRules, amount: U256) -> bool {
    let states = |log: &Log| {
        let mut words = log.data.chunks_exact(32).filter_map(U256::try_from_be_slice);
        words.any(|word| is_near(word, amount))
    };
    let logs = facts.receipt.logs.iter().take(super::LOGS_MAX);
    amount > U256::from(ROUNDING_MAX) && { logs }.any(|log| !known.holders(log.address).is_empty() && states(log))
}
