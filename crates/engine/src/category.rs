//! The house table: every category with its treatment, ledger action, price and the other defensible side.
//! `GET /categories`, the docs and the engine itself all read this one table, so words and behaviour cannot drift apart.

use serde::{Deserialize, Serialize, Serializer};

mod table;

pub use table::{Category, TABLE};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bill {
    Billable,
    Free,
}

/// The legs without which a category is not asserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyKey {
    Lp,
    Wrap,
    Lst,
    Staking,
}

/// The position not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Side {
    pub treatment: Treatment,
    pub label: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grey {
    Never,
    Always(&'static str, Side),
    /// Set when the stated condition holds; the condition is decided where the reading is known.
    When(Condition, &'static str, Side),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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

impl Serialize for Category {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The row as `GET /categories` prints it.
impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Printed<'a> {
            category: &'a str,
            about: &'a str,
            treatment: Treatment,
            taxable: Option<bool>,
            ledger_action: LedgerAction,
            billing: Bill,
            needs_legs: Legs,
            policy: Option<PolicyKey>,
            basis: &'a str,
            grey_area: Option<PrintedGrey<'a>>,
        }
        #[derive(Serialize)]
        struct PrintedGrey<'a> {
            when: Option<Condition>,
            note: &'a str,
            alternate: Side,
        }
        let grey_area = match self.grey {
            Grey::Never => None,
            Grey::Always(note, alternate) => Some(PrintedGrey { when: None, note, alternate }),
            Grey::When(condition, note, alternate) => Some(PrintedGrey { when: Some(condition), note, alternate }),
        };
        Printed {
            category: self.name,
            about: self.about,
            treatment: self.treatment,
            taxable: self.treatment.taxable(),
            ledger_action: self.ledger_action,
            billing: self.bill,
            needs_legs: self.legs,
            policy: self.policy,
            basis: self.basis,
            grey_area,
        }
        .serialize(serializer)
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
