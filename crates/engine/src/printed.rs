//! Legs as they are printed: symbols as the contract reports them, amounts exact, imitations marked.

use alloy_primitives::U256;

use crate::amount::Amount;
use crate::asset::{Account, Asset, NftKind};
use crate::classification::{Action, AssetLeg, Assets};
use crate::evm::Token;
use crate::legs::{Direction, Leg};
use crate::scene::Scene;

/// How much of a leg is shown: a step may speak for a part of it.
#[derive(Debug, Clone, Copy)]
pub enum Part {
    Whole,
    Amount(U256),
}

/// A contract that reports no symbol.
const SYMBOL_UNKNOWN: &str = "UNKNOWN";

pub fn assets(scene: &Scene<'_>, wanted: impl Fn(usize) -> Option<Part>) -> Assets {
    Assets { gas: scene.gas.map(|gas| gas_leg(scene, gas)), ..assets_of(scene, &scene.legs, wanted) }
}

/// The legs of any account in the scene, as they are printed.
pub fn assets_of(scene: &Scene<'_>, legs: &[Leg], wanted: impl Fn(usize) -> Option<Part>) -> Assets {
    let mut assets = Assets::default();
    for (at, leg) in legs.iter().enumerate() {
        let Some(part) = wanted(at) else { continue };
        let side = match leg.direction {
            Direction::Out => &mut assets.sent,
            Direction::In => &mut assets.received,
        };
        side.push(asset_leg(scene, leg, part));
    }
    assets
}

fn gas_leg(scene: &Scene<'_>, gas: U256) -> AssetLeg {
    let chain = scene.chain;
    AssetLeg {
        amount: Amount { raw: gas, decimals: Some(chain.native_decimals) }.to_string(),
        action: Action::PaidGas,
        ..native_leg(scene)
    }
}

fn native_leg(scene: &Scene<'_>) -> AssetLeg {
    let chain = scene.chain;
    AssetLeg {
        symbol: chain.native_symbol.clone(),
        amount: String::new(),
        action: Action::Received,
        decimals: Some(chain.native_decimals),
        token_address: None,
        token_name: Some(chain.native_name.clone()),
        to: None,
        from: None,
        token_type: None,
        token_id: None,
        symbol_collision: false,
        display_symbol: None,
        inferred: false,
        inferred_basis: None,
    }
}

fn asset_leg(scene: &Scene<'_>, leg: &Leg, part: Part) -> AssetLeg {
    let mut printed = native_leg(scene);
    if let Some(contract) = leg.asset.contract() {
        name_token(&mut printed, scene, contract);
    }
    if let Asset::Nft { id, kind, .. } = leg.asset {
        printed.token_type = Some(kind);
        // On Solana the mint itself is the item.
        printed.token_id = (kind != NftKind::SplNft).then(|| id.to_string());
        printed.decimals = None;
    }
    let raw = match part {
        Part::Whole => leg.amount,
        Part::Amount(amount) => amount.min(leg.amount),
    };
    printed.amount = Amount { raw, decimals: printed.decimals }.to_string();
    printed.inferred = leg.inferred;
    printed.inferred_basis = leg.inferred.then_some("balance_delta");
    match leg.direction {
        Direction::Out => {
            printed.to = Some(leg.other);
            printed.action = if leg.minted_or_burned { Action::Burned } else { Action::Transferred };
        }
        Direction::In => {
            printed.from = Some(leg.other);
            printed.action = if leg.minted_or_burned { Action::Minted } else { Action::Received };
        }
    }
    printed
}

fn name_token(printed: &mut AssetLeg, scene: &Scene<'_>, contract: Account) {
    let known = scene.ground.token(contract);
    let text = |text: &Option<String>| text.as_deref().map(Token::clip).map(str::to_owned);
    printed.token_address = Some(contract);
    printed.decimals = known.and_then(|token| token.decimals);
    printed.token_name = known.and_then(|token| text(&token.name));
    printed.symbol = known.and_then(|token| text(&token.symbol)).unwrap_or_else(|| SYMBOL_UNKNOWN.to_owned());
    if scene.ground.collides(&printed.symbol, contract) {
        let address = contract.to_string();
        let (head, tail) =
            (address.get(..6).unwrap_or_default(), address.get(address.len().saturating_sub(4)..).unwrap_or_default());
        printed.symbol_collision = true;
        printed.display_symbol = Some(format!("{} ({head}…{tail})", printed.symbol));
    }
}
