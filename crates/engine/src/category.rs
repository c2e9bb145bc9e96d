//! What a category *is*: the legs it needs, its rank among others, its part in a transaction, whether it is free. What it comes to under a
//! law is in `treatments`; nothing here reads one.

use serde::{Deserialize, Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::legs::Direction;
use crate::role::Role;

mod table;

pub use table::{Category, TABLE};

/// Whether a classification of this category is counted against the pool. Rows that need review always are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Billing)]
pub enum Bill {
    Billable,
    Free,
}

impl Bill {
    pub fn name(self) -> &'static str {
        match self {
            Self::Billable => "billable",
            Self::Free => "free",
        }
    }
}

/// The legs without which a category is not asserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = NeededLegs)]
pub enum Legs {
    /// At least one leg out and one in.
    Both,
    Out,
    In,
    /// At least one leg, either way.
    Some,
    /// No leg is needed.
    Any,
}

/// Which category is the principal when several hold a leg: the first in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// A failure or spam: there is nothing beside it.
    Decided,
    Liquidation,
    NftTrade,
    Bridge,
    Order,
    FlashLoan,
    Derivative,
    Pool,
    Migration,
    Loan,
    Collateral,
    LiquidStaking,
    VoteLock,
    Vault,
    Staking,
    Swap,
    Wrap,
    Payment,
    NftMint,
    Earning,
    Cost,
    OwnMove,
    Transfer,
    Governance,
    Account,
    Revoke,
    Approval,
    Preparation,
    Call,
    Open,
}

/// What becomes of the wallet's property, before any law. Two claims of different nature on the same legs contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nature {
    /// Property is given for other property.
    Exchange,
    Earning,
    Spending,
    /// The wallet still owns what it owned, in whatever form or place.
    Keeping,
    /// The chain does not show it.
    Undecided,
}

/// How much a category counts beside others in one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Presence {
    Counts,
    /// It cancels out within the transaction: what was done with it counts.
    Cancels,
    /// Part of a trade of the same protocol, where there is one: the order that was filled, the escrow that was emptied.
    InTrade,
    /// An action that moves nothing but rent.
    MovesNothing,
    /// It prepares or tidies up, and means something only when alone. It moves nothing but rent either.
    OnlyAlone,
}

/// Whether an answer lists its steps even when there is only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Telling {
    AtOnce,
    InSteps,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Meaning {
    pub category: Category,
    pub name: &'static str,
    pub bill: Bill,
    pub legs: Legs,
    /// The direction in which it moves assets, where there is only one.
    pub way: Option<Direction>,
    pub rank: Rank,
    /// The part that a claim of it plays, unless its rule says another.
    pub role: Role,
    pub nature: Nature,
    pub presence: Presence,
    pub telling: Telling,
    pub about: &'static str,
}

impl Category {
    pub fn parse(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.name == name).map(|row| row.category)
    }

    pub fn name(self) -> &'static str {
        self.meaning().name
    }

    pub fn is_free(self) -> bool {
        self.meaning().bill == Bill::Free
    }

    /// A transfer between two addresses, of a coin, a token or an NFT.
    pub fn is_plain_transfer(self) -> bool {
        self.meaning().rank == Rank::Transfer
    }

    /// An NFT bought or sold.
    pub fn is_nft_sale(self) -> bool {
        self.meaning().rank == Rank::NftTrade && self.meaning().legs == Legs::Both
    }

    /// It moves nothing but rent.
    pub fn moves_nothing(self) -> bool {
        matches!(self.meaning().presence, Presence::MovesNothing | Presence::OnlyAlone)
    }
}

impl<'de> Deserialize<'de> for Category {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::parse(&name).ok_or_else(|| serde::de::Error::custom("an unknown category"))
    }
}

impl Serialize for Category {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The vocabulary is open and only grows, so the schema names a string and no closed set.
impl PartialSchema for Category {
    fn schema() -> RefOr<Schema> {
        let known: Vec<&str> = TABLE.iter().map(|row| row.name).collect();
        let about = format!(
            "Canonical transaction type. The vocabulary is open and only grows: branch on `treatment`, and take a category that you do not \
             know as it comes. Known to this version: `{}`. `GET /categories` tells what each means.",
            known.join("`, `")
        );
        ObjectBuilder::new().schema_type(Type::String).description(Some(about)).examples(known.first().copied()).into()
    }
}

impl ToSchema for Category {
    fn name() -> std::borrow::Cow<'static, str> {
        "Category".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found_again() {
        for row in TABLE {
            assert_eq!(Category::parse(row.name), Some(row.category));
            assert_eq!(row.category.meaning().name, row.name);
        }
    }

    #[test]
    fn an_nft_sale_is_told_from_a_loan_against_one() {
        let sales: Vec<&str> = TABLE.iter().filter(|row| row.category.is_nft_sale()).map(|row| row.name).collect();
        assert_eq!(sales, ["nft_purchase", "nft_sale"]);
    }
}
