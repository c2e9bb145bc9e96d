//! The AMM graph. An asset leaves the wallet into some pool that logs a swap, another comes out of one: that alone reads
//! most routers and aggregators without knowing them. A forged swap log gains nothing, since no asset passed through.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use alloy_primitives::Address;

use super::standing::{Standing, proved};
use crate::asset::{Account, Asset, Seen};
use crate::category::Category;
use crate::evm::scene::EvmScene;
use crate::legs::{Direction, Leg};
use crate::opinion::{LegSet, Opinion, Source, Strength};
use crate::rules::Rules;
use crate::rules::compile::EventRule;

#[derive(Debug)]
pub struct PoolLog<'a> {
    pub position: usize,
    pub pool: Address,
    pub rule: &'a EventRule,
    pub standing: Standing,
}

pub fn opinions(scene: &EvmScene<'_>, rules: &Rules, logs: &[PoolLog<'_>]) -> Vec<Opinion> {
    if logs.is_empty() || !has_both_directions(&scene.legs) {
        return Vec::new();
    }
    let pools: BTreeSet<Account> =
        logs.iter().map(|log| Account::from(log.pool)).filter(|pool| exchanged(scene, *pool)).collect();
    let mut explains = LegSet::EMPTY;
    let mut touched = BTreeSet::new();
    let mut directions = BTreeSet::new();
    for (at, leg) in scene.legs.iter().enumerate().filter(|(_, leg)| !leg.asset.is_nft()) {
        if let Some(pool) = reaches(scene, leg, &pools) {
            explains.insert(at);
            touched.insert(pool);
            directions.insert(leg.direction);
        }
    }
    let Some(first) = logs.iter().find(|log| touched.contains(&Account::from(log.pool))) else { return Vec::new() };
    if directions.len() < 2 {
        return Vec::new();
    }
    let (strength, protocol) = standing(scene, rules, logs, &touched);
    vec![Opinion {
        protocol,
        at: Some(Seen::Log(first.position)),
        ..Opinion::new(Source::Protocol, first.rule.id.clone(), Category::Swap, strength, explains)
    }]
}

fn has_both_directions(legs: &[Leg]) -> bool {
    legs.iter().any(|leg| leg.direction == Direction::Out) && legs.iter().any(|leg| leg.direction == Direction::In)
}

/// A pool that swapped took one asset in and gave another out.
fn exchanged(scene: &EvmScene<'_>, pool: Account) -> bool {
    let went_in = || scene.movements.iter().filter(|m| m.to == pool);
    let mut went_out = scene.movements.iter().filter(|m| m.from == pool);
    went_out.any(|out| went_in().any(|came| came.asset != out.asset))
}

/// Follows the leg's asset hand to hand from the wallet to a pool, or from a pool to the wallet.
fn reaches(scene: &EvmScene<'_>, leg: &Leg, pools: &BTreeSet<Account>) -> Option<Account> {
    let wallet = Account::from(scene.perspective);
    let mut hands: BTreeMap<Account, Vec<Account>> = BTreeMap::new();
    for m in scene.movements.iter().filter(|m| same(scene, m.asset, leg.asset)) {
        let (here, there) = match leg.direction {
            Direction::Out => (m.from, m.to),
            Direction::In => (m.to, m.from),
        };
        hands.entry(here).or_default().push(there);
    }
    let mut visited = BTreeSet::from([wallet]);
    let mut open = vec![wallet];
    while let Some(hand) = open.pop() {
        for next in hands.get(&hand).into_iter().flatten().filter(|next| !next.is_zero()) {
            if pools.contains(next) {
                return Some(*next);
            }
            if visited.insert(*next) {
                open.push(*next);
            }
        }
    }
    None
}

/// Routers wrap and unwrap on the way, so the native coin and its wrapper are one here.
fn same(scene: &EvmScene<'_>, one: Asset, other: Asset) -> bool {
    one == other || (scene.is_native(one) && scene.is_native(other))
}

/// The reading is verified when every pool that the wallet's own assets touched is vouched for; the name is theirs when
/// they agree on one.
fn standing(
    scene: &EvmScene<'_>,
    rules: &Rules,
    logs: &[PoolLog<'_>],
    touched: &BTreeSet<Account>,
) -> (Strength, Option<Arc<str>>) {
    let mut packs = BTreeSet::new();
    for pool in touched {
        let standings = logs
            .iter()
            .filter(|log| Account::from(log.pool) == *pool)
            .map(|log| proved(scene, log.rule, log.pool, log.standing));
        match standings.into_iter().find(|standing| standing.strength == Strength::Verified) {
            Some(standing) => packs.insert(standing.pack),
            None => return (Strength::Standard, None),
        };
    }
    let mut names = packs.iter().map(|pack| rules.protocol(*pack));
    let first = names.next().flatten();
    let agreed = names.all(|name| name == first);
    (Strength::Verified, first.filter(|_| agreed))
}
