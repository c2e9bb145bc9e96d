//! Net legs: what each asset did for one account. What went out and came back in the same transaction cancels.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use alloy_primitives::U256;

use crate::asset::{Account, Asset, Movement, Seen};

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

#[derive(Default)]
struct Tally {
    out: U256,
    incoming: U256,
    largest_out: Option<Movement>,
    largest_in: Option<Movement>,
    only_zero_out: bool,
    only_zero_in: bool,
    inferred: bool,
}

/// Net per asset; what went out and came back cancels, and a zero net is no leg. Sent legs first, then received ones.
/// `None` when a sum leaves 256 bits, which only forged logs can do.
pub fn legs(movements: &[Movement], wallet: Account) -> Option<Vec<Leg>> {
    let mut tallies: BTreeMap<Asset, Tally> = BTreeMap::new();
    for m in movements.iter().filter(|m| (m.from == wallet) != (m.to == wallet)) {
        let tally = tallies.entry(m.asset).or_insert_with(|| Tally {
            only_zero_out: true,
            only_zero_in: true,
            ..Tally::default()
        });
        tally.inferred |= m.seen == Seen::Balance;
        let (sum, largest, only_zero, other) = if m.from == wallet {
            (&mut tally.out, &mut tally.largest_out, &mut tally.only_zero_out, m.to)
        } else {
            (&mut tally.incoming, &mut tally.largest_in, &mut tally.only_zero_in, m.from)
        };
        *sum = sum.checked_add(m.amount)?;
        *only_zero &= other.is_zero();
        if largest.is_none_or(|best| m.amount > best.amount) {
            *largest = Some(*m);
        }
    }
    let mut legs: Vec<Leg> = tallies.into_iter().filter_map(|(asset, tally)| leg(asset, &tally)).collect();
    legs.sort_by_key(|leg| (leg.direction, leg.asset));
    Some(legs)
}

fn leg(asset: Asset, tally: &Tally) -> Option<Leg> {
    let (direction, amount, largest, minted_or_burned) = match tally.out.cmp(&tally.incoming) {
        Ordering::Equal => return None,
        Ordering::Greater => {
            (Direction::Out, tally.out.saturating_sub(tally.incoming), tally.largest_out?, tally.only_zero_out)
        }
        Ordering::Less => {
            (Direction::In, tally.incoming.saturating_sub(tally.out), tally.largest_in?, tally.only_zero_in)
        }
    };
    let other = match direction {
        Direction::Out => largest.to,
        Direction::In => largest.from,
    };
    Some(Leg { asset, direction, amount, other, minted_or_burned, inferred: tally.inferred })
}
