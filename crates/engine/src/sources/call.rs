//! The `call` source: what was asked for. Amounts in calldata are wishes, so a call names assets and parties only.

use alloy_primitives::{Address, FixedBytes, U256};

use super::explain::{Explained, Words, explain};
use super::protocol::speaks_of;
use crate::asset::Asset;
use crate::category::Category;
use crate::evm::json::word_address;
use crate::evm::scene::{Direction, Outcome, Scene};
use crate::opinion::{LegSet, Opinion, Role, Source, Strength};
use crate::rules::Rules;
use crate::rules::compile::{CallRule, Field, Place};

/// How deep calls inside calls are opened.
const CALL_DEPTH_MAX: usize = 4;
/// Calls looked at in one transaction.
const CALLS_MAX: usize = 256;

/// Transaction types that the chain itself makes out of a deposit on its parent: Arbitrum's and the OP stack's.
const PARENT_DEPOSITS: [u64; 2] = [0x64, 0x7e];

pub fn opinions(scene: &Scene<'_>, rules: &Rules) -> Vec<Opinion> {
    let transaction = &scene.facts.transaction;
    if scene.outcome == Outcome::Failed {
        return Vec::new();
    }
    let Some(target) = transaction.to else { return deployment(scene) };
    if PARENT_DEPOSITS.contains(&transaction.kind()) && scene.legs.iter().all(|leg| leg.direction == Direction::In) {
        return vec![bare(scene, "evm/deposit", Category::BridgeIn)];
    }
    if transaction.input.is_empty() {
        return plain_value(scene, target);
    }
    let mut found = Vec::new();
    let mut open = vec![(transaction.input.as_ref(), 0_usize)];
    let mut looked_at = 0_usize;
    while let Some((input, depth)) = open.pop() {
        looked_at = looked_at.saturating_add(1);
        let Some(call) = Calldata::split(input).filter(|_| looked_at <= CALLS_MAX) else { continue };
        for rule in rules.calls(&call.selector) {
            let Some(strength) = standing(scene, rules, rule, target) else { continue };
            match rule.opens {
                Some(head) if depth < CALL_DEPTH_MAX => {
                    let inner = call.bytes_array(head).unwrap_or_default();
                    open.extend(inner.into_iter().rev().map(|bytes| (bytes, depth.saturating_add(1))));
                }
                Some(_) => {}
                None => found.extend(opinion(scene, rules, rule, &call, target, strength)),
            }
        }
    }
    if found.is_empty() && scene.movements.is_empty() && transaction.from == scene.perspective {
        found.push(bare(scene, "evm/call", Category::ContractCall));
    }
    found
}

fn standing(scene: &Scene<'_>, rules: &Rules, rule: &CallRule, target: Address) -> Option<Strength> {
    let chain = &scene.facts.chain;
    match &rule.place {
        Place::Role(role) => {
            rules.holds_role(chain.rules_slug(), target, rule.pack, role).then_some(Strength::Verified)
        }
        Place::WrappedNative => chain.is_wrapped_native(target).then_some(Strength::Verified),
        Place::Anywhere | Place::Called => Some(Strength::Standard),
        Place::Moved => {
            scene.legs.iter().any(|leg| leg.asset.contract() == Some(target.into())).then_some(Strength::Standard)
        }
    }
}

fn opinion(
    scene: &Scene<'_>,
    rules: &Rules,
    rule: &CallRule,
    call: &Calldata<'_>,
    target: Address,
    strength: Strength,
) -> Option<Opinion> {
    let category = rule.means?;
    let complete = call.arguments.len() >= rule.words.saturating_mul(32);
    let zero_asked = rule.zero.is_none_or(|field| call.amount(field).is_some_and(|amount| amount.is_zero()));
    if !complete || !zero_asked || !speaks_of(scene, &rule.who, call) {
        return None;
    }
    let Explained { legs, amounts: _ } = explain(scene, &rule.out, &rule.incoming, target, call)?;
    Some(Opinion {
        source: Source::Call,
        rule: rule.id.clone(),
        protocol: (strength == Strength::Verified).then(|| rules.protocol(rule.pack)).flatten(),
        category,
        strength,
        role: Role::Principal,
        at: None,
        explains: legs,
        amounts: Vec::new(),
    })
}

fn bare(scene: &Scene<'_>, rule: &str, category: Category) -> Opinion {
    Opinion {
        source: Source::Call,
        rule: rule.into(),
        protocol: None,
        category,
        strength: Strength::Standard,
        role: Role::Principal,
        at: None,
        explains: LegSet::all(scene.legs.len()),
        amounts: Vec::new(),
    }
}

/// Value sent with an empty call is a transfer, unless the receiver did something with it that the wallet sees.
fn plain_value(scene: &Scene<'_>, target: Address) -> Vec<Opinion> {
    let party = scene.perspective == scene.facts.transaction.from || scene.perspective == target;
    let [leg] = scene.legs.as_slice() else { return Vec::new() };
    let is_quiet = scene.facts.receipt.logs.is_empty() || leg.direction == Direction::In;
    if party && is_quiet && leg.asset == Asset::Native && !scene.facts.transaction.value.is_zero() {
        vec![bare(scene, "evm/value", Category::Transfer)]
    } else {
        Vec::new()
    }
}

fn deployment(scene: &Scene<'_>) -> Vec<Opinion> {
    if scene.legs.is_empty() && scene.facts.transaction.from == scene.perspective {
        vec![bare(scene, "evm/create", Category::ContractDeploy)]
    } else {
        Vec::new()
    }
}

struct Calldata<'a> {
    selector: FixedBytes<4>,
    arguments: &'a [u8],
}

impl<'a> Calldata<'a> {
    fn split(input: &'a [u8]) -> Option<Self> {
        let (selector, arguments) = input.split_first_chunk::<4>()?;
        Some(Self { selector: FixedBytes(*selector), arguments })
    }

    fn word(&self, at: usize) -> Option<&'a [u8; 32]> {
        self.arguments.get(at.checked_mul(32)?..)?.first_chunk()
    }

    fn size_at(&self, byte: usize) -> Option<usize> {
        let word: &[u8; 32] = self.arguments.get(byte..)?.first_chunk()?;
        usize::try_from(U256::from_be_bytes(*word)).ok()
    }

    /// The members of a `bytes[]` whose offset stands in head word `head`.
    fn bytes_array(&self, head: usize) -> Option<Vec<&'a [u8]>> {
        let array = self.size_at(head.checked_mul(32)?)?;
        let count = self.size_at(array)?.min(CALLS_MAX);
        let base = array.checked_add(32)?;
        (0..count)
            .map(|member| {
                let start = base.checked_add(self.size_at(base.checked_add(member.checked_mul(32)?)?)?)?;
                let length = self.size_at(start)?;
                let body = start.checked_add(32)?;
                self.arguments.get(body..body.checked_add(length)?)
            })
            .collect()
    }
}

impl Words for Calldata<'_> {
    fn address(&self, field: Field) -> Option<Address> {
        match field {
            Field::Word(at) => self.word(at).and_then(word_address),
            Field::Topic(_) => None,
        }
    }

    fn amount(&self, field: Field) -> Option<U256> {
        match field {
            Field::Word(at) => self.word(at).map(|word| U256::from_be_bytes(*word)),
            Field::Topic(_) => None,
        }
    }
}
