//! The closed words for what an event is for tax, and what a ledger does with it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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

impl LedgerAction {
    pub fn name(self) -> &'static str {
        match self {
            Self::DisposeAndAcquire => "dispose_and_acquire",
            Self::RecognizeIncome => "recognize_income",
            Self::CarryBasis => "carry_basis",
            Self::Move => "move",
            Self::Lock => "lock",
            Self::Unlock => "unlock",
            Self::PledgeCollateral => "pledge_collateral",
            Self::ReleaseCollateral => "release_collateral",
            Self::OpenLiability => "open_liability",
            Self::CloseLiability => "close_liability",
            Self::ExpenseFee => "expense_fee",
            Self::WriteOff => "write_off",
            Self::NoEntry => "no_entry",
            Self::Ignore => "ignore",
            Self::Review => "review",
        }
    }
}
