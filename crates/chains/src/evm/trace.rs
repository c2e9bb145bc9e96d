//! What happened inside a transaction, as nodes trace it. Which format an endpoint offers, if any, is known per endpoint
//! (`rpc/unsupported`): one that cannot trace leaves it to the others.

use alloy_primitives::{B256, U64};
use engine::Chain;
use engine::evm::InternalValue;
use engine::evm::json::{EvmTransaction, Receipt};
use engine::evm::trace::{CallFrame, FlatTrace, Root, told_by_frame, told_by_rows};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::parts::BlockHeader;
use super::{EvmChain, read};
use crate::error::{CallError, UpstreamError};
use crate::family::ServedChain;
use crate::rpc::Endpoints;

/// Times that a trace of one transaction is asked for while endpoints say that they do not offer it. What they said is remembered, so the
/// next transaction goes on where this one stopped.
const TRACE_TRIES_MAX: usize = 6;

/// How traces are written, the better one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TraceFormat {
    CallTracer,
    Flat,
}

const FORMATS: [TraceFormat; 2] = [TraceFormat::CallTracer, TraceFormat::Flat];

/// What is traced: one transaction, or all of a block.
#[derive(Debug, Clone, Copy)]
pub(super) enum Traced {
    Transaction(B256),
    Block(u64),
}

/// Of which transaction a trace says that it is, and what moved inside.
pub(super) type TraceSaid = (Root, InternalValue);

/// What a node traced, and which endpoint answered.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) by: Option<usize>,
    pub(super) said: Option<TraceSaid>,
}

impl Trace {
    /// Whether it is of this transaction, and ended as the receipt says.
    pub(super) fn agrees(&self, transaction: &EvmTransaction, receipt: &Receipt) -> bool {
        self.said.as_ref().is_some_and(|(root, _)| root.agrees(transaction, receipt))
    }
}

impl TraceFormat {
    fn method(self, traced: Traced) -> &'static str {
        match (self, traced) {
            (Self::CallTracer, Traced::Transaction(_)) => "debug_traceTransaction",
            (Self::CallTracer, Traced::Block(_)) => "debug_traceBlockByNumber",
            (Self::Flat, Traced::Transaction(_)) => "trace_transaction",
            (Self::Flat, Traced::Block(_)) => "trace_block",
        }
    }

    fn params(self, traced: Traced) -> Value {
        let what = match traced {
            Traced::Transaction(hash) => json!(hash),
            Traced::Block(number) => json!(U64::from(number)),
        };
        match self {
            Self::CallTracer => json!([what, { "tracer": "callTracer" }]),
            Self::Flat => json!([what]),
        }
    }

    fn read(self, answer: &RawValue, chain: &Chain) -> Option<TraceSaid> {
        match self {
            Self::CallTracer => read::<Option<CallFrame>>(answer, "trace").ok()?.map(|frame| of_frame(&frame, chain)),
            Self::Flat => of_rows(&read::<Option<Vec<FlatTrace>>>(answer, "trace").ok()??, chain),
        }
    }
}

pub(super) fn of_frame(frame: &CallFrame, chain: &Chain) -> TraceSaid {
    (Root::of_call_tracer(frame), told_by_frame(frame, chain))
}

pub(super) fn of_rows(rows: &[FlatTrace], chain: &Chain) -> Option<TraceSaid> {
    (!rows.is_empty()).then(|| (Root::of_flat(rows), told_by_rows(rows, chain)))
}

impl EvmChain {
    pub(super) async fn trace(&self, avoid: Endpoints, hash: B256) -> Trace {
        let (by, said) =
            self.traced(avoid, Traced::Transaction(hash), |format, answer| format.read(answer, self.chain())).await;
        Trace { by, said }
    }

    /// Asks the first endpoint that offers a trace in any format, and the next one when it turns out not to. A trace that is refused or
    /// cannot be read is asked for once more in the other format. Gives what was said, and which endpoint said it or else failed to.
    pub(super) async fn traced<T>(
        &self,
        mut avoid: Endpoints,
        traced: Traced,
        read: impl Fn(TraceFormat, &RawValue) -> Option<T>,
    ) -> (Option<usize>, Option<T>) {
        let mut formats = FORMATS.as_slice();
        let mut by = None;
        for tries in 0..TRACE_TRIES_MAX {
            let offers =
                formats.iter().filter_map(|format| Some((self.node.offer(avoid, format.method(traced))?, *format)));
            let Some((offer, format)) = offers.min_by_key(|(offer, _)| offer.endpoint) else { break };
            let offer = if tries == 0 { offer } else { offer.apart() };
            let answered = self.node.call_offered(offer, format.method(traced), format.params(traced)).await;
            match answered.answer {
                Ok(answer) => {
                    if let Some(said) = read(format, &answer) {
                        return (answered.by, Some(said));
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
                Err(CallError::Upstream(_)) => return (by.or(answered.by), None),
            }
            by = by.or(answered.by);
            formats = if format == TraceFormat::CallTracer { &[TraceFormat::Flat] } else { &[] };
        }
        (by, None)
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
        let agrees = |trace: Trace| if trace.agrees(transaction, receipt) { trace.said } else { None };
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
        let method = |format: &TraceFormat| format.method(Traced::Transaction(B256::ZERO));
        FORMATS.iter().any(|format| self.node.offer(Endpoints::default(), method(format)).is_some())
    }
}
