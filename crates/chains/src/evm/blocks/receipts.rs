//! The receipts of a block in one answer.

use std::collections::BTreeMap;

use alloy_primitives::{B256, U64};
use engine::evm::json::Receipt;
use serde_json::json;
use serde_json::value::RawValue;

use super::super::{EvmChain, read};
use super::BLOCK_TRANSACTIONS_MAX;
use crate::bounded;
use crate::error::CallError;
use crate::rpc::{AttributedAnswer, Endpoints};

const METHOD: &str = "eth_getBlockReceipts";
/// Endpoints that are asked for it on account of one block. Which of them lack it is remembered.
const TRIES_MAX: usize = 3;

/// By transaction; `None` where the node gave two of one.
#[derive(Debug, Default)]
pub(super) struct BlockReceipts {
    by: usize,
    receipts: BTreeMap<B256, Option<Receipt>>,
}

impl BlockReceipts {
    fn new(by: usize, answer: &RawValue) -> Self {
        let rows: Vec<&RawValue> = bounded::list(answer.get(), BLOCK_TRANSACTIONS_MAX).unwrap_or_default();
        let mut receipts = BTreeMap::new();
        // One that cannot be read is asked for alone.
        for receipt in rows.into_iter().filter_map(|row| read::<Receipt>(row, "receipt").ok()) {
            let hash = receipt.transaction_hash;
            receipts.entry(hash).and_modify(|twice| *twice = None).or_insert(Some(receipt));
        }
        Self { by, receipts }
    }

    pub(super) fn take(&mut self, hash: B256) -> Option<AttributedAnswer<Receipt>> {
        let receipt = self.receipts.remove(&hash).flatten()?;
        Some(AttributedAnswer { value: receipt, by: self.by })
    }

    /// The transactions of the block that no receipt was taken for. Receipts of other blocks say nothing of this one.
    pub(super) fn left(&self, block: Option<B256>) -> impl Iterator<Item = B256> {
        let is_of_it = move |receipt: &Receipt| receipt.block_hash.is_some() && receipt.block_hash == block;
        let left = self.receipts.iter().filter(move |(_, receipt)| receipt.as_ref().is_none_or(is_of_it));
        left.map(|(hash, _)| *hash)
    }
}

impl EvmChain {
    /// None where no endpoint offers them, or the answer cannot be had: then each is asked for alone.
    pub(super) async fn block_receipts(&self, number: u64) -> BlockReceipts {
        for tries in 0..TRIES_MAX {
            let Some(offer) = self.node.offer(Endpoints::default(), METHOD) else { break };
            let offer = if tries == 0 { offer } else { offer.apart() };
            let answered = self.node.call_offered(offer, METHOD, json!([U64::from(number)])).await;
            match (answered.answer, answered.by) {
                (Ok(answer), Some(by)) => return BlockReceipts::new(by, &answer),
                (Err(CallError::Unsupported), _) => {}
                (Ok(_), None) | (Err(CallError::Refused | CallError::Upstream(_)), _) => break,
            }
        }
        BlockReceipts::default()
    }
}
