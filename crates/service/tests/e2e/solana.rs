//! Solana over HTTP: a node that plays back what real programs did (demo/solana.jsonl), and the same node when it lies, forgets or
//! breaks. Each ends in its own code or in an honest review.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::harness::{Scenario, Setup, Taxon};

type Tamper = dyn Fn(&str, Value) -> Value + Send + Sync;

struct Inside {
    /// By method and parameters.
    answers: BTreeMap<(String, String), Value>,
    tamper: Box<Tamper>,
    requests: AtomicUsize,
}

/// What the recording knows is answered; signatures that it does not know are on no chain.
pub struct Node {
    pub url: String,
    inside: Arc<Inside>,
}

impl Node {
    pub async fn start(tamper: impl Fn(&str, Value) -> Value + Send + Sync + 'static) -> Self {
        let tape = include_str!("../../../../demo/solana.jsonl");
        let exchanges = tape.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let answers = exchanges.map(|one| {
            ((one["method"].as_str().unwrap().to_owned(), one["params"].to_string()), one["result"].clone())
        });
        let inside = Inside { answers: answers.collect(), tamper: Box::new(tamper), requests: AtomicUsize::new(0) };
        let inside = Arc::new(inside);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(Arc::clone(&inside));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, inside }
    }

    pub fn requests(&self) -> usize {
        self.inside.requests.swap(0, Ordering::SeqCst)
    }

    pub async fn taxon(&self) -> Taxon {
        let mut setup = Setup::demo();
        setup.flags.clear();
        setup.env.clear();
        setup.with("TAXON_RPC_SOLANA", &self.url).start().await
    }
}

/// Signatures that are listed at once.
const PAGE_SIGNATURES: usize = 6;

impl Inside {
    /// What was recorded, with every account that it names; the newest first.
    fn transactions(&self) -> Vec<(&Value, Vec<&Value>)> {
        let recorded =
            self.answers.iter().filter(|((method, _), result)| method == "getTransaction" && !result.is_null());
        let with_keys = recorded.map(|(_, result)| {
            let loaded = &result["meta"]["loadedAddresses"];
            let keys = [&result["transaction"]["message"]["accountKeys"], &loaded["writable"], &loaded["readonly"]];
            (result, keys.into_iter().filter_map(Value::as_array).flatten().collect())
        });
        let mut transactions: Vec<(&Value, Vec<&Value>)> = with_keys.collect();
        transactions.sort_by_key(|(result, _)| std::cmp::Reverse(result["slot"].as_u64()));
        transactions
    }

    fn signatures(&self, params: &Value) -> Value {
        let naming = self.transactions().into_iter().filter(|(_, keys)| keys.contains(&&params[0]));
        let mut naming = naming.map(|(result, _)| result);
        if let Some(before) = params[1].get("before") {
            naming.by_ref().find(|result| result["transaction"]["signatures"][0] == *before).unwrap();
        }
        let row = |result: &Value| {
            let signature = &result["transaction"]["signatures"][0];
            json!({ "signature": signature, "slot": result["slot"], "blockTime": result["blockTime"], "err": result["meta"]["err"] })
        };
        naming.take(PAGE_SIGNATURES).map(row).collect()
    }

    /// Those that the wallet owned after some transaction.
    fn token_accounts(&self, params: &Value) -> Value {
        let transactions = self.transactions();
        let owned = transactions.iter().flat_map(|(result, keys)| {
            let balances = result["meta"]["postTokenBalances"].as_array().unwrap().iter();
            let own = balances.filter(|one| one["owner"] == params[0] && one["programId"] == params[1]["programId"]);
            own.map(|one| keys[usize::try_from(one["accountIndex"].as_u64().unwrap()).unwrap()].to_string())
        });
        let owned: BTreeSet<String> = owned.collect();
        let accounts = owned.iter().map(|key| json!({ "pubkey": key.trim_matches('"'), "account": {} }));
        json!({ "context": { "slot": 1 }, "value": accounts.collect::<Vec<Value>>() })
    }
}

async fn answer(State(inside): State<Arc<Inside>>, body: Bytes) -> Vec<u8> {
    inside.requests.fetch_add(1, Ordering::SeqCst);
    let questions = match serde_json::from_slice(&body).unwrap() {
        Value::Array(questions) => questions,
        question => vec![question],
    };
    let one = |question: &Value| {
        let method = question["method"].as_str().unwrap();
        let known = inside.answers.get(&(method.to_owned(), question["params"].to_string())).cloned();
        let result = known.unwrap_or_else(|| match method {
            "getTransaction" => Value::Null,
            "getSignatureStatuses" => json!({ "context": { "slot": 1 }, "value": [null] }),
            "getMultipleAccounts" => json!({ "context": { "slot": 1 }, "value": [] }),
            "getSignaturesForAddress" => inside.signatures(&question["params"]),
            "getTokenAccountsByOwner" => inside.token_accounts(&question["params"]),
            _ => json!([]),
        });
        json!({ "jsonrpc": "2.0", "id": question["id"], "result": (inside.tamper)(method, result) })
    };
    let told: Vec<Value> = questions.iter().map(one).collect();
    serde_json::to_vec(&told).unwrap()
}

