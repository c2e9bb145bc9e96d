//! What the RPC layer must know of Solana nodes.

use serde_json::json;

use crate::rpc::{DATA_BYTES_MAX, Dialect, RPC_RESPONSE_BYTES_MAX};

pub(crate) static DIALECT: Dialect = Dialect {
    head: ("getSlot", || json!([{ "commitment": "confirmed" }])),
    // Nodes give a slot without its time.
    read_head: |answer| Some((serde_json::from_str(answer.get()).ok()?, None)),
    chain_id_method: None,
    lookup_method: "getTransaction",
    large_answer: |method, _| match method {
        "getTransaction" | "getBlock" => Some(RPC_RESPONSE_BYTES_MAX),
        "getMultipleAccounts" | "getAssetBatch" => Some(DATA_BYTES_MAX),
        "getSignaturesForAddress" | "getTokenAccountsByOwner" => Some(DATA_BYTES_MAX),
        _ => None,
    },
};
