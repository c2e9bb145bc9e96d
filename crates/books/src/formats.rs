//! The files that readings are written as: one module a format, each a table from entries to the tool's words, which its
//! page in the documentation shows. They are read from postings, never from
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
mod words;
mod xero;
mod zenledger;

use std::collections::BTreeSet;
use std::io::{self, Read, Seek, Write};

use crate::chart::Chart;
use crate::decision::Reading;
use crate::journal::Rules;
use crate::prices::Prices;
use pairs::Tool;
pub use words::{Becomes, KINDS, Kind, Word};

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
    /// Its page in the documentation; formats that belong together share one.
    pub page: &'static str,
    shape: Shape,
    file: FileKind,
    values: Values,
    /// Whether accounts are known by their codes alone.
    pub needs_codes: bool,
}

/// By what a row says what it is.
#[derive(Debug)]
enum Shape {
    /// The words of a tax tool.
    Words(&'static Tool),
    /// Accounts of the chart.
    Accounts(WriteRows),
    /// The entry's own name.
    Entries(WriteRows),
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

/// A CSV without values.
const fn format(name: &'static str, about: &'static str, shape: Shape) -> Format {
    Format { name, about, page: name, shape, file: CSV, values: Values::None, needs_codes: false }
}

/// The table of a tax tool.
const fn tool(name: &'static str, about: &'static str, tool: &'static Tool) -> Format {
    format(name, about, Shape::Words(tool))
}

const fn accounts(name: &'static str, about: &'static str, write: WriteRows) -> Format {
    format(name, about, Shape::Accounts(write))
}

const fn everything(name: &'static str, about: &'static str, write: WriteRows) -> Format {
    Format { page: "everything", ..format(name, about, Shape::Entries(write)) }
}

const fn rp2(name: &'static str, about: &'static str, table: &'static Tool) -> Format {
    Format { page: "rp2", ..tool(name, about, table) }
}

pub const FORMATS: [Format; 28] = [
    Format { values: Values::WherePriced, ..everything("csv", "everything, one row a posting", everything::csv) },
    Format {
        file: PARQUET,
        values: Values::WherePriced,
        ..everything("parquet", "the same as a Parquet file", parquet::write)
    },
    Format { file: JSON_LINES, ..everything("jsonl", "the whole readings, one a line", everything::json_lines) },
    Format {
        file: BEANCOUNT,
        values: Values::WherePriced,
        ..accounts("beancount", "a Beancount ledger", beancount::write)
    },
    Format {
        file: JOURNAL,
        values: Values::WherePriced,
        ..accounts("hledger", "a journal for hledger and Ledger", hledger::write)
    },
    tool("awaken", "Awaken", &awaken::TOOL),
    tool("bitcointax", "Bitcoin.Tax", &bitcointax::TOOL),
    tool("bittytax", "BittyTax", &bittytax::TOOL),
    tool("blockpit", "Blockpit", &blockpit::TOOL),
    tool("coinledger", "CoinLedger", &coinledger::TOOL),
    tool("coinpanda", "Coinpanda", &coinpanda::TOOL),
    tool("cointracker", "CoinTracker, without what needs a mark", &cointracker::TOOL),
    tool("cointracking", "CoinTracking", &cointracking::TOOL),
    tool("cryptio", "Cryptio", &cryptio::TOOL),
    tool("divly", "Divly", &divly::TOOL),
    tool("koinly", "Koinly", &koinly::TOOL),
    tool("kryptos", "Kryptos", &kryptos::TOOL),
    Format {
        values: Values::InCurrency,
        ..accounts("quickbooks", "journal entries for QuickBooks Online, with prices", quickbooks::write)
    },
    tool("recap", "Recap", &recap::TOOL),
    Format {
        file: HTML,
        values: Values::WherePriced,
        ..everything("report", "a report to print: totals, reviews and decisions, every transaction", report::write)
    },
    rp2("rp2-in", "RP2: what is acquired", &rp2::IN),
    rp2("rp2-intra", "RP2: what is moved", &rp2::INTRA),
    rp2("rp2-out", "RP2: what is disposed of", &rp2::OUT),
    tool("summ", "Summ, once CryptoTaxCalculator", &summ::TOOL),
    tool("taxbit", "Taxbit", &taxbit::TOOL),
    tool("tokentax", "TokenTax", &tokentax::TOOL),
    Format {
        values: Values::InCurrency,
        needs_codes: true,
        ..accounts("xero", "manual journals for Xero, with prices", xero::write)
    },
    tool("zenledger", "ZenLedger", &zenledger::TOOL),
];

impl Format {
    pub fn write(&self, rows: Rows<'_>, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        match self.shape {
            Shape::Words(tool) => pairs::write(tool, rows, options, out),
            Shape::Accounts(write) | Shape::Entries(write) => write(rows, options, out),
        }
    }

    /// What each of [`KINDS`] becomes in it, in their order; nothing where every entry keeps its own name. Accounts are those of the chart that comes with
    /// taxon, of which a test holds that it loads.
    pub fn words(&self) -> Option<Vec<Word>> {
        match self.shape {
            Shape::Words(tool) => Some(words::of_tool(tool)),
            Shape::Accounts(_) => Chart::embedded().ok().map(|chart| words::of_chart(&chart, self)),
            Shape::Entries(_) => None,
        }
    }

    /// Whether a row carries the gas of its transaction as its fee; nothing where gas is a posting like any other.
    pub fn carries_fees(&self) -> Option<bool> {
        match self.shape {
            Shape::Words(tool) => Some(tool.has_fees),
            Shape::Accounts(_) | Shape::Entries(_) => None,
        }
    }

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
