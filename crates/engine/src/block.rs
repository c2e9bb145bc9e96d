//! When a transaction happened, on whichever family of chains.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// On Solana the slot.
    pub number: u64,
    /// Seconds since 1970, UTC.
    pub timestamp: i64,
    pub finalized: bool,
}
