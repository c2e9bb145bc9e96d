//! Parquet from anybody: a table by columns, of which those that are asked for are read, page by page.
//!
//! Files are read here and not by the crate `parquet`, which writes ours: that one makes as much room as a schema, a page or a dictionary
//! claims, and where there is none the process ends; it unpacks gzip without a bound, and panics on pages that are cut short
//! (<https://github.com/apache/arrow-rs/issues/5332>, <https://github.com/apache/arrow-rs/issues/9742>).
//!
//! Read are flat columns of text, raw bytes, whole numbers, times and truths, in pages of both versions, packed with Snappy, gzip, zstd or nothing.

mod footer;
mod pages;
mod thrift;
mod values;

use std::io;

pub use footer::{Chunk, Column, Footer, Group, Kind, TimeUnit};
pub use pages::{Budget, ColumnReader};

/// What a file begins and ends with.
pub const MAGIC: [u8; 4] = *b"PAR1";

/// How much of a file is read. What it claims beyond that is refused before any room is made for it.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub rows_max: usize,
    pub columns_max: usize,
    /// Of one value.
    pub cell_bytes_max: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum ColumnsError {
    /// What is wrong with the file.
    #[error("{0}")]
    Fault(String),
    /// The same, where it was found. The column's name is a stranger's text.
    #[error("row {row} of column `{column}`: {what}")]
    Cell { row: usize, column: String, what: String },
    #[error("the table has more than {0} rows")]
    TooManyRows(usize),
    #[error(transparent)]
    Unreadable(#[from] io::Error),
}

fn fault(what: impl Into<String>) -> ColumnsError {
    ColumnsError::Fault(what.into())
}
