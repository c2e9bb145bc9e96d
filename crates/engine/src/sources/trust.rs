//! How far a contract's logs are believed: whether a pack vouches for it, or its address proves the factory that made it.

use alloy_primitives::Address;

use crate::evm::pools;
use crate::evm::scene::EvmScene;
use crate::legs::has_contract;
use crate::opinion::Strength;
use crate::rules::compile::{EventRule, RulePlace};
use crate::rules::{Holder, open_pack};

/// How far an emitter is believed, and the pack that vouches for it (or whose rule it is).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EmitterTrust {
    pub strength: Strength,
    pub pack: usize,
}

/// `None` when the rule does not apply to this emitter, which the packs in `holders` list. A rule for any contract counts as
/// verified where a pack lists this one.
pub fn trust(scene: &EvmScene<'_>, rule: &EventRule, emitter: Address, holders: &[Holder]) -> Option<EmitterTrust> {
    let chain = &scene.facts.chain;
    let listens = match &rule.place {
        RulePlace::Role(role) => holders.iter().any(|holder| holder.pack == rule.pack && *holder.role == **role),
        RulePlace::ListedAs(role) => listed_as(holders, role).is_some(),
        RulePlace::WrappedNative => chain.is_wrapped_native(emitter),
        RulePlace::Anywhere => true,
        RulePlace::Called => scene.facts.transaction.to == Some(emitter),
        RulePlace::Paid => is_paid(scene, emitter),
        RulePlace::Moved => has_contract(&scene.legs, emitter.into()),
    };
    if !listens {
        return None;
    }
    let vouched = match &rule.place {
        RulePlace::Role(_) | RulePlace::WrappedNative => Some(rule.pack),
        RulePlace::ListedAs(role) => listed_as(holders, role),
        RulePlace::Anywhere | RulePlace::Called | RulePlace::Paid | RulePlace::Moved => {
            holders.iter().find(|holder| !holder.is_quiet).map(|holder| holder.pack)
        }
    };
    // What anybody may have made is believed less than what is listed by itself (`open`).
    let vouched = vouched.filter(|_| open_pack(holders).is_none());
    Some(match vouched {
        Some(pack) => EmitterTrust { strength: Strength::Verified, pack },
        None => EmitterTrust { strength: Strength::Standard, pack: rule.pack },
    })
}

/// The pack that vouches for the contract in a role of this name.
pub fn listed_as(holders: &[Holder], role: &str) -> Option<usize> {
    holders.iter().find(|holder| *holder.role == *role && !holder.is_quiet).map(|holder| holder.pack)
}

fn is_paid(scene: &EvmScene<'_>, emitter: Address) -> bool {
    let transaction = &scene.facts.transaction;
    transaction.to == Some(emitter) && transaction.input.is_empty() && !transaction.value.is_zero()
}

/// A pool that no pack lists is verified when its address is derived from a listed factory.
pub fn proved(scene: &EvmScene<'_>, rule: &EventRule, emitter: Address, trust: EmitterTrust) -> EmitterTrust {
    if trust.strength == Strength::Verified {
        return trust;
    }
    let maker = rule.derive.and_then(|derive| pools::maker(&scene.known, &scene.movements, emitter, derive));
    maker.map_or(trust, |pack| EmitterTrust { strength: Strength::Verified, pack })
}
