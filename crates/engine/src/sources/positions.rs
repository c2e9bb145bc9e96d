//! Liquidity positions that pay principal and fees in one go: what was decreased is principal, what came beyond it was earned.

use alloy_primitives::U256;

use super::matched::{self, Matched};
use crate::category::Category;
use crate::evm::scene::EvmScene;
use crate::opinion::Opinion;
use crate::role::Role;
use crate::rules::Rules;
use crate::rules::compile::{Beside, Field};
use crate::shares::{Share, Shares, Tie};

/// Splits what the rule says of a log that pays out. The event that its pack names in `beside` tells what was decreased: both logs name the
/// position in indexed parameters of one name, and the amounts in others.
pub fn split(scene: &EvmScene<'_>, rules: &Rules, matched: &Matched<'_>) -> Vec<Opinion> {
    let Some(whole) = matched::opinion(scene, rules, matched) else { return Vec::new() };
    let paid = matched.rule.only.beside.as_ref().and_then(|beside| decreased(scene, matched, beside));
    let Some(paid) = paid.filter(|paid| !paid.is_empty()) else { return vec![whole] };
    let mut withdrawn = Shares::default();
    let mut earned = Shares::default();
    for share in whole.explains.iter() {
        // NFT legs, and whatever else the rule names without an amount, go with the principal.
        if share.tie == Tie::Linked {
            withdrawn.add(*share);
            continue;
        }
        let same = paid.iter().find(|paid| paid.collected == share.amount).or(paid.last());
        let part = same.map_or(U256::ZERO, |paid| paid.principal).min(share.amount);
        withdrawn.add(Share { amount: part, ..*share });
        earned.add(Share { amount: share.amount.saturating_sub(part), ..*share });
    }
    let withdrawn = Opinion { explains: withdrawn, ..whole.clone() };
    let earned = Opinion { category: Category::Reward, role: Role::Reward, explains: earned, ..whole };
    [withdrawn, earned].into_iter().filter(|opinion| !opinion.explains.is_empty()).collect()
}

/// One asset of a position.
struct Paid {
    collected: U256,
    principal: U256,
}

/// What this position was decreased by in the transaction, of each asset.
fn decreased(scene: &EvmScene<'_>, matched: &Matched<'_>, beside: &Beside) -> Option<Vec<Paid>> {
    let is_key = |(own, _): &&(Field, Field)| matches!(own, Field::Topic(_));
    let number = |word: &[u8; 32]| U256::from_be_bytes(*word);
    let mut paid = Vec::new();
    for (own, _) in beside.shared.iter().filter(|pair| !is_key(pair)) {
        paid.push(Paid { collected: own.in_log(matched.log, 0).map(number)?, principal: U256::ZERO });
    }
    for log in scene.facts.receipt.logs.iter().filter(|log| log.address == matched.log.address) {
        let is_same =
            beside.shared.iter().filter(is_key).all(|(own, other)| own.in_log(matched.log, 0) == other.in_log(log, 0));
        if log.topic0() != Some(beside.topic0) || !is_same {
            continue;
        }
        let amounts = beside.shared.iter().filter(|pair| !is_key(pair));
        for (paid, (_, other)) in paid.iter_mut().zip(amounts) {
            paid.principal = paid.principal.checked_add(other.in_log(log, 0).map(number)?)?;
        }
    }
    Some(paid)
}
