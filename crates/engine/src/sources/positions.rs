//! Liquidity positions that pay principal and fees in one go: what was decreased is principal, what came beyond it was earned.

use alloy_primitives::U256;

use super::protocol;
use super::readers::Matched;
use crate::category::Category;
use crate::evm::scene::EvmScene;
use crate::opinion::{LegSet, Opinion};
use crate::role::Role;
use crate::rules::Rules;
use crate::rules::compile::{Beside, Field};

/// Splits what the rule says of a log that pays out. The event that its pack names in `beside` tells what was decreased: both logs name the
/// position in indexed parameters of one name, and the amounts in others.
pub fn split(scene: &EvmScene<'_>, rules: &Rules, matched: &Matched<'_>) -> Vec<Opinion> {
    let Some(whole) = protocol::opinion(scene, rules, matched) else { return Vec::new() };
    let paid = matched.rule.only.beside.as_ref().and_then(|beside| decreased(scene, matched, beside));
    let Some(paid) = paid.filter(|paid| !paid.is_empty()) else { return vec![whole] };
    let mut withdrawn = Opinion { explains: LegSet::EMPTY, amounts: Vec::new(), ..whole.clone() };
    let mut earned = Opinion {
        category: Category::Reward,
        role: Role::Reward,
        explains: LegSet::EMPTY,
        amounts: Vec::new(),
        ..whole.clone()
    };
    // NFT legs, and whatever else the rule names without an amount, go with the principal.
    for leg in whole.explains.iter().filter(|leg| whole.amount_of(*leg).is_none()) {
        withdrawn.explains.insert(leg);
    }
    for (leg, collected) in whole.amounts {
        let same = paid.iter().find(|paid| paid.collected == collected).or(paid.last());
        let part = same.map_or(U256::ZERO, |paid| paid.principal).min(collected);
        for (opinion, amount) in [(&mut withdrawn, part), (&mut earned, collected.saturating_sub(part))] {
            if !amount.is_zero() {
                opinion.explains.insert(leg);
                opinion.amounts.push((leg, amount));
            }
        }
    }
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
