//! Nodes that cannot trace but simulate: what passed inside a transaction is then what a second run shows, where it did all that the receipt says.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::harness::{Taxon, mainnet};
use super::hostile::{Proxy, unknown_method};

/// Coin is passed on inside each of them.
pub const INSIDE: [&str; 8] = [
    "v2_swap_eth_in",
    "v2_swap_eth_refund",
    "v2_swap_eth_out",
    "v3_swap_eth_out",
    "v3_liquidity_remove_eth",
    "weth_unwrap",
    "seaport_buy",
    "seaport_buy_batch",
];

/// Whose logs tell of coin in a simulation.
const COIN: &str = "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee";

/// Who sent the transactions of the scenario.
const WALLET: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";

/// Changes what a node simulated.
type Tamper = fn(&mut Value);

/// A node without traces, whose simulations pass through `tamper`. It tells no balance but the sender's, so that others are seen by simulation only.
async fn simulating(node: &str, tamper: Tamper) -> (Proxy, Arc<AtomicUsize>) {
    let simulations = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&simulations);
    let proxy = Proxy::start(node, move |question, mut answer| match question["method"].as_str().unwrap_or_default() {
        "eth_simulateV1" => {
            counted.fetch_add(1, Ordering::SeqCst);
            tamper(&mut answer["result"][0]["calls"][0]);
            answer
        }
        "eth_getBalance" if question["params"][0] != WALLET => unknown_method(&answer),
        method if method.contains("trace") => unknown_method(&answer),
        _ => answer,
    });
    (proxy.await, simulations)
}

/// What an answer says of the transaction.
pub fn said(answer: &Value) -> Value {
    ["category", "treatment", "taxable", "needs_review", "assets", "postings", "review_note"]
        .into_iter()
        .map(|field| (field.to_owned(), answer[field].clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[tokio::test]
async fn a_simulation_tells_what_a_trace_would() {
    let (anvil, scenario) = mainnet().await;
    let (proxy, simulations) = simulating(&anvil.url, |_| {}).await;
    let traced = Taxon::start(&[("local", 31_337, &anvil.url)]).await;
    let simulated = Taxon::start(&[("local", 31_337, &proxy.url)]).await;
    for name in INSIDE {
        let hash = &scenario.named(name).hash;
        let (one, other) = (traced.classify(hash).await.body, simulated.classify(hash).await.body);
        assert_eq!(said(&one), said(&other), "{name}");
    }
    assert!(simulations.load(Ordering::SeqCst) >= INSIDE.len());
    // The seller only got coin from inside, which no log tells of.
    let sold = &scenario.named("seaport_buy").hash;
    let seller = traced.classify(sold).await.body["assets"]["received"][0]["from"].clone();
    let question = json!({ "hash": sold, "wallet": seller });
    let one = traced.post("/v1/classify", &question).await.body;
    assert_eq!(one["category"], "nft_sale", "{one}");
    assert_eq!(said(&one), said(&simulated.post("/v1/classify", &question).await.body));
}

#[tokio::test]
async fn a_simulation_that_differs_from_the_receipt_is_not_believed() {
    let (anvil, scenario) = mainnet().await;
    let lies: [(&str, Tamper); 5] = [
        ("gas", |call| call["gasUsed"] = json!("0x5209")),
        ("a log less", |call| {
            let logs = call["logs"].as_array_mut().unwrap();
            logs.retain(|log| log["address"] == COIN);
        }),
        ("another log", |call| {
            let log = call["logs"].as_array_mut().unwrap().iter_mut();
            let mut token = log.filter(|log| log["address"] != COIN);
            token.next().unwrap()["data"] = json!(format!("0x{:064x}", 7));
        }),
        ("no coin", |call| {
            let logs = call["logs"].as_array_mut().unwrap();
            logs.retain(|log| log["address"] != COIN);
        }),
        ("the outcome", |call| call["status"] = json!("0x0")),
    ];
    let hash = &scenario.named("seaport_buy").hash;
    let traced = Taxon::start(&[("local", 31_337, &anvil.url)]).await;
    let seller = traced.classify(hash).await.body["assets"]["received"][0]["from"].clone();
    for (what, lie) in lies {
        let (proxy, _) = simulating(&anvil.url, lie).await;
        let taxon = Taxon::start(&[("local", 31_337, &proxy.url)]).await;
        let answer = taxon.post("/v1/classify", &json!({ "hash": hash, "wallet": seller })).await.body;
        assert_eq!(answer["needs_review"], true, "{what}: {answer}");
    }
    // What the sender got back, told wrongly: its own balance says otherwise.
    let (proxy, simulations) = simulating(&anvil.url, |call| {
        let logs = call["logs"].as_array_mut().unwrap();
        if let Some(log) = logs.iter_mut().rfind(|log| log["address"] == COIN) {
            log["data"] = json!(format!("0x{:064x}", 1));
        }
    })
    .await;
    let taxon = Taxon::start(&[("local", 31_337, &proxy.url)]).await;
    let refund = &scenario.named("v2_swap_eth_refund").hash;
    let one = traced.classify(refund).await.body;
    assert_eq!(one["assets"], taxon.classify(refund).await.body["assets"]);
    assert_eq!(simulations.load(Ordering::SeqCst), 1);
}
