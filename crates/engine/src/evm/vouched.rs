//! Contracts that no pack lists, and that a listed one vouches for when it is asked. An unlisted contract's word about itself is worth nothing.

use std::collections::BTreeSet;

use alloy_primitives::{Address, Selector};

use super::EvmFacts;
use super::scene::EvmScene;
use crate::needs::Need;
use crate::rules::compile::ProofRule;
use crate::rules::file::AskedAt;
use crate::rules::{ChainRules, ProvedContracts};

/// Questions for one transaction. Whoever deploys many contracts that log well-known events gains nothing but that the rest stays unasked.
const QUESTIONS_MAX: usize = 16;

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
        listed.proofs().iter().map(|rule| &**rule).filter(is_met).map(move |rule| (*contract, rule))
    })
}

/// What to ask where the transaction stays open: of each contract that logged or was called as a contract in some role does, and that no
/// pack vouches for.
pub fn questions(scene: &EvmScene<'_>) -> Vec<Need> {
    let proofs = scene.known.proofs();
    if proofs.is_empty() {
        return Vec::new();
    }
    let facts = scene.facts;
    let mut needs = BTreeSet::new();
    let mut ask = |rule: &ProofRule, contract: Address| {
        let key = (rule.asked, rule.selector.0, contract);
        // The wrapped coin logs what some gauges log.
        let is_known = scene.known.vouchers(contract).next().is_some() || facts.chain.is_wrapped_native(contract);
        if !is_known && !facts.vouched.contains_key(&key) {
            needs.insert(Need::Vouched {
                asked: rule.asked.into(),
                selector: rule.selector.0,
                contract: contract.into(),
                anytime: rule.at == AskedAt::Anytime,
            });
        }
    };
    let called = facts.transaction.to.zip(facts.transaction.input.first_chunk::<4>().map(Selector::from));
    for rule in proofs {
        if let Some((contract, _)) = called.filter(|(_, selector)| rule.selectors.contains(selector)) {
            ask(rule, contract);
        }
        let logs = facts.contract_logs().filter(|log| log.topic0().is_some_and(|topic0| rule.topics.contains(&topic0)));
        logs.for_each(|log| ask(rule, log.address));
    }
    needs.into_iter().take(QUESTIONS_MAX.saturating_sub(facts.vouched.len())).collect()
}
