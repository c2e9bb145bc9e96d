//! The demo chain: a newcomer without an upstream or a network sees the main job at work.

use serde_json::{Value, json};

use super::harness::{Setup, demo_scenario};

#[tokio::test]
async fn the_demo_chain_answers_without_any_upstream() {
    let taxon = Setup::demo().start().await;
    let items: Vec<Value> = demo_scenario().transactions.iter().map(|done| json!({ "hash": done.hash })).collect();
    let batch = taxon.post("/v1/classify-batch", &json!({ "hashes": items })).await;
    assert_eq!(batch.status, 200);
    for row in batch.body["results"].as_array().unwrap() {
        assert_eq!((row["chain"].as_str(), row["error"].as_str()), (Some("demo"), None), "{row}");
        assert_eq!(row["block"]["finalized"], true);
    }
}
