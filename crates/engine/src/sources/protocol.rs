//! The `protocol` source: rule packs over contracts and their events.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};

use super::matched::{
    LogWords, Matched, OtherLog, holds, is_for_perspective, is_netted_income, is_unreadable, opinion, take_fee,
};
use super::readers;
use super::trust::trust;
use super::{OPINIONS_LIKELY, OPINIONS_MAX, Opinions};
use crate::asset::{Account, Asset};
use crate::category::Category;
use crate::evm::erc20::TRANSFER;
use crate::evm::json::Log;
use crate::evm::movements::APPROVAL;
use crate::evm::scene::EvmScene;
use crate::evm::{LOGS_MAX, actor};
use crate::legs::{Direction, position};
use crate::opinion::{Opinion, Source, Strength};
use crate::role::Role;
use crate::rules::compile::{ActorRule, EventRule, RulePlace};
use crate::rules::reader::Reader;
use crate::rules::{Holder, Rules, TransferRule};
use crate::scene::{Accrual, Outcome};
use crate::shares::{Shares, Tie};

/// What the packs say.
pub fn opinions(scene: &EvmScene<'_>, rules: &Rules) -> Opinions {
    let mut found = Vec::with_capacity(OPINIONS_LIKELY);
    let (mut is_unsettled, mut nets_income) = (false, false);
    // Logs that a reader judges together at the end.
    let mut gathered: BTreeMap<Reader, Vec<Matched<'_>>> = BTreeMap::new();
    if scene.outcome == Outcome::Failed {
        return Opinions::default();
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
            if !holds(&scene.known, rule, log, has_logged) {
                continue;
            }
            let matched = Matched { position, log, rule, trust };
            let is_of_wallet = || is_for_perspective(scene, &rule.who, &LogWords(log, Some(position)));
            let is_unsaid = || rule.unsettled && trust.strength == Strength::Verified;
            let is_anybodys =
                || trust.strength != Strength::Suggested && is_unreadable(&rule.whose, &LogWords(log, Some(position)));
            is_unsettled |= (is_unsaid() || is_anybodys()) && is_of_wallet();
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
                None if has_room => {
                    nets_income |= is_netted_income(scene, &matched);
                    let Some(mut whole) = opinion(scene, rules, &matched) else { continue };
                    let pays = (log.address, rule.pack);
                    let fee = if rule.may_pay_fee { take_fee(scene, pays, &mut whole) } else { None };
                    said.push((is_own, whole));
                    said.extend(fee.map(|fee| (is_own, fee)));
                }
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
    Opinions { said: found, is_unsettled, nets_income, ..Opinions::default() }
}

/// What the wallet's balance of a token grew by.
fn accrued(scene: &EvmScene<'_>, rules: &Rules, accrual: &Accrual) -> Option<Opinion> {
    let leg = position(&scene.legs, Direction::In, accrual.asset)?;
    let explains = Shares::one(leg, accrual.amount, Tie::Accrued);
    let said = Opinion::new(Source::Protocol, accrual.rule.clone(), accrual.means, accrual.strength, explains);
    let protocol = (accrual.strength == Strength::Verified).then(|| rules.protocol(accrual.pack)).flatten();
    Some(Opinion { protocol, role: accrual.means.meaning().role, at: Some(accrual.at), ..said })
}

/// The part of a repayment that its debt's token states to be interest: a cost of the loan, and no part of what was borrowed.
fn interest_paid(scene: &EvmScene<'_>, rules: &Rules, paid: &Accrual) -> Option<Opinion> {
    let leg = position(&scene.legs, Direction::Out, paid.asset)?;
    let explains = Shares::one(leg, paid.amount, Tie::Stated);
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

/// Movements whose other side is a contract of a pack that takes plain transfers for an action, at most so many.
///
/// Anyone can make a token that logs a transfer with a well-known account, so a name is believed only of the native coin, and of a token that is
/// canonical or that a pack lists.
fn transfers(scene: &EvmScene<'_>, rules: &Rules, max: usize) -> Vec<Opinion> {
    let wallet = Account::from(scene.perspective);
    let is_by_stranger = calls_stranger(scene);
    let passed_on = LazyCell::new(|| coin_by_sender(scene));
    let mut found = Vec::new();
    for m in scene.movements.iter().filter(|m| (m.from == wallet) != (m.to == wallet) && scene.is_listed(m.asset)) {
        let (direction, other) = if m.from == wallet { (Direction::Out, m.to) } else { (Direction::In, m.from) };
        // What others take out of the wallet goes where they like.
        if direction == Direction::Out && !scene.acts {
            continue;
        }
        // What a stranger's contract does for the wallet with an exchange's account may be a payment.
        let owners = |other| if is_by_stranger { &[] } else { scene.known.owners(other) };
        let known = |other| scene.known.holders(other).iter().chain(owners(other));
        let Some(at) = position(&scene.legs, direction, m.asset) else { continue };
        let said = |holder: &Holder| {
            let rows = rules.transfers(holder.pack, &holder.role).iter();
            let fitting = rows.filter(|rule| rule.fits(direction, m.asset, scene.block));
            fitting.map(|rule| transfer(rules, rule, holder.pack, at, m.amount)).collect::<Vec<_>>()
        };
        found.extend(other.evm().map(known).into_iter().flatten().flat_map(said));
        // A bot's own contract passes on to whoever built the block just as much as it was given.
        let is_given = direction == Direction::Out && m.asset == Asset::Native;
        let is_unknown = |through: &Address| is_given && scene.known.holders(*through).is_empty();
        let through = other.evm().filter(is_unknown).and_then(|through| passed_on.get(&(through, m.amount)));
        let beyond = through.map(|last| known(*last)).into_iter().flatten().flat_map(said);
        found.extend(beyond.filter(|said| said.category == Category::FeePayment));
        if found.len() >= max {
            found.truncate(max);
            break;
        }
    }
    found
}

/// Who got so much coin of whom first.
fn coin_by_sender(scene: &EvmScene<'_>) -> BTreeMap<(Address, U256), Address> {
    let coin = scene.movements.iter().rev().filter(|m| m.asset == Asset::Native);
    coin.filter_map(|m| Some(((m.from.evm()?, m.amount), m.to.evm()?))).collect()
}

/// Whether the wallet called a contract of which nothing is known.
fn calls_stranger(scene: &EvmScene<'_>) -> bool {
    let transaction = &scene.facts.transaction;
    let is_known = |called| scene.known.is_on_list(called) || !scene.known.owners(called).is_empty();
    scene.acts && !transaction.input.is_empty() && !transaction.to.is_some_and(is_known)
}

fn transfer(rules: &Rules, rule: &TransferRule, pack: usize, leg: usize, amount: U256) -> Opinion {
    let explains = Shares::one(leg, amount, Tie::Stated);
    Opinion {
        protocol: rules.protocol(pack),
        role: rule.means.meaning().role,
        may_exchange: rules.may_exchange(pack),
        perhaps: rule.perhaps,
        ..Opinion::new(Source::Protocol, rule.id.clone(), rule.means, Strength::Verified, explains)
    }
}

/// A name for the protocol even where no rule decided: of a contract that some pack vouches for, the called one first, then
/// those that log of the wallet; else of a protocol whose own event tells of the wallet, or carried its action; else of a token that only
/// moved; else of what the wallet itself is; else of the exchange whose wallet was called, which says least.
pub fn named(scene: &EvmScene<'_>, rules: &Rules) -> Option<Arc<str>> {
    let logs = || scene.facts.receipt.logs.iter().take(LOGS_MAX);
    let wallet = scene.perspective.into_word();
    let of_wallet = |log: &&Log| log.topics.iter().skip(1).any(|topic| *topic == wallet);
    let is_act = |log: &&Log| log.topic0().is_some_and(|topic0| topic0 != TRANSFER && topic0 != APPROVAL);
    // A wallet that is a contract itself is not what it deals with.
    let is_own = |contract: Address| contract == scene.perspective;
    let vouched = |log: &Log| name_of(scene, rules, log.address).filter(|_| !is_own(log.address));
    let asked = called(scene, rules).filter(|_| !scene.facts.transaction.to.is_some_and(is_own));
    asked
        .or_else(|| logs().filter(is_act).filter(of_wallet).find_map(vouched))
        .or_else(|| logs().filter(is_act).find_map(vouched))
        .or_else(|| logs().find_map(|log| by_own_event(scene, rules, log)))
        .or_else(|| logs().find_map(vouched))
        .or_else(|| called(scene, rules))
        .or_else(|| {
            scene.known.owners(scene.facts.transaction.to?).iter().find_map(|holder| rules.protocol(holder.pack))
        })
}

fn by_own_event(scene: &EvmScene<'_>, rules: &Rules, log: &Log) -> Option<Arc<str>> {
    let topic0 = log.topic0().filter(|topic0| rules.is_own(topic0) && !scene.known.is_copy(log.address))?;
    let tells = |rule: &&EventRule| {
        rule.own && rule.layout.fits(log) && is_for_perspective(scene, &rule.who, &LogWords(log, None)) && scene.acts
    };
    let told = rules.events(&topic0).iter().filter(tells).map(|rule| rule.pack);
    let carries = |rule: &&ActorRule| rule.own && actor::applies(rule, log, scene.facts, &scene.known);
    let carried = rules.actors(&topic0).iter().filter(carries).map(|rule| rule.pack);
    told.chain(carried).find_map(|pack| rules.protocol(pack))
}

/// The name of what was called.
pub fn called(scene: &EvmScene<'_>, rules: &Rules) -> Option<Arc<str>> {
    let called = scene.facts.transaction.to?;
    name_of(scene, rules, called)
}

/// The name of a contract that some pack lists, or that another contract vouches for.
fn name_of(scene: &EvmScene<'_>, rules: &Rules, contract: Address) -> Option<Arc<str>> {
    // Of most contracts nothing is known.
    scene.known.holders(contract).first()?;
    let open = scene.known.open(contract).filter(|_| !scene.known.is_copy(contract));
    scene.known.vouchers(contract).chain(open).find_map(|pack| rules.protocol(pack))
}
