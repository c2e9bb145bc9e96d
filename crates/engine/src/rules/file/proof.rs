//! How a protocol's own contract vouches for another, as a pack says it.

use serde::Deserialize;
use toml::Spanned;

/// A registry, factory or core that says yes or no to a contract's address. Only one that knows nothing but the protocol's own code: where
/// anybody can have a contract of his own entered, the answer proves nothing.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProofRow {
    /// The role that is proved.
    pub of: Spanned<String>,
    /// The role whose contracts are asked.
    pub ask: Spanned<String>,
    /// The call, with the contract in question as its only argument.
    pub call: Spanned<String>,
    #[serde(default)]
    pub answer: ProvingAnswer,
    #[serde(default)]
    pub at: AskedAt,
    /// Events by which such a contract is noticed, besides those that this pack's rules read there.
    #[serde(default)]
    pub logs: Vec<Spanned<String>>,
}

/// The first word of an answer that proves the role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProvingAnswer {
    #[default]
    True,
    NotZero,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedAt {
    /// At the transaction's block or, where no node has that state any more, at the head: no entry is ever taken back.
    #[default]
    Anytime,
    /// An entry can be taken back, so that only the state at the transaction's block tells.
    Block,
}
