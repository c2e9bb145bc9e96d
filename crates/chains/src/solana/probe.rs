//! A Solana node: which cluster, how fresh, how far back, and whether it knows names of assets.

use serde::Serialize;
use serde_json::{Value, json};

use crate::probe::line::{ProbeConnection, ProbedHead, now_seconds};

/// Slots before the newest of which a node surely knows when they were made; some slots have no block.
const SLOTS_BEHIND: [u64; 3] = [0, 40, 80];
const WRAPPED_SOL: &str = "So11111111111111111111111111111111111111112";

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Solana {
    /// It tells a cluster from another, as a chain id does.
    pub genesis: Option<String>,
    pub is_healthy: bool,
    pub first_slot: Option<u64>,
    /// Whether `getAssetBatch` names assets.
    pub has_assets: bool,
}

pub(crate) async fn look(line: &ProbeConnection) -> (Option<ProbedHead>, Solana) {
    let (health, slot, first, assets, genesis) = tokio::join!(
        line.call("getHealth", json!([])),
        line.call("getSlot", json!([])),
        line.call("getFirstAvailableBlock", json!([])),
        line.call("getAssetBatch", json!({ "ids": [WRAPPED_SOL] })),
        line.call("getGenesisHash", json!([])),
    );
    let solana = Solana {
        genesis: genesis.ok().as_ref().and_then(Value::as_str).map(str::to_owned),
        is_healthy: health.is_ok_and(|health| health == "ok"),
        first_slot: first.ok().as_ref().and_then(Value::as_u64),
        has_assets: assets.is_ok_and(|assets| assets.is_array()),
    };
    let Some(number) = slot.ok().as_ref().and_then(Value::as_u64) else { return (None, solana) };
    let mut age_seconds = None;
    for behind in SLOTS_BEHIND {
        let time = line.call("getBlockTime", json!([number.saturating_sub(behind)])).await;
        if let Some(made) = time.ok().as_ref().and_then(Value::as_i64) {
            age_seconds = Some(now_seconds().saturating_sub(made));
            break;
        }
    }
    (Some(ProbedHead { number, age_seconds }), solana)
}
