//! A whole block with few calls: its transactions, its receipts and its traces, each of which is checked as the answers about one transaction
//! are. What a node does not offer by block, or what of it cannot be believed, is asked of each transaction.

mod receipts;
mod traces;

use std::collections::BTreeSet;

use alloy_primitives::{B256, U64};
use engine::evm::json::{EvmTransaction, Receipt};
use engine::{Facts, TxHash};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::parts::BlockHeader;
use super::trace::Trace;
use super::{EvmChain, MinedTransaction, ReceiptAndTrace, read};
use crate::bounded;
use crate::error::UpstreamError;
use crate::family::{BlockTransaction, Effort, Lookup, ServedChain};
use crate::rpc::{AttributedAnswer, Endpoints};
use receipts::BlockReceipts;

/// Blocks of one chain that are fetched at once; others wait. Their calls share requests, and each block takes tens of megabytes.
pub(super) const BLOCKS_AT_ONCE_MAX: usize = 16;
/// Transactions of a block, receipts and traces that are read; the largest blocks of today's chains hold some thousands.
const BLOCK_TRANSACTIONS_MAX: usize = 20_000;
/// Transactions of a block that are completed at once by calls of their own.
const SINGLES_AT_ONCE_MAX: usize = 400;
/// Transactions that have a receipt and are not in the list of the block. Some nodes leave out those that the chain itself made, of which there
/// are few.
const UNLISTED_MAX: usize = 16;

/// A block as a node told it.
struct ToldBlock {
    header: BlockHeader,
    transactions: Vec<MinedTransaction>,
}

#[derive(Deserialize)]
struct Listed<'a> {
    #[serde(borrow)]
    transactions: &'a RawValue,
}

/// What a block's answers say of one transaction.
struct ToldParts {
    mined: MinedTransaction,
    receipt: Option<AttributedAnswer<Receipt>>,
    trace: Option<Trace>,
}

impl EvmChain {
    /// `None` when the nodes do not have the block.
    pub(super) async fn whole_block(&self, number: u64) -> Result<Option<Vec<BlockTransaction>>, UpstreamError> {
        let Ok(_turn) = self.blocks.acquire().await else { return Err(UpstreamError::Unavailable) };
        let (told, mut receipts, mut traces, finalized) = tokio::join!(
            self.told_block(number),
            self.block_receipts(number),
            self.block_traces(number),
            self.finalized_head()
        );
        let Some(ToldBlock { header, transactions }) = told? else { return Ok(None) };
        let count = transactions.len();
        let mut parts = Vec::with_capacity(count);
        for (place, mined) in transactions.into_iter().enumerate() {
            let hash = mined.transaction.hash;
            parts.push(ToldParts { mined, receipt: receipts.take(hash), trace: traces.take(place, count, hash) });
        }
        let header = &header;
        let listed = stream::iter(parts).map(|parts| self.of_block(parts, header, number, finalized));
        let mut all: Vec<BlockTransaction> = listed.buffered(SINGLES_AT_ONCE_MAX).collect().await;
        all.extend(self.unlisted(receipts, header, number).await?);
        Ok(Some(all))
    }

    /// The block with its transactions, each of which is of this block and has the hash of what was signed.
    async fn told_block(&self, number: u64) -> Result<Option<ToldBlock>, UpstreamError> {
        let params = json!([U64::from(number), true]);
        let read = |answer: &RawValue| self.read_block(answer, number);
        let told = self.node.call_required(Endpoints::default(), "eth_getBlockByNumber", params, read).await?;
        Ok(told.map(|told| told.value))
    }

