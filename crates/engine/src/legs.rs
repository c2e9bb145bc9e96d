//! Net legs: what each asset did for one account. What went out and came back in the same transaction cancels.

use std::cmp::Ordering;

use alloy_primitives::U256;

use crate::asset::{Account, Asset, Movement, NftKind, Seen};

/// Legs past this count cannot be explained one by one.
pub const LEGS_MAX: usize = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    Out,
    In,
}

impl Direction {
    pub fn opposite(self) -> Self {
        match self {
            Self::Out => Self::In,
            Self::In => Self::Out,
        }
    }
}

/// What one asset did for the wallet, net.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leg {
    pub asset: Asset,
    pub direction: Direction,
    pub amount: U256,
    /// The party of the largest movement behind the leg.
    pub other: Account,
    /// Every movement behind the leg came from, or went to, the zero address.
    pub minted_or_burned: bool,
    pub inferred: bool,
}

/// Net per asset; what went out and came back cancels, and a zero net is no leg. Sent legs first, then received ones.
/// `None` when a sum leaves 256 bits, which only forged logs can do.
pub fn legs(movements: &[Movement], wallet: Account) -> Option<Vec<Leg>> {
    let mut own: Vec<&Movement> = Vec::with_capacity(movements.len());
    own.extend(movements.iter().filter(|m| (m.from == wallet) != (m.to == wallet)));
    own.sort_by_key(|one| one.asset);
    let mut legs = Vec::with_capacity(own.len());
    for of_asset in own.chunk_by(|one, other| one.asset == other.asset) {
        legs.extend(leg(of_asset, wallet)?);
    }
    // They are sorted by asset already.
    legs.sort_by_key(|leg: &Leg| leg.direction);
    Some(legs)
}

/// What accrued came in, and is not netted against what went out: it is income even where all of it was taken out. `None` when a sum leaves 256
/// bits.
pub fn with_accrued(mut legs: Vec<Leg>, accrued: impl Iterator<Item = (Asset, U256)>) -> Option<Vec<Leg>> {
    for (asset, amount) in accrued {
        match legs.binary_search_by(|leg| leg.direction.cmp(&Direction::In).then_with(|| leg.asset.cmp(&asset))) {
            Ok(at) => {
                let leg = legs.get_mut(at)?;
                leg.amount = leg.amount.checked_add(amount)?;
            }
            Err(at) => legs.insert(at, minted(asset, amount)),
        }
    }
    Some(legs)
}

fn minted(asset: Asset, amount: U256) -> Leg {
    let other = match asset.contract() {
        Some(Account::Solana(_)) => Account::Solana([0; 32]),
        Some(Account::Evm(_)) | None => Account::Evm(alloy_primitives::Address::ZERO),
    };
    Leg { asset, direction: Direction::In, amount, other, minted_or_burned: true, inferred: false }
}

/// The leg of this asset in this direction.
pub fn position(legs: &[Leg], direction: Direction, asset: Asset) -> Option<usize> {
    legs.binary_search_by(|leg| leg.direction.cmp(&direction).then_with(|| leg.asset.cmp(&asset))).ok()
}

/// Whether a token or an NFT of this contract is among the legs.
pub fn has_contract(legs: &[Leg], contract: Account) -> bool {
    let token = Asset::Token(contract);
    let first_nft = Asset::Nft { contract, id: U256::ZERO, kind: NftKind::Erc721 };
    let (out, incoming) = legs.split_at(legs.partition_point(|leg| leg.direction == Direction::Out));
    [out, incoming].into_iter().any(|side| {
        let at_or_after = |asset: Asset| side.get(side.partition_point(|leg| leg.asset < asset));
        [token, first_nft].into_iter().filter_map(at_or_after).any(|leg| leg.asset.contract() == Some(contract))
    })
}

/// What went one way: how much, the largest movement, and whether the zero address was always on the other side.
struct DirectionSum<'a> {
    sum: U256,
    largest: Option<&'a Movement>,
    only_zero: bool,
}

/// Of movements of one asset: the outer `None` is a sum too large, the inner one a zero net.
fn leg(of_asset: &[&Movement], wallet: Account) -> Option<Option<Leg>> {
    let side = || DirectionSum { sum: U256::ZERO, largest: None, only_zero: true };
    let (mut out, mut incoming) = (side(), side());
    for m in of_asset {
        let (side, other) = if m.from == wallet { (&mut out, m.to) } else { (&mut incoming, m.from) };
        side.sum = side.sum.checked_add(m.amount)?;
        side.only_zero &= other.is_zero();
        if side.largest.is_none_or(|best| m.amount > best.amount) {
            side.largest = Some(m);
        }
    }
    let (direction, more, less) = match out.sum.cmp(&incoming.sum) {
        Ordering::Equal => return Some(None),
        Ordering::Greater => (Direction::Out, out, incoming),
        Ordering::Less => (Direction::In, incoming, out),
    };
    Some(more.largest.map(|largest| Leg {
        asset: largest.asset,
        direction,
        amount: more.sum.saturating_sub(less.sum),
        other: if direction == Direction::Out { largest.to } else { largest.from },
        minted_or_burned: more.only_zero,
        inferred: of_asset.iter().any(|m| m.seen == Seen::Balance),
    }))
}
