//! The traces of a block in one answer.

use std::collections::BTreeMap;

use alloy_primitives::B256;
use engine::Chain;
use engine::evm::trace::{CallFrame, FlatTrace};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::trace::{Trace, TraceFormat, TraceSaid, Traced, of_frame, of_rows};
use super::super::{EvmChain, read};
use super::BLOCK_TRANSACTIONS_MAX;
use crate::bounded;
use crate::family::ServedChain;
use crate::rpc::Endpoints;

/// Rows of all transactions of a block in the flat format.
const FLAT_ROWS_MAX: usize = 200_000;

#[derive(Debug, Default)]
pub(super) struct BlockTraces {
    by: Option<usize>,
    said: SaidOfBlock,
}

#[derive(Debug, Default)]
struct SaidOfBlock {
    /// Those of which the node said whose they are; `None` where it gave two of one.
    named: BTreeMap<B256, Option<TraceSaid>>,
    /// Those of which it did not, in the order of the block; `None` where the node could not trace it.
    nameless: Vec<Option<TraceSaid>>,
}

/// A member of the answer to `debug_traceBlockByNumber`. Nodes have named the transaction since 2023 only.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TracedTransaction<'a> {
    tx_hash: Option<B256>,
    /// Absent where the node failed at this transaction.
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

impl BlockTraces {
    /// The trace of the transaction at this place of so many, where there is one.
    pub(super) fn take(&mut self, place: usize, count: usize, hash: B256) -> Option<Trace> {
        let SaidOfBlock { named, nameless } = &mut self.said;
        let said = match named.remove(&hash) {
            Some(said) => said?,
            // Without names and with another length, nothing tells which is whose.
            None if nameless.len() == count => nameless.get_mut(place)?.take()?,
            None => return None,
        };
        Some(Trace { by: self.by, said: Some(said) })
    }
}

impl SaidOfBlock {
    fn name(&mut self, hash: B256, (root, value): TraceSaid) {
        let root = engine::evm::trace::Root { hash: Some(hash), ..root };
        self.named.entry(hash).and_modify(|twice| *twice = None).or_insert(Some((root, value)));
    }

    /// Frames nest deeper than is read of some transactions: each is read by itself, so that such a one fails alone.
    fn of_call_tracer(answer: &RawValue, chain: &Chain) -> Option<Self> {
        let rows: Vec<TracedTransaction<'_>> = bounded::list(answer.get(), BLOCK_TRANSACTIONS_MAX)?;
        let mut said = Self::default();
        for TracedTransaction { tx_hash, result } in rows {
            let frame = result.and_then(|result| read::<CallFrame>(result, "trace").ok());
            match (tx_hash, frame.as_ref().map(|frame| of_frame(frame, chain))) {
                (Some(hash), Some(one)) => said.name(hash, one),
                (Some(_), None) => {}
                (None, one) => said.nameless.push(one),
            }
        }
        Some(said)
    }

    /// Rows without a transaction are the block's own, such as rewards.
    fn of_flat(answer: &RawValue, chain: &Chain) -> Option<Self> {
        let rows: Vec<FlatTrace> = bounded::list(answer.get(), FLAT_ROWS_MAX)?;
        let mut by_transaction: BTreeMap<B256, Vec<FlatTrace>> = BTreeMap::new();
        for row in rows {
            if let Some(hash) = row.transaction_hash {
                by_transaction.entry(hash).or_default().push(row);
            }
        }
        let mut said = Self::default();
        for (hash, rows) in by_transaction {
            said.named.insert(hash, of_rows(&rows, chain));
        }
        Some(said)
    }
}

impl EvmChain {
    /// None where no endpoint offers them, or the answer cannot be had: then each is asked for alone.
    pub(super) async fn block_traces(&self, number: u64) -> BlockTraces {
        let read = |format: TraceFormat, answer: &RawValue| match format {
            TraceFormat::CallTracer => SaidOfBlock::of_call_tracer(answer, self.chain()),
            TraceFormat::Flat => SaidOfBlock::of_flat(answer, self.chain()),
        };
        let (by, said) = self.traced(Endpoints::default(), Traced::Block(number), read).await;
        BlockTraces { by, said: said.unwrap_or_default() }
    }
}
