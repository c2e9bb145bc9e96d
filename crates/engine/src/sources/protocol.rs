//! The `protocol` source: rule packs over contracts and their events.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};

use super::OPINIONS_MAX;
use super::explain::{self, Speaker, Words, explain};
use super::readers::{self, Matched};
use super::trust::{EmitterTrust, proved, trust};
use crate::asset::{Account, Asset, Seen};
use crate::category::Category;
use crate::evm::json::Log;
use crate::evm::scene::EvmScene;
use crate::evm::{LOGS_MAX, actor};
use crate::legs::{Direction, position};
use crate::opinion::{Opinion, Source, Strength};
use crate::role::Role;
use crate::rules::compile::{ActorRule, EventRule, Field, RulePlace, Who};
use crate::rules::file::TransferDirection;
use crate::rules::reader::Reader;
use crate::rules::{ChainRules, Rules, TransferRule};
use crate::scene::{Accrual, Outcome};
use crate::shares::{Share, Shares, Tie};

/// What the packs say, and whether a rule matched whose outcome is decided in another transaction.
pub fn opinions(scene: &EvmScene<'_>, rules: &Rules) -> (Vec<Opinion>, bool) {
    let mut found = Vec::new();
    let mut is_unsettled = false;
    // Logs that a reader judges together at the end.
    let mut gathered: BTreeMap<Reader, Vec<Matched<'_>>> = BTreeMap::new();
    if scene.outcome == Outcome::Failed {
        return (found, is_unsettled);
    }
    let logged = LazyCell::new(|| logged(scene));
    let naming = LazyCell::new(|| naming(scene));
    let mut said: Vec<(bool, Opinion)> = Vec::new();
    for (position, log) in scene.facts.receipt.logs.iter().enumerate().take(LOGS_MAX) {
        let Some(topic0) = log.topic0() else { continue };
        let listening = rules.events(&topic0);
        if listening.is_empty() {
            continue;
        }
        let holders = scene.known.holders(log.address);
        for rule in listening.iter().filter(|rule| rule.layout.fits(log)) {
            let Some(trust) = trust(scene, rule, log.address, holders) else { continue };
            let has_logged = |other| match other {
                OtherLog::Same(topic0) => logged.contains(&(log.address, topic0)),
                OtherLog::Naming(topic0) => naming.contains(&(topic0, log.address.into_word())),
            };
            if !holds(scene.known, rule, log, has_logged) {
                continue;
            }
            let matched = Matched { position, log, rule, trust };
            let is_of_wallet = || is_for_perspective(scene, &rule.who, &LogWords(log, Some(position)));
            is_unsettled |= rule.unsettled && trust.strength == Strength::Verified && is_of_wallet();
            let is_own = matches!(rule.place, RulePlace::Role(_) | RulePlace::WrappedNative);
            let has_room = found.len().saturating_add(said.len()) < OPINIONS_MAX;
            match rule.reader {
                Some(reader) => {
                    if has_room {
                        let parts = readers::one(reader, scene, rules, &matched);
                        said.extend(parts.into_iter().map(|part| (is_own, part)));
                    }
                    gathered.entry(reader).or_default().push(matched);
                }
                None if has_room => said.extend(opinion(scene, rules, &matched).map(|whole| (is_own, whole))),
                None => {}
            }
        }
        // Where rules for this very contract match, those that match any contract may only agree with them.
        if said.iter().any(|(is_own, _)| *is_own) {
            let own: Vec<Category> = said.iter().filter(|(is_own, _)| *is_own).map(|(_, o)| o.category).collect();
            said.retain(|(_, opinion)| own.contains(&opinion.category));
        }
        found.extend(said.drain(..).map(|(_, opinion)| opinion));
    }
    for (reader, logs) in gathered {
        found.extend(readers::all(reader, scene, rules, &logs));
    }
    found.extend(scene.accruals.iter().filter_map(|accrual| accrued(scene, rules, accrual)).take(OPINIONS_MAX));
    found.extend(scene.interest_paid.iter().filter_map(|paid| interest_paid(scene, rules, paid)).take(OPINIONS_MAX));
    let left = OPINIONS_MAX.saturating_sub(found.len());
    found.extend(transfers(scene, rules, left));
    (found, is_unsettled)
}

/// What the wallet's balance of a token grew by.
fn accrued(scene: &EvmScene<'_>, rules: &Rules, accrual: &Accrual) -> Option<Opinion> {
    let leg = position(&scene.legs, Direction::In, accrual.asset)?;
    let mut explains = Shares::default();
    explains.push(leg, accrual.amount, Tie::Accrued);
    let said = Opinion::new(Source::Protocol, accrual.rule.clone(), accrual.means, accrual.strength, explains);
    let protocol = (accrual.strength == Strength::Verified).then(|| rules.protocol(accrual.pack)).flatten();
    Some(Opinion { protocol, role: accrual.means.meaning().role, at: Some(accrual.at), ..said })
}

