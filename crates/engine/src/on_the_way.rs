//! What is kept on the way to a protocol, or added on the way back. A deposit may lead through a contract that nobody lists, but a claim on what flows there is
//! no larger than what passes on: whoever keeps more than a fee was paid. So was the wallet by whoever adds more than that to a return.

use std::collections::BTreeSet;

use alloy_primitives::U256;

use crate::allocate::Part;
use crate::asset::{Account, Asset, Movement};
use crate::category::Nature;
use crate::legs::{Direction, has_contract};
use crate::opinion::{Opinion, Strength};
use crate::passed_on::FEE_SHARE;
use crate::scene::{Own, Scene};
use crate::shares::{Share, Tie};

/// Accounts that are followed; where there are more, nobody knows what they kept.
const FOLLOWED_MAX: usize = 64;

/// The account that kept, or added, more than a fee of what a claim takes by the flow of assets alone, and which way that went. `parts` are what the claims
/// came to. Only of claims that the wallet keeps what it has: a trade is taxed whole, and `passed_on` looks at it.
pub fn kept_or_added(scene: &Scene<'_>, claims: &[Opinion], parts: &[Part]) -> Option<(Direction, Account)> {
    if !scene.ground.tells_who_holds() || is_direct(scene) {
        return None;
    }
    parts.iter().find_map(|part| {
        let claim = claims.get(part.claim)?;
        let is_kept = claim.category.meaning().nature == Nature::Keeping && !claim.category.is_plain_transfer();
        let is_linked = |share: &&Share| share.leg == part.leg && share.tie == Tie::Linked;
        let share = claim.explains.iter().find(is_linked)?;
        let leg = scene
            .legs
            .get(part.leg)
            .filter(|leg| is_kept && claim.strength == Strength::Verified && !leg.asset.is_nft())?;
        let of_claim = scene.own().iter().enumerate().filter(|(at, own)| {
            (own.direction, own.asset) == (leg.direction, leg.asset)
                && (share.moves.is_empty() || share.moves.contains(*at))
        });
        let direct: BTreeSet<Account> =
            of_claim.map(|(_, own): (usize, &Own)| own.other).filter(|other| is_stranger(scene, *other)).collect();
        Some((leg.direction, through(scene, leg.direction, direct)?))
    })
}

/// The wallet itself called a contract of a protocol, which moves assets to and from others of its own that no list has to know.
fn is_direct(scene: &Scene<'_>) -> bool {
    let called = scene.ground.called_contract();
    scene.carried.is_empty() && called.is_some_and(|called| scene.is_listed(Asset::Token(called)))
}

/// Nobody lists it or vouches for it, and the wallet has no token of its own making for what it took.
fn is_stranger(scene: &Scene<'_>, account: Account) -> bool {
    account != scene.wallet
        && !account.is_zero()
        && !scene.is_listed(Asset::Token(account))
        && !has_contract(&scene.legs, account)
        && !scene.ground.is_pool(account, &scene.movements)
}

/// Follows what strangers hand on to each other, and finds one that keeps or adds.
fn through(scene: &Scene<'_>, direction: Direction, direct: BTreeSet<Account>) -> Option<Account> {
    let hand = |m: &Movement| match direction {
        Direction::Out => (m.from, m.to),
        Direction::In => (m.to, m.from),
    };
    let mut open: Vec<Account> = direct.iter().copied().collect();
    let mut seen = direct;
    while let Some(here) = open.pop() {
        if keeps(scene, here, hand) {
            return Some(here);
        }
        for (_, next) in scene.movements.iter().map(hand).filter(|(from, _)| *from == here) {
            if !seen.insert(next) {
                continue;
            }
            if seen.len() > FOLLOWED_MAX {
                return Some(next);
            }
            if is_stranger(scene, next) {
                open.push(next);
            }
        }
    }
    None
}

/// Whether more than a fee of some asset that reaches the account goes no further.
fn keeps(scene: &Scene<'_>, account: Account, hand: impl Fn(&Movement) -> (Account, Account)) -> bool {
    let mut sums: Vec<(Asset, U256, U256)> = Vec::new();
    for m in scene.movements.iter().filter(|m| scene.is_listed(m.asset) && !m.asset.is_nft()) {
        let (from, to) = hand(m);
        if (from == account) == (to == account) {
            continue;
        }
        let asset = scene.kin(m.asset);
        let at = sums.iter().position(|(of, ..)| *of == asset).unwrap_or_else(|| {
            sums.push((asset, U256::ZERO, U256::ZERO));
            sums.len().saturating_sub(1)
        });
        let Some((_, reached, left)) = sums.get_mut(at) else { continue };
        let sum = if to == account { reached } else { left };
        *sum = sum.saturating_add(m.amount);
    }
    sums.into_iter()
        .any(|(_, reached, left)| reached.saturating_sub(left).saturating_mul(U256::from(FEE_SHARE)) > reached)
}
