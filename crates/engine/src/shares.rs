//! How much of which legs a claim explains. Every share has a reason: what was seen states the amount, or the movements behind it are linked to
//! whom it was seen at.

use alloy_primitives::U256;

use crate::legs::{LEGS_MAX, Leg};

/// Which legs, as a set over their positions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LegSet(u128);

impl LegSet {
    pub const EMPTY: Self = Self(0);

    /// Positions past `LEGS_MAX` have no place in the set; the scene carries a doubt then.
    pub fn insert(&mut self, leg: usize) {
        if let Ok(bit) = u32::try_from(leg) {
            self.0 |= 1_u128.checked_shl(bit).unwrap_or(0);
        }
    }

    pub fn contains(self, leg: usize) -> bool {
        let mut one = Self::EMPTY;
        one.insert(leg);
        self.0 & one.0 != 0
    }

    pub fn all(count: usize) -> Self {
        let places = u32::try_from(count.min(LEGS_MAX)).unwrap_or(u128::BITS);
        Self(1_u128.checked_shl(places).map_or(u128::MAX, |past| past.wrapping_sub(1)))
    }

    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn is_subset(self, other: Self) -> bool {
        self.minus(other).is_empty()
    }

    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// In the order of the legs.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let lowest = (left != 0).then(|| left.trailing_zeros())?;
            left &= left.wrapping_sub(1);
            usize::try_from(lowest).ok()
        })
    }
}

/// Why a share belongs to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tie {
    /// The event, or the movement that it names, states the amount.
    Stated,
    /// The token states that the balance grew by it, so no movement is behind it.
    Accrued,
    /// The other side of the movements is linked to the contract that spoke or was called.
    Linked,
}

/// A part of one leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    pub leg: usize,
    pub amount: U256,
    pub tie: Tie,
    /// The token only marks a debt, and has no value of its own.
    pub is_mirror: bool,
    /// The movements that it is made of, where it is linked and they are known.
    pub moves: MoveSet,
}

/// Which of the wallet's own movements, as a set over their positions. Empty where they are not told apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MoveSet(u128);

impl MoveSet {
    /// Past so many movements they are not told apart.
    pub const MAX: usize = 128;

    pub fn insert(&mut self, movement: usize) {
        if let Ok(bit) = u32::try_from(movement) {
            self.0 |= 1_u128.checked_shl(bit).unwrap_or(0);
        }
    }

    pub fn contains(self, movement: usize) -> bool {
        let mut one = Self::default();
        one.insert(movement);
        self.0 & one.0 != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What some movements come to, in the direction of a leg.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Net {
    pub amount: U256,
    pub moves: MoveSet,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shares {
    legs: LegSet,
    list: Vec<Share>,
}

impl Shares {
    /// All of each of these legs.
    pub fn whole<'a>(legs: impl Iterator<Item = (usize, &'a Leg)>) -> Self {
        let mut shares = Self { legs: LegSet::EMPTY, list: Vec::with_capacity(legs.size_hint().0) };
        for (at, leg) in legs {
            shares.push(at, leg.amount, Tie::Linked);
        }
        shares
    }

    /// So much of one leg.
    pub fn one(leg: usize, amount: U256, tie: Tie) -> Self {
        let mut shares = Self::default();
        shares.push(leg, amount, tie);
        shares
    }

    pub fn push(&mut self, leg: usize, amount: U256, tie: Tie) {
        self.add(Share { leg, amount, tie, is_mirror: false, moves: MoveSet::default() });
    }

    pub fn link(&mut self, leg: usize, net: Net) {
        self.add(Share { leg, amount: net.amount, tie: Tie::Linked, is_mirror: false, moves: net.moves });
    }

    /// What has no place in a set of legs is not explained: the scene carries a doubt then.
    pub fn add(&mut self, share: Share) {
        if share.leg < LEGS_MAX && !share.amount.is_zero() {
            self.legs.insert(share.leg);
            self.list.push(share);
        }
    }

    /// All but what only links give to these legs.
    pub fn without_linked(&self, legs: LegSet) -> Self {
        let mut rest = Self::default();
        for share in self.list.iter().filter(|share| share.tie != Tie::Linked || !legs.contains(share.leg)) {
            rest.add(*share);
        }
        rest
    }

    pub fn legs(&self) -> LegSet {
        self.legs
    }

    pub fn contains(&self, leg: usize) -> bool {
        self.legs.contains(leg)
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Share> {
        self.list.iter()
    }

    /// How much of the leg is explained.
    pub fn of(&self, leg: usize) -> U256 {
        let of_leg = self.list.iter().filter(|share| share.leg == leg).map(|share| share.amount);
        of_leg.fold(U256::ZERO, U256::saturating_add)
    }

    /// How much of the leg what was seen states; `None` where it states nothing of it.
    pub fn stated(&self, leg: usize) -> Option<U256> {
        let stated = self.list.iter().filter(|share| share.leg == leg && share.tie == Tie::Stated);
        stated.map(|share| share.amount).reduce(U256::saturating_add)
    }
}
