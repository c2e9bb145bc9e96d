//! The rows of recorded readings, as a pack writes them.

use alloy_primitives::{Address, B256, Bytes};
use serde::Deserialize;
use toml::Spanned;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedRow {
    /// The chain's slug and the transaction's hash: `ethereum 0x…`. It goes with one of `log`, `call` and `instruction`.
    #[serde(default)]
    pub tx: Option<String>,
    /// Instead of bytes: a transaction of the demo chains, which a document in `tests/cases` shows.
    #[serde(default)]
    pub demo: Option<String>,
    #[serde(default)]
    pub log: Option<RecordedLog>,
    #[serde(default)]
    pub call: Option<RecordedCall>,
    #[serde(default)]
    pub instruction: Option<RecordedInstruction>,
    /// `Event(parameter=value, …)`, `function(parameter=value, …)` or `instruction(position=account, …)`; of a demo transaction the
    /// rule's name alone, as evidence shows it.
    pub reads: Spanned<String>,
    /// The category of the rule; a call that only opens others has none.
    #[serde(default)]
    pub means: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedLog {
    pub address: Address,
    pub topics: Vec<B256>,
    pub data: Bytes,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedCall {
    pub to: Address,
    /// What is behind the last word that a rule reads may be left out.
    pub input: Bytes,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedInstruction {
    pub program: String,
    /// From the first on; those behind the last that a rule reads may be left out.
    pub accounts: Vec<String>,
    /// In base58, as nodes print it.
    pub data: String,
}
