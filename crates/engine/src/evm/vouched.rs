//! Contracts that no pack lists, and that a listed one vouches for when it is asked. An unlisted contract's word about itself is worth nothing.

use std::collections::BTreeSet;

use alloy_primitives::Address;

use super::EvmFacts;
use crate::rules::compile::ProofRule;
use crate::rules::{ChainRules, ProvedContracts};

/// What the answers so far prove.
pub fn proved(facts: &EvmFacts, listed: &ChainRules) -> ProvedContracts {
    let mut proved = ProvedContracts::new();
    for (contract, rule) in met(facts, listed) {
        let holders = proved.entry(contract).or_insert_with(|| listed.holders(contract).to_vec());
        if !holders.iter().any(|holder| holder.pack == rule.proves.pack && holder.role == rule.proves.role) {
            holders.push(rule.proves.clone());
        }
    }
    proved
}

/// The proofs that answers bear out, as evidence shows them.
pub fn evidence(facts: &EvmFacts, listed: &ChainRules) -> BTreeSet<String> {
    met(facts, listed).map(|(_, rule)| rule.id.clone()).collect()
}

fn met<'a>(facts: &'a EvmFacts, listed: &'a ChainRules) -> impl Iterator<Item = (Address, &'a ProofRule)> {
    facts.vouched.iter().flat_map(move |((asked, selector, contract), word)| {
        let is_met = move |rule: &&ProofRule| {
            rule.asked == *asked && rule.selector == *selector && word.is_some_and(|word| rule.is_met_by(word))
        };
        listed.proofs().iter().filter(is_met).map(move |rule| (*contract, rule))
    })
}
