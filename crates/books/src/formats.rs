//! The files that readings are written as: one module a format, each a table from entries to the tool's words. They are read from postings, never from
//! the headline; what a person must look at keeps its mark.

mod beancount;
mod everything;
mod hledger;
mod journal;
mod koinly;

use std::io::{self, Write};

use engine::Classification;

use crate::chart::Chart;

/// Readings, oldest first.
pub type Rows<'a> = &'a mut dyn Iterator<Item = io::Result<Classification>>;

#[derive(Debug)]
pub struct Format {
    pub name: &'static str,
    pub about: &'static str,
    pub write: fn(Rows<'_>, &Chart, &mut dyn Write) -> io::Result<()>,
}

pub const FORMATS: [Format; 5] = [
    Format { name: "csv", about: "everything, one row a posting", write: everything::csv },
    Format { name: "jsonl", about: "the whole readings, one a line", write: everything::json_lines },
    Format { name: "koinly", about: "Koinly's universal template", write: koinly::write },
    Format { name: "beancount", about: "a Beancount ledger", write: beancount::write },
    Format { name: "hledger", about: "a journal for hledger and Ledger", write: hledger::write },
];

pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
