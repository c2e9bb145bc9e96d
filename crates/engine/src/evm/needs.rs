//! What a question about an EVM transaction lacks.

use std::collections::BTreeSet;

use alloy_primitives::{Address, Selector};

use super::InternalValue;
use super::json::Log;
use super::scene::EvmScene;
use crate::asset::Account;
use crate::needs::{Need, unknown_tokens};
use crate::rules::Standing;
use crate::rules::compile::{Proof, ProofRule};
use crate::rules::file::AskedAt;
use crate::scene::Outcome;

/// Questions for one transaction. Whoever deploys many contracts that log well-known events gains nothing but that the rest stays unasked.
const QUESTIONS_MAX: usize = 16;

pub(crate) fn needs(scene: &EvmScene<'_>) -> Vec<Need> {
    let facts = scene.facts;
    let is_known = |contract: &Account| contract.evm().is_none_or(|token| facts.tokens.contains_key(&token));
    let mut needs: Vec<Need> = scene.gas_token.filter(|token| !is_known(token)).map(Need::Token).into_iter().collect();
    if scene.outcome == Outcome::Failed {
        return needs;
    }
    match facts.internal {
        InternalValue::NotAsked => needs.push(Need::InternalValue),
        _ if scene.asks_balance => {
            if !facts.balances.contains_key(&scene.perspective) {
                needs.push(Need::Balance(scene.perspective.into()));
            }
        }
        InternalValue::Untraceable | InternalValue::Listed { .. } | InternalValue::Traced { .. } => {}
    }
    let unheard =
        scene.rebases.iter().filter(|rebase| !facts.holdings.contains_key(&(rebase.token, scene.perspective)));
    needs.extend(unheard.map(|rebase| Need::Holding {
        token: rebase.token.into(),
        holder: scene.perspective.into(),
        shares: rebase.rule.shares.0,
    }));
    needs.extend(unknown_tokens(scene.listed_legs(), is_known));
    needs
}

/// Whom to ask where the transaction would go to review: a contract that no pack lists logged, or was called for, what the contracts of some role
/// log or are called for, and a listed contract can say whether it is one of them, or the code of one can.
pub(crate) fn questions(scene: &EvmScene<'_>) -> Vec<Need> {
    let proofs = scene.known.proofs();
    if proofs.is_empty() {
        return Vec::new();
    }
    let facts = scene.facts;
    let mut needs = BTreeSet::new();
    let mut ask = |rule: &ProofRule, contract: Address| {
        let is_known = scene.known.vouchers(contract).next().is_some();
        // What anybody may have made is believed more once whoever governs the protocol vouches for it.
        let may_rise = scene.known.open(contract).is_some() && rule.proves.standing == Standing::Listed;
        // The wrapped coin logs what some gauges log.
        if is_known && !may_rise || facts.chain.is_wrapped_native(contract) {
            return;
        }
        match &rule.proof {
            Proof::Answer { selector, at, .. } if !facts.vouched.contains_key(&(rule.by, selector.0, contract)) => {
                needs.insert(Need::Vouched {
                    asked: rule.by.into(),
                    selector: selector.0,
                    contract: contract.into(),
                    anytime: *at == AskedAt::Anytime,
                });
            }
            Proof::Code { .. } if !facts.codes.contains_key(&contract) => {
                needs.insert(Need::Code(contract.into()));
            }
            Proof::Answer { .. } | Proof::Code { .. } => {}
        }
    };
    let is_noticed = |log: &&Log| log.topic0().is_some_and(|topic0| scene.known.notices(&topic0));
    let noticed: Vec<&Log> = facts.contract_logs().filter(is_noticed).collect();
    let called = facts.transaction.to.zip(facts.transaction.input.first_chunk::<4>().map(Selector::from));
    for rule in proofs {
        if let Some((contract, _)) = called.filter(|(_, selector)| rule.selectors.contains(selector)) {
            ask(rule, contract);
        }
        let logs = noticed.iter().filter(|log| log.topic0().is_some_and(|topic0| rule.topics.contains(&topic0)));
        logs.for_each(|log| ask(rule, log.address));
    }
    let asked = facts.vouched.len().saturating_add(facts.codes.len());
    needs.into_iter().take(QUESTIONS_MAX.saturating_sub(asked)).collect()
}
