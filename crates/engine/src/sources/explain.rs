//! From a rule's words about legs to the legs of this scene.

use alloy_primitives::{Address, U256, address};

use crate::asset::{Account, Asset};
use crate::evm::json::word_address;
use crate::evm::scene::EvmScene;
use crate::legs::{Direction, LEGS_MAX, Leg, position};
use crate::opinion::LegSet;
use crate::rules::compile::{Field, LegSpec, LegSubject};
use crate::rules::path::MEMBERS_MAX;

/// Protocols that take any token write the native coin as this.
const NATIVE_PLACEHOLDER: Address = address!("EeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE");

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Explained {
    pub legs: LegSet,
    pub amounts: Vec<(usize, U256)>,
}

/// The words of a log or of calldata, by field. Where a field names each member of an array, `member` says which, from zero.
pub trait Words {
    /// The place of the words among the logs; calldata has none.
    fn position(&self) -> Option<usize> {
        None
    }

    fn word(&self, field: &Field, member: usize) -> Option<&[u8; 32]>;

    /// How many members the field names: one, unless it repeats. `None` where that cannot be read, or is more than a rule looks at.
    fn count(&self, field: &Field) -> Option<usize>;

    fn address(&self, field: &Field, member: usize) -> Option<Address> {
        self.word(field, member).and_then(word_address)
    }

    fn amount(&self, field: &Field, member: usize) -> Option<U256> {
        self.word(field, member).map(|word| U256::from_be_bytes(*word))
    }
}

/// How many members a field names in untrusted data; `None` for more than a rule looks at.
pub fn count(field: &Field, data: &[u8]) -> Option<usize> {
    field.count(data).filter(|count| *count <= MEMBERS_MAX)
}

/// Which legs the rule explains; `None` when a leg that it needs is not there.
pub fn explain(
    scene: &EvmScene<'_>,
    out: &[LegSpec],
    incoming: &[LegSpec],
    emitter: Address,
    words: &impl Words,
) -> Option<Explained> {
    let mut explained = Explained::default();
    for (specs, direction) in [(out, Direction::Out), (incoming, Direction::In)] {
        for spec in specs {
            let times = times(spec, words)?;
            // An empty list names no leg, so it does not show the one that the rule needs.
            if times == 0 && !spec.optional {
                return None;
            }
            for member in 0..times {
                let found = one(scene, spec, direction, emitter, (words, member), &mut explained)?;
                if !found && !spec.optional {
                    return None;
                }
            }
        }
    }
    Some(explained)
}

/// How often the words of a leg are said: once, or once for each member. Arrays that are named together are of one length.
fn times(spec: &LegSpec, words: &impl Words) -> Option<usize> {
    let mut times = None;
    for field in spec.fields().filter(|field| field.repeats()) {
        let count = words.count(field)?;
        if *times.get_or_insert(count) != count {
            return None;
        }
    }
    Some(times.unwrap_or(1))
}

fn one(
    scene: &EvmScene<'_>,
    spec: &LegSpec,
    direction: Direction,
    emitter: Address,
    (words, member): (&impl Words, usize),
    explained: &mut Explained,
) -> Option<bool> {
    let amount = match &spec.amount {
        Some(field) => Some(words.amount(field, member)?),
        None => None,
    };
    // An event with an amount of zero moved nothing.
    if amount.is_some_and(|amount| amount.is_zero()) {
        return Some(true);
    }
    let asset = match &spec.what {
        LegSubject::Asset(field) | LegSubject::Item(field, _) => Some(words.address(field, member)?),
        _ => None,
    };
    let party = match &spec.what {
        LegSubject::Counterparty => Some(emitter),
        LegSubject::With(field) => Some(words.address(field, member)?),
        _ => None,
    };
    let id = match &spec.what {
        LegSubject::Item(_, field) => Some(words.amount(field, member)?),
        _ => None,
    };
    let mut found = false;
    let event = words.position().filter(|_| spec.what == LegSubject::Minted && amount.is_none());
    let nearest = event.map(|event| nearest(scene, direction, event, explained.legs));
    // The native coin and its wrapper may both answer: the amount is given to the asset that was named first, and what is left
    // of it to the other.
    let mut left = amount;
    let is_named = |leg: &Leg| asset.is_none_or(|named| leg.asset.contract() == Some(named.into()));
    // What has no place in a set of legs is not looked at: a log costs the same however many legs there are.
    let of_name = scene.legs.iter().enumerate().take(LEGS_MAX).filter(|(_, leg)| is_named(leg));
    let of_kin = scene.legs.iter().enumerate().take(LEGS_MAX).filter(|(_, leg)| !is_named(leg));
    for (at, leg) in of_name.chain(of_kin).filter(|(_, leg)| leg.direction == direction) {
        let has_id = id.is_none_or(|id| matches!(leg.asset, Asset::Nft { id: of_leg, .. } if of_leg == id));
        let is_other = nearest.is_some_and(|nearest| nearest != Some(at));
        if !has_id || is_other || !matches_leg(scene, spec, leg, emitter, asset.or(party), amount) {
            continue;
        }
        let is_spent =
            found && matches!(spec.what, LegSubject::Asset(_) | LegSubject::Native) && scene.is_native(leg.asset);
        if is_spent && left.is_some_and(|left| left.is_zero()) {
            continue;
        }
        found = true;
        explained.legs.insert(at);
        let part = match spec.what {
            LegSubject::Rest => beyond(scene, leg, amount),
            _ if is_spent => left,
            _ => amount,
        };
        left = left.map(|left| left.saturating_sub(leg.amount));
        if let Some(amount) = part {
            explained.amounts.push((at, amount));
        }
    }
    Some(found)
}

