//! Contracts that no pack lists, and that a listed one proves: it vouches for them when it is asked, or they run its code. An unlisted contract's
//! word about itself is worth nothing.

use std::collections::BTreeSet;

use alloy_primitives::Address;

use super::EvmFacts;
use crate::rules::compile::{Proof, ProofRule};
use crate::rules::file::ProvingAnswer;
use crate::rules::{ChainRules, ProvedContracts};

/// What the answers so far prove.
pub fn proved(facts: &EvmFacts, listed: &ChainRules) -> ProvedContracts {
    let mut proved = ProvedContracts::new();
    for (contract, rule) in met(facts, listed) {
        let holders = proved.entry(contract).or_insert_with(|| listed.holders(contract).to_vec());
        let proves = &rule.proves;
        match holders.iter_mut().find(|holder| holder.pack == proves.pack && holder.role == proves.role) {
            Some(holder) => holder.standing = holder.standing.min(proves.standing),
            None => holders.push(proves.clone()),
        }
    }
    proved
}

/// The proofs that answers bear out, as evidence shows them.
pub fn evidence(facts: &EvmFacts, listed: &ChainRules) -> BTreeSet<String> {
    met(facts, listed).map(|(_, rule)| rule.id.clone()).collect()
}

fn met<'a>(facts: &'a EvmFacts, listed: &'a ChainRules) -> impl Iterator<Item = (Address, &'a ProofRule)> {
    let answered = facts.vouched.iter().flat_map(move |((asked, selector, contract), word)| {
        let is_met = move |rule: &&ProofRule| {
            let is_met_by = |answer: ProvingAnswer| word.is_some_and(|word| answer.is_met_by(word));
            matches!(&rule.proof, Proof::Answer { selector: its, answer, .. }
                if rule.by == *asked && its == selector && is_met_by(*answer))
        };
        listed.proofs().iter().filter(is_met).map(move |rule| (*contract, rule))
    });
    let coded = facts.codes.iter().flat_map(move |(contract, code)| {
        let is_met = move |rule: &&ProofRule| match (&rule.proof, code) {
            (Proof::Code { proxies }, Some(code)) if proxies.is_empty() => code.is_minimal_proxy_to(rule.by),
            (Proof::Code { proxies }, Some(code)) => code.is_proxy_of_beacon(proxies, rule.by),
            _ => false,
        };
        listed.proofs().iter().filter(is_met).map(move |rule| (*contract, rule))
    });
    answered.chain(coded)
}
