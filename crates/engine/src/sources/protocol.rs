//! The `protocol` source: rule packs over contracts and their events.

use std::collections::BTreeSet;

use alloy_primitives::{Address, B256, U256};

use super::explain::{Explained, Words, explain};
use super::standing::{Standing, proved, standing};
use super::{OPINIONS_MAX, amm, positions};
use crate::asset::Seen;
use crate::evm::LOGS_MAX;
use crate::evm::json::{Log, word_address};
use crate::evm::scene::{Outcome, Scene};
use crate::legs::Direction;
use crate::opinion::{LegSet, Opinion, Source, Strength};
use crate::rules::compile::{EventRule, Field, Who, default_role};
use crate::rules::file::{Reader, Way};
use crate::rules::{Rules, TransferRule};

pub fn opinions(scene: &Scene<'_>, rules: &Rules) -> Vec<Opinion> {
    let mut found = Vec::new();
    let mut swaps = Vec::new();
    if scene.outcome == Outcome::Failed {
        return found;
    }
    for (position, log) in scene.facts.receipt.logs.iter().enumerate().take(LOGS_MAX) {
        let Some(topic0) = log.topic0() else { continue };
        for rule in rules.events(&topic0).iter().filter(|rule| rule.layout.fits(log) && holds(scene, rule, log)) {
            let Some(standing) = standing(scene, rule, log.address) else { continue };
            match rule.reader {
                Some(Reader::Amm) => swaps.push(amm::PoolLog { position, pool: log.address, rule, standing }),
                Some(Reader::Collected) | None if found.len() >= OPINIONS_MAX => {}
                Some(Reader::Collected) => {
                    let collected = opinion(scene, rules, rule, log, position, standing);
                    found.extend(collected.into_iter().flat_map(|whole| positions::split(scene, whole, log)));
                }
                None => found.extend(opinion(scene, rules, rule, log, position, standing)),
            }
        }
    }
    found.extend(amm::opinions(scene, rules, &swaps));
    found.extend(transfers(scene, rules));
    found
}

/// Legs whose other side is a contract of a pack that takes plain transfers for an action.
fn transfers<'a>(scene: &'a Scene<'_>, rules: &'a Rules) -> impl Iterator<Item = Opinion> {
    let opinion = move |at: usize, pack: usize, rule: &TransferRule| {
        let mut explains = LegSet::EMPTY;
        explains.insert(at);
        Opinion {
            source: Source::Protocol,
            rule: rule.id.clone(),
            protocol: rules.protocol(pack),
            category: rule.means,
            strength: Strength::Verified,
            role: default_role(rule.means),
            at: None,
            explains,
            amounts: Vec::new(),
        }
    };
    scene.legs.iter().enumerate().flat_map(move |(at, leg)| {
        let holders = leg.other.evm().into_iter().flat_map(move |other| scene.known.vouchers(other));
        holders.flat_map(move |(pack, role)| {
            let fits = move |rule: &&TransferRule| {
                matches!((rule.way, leg.direction), (Way::Out, Direction::Out) | (Way::In, Direction::In))
            };
            rules.transfers(*pack, role).iter().filter(fits).map(move |rule| opinion(at, *pack, rule))
        })
    })
}

fn holds(scene: &Scene<'_>, rule: &EventRule, log: &Log) -> bool {
    let words = LogWords(log);
    let logged = |topic0: B256| {
        scene.facts.receipt.logs.iter().any(|other| other.address == log.address && other.topic0() == Some(topic0))
    };
    let is_positive = |field| words.amount(field).is_some_and(|word| !word.bit(255) && !word.is_zero());
    let is_negative = |field| words.amount(field).is_some_and(|word| word.bit(255));
    rule.only.beside.is_none_or(logged)
        && !rule.only.without.is_some_and(logged)
        && rule.only.equals.iter().all(|(field, value)| words.amount(*field) == Some(*value))
        && rule.only.positive.is_none_or(is_positive)
        && rule.only.negative.is_none_or(is_negative)
}

fn opinion(
    scene: &Scene<'_>,
    rules: &Rules,
    rule: &EventRule,
    log: &Log,
    position: usize,
    standing: Standing,
) -> Option<Opinion> {
    let words = LogWords(log);
    if !speaks_of(scene, &rule.who, &words) {
        return None;
    }
    let Explained { legs, amounts } = explain(scene, &rule.out, &rule.incoming, log.address, &words)?;
    let Standing { strength, pack } = proved(scene, rule, log.address, standing);
    Some(Opinion {
        source: Source::Protocol,
        rule: rule.id.clone(),
        protocol: (strength == Strength::Verified).then(|| rules.protocol(pack)).flatten(),
        category: rule.means,
        strength,
        role: rule.role,
        at: Some(Seen::Log(position)),
        explains: legs,
        amounts,
    })
}

/// Whether the rule's actor is the perspective.
pub fn speaks_of(scene: &Scene<'_>, who: &[Who], words: &impl Words) -> bool {
    who.iter().any(|who| match who {
        Who::Anyone => true,
        Who::Sender => scene.acts(),
        Who::Field(field) => words.address(*field) == Some(scene.perspective),
    })
}

struct LogWords<'a>(&'a Log);

impl LogWords<'_> {
    fn word(&self, field: Field) -> Option<&[u8; 32]> {
        match field {
            Field::Topic(at) => self.0.topics.get(at).map(|topic| &topic.0),
            Field::Word(at) => self.0.data_word(at),
        }
    }
}

impl Words for LogWords<'_> {
    fn address(&self, field: Field) -> Option<Address> {
        self.word(field).and_then(word_address)
    }

    fn amount(&self, field: Field) -> Option<U256> {
        self.word(field).map(|word| U256::from_be_bytes(*word))
    }
}

/// Packs that vouch for a contract that this transaction touches, the called one first: a name for the protocol even
/// where no rule decided.
pub fn touched(scene: &Scene<'_>, rules: &Rules) -> Option<usize> {
    let facts = scene.facts;
    let mut asked = BTreeSet::new();
    let contracts = facts.transaction.to.into_iter().chain(facts.receipt.logs.iter().map(|log| log.address));
    contracts.take(LOGS_MAX).filter(|contract| asked.insert(*contract)).find_map(|contract| {
        scene.known.vouchers(contract).iter().map(|(pack, _)| *pack).find(|pack| rules.protocol(*pack).is_some())
    })
}
