//! Nodes that can neither trace nor simulate, and an explorer beside them: what it lists is believed where the receipt and the wallet's balance bear it out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::{Query, State};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::harness::{Taxon, mainnet, rpc};
use super::hostile::{Proxy, is_look_inside, unknown_method};
use super::simulation::{INSIDE, said};

/// Changes what the explorer answers, by how often it was asked before.
type Tamper = fn(usize, Value) -> Value;

/// An explorer in the form of Etherscan, over what a real node traced, and how often it was asked. Its address holds a key.
struct Listing {
    node: String,
    tamper: Tamper,
    asked: AtomicUsize,
}

impl Listing {
    async fn start(node: &str, tamper: Tamper) -> (String, Arc<Self>) {
        let listing = Arc::new(Self { node: node.to_owned(), tamper, asked: AtomicUsize::new(0) });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v2/api?chainid=31337&apikey=s3cr3t", listener.local_addr().unwrap());
        let router = Router::new().route("/v2/api", axum::routing::get(answer)).with_state(Arc::clone(&listing));
        tokio::spawn(async move { axum::serve(listener, router).await });
        (url, listing)
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

async fn answer(State(listing): State<Arc<Listing>>, Query(query): Query<BTreeMap<String, String>>) -> Json<Value> {
    let asked = listing.asked.fetch_add(1, Ordering::SeqCst);
    assert_eq!((query["apikey"].as_str(), query["chainid"].as_str()), ("s3cr3t", "31337"));
    assert_eq!((query["module"].as_str(), query["action"].as_str()), ("account", "txlistinternal"));
    let frames = rpc(&listing.node, "trace_transaction", json!([query["txhash"]])).await;
    let below_the_root = frames.as_array().unwrap().iter().filter(|frame| frame["traceAddress"] != json!([]));
    let rows: Vec<Value> = below_the_root.map(row).collect();
    let told = match rows.as_slice() {
        [] => json!({ "status": "0", "message": "No transactions found", "result": [] }),
        rows => json!({ "status": "1", "message": "OK", "result": rows }),
    };
    Json((listing.tamper)(asked, told))
}

fn row(frame: &Value) -> Value {
    let action = &frame["action"];
    let value = u128::from_str_radix(action["value"].as_str().unwrap_or("0x0").trim_start_matches("0x"), 16).unwrap();
    let is_error = if frame["error"].is_null() { "0" } else { "1" };
    json!({
        "blockNumber": frame["blockNumber"].to_string(),
        "timeStamp": "1700000000",
        "from": action["from"],
        "to": action["to"],
        "value": value.to_string(),
        "contractAddress": "",
        "input": "",
        "type": action["callType"].as_str().or(frame["type"].as_str()),
        "gas": "2300",
        "gasUsed": "0",
        "isError": is_error,
        "errCode": "",
    })
}

/// A service whose only node sees nothing inside, beside an explorer.
async fn served(node: &str, has_balances: bool, explorer: &str) -> (Proxy, Taxon) {
    let proxy = Proxy::start(node, move |question, answer| {
        let is_refused = is_look_inside(question) || !has_balances && question["method"] == "eth_getBalance";
        if is_refused { unknown_method(&answer) } else { answer }
    })
    .await;
    let taxon = Taxon::start_with(&[("local", 31_337, &proxy.url)], &[("TAXON_EXPLORER_LOCAL", explorer)]).await;
    (proxy, taxon)
}

#[tokio::test]
async fn an_explorer_tells_what_a_trace_would() {
    let (anvil, scenario) = mainnet().await;
    // It is asked too often at first, and says so as Etherscan does.
    let (url, listing) = Listing::start(&anvil.url, |asked, told| {
        let limited = "Max calls per sec rate limit reached (3/sec)";
        if asked == 0 { json!({ "status": "0", "message": "NOTOK", "result": limited }) } else { told }
    })
    .await;
    let traced = Taxon::start(&[("local", 31_337, &anvil.url)]).await;
    let (_proxy, listed) = served(&anvil.url, true, &url).await;
    for name in INSIDE {
        let hash = &scenario.named(name).hash;
        let (one, other) = (traced.classify(hash).await.body, listed.classify(hash).await.body);
        assert_eq!(said(&one), said(&other), "{name}");
    }
    assert_eq!(listing.asked(), INSIDE.len() + 1);
    // The seller only got coin from inside, which no log tells of.
    let sold = &scenario.named("seaport_buy").hash;
    let seller = traced.classify(sold).await.body["assets"]["received"][0]["from"].clone();
    let question = json!({ "hash": sold, "wallet": seller });
    let one = traced.post("/v1/classify", &question).await.body;
    assert_eq!(one["category"], "nft_sale", "{one}");
    assert_eq!(said(&one), said(&listed.post("/v1/classify", &question).await.body));
    let plain = &scenario.named("plain_transfer").hash;
    let before = listing.asked();
    listed.classify(plain).await;
    assert_eq!(listing.asked(), before, "no code ran");
}

/// Whatever the explorer says, nobody reads a wrong amount without being told to look: balances set it right, and without them it is a review.
#[tokio::test]
async fn an_explorer_that_is_wrong_is_found_out() {
    let (anvil, scenario) = mainnet().await;
    let traced = Taxon::start(&[("local", 31_337, &anvil.url)]).await;
    let sold = &scenario.named("seaport_buy").hash;
    let seller = traced.classify(sold).await.body["assets"]["received"][0]["from"].clone();
    let questions =
        [json!({ "hash": sold, "wallet": seller }), json!({ "hash": scenario.named("v2_swap_eth_out").hash })];
    // Those of the first kind fit the receipt, so only balances find them out.
    let plausible: [(&str, Tamper); 3] = [
        ("it lags", |_, _| json!({ "status": "0", "message": "No transactions found", "result": [] })),
        ("another amount", |_, told| changed(told, "value", "7")),
        ("a row too many", |_, mut told| {
            let rows = told["result"].as_array_mut().unwrap();
            let coin = rows.iter().rfind(|row| row["value"] != "0").unwrap().clone();
            rows.push(coin);
            told
        }),
    ];
    let unreadable: [(&str, Tamper); 5] = [
        ("it has not looked yet", |_, _| json!({ "status": "2", "message": "Pending", "result": [] })),
        ("of another block", |_, told| changed(told, "blockNumber", "1")),
        ("no number", |_, told| changed(told, "value", "0x7")),
        ("always too much", |_, _| json!({ "status": "0", "message": "NOTOK", "result": "Max rate limit reached" })),
        ("no explorer", |_, _| json!({ "error": "no such page" })),
    ];
    let with_balances = plausible.iter().chain(&unreadable).map(|(what, lie)| (what, lie, true));
    let without = plausible.iter().map(|(what, lie)| (what, lie, false));
    for (what, lie, has_balances) in with_balances.chain(without) {
        let (url, listing) = Listing::start(&anvil.url, *lie).await;
        let (_proxy, taxon) = served(&anvil.url, has_balances, &url).await;
        for question in &questions {
            let truth = traced.post("/v1/classify", question).await.body;
            let answer = taxon.post("/v1/classify", question).await.body;
            let is_right = answer["assets"] == truth["assets"] && answer["category"] == truth["category"];
            assert!(is_right && has_balances || answer["needs_review"] == true, "{what}: {answer}");
            assert!(!answer.to_string().contains("s3cr3t"), "{what}");
        }
        assert!(listing.asked() > 0, "{what}");
    }
}

/// The same rows, with another value in one field of each.
fn changed(mut told: Value, field: &str, value: &str) -> Value {
    for row in told["result"].as_array_mut().unwrap() {
        row[field] = json!(value);
    }
    told
}