fn matches_leg(
    scene: &EvmScene<'_>,
    spec: &LegSpec,
    leg: &Leg,
    emitter: Address,
    named: Option<Address>,
    amount: Option<U256>,
) -> bool {
    match spec.what {
        LegSubject::Asset(_) | LegSubject::Item(..) => named.is_some_and(|asset| is_asset(scene, leg, asset)),
        LegSubject::Emitter => is_asset(scene, leg, emitter),
        LegSubject::EmittedToken => !leg.asset.is_nft() && is_asset(scene, leg, emitter),
        LegSubject::Native => scene.is_native(leg.asset),
        LegSubject::Nft => leg.asset.is_nft(),
        LegSubject::Minted => leg.minted_or_burned,
        LegSubject::Counterparty | LegSubject::With(_) => named.is_some_and(|party| leg.other == Account::from(party)),
        LegSubject::Exact => amount.is_some_and(|amount| is_exactly(scene, leg, amount)),
        LegSubject::Rest => leg.other == Account::from(emitter) && amount != Some(leg.amount),
        LegSubject::Any => true,
    }
}

/// An event that names no amount of what it minted or burned explains one such leg, the nearest, and nothing
/// further away in the same transaction. A rule that means two names it twice.
fn nearest(scene: &EvmScene<'_>, direction: Direction, event: usize, taken: LegSet) -> Option<usize> {
    let distance = |leg: usize| {
        let logged = scene.logged(leg);
        let (before, after) = logged.split_at(logged.partition_point(|at| *at < event));
        before.last().into_iter().chain(after.first()).map(|at| at.abs_diff(event)).min()
    };
    let minted = scene
        .legs
        .iter()
        .enumerate()
        .take(LEGS_MAX)
        .filter(|(at, leg)| leg.minted_or_burned && leg.direction == direction && !taken.contains(*at));
    minted.filter_map(|(at, _)| Some((distance(at)?, at))).min().map(|(_, at)| at)
}

/// What is left of the leg when the amount is one of the movements behind it; else all of it.
fn beyond(scene: &EvmScene<'_>, leg: &Leg, amount: Option<U256>) -> Option<U256> {
    let named = amount.filter(|amount| is_exactly(scene, leg, *amount)).unwrap_or_default();
    Some(leg.amount.saturating_sub(named))
}

/// The leg, one of the movements behind it, or the native coin and its wrapper together come to this amount.
fn is_exactly(scene: &EvmScene<'_>, leg: &Leg, amount: U256) -> bool {
    let moved = || scene.moved(leg.direction, leg.asset).binary_search_by(|own| own.amount.cmp(&amount)).is_ok();
    let coins = || {
        let wrappers = scene.chain.wrapped_native.iter().map(|wrapper| Asset::Token(Account::from(*wrapper)));
        let coins = std::iter::once(Asset::Native).chain(wrappers);
        let same = coins.filter_map(|coin| scene.legs.get(position(&scene.legs, leg.direction, coin)?));
        same.fold(U256::ZERO, |sum, other| sum.saturating_add(other.amount))
    };
    leg.amount == amount || moved() || (scene.is_native(leg.asset) && coins() == amount)
}

/// The native coin and its wrapper answer for each other: gateways turn one into the other on the way.
fn is_asset(scene: &EvmScene<'_>, leg: &Leg, contract: Address) -> bool {
    let chain = &scene.facts.chain;
    let names_native = contract.is_zero()
        || contract == NATIVE_PLACEHOLDER
        || chain.native_log == Some(contract)
        || chain.is_wrapped_native(contract);
    match leg.asset {
        Asset::Native => names_native,
        Asset::Token(token) | Asset::Nft { contract: token, .. } => {
            token == Account::from(contract) || (names_native && scene.is_native(leg.asset))
        }
    }
}
