//! What can be wrong with a row, and with a file.

use columns::ColumnsError;

use crate::schema::VERSION;

/// What is shown of a stranger's text.
const SHOWN_CHARS_MAX: usize = 160;

/// Only this row is wrong: it has an error in the place of a verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A column or a field of `known`, and what is wrong with it.
    #[error("`{column}`: {what}")]
    Unreadable { column: &'static str, what: String },
    #[error("no chain is called `{0}`")]
    UnknownChain(String),
    #[error("{0}")]
    Contradiction(&'static str),
    /// Whoever wrote this row knew a newer schema, and what it means is not known here.
    #[error("version {0} of the schema of facts is not known here; the newest that is, is {VERSION}")]
    FutureVersion(i64),
}

impl RowError {
    pub(crate) fn unreadable(column: &'static str, error: &dyn std::fmt::Display) -> Self {
        Self::Unreadable { column, what: shown(&error.to_string()) }
    }

    /// As `error` of a row has it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownChain(_) => "unsupported_chain",
            Self::Missing(_) | Self::Unreadable { .. } | Self::Contradiction(_) | Self::FutureVersion(_) => {
                INVALID_FACTS
            }
        }
    }
}

/// The code of a row that no facts could be made of.
pub const INVALID_FACTS: &str = "invalid_facts";

/// The whole file is not read on.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("it is no Parquet")]
    NoParquet,
    #[error("it has no column `{0}`, which every file of facts has")]
    NoColumn(&'static str),
    #[error("column `{column}` must hold {kind}")]
    WrongKind { column: &'static str, kind: &'static str },
    #[error("row {row}: {error}")]
    Row { row: usize, error: RowError },
    #[error("its Parquet cannot be read: {}", shown(&.0.to_string()))]
    Parquet(#[from] ColumnsError),
}

/// One line of a stranger's text, without what would drive a terminal.
pub fn shown(text: &str) -> String {
    let is_hidden = |c: char| matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    let plain = text.chars().filter(|c| !is_hidden(*c)).map(|c| if c.is_control() { ' ' } else { c });
    plain.take(SHOWN_CHARS_MAX).collect()
}
