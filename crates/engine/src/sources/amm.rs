//! The AMM graph. An asset leaves the wallet into some pool that logs a swap, another comes out of one: that alone reads
//! most routers and aggregators without knowing them. A forged swap log gains nothing, since no asset passed through.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::matched::Matched;
use super::trust::proved;
use crate::asset::{Account, Asset, Movement, Seen};
use crate::category::Category;
use crate::evm::scene::EvmScene;
use crate::legs::{Direction, Leg};
use crate::opinion::{Opinion, Source, Strength};
use crate::rules::Rules;
use crate::scene::Own;
use crate::shares::Shares;

pub fn opinions(scene: &EvmScene<'_>, rules: &Rules, logs: &[Matched<'_>]) -> Vec<Opinion> {
    if logs.is_empty() || !has_both_directions(&scene.legs) {
        return Vec::new();
    }
    let pools = pools(scene, logs);
    let by_asset = by_asset(scene);
    let mut reached = Vec::new();
    let mut touched = BTreeSet::new();
    let mut is_one_way = true;
    for (at, leg) in scene.legs.iter().enumerate().filter(|(_, leg)| !leg.asset.is_nft()) {
        if let Some(pool) = reaches(scene, leg, &by_asset, &pools) {
            is_one_way &= reached.first().is_none_or(|(_, first): &(usize, &Leg)| first.direction == leg.direction);
            reached.push((at, leg));
            touched.insert(pool);
        }
    }
    let Some(first) = logs.iter().find(|log| touched.contains(&Account::from(log.log.address))) else {
        return Vec::new();
    };
    if is_one_way {
        return Vec::new();
    }
    let mut groups: BTreeSet<usize> = touched.iter().filter_map(|pool| scene.links().group(*pool)).collect();
    groups.extend(scene.exchanged_with());
    let is_of_them = |at: usize, own: &Own| {
        let group = scene.own_groups().get(at).copied().flatten();
        // A token that taxes its own transfers keeps a part of what is traded.
        let is_tax = own.asset.contract() == Some(own.other);
        own.other.is_zero()
            || is_tax
            || touched.contains(&own.other)
            || group.is_some_and(|group| groups.contains(&group))
    };
    let mut explains = Shares::default();
    for (at, leg) in reached {
        explains.link(at, scene.net(leg, is_of_them));
    }
    let (strength, protocol) = strength_and_protocol(scene, rules, logs, &touched);
    vec![Opinion {
        protocol,
        at: Some(Seen::Log(first.position)),
        ..Opinion::new(Source::Protocol, first.rule.id.clone(), Category::Swap, strength, explains)
    }]
}

fn has_both_directions(legs: &[Leg]) -> bool {
    legs.iter().any(|leg| leg.direction == Direction::Out) && legs.iter().any(|leg| leg.direction == Direction::In)
}

/// What a pool took in and gave out: the first asset of each, and whether any other was among them.
#[derive(Default)]
struct Passed {
    took: Option<Asset>,
    gave: Option<Asset>,
    is_mixed: bool,
}

/// Those that swapped: they took one asset in and gave another out. Sorted.
fn pools(scene: &EvmScene<'_>, logs: &[Matched<'_>]) -> Vec<Account> {
    let mut pools: Vec<Account> = logs.iter().map(|log| log.log.address.into()).collect();
    pools.sort_unstable();
    pools.dedup();
    let mut passed = Vec::new();
    passed.resize_with(pools.len(), Passed::default);
    for m in &scene.movements {
        if let Some(pool) = pools.binary_search(&m.to).ok().and_then(|at| passed.get_mut(at)) {
            pool.is_mixed |= pool.took.get_or_insert(m.asset) != &m.asset;
        }
        if let Some(pool) = pools.binary_search(&m.from).ok().and_then(|at| passed.get_mut(at)) {
            pool.is_mixed |= pool.gave.get_or_insert(m.asset) != &m.asset;
        }
    }
    let exchanged = |pool: &Passed| match (pool.took, pool.gave) {
        (Some(took), Some(gave)) => pool.is_mixed || took != gave,
        _ => false,
    };
    let mut passed = passed.iter();
    pools.retain(|_| passed.next().is_some_and(exchanged));
    pools
}

/// Every movement, by what moved and then in chain order.
fn by_asset<'a>(scene: &'a EvmScene<'_>) -> Vec<(Asset, &'a Movement)> {
    let mut all: Vec<(Asset, &Movement)> = scene.movements.iter().map(|m| (scene.kin(m.asset), m)).collect();
    all.sort_by_key(|(one, _)| *one);
    all
}

/// Follows the leg's asset from account to account, from the wallet to a pool or from a pool to the wallet.
fn reaches(scene: &EvmScene<'_>, leg: &Leg, by_asset: &[(Asset, &Movement)], pools: &[Account]) -> Option<Account> {
    let wallet = Account::from(scene.perspective);
    let asset = scene.kin(leg.asset);
    let start = by_asset.partition_point(|(of, _)| *of < asset);
    let moved = by_asset.get(start..).unwrap_or_default().iter().take_while(|(of, _)| *of == asset);
    let hand = |(_, m): &(Asset, &Movement)| match leg.direction {
        Direction::Out => (m.from, m.to),
        Direction::In => (m.to, m.from),
    };
    let mut hands: Vec<(Account, Account)> = moved.map(hand).collect();
    hands.sort_by_key(|(one, _)| *one);
    let mut visited = BTreeSet::from([wallet]);
    let mut open = vec![wallet];
    while let Some(here) = open.pop() {
        let start = hands.partition_point(|(from, _)| *from < here);
        let from_here = hands.get(start..).unwrap_or_default().iter().take_while(|(from, _)| *from == here);
        for (_, next) in from_here.filter(|(_, next)| !next.is_zero()) {
            if pools.binary_search(next).is_ok() {
                return Some(*next);
            }
            if visited.insert(*next) {
                open.push(*next);
            }
        }
    }
    None
}

/// The reading is verified when every pool that the wallet's own assets touched is vouched for; the name is theirs when
/// they agree on one.
fn strength_and_protocol(
    scene: &EvmScene<'_>,
    rules: &Rules,
    logs: &[Matched<'_>],
    touched: &BTreeSet<Account>,
) -> (Strength, Option<Arc<str>>) {
    let mut of_touched: Vec<&Matched<'_>> =
        logs.iter().filter(|log| touched.contains(&Account::from(log.log.address))).collect();
    of_touched.sort_by_key(|log| log.log.address);
    let mut packs = BTreeSet::new();
    for of_pool in of_touched.chunk_by(|one, other| one.log.address == other.log.address) {
        match voucher(scene, of_pool) {
            Some(pack) => packs.insert(pack),
            None => return (Strength::Standard, None),
        };
    }
    let mut names = packs.iter().map(|pack| rules.protocol(*pack));
    let first = names.next().flatten();
    let agreed = names.all(|name| name == first);
    (Strength::Verified, first.filter(|_| agreed))
}

/// The pack that vouches for a pool. A proof costs hashes, and a pool may log a thousand times: it is tried once for each way
/// that the pool may have been made.
fn voucher(scene: &EvmScene<'_>, of_pool: &[&Matched<'_>]) -> Option<usize> {
    let mut tried = BTreeSet::new();
    let mut untried = of_pool.iter().filter(|log| tried.insert((log.rule.derive, log.trust)));
    let verified = untried.find_map(|log| {
        let trust = proved(scene, log.rule, log.log.address, log.trust);
        (trust.strength == Strength::Verified).then_some(trust)
    });
    verified.map(|trust| trust.pack)
}
