//! Nodes in the form of https://solana.com/docs/rpc/http/getsignaturesforaddress, and the same when they misbehave.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use chains::{Forgetful, HistoryError, Period, Registry, TokenMemory, UpstreamError, Upstreams, live_node};
use engine::{Account, TxHash};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::Outcome;

const WALLET: &str = "CQWqqEj5H5TMczc3MmjptCCAg1GDYrH9hMDsSnWqsGcm";
const TOKEN: &str = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
const TOKEN_2022: &str = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb";
const GENESIS: i64 = 1_700_000_000;

/// The answer to a call, or its error.
type Tamper = fn(&str, &Value, Value) -> Result<Value, Value>;

struct Inside {
    /// Numbers of transactions that name an address, the newest first.
    lists: BTreeMap<String, Vec<u64>>,
    owned: BTreeMap<&'static str, Vec<String>>,
    tamper: Tamper,
    asked: Mutex<Vec<String>>,
}

#[derive(Clone)]
struct Node(Arc<Inside>);

fn account(number: u8) -> String {
    Account::Solana([number; 32]).to_string()
}

fn signature(number: u64) -> TxHash {
    let mut bytes = [7; 64];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    TxHash::Solana(bytes)
}

fn signatures(numbers: impl IntoIterator<Item = u64>) -> Vec<TxHash> {
    numbers.into_iter().map(signature).collect()
}

