//! Markets that keep what an account lent and what it owes in one balance, as Comet does: what goes in first pays the debt, and what goes out first
//! takes back what was lent. One event states the whole, and the market's own token, minted or burned beside it, how much of it was lent.

use alloy_primitives::U256;

use super::matched::{self, Matched};
use crate::asset::Asset;
use crate::category::Category;
use crate::evm::erc20::transfer_of;
use crate::evm::scene::EvmScene;
use crate::opinion::Opinion;
use crate::rules::Rules;
use crate::shares::{Share, Shares, Tie};

/// The market rounds what it mints and burns by so many units.
const ROUNDING_MAX: u64 = 2;

/// What was lent or taken back, and what beyond it was owed.
pub fn split(scene: &EvmScene<'_>, rules: &Rules, matched: &Matched<'_>) -> Vec<Opinion> {
    let Some(whole) = matched::opinion(scene, rules, matched) else { return Vec::new() };
    let beyond = match whole.category {
        Category::CollateralSupply => Category::Repay,
        Category::CollateralWithdraw => Category::Borrow,
        _ => return vec![whole],
    };
    let market = Asset::Token(matched.log.address.into());
    let is_stated =
        |share: &&Share| share.tie == Tie::Stated && scene.legs.get(share.leg).is_some_and(|leg| leg.asset != market);
    let (Some(lent), Some(stated)) = (lent(scene, matched), whole.explains.iter().find(is_stated).copied()) else {
        return vec![whole];
    };
    let owed = stated.amount.saturating_sub(lent);
    if owed <= U256::from(ROUNDING_MAX) {
        return vec![whole];
    }
    let mut shares = Shares::default();
    for share in whole.explains.iter() {
        shares.add(if *share == stated { Share { amount: lent, ..stated } } else { *share });
    }
    let owed = Opinion {
        category: beyond,
        role: beyond.meaning().role,
        explains: Shares::one(stated.leg, owed, Tie::Stated),
        ..whole.clone()
    };
    vec![Opinion { explains: shares, ..whole }, owed]
}

/// What the market minted or burned of its own token next to the event.
fn lent(scene: &EvmScene<'_>, matched: &Matched<'_>) -> Option<U256> {
    let logs = scene.facts.receipt.logs.iter().enumerate();
    let own = logs.filter(|(_, log)| log.address == matched.log.address).filter_map(|(at, log)| {
        let (from, to, amount) = transfer_of(log)?;
        (from.is_zero() || to.is_zero()).then_some((at, amount))
    });
    own.min_by_key(|(at, _)| (at.abs_diff(matched.position), *at < matched.position)).map(|(_, amount)| amount)
}
