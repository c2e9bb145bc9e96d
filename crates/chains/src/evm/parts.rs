//! Transaction, receipt and block of one mined transaction, and whether they agree with each other.

use alloy_primitives::{Address, B256, U64, U256};
use engine::evm::json::{EvmTransaction, Receipt};
use serde::Deserialize;

use crate::error::UpstreamError;

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BlockHeader {
    pub(super) hash: Option<B256>,
    pub(super) number: Option<U64>,
    pub(super) timestamp: U64,
    pub(super) gas_limit: Option<U64>,
    pub(super) miner: Option<Address>,
    pub(super) mix_hash: Option<B256>,
    pub(super) base_fee_per_gas: Option<U256>,
}

/// What nodes answered about one mined transaction.
pub(super) struct Parts {
    pub(super) transaction: EvmTransaction,
    pub(super) is_hash_computed: bool,
    pub(super) receipt: Receipt,
    pub(super) header: Option<BlockHeader>,
}

impl Parts {
    pub(super) fn number(&self) -> u64 {
        self.transaction.block_number.map(|n| n.to::<u64>()).unwrap_or_default()
    }

    /// A node in a reorganisation, or one that lies, gives parts of different blocks.
    pub(super) fn agree(&self) -> Result<(), UpstreamError> {
        let Self { transaction, receipt, header, .. } = self;
        let Some(header) = header else { return Err(UpstreamError::Inconsistent("the block is not there")) };
        let number = self.number();
        let differ = |one: Option<B256>, other: Option<B256>| matches!((one, other), (Some(a), Some(b)) if a != b);
        if receipt.transaction_hash != transaction.hash {
            return Err(UpstreamError::Inconsistent("the receipt is of another transaction"));
        }
        if differ(receipt.block_hash, transaction.block_hash)
            || receipt.block_number.is_some_and(|n| n.to::<u64>() != number)
            || differ(header.hash, transaction.block_hash)
            || header.number.is_some_and(|n| n.to::<u64>() != number)
        {
            return Err(UpstreamError::Inconsistent("transaction, receipt and block disagree on the block"));
        }
        Ok(())
    }

    /// Whether the transaction or the receipt that was fetched first is of the same block, and the receipt says the same of it.
    pub(super) fn agree_with_part_of(&self, first: &Self) -> bool {
        let block = self.transaction.block_hash;
        let is_same_block = block == first.receipt.block_hash;
        let said = |receipt: &Receipt| (receipt.status, receipt.logs.len());
        let is_same_outcome = !is_same_block || said(&self.receipt) == said(&first.receipt);
        is_same_outcome && (is_same_block || block == first.transaction.block_hash)
    }
}