impl Node {
    /// A node whose wallet and token accounts have these lists.
    fn with(lists: &[(&str, Vec<u64>)], owned: &[(&'static str, Vec<String>)]) -> Self {
        Self::tampered(lists, owned, |_, _, told| Ok(told))
    }

    fn tampered(lists: &[(&str, Vec<u64>)], owned: &[(&'static str, Vec<String>)], tamper: Tamper) -> Self {
        let lists = lists.iter().map(|(address, numbers)| ((*address).to_owned(), numbers.clone())).collect();
        let owned = owned.iter().cloned().collect();
        Self(Arc::new(Inside { lists, owned, tamper, asked: Mutex::default() }))
    }

    async fn start(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    }

    async fn history(&self, period: Period) -> Outcome {
        let url = self.start().await;
        Outcome::of(&upstreams(&[url]), "solana", WALLET, period).await
    }

    fn asked(&self, method: &str) -> usize {
        self.0.asked.lock().unwrap().iter().filter(|asked| *asked == method).count()
    }
}

fn upstreams(urls: &[String]) -> Upstreams {
    let registry = Registry::embedded().unwrap();
    let node = live_node(registry.find("solana").unwrap(), urls, None).unwrap();
    let memory: Arc<dyn TokenMemory> = Arc::new(Forgetful);
    Upstreams::new([node], &memory)
}

async fn answer(State(Node(inside)): State<Node>, body: String) -> String {
    let asked: Value = serde_json::from_str(&body).unwrap();
    let one = |question: &Value| {
        let (method, params) = (question["method"].as_str().unwrap(), &question["params"]);
        inside.asked.lock().unwrap().push(method.to_owned());
        match (inside.tamper)(method, params, result(&inside, method, params)) {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }),
            Err(error) => json!({ "jsonrpc": "2.0", "id": question["id"], "error": error }),
        }
    };
    match &asked {
        Value::Array(questions) => questions.iter().map(one).collect::<Value>().to_string(),
        question => one(question).to_string(),
    }
}

fn result(inside: &Inside, method: &str, params: &Value) -> Value {
    match method {
        "getSignaturesForAddress" => {
            assert_eq!((&params[1]["limit"], &params[1]["commitment"]), (&json!(1_000), &json!("finalized")));
            let list = inside.lists.get(params[0].as_str().unwrap()).cloned().unwrap_or_default();
            let before = params[1]["before"].as_str();
            let after = |number: &u64| before.is_none_or(|before| signature(*number).to_string() != before);
            let skipped = if before.is_some() { list.iter().take_while(|number| after(number)).count() + 1 } else { 0 };
            list.into_iter().skip(skipped).take(1_000).map(row).collect()
        }
        "getTokenAccountsByOwner" => {
            assert_eq!(params[0], WALLET);
            let owned = inside.owned.get(params[1]["programId"].as_str().unwrap()).cloned().unwrap_or_default();
            let accounts: Vec<Value> = owned.into_iter().map(|key| json!({ "pubkey": key, "account": {} })).collect();
            json!({ "context": { "slot": 9 }, "value": accounts })
        }
        "getSlot" => json!(1_000_000),
        "getFirstAvailableBlock" => json!(0),
        _ => Value::Null,
    }
}

fn row(number: u64) -> Value {
    json!({
        "signature": signature(number).to_string(), "slot": number, "blockTime": GENESIS + number as i64, "memo": null,
        "err": if number.is_multiple_of(5) { json!({ "InstructionError": [0, "Custom"] }) } else { Value::Null },
        "confirmationStatus": "finalized",
    })
}

#[tokio::test]
async fn a_wallet_and_its_token_accounts_are_read_page_by_page() {
    let wallet: Vec<u64> = (1_000..3_500).rev().collect();
    let accounts = [account(1), account(2)];
    let node = Node::with(
        &[
            (WALLET, wallet.clone()),
            // One of these names the wallet too, the other only its token account.
            (&accounts[0], vec![3_000, 900]),
            (&accounts[1], vec![800, 700, 600]),
        ],
        &[(TOKEN, vec![accounts[0].clone()]), (TOKEN_2022, vec![accounts[1].clone()])],
    );
    let outcome = node.history(Period::default()).await;
    assert_eq!(outcome.hashes, signatures(wallet.into_iter().chain([900, 800, 700, 600])), "failed ones too");
    let counts = outcome.counts();
    let counts: Vec<(&str, usize)> = counts.iter().map(|(what, new)| (what.as_str(), *new)).collect();
    assert_eq!(
        counts,
        [("transactions that name the wallet", 2_500), ("transactions that name one of its 2 token accounts", 4)]
    );
    assert!(outcome.unseen().contains("token accounts that were closed"), "{}", outcome.unseen());
}

/// Pages that overlap are put together, and blocks without a time are kept.
#[tokio::test]
async fn repeated_signatures_count_once_and_a_missing_time_is_no_reason_to_drop_one() {
    let overlapping: Tamper = |method, params, told| {
        let is_next = method == "getSignaturesForAddress" && !params[1]["before"].is_null();
        let rows = told.as_array().cloned().unwrap_or_default();
        if !is_next || rows.is_empty() {
            return Ok(told);
        }
        let again = json!({ "signature": params[1]["before"], "slot": 1, "blockTime": null });
        Ok(std::iter::once(again).chain(rows).collect())
    };
    let wallet: Vec<u64> = (0..1_500).rev().collect();
    let node = Node::tampered(&[(WALLET, wallet.clone())], &[], overlapping);
    assert_eq!(node.history(Period::default()).await.hashes, signatures(wallet));
    let timeless: Tamper = |method, _, mut told| {
        if method == "getSignaturesForAddress" {
            for row in told.as_array_mut().unwrap().iter_mut().step_by(2) {
                row["blockTime"] = Value::Null;
            }
        }
        Ok(told)
    };
    let node = Node::tampered(&[(WALLET, vec![9, 8, 7, 6, 5, 4, 3, 2, 1])], &[], timeless);
    let period = Period { from: Some(GENESIS + 4), to: Some(GENESIS + 6) };
    assert_eq!(
        node.history(period).await.hashes,
        signatures([9, 7, 6, 5, 4, 3]),
        "what has a time and is older ends it"
    );
}

#[tokio::test]
async fn a_period_ends_the_list_where_older_ones_begin() {
    let wallet: Vec<u64> = (0..5_000).rev().collect();
    let node = Node::with(&[(WALLET, wallet)], &[]);
    let period = Period { from: Some(GENESIS + 3_400), to: Some(GENESIS + 3_600) };
    assert_eq!(node.history(period).await.hashes, signatures((3_400..=3_600).rev()));
    assert_eq!(node.asked("getSignaturesForAddress"), 2);
}

#[tokio::test]
async fn a_node_that_repeats_a_page_for_ever_is_given_up() {
    let repeating: Tamper =
        |method, _, told| Ok(if method == "getSignaturesForAddress" { json!([row(3), row(2)]) } else { told });
    let outcome = Node::tampered(&[], &[], repeating).history(Period::default()).await;
    assert_eq!(outcome.error(), HistoryError::Repeated { list: "getSignaturesForAddress", page: 2 });
    assert_eq!(outcome.hashes, signatures([3, 2]));
}

#[tokio::test]
async fn lies_are_told() {
    let lies: [Tamper; 4] = [
        |method, _, told| {
            Ok(if method.contains("Signatures") { json!([{ "signature": "0x12", "blockTime": 1 }]) } else { told })
        },
        |method, _, told| {
            let evm = format!("0x{}", "ab".repeat(32));
            Ok(if method.contains("Signatures") { json!([{ "signature": evm, "blockTime": 1 }]) } else { told })
        },
        |method, _, told| {
            let text = json!([{ "signature": signature(1).to_string(), "blockTime": "yesterday" }]);
            Ok(if method.contains("Signatures") { text } else { told })
        },
        |method, _, told| {
            let accounts = json!({ "context": {}, "value": [{ "pubkey": "nobody" }] });
            Ok(if method.contains("TokenAccounts") { accounts } else { told })
        },
    ];
    for tamper in lies {
        let outcome = Node::tampered(&[(WALLET, vec![1])], &[], tamper).history(Period::default()).await;
        let is_told = matches!(outcome.error(), HistoryError::Node { error: UpstreamError::BadResponse(_), .. });
        assert!(is_told, "{:?}", outcome.error());
    }
}

/// Not every node lists token accounts, and not every node has the whole history: both are said.
#[tokio::test]
async fn what_the_nodes_lack_is_said() {
    let lacking: Tamper = |method, params, told| match method {
        "getTokenAccountsByOwner" if params[1]["programId"] == TOKEN_2022 => {
            Err(json!({ "code": -32602, "message": "Invalid param: unrecognized Token program id" }))
        }
        "getFirstAvailableBlock" => Ok(json!(250_000_000)),
        _ => Ok(told),
    };
    let node = Node::tampered(&[(WALLET, vec![2, 1])], &[], lacking);
    let outcome = node.history(Period::default()).await;
    assert_eq!(outcome.hashes, signatures([2, 1]));
    for words in ["token accounts of the Token-2022 program: no node lists them", "before slot 250000000"] {
        assert!(outcome.unseen().contains(words), "{}", outcome.unseen());
    }
}

/// The first node has lost old blocks: where it ends the next one goes on.
#[tokio::test]
async fn a_node_with_less_history_does_not_end_the_list() {
    let pruned = Node::with(&[(WALLET, (1_200..1_500).rev().collect())], &[]);
    let whole = Node::with(&[(WALLET, (0..1_500).rev().collect())], &[]);
    let urls = [pruned.start().await, whole.start().await];
    let outcome = Outcome::of(&upstreams(&urls), "solana", WALLET, Period::default()).await;
    assert_eq!(outcome.hashes, signatures((0..1_500).rev()));
}
