//! A chain, as the engine needs to know it. The rows come from `chains.toml`.

use alloy_primitives::Address;
use serde::{Deserialize, Serialize};

use crate::block::Block;

/// Chains of one family are read in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    Evm,
    Solana,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    pub slug: String,
    pub name: String,
    pub family: Family,
    pub chain_id: Option<u64>,
    #[serde(default)]
    pub aliases: Vec<String>,
    pub native_symbol: String,
    pub native_name: String,
    pub native_decimals: u8,
    /// What the coin was called before it got another name, under which prices of that time are quoted.
    pub native_before: Option<FormerCoin>,
    /// WETH9-like wrappers of the native coin.
    #[serde(default)]
    pub wrapped_native: Vec<Address>,
    pub multicall3: Option<Address>,
    /// A contract that logs moves of the native coin as ERC-20 transfers.
    pub native_log: Option<Address>,
    /// Where gas is collected on chains whose `native_log` shows it: such transfers are gas, not movements.
    pub fee_collector: Option<Address>,
    /// Blocks after which a block counts as final, where nodes do not answer the `finalized` tag.
    pub finality_depth: Option<u64>,
    /// The chain whose contracts are also deployed here at the same addresses: a fork of it, or a copy for tests.
    pub contracts_as: Option<String>,
    pub explorer: Option<String>,
    #[serde(default)]
    pub endpoints: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormerCoin {
    /// In seconds since 1970.
    pub until: i64,
    pub symbol: String,
    pub name: String,
}

impl Chain {
    /// Symbol and name of the native coin in a block; today's where the block is not known.
    pub fn coin_in(&self, block: Option<Block>) -> (&str, &str) {
        let former = self.native_before.as_ref().filter(|former| block.is_some_and(|it| it.timestamp < former.until));
        let today = (self.native_symbol.as_str(), self.native_name.as_str());
        former.map_or(today, |former| (&former.symbol, &former.name))
    }

    /// The slug under which packs and token files know this chain's contracts.
    pub fn rules_slug(&self) -> &str {
        self.contracts_as.as_deref().unwrap_or(&self.slug)
    }

    pub fn is_wrapped_native(&self, token: Address) -> bool {
        self.wrapped_native.contains(&token)
    }
}
