//! How many HTTP requests a transaction costs upstream.

use serde_json::{Value, json};

use super::harness::{Taxon, mainnet, rpc};
use super::hostile::Proxy;

#[tokio::test]
async fn a_cold_transaction_costs_two_requests_and_unknown_tokens_one_more() {
    let (anvil, scenario) = mainnet().await;
    let proxy = Proxy::start(&anvil.url, |_, answer| answer).await;
    let taxon = Taxon::start(&[("local", 31_337, &proxy.url)]).await;
    let ask = async |name: &str| {
        let body = json!({ "hash": scenario.named(name).hash, "chain": "local" });
        assert_eq!(taxon.post("/v1/classify", &body).await.status, 200);
        proxy.requests()
    };
    assert!(ask("plain_transfer").await <= 2);
    assert!(ask("v2_swap_tokens").await <= 3, "two tokens were unknown");
    assert!(ask("v3_swap_tokens").await <= 2, "the same tokens are known now");
}

#[tokio::test]
async fn a_batch_of_a_hundred_costs_at_most_twelve_requests() {
    let (anvil, _) = mainnet().await;
    let proxy = Proxy::start(&anvil.url, |_, answer| answer).await;
    let taxon = Taxon::start(&[("local", 31_337, &proxy.url)]).await;
    let mut items = Vec::new();
    for number in 1..=100 {
        let block = rpc(&anvil.url, "eth_getBlockByNumber", json!([format!("0x{number:x}"), false])).await;
        items.extend(
            block["transactions"].as_array().unwrap().iter().map(|hash| json!({ "hash": hash, "chain": "local" })),
        );
    }
    items.truncate(100);
    assert_eq!(items.len(), 100);
    let batch = taxon.post("/v1/classify-batch", &json!({ "hashes": items })).await;
    let failed: Vec<&Value> =
        batch.body["results"].as_array().unwrap().iter().filter(|row| !row["error"].is_null()).collect();
    assert!(failed.is_empty(), "{failed:?}");
    let requests = proxy.requests();
    assert!(requests <= 12, "{requests} requests");
}
