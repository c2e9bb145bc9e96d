//! The `protocol` source: rule packs over contracts and their events.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};

use super::explain::{Explained, Words, explain};
use super::standing::{Standing, proved, standing};
use super::vaults::{self, VaultLog};
use super::{OPINIONS_MAX, amm, positions};
use crate::asset::{Account, Asset, Seen};
use crate::category::Category;
use crate::evm::json::{Log, word_address};
use crate::evm::scene::EvmScene;
use crate::evm::{LOGS_MAX, actor};
use crate::legs::{Direction, position};
use crate::opinion::{LegSet, Opinion, Source, Strength};
use crate::rules::compile::{ActorRule, EventRule, Field, Place, Who, default_role};
use crate::rules::file::{Reader, Way};
use crate::rules::{ChainRules, Rules, TransferRule};
use crate::scene::Outcome;

pub fn opinions(scene: &EvmScene<'_>, rules: &Rules) -> Vec<Opinion> {
    let mut found = Vec::new();
    let mut swaps = Vec::new();
    let mut vaults = Vec::new();
    if scene.outcome == Outcome::Failed {
        return found;
    }
    let logged = LazyCell::new(|| logged(scene));
    let mut said: Vec<(bool, Opinion)> = Vec::new();
    for (position, log) in scene.facts.receipt.logs.iter().enumerate().take(LOGS_MAX) {
        let Some(topic0) = log.topic0() else { continue };
        let listening = rules.events(&topic0);
        if listening.is_empty() {
            continue;
        }
        let holders = scene.known.holders(log.address);
        for rule in listening.iter().filter(|rule| rule.layout.fits(log)) {
            let Some(standing) = standing(scene, rule, log.address, holders) else { continue };
            if !holds(scene.known, rule, log, |topic0| logged.contains(&(log.address, topic0))) {
                continue;
            }
            if rule.reader == Some(Reader::Amm) {
                swaps.push(amm::PoolLog { position, pool: log.address, rule, standing });
                continue;
            }
            if found.len().saturating_add(said.len()) >= OPINIONS_MAX {
                continue;
            }
            if rule.reader == Some(Reader::Vault) && speaks_of(scene, &rule.who, &LogWords(log, None)) {
                let assets = log.data_u256(0).filter(|_| vaults.len() < OPINIONS_MAX);
                vaults.extend(assets.map(|assets| VaultLog { position, vault: log.address, rule, standing, assets }));
            }
            let Some(whole) = opinion(scene, rules, rule, log, position, standing) else { continue };
            let is_own = matches!(rule.place, Place::Role(_) | Place::WrappedNative);
            match rule.reader {
                Some(Reader::Collected) => {
                    said.extend(positions::split(scene, whole, log).into_iter().map(|part| (is_own, part)));
                }
                Some(Reader::Vault | Reader::Amm) | None => said.push((is_own, whole)),
            }
        }
        // Where rules written for this very contract speak, those that any contract's log would wake may only agree.
        if said.iter().any(|(is_own, _)| *is_own) {
            let own: Vec<Category> = said.iter().filter(|(is_own, _)| *is_own).map(|(_, o)| o.category).collect();
            said.retain(|(_, opinion)| own.contains(&opinion.category));
        }
        found.extend(said.drain(..).map(|(_, opinion)| opinion));
    }
    found.extend(amm::opinions(scene, rules, &swaps));
    found.extend(vaults::opinion(scene, rules, &vaults));
    let left = OPINIONS_MAX.saturating_sub(found.len());
    found.extend(transfers(scene, rules, left));
    found
}

/// Which contract logged which event.
fn logged(scene: &EvmScene<'_>) -> BTreeSet<(Address, B256)> {
    scene.facts.receipt.logs.iter().filter_map(|log| Some((log.address, log.topic0()?))).collect()
}

