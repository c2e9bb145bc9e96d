//! What happened inside a transaction, as nodes trace it.

use std::sync::atomic::Ordering;

use alloy_primitives::B256;
use engine::evm::InternalValue;
use engine::evm::json::{Receipt, Transaction};
use engine::evm::trace::{CallFrame, FlatTrace, Root, from_call_tracer, from_flat};
use serde_json::json;

use super::{EvmChain, read};
use crate::error::CallError;
use crate::rpc::Endpoints;

/// What the chain's nodes offer to show value inside a transaction, learned from their refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tracing {
    CallTracer,
    Flat,
    None,
}

/// What a node traced, of which transaction it says that it is, and which endpoint answered.
#[derive(Debug)]
pub(super) struct Trace {
    by: Option<usize>,
    said: Option<(Root, InternalValue)>,
}

impl EvmChain {
    /// Both trace formats before giving up; what a node lacks is remembered, so that it is asked once.
    pub(super) async fn trace(&self, avoid: Endpoints, hash: B256) -> Trace {
        let mut by = None;
        if self.tracing() == Tracing::CallTracer {
            let params = json!([hash, { "tracer": "callTracer" }]);
            let answered = self.node.call_elsewhere(avoid, "debug_traceTransaction", params).await;
            by = answered.by;
            match answered.answer {
                Ok(answer) => {
                    if let Ok(Some(frame)) = read::<Option<CallFrame>>(&answer, "trace") {
                        let (transfers, failed) = from_call_tracer(&frame);
                        let said = Some((Root::of_call_tracer(&frame), InternalValue::Traced { transfers, failed }));
                        return Trace { by, said };
                    }
                }
                Err(CallError::Unsupported) => self.tracing.store(1, Ordering::Relaxed),
                Err(CallError::Refused) => {}
                // The other format would come no sooner.
                Err(CallError::Upstream(_)) => return Trace { by, said: None },
            }
        }
        if self.tracing() != Tracing::None {
            let answered = self.node.call_elsewhere(avoid, "trace_transaction", json!([hash])).await;
            by = by.or(answered.by);
            match answered.answer {
                Ok(answer) => {
                    if let Ok(Some(rows)) = read::<Option<Vec<FlatTrace>>>(&answer, "trace")
                        && !rows.is_empty()
                    {
                        let (transfers, failed) = from_flat(&rows);
                        let said = Some((Root::of_flat(&rows), InternalValue::Traced { transfers, failed }));
                        return Trace { by: answered.by, said };
                    }
                }
                Err(CallError::Unsupported) if self.tracing() == Tracing::Flat => {
                    self.tracing.store(2, Ordering::Relaxed)
                }
                Err(CallError::Unsupported | CallError::Refused | CallError::Upstream(_)) => {}
            }
        }
        Trace { by, said: None }
    }

    /// A trace of another transaction, or one that ended otherwise than the receipt says, is no trace: the next endpoint is asked, then
    /// balances are, and in the end a person.
    pub(super) async fn believed(&self, first: Trace, transaction: &Transaction, receipt: &Receipt) -> InternalValue {
        let agrees = |trace: Trace| trace.said.filter(|(root, _)| root.agrees(transaction, receipt));
        let by = first.by;
        let mut said = agrees(first);
        if let (None, Some(by)) = (&said, by)
            && self.node.endpoints() > 1
        {
            said = agrees(self.trace(Endpoints::default().with(by), transaction.hash).await);
        }
        said.map_or(InternalValue::Untraceable, |(_, value)| value)
    }

    pub(super) fn tracing(&self) -> Tracing {
        match self.tracing.load(Ordering::Relaxed) {
            0 => Tracing::CallTracer,
            1 => Tracing::Flat,
            _ => Tracing::None,
        }
    }
}