    fn read_block(&self, answer: &RawValue, number: u64) -> Result<Option<ToldBlock>, UpstreamError> {
        let Some(header) = read::<Option<BlockHeader>>(answer, "block header")? else { return Ok(None) };
        if header.number.is_some_and(|told| told.to::<u64>() != number) {
            return Err(UpstreamError::Inconsistent("the block has another number"));
        }
        let bad = || UpstreamError::BadResponse("transactions of a block");
        let listed: Listed<'_> = serde_json::from_str(answer.get()).map_err(|_| bad())?;
        let rows: Vec<&RawValue> = bounded::list(listed.transactions.get(), BLOCK_TRANSACTIONS_MAX).ok_or_else(bad)?;
        let mut hashes = BTreeSet::new();
        let mut transactions = Vec::with_capacity(rows.len());
        for row in rows {
            let told = self.checked(row, read::<EvmTransaction>(row, "transaction of a block")?)?;
            let EvmTransaction { hash, block_number, block_hash, .. } = told.transaction;
            let is_elsewhere = block_hash.is_some() && header.hash.is_some() && block_hash != header.hash;
            if is_elsewhere || block_number.map(|told| told.to::<u64>()) != Some(number) {
                return Err(UpstreamError::Inconsistent("the block holds a transaction of another block"));
            }
            if !hashes.insert(hash) {
                return Err(UpstreamError::Inconsistent("the block holds a transaction twice"));
            }
            transactions.push(told);
        }
        Ok(Some(ToldBlock { header, transactions }))
    }

    async fn of_block(
        &self,
        parts: ToldParts,
        header: &BlockHeader,
        number: u64,
        finalized: Option<u64>,
    ) -> BlockTransaction {
        let hash = parts.mined.transaction.hash;
        let ToldParts { mined, receipt, trace } = parts;
        let rest = self.completed(&mined.transaction, receipt, trace).await;
        let facts = self.assembled(mined, rest, Ok(Some(header.clone())), finalized).await;
        BlockTransaction { hash: TxHash::Evm(hash), facts: facts.map(Facts::from).and_then(|facts| at(facts, number)) }
    }

    /// Receipt and trace, by calls of their own where the block's answers lack them or cannot be believed.
    async fn completed(
        &self,
        transaction: &EvmTransaction,
        receipt: Option<AttributedAnswer<Receipt>>,
        trace: Option<Trace>,
    ) -> ReceiptAndTrace {
        let (here, hash) = (Endpoints::default(), transaction.hash);
        let (receipt, trace) = match (receipt, trace) {
            (Some(receipt), trace) => (Ok(Some(receipt)), trace),
            (None, Some(trace)) => (self.receipt(here, hash).await, Some(trace)),
            (None, None) => {
                let (receipt, trace) = tokio::join!(self.receipt(here, hash), self.trace(here, hash));
                return ReceiptAndTrace { receipt, trace };
            }
        };
        let agrees = |trace: &Trace| match &receipt {
            Ok(Some(receipt)) => trace.agrees(transaction, &receipt.value),
            Ok(None) | Err(_) => true,
        };
        let trace = match trace.filter(agrees) {
            Some(trace) => trace,
            None => self.trace(here, hash).await,
        };
        ReceiptAndTrace { receipt, trace }
    }

    /// Transactions that have a receipt in the block and are not in its list, looked up one by one. A receipt of none is a contradiction: either
    /// list may be the one that is not whole.
    async fn unlisted(
        &self,
        receipts: BlockReceipts,
        header: &BlockHeader,
        number: u64,
    ) -> Result<Vec<BlockTransaction>, UpstreamError> {
        let hashes: Vec<B256> = receipts.left(header.hash).collect();
        if hashes.len() > UNLISTED_MAX {
            return Err(UpstreamError::Inconsistent("the block lacks transactions that have receipts"));
        }
        let mut found = Vec::with_capacity(hashes.len());
        for hash in hashes.into_iter().map(TxHash::Evm) {
            let Lookup::Found(transaction) = self.lookup(hash, Effort::Everything).await? else {
                return Err(UpstreamError::Inconsistent("a receipt is of no transaction of the block"));
            };
            found.push(BlockTransaction { hash, facts: transaction.facts.await.and_then(|facts| at(facts, number)) });
        }
        Ok(found)
    }
}

/// Facts that were fetched again may be of another block by now.
fn at(facts: Facts, number: u64) -> Result<Facts, UpstreamError> {
    match facts.block() {
        Some(block) if block.number == number => Ok(facts),
        Some(_) | None => Err(UpstreamError::Inconsistent("the transaction is no longer in the block")),
    }
}
