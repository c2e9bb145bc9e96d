//! How many HTTP requests a transaction costs upstream. Calls are gathered for milliseconds, so `./test` runs these before the others and
//! one at a time: on a machine that is busy with other tests the gathering, not the service, would be measured. For the same reason a
//! batch has several tries, each with a service that knows nothing yet, and its least count is what it takes.

use serde_json::{Value, json};

use super::harness::{Scenario, Taxon, mainnet, rpc};
use super::hostile::Proxy;
use super::solana::{Node, signature};

const TRIES: usize = 3;

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
    let mut items = Vec::new();
    for number in 1..=100 {
        let block = rpc(&anvil.url, "eth_getBlockByNumber", json!([format!("0x{number:x}"), false])).await;
        items.extend(
            block["transactions"].as_array().unwrap().iter().map(|hash| json!({ "hash": hash, "chain": "local" })),
        );
    }
    items.truncate(100);
    assert_eq!(items.len(), 100);
    let mut least = usize::MAX;
    for _ in 0..TRIES {
        let proxy = Proxy::start(&anvil.url, |_, answer| answer).await;
        let taxon = Taxon::start(&[("local", 31_337, &proxy.url)]).await;
        let batch = taxon.post("/v1/classify-batch", &json!({ "hashes": items })).await;
        let failed: Vec<&Value> =
            batch.body["results"].as_array().unwrap().iter().filter(|row| !row["error"].is_null()).collect();
        assert!(failed.is_empty(), "{failed:?}");
        least = least.min(proxy.requests());
        if least <= 12 {
            return;
        }
    }
    panic!("{least} requests");
}

#[tokio::test]
async fn a_signature_costs_one_request_and_unknown_mints_one_more() {
    let node = Node::start(|_, answer| answer).await;
    let taxon = node.taxon().await;
    let sent = taxon.classify(&signature("sol_transfer")).await;
    assert_eq!((sent.status, &sent.body["category"]), (200, &json!("transfer")), "{}", sent.body);
    assert_eq!(sent.body["assets"]["sent"][0]["amount"], "1.25");
    assert_eq!((&sent.body["block"]["finalized"], &sent.body["chain"]), (&json!(true), &json!("solana")));
    assert_eq!(node.requests(), 1);
    assert_eq!(taxon.classify(&signature("spl_transfer")).await.status, 200);
    assert_eq!(node.requests(), 2, "the mint was unknown");
    assert_eq!(taxon.classify(&signature("spl_receipt")).await.status, 200);
    assert_eq!(node.requests(), 1, "the same mint is known now");
}

#[tokio::test]
async fn a_batch_of_signatures_costs_at_most_six_requests() {
    let scenario: Scenario = serde_json::from_str(include_str!("../../../../demo/solana-scenario.json")).unwrap();
    let items: Vec<Value> =
        scenario.transactions.iter().cycle().take(100).map(|done| json!({ "hash": done.hash })).collect();
    let mut least = usize::MAX;
    for _ in 0..TRIES {
        let node = Node::start(|_, answer| answer).await;
        let taxon = node.taxon().await;
        let batch = taxon.post("/v1/classify-batch", &json!({ "hashes": items })).await;
        assert!(batch.body["results"].as_array().unwrap().iter().all(|row| row["error"].is_null()), "{}", batch.body);
        least = least.min(node.requests());
        if least <= 6 {
            return;
        }
    }
    panic!("{least} requests");
}