/// The part of a repayment that its debt's token states to be interest: a cost of the loan, and no part of what was borrowed.
fn interest_paid(scene: &EvmScene<'_>, rules: &Rules, paid: &Accrual) -> Option<Opinion> {
    let leg = position(&scene.legs, Direction::Out, paid.asset)?;
    let mut explains = Shares::default();
    explains.push(leg, paid.amount, Tie::Stated);
    let said = Opinion::new(Source::Protocol, paid.rule.clone(), paid.means, paid.strength, explains);
    Some(Opinion { protocol: rules.protocol(paid.pack), role: Role::Fee, at: Some(paid.at), ..said })
}

/// Which contract logged which event.
fn logged(scene: &EvmScene<'_>) -> BTreeSet<(Address, B256)> {
    scene.facts.receipt.logs.iter().filter_map(|log| Some((log.address, log.topic0()?))).collect()
}

/// Which events were logged, with their first indexed parameter.
fn naming(scene: &EvmScene<'_>) -> BTreeSet<(B256, B256)> {
    scene.facts.receipt.logs.iter().filter_map(|log| Some((log.topic0()?, *log.topics.get(1)?))).collect()
}

/// A log that a rule wants to see, or not, beside its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherLog {
    /// Of the same contract.
    Same(B256),
    /// Of another contract, with this one as its first indexed parameter.
    Naming(B256),
}

/// Movements whose other side is a contract of a pack that takes plain transfers for an action, at most so many.
///
/// Anyone can make a token that logs a transfer with a well-known account. The chain itself moves the native coin; a token's
/// log counts when the token is canonical, when the wallet acts, or when the pack's own account sent the transaction, was
/// called or logged something itself.
fn transfers(scene: &EvmScene<'_>, rules: &Rules, max: usize) -> Vec<Opinion> {
    let wallet = Account::from(scene.perspective);
    let present = LazyCell::new(|| present(scene));
    let mut found = Vec::new();
    for m in scene.movements.iter().filter(|m| (m.from == wallet) != (m.to == wallet)) {
        let (direction, other) = if m.from == wallet { (Direction::Out, m.to) } else { (Direction::In, m.from) };
        for holder in other.evm().map_or(&[][..], |other| scene.known.holders(other)) {
            let is_present = || direction == Direction::In && present.contains(&holder.pack);
            if !(scene.is_real(m.asset) || scene.acts || is_present()) {
                continue;
            }
            let is_way = |way| {
                matches!(
                    (way, direction),
                    (TransferDirection::Out, Direction::Out) | (TransferDirection::In, Direction::In)
                )
            };
            let fits = |rule: &&TransferRule| is_way(rule.way) && (!rule.native || m.asset == Asset::Native);
            let rows = rules.transfers(holder.pack, &holder.role).iter().filter(fits);
            let Some(at) = position(&scene.legs, direction, m.asset) else { continue };
            found.extend(rows.map(|rule| transfer(rules, rule, holder.pack, at, m.amount)));
            if found.len() >= max {
                found.truncate(max);
                return found;
            }
        }
    }
    found
}

fn transfer(rules: &Rules, rule: &TransferRule, pack: usize, leg: usize, amount: U256) -> Opinion {
    let mut explains = Shares::default();
    explains.push(leg, amount, Tie::Stated);
    Opinion {
        protocol: rules.protocol(pack),
        role: rule.means.meaning().role,
        may_exchange: rules.may_exchange(pack),
        ..Opinion::new(Source::Protocol, rule.id.clone(), rule.means, Strength::Verified, explains)
    }
}

/// Packs of which an account sent the transaction, was called or logged something.
fn present(scene: &EvmScene<'_>) -> BTreeSet<usize> {
    let transaction = &scene.facts.transaction;
    let logs = scene.facts.receipt.logs.iter().take(LOGS_MAX).map(|log| log.address);
    let parties = std::iter::once(transaction.from).chain(transaction.to).chain(logs);
    parties.flat_map(|party| scene.known.holders(party)).map(|holder| holder.pack).collect()
}

/// Whether the rule's conditions beyond the layout hold. `logged` tells whether another log is there.
pub fn holds(known: &ChainRules, rule: &EventRule, log: &Log, logged: impl Fn(OtherLog) -> bool) -> bool {
    let words = LogWords(log, None);
    let is_positive = |field| words.amount(field, 0).is_some_and(|word| !word.bit(255) && !word.is_zero());
    let is_negative = |field| words.amount(field, 0).is_some_and(|word| word.bit(255));
    let only = &rule.only;
    only.beside.as_ref().is_none_or(|beside| logged(OtherLog::Same(beside.topic0)))
        && !only.without.is_some_and(|topic0| logged(OtherLog::Same(topic0)))
        && only.named_by.is_none_or(|topic0| logged(OtherLog::Naming(topic0)))
        && !only.not_named_by.is_some_and(|topic0| logged(OtherLog::Naming(topic0)))
        && only.equals.iter().all(|(field, values)| equals(&words, field, values))
        && only.same.iter().all(|(one, other)| words.amount(one, 0) == words.amount(other, 0))
        && only.differ.iter().all(|(one, other)| words.amount(one, 0) != words.amount(other, 0))
        && only.holds.iter().all(|(field, role)| {
            words.address(field, 0).is_some_and(|holder| known.holds_role(holder, rule.pack, role))
        })
        && only.positive.as_ref().is_none_or(is_positive)
        && only.negative.as_ref().is_none_or(is_negative)
}

