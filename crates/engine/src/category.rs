//! The house table: every category with its treatment, ledger action, price and the other defensible side.
//! `GET /categories`, the docs and the engine itself all read this one table, so words and behaviour cannot drift apart.

use serde::{Deserialize, Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

mod table;

pub use table::{Category, TABLE};

/// What the event is for tax. A closed set: it gains no value within v1. `needs_review` is what cannot be mapped to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Treatment {
    Disposal,
    Income,
    NonTaxable,
    Expense,
    NeedsReview,
}

impl Treatment {
    pub fn name(self) -> &'static str {
        match self {
            Self::Disposal => "disposal",
            Self::Income => "income",
            Self::NonTaxable => "non_taxable",
            Self::Expense => "expense",
            Self::NeedsReview => "needs_review",
        }
    }

    /// `None` is "undetermined", which is never the same as "not taxable".
    pub fn taxable(self) -> Option<bool> {
        match self {
            Self::Disposal | Self::Income | Self::Expense => Some(true),
            Self::NonTaxable => Some(false),
            Self::NeedsReview => None,
        }
    }
}

/// What to do with it in a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LedgerAction {
    DisposeAndAcquire,
    RecognizeIncome,
    CarryBasis,
    Move,
    Lock,
    Unlock,
    PledgeCollateral,
    ReleaseCollateral,
    OpenLiability,
    CloseLiability,
    ExpenseFee,
    WriteOff,
    NoEntry,
    Ignore,
    Review,
}

/// Whether a classification of this category is counted against the pool. Rows that need review always are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Billing)]
pub enum Bill {
    Billable,
    Free,
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

/// The caller's switch that governs a category, where one does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PolicyKey {
    Lp,
    Wrap,
    Lst,
    Staking,
}

/// The position not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = GreySide)]
pub struct Side {
    pub treatment: Treatment,
    /// The position in a few words.
    #[schema(value_type = String)]
    pub label: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grey {
    Never,
    Always(&'static str, Side),
    /// Set when the stated condition holds; the condition is decided where the reading is known.
    When(Condition, &'static str, Side),
}

/// When a grey area is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = GreyCondition)]
pub enum Condition {
    /// The other party is not one of the caller's own wallets.
    OtherPartyUnknown,
    /// The payee is known only by the shape of the payment.
    PayeeByShape,
    /// The repaid asset is not the borrowed one.
    RepaidAssetDiffers,
    /// The wallet did not claim it itself.
    NotClaimedByWallet,
    /// Another token arrives than the one that left.
    AnotherTokenArrives,
    /// The assets are of one family, such as USDC and USDC.e.
    OneFamily,
    /// Nothing was paid.
    Free,
    /// A lock that may count as an exchange.
    LockReceipt,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub category: Category,
    pub name: &'static str,
    pub treatment: Treatment,
    pub ledger_action: LedgerAction,
    pub bill: Bill,
    pub legs: Legs,
    pub policy: Option<PolicyKey>,
    pub grey: Grey,
    pub about: &'static str,
    pub basis: &'static str,
}

impl Category {
    pub fn parse(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.name == name).map(|row| row.category)
    }

    pub fn name(self) -> &'static str {
        self.row().name
    }

    pub fn is_free(self) -> bool {
        self.row().bill == Bill::Free
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

/// One category, with what the house makes of it.
#[derive(Debug, Serialize, ToSchema)]
pub struct CategoryRow {
    pub category: Category,
    /// What it is, in plain words.
    #[schema(value_type = String)]
    pub about: &'static str,
    pub treatment: Treatment,
    /// As on a result: null is undetermined.
    #[schema(required)]
    pub taxable: Option<bool>,
    pub ledger_action: LedgerAction,
    pub billing: Bill,
    pub needs_legs: Legs,
    /// The caller's switch that governs it, where one does.
    #[schema(required)]
    pub policy: Option<PolicyKey>,
    /// What the treatment rests on.
    #[schema(value_type = String)]
    pub basis: &'static str,
    /// The other defensible side, where there is one.
    #[schema(required)]
    pub grey_area: Option<GreyRow>,
}

/// The other defensible side of a category.
#[derive(Debug, Serialize, ToSchema)]
pub struct GreyRow {
    /// Set only under this condition; null is always.
    #[schema(required)]
    pub when: Option<Condition>,
    /// What the positions rest on.
    #[schema(value_type = String)]
    pub note: &'static str,
    pub alternate: Side,
}

impl From<&Row> for CategoryRow {
    fn from(row: &Row) -> Self {
        let grey_area = match row.grey {
            Grey::Never => None,
            Grey::Always(note, alternate) => Some(GreyRow { when: None, note, alternate }),
            Grey::When(condition, note, alternate) => Some(GreyRow { when: Some(condition), note, alternate }),
        };
        Self {
            category: row.category,
            about: row.about,
            treatment: row.treatment,
            taxable: row.treatment.taxable(),
            ledger_action: row.ledger_action,
            billing: row.bill,
            needs_legs: row.legs,
            policy: row.policy,
            basis: row.basis,
            grey_area,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found_again() {
        for row in TABLE {
            assert_eq!(Category::parse(row.name), Some(row.category));
            assert_eq!(row.category.row().name, row.name);
        }
    }

    #[test]
    fn a_policy_key_always_has_another_side_to_flip_to() {
        for row in TABLE.iter().filter(|row| row.policy.is_some()) {
            assert!(matches!(row.grey, Grey::Always(_, side) if side.treatment != row.treatment), "{}", row.name);
        }
    }

    #[test]
    fn a_review_treatment_always_says_so_in_its_ledger_action() {
        for row in TABLE.iter().filter(|row| row.treatment == Treatment::NeedsReview) {
            assert!(matches!(row.ledger_action, LedgerAction::Review | LedgerAction::WriteOff), "{}", row.name);
        }
    }
}
