//! How much a contract's word is worth: whether a pack vouches for it, or its address proves the factory that made it.

use alloy_primitives::Address;

use super::pools;
use crate::evm::scene::EvmScene;
use crate::legs::has_contract;
use crate::opinion::Strength;
use crate::rules::Holder;
use crate::rules::compile::{EventRule, Place};

/// How much an emitter's word is worth, and the pack that vouches for it (or whose rule it is).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Standing {
    pub strength: Strength,
    pub pack: usize,
}

/// `None` when the rule does not listen to this emitter, whom `holders` know. A rule for any contract gains the word of a
/// pack that knows this one.
pub fn standing(scene: &EvmScene<'_>, rule: &EventRule, emitter: Address, holders: &[Holder]) -> Option<Standing> {
    let chain = &scene.facts.chain;
    let listens = match &rule.place {
        Place::Role(role) => holders.iter().any(|holder| holder.pack == rule.pack && *holder.role == **role),
        Place::WrappedNative => chain.is_wrapped_native(emitter),
        Place::Anywhere => true,
        Place::Called => scene.facts.transaction.to == Some(emitter),
        Place::Moved => has_contract(&scene.legs, emitter.into()),
    };
    if !listens {
        return None;
    }
    let vouched = match rule.place {
        Place::Role(_) | Place::WrappedNative => Some(rule.pack),
        Place::Anywhere | Place::Called | Place::Moved => {
            holders.iter().find(|holder| !holder.is_quiet).map(|holder| holder.pack)
        }
    };
    Some(match vouched {
        Some(pack) => Standing { strength: Strength::Verified, pack },
        None => Standing { strength: Strength::Standard, pack: rule.pack },
    })
}

/// A pool that nobody lists can still prove its factory.
pub fn proved(scene: &EvmScene<'_>, rule: &EventRule, emitter: Address, standing: Standing) -> Standing {
    if standing.strength == Strength::Verified {
        return standing;
    }
    let maker = rule.derive.and_then(|derive| pools::maker(scene, emitter, derive));
    maker.map_or(standing, |pack| Standing { strength: Strength::Verified, pack })
}
