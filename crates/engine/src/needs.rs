//! What the engine still lacks. It asks and never fetches: the shell answers in bulk and asks again.

use std::collections::BTreeSet;

use alloy_primitives::Address;

use crate::evm::scene;
use crate::evm::{EvmFacts, InternalValue};
use crate::legs::Leg;
use crate::question::Question;
use crate::rules::Rules;
use crate::scene::Outcome;

/// How often the shell answers and asks again.
pub const NEED_ROUNDS_MAX: usize = 3;
/// Tokens of one transaction whose metadata is asked for; past it the legs stay without a symbol.
pub const TOKENS_MAX: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Native coin passed on inside the transaction.
    InternalValue,
    /// The account's balance before and after the block.
    Balance(Address),
    Token(Address),
}

pub fn needs(facts: &EvmFacts, question: &Question, rules: &Rules) -> Vec<Need> {
    let mut needs = BTreeSet::new();
    let Ok(scene) = scene::read(facts, question, rules) else { return Vec::new() };
    if scene.outcome == Outcome::Failed {
        return Vec::new();
    }
    match facts.internal {
        InternalValue::NotAsked => {
            needs.insert(Need::InternalValue);
        }
        InternalValue::Untraceable if scene::internal_value_is_possible(facts) => {
            if !facts.balances.contains_key(&scene.perspective) {
                needs.insert(Need::Balance(scene.perspective));
            }
        }
        InternalValue::Untraceable | InternalValue::Traced { .. } => {}
    }
    let mut tokens = tokens_of(&scene.legs);
    tokens.extend(scene.actors.iter().flat_map(|(_, legs)| tokens_of(legs)));
    let unknown = tokens.into_iter().filter(|token| !facts.tokens.contains_key(token));
    needs.extend(unknown.take(TOKENS_MAX).map(Need::Token));
    needs.into_iter().collect()
}

fn tokens_of(legs: &[Leg]) -> BTreeSet<Address> {
    legs.iter().filter_map(|leg| leg.asset.contract()).filter_map(|contract| contract.evm()).collect()
}
