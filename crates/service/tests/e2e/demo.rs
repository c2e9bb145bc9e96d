//! The demo chain: a newcomer without an upstream or a network sees the main job at work.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::harness::Taxon;

#[tokio::test]
async fn the_demo_chain_answers_without_any_upstream() {
    let nobody = BTreeMap::from([("TAXON_RPC_ETHEREUM".to_owned(), "http://127.0.0.1:9".to_owned())]);
    let taxon = Taxon::start_with(tempfile::tempdir().unwrap(), nobody, &["--demo"]).await;
    let recorded: Value = serde_json::from_str(include_str!("../../../../demo/scenario.json")).unwrap();
    let transactions = recorded["transactions"].as_array().unwrap();
    let items: Vec<Value> = transactions.iter().map(|done| json!({ "hash": done["hash"] })).collect();
    let batch = taxon.post("/v1/classify-batch", &json!({ "hashes": items })).await;
    assert_eq!(batch.status, 200);
    for row in batch.body["results"].as_array().unwrap() {
        assert_eq!((row["chain"].as_str(), row["error"].as_str()), (Some("demo"), None), "{row}");
        assert_eq!(row["block"]["finalized"], true);
    }
}
