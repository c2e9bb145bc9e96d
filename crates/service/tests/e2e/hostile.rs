//! What strangers put on a chain: floods of logs, amounts past any ledger, token text, and nodes without traces. A real node answers, a
//! proxy in front of it tampers; the answer is honest, never a panic or a wrong number. Nodes that break are in `faults.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::harness::{Taxon, mainnet};

type Tamper = dyn Fn(&Value, Value) -> Value + Send + Sync;

/// A proxy between the service and a node: counts HTTP requests and may edit each answer, given its question.
pub struct Proxy {
    pub url: String,
    requests: Arc<AtomicUsize>,
}

struct Inside {
    client: reqwest::Client,
    node: String,
    tamper: Box<Tamper>,
    requests: Arc<AtomicUsize>,
}

impl Proxy {
    pub async fn start(node: &str, tamper: impl Fn(&Value, Value) -> Value + Send + Sync + 'static) -> Self {
        let requests = Arc::new(AtomicUsize::new(0));
        let inside = Inside {
            client: crate::harness::client(),
            node: node.to_owned(),
            tamper: Box::new(tamper),
            requests: Arc::clone(&requests),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(forward).with_state(Arc::new(inside));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, requests }
    }

    /// HTTP requests since the last time this was asked.
    pub fn requests(&self) -> usize {
        self.requests.swap(0, Ordering::SeqCst)
    }
}

/// Whether a node that cannot tell what happened inside a transaction would refuse it.
pub fn is_look_inside(question: &Value) -> bool {
    let method = question["method"].as_str().unwrap_or_default();
    method.contains("trace") || method == "eth_simulateV1"
}

pub fn unknown_method(answer: &Value) -> Value {
    json!({ "id": answer["id"], "error": { "code": -32601, "message": "the method does not exist" } })
}

async fn forward(State(inside): State<Arc<Inside>>, body: Bytes) -> Vec<u8> {
    inside.requests.fetch_add(1, Ordering::SeqCst);
    let asked: Value = serde_json::from_slice(&body).unwrap();
    let sent = inside.client.post(&inside.node).header("content-type", "application/json").body(body);
    let answered: Value = sent.send().await.unwrap().json().await.unwrap();
    let told = match (asked, answered) {
        (Value::Array(asked), Value::Array(answered)) => {
            let one = |answer: Value| {
                let question = asked.iter().find(|question| question["id"] == answer["id"]).unwrap();
                (inside.tamper)(question, answer)
            };
            Value::Array(answered.into_iter().map(one).collect())
        }
        (asked, answered) => (inside.tamper)(&asked, answered),
    };
    serde_json::to_vec(&told).unwrap()
}

/// What the caller sees when one method's result is replaced.
async fn lie(
    name: &str,
    method: &'static str,
    edit: impl Fn(&mut Value) + Send + Sync + 'static,
) -> super::harness::Answer {
    let (anvil, scenario) = mainnet().await;
    let proxy = Proxy::start(&anvil.url, move |question, mut answer| {
        if question["method"] == method {
            edit(&mut answer["result"]);
        }
        answer
    })
    .await;
    let taxon = Taxon::start(&[("local", 31_337, &proxy.url)]).await;
    taxon.post("/v1/classify", &json!({ "hash": scenario.named(name).hash, "chain": "local" })).await
}

#[tokio::test]
async fn a_flood_of_logs_ends_in_a_review() {
    let flooded = lie("token_transfer", "eth_getTransactionReceipt", |result| {
        let log = result["logs"][0].clone();
        let logs: Vec<Value> = std::iter::repeat_n(log, 20_001).collect();
        result["logs"] = Value::Array(logs);
    })
    .await;
    assert_eq!(flooded.status, 200);
    assert_eq!((&flooded.body["needs_review"], &flooded.body["taxable"]), (&json!(true), &Value::Null));
    assert!(flooded.body["review_note"].as_str().unwrap().contains("20001 logs"));
}

