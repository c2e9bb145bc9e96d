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
mod rp2;
mod summ;
mod taxbit;
mod tokentax;
mod xero;
mod zenledger;

use std::collections::BTreeSet;
use std::io::{self, Write};

use engine::Classification;

use crate::chart::Chart;
use crate::journal::Rules;
use crate::prices::Prices;

/// Readings, oldest first.
pub type Rows<'a> = &'a mut dyn Iterator<Item = io::Result<Classification>>;

/// What every format is written with.
#[derive(Debug)]
pub struct Options {
    pub chart: Chart,
    /// Symbols of native coins in capitals, which no token goes by.
    pub coins: BTreeSet<String>,
    /// Where there are none, nothing has a value.
    pub prices: Option<Prices>,
}

impl Options {
    pub fn rules(&self) -> Rules<'_> {
        Rules { chart: &self.chart, prices: self.prices.as_ref() }
    }
}

#[derive(Debug)]
pub struct Format {
    pub name: &'static str,
    pub about: &'static str,
    pub write: fn(Rows<'_>, &Options, &mut dyn Write) -> io::Result<()>,
}

pub const FORMATS: [Format; 27] = [
    Format { name: "csv", about: "everything, one row a posting", write: everything::csv },
    Format { name: "parquet", about: "the same as a Parquet file", write: parquet::write },
    Format { name: "jsonl", about: "the whole readings, one a line", write: everything::json_lines },
    Format { name: "beancount", about: "a Beancount ledger", write: beancount::write },
    Format { name: "hledger", about: "a journal for hledger and Ledger", write: hledger::write },
    Format { name: "awaken", about: "Awaken", write: awaken::write },
    Format { name: "bitcointax", about: "Bitcoin.Tax", write: bitcointax::write },
    Format { name: "bittytax", about: "BittyTax", write: bittytax::write },
    Format { name: "blockpit", about: "Blockpit", write: blockpit::write },
    Format { name: "coinledger", about: "CoinLedger", write: coinledger::write },
    Format { name: "coinpanda", about: "Coinpanda", write: coinpanda::write },
    Format { name: "cointracker", about: "CoinTracker, without what needs a mark", write: cointracker::write },
    Format { name: "cointracking", about: "CoinTracking", write: cointracking::write },
    Format { name: "cryptio", about: "Cryptio", write: cryptio::write },
    Format { name: "divly", about: "Divly", write: divly::write },
    Format { name: "koinly", about: "Koinly", write: koinly::write },
    Format { name: "kryptos", about: "Kryptos", write: kryptos::write },
    Format {
        name: "quickbooks",
        about: "journal entries for QuickBooks Online, with prices",
        write: quickbooks::write,
    },
    Format { name: "recap", about: "Recap", write: recap::write },
    Format { name: "rp2-in", about: "RP2: what is acquired", write: rp2::write_in },
    Format { name: "rp2-intra", about: "RP2: what is moved", write: rp2::write_intra },
    Format { name: "rp2-out", about: "RP2: what is disposed of", write: rp2::write_out },
    Format { name: "summ", about: "Summ, once CryptoTaxCalculator", write: summ::write },
    Format { name: "taxbit", about: "Taxbit", write: taxbit::write },
    Format { name: "tokentax", about: "TokenTax", write: tokentax::write },
    Format { name: "xero", about: "manual journals for Xero, with prices", write: xero::write },
    Format { name: "zenledger", about: "ZenLedger", write: zenledger::write },
];

/// Formats that tell what things were worth.
const WITH_VALUES: [&str; 6] = ["csv", "parquet", "beancount", "hledger", "quickbooks", "xero"];
/// Formats in a currency, which leave out a transaction of which anything has no price.
const IN_CURRENCY: [&str; 2] = ["quickbooks", "xero"];

impl Format {
    pub fn takes_prices(&self) -> bool {
        WITH_VALUES.contains(&self.name)
    }

    pub fn needs_prices(&self) -> bool {
        IN_CURRENCY.contains(&self.name)
    }

    /// Whether accounts are known by their codes alone.
    pub fn needs_codes(&self) -> bool {
        self.name == "xero"
    }

    /// How its files end.
    pub fn extension(&self) -> &'static str {
        match self.name {
            "jsonl" => "jsonl",
            "parquet" => "parquet",
            "beancount" => "beancount",
            "hledger" => "journal",
            _ => "csv",
        }
    }

    pub fn content_type(&self) -> &'static str {
        match self.extension() {
            "csv" => "text/csv; charset=utf-8",
            "jsonl" => "application/x-ndjson",
            "parquet" => "application/vnd.apache.parquet",
            _ => "text/plain; charset=utf-8",
        }
    }
}

/// Those that can be written where nobody gives prices.
pub fn without_prices() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(|format| !format.needs_prices())
}

pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
