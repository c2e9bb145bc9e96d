//! The EVM family: what a node said of one transaction, and how its movements are read.

pub mod accruals;
pub mod actor;
pub mod calldata;
pub mod code;
mod coin;
pub mod erc20;
pub mod fee;
mod inscription;
pub mod json;
pub mod movements;
pub(crate) mod needs;
pub mod pools;
pub mod proofs;
pub mod rebases;
pub mod scene;
pub mod trace;
mod underlogged;
mod unseen;
pub mod vouched;

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{Address, U256};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::chain::Chain;
use crate::token::Token;
use code::Code;
use json::{EvmTransaction, Receipt};
use trace::InternalTransfer;

/// Logs past this count still give movements, but no rule is matched against them.
pub const LOGS_MAX: usize = 20_000;

/// By who is asked, the view's selector and the contract it is about: the first word of the answer, zero where there is none. `None` where no node
/// could say.
pub type VouchedAnswers = BTreeMap<(Address, [u8; 4], Address), Option<U256>>;

/// Everything that is known of one EVM transaction. The shell fills it; the engine only reads it.
#[derive(Debug, Clone)]
pub struct EvmFacts {
    pub chain: Arc<Chain>,
    pub transaction: EvmTransaction,
    /// Whether the hash was computed from what was signed, and not only told by the node.
    pub is_hash_computed: bool,
    pub receipt: Receipt,
    pub block: Option<Block>,
    pub internal: InternalValue,
    pub balances: BTreeMap<Address, BalanceChange>,
    pub tokens: BTreeMap<Address, Arc<Token>>,
    /// By token and holder.
    pub holdings: BTreeMap<(Address, Address), HoldingChange>,
    /// By token, giver and taker: what was given in earlier blocks, less what came back. `None` where no node could say.
    pub given: BTreeMap<(Address, Address, Address), Option<U256>>,
    pub vouched: VouchedAnswers,
    /// `None` where no node could say.
    pub codes: BTreeMap<Address, Option<Code>>,
    /// Other chains that hold a transaction of the same hash (possible before EIP-155).
    pub also_on: Vec<String>,
    /// Chains that may hold it too, but could not be asked.
    pub unasked: Vec<String>,
}

impl EvmFacts {
    /// What contracts logged, without what the chain itself logs of its coin and its fees.
    pub fn contract_logs(&self) -> impl Iterator<Item = &json::Log> {
        self.receipt.logs.iter().filter(|log| !self.chain.logs_coin(log.address))
    }

    /// Whether a contract of the chain itself took part that moves the coin without a value, as far as the call and the logs show.
    pub fn has_coin_contract(&self) -> bool {
        let is_one = |contract: &Address| self.chain.quirks.coin_contracts.contains(contract);
        self.transaction.to.as_ref().is_some_and(is_one) || self.receipt.logs.iter().any(|log| is_one(&log.address))
    }

    /// The number that explorers show for a log, by its position in the receipt.
    pub fn log_index(&self, position: usize) -> Option<u64> {
        let index = self.receipt.logs.get(position)?.log_index;
        index.map(|index| index.to::<u64>()).or_else(|| u64::try_from(position).ok())
    }
}

/// Native coin that contracts passed on inside the transaction, which no log shows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum InternalValue {
    NotAsked,
    Traced {
        transfers: Vec<InternalTransfer>,
        failed: bool,
    },
    /// The node has no trace of it; balances are the next thing to ask for.
    Untraceable,
    /// No node has a trace, and somebody else lists what there was: true for an account whose balance changed by just that.
    Listed {
        transfers: Vec<InternalTransfer>,
    },
}

impl InternalValue {
    /// What is known of it.
    pub fn transfers(&self) -> &[InternalTransfer] {
        match self {
            Self::Traced { transfers, .. } | Self::Listed { transfers } => transfers,
            Self::NotAsked | Self::Untraceable => &[],
        }
    }
}

/// What an account held of a token before and after the block; `None` where no node could say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldingChange {
    pub before: Option<Holding>,
    pub after: Option<Holding>,
}

/// A balance, and what of it only transfers change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holding {
    pub balance: U256,
    pub shares: U256,
}

/// `None` in `balances` of a fact means that the node could not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BalanceChange {
    pub before: Option<U256>,
    pub after: Option<U256>,
    /// How many transactions the account had sent before and after the block.
    pub sent: Option<(u64, u64)>,
}

impl BalanceChange {
    /// Whether the account sent so many transactions in the block. Only by sending can a plain account lose coin, so what it has beyond what is
    /// known then came in by this transaction or by others'.
    pub fn sent_exactly(&self, count: u64) -> bool {
        self.sent.is_some_and(|(before, after)| before.checked_add(count) == Some(after))
    }
}
