//! What the RPC layer must know of Solana nodes.

use serde_json::json;

use crate::rpc::{DATA_BYTES_MAX, Dialect, RPC_RESPONSE_BYTES_MAX};

pub(crate) static DIALECT: Dialect = Dialect {
    head: ("getSlot", || json!([{ "commitment": "confirmed" }])),
    // Nodes give a slot without its time.
    read_head: |answer| Some((serde_json::from_str(answer.get()).ok()?, None)),
    chain_id_method: None,
    lookup_method: "getTransaction",
    large_answers: &[
        ("getTransaction", RPC_RESPONSE_BYTES_MAX),
        ("getMultipleAccounts", DATA_BYTES_MAX),
        ("getAssetBatch", DATA_BYTES_MAX),
        ("getSignaturesForAddress", DATA_BYTES_MAX),
        ("getTokenAccountsByOwner", DATA_BYTES_MAX),
    ],
};