/// Whether the parameter, or each member of it, has one of the values. An array without members has none.
fn equals(words: &LogWords<'_>, field: &Field, values: &[U256]) -> bool {
    let has_one = |member| words.amount(field, member).is_some_and(|value| values.contains(&value));
    words.count(field).is_some_and(|count| count > 0 && (0..count).all(has_one))
}

/// What the rule's own words make of a log.
pub fn opinion(scene: &EvmScene<'_>, rules: &Rules, matched: &Matched<'_>) -> Option<Opinion> {
    let Matched { position, log, rule, trust } = *matched;
    let words = LogWords(log, Some(position));
    if !is_for_perspective(scene, &rule.who, &words) {
        return None;
    }
    let EmitterTrust { strength, pack } = proved(scene, rule, log.address, trust);
    let is_verified = strength == Strength::Verified;
    let speaker = Speaker { contract: log.address, pack: rule.pack, means: rule.means, is_verified, is_loose: false };
    let explained = explain(scene, &rule.out, &rule.incoming, speaker, &words)?;
    // Only the amount links such a fill to the wallet.
    let is_exact = |share: &Share| scene.legs.get(share.leg).is_some_and(|leg| leg.amount == share.amount);
    if rule.escrowed && !explained.iter().filter(|share| share.tie == Tie::Stated).all(is_exact) {
        return None;
    }
    Some(Opinion {
        protocol: (strength == Strength::Verified || rule.own).then(|| rules.protocol(pack)).flatten(),
        role: rule.role,
        at: Some(Seen::Log(position)),
        counterleg_in_earlier_tx: rule.escrowed,
        may_exchange: rules.may_exchange(rule.pack),
        ..Opinion::new(Source::Protocol, rule.id.clone(), rule.means, strength, explained)
    })
}

/// Whether the rule's actor is the perspective.
pub fn is_for_perspective(scene: &EvmScene<'_>, who: &[Who], words: &impl Words) -> bool {
    let names = |field: &Field| {
        let count = words.count(field).unwrap_or_default();
        (0..count).any(|member| words.address(field, member) == Some(scene.perspective))
    };
    who.iter().any(|who| match who {
        Who::Anyone => true,
        Who::Sender => scene.acts,
        Who::Field(field) => names(field),
    })
}

/// A log, and its place where that matters.
#[derive(Debug, Clone, Copy)]
pub struct LogWords<'a>(pub &'a Log, pub Option<usize>);

impl Words for LogWords<'_> {
    fn position(&self) -> Option<usize> {
        self.1
    }

    fn word(&self, field: &Field, member: usize) -> Option<&[u8; 32]> {
        field.in_log(self.0, member)
    }

    fn names(&self, address: Address) -> bool {
        let word = address.into_word();
        self.0.topics.iter().skip(1).any(|topic| *topic == word) || explain::has_word(&self.0.data, &word)
    }

    fn count(&self, field: &Field) -> Option<usize> {
        explain::count(field, &self.0.data)
    }
}

/// A name for the protocol even where no rule decided: of a contract that some pack vouches for, the called one first, then
/// those that log of the wallet; else of a protocol whose own event tells of the wallet, or carried its action.
pub fn named(scene: &EvmScene<'_>, rules: &Rules) -> Option<Arc<str>> {
    let logs = || scene.facts.receipt.logs.iter().take(LOGS_MAX);
    let wallet = scene.perspective.into_word();
    let of_wallet = |log: &&Log| log.topics.iter().skip(1).any(|topic| *topic == wallet);
    let vouched = |log: &Log| scene.known.vouchers(log.address).find_map(|pack| rules.protocol(pack));
    called(scene, rules)
        .or_else(|| logs().filter(of_wallet).find_map(vouched))
        .or_else(|| logs().find_map(vouched))
        .or_else(|| logs().find_map(|log| by_own_event(scene, rules, log)))
}

fn by_own_event(scene: &EvmScene<'_>, rules: &Rules, log: &Log) -> Option<Arc<str>> {
    let topic0 = log.topic0().filter(|topic0| rules.is_own(topic0))?;
    let tells = |rule: &&EventRule| {
        rule.own && rule.layout.fits(log) && is_for_perspective(scene, &rule.who, &LogWords(log, None)) && scene.acts
    };
    let told = rules.events(&topic0).iter().filter(tells).map(|rule| rule.pack);
    let carries = |rule: &&ActorRule| rule.own && actor::applies(rule, log, scene.facts, scene.known);
    let carried = rules.actors(&topic0).iter().filter(carries).map(|rule| rule.pack);
    told.chain(carried).find_map(|pack| rules.protocol(pack))
}

/// The name of what was called.
pub fn called(scene: &EvmScene<'_>, rules: &Rules) -> Option<Arc<str>> {
    let called = scene.facts.transaction.to?;
    scene.known.vouchers(called).find_map(|pack| rules.protocol(pack))
}
