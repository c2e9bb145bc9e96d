//! What a question about an EVM transaction lacks.

use super::InternalValue;
use super::scene::EvmScene;
use crate::asset::Account;
use crate::needs::{Need, unknown_tokens};
use crate::scene::Outcome;

pub(crate) fn needs(scene: &EvmScene<'_>) -> Vec<Need> {
    if scene.outcome == Outcome::Failed {
        return Vec::new();
    }
    let facts = scene.facts;
    let mut needs = Vec::new();
    match facts.internal {
        InternalValue::NotAsked => needs.push(Need::InternalValue),
        InternalValue::Untraceable | InternalValue::Listed { .. } if scene.may_hide_coin => {
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
    let is_known = |contract: &Account| contract.evm().is_none_or(|token| facts.tokens.contains_key(&token));
    needs.extend(unknown_tokens(scene.listed_legs(), is_known));
    needs
}
