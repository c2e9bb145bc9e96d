//! What one source says of a transaction, how strongly, where it saw it, and which legs it explains.

use std::sync::Arc;

use alloy_primitives::U256;
use serde::{Deserialize, Serialize};

use crate::asset::Seen;
use crate::category::Category;
use crate::legs::{Direction, LEGS_MAX, Leg};
use crate::role::Role;

/// Who says it. Sources are independent, none reads another's opinion: `protocol` is a rule pack over verified contracts, events or
/// instructions, `call` what was asked for, `shape` what the net movements alone suggest, `labels` a third party's word where an operator
/// configured one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = EvidenceSource)]
pub enum Source {
    /// Rule packs over contracts and their events.
    Protocol,
    /// What was asked for: the selector of the call.
    Call,
    /// What the net movements alone suggest.
    Shape,
    /// A third party's word, where an operator configured one.
    Labels,
    #[default]
    None,
}

/// Weakest first, so that `max` is the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// A guess from the movements: never decides alone.
    Suggested,
    /// A well-known shape of event or call at a contract that no pack vouches for, with movements that agree.
    Standard,
    /// A contract that a pack vouches for.
    Verified,
}

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
        (0..count.min(LEGS_MAX)).fold(Self::EMPTY, |mut set, leg| {
            set.insert(leg);
            set
        })
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

    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..LEGS_MAX).filter(move |leg| self.contains(*leg))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opinion {
    pub source: Source,
    /// Pack and rule, such as `aave-v3/Supply`.
    pub rule: Arc<str>,
    pub protocol: Option<Arc<str>>,
    pub category: Category,
    pub strength: Strength,
    pub role: Role,
    pub at: Option<Seen>,
    pub explains: LegSet,
    /// How much of a leg the claim explains, where it names an amount; legs that are not listed are explained whole.
    pub amounts: Vec<(usize, U256)>,
    /// The other side moved in an earlier transaction, so one direction is all that there is.
    pub counterleg_in_earlier_tx: bool,
    /// What it is about has no balance that would show it, as with compressed NFTs.
    pub has_no_balance_leg: bool,
}

impl Opinion {
    /// A principal claim that names no protocol, no place and no amounts.
    pub fn new(
        source: Source,
        rule: impl Into<Arc<str>>,
        category: Category,
        strength: Strength,
        explains: LegSet,
    ) -> Self {
        Self {
            source,
            rule: rule.into(),
            protocol: None,
            category,
            strength,
            role: Role::Principal,
            at: None,
            explains,
            amounts: Vec::new(),
            counterleg_in_earlier_tx: false,
            has_no_balance_leg: false,
        }
    }

    pub fn explains_direction(&self, legs: &[Leg], direction: Direction) -> bool {
        legs.iter().enumerate().take(LEGS_MAX).any(|(at, leg)| leg.direction == direction && self.explains.contains(at))
    }

    /// How much of the leg this claim explains; `None` is all of it.
    pub fn amount_of(&self, leg: usize) -> Option<U256> {
        let of_leg = self.amounts.iter().filter(|(at, _)| *at == leg).map(|(_, amount)| *amount);
        of_leg.reduce(U256::saturating_add)
    }
}
