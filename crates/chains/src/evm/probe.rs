//! An EVM node: which chain, how fresh, how far back, and whether it tells what happened inside a transaction.

use futures_util::future::join_all;
use serde::Serialize;
use serde_json::{Value, json};

use crate::probe::line::{CallRefusal, ProbeConnection, ProbedHead, now_seconds};

/// Blocks behind the head that are asked for; 128 is what a node without an archive keeps. Block 1 is asked for besides.
const DEPTHS: [u64; 3] = [128, 10_000, 1_000_000];
/// Blocks before the head in which a transaction to trace is looked for.
const TRACED_BLOCKS_MAX: u64 = 8;
/// Its balance is asked for; every chain has it.
const NOBODY: &str = "0x0000000000000000000000000000000000000000";
/// A node that offers the method says that there is no such transaction; any other says that there is no such method.
const NOTHING: &str = "0x0000000000000000000000000000000000000000000000000000000000000000";

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evm {
    pub chain_id: Option<u64>,
    /// `debug_traceTransaction` with the call tracer, and `trace_transaction`, of a recent transaction.
    pub debug_traces: bool,
    pub parity_traces: bool,
    /// `eth_simulateV1`, which shows what passed inside a transaction where a node cannot trace.
    pub simulates: bool,
    /// Nearest first; the last is block 1.
    pub history: Vec<Depth>,
}

/// What is still there so far back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Depth {
    pub block: u64,
    pub blocks_behind: u64,
    pub has_block: bool,
    /// `None` where the block holds no transaction to ask for.
    pub has_receipt: Option<bool>,
    pub has_state: bool,
    pub has_trace: Option<bool>,
}

pub(crate) async fn look(line: &ProbeConnection) -> (Option<ProbedHead>, Evm) {
    let (chain_id, latest) = tokio::join!(line.call("eth_chainId", json!([])), block(line, json!("latest")));
    let chain_id = chain_id.ok().as_ref().and_then(number);
    let Some(latest) = latest else {
        let ((debug_traces, parity_traces), simulates) = tokio::join!(traces(line, NOTHING), simulates(line));
        return (None, Evm { chain_id, debug_traces, parity_traces, simulates, history: Vec::new() });
    };
    let head = latest.get("number").and_then(number).unwrap_or_default();
    let made = latest.get("timestamp").and_then(number).and_then(|seconds| i64::try_from(seconds).ok());
    let behind = DEPTHS.into_iter().filter(|depth| *depth < head).map(|depth| head - depth).chain([1]);
    let recent = async {
        let hash = recent_transaction(line, &latest, head).await;
        traces(line, hash.as_deref().unwrap_or(NOTHING)).await
    };
    let ((debug_traces, parity_traces), simulates, history) =
        tokio::join!(recent, simulates(line), join_all(behind.map(|block| depth(line, head, block))));
    let age_seconds = made.map(|made| now_seconds().saturating_sub(made));
    (Some(ProbedHead { number: head, age_seconds }), Evm { chain_id, debug_traces, parity_traces, simulates, history })
}

async fn depth(line: &ProbeConnection, head: u64, number: u64) -> Depth {
    let place = json!(format!("{number:#x}"));
    let (found, balance) =
        tokio::join!(block(line, place.clone()), line.call("eth_getBalance", json!([NOBODY, place.clone()])));
    let transaction = found.as_ref().and_then(first_transaction);
    let (has_receipt, has_trace) = match &transaction {
        None => (None, None),
        Some(hash) => {
            let receipt = line.call("eth_getTransactionReceipt", json!([hash]));
            let (receipt, (debug, parity)) = tokio::join!(receipt, traces(line, hash));
            (Some(receipt.is_ok_and(|receipt| receipt.is_object())), Some(debug || parity))
        }
    };
    Depth {
        block: number,
        blocks_behind: head.saturating_sub(number),
        has_block: found.is_some(),
        has_receipt,
        has_state: balance.is_ok_and(|balance| balance.is_string()),
        has_trace,
    }
}

async fn recent_transaction(line: &ProbeConnection, latest: &Value, head: u64) -> Option<String> {
    if let Some(hash) = first_transaction(latest) {
        return Some(hash);
    }
    let before = (1..=TRACED_BLOCKS_MAX).filter_map(|behind| head.checked_sub(behind));
    let blocks = join_all(before.map(|number| block(line, json!(format!("{number:#x}"))))).await;
    blocks.iter().flatten().find_map(first_transaction)
}

/// Whether either way of tracing is there. Of a transaction that exists a trace must come; of one that does not, any answer but that
/// the method is unknown will do.
async fn traces(line: &ProbeConnection, hash: &str) -> (bool, bool) {
    let tracer = json!([hash, { "tracer": "callTracer", "tracerConfig": { "onlyTopCall": true } }]);
    let (debug, parity) =
        tokio::join!(line.call("debug_traceTransaction", tracer), line.call("trace_transaction", json!([hash])));
    let is_offered = |answer: Result<Value, CallRefusal>| match answer {
        Ok(trace) => hash == NOTHING || !trace.is_null(),
        Err(CallRefusal::Refused) => hash == NOTHING,
        Err(CallRefusal::Unsupported | CallRefusal::Failed(_)) => false,
    };
    (is_offered(debug), is_offered(parity))
}

/// Whether a run of nothing is answered, or refused by a node that knows the method.
async fn simulates(line: &ProbeConnection) -> bool {
    let nothing = json!([{ "blockStateCalls": [{ "calls": [] }] }, "latest"]);
    let answer = line.call("eth_simulateV1", nothing).await;
    matches!(answer, Ok(_) | Err(CallRefusal::Refused))
}

async fn block(line: &ProbeConnection, place: Value) -> Option<Value> {
    line.call("eth_getBlockByNumber", json!([place, false])).await.ok().filter(Value::is_object)
}

fn first_transaction(block: &Value) -> Option<String> {
    block.get("transactions")?.get(0)?.as_str().map(str::to_owned)
}

fn number(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}
