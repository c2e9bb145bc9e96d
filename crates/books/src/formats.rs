//! The files that readings are written as: one module a format, each a table from entries to the tool's words. They are read from postings, never from
//! the headline; what a person must look at keeps its mark.

mod awaken;
mod beancount;
mod bitcointax;
mod bittytax;
mod blockpit;
mod coinledger;
mod coinpanda;
mod cointracker;
mod cointracking;
mod cryptio;
mod divly;
mod everything;
mod fiat;
mod hledger;
mod journal;
mod koinly;
mod kryptos;
mod pairs;
mod parquet;
mod quickbooks;
mod recap;
mod report;
mod rp2;
mod summ;
mod taxbit;
mod tokentax;
mod xero;
mod zenledger;

use std::collections::BTreeSet;
use std::io::{self, Read, Seek, Write};

use crate::chart::Chart;
use crate::decision::Reading;
use crate::journal::Rules;
use crate::prices::Prices;

/// Readings, oldest first.
pub type Rows<'a> = &'a mut dyn Iterator<Item = io::Result<Reading>>;

/// What every format is written with.
#[derive(Debug)]
pub struct Options {
    pub chart: Chart,
    /// Symbols of native coins in capitals, which no token goes by.
    pub coins: BTreeSet<String>,
    /// Where there are none, nothing has a value.
    pub prices: Option<Prices>,
    /// Room for what is known before its place in the file has come; it goes with what is returned.
    pub scratch: fn() -> io::Result<Box<dyn Scratch>>,
}

/// A file without a name, or memory.
pub trait Scratch: Read + Write + Seek {}

impl<T: Read + Write + Seek> Scratch for T {}

impl Options {
    pub fn rules(&self) -> Rules<'_> {
        Rules { chart: &self.chart, prices: self.prices.as_ref() }
    }
}

#[derive(Debug)]
pub struct Format {
    pub name: &'static str,
    pub about: &'static str,
    pub write: WriteRows,
    file: FileKind,
    values: Values,
    /// Whether accounts are known by their codes alone.
    pub needs_codes: bool,
}

type WriteRows = fn(Rows<'_>, &Options, &mut dyn Write) -> io::Result<()>;

/// How its files end, and what they are called on the web.
#[derive(Debug)]
struct FileKind {
    extension: &'static str,
    content_type: &'static str,
}

const CSV: FileKind = FileKind { extension: "csv", content_type: "text/csv; charset=utf-8" };
const JSON_LINES: FileKind = FileKind { extension: "jsonl", content_type: "application/x-ndjson" };
const PARQUET: FileKind = FileKind { extension: "parquet", content_type: "application/vnd.apache.parquet" };
const BEANCOUNT: FileKind = FileKind { extension: "beancount", content_type: "text/plain; charset=utf-8" };
const HTML: FileKind = FileKind { extension: "html", content_type: "text/html; charset=utf-8" };
const JOURNAL: FileKind = FileKind { extension: "journal", content_type: "text/plain; charset=utf-8" };

/// Whether it tells what things were worth.
#[derive(Debug, PartialEq, Eq)]
enum Values {
    None,
    WherePriced,
    /// It is in a currency, and leaves out a transaction of which anything has no price.
    InCurrency,
}

/// The table of a tax tool, without values.
const fn tool(name: &'static str, about: &'static str, write: WriteRows) -> Format {
    Format { name, about, write, file: CSV, values: Values::None, needs_codes: false }
}

pub const FORMATS: [Format; 28] = [
    Format { values: Values::WherePriced, ..tool("csv", "everything, one row a posting", everything::csv) },
    Format {
        file: PARQUET,
        values: Values::WherePriced,
        ..tool("parquet", "the same as a Parquet file", parquet::write)
    },
    Format { file: JSON_LINES, ..tool("jsonl", "the whole readings, one a line", everything::json_lines) },
    Format {
        file: BEANCOUNT,
        values: Values::WherePriced,
        ..tool("beancount", "a Beancount ledger", beancount::write)
    },
    Format {
        file: JOURNAL,
        values: Values::WherePriced,
        ..tool("hledger", "a journal for hledger and Ledger", hledger::write)
    },
    tool("awaken", "Awaken", awaken::write),
    tool("bitcointax", "Bitcoin.Tax", bitcointax::write),
    tool("bittytax", "BittyTax", bittytax::write),
    tool("blockpit", "Blockpit", blockpit::write),
    tool("coinledger", "CoinLedger", coinledger::write),
    tool("coinpanda", "Coinpanda", coinpanda::write),
    tool("cointracker", "CoinTracker, without what needs a mark", cointracker::write),
    tool("cointracking", "CoinTracking", cointracking::write),
    tool("cryptio", "Cryptio", cryptio::write),
    tool("divly", "Divly", divly::write),
    tool("koinly", "Koinly", koinly::write),
    tool("kryptos", "Kryptos", kryptos::write),
    Format {
        values: Values::InCurrency,
        ..tool("quickbooks", "journal entries for QuickBooks Online, with prices", quickbooks::write)
    },
    tool("recap", "Recap", recap::write),
    Format {
        file: HTML,
        values: Values::WherePriced,
        ..tool("report", "a report to print: totals, reviews and decisions, every transaction", report::write)
    },
    tool("rp2-in", "RP2: what is acquired", rp2::write_in),
    tool("rp2-intra", "RP2: what is moved", rp2::write_intra),
    tool("rp2-out", "RP2: what is disposed of", rp2::write_out),
    tool("summ", "Summ, once CryptoTaxCalculator", summ::write),
    tool("taxbit", "Taxbit", taxbit::write),
    tool("tokentax", "TokenTax", tokentax::write),
    Format {
        values: Values::InCurrency,
        needs_codes: true,
        ..tool("xero", "manual journals for Xero, with prices", xero::write)
    },
    tool("zenledger", "ZenLedger", zenledger::write),
];

impl Format {
    pub fn takes_prices(&self) -> bool {
        self.values != Values::None
    }

    pub fn needs_prices(&self) -> bool {
        self.values == Values::InCurrency
    }

    pub fn extension(&self) -> &'static str {
        self.file.extension
    }

    pub fn content_type(&self) -> &'static str {
        self.file.content_type
    }
}

/// Those that can be written where nobody gives prices.
pub fn without_prices() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(|format| !format.needs_prices())
}

pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

#[cfg(test)]
mod tests;
