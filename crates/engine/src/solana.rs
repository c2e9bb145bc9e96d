//! The Solana family: what a node said of one transaction, and how its movements are read.

mod inside;
pub mod instructions;
pub mod json;
pub mod movements;
pub(crate) mod needs;
pub mod opine;
mod programs;
pub mod scene;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::block::Block;
use crate::chain::Chain;
use crate::token::Token;
use json::SolanaTransaction;

/// An account, a program or a mint.
pub type Key = [u8; 32];

/// Everything that is known of one Solana transaction. The shell fills it; the engine only reads it.
#[derive(Debug, Clone)]
pub struct SolanaFacts {
    pub chain: Arc<Chain>,
    pub signature: [u8; 64],
    pub transaction: SolanaTransaction,
    pub block: Option<Block>,
    pub tokens: BTreeMap<Key, Arc<Token>>,
}
