//! One posting of one reading, with everything that a line in a ledger needs.

use engine::classification::{AssetLeg, Entry, Posting, Side};
use engine::{Account, Classification};

#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    pub row: &'a Classification,
    pub posting: &'a Posting,
    pub leg: &'a AssetLeg,
}

impl Line<'_> {
    /// Whether it leaves the wallet.
    pub fn is_out(&self) -> bool {
        match self.posting.side {
            Side::Sent | Side::Gas => true,
            Side::Received => false,
        }
    }

    /// The account on the other side.
    pub fn counterparty(&self) -> Option<Account> {
        if self.is_out() { self.leg.to } else { self.leg.from }
    }

    pub fn entry(&self) -> Entry {
        self.posting.entry
    }

    pub fn has_value(&self) -> bool {
        has_value(self.entry())
    }
}

/// Whether a price makes it worth something: a token that only marks a debt, and spam, have no value of their own.
pub fn has_value(entry: Entry) -> bool {
    match entry {
        Entry::Mirror | Entry::Ignore => false,
        Entry::Dispose
        | Entry::Acquire
        | Entry::Income
        | Entry::Expense
        | Entry::CarryOut
        | Entry::CarryIn
        | Entry::MoveOut
        | Entry::MoveIn
        | Entry::Lock
        | Entry::Unlock
        | Entry::Borrow
        | Entry::Repay
        | Entry::Open => true,
    }
}

/// How every unit of a reading is booked, in the order of its postings.
pub fn lines(row: &Classification) -> impl Iterator<Item = Line<'_>> {
    let postings = row.postings.iter().flatten();
    postings.filter_map(move |posting| Some(Line { row, posting, leg: row.assets.leg_of(posting)? }))
}

pub fn side(side: Side) -> &'static str {
    match side {
        Side::Sent => "sent",
        Side::Received => "received",
        Side::Gas => "gas",
    }
}

/// `true`, `false`, or nothing where it is undetermined.
pub fn taxable(taxable: Option<bool>) -> &'static str {
    match taxable {
        Some(true) => "true",
        Some(false) => "false",
        None => "",
    }
}
