//! Receipt tokens whose balance grows: a market mints or burns what grew together with what was put in or taken out, and states how much of it
//! was growth. That part is told apart here, before anything is netted.

use alloy_primitives::{Address, U256};

use super::EvmFacts;
use super::json::{Log, word_address};
use crate::asset::{Account, Asset, Movement, Seen};
use crate::category::Category;
use crate::opinion::Strength;
use crate::rules::compile::{AccrualRule, Field};
use crate::rules::file::TransferDirection;
use crate::rules::{Known, Rules};
use crate::scene::Accrual;

/// A market rounds what it passes on by at most so many units.
const ROUNDING_MAX: u64 = 2;

/// What the tokens of one transaction state of the wallet's balances and debts.
#[derive(Debug, Default)]
pub struct Stated {
    pub earned: Vec<Accrual>,
    /// Interest on loans, as part of what was repaid.
    pub paid: Vec<Accrual>,
}

/// Takes the growth of the wallet's balances out of its movements.
pub fn split(
    facts: &EvmFacts,
    rules: &Rules,
    known: &Known<'_>,
    wallet: Address,
    movements: &mut Vec<Movement>,
) -> Stated {
    let mut stated = Stated::default();
    for (position, log) in facts.receipt.logs.iter().enumerate().take(super::LOGS_MAX) {
        let Some(topic0) = log.topic0() else { continue };
        for rule in rules.accruals(&topic0).iter().filter(|rule| rule.event.layout.fits(log)) {
            let Some(growth) = Growth::read(facts, known, wallet, rule, (position, log)) else { continue };
            if growth.is_owed {
                stated.paid.extend(paid(wallet, movements, &growth));
            } else {
                stated.earned.extend(earned(facts, known, wallet, movements, &growth));
            }
        }
    }
    movements.retain(|m| !m.amount.is_zero());
    stated
}

/// One log that states by how much a balance of the wallet grew.
struct Growth<'a> {
    rule: &'a AccrualRule,
    token: Address,
    position: usize,
    /// What was minted or burned.
    value: U256,
    grew: U256,
    is_minted: bool,
    /// The token marks a debt.
    is_owed: bool,
    /// The pack that lists the token as one that grows.
    listed: Option<usize>,
    /// A pack lists the token as something, or it is canonical.
    is_vouched: bool,
}

impl<'a> Growth<'a> {
    fn read(
        facts: &EvmFacts,
        known: &Known<'_>,
        wallet: Address,
        rule: &'a AccrualRule,
        (position, log): (usize, &Log),
    ) -> Option<Self> {
        let word = |field: &Field| field.in_log(log, 0).map(|word| U256::from_be_bytes(*word));
        let holder = rule.holder.in_log(log, 0).and_then(word_address)?;
        let (value, grew) = (word(&rule.value)?, word(&rule.grew)?);
        if holder != wallet || grew.is_zero() {
            return None;
        }
        let symbol = || facts.tokens.get(&log.address)?.symbol.as_deref().map(str::to_lowercase);
        let listed_as = |role: &str| known.holders(log.address).iter().find(|holder| *holder.role == *role);
        let (as_token, as_debt) = (listed_as(&rule.tokens), listed_as(&rule.debts));
        let is_owed = match (as_token, as_debt) {
            (_, Some(_)) => true,
            (Some(_), None) => false,
            (None, None) => symbol()?.contains(&rule.debt_symbol),
        };
        let listed = as_token.or(as_debt).map(|holder| holder.pack);
        let is_vouched = known.vouchers(log.address).next().is_some() || known.is_canonical(log.address);
        let is_minted = matches!(rule.way, TransferDirection::In);
        Some(Self { rule, token: log.address, position, value, grew, is_minted, is_owed, listed, is_vouched })
    }

    fn accrual(&self, asset: Asset, means: Category, amount: U256, strength: Strength) -> Accrual {
        let (at, rule) = (Seen::Log(self.position), self.rule.id.clone());
        let pack = self.listed.unwrap_or(self.rule.pack);
        Accrual { asset, means, amount, at, rule, pack, strength }
    }
}

/// The interest on a loan, of what was paid back in the same transaction. A stranger's word is not enough.
fn paid(wallet: Address, movements: &[Movement], growth: &Growth<'_>) -> Option<Accrual> {
    // What is repaid is burned, but for what the debt grew by; where it grew by more, only the rest is minted.
    let repaid = match growth.is_minted {
        false => growth.value.checked_add(growth.grew)?,
        true => growth.grew.checked_sub(growth.value)?,
    };
    let is_it = |m: &&Movement| {
        m.from == Account::from(wallet)
            && m.asset != Asset::Token(growth.token.into())
            && !m.asset.is_nft()
            && is_near(m.amount, repaid)
    };
    let movement = movements.iter().find(is_it).filter(|_| growth.listed.is_some() && !repaid.is_zero())?;
    let amount = growth.grew.min(repaid).min(movement.amount);
    Some(growth.accrual(movement.asset, Category::FeePayment, amount, Strength::Verified))
}

fn earned(
    facts: &EvmFacts,
    known: &Known<'_>,
    wallet: Address,
    movements: &mut [Movement],
    growth: &Growth<'_>,
) -> Option<Accrual> {
    let Growth { value, grew, is_minted, position, .. } = *growth;
    let asset = Asset::Token(growth.token.into());
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
        && !(is_stated || growth.listed.is_some() || is_received(wallet, movements, asset, amount))
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
    let strength = if is_stated || growth.is_vouched { Strength::Verified } else { Strength::Standard };
    Some(growth.accrual(asset, Category::Interest, grew, strength))
}

fn is_near(one: U256, other: U256) -> bool {
    one.abs_diff(other) <= U256::from(ROUNDING_MAX)
}

/// The wallet got just that much of another asset.
fn is_received(wallet: Address, movements: &[Movement], asset: Asset, amount: U256) -> bool {
    movements.iter().any(|m| m.asset != asset && m.to == Account::from(wallet) && is_near(m.amount, amount))
}

/// A contract that some pack lists states the amount.
fn is_stated(facts: &EvmFacts, known: &Known<'_>, amount: U256) -> bool {
    let states = |log: &Log| {
        let mut words = log.data.chunks_exact(32).filter_map(U256::try_from_be_slice);
        words.any(|word| is_near(word, amount))
    };
    let logs = facts.receipt.logs.iter().take(super::LOGS_MAX);
    amount > U256::from(ROUNDING_MAX) && { logs }.any(|log| !known.holders(log.address).is_empty() && states(log))
}