pub fn scenario() -> Scenario {
    serde_json::from_str(include_str!("../../../../demo/solana-scenario.json")).unwrap()
}

pub fn signature(name: &str) -> String {
    scenario().named(name).hash.clone()
}

#[tokio::test]
async fn chains_are_corrected_and_absence_is_told() {
    let node = Node::start(|_, answer| answer).await;
    let taxon = node.taxon().await;
    let unknown = "5".repeat(87);
    assert_eq!(taxon.classify(&unknown).await.code(), "chain_not_detected");
    let pinned = taxon.post("/v1/classify", &json!({ "hash": unknown, "chain": "solana" })).await;
    assert_eq!((pinned.status, pinned.code()), (404, "tx_not_found"));
    for malformed in ["0".repeat(87), "l".repeat(88), "5".repeat(80), "5".repeat(100)] {
        assert_eq!(taxon.classify(&malformed).await.code(), "invalid_hash", "{malformed}");
    }
}

#[tokio::test]
async fn seen_but_not_confirmed_is_not_yet_mined() {
    let node = Node::start(|method, answer| if method == "getTransaction" { Value::Null } else { answer }).await;
    let answer = node.taxon().await.classify(&signature("sol_transfer")).await;
    assert_eq!((answer.status, answer.code()), (404, "tx_not_yet_mined"));
}

type Tampering = fn(Value) -> Value;

/// A tampered `getTransaction`, and what the caller is told.
#[tokio::test]
async fn a_node_that_lies_or_breaks_is_told_apart() {
    let cases: [(Tampering, &str); 4] = [
        (
            |mut answer| {
                answer["transaction"]["signatures"][0] = json!("2".repeat(88));
                answer
            },
            "upstream_inconsistent",
        ),
        (|_| json!("nonsense"), "upstream_bad_response"),
        (
            |mut answer| {
                answer["meta"]["preBalances"] = json!([1]);
                answer
            },
            "upstream_bad_response",
        ),
        (
            |mut answer| {
                answer["transaction"]["message"]["instructions"][0]["data"] = json!("0OIl");
                answer
            },
            "upstream_bad_response",
        ),
    ];
    for (tamper, code) in cases {
        let node =
            Node::start(move |method, answer| if method == "getTransaction" { tamper(answer) } else { answer }).await;
        let answer = node.taxon().await.classify(&signature("sol_transfer")).await;
        assert_eq!((answer.status, answer.code()), (502, code), "{}", answer.body);
    }
}

/// Old slots, lookup tables that are not loaded, indexes past the end: honest, and never a guess.
#[tokio::test]
async fn what_a_node_no_longer_knows_is_for_a_person() {
    let cases: [fn(Value) -> Value; 3] = [
        |mut answer| {
            answer["meta"] = Value::Null;
            answer
        },
        |mut answer| {
            answer["transaction"]["message"]["addressTableLookups"] = json!([{ "accountKey": "x" }]);
            answer
        },
        |mut answer| {
            answer["transaction"]["message"]["instructions"][0]["programIdIndex"] = json!(99);
            answer["transaction"]["message"]["instructions"][0]["accounts"] = json!([250, 251]);
            answer
        },
    ];
    for tamper in cases {
        let node =
            Node::start(move |method, answer| if method == "getTransaction" { tamper(answer) } else { answer }).await;
        let answer = node.taxon().await.classify(&signature("spl_transfer_to_new_account")).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(
            (&answer.body["needs_review"], &answer.body["taxable"]),
            (&json!(true), &Value::Null),
            "{}",
            answer.body
        );
        assert!(!answer.body["review_note"].as_str().unwrap().is_empty());
    }
}

/// Megabytes of log lines are not even looked at.
#[tokio::test]
async fn long_logs_do_no_harm() {
    let node = Node::start(|method, mut answer| {
        if method == "getTransaction" {
            answer["meta"]["logMessages"] = json!(["x".repeat(10_000_000)]);
        }
        answer
    })
    .await;
    let answer = node.taxon().await.classify(&signature("sol_transfer")).await;
    assert_eq!(answer.status, 200);
}
