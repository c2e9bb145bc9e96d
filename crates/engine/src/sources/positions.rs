//! Liquidity positions that pay principal and fees in one go: what was decreased is principal, what came beyond it was earned.

use alloy_primitives::{B256, U256, b256};

use crate::category::Category;
use crate::evm::json::Log;
use crate::evm::scene::EvmScene;
use crate::opinion::{LegSet, Opinion, Role};

/// `DecreaseLiquidity(uint256 indexed tokenId, uint128 liquidity, uint256 amount0, uint256 amount1)`
const DECREASE_LIQUIDITY: B256 = b256!("26f6a048ee9138f2c0ce266f322cb99228e8d619ae2bff30c67f8dcf9d2377b4");

/// Splits a claim on `Collect(uint256 indexed tokenId, address recipient, uint256 amount0, uint256 amount1)`.
pub fn split(scene: &EvmScene<'_>, whole: Opinion, collect: &Log) -> Vec<Opinion> {
    let (Some(collected0), Some(principal)) = (collect.data_u256(1), decreased(scene, collect)) else {
        return vec![whole];
    };
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
        let stake = if collected == collected0 { principal.0 } else { principal.1 };
        let part = stake.min(collected);
        for (opinion, amount) in [(&mut withdrawn, part), (&mut earned, collected.saturating_sub(part))] {
            if !amount.is_zero() {
                opinion.explains.insert(leg);
                opinion.amounts.push((leg, amount));
            }
        }
    }
    [withdrawn, earned].into_iter().filter(|opinion| !opinion.explains.is_empty()).collect()
}

/// What this position was decreased by in the transaction, of both assets.
fn decreased(scene: &EvmScene<'_>, collect: &Log) -> Option<(U256, U256)> {
    let position = collect.topics.get(1)?;
    let mut sums = (U256::ZERO, U256::ZERO);
    for log in &scene.facts.receipt.logs {
        if log.address == collect.address
            && log.topic0() == Some(DECREASE_LIQUIDITY)
            && log.topics.get(1) == Some(position)
        {
            sums.0 = sums.0.checked_add(log.data_u256(1)?)?;
            sums.1 = sums.1.checked_add(log.data_u256(2)?)?;
        }
    }
    Some(sums)
}
