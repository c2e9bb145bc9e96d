//! All that is known, for a spreadsheet or a program.

use std::io::{self, Write};

use csv::{Terminator, WriterBuilder};
use engine::{Account, Classification};

use super::{Options, Rows};
use crate::cell::{one_line, tamed};
use crate::chart::Chart;
use crate::line::{Line, lines, side, taxable};

pub(super) const COLUMNS: [&str; 25] = [
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
];

/// A reading that moved nothing has one row without a posting.
pub(super) fn csv(rows: Rows<'_>, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let chart = &options.chart;
    let mut table = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(out);
    table.write_record(COLUMNS)?;
    for row in rows {
        let row = row?;
        let mut is_empty = true;
        for line in lines(&row) {
            is_empty = false;
            table.write_record(cells(&row, Some(&line), chart).map(tamed))?;
        }
        if is_empty {
            table.write_record(cells(&row, None, chart).map(tamed))?;
        }
    }
    table.flush()
}

/// In the order of the columns; what is not known is empty.
pub(super) fn cells(row: &Classification, line: Option<&Line<'_>>, chart: &Chart) -> [String; COLUMNS.len()] {
    let text = |text: Option<&str>| one_line(text.unwrap_or_default());
    let account = |account: Option<Account>| account.map(|account| account.to_string()).unwrap_or_default();
    let posting = line.map(|line| line.posting);
    let leg = line.map(|line| line.leg);
    let booked = line.and_then(|line| chart.other(line));
    let name = booked.as_ref().map(|booked| booked.parts.join(":"));
    let code = booked.as_ref().and_then(|booked| booked.code.as_deref());
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
        account(line.and_then(Line::counterparty)),
        posting.map_or("", |posting| posting.category.name()).to_owned(),
        posting.map_or("", |posting| posting.treatment.name()).to_owned(),
        posting.map_or("", |posting| taxable(posting.taxable)).to_owned(),
        text(name.as_deref()),
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
    ]
}

pub(super) fn json_lines(rows: Rows<'_>, _: &Options, out: &mut dyn Write) -> io::Result<()> {
    for row in rows {
        serde_json::to_writer(&mut *out, &row?)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}
