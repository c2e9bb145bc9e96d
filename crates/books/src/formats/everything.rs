//! All that is known, for a spreadsheet or a program.

use std::io::{self, Write};

use csv::{Terminator, WriterBuilder};
use engine::Account;

use super::{Options, Rows};
use crate::cell::{one_line, tamed};
use crate::decision::{Decision, Reading};
use crate::journal::{Booking, bookings};
use crate::line::{side, taxable};

pub(super) const COLUMNS: [&str; 36] = [
    "time",
    "hash",
    "chain",
    "wallet",
    "side",
    "entry",
    "amount",
    "symbol",
    "token_address",
    "token_id",
    "counterparty",
    "category",
    "treatment",
    "taxable",
    "account",
    "account_code",
    "row_category",
    "row_treatment",
    "row_taxable",
    "confidence",
    "needs_review",
    "protocol",
    "description",
    "review_note",
    "engine",
    "value",
    "currency",
    "price",
    "price_time",
    "decision_category",
    "decision_treatment",
    "decision_comment",
    "decided_by",
    "decided_at",
    "signed_by",
    "signed_at",
];

/// A reading that moved nothing has one row without a posting.
pub(super) fn csv(rows: Rows<'_>, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let currency = options.prices.as_ref().map_or("", |prices| prices.currency());
    let mut table = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(out);
    table.write_record(COLUMNS)?;
    for reading in rows {
        let reading = reading?;
        let bookings = bookings(&reading.row, options.rules()).map_err(io::Error::other)?;
        for booking in &bookings {
            table.write_record(cells(&reading, Some(booking), currency).map(tamed))?;
        }
        if bookings.is_empty() {
            table.write_record(cells(&reading, None, currency).map(tamed))?;
        }
    }
    table.flush()
}

/// In the order of the columns; what is not known is empty.
pub(super) fn cells(reading: &Reading, booking: Option<&Booking<'_>>, currency: &str) -> [String; COLUMNS.len()] {
    let row = &reading.row;
    let text = |text: Option<&str>| one_line(text.unwrap_or_default());
    let account = |account: Option<Account>| account.map(|account| account.to_string()).unwrap_or_default();
    let line = booking.map(|booking| &booking.line);
    let posting = line.map(|line| line.posting);
    let leg = line.map(|line| line.leg);
    let booked = booking.map(Booking::other);
    let code = booked.and_then(|booked| booked.code.as_deref());
    let priced = booking.and_then(|booking| booking.priced.as_ref());
    let decided = |part: fn(&Decision) -> Option<&str>| text(reading.decision.as_ref().and_then(part));
    [
        row.block.as_ref().map(|block| block.timestamp.clone()).unwrap_or_default(),
        row.hash.clone().unwrap_or_default(),
        row.chain.clone().unwrap_or_default(),
        account(row.perspective),
        posting.map_or("", |posting| side(posting.side)).to_owned(),
        posting.map_or("", |posting| posting.entry.name()).to_owned(),
        posting.map(|posting| posting.amount.clone()).unwrap_or_default(),
        text(leg.map(|leg| leg.shown_symbol())),
        account(leg.and_then(|leg| leg.token_address)),
        text(leg.and_then(|leg| leg.token_id.as_deref())),
        account(line.and_then(|line| line.counterparty())),
        posting.map_or("", |posting| posting.category.name()).to_owned(),
        posting.map_or("", |posting| posting.treatment.name()).to_owned(),
        posting.map_or("", |posting| taxable(posting.taxable)).to_owned(),
        text(booked.map(|booked| booked.name()).as_deref()),
        text(code),
        row.category.name().to_owned(),
        row.treatment.name().to_owned(),
        taxable(row.taxable).to_owned(),
        row.confidence.to_string(),
        row.needs_review.to_string(),
        text(row.protocol.as_deref()),
        text(row.description.as_deref()),
        text(row.review_note.as_deref()),
        row.engine.clone(),
        priced.map(|priced| priced.value.text()).unwrap_or_default(),
        priced.map(|_| currency.to_owned()).unwrap_or_default(),
        priced.map(|priced| priced.price.text()).unwrap_or_default(),
        priced.map(|priced| priced.time.clone()).unwrap_or_default(),
        decided(|decision| Some(&decision.category)),
        decided(|decision| decision.treatment.as_deref()),
        decided(|decision| Some(&decision.comment)),
        decided(|decision| Some(decision.by())),
        decided(|decision| Some(&decision.at)),
        decided(|decision| decision.signed().map(|(by, _)| by)),
        decided(|decision| decision.signed_at.as_deref()),
    ]
}

pub(super) fn json_lines(rows: Rows<'_>, _: &Options, out: &mut dyn Write) -> io::Result<()> {
    for row in rows {
        serde_json::to_writer(&mut *out, &row?)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}
