//! Who acts. The sender does, unless it only submits someone else's action: the smart account of a user operation, the Safe
//! whose transaction it executes, the owner of an order that a solver settles. Packs say which events tell.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use alloy_primitives::Address;

use super::json::{Log, word_address};
use super::{EvmFacts, LOGS_MAX};
use crate::asset::{Account, Movement};
use crate::rules::compile::{ActorRule, RulePlace};
use crate::rules::{Known, Rules};

/// Accounts of one bundle that are listed; past it the bundle is still known to hold several.
const ACTORS_MAX: usize = 64;

/// The accounts for whom the transaction was submitted, other than its sender. Empty when the sender acts for itself.
pub fn carried(facts: &EvmFacts, movements: &[Movement], rules: &Rules, known: &Known<'_>) -> BTreeSet<Address> {
    let sender = Account::from(facts.transaction.from);
    let is_idle = LazyCell::new(|| !movements.iter().any(|m| m.from == sender || m.to == sender));
    let mut actors = BTreeSet::new();
    for log in facts.receipt.logs.iter().take(LOGS_MAX) {
        let Some(topic0) = log.topic0() else { continue };
        for rule in rules.actors(&topic0).iter().filter(|rule| applies(rule, log, facts, known)) {
            if actors.len() < ACTORS_MAX && (!rule.idle_sender || *is_idle) {
                actors.extend(named(rule, log));
            }
        }
    }
    if actors.contains(&facts.transaction.from) { BTreeSet::new() } else { actors }
}

pub fn applies(rule: &ActorRule, log: &Log, facts: &EvmFacts, known: &Known<'_>) -> bool {
    let is_emitter = match &rule.place {
        RulePlace::Role(role) => known.holds_role(log.address, rule.pack, role),
        RulePlace::Called => facts.transaction.to == Some(log.address),
        RulePlace::Anywhere => true,
        // Legs are not known before the actor is.
        RulePlace::Paid | RulePlace::Moved | RulePlace::WrappedNative | RulePlace::ListedAs(_) => false,
    };
    let is_asked = rule.selector.is_none_or(|selector| facts.transaction.selector() == Some(selector.0));
    is_emitter && is_asked && rule.layout.fits(log)
}

fn named(rule: &ActorRule, log: &Log) -> Option<Address> {
    match &rule.who {
        None => Some(log.address),
        Some(field) => field.in_log(log, 0).and_then(word_address),
    }
}
