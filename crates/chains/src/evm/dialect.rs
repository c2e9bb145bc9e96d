//! What the RPC layer must know of EVM nodes.

use alloy_primitives::U64;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::rpc::{DATA_BYTES_MAX, Dialect, RPC_RESPONSE_BYTES_MAX};

pub(crate) static DIALECT: Dialect = Dialect {
    head: ("eth_getBlockByNumber", || json!(["latest", false])),
    read_head,
    chain_id_method: Some("eth_chainId"),
    lookup_method: "eth_getTransactionByHash",
    large_answers: &[
        ("eth_getTransactionReceipt", RPC_RESPONSE_BYTES_MAX),
        ("debug_traceTransaction", RPC_RESPONSE_BYTES_MAX),
        ("trace_transaction", RPC_RESPONSE_BYTES_MAX),
        ("eth_simulateV1", RPC_RESPONSE_BYTES_MAX),
        ("eth_call", DATA_BYTES_MAX),
        ("eth_getLogs", DATA_BYTES_MAX),
    ],
};

#[derive(Deserialize)]
struct LatestBlock {
    number: U64,
    timestamp: U64,
}

fn read_head(answer: &RawValue) -> Option<(u64, Option<u64>)> {
    let latest: LatestBlock = serde_json::from_str(answer.get()).ok()?;
    Some((latest.number.to(), Some(latest.timestamp.to())))
}
