//! What one source says of a transaction, how strongly, where it saw it, and which legs it explains.

use std::sync::Arc;

use alloy_primitives::U256;
use serde::{Deserialize, Serialize};

use crate::asset::{Account, Seen};
use crate::category::Category;
use crate::legs::{Direction, Leg};
use crate::role::Role;
use crate::shares::{Shares, Tie};

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
    pub explains: Shares,
    /// The other side moved in an earlier transaction, so one direction is all that there is.
    pub counterleg_in_earlier_tx: bool,
    /// What it is about has no balance that would show it, as with compressed NFTs.
    pub has_no_balance_leg: bool,
    /// On the other side of a bridge another asset may arrive.
    pub may_exchange: bool,
    /// Another asset arrives there, of the same family.
    pub is_one_family: bool,
    /// A loan is repaid with something else than what it was taken in.
    pub is_repaid_otherwise: bool,
    /// The contract whose word it is, where no pack vouches for it.
    pub speaker: Option<Account>,
    /// Somebody else whose position it names, or who sent it from another chain or gets it there.
    pub whose: Option<Account>,
    pub perhaps: Option<Perhaps>,
}

/// What a claim may be instead, as no log tells. The table of treatments says what that comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Perhaps {
    /// Given by one person to another.
    Gift,
    /// For a loss, such as after a theft.
    Compensation,
    /// Not to be passed on, or sold, before a later day.
    Locked,
    /// Of what was paid before.
    Rebate,
    /// Sent by somebody else on another chain, whom no log here names.
    AnothersCoin,
}

impl Perhaps {
    pub const ALL: [Self; 5] = [Self::Gift, Self::Compensation, Self::Locked, Self::Rebate, Self::AnothersCoin];
}

impl Opinion {
    /// A principal claim that names no protocol and no place.
    pub fn new(
        source: Source,
        rule: impl Into<Arc<str>>,
        category: Category,
        strength: Strength,
        explains: Shares,
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
            counterleg_in_earlier_tx: false,
            has_no_balance_leg: false,
            may_exchange: false,
            is_one_family: false,
            is_repaid_otherwise: false,
            speaker: None,
            whose: None,
            perhaps: None,
        }
    }

    /// So much of a leg is what somebody is paid beside what the transaction is about: the movements show it, and nobody says it.
    pub fn fee(rule: &str, leg: usize, amount: U256, strength: Strength) -> Self {
        let explains = Shares::one(leg, amount, Tie::Stated);
        let fee = Self::new(Source::Shape, rule, Category::FeePayment, strength, explains);
        Self { role: Role::Fee, ..fee }
    }

    pub fn explains_direction(&self, legs: &[Leg], direction: Direction) -> bool {
        let mut explained = self.explains.legs().iter().filter_map(|at| legs.get(at));
        explained.any(|leg| leg.direction == direction)
    }
}