#[tokio::test]
async fn amounts_past_any_ledger_are_not_stated() {
    let max = format!("0x{}", "f".repeat(64));
    let most =
        lie("token_transfer", "eth_getTransactionReceipt", move |result| result["logs"][0]["data"] = json!(max)).await;
    let exact = "115792089237316195423570985008687907853269984665640564039457584007913129.639935";
    assert_eq!(most.body["assets"]["sent"][0]["amount"], exact);
    let max = format!("0x{}", "f".repeat(64));
    let over = lie("token_transfer", "eth_getTransactionReceipt", move |result| {
        let mut log = result["logs"][0].clone();
        log["data"] = json!(max);
        result["logs"] = json!([log, log]);
    })
    .await;
    assert_eq!((&over.body["needs_review"], &over.body["assets"]["sent"]), (&json!(true), &json!([])));
}

#[tokio::test]
async fn token_text_is_a_strangers() {
    let word = |value: usize| format!("{value:064x}");
    let control = "\u{1b}]0;owned\u{7}".repeat(20_000);
    let hex: String = control.bytes().map(|byte| format!("{byte:02x}")).collect();
    let symbol = format!("0x{}{}{hex}", word(32), word(control.len()));
    let decimals = format!("0x{}", word(255));
    let (anvil, scenario) = mainnet().await;
    let proxy = Proxy::start(&anvil.url, move |question, mut answer| {
        match question["params"][0]["data"].as_str() {
            Some("0x95d89b41" | "0x06fdde03") => answer = json!({ "id": answer["id"], "result": symbol }),
            Some("0x313ce567") => answer = json!({ "id": answer["id"], "result": decimals }),
            _ => {}
        }
        answer
    })
    .await;
    let taxon = Taxon::start(&[("local", 31_337, &proxy.url)]).await;
    let answer = taxon.classify(&scenario.named("token_transfer").hash).await;
    let leg = &answer.body["assets"]["sent"][0];
    assert_eq!(leg["symbol"].as_str().unwrap(), &control[..256], "passed on exactly, cut at 256 bytes");
    assert_eq!(leg["decimals"], 255);
    let amount = leg["amount"].as_str().unwrap();
    assert!(amount.starts_with("0.000") && amount.len() > 240, "{amount}");
}

#[tokio::test]
async fn without_a_trace_the_balance_speaks_and_says_so() {
    let (anvil, scenario) = mainnet().await;
    let proxy = Proxy::start(
        &anvil.url,
        |question, answer| {
            if is_look_inside(question) { unknown_method(&answer) } else { answer }
        },
    )
    .await;
    let taxon = Taxon::start(&[("local", 31_337, &proxy.url)]).await;
    // The pool's wrapped coin was unwrapped in a log of the same amount: that proves the proceeds.
    let proved = taxon.classify(&scenario.named("v2_swap_eth_out").hash).await.body;
    assert_eq!((&proved["category"], &proved["needs_review"]), (&json!("swap"), &json!(false)), "{proved}");
    assert_eq!(proved["assets"]["received"][0]["symbol"], "ETH");

    // A wallet whose balance did not change, in a transaction that no log ties to it, is not in it.
    let nobody = json!({ "hash": scenario.named("v2_swap_eth_out").hash, "wallet": "0x00000000000000000000000000000000000000aa" });
    let absent = taxon.post("/v1/classify", &nobody).await;
    assert_eq!((absent.status, absent.code()), (404, "wallet_not_in_transaction"));

    // A node that has neither traces nor old balances cannot show proceeds: that is a review, not zero.
    let proxy = Proxy::start(&anvil.url, |question, answer| {
        if is_look_inside(question) || question["method"] == "eth_getBalance" {
            return json!({ "id": answer["id"], "error": { "code": -32000, "message": "missing trie node" } });
        }
        answer
    })
    .await;
    let taxon = Taxon::start(&[("local", 31_337, &proxy.url)]).await;
    let unknown = taxon.classify(&scenario.named("v2_swap_eth_out").hash).await.body;
    assert_eq!((&unknown["needs_review"], &unknown["taxable"]), (&json!(true), &Value::Null));
    assert!(unknown["review_note"].as_str().unwrap().contains("native coin"), "{unknown}");
}
