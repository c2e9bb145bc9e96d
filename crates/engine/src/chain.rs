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
    /// Public endpoints that are not asked: for an operator to choose from.
    #[serde(default)]
    pub known_endpoints: Vec<String>,
    #[serde(default)]
    pub quirks: Quirks,
    /// What people should know of the chain, in sentences.
    #[serde(default)]
    pub special: Vec<String>,
    /// Whether no transaction of the chain was read yet: the row is what documentation says.
    #[serde(default)]
    pub documented_only: bool,
}

/// What an EVM chain does otherwise than Ethereum, as far as a reading depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quirks {
    /// Further contracts that log moves of the native coin. The same move in the logs of two is one move.
    pub coin_logs: Vec<CoinLog>,
    /// Whether every move of the coin is logged, but for gas: nothing moves inside that only a trace would show.
    pub logs_every_move: bool,
    /// An account that evens out the decimals that a `coin_logs` contract lacks: what is logged to and from it is no move.
    pub rounding_account: Option<Address>,
    /// How much of the gas limit is given back at most, where unused gas is not given back whole.
    pub gas_refund_percent_max: Option<u8>,
    /// Where fees that are paid in a token go to: what is logged to and from there before and after the transaction ran is the fee.
    pub fee_sinks: Vec<Address>,
    /// Why nodes do not tell what a transaction cost, where they do not.
    pub fee_unknown: Option<String>,
    /// Types of transactions whose gas was paid on another chain, or by nobody.
    pub unpaid_kinds: Vec<u64>,
    /// Contracts of the chain itself that move the coin without a value that a trace shows.
    pub coin_contracts: Vec<Address>,
    /// Whether there is no native coin: what nodes tell of its balances means nothing.
    pub no_coin: bool,
    /// The EIP-155 id of the chain whose history this one begins with: transactions with that id are the other chain's.
    pub forked_from: Option<u64>,
    /// Until when the chain's own form of tokens ran code of whoever got them by a plain transfer. In seconds since 1970.
    pub tokens_call_until: Option<i64>,
    /// Why readings are left to a person.
    pub caveats: Vec<Caveat>,
}

/// A contract that logs the native coin, and the decimals that its amounts have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoinLog {
    pub address: Address,
    pub decimals: u8,
}

/// A reason to leave a reading to a person; of every transaction, or of those before a time or of some types.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caveat {
    pub says: String,
    /// In seconds since 1970: blocks since then are free of it.
    pub until: Option<i64>,
    /// Empty for all types.
    #[serde(default)]
    pub kinds: Vec<u64>,
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

    /// Whether what this contract logs are moves of the native coin.
    pub fn logs_coin(&self, contract: Address) -> bool {
        self.native_log == Some(contract) || self.quirks.coin_logs.iter().any(|log| log.address == contract)
    }
}

impl Caveat {
    /// Whether it holds for a transaction of this type in this block. One whose block is not known may be before any time.
    pub fn holds(&self, kind: u64, block: Option<Block>) -> bool {
        let is_before = |until: i64| block.is_none_or(|block| block.timestamp < until);
        self.until.is_none_or(is_before) && (self.kinds.is_empty() || self.kinds.contains(&kind))
    }
}
