//! What the RPC layer must know of EVM nodes.

use alloy_primitives::U64;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::rpc::{DATA_BYTES_MAX, Dialect, RPC_RESPONSE_BYTES_MAX};

pub(crate) static DIALECT: Dialect = Dialect {
    head: ("eth_getBlockByNumber", || json!(["latest", false])),
    read_head,
    chain_id_method: Some("eth_chainId"),
    lookup_method: "eth_getTransactionByHash",
    large_answer,
};

fn large_answer(method: &str, params: &Value) -> Option<usize> {
    match method {
        "eth_getTransactionReceipt" | "eth_getBlockReceipts" => Some(RPC_RESPONSE_BYTES_MAX),
        "debug_traceTransaction" | "trace_transaction" => Some(RPC_RESPONSE_BYTES_MAX),
        "debug_traceBlockByNumber" | "trace_block" => Some(RPC_RESPONSE_BYTES_MAX),
        "eth_simulateV1" => Some(RPC_RESPONSE_BYTES_MAX),
        // With its transactions; a header alone is small.
        "eth_getBlockByNumber" if params.get(1) == Some(&Value::Bool(true)) => Some(RPC_RESPONSE_BYTES_MAX),
        "eth_call" | "eth_getLogs" => Some(DATA_BYTES_MAX),
        _ => None,
    }
}

#[derive(Deserialize)]
struct LatestBlock {
    number: U64,
    timestamp: U64,
}

fn read_head(answer: &RawValue) -> Option<(u64, Option<u64>)> {
    let latest: LatestBlock = serde_json::from_str(answer.get()).ok()?;
    Some((latest.number.to(), Some(latest.timestamp.to())))
}
