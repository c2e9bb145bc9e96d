//! What the importers of bookkeeping programs have in common: whole transactions in one currency, in which debits and credits are equal. Both sides of a
//! posting have its value, so what is exchanged at different values leaves the difference in the chart's account for exchanges, a clearing account: taxon knows
//! no cost, and books no gain.

use std::collections::BTreeMap;
use std::io::{self, Write};

use csv::{Terminator, Writer, WriterBuilder};
use engine::Classification;

use super::{Options, Rows};
use crate::cell::{one_line, tamed};
use crate::chart::Booked;
use crate::journal::{Booking, bookings};

/// Currencies of ISO 4217 that do not have two decimals.
const WITHOUT_DECIMALS: [&str; 16] =
    ["BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF"];
const WITH_THREE_DECIMALS: [&str; 7] = ["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"];

/// A transaction.
pub(super) struct FiatEntry<'a> {
    pub row: &'a Classification,
    /// Year, month and day.
    pub date: [&'a str; 3],
    pub lines: Vec<FiatLine<'a>>,
    /// How many entries of the same transaction there were before, as other wallets saw it.
    pub before: usize,
}

pub(super) struct FiatLine<'a> {
    pub account: &'a Booked,
    pub is_debit: bool,
    /// With the currency's decimals and no sign.
    pub amount: String,
    pub description: String,
}

/// How a program wants its lines.
pub(super) struct Program {
    pub columns: &'static [&'static str],
    pub cells: fn(&FiatEntry<'_>, &FiatLine<'_>, &Options) -> io::Result<Vec<String>>,
}

pub(super) fn write(program: &Program, rows: Rows<'_>, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let Some(prices) = &options.prices else { return Err(io::Error::other("a journal in a currency needs prices")) };
    let places = places(prices.currency());
    let mut table = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(out);
    table.write_record(program.columns)?;
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for reading in rows {
        let reading = reading?;
        let (row, mark) = (&reading.row, reading.mark());
        let booked = bookings(row, options.rules()).map_err(io::Error::other)?;
        // A part of a transaction would be wrong: it is booked whole or not at all.
        if booked.iter().any(Booking::is_unpriced) {
            continue;
        }
        let lines: Vec<FiatLine<'_>> =
            booked.iter().flat_map(|booking| fiat_lines(booking, &mark, places, prices.currency())).flatten().collect();
        let Some(date) = date(row).filter(|_| !lines.is_empty()) else { continue };
        let count = seen.entry(row.hash.clone().unwrap_or_default()).or_default();
        let entry = FiatEntry { row, date, lines, before: *count };
        *count = count.saturating_add(1);
        write_entry(program, &entry, options, &mut table)?;
    }
    table.flush()
}

fn write_entry(
    program: &Program,
    entry: &FiatEntry<'_>,
    options: &Options,
    table: &mut Writer<&mut dyn Write>,
) -> io::Result<()> {
    for line in &entry.lines {
        table.write_record((program.cells)(entry, line, options)?)?;
    }
    Ok(())
}

/// A credit and a debit; none where the value is nothing once it is rounded.
fn fiat_lines<'a>(booking: &'a Booking<'_>, mark: &str, places: usize, currency: &str) -> Option<[FiatLine<'a>; 2]> {
    let priced = booking.priced.as_ref()?;
    let value = priced.value.rounded(places);
    if value.is_zero() {
        return None;
    }
    let posting = booking.line.posting;
    let description = format!(
        "{mark}{} {} at {} {currency} of {}, {}, {}",
        posting.amount,
        booking.line.leg.shown_symbol(),
        priced.price.text(),
        priced.time,
        posting.entry.name(),
        posting.category.name(),
    );
    let description = tamed(one_line(&description));
    let line = |account, is_debit| FiatLine {
        account,
        is_debit,
        amount: value.text_with(places),
        description: description.clone(),
    };
    Some([line(booking.from(), false), line(booking.to(), true)])
}

fn places(currency: &str) -> usize {
    if WITHOUT_DECIMALS.contains(&currency) {
        0
    } else if WITH_THREE_DECIMALS.contains(&currency) {
        3
    } else {
        2
    }
}

fn date(row: &Classification) -> Option<[&str; 3]> {
    let time = row.block.as_ref()?.timestamp.as_str();
    Some([time.get(..4)?, time.get(5..7)?, time.get(8..10)?])
}
