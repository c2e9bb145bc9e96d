//! Legs as they are printed: symbols as the contract reports them, amounts exact, imitations marked.

use alloy_primitives::U256;

use crate::amount::Amount;
use crate::asset::{Account, Asset, NftKind};
use crate::classification::{Action, AssetLeg, Assets, BALANCE_DELTA};
use crate::legs::{Direction, Leg};
use crate::scene::{Own, Scene};
use crate::token::Token;

/// A contract that reports no symbol.
const SYMBOL_UNKNOWN: &str = "UNKNOWN";

/// All legs of the wallet, and gas.
pub fn assets(scene: &Scene<'_>) -> Assets {
    let all = assets_of(scene, |at| scene.legs.get(at).map(|leg| leg.amount));
    Assets { gas: scene.gas.map(|gas| gas_leg(scene, gas)), ..all }
}

/// The sum of what is shown of a leg; `None` where that is nothing.
pub fn share(amounts: impl Iterator<Item = U256>) -> Option<U256> {
    amounts.reduce(U256::saturating_add)
}

/// The wallet's legs as they are printed: so much of each.
pub fn assets_of(scene: &Scene<'_>, wanted: impl Fn(usize) -> Option<U256>) -> Assets {
    printed(scene, &scene.legs, |at, leg| wanted(at).map(|part| (part, party(leg, part, scene.moved_by(at)))))
}

/// The legs of another account in the scene.
pub fn assets_of_other(scene: &Scene<'_>, legs: &[Leg]) -> Assets {
    printed(scene, legs, |_, leg| Some((leg.amount, Some(leg.other))))
}

/// Legs with so much of each, and with whom it was where that was one account.
fn printed(scene: &Scene<'_>, legs: &[Leg], wanted: impl Fn(usize, &Leg) -> Option<(U256, Option<Account>)>) -> Assets {
    let (out, incoming) = legs.split_at(legs.partition_point(|leg| leg.direction == Direction::Out));
    let printed = |legs: &[Leg], first: usize| {
        let mut printed = Vec::with_capacity(legs.len().min(LEGS_LIKELY));
        for (at, leg) in legs.iter().enumerate() {
            let wanted = wanted(first.saturating_add(at), leg);
            printed.extend(wanted.map(|(part, other)| asset_leg(scene, leg, part, other)));
        }
        printed
    };
    Assets { sent: printed(out, 0), received: printed(incoming, out.len()), ..Assets::default() }
}

/// Capacity that is reserved for legs: most transactions have fewer, and a printed leg is large.
const LEGS_LIKELY: usize = 2;

fn gas_leg(scene: &Scene<'_>, gas: U256) -> AssetLeg {
    let leg = scene.gas_token.map_or_else(|| native_leg(scene, gas), |token| token_leg(scene, token, gas, None));
    AssetLeg { action: Action::PaidGas, ..leg }
}

fn native_leg(scene: &Scene<'_>, raw: U256) -> AssetLeg {
    let chain = scene.chain;
    let (symbol, name) = chain.coin_in(scene.block);
    AssetLeg {
        symbol: symbol.to_owned(),
        amount: Amount { raw, decimals: Some(chain.native_decimals) }.text(),
        action: Action::Received,
        decimals: Some(chain.native_decimals),
        token_address: None,
        token_name: Some(name.to_owned()),
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

fn asset_leg(scene: &Scene<'_>, leg: &Leg, raw: U256, other: Option<Account>) -> AssetLeg {
    let mut printed = match leg.asset {
        Asset::Native => native_leg(scene, raw),
        Asset::Token(contract) => token_leg(scene, contract, raw, None),
        Asset::Nft { contract, id, kind } => AssetLeg {
            token_type: Some(kind),
            // On Solana the mint itself is the item.
            token_id: (kind != NftKind::SplNft).then(|| Amount { raw: id, decimals: None }.text()),
            ..token_leg(scene, contract, raw, Some(kind))
        },
    };
    printed.inferred = leg.inferred;
    printed.inferred_basis = leg.inferred.then_some(BALANCE_DELTA);
    match leg.direction {
        Direction::Out => {
            printed.to = other;
            printed.action = if leg.minted_or_burned { Action::Burned } else { Action::Transferred };
        }
        Direction::In => {
            printed.from = other;
            printed.action = if leg.minted_or_burned { Action::Minted } else { Action::Received };
        }
    }
    printed
}

/// The other side of a leg, where all of it was with one; of a part of it the only account that moved just so much, where there is one.
fn party(leg: &Leg, part: U256, moved: &[Own]) -> Option<Account> {
    let moved = || moved.iter().filter(|own| !own.amount.is_zero());
    let just_so_much = moved().filter(|own| own.amount == part && part != leg.amount);
    // What accrued has no movement behind it.
    let is_unseen = moved().next().is_none();
    only(just_so_much).or_else(|| only(moved())).or(is_unseen.then_some(leg.other))
}

/// The other side of all of them, where there is one.
fn only<'a>(mut moved: impl Iterator<Item = &'a Own>) -> Option<Account> {
    let first = moved.next()?.other;
    moved.all(|own| own.other == first).then_some(first)
}

/// An NFT is counted, whatever decimals its contract reports.
fn token_leg(scene: &Scene<'_>, contract: Account, raw: U256, nft: Option<NftKind>) -> AssetLeg {
    let known = scene.ground.token(contract);
    let text = |text: &Option<String>| text.as_deref().map(Token::clip).map(str::to_owned);
    let decimals = known.and_then(|token| token.decimals).filter(|_| nft.is_none());
    let symbol = known.and_then(|token| text(&token.symbol)).filter(|symbol| !symbol.is_empty());
    let symbol = symbol.unwrap_or_else(|| SYMBOL_UNKNOWN.to_owned());
    let is_collision = scene.ground.collides(&symbol, contract);
    AssetLeg {
        amount: Amount { raw, decimals }.text(),
        action: Action::Received,
        decimals,
        token_address: Some(contract),
        token_name: known.and_then(|token| text(&token.name)),
        to: None,
        from: None,
        token_type: None,
        token_id: None,
        symbol_collision: is_collision,
        display_symbol: is_collision.then(|| told_apart(&symbol, contract)),
        inferred: false,
        inferred_basis: None,
        symbol,
    }
}

/// An imitated symbol with the beginning and the end of its contract's address.
fn told_apart(symbol: &str, contract: Account) -> String {
    let address = contract.to_string();
    let head = address.get(..6).unwrap_or_default();
    let tail = address.get(address.len().saturating_sub(4)..).unwrap_or_default();
    format!("{symbol} ({head}…{tail})")
}
