//! What can be done at a contract, as a pack divides it: read, silent or not yet known.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

/// Everything by which somebody can act on a contract of this role, from its ABI or IDL. `taxon rules coverage` writes the row.
///
/// Entries are written as the ABI does, without names: `supply(address,uint256,address,uint16)`, `event Supply(address,…)`, and on Solana
/// `instruction deposit`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SurfaceRow {
    pub on: Spanned<String>,
    /// Where the ABI is published.
    pub abi: String,
    /// What some rule reads there.
    #[serde(default)]
    pub read: Vec<Spanned<String>>,
    /// What no rule needs to read, by the reason why.
    #[serde(default)]
    pub silent: BTreeMap<String, Vec<Spanned<String>>>,
    /// What nobody has looked at yet.
    #[serde(default)]
    pub unknown: Vec<Spanned<String>>,
}
