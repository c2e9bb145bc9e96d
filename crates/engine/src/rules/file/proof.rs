//! How a protocol's own contract vouches for another, as a pack says it.

use serde::Deserialize;
use toml::Spanned;

/// A registry, factory or core that says yes or no to a contract's address, or a contract whose code others run. Only a registry that knows nothing but
/// the protocol's own code: where anybody can have a contract of his own entered, the answer proves nothing.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProofRow {
    /// The role that is proved.
    pub of: Spanned<String>,
    /// The role whose contracts are asked.
    #[serde(default)]
    pub ask: Option<Spanned<String>>,
    /// The call, with the contract in question as its only argument.
    #[serde(default)]
    pub call: Option<Spanned<String>>,
    /// The role whose contracts lend their code: minimal proxies to one of them run nothing else.
    #[serde(default)]
    pub runs: Option<Spanned<String>>,
    /// The contracts in `runs` are beacons, and these are hashes (Keccak) of the code of proxies that can follow no other.
    #[serde(default)]
    pub proxies: Vec<String>,
    /// Only whoever governs the protocol has a contract entered.
    #[serde(default)]
    pub governed: bool,
    #[serde(default)]
    pub answer: ProvingAnswer,
    #[serde(default)]
    pub at: AskedAt,
    /// Events by which such a contract is noticed, besides those that this pack's rules read there.
    #[serde(default)]
    pub logs: Vec<Spanned<String>>,
}

impl ProofRow {
    /// The role whose contracts prove others.
    pub fn by(&self) -> Option<&Spanned<String>> {
        self.ask.as_ref().or(self.runs.as_ref())
    }
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
