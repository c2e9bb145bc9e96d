//! What a trade passes on. Whoever brings a trade about keeps a small part of what is given or got; an account that keeps more of it, and gives
//! nothing, was paid out of the trade. Amounts that an event states are no part of this: it says what was traded.

use alloy_primitives::U256;

use crate::asset::{Account, Asset};
use crate::category::Category;
use crate::legs::{Direction, Leg};
use crate::opinion::Opinion;
use crate::scene::{Own, Scene};
use crate::shares::Tie;

/// Whoever brings a trade about takes at most one part in this many of what was given or got.
pub const FEE_SHARE: u64 = 10;

/// The account that got more of a trade than a fee, and gave nothing: of several the one that got the most.
pub fn passed_on(scene: &Scene<'_>, claims: &[Opinion]) -> Option<Account> {
    let trades = claims.iter().filter(|claim| claim.category == Category::Swap);
    let shares = trades.flat_map(|claim| claim.explains.iter()).filter(|share| share.tie == Tie::Linked);
    // Of coin that nobody saw move, nothing tells who kept it.
    let is_seen = |leg: &&Leg| !leg.asset.is_nft() && (!scene.is_native(leg.asset) || scene.ground.shows_coin());
    let mut traded = shares.filter_map(|share| scene.legs.get(share.leg)).filter(is_seen).peekable();
    traded.peek()?;
    let changes = one_sided(scene);
    // Some keep what comes in at one address, and pay from another or with a token that they make.
    let is_paid_for =
        |change: &Change| !change.is_gain && gives(scene, change.asset) && is_with(scene, scene.own(), change);
    if changes.iter().any(is_paid_for) {
        return None;
    }
    traded.find_map(|leg| {
        let moved = scene.moved(leg.direction, leg.asset);
        let is_kept =
            |change: &&Change| change.is_gain && change.asset == scene.kin(leg.asset) && is_with(scene, moved, change);
        let gains = || changes.iter().filter(is_kept);
        let kept = gains().fold(U256::ZERO, |sum, gain| sum.saturating_add(gain.amount));
        let whole = match leg.direction {
            Direction::Out => leg.amount,
            Direction::In => leg.amount.saturating_add(kept),
        };
        let is_fee = kept.saturating_mul(U256::from(FEE_SHARE)) <= whole;
        if is_fee { None } else { gains().max_by_key(|gain| gain.amount).map(|gain| gain.account) }
    })
}

/// Whether the account is linked to those with whom the wallet moved this.
fn is_with(scene: &Scene<'_>, moved: &[Own], change: &Change) -> bool {
    let group = |account| scene.links().group(account);
    let of = group(change.account);
    of.is_some() && moved.iter().any(|own| group(own.counterparty()) == of)
}

/// Whether a trade may be paid for with it: the wallet gets it, or it is known.
fn gives(scene: &Scene<'_>, asset: Asset) -> bool {
    let comes_in = |leg: &Leg| leg.direction == Direction::In && scene.kin(leg.asset) == asset;
    scene.is_listed(asset) || scene.legs.iter().any(comes_in)
}

/// What an account has more or less of afterwards.
#[derive(Debug)]
struct Change {
    account: Account,
    asset: Asset,
    amount: U256,
    is_gain: bool,
}

/// The changes of all that only gained or only gave, but for the wallet itself, the wrapper of the coin, and a token that taxes its own transfers. A
/// mint is given by its contract.
fn one_sided(scene: &Scene<'_>) -> Vec<Change> {
    let mut moved = Vec::with_capacity(scene.movements.len().saturating_mul(2));
    for m in &scene.movements {
        let asset = scene.kin(m.asset);
        let giver = if m.from.is_zero() { m.asset.contract() } else { Some(m.from) };
        moved.extend(giver.map(|account| Change { account, asset, amount: m.amount, is_gain: false }));
        if !m.to.is_zero() {
            moved.push(Change { account: m.to, asset, amount: m.amount, is_gain: true });
        }
    }
    moved.retain(|change| change.account != scene.wallet && !scene.is_native(Asset::Token(change.account)));
    moved.sort_unstable_by_key(|change| (change.account, change.asset));
    let mut found: Vec<Change> = Vec::new();
    for of_account in moved.chunk_by(|one, other| one.account == other.account) {
        let before = found.len();
        for of_asset in of_account.chunk_by(|one, other| one.asset == other.asset) {
            let sum = |is_gain| {
                let of_way = of_asset.iter().filter(|change| change.is_gain == is_gain);
                of_way.fold(U256::ZERO, |sum, change| sum.saturating_add(change.amount))
            };
            let (got, gave) = (sum(true), sum(false));
            let Some(&Change { account, asset, .. }) = of_asset.first().filter(|_| got != gave) else { continue };
            let (is_gain, amount) = (got > gave, got.abs_diff(gave));
            if !(is_gain && asset.contract() == Some(account)) {
                found.push(Change { account, asset, amount, is_gain });
            }
        }
        let both = [true, false].map(|is_gain| found.iter().skip(before).any(|change| change.is_gain == is_gain));
        if both == [true, true] {
            found.truncate(before);
        }
    }
    found
}