/// Movements whose other side is a contract of a pack that takes plain transfers for an action, at most so many.
///
/// Anyone can make a token that logs a transfer with a well-known account. The chain itself moves the native coin; a token's
/// word counts when the token is canonical, when the wallet acts, or when the pack's own account sent the transaction, was
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
            let is_way = |way| matches!((way, direction), (Way::Out, Direction::Out) | (Way::In, Direction::In));
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
    let mut explains = LegSet::EMPTY;
    explains.insert(leg);
    Opinion {
        protocol: rules.protocol(pack),
        role: default_role(rule.means),
        amounts: vec![(leg, amount)],
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

/// Whether the rule's conditions beyond the layout hold. `logged` tells whether the same contract also logged another event.
pub fn holds(known: &ChainRules, rule: &EventRule, log: &Log, logged: impl Fn(B256) -> bool) -> bool {
    let words = LogWords(log, None);
    let is_positive = |field| words.amount(field).is_some_and(|word| !word.bit(255) && !word.is_zero());
    let is_negative = |field| words.amount(field).is_some_and(|word| word.bit(255));
    rule.only.beside.is_none_or(&logged)
        && !rule.only.without.is_some_and(&logged)
        && rule.only.equals.iter().all(|(field, value)| words.amount(*field) == Some(*value))
        && rule.only.same.iter().all(|(one, other)| words.amount(*one) == words.amount(*other))
        && rule.only.differ.iter().all(|(one, other)| words.amount(*one) != words.amount(*other))
        && rule
            .only
            .holds
            .iter()
            .all(|(field, role)| words.address(*field).is_some_and(|holder| known.holds_role(holder, rule.pack, role)))
        && rule.only.positive.is_none_or(is_positive)
        && rule.only.negative.is_none_or(is_negative)
}

fn opinion(
    scene: &EvmScene<'_>,
    rules: &Rules,
    rule: &EventRule,
    log: &Log,
    position: usize,
    standing: Standing,
) -> Option<Opinion> {
    let words = LogWords(log, Some(position));
    if !speaks_of(scene, &rule.who, &words) {
        return None;
    }
    let Explained { legs, amounts } = explain(scene, &rule.out, &rule.incoming, log.address, &words)?;
    // Nothing but the amount ties such a fill to the wallet.
    let is_exact = |(at, amount): &(usize, U256)| scene.legs.get(*at).is_some_and(|leg| leg.amount == *amount);
    if rule.escrowed && !amounts.iter().all(is_exact) {
        return None;
    }
    let Standing { strength, pack } = proved(scene, rule, log.address, standing);
    Some(Opinion {
        protocol: (strength == Strength::Verified || rule.own).then(|| rules.protocol(pack)).flatten(),
        role: rule.role,
        at: Some(Seen::Log(position)),
        amounts,
        escrowed: rule.escrowed,
        ..Opinion::new(Source::Protocol, rule.id.clone(), rule.means, strength, legs)
    })
}

/// Whether the rule's actor is the perspective.
pub fn speaks_of(scene: &EvmScene<'_>, who: &[Who], words: &impl Words) -> bool {
    who.iter().any(|who| match who {
        Who::Anyone => true,
        Who::Sender => scene.acts,
        Who::Field(field) => words.address(*field) == Some(scene.perspective),
    })
}

/// A log, and its place where that matters.
#[derive(Debug)]
pub struct LogWords<'a>(pub &'a Log, pub Option<usize>);

impl LogWords<'_> {
    fn word(&self, field: Field) -> Option<&[u8; 32]> {
        match field {
            Field::Topic(at) => self.0.topics.get(at).map(|topic| &topic.0),
            Field::Word(at) => self.0.data_word(at),
        }
    }
}

impl Words for LogWords<'_> {
    fn position(&self) -> Option<usize> {
        self.1
    }

    fn address(&self, field: Field) -> Option<Address> {
        self.word(field).and_then(word_address)
    }

    fn amount(&self, field: Field) -> Option<U256> {
        self.word(field).map(|word| U256::from_be_bytes(*word))
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
        rule.own && rule.layout.fits(log) && speaks_of(scene, &rule.who, &LogWords(log, None)) && scene.acts
    };
    let told = rules.events(&topic0).iter().filter(tells).map(|rule| rule.pack);
    let carries = |rule: &&ActorRule| rule.own && actor::speaks(rule, log, scene.facts, scene.known);
    let carried = rules.actors(&topic0).iter().filter(carries).map(|rule| rule.pack);
    told.chain(carried).find_map(|pack| rules.protocol(pack))
}

/// The name of what was called.
pub fn called(scene: &EvmScene<'_>, rules: &Rules) -> Option<Arc<str>> {
    let called = scene.facts.transaction.to?;
    scene.known.vouchers(called).find_map(|pack| rules.protocol(pack))
}
