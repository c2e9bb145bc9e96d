//! What happened inside a transaction, as nodes trace it. Which format an endpoint offers, if any, is known per endpoint
//! (`rpc/unsupported`): one that cannot trace leaves it to the others.

use alloy_primitives::B256;
use engine::evm::InternalValue;
use engine::evm::json::{EvmTransaction, Receipt};
use engine::evm::trace::{CallFrame, FlatTrace, Root, from_call_tracer, from_flat};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::parts::BlockHeader;
use super::{EvmChain, read};
use crate::error::{CallError, UpstreamError};
use crate::rpc::Endpoints;

/// Times that a trace of one transaction is asked for while endpoints say that they do not offer it. What they said is remembered, so the
/// next transaction goes on where this one stopped.
const TRACE_TRIES_MAX: usize = 6;

/// How traces are written, the better one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TraceFormat {
    CallTracer,
    Flat,
}

const FORMATS: [TraceFormat; 2] = [TraceFormat::CallTracer, TraceFormat::Flat];

/// What a node traced, of which transaction it says that it is, and which endpoint answered.
#[derive(Debug)]
pub(super) struct Trace {
    by: Option<usize>,
    said: Option<(Root, InternalValue)>,
}

impl TraceFormat {
    fn method(self) -> &'static str {
        match self {
            Self::CallTracer => "debug_traceTransaction",
            Self::Flat => "trace_transaction",
        }
    }

    fn params(self, hash: B256) -> Value {
        match self {
            Self::CallTracer => json!([hash, { "tracer": "callTracer" }]),
            Self::Flat => json!([hash]),
        }
    }

    fn read(self, answer: &RawValue) -> Option<(Root, InternalValue)> {
        let (root, (transfers, failed)) = match self {
            Self::CallTracer => {
                let frame = read::<Option<CallFrame>>(answer, "trace").ok()??;
                (Root::of_call_tracer(&frame), from_call_tracer(&frame))
            }
            Self::Flat => {
                let rows = read::<Option<Vec<FlatTrace>>>(answer, "trace").ok()??;
                if rows.is_empty() {
                    return None;
                }
                (Root::of_flat(&rows), from_flat(&rows))
            }
        };
        Some((root, InternalValue::Traced { transfers, failed }))
    }
}

impl EvmChain {
    /// Asks the first endpoint that offers a trace in any format, and the next one when it turns out not to. A trace that is refused or
    /// cannot be read is asked for once more in the other format.
    pub(super) async fn trace(&self, mut avoid: Endpoints, hash: B256) -> Trace {
        let mut formats = FORMATS.as_slice();
        let mut by = None;
        for tries in 0..TRACE_TRIES_MAX {
            let offers = formats.iter().filter_map(|format| Some((self.node.offer(avoid, format.method())?, *format)));
            let Some((offer, format)) = offers.min_by_key(|(offer, _)| offer.endpoint) else { break };
            let offer = if tries == 0 { offer } else { offer.apart() };
            let answered = self.node.call_offered(offer, format.method(), format.params(hash)).await;
            match answered.answer {
                Ok(answer) => {
                    if let Some(said) = format.read(&answer) {
                        return Trace { by: answered.by, said: Some(said) };
                    }
                }
                Err(CallError::Unsupported) => continue,
                Err(CallError::Refused) => {}
                // It is down, and the endpoint that was asked instead may offer the other format only.
                Err(CallError::Upstream(UpstreamError::Unavailable)) => {
                    avoid = avoid.with(offer.endpoint);
                    continue;
                }
                // The other format would not be faster.
                Err(CallError::Upstream(_)) => return Trace { by: by.or(answered.by), said: None },
            }
            by = by.or(answered.by);
            formats = if format == TraceFormat::CallTracer { &[TraceFormat::Flat] } else { &[] };
        }
        Trace { by, said: None }
    }

    /// Coin passed on inside the transaction: by a trace, else by a simulation, else by an explorer, else nobody can tell.
    pub(super) async fn internal(
        &self,
        first: Trace,
        transaction: &EvmTransaction,
        receipt: &Receipt,
        header: Option<&BlockHeader>,
    ) -> InternalValue {
        if let Some(traced) = self.believed(first, transaction, receipt).await {
            return traced;
        }
        if let Some(simulated) = self.simulated(transaction, receipt, header).await {
            return simulated;
        }
        self.explored(transaction, receipt).await.unwrap_or(InternalValue::Untraceable)
    }

    /// A trace of another transaction, or one that ended otherwise than the receipt says, is discarded, and the next endpoint is asked.
    async fn believed(&self, first: Trace, transaction: &EvmTransaction, receipt: &Receipt) -> Option<InternalValue> {
        let agrees = |trace: Trace| trace.said.filter(|(root, _)| root.agrees(transaction, receipt));
        let by = first.by;
        let mut said = agrees(first);
        if let (None, Some(by)) = (&said, by)
            && self.node.endpoints() > 1
        {
            said = agrees(self.trace(Endpoints::default().with(by), transaction.hash).await);
        }
        said.map(|(_, value)| value)
    }

    /// Whether any endpoint may offer traces, as far as is known now.
    pub(super) fn can_trace(&self) -> bool {
        FORMATS.iter().any(|format| self.node.offer(Endpoints::default(), format.method()).is_some())
    }
}
