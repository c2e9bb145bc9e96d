//! The verdict in plain words.

use engine::role::Role;
use engine::treatment::{LedgerAction, Treatment};
use engine::{Category, Classification};
use maud::{Markup, html};

use crate::pages::parts::{spoken, text};

/// The tone of the page, by name in the style sheet. A reading that needs review never looks decided.
pub(super) fn tone(row: &Classification) -> &'static str {
    if row.error.is_some() {
        "alarm"
    } else if row.needs_review || row.taxable.is_none() {
        Treatment::NeedsReview.name()
    } else {
        row.treatment.name()
    }
}

pub(super) fn headline(row: &Classification) -> &'static str {
    if row.error.is_some() {
        return "Not classified";
    }
    if row.needs_review || row.taxable.is_none() {
        return "A person must look";
    }
    match row.treatment {
        Treatment::Disposal => "A taxable disposal",
        Treatment::Income => "Taxable income",
        Treatment::Expense => "An expense, taxable because it was paid in crypto",
        Treatment::NonTaxable => not_taxable(row),
        Treatment::NeedsReview => "A person must look",
    }
}

fn not_taxable(row: &Classification) -> &'static str {
    match row.category {
        Category::Spam => return "Not taxable: spam, to be ignored",
        Category::FailedTransaction => return "Not taxable: the transaction failed",
        _ => {}
    }
    match row.ledger_action {
        Some(LedgerAction::Move) => "Not taxable: assets moved, nothing was exchanged",
        Some(LedgerAction::CarryBasis) => "Not taxable: the cost basis carries over",
        Some(LedgerAction::Lock) => "Not taxable: locked, and still the wallet's own",
        Some(LedgerAction::Unlock) => "Not taxable: the wallet's own, returned",
        Some(LedgerAction::PledgeCollateral) => "Not taxable: pledged as collateral",
        Some(LedgerAction::ReleaseCollateral) => "Not taxable: collateral returned",
        Some(LedgerAction::OpenLiability) => "Not taxable: a loan taken",
        Some(LedgerAction::CloseLiability) => "Not taxable: a loan repaid",
        Some(LedgerAction::NoEntry) => "Not taxable: nothing to book",
        Some(LedgerAction::Ignore) => "Not taxable: to be ignored",
        Some(
            LedgerAction::DisposeAndAcquire
            | LedgerAction::RecognizeIncome
            | LedgerAction::ExpenseFee
            | LedgerAction::WriteOff
            | LedgerAction::Review,
        )
        | None => "Not taxable",
    }
}

/// What it was, over the headline.
pub(super) fn kicker(row: &Classification) -> Markup {
    html! {
        @if row.error.is_some() { "This transaction could not be read" }
        @else {
            (spoken(row.category.name()))
            @if let Some(protocol) = &row.protocol { " on " (text(protocol)) }
        }
    }
}

pub(super) fn action(action: LedgerAction) -> &'static str {
    match action {
        LedgerAction::DisposeAndAcquire => "Dispose and acquire",
        LedgerAction::RecognizeIncome => "Recognise income",
        LedgerAction::CarryBasis => "Carry basis",
        LedgerAction::Move => "Move",
        LedgerAction::Lock => "Lock",
        LedgerAction::Unlock => "Unlock",
        LedgerAction::PledgeCollateral => "Pledge collateral",
        LedgerAction::ReleaseCollateral => "Release collateral",
        LedgerAction::OpenLiability => "Open a liability",
        LedgerAction::CloseLiability => "Close a liability",
        LedgerAction::ExpenseFee => "Expense the fee",
        LedgerAction::WriteOff => "Write off",
        LedgerAction::NoEntry => "No entry",
        LedgerAction::Ignore => "Ignore",
        LedgerAction::Review => "Review",
    }
}

/// How to book it, in a sentence.
pub(super) fn booking(action: LedgerAction) -> &'static str {
    match action {
        LedgerAction::DisposeAndAcquire => "Book a sale of what went out and a purchase of what came in.",
        LedgerAction::RecognizeIncome => "Book what came in as income at its value on that day.",
        LedgerAction::CarryBasis => "Move the cost basis from what went out to what came in.",
        LedgerAction::Move => "Move the asset with its cost basis between wallets.",
        LedgerAction::Lock => "Mark it as locked; it stays on the books.",
        LedgerAction::Unlock => "Mark it as free again.",
        LedgerAction::PledgeCollateral => "Mark it as pledged; it stays on the books.",
        LedgerAction::ReleaseCollateral => "Take the pledge off the books.",
        LedgerAction::OpenLiability => "Book what came in against a debt.",
        LedgerAction::CloseLiability => "Book what went out against the debt.",
        LedgerAction::ExpenseFee => "Book the fee as a cost.",
        LedgerAction::WriteOff => "Take it off the books as a loss.",
        LedgerAction::NoEntry => "Nothing to book but the network fee, if the wallet paid one.",
        LedgerAction::Ignore => "Leave it out of the books.",
        LedgerAction::Review => "Book nothing until a person has decided.",
    }
}

pub(super) fn role(role: Role) -> &'static str {
    match role {
        Role::Principal => "principal",
        Role::Fee => "fee",
        Role::Interest => "interest",
        Role::Reward => "reward",
        Role::Refund => "refund",
        Role::FlashBorrow => "flash_borrow",
        Role::FlashRepay => "flash_repay",
        Role::BridgeOut => "bridge_out",
        Role::BridgeIn => "bridge_in",
        Role::Item => "item",
    }
}
