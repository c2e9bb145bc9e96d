//! What a trade passes on. Whoever brings a trade about keeps a small part of what is given or got; an account that keeps more of it, and gives
//! nothing, was paid out of the trade. Amounts that an event states are no part of this: it says what was traded.

use std::collections::BTreeSet;

use alloy_primitives::{U256, address};

use crate::allocate::Part;
use crate::asset::{Account, Asset};
use crate::category::Category;
use crate::legs::Direction;
use crate::opinion::Opinion;
use crate::scene::{Own, Scene};
use crate::shares::Tie;

/// Whoever brings a trade about takes at most one part in this many of what was given or got.
pub const FEE_SHARE: u64 = 10;

/// 0x…dead, to which tokens are sent so that nobody has them.
const BURNED: Account = Account::Evm(address!("0x000000000000000000000000000000000000dEaD"));

/// The account that got more of a trade than a fee, and gave nothing: of several the one that got the most. `parts` are what the claims came to.
pub fn passed_on(scene: &Scene<'_>, claims: &[Opinion], parts: &[Part]) -> Option<Account> {
    let is_trade = |part: &&Part| {
        let claim = claims.get(part.claim).filter(|claim| claim.category == Category::Swap);
        claim.is_some_and(|claim| claim.explains.iter().any(|share| share.leg == part.leg && share.tie == Tie::Linked))
    };
    let legs = parts.iter().filter(is_trade).filter_map(|part| scene.legs.get(part.leg));
    let mut traded = legs.filter(|leg| !leg.asset.is_nft()).peekable();
    // Where coin moves unseen, whoever gave some for it looks as if nothing was given.
    traded.peek().filter(|_| scene.ground.tells_who_was_paid())?;
    // What the router itself keeps, which the wallet called, is its price.
    let router = scene.ground.called_contract().filter(|called| scene.is_listed(Asset::Token(*called)));
    let mut changes = one_sided(scene);
    changes.retain(|change| {
        let is_trifle = change.asset == Asset::Native && change.amount <= scene.ground.tip_max();
        !change.is_gain || !is_trifle && ![router, Some(BURNED)].contains(&Some(change.account))
    });
    // Some keep what comes in at one address, and pay from another or with a token that they make.
    let bought: BTreeSet<Asset> =
        scene.legs.iter().filter(|leg| leg.direction == Direction::In).map(|leg| scene.kin(leg.asset)).collect();
    let gives = |asset: Asset| bought.contains(&asset) || scene.is_listed(asset);
    let others = groups(scene, scene.own());
    let is_paid_for = |change: &Change| !change.is_gain && is_with(scene, &others, change) && gives(change.asset);
    if changes.iter().any(is_paid_for) {
        return None;
    }
    // A token that nobody knows may be told to give others some of what is bought.
    let mut traded = traded.filter(|leg| leg.direction == Direction::Out || scene.is_listed(leg.asset));
    traded.find_map(|leg| {
        let others = groups(scene, scene.moved(leg.direction, leg.asset));
        let asset = scene.kin(leg.asset);
        let is_kept = |change: &&Change| change.is_gain && change.asset == asset && is_with(scene, &others, change);
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

/// Of those with whom the wallet moved this, each with all that are linked to them.
fn groups(scene: &Scene<'_>, moved: &[Own]) -> BTreeSet<usize> {
    moved.iter().filter_map(|own| scene.links().group(own.counterparty())).collect()
}

fn is_with(scene: &Scene<'_>, groups: &BTreeSet<usize>, change: &Change) -> bool {
    scene.links().group(change.account).is_some_and(|group| groups.contains(&group))
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
/// mint is given by its contract. A token that is sold may sell some of its own beside it, and pays whoever made it.
fn one_sided(scene: &Scene<'_>) -> Vec<Change> {
    let sold = scene.legs.iter().filter(|leg| leg.direction == Direction::Out && !scene.is_native(leg.asset));
    let sold: BTreeSet<Account> = sold.filter_map(|leg| leg.asset.contract()).collect();
    let mut moved = Vec::with_capacity(scene.movements.len().saturating_mul(2));
    for m in scene.movements.iter().filter(|m| !sold.contains(&m.from)) {
        let asset = scene.kin(m.asset);
        let giver = if m.from.is_zero() { m.asset.contract() } else { Some(m.from) };
        moved.extend(giver.map(|account| Change { account, asset, amount: m.amount, is_gain: false }));
        if !m.to.is_zero() {
            moved.push(Change { account: m.to, asset, amount: m.amount, is_gain: true });
        }
    }
    moved.retain(|change| {
        let is_wrapper = scene.is_native(Asset::Token(change.account));
        change.account != scene.wallet && !is_wrapper && !sold.contains(&change.account)
    });
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
