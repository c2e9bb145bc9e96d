//! The EVM family: what a node said of one transaction, and how its movements are read.

pub mod actor;
pub mod json;
pub mod movements;
pub mod scene;
pub mod trace;

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{Address, U256};
use serde::{Deserialize, Serialize};

use crate::chain::Chain;
use json::{Receipt, Transaction};
use trace::InternalTransfer;

/// Logs past this count are still counted into movements, but nothing is read into them.
pub const LOGS_MAX: usize = 20_000;

/// Everything that is known of one EVM transaction. The shell fills it; the engine only reads it.
#[derive(Debug, Clone)]
pub struct EvmFacts {
    pub chain: Arc<Chain>,
    pub transaction: Transaction,
    pub receipt: Receipt,
    pub block: Option<Block>,
    pub internal: InternalValue,
    pub balances: BTreeMap<Address, BalanceChange>,
    pub tokens: BTreeMap<Address, Arc<Token>>,
    /// Other chains that hold a transaction of the same hash (possible before EIP-155).
    pub also_on: Vec<String>,
    /// Chains that may hold it too, but could not be asked.
    pub unasked: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    pub number: u64,
    /// Seconds since 1970, UTC.
    pub timestamp: i64,
    pub finalized: bool,
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
}

/// `None` in `balances` of a fact means that the node could not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BalanceChange {
    pub before: Option<U256>,
    pub after: Option<U256>,
}

/// What a token contract says of itself. Strangers write it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    pub symbol: Option<String>,
    pub name: Option<String>,
    pub decimals: Option<u8>,
    #[serde(default)]
    pub is_erc721: bool,
}

/// Token text is passed on exactly, but no further than this.
pub const TOKEN_TEXT_BYTES_MAX: usize = 256;

impl Token {
    /// Cuts hostile text on a character boundary.
    pub fn clip(text: &str) -> &str {
        let end = (0..=TOKEN_TEXT_BYTES_MAX.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.get(..end).unwrap_or("")
    }
}
