//! Facts in, verdicts out: one transaction a row, in the words of the nodes that told it, for those who have the chain in a data lake.
//!
//! `schema` names the columns, `row` is one of them, `convert` turns it into the engine's facts and back, `file` and `writer` are files of such rows, `verdicts` is the table of
//! what the engine says of them, and `run` goes from the one to the other on all processors. Nothing here asks a node.

mod convert;
mod error;
mod evm;
mod file;
mod internal;
mod known;
mod read_json;
mod row;
mod run;
pub mod schema;
mod solana;
mod table;
mod verdicts;
mod writer;

pub use error::{FileError, RowError, shown};
pub use file::{Batch, FactsFile};
pub use read_json::RowJson;
pub use row::{Row, RowText};
pub use run::{Done, Failure, Input, Plan, Refusal, classify, run};
pub use verdicts::{Output, VERDICT_COLUMNS, VerdictColumn, VerdictFile};
pub use writer::{FactsWriter, Kept};
