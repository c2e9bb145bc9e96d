//! `taxon doctor` against nodes that are well and nodes that are broken in every way it looks for, and on both databases.

use std::process::Output;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::harness::{Postgres, Setup};

const HEAD: u64 = 2_000_000;
const TRANSACTION: &str = "0x00000000000000000000000000000000000000000000000000000000deadbeef";
const GENESIS: &str = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d";

/// A node in this process, and what is wrong with it.
#[derive(Clone)]
struct Node {
    chain_id: u64,
    age_seconds: i64,
    has_traces: bool,
    simulates: bool,
    takes_batches: bool,
    /// Blocks that it keeps.
    kept: u64,
    wait: Duration,
    status: u16,
    garbage: bool,
    clock_ahead_seconds: i64,
}

impl Node {
    fn well(chain_id: u64) -> Self {
        Self {
            chain_id,
            age_seconds: 3,
            has_traces: true,
            simulates: false,
            takes_batches: true,
            kept: HEAD,
            wait: Duration::ZERO,
            status: 200,
            garbage: false,
            clock_ahead_seconds: 0,
        }
    }

    /// An address with a credential in it, which must show up nowhere.
    async fn start(self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(answer).with_state(Arc::new(self));
        tokio::spawn(async move { axum::serve(listener, router).await });
        format!("http://user:s3cr3t@{address}/h1dden")
    }

    fn result(&self, method: &str, params: &Value) -> Option<Value> {
        let now = jiff::Timestamp::now().as_second();
        let is_kept = |number: u64| number + self.kept >= HEAD;
        let number = |place: &Value| match place.as_str().unwrap_or_default() {
            "latest" => HEAD,
            text => u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap(),
        };
        match method {
            "eth_chainId" => Some(json!(format!("{:#x}", self.chain_id))),
            "eth_blockNumber" => Some(json!(format!("{HEAD:#x}"))),
            "eth_getBlockByNumber" if !is_kept(number(&params[0])) => Some(Value::Null),
            "eth_getBlockByNumber" => Some(json!({
                "number": format!("{:#x}", number(&params[0])),
                "timestamp": format!("{:#x}", now - self.age_seconds),
                "transactions": [TRANSACTION],
            })),
            "eth_getTransactionReceipt" => Some(json!({ "transactionHash": TRANSACTION })),
            "eth_getBalance" => is_kept(number(&params[1])).then(|| json!("0x1")),
            "debug_traceTransaction" | "trace_transaction" => self.has_traces.then(|| json!([{}])),
            "eth_simulateV1" => self.simulates.then(|| json!([])),
            "getHealth" => Some(json!("ok")),
            "getSlot" => Some(json!(HEAD)),
            "getBlockTime" => Some(json!(now - self.age_seconds)),
            "getFirstAvailableBlock" => Some(json!(HEAD - self.kept)),
            "getAssetBatch" => self.has_traces.then(|| json!([null])),
            "getGenesisHash" => Some(json!(GENESIS)),
            _ => None,
        }
    }
}

async fn answer(State(node): State<Arc<Node>>, body: Bytes) -> Response {
    tokio::time::sleep(node.wait).await;
    let one = |call: &Value| match node.result(call["method"].as_str().unwrap(), &call["params"]) {
        Some(result) => json!({ "jsonrpc": "2.0", "id": call["id"], "result": result }),
        None => json!({ "jsonrpc": "2.0", "id": call["id"], "error": { "code": -32601, "message": "no such method" } }),
    };
    let told = match serde_json::from_slice(&body).unwrap() {
        Value::Array(_) if !node.takes_batches => {
            json!({ "id": null, "error": { "code": -32600, "message": "one at a time" } })
        }
        Value::Array(calls) => calls.iter().map(one).collect(),
        call => one(&call),
    };
    let there = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(node.clock_ahead_seconds);
    let date = there.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let text = if node.garbage { "<html>Bad gateway</html>".to_owned() } else { told.to_string() };
    (StatusCode::from_u16(node.status).unwrap(), [("date", date)], text).into_response()
}

async fn doctor(setup: &Setup, more: &'static [&'static str]) -> Output {
    let setup = setup.clone();
    tokio::task::spawn_blocking(move || setup.output(&[&["doctor"], more].concat())).await.unwrap()
}

/// What it found, and that nothing of an address is in it.
async fn found(setup: &Setup) -> Value {
    let output = doctor(setup, &["--json"]).await;
    let all = [output.stdout.clone(), output.stderr].concat();
    let text = String::from_utf8(all).unwrap();
    for secret in ["s3cr3t", "h1dden", "127.0.0.1:9", "user:", "http://", "postgres://"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(output.status.code(), Some(if found["well"] == true { 0 } else { 1 }));
    found
}

/// A database that is there already, and one good node of each family.
async fn healthy() -> Setup {
    let (ethereum, solana) = (Node::well(1).start().await, Node::well(0).start().await);
    let setup = Setup::demo().with("TAXON_RPC_ETHEREUM", &ethereum).with("TAXON_RPC_SOLANA", &solana);
    setup.run(&["migrate"]);
    setup
}

fn part<'a>(found: &'a Value, name: &str) -> &'a Value {
    found["parts"].as_array().unwrap().iter().find(|part| part["part"] == name).unwrap()
}

#[tokio::test]
async fn all_is_well() {
    let setup = healthy().await;
    let output = doctor(&setup, &[]).await;
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    for word in ["ethereum 1", "solana 1", "all, state all", "debug, trace", "100", "assets", "SQLite", "All is well."]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!text.contains("s3cr3t"), "{text}");
    assert_eq!(found(&setup).await["well"], true);
}

#[tokio::test]
async fn each_fault_is_named_with_what_to_do() {
    let cases = [
        ("base", "broken", "It serves chain 56: name a node of Base", Node::well(56)),
        ("optimism", "broken", "It is 3 h behind", Node { age_seconds: 10_800, ..Node::well(10) }),
        ("polygon", "weak", "is left to review", Node { has_traces: false, ..Node::well(137) }),
        ("base", "weak", "a second run", Node { has_traces: false, simulates: true, ..Node::well(8453) }),
        ("arbitrum", "weak", "It takes no batches", Node { takes_batches: false, ..Node::well(42_161) }),
        ("bsc", "", "It is slow", Node { wait: Duration::from_millis(1_050), ..Node::well(56) }),
        ("gnosis", "broken", "It refuses for its rate limit", Node { status: 429, ..Node::well(100) }),
        ("scroll", "broken", "What answers is no JSON-RPC node", Node { garbage: true, ..Node::well(534_352) }),
        ("linea", "broken", "It wants another credential", Node { status: 401, ..Node::well(59_144) }),
        ("avalanche", "weak", "It keeps about the last 10000 blocks", Node { kept: 10_000, ..Node::well(43_114) }),
        ("zksync", "broken", "It answers with status 503", Node { status: 503, ..Node::well(324) }),
        ("blast", "broken", "It does not answer in time", Node { wait: Duration::from_secs(60), ..Node::well(81_457) }),
        ("solana", "broken", "It is 3 h behind", Node { age_seconds: 10_800, ..Node::well(0) }),
        ("solana", "broken", "It has no getAssetBatch", Node { has_traces: false, age_seconds: 999, ..Node::well(0) }),
        ("solana", "weak", "Its history begins at slot 1000000", Node { kept: 1_000_000, ..Node::well(0) }),
    ];
    let down = "http://user:s3cr3t@127.0.0.1:9/h1dden";
    let mut setup = Setup::demo().with("TAXON_RPC_ETHEREUM", &format!("{down},ftp://s3cr3t"));
    for (chain, _, _, node) in &cases {
        let name = format!("TAXON_RPC_{}", chain.to_uppercase());
        let before = setup.env.get(&name).map_or(String::new(), |urls| format!("{urls},"));
        setup = setup.with(&name, &format!("{before}{}", node.clone().start().await));
    }
    let found = found(&setup).await;
    let nodes = found["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), cases.len() + 2);
    let expected = cases.map(|(chain, state, text, _)| (chain, state, text));
    let more = [("ethereum", "broken", "Nobody answers"), ("ethereum", "broken", "no http or https address")];
    for (chain, state, text) in expected.into_iter().chain(more) {
        let is_it = |node: &&Value| node["chain"] == chain && node["todo"].to_string().contains(text);
        let node = nodes.iter().find(is_it).unwrap_or_else(|| panic!("{chain}, {text}: {found:#}"));
        assert!(state.is_empty() || node["state"] == state, "{chain}: {node:#}");
    }
}

/// An explorer that answers everything with this.
async fn explorer(says: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().fallback(async move || says);
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/api?apikey=s3cr3t")
}

#[tokio::test]
async fn explorers_are_asked_too() {
    let nothing = r#"{"status":"0","message":"No transactions found","result":[]}"#;
    let refused = r#"{"status":"0","message":"NOTOK","result":"Invalid API Key"}"#;
    let blind = Node { has_traces: false, ..Node::well(8453) }.start().await;
    let setup = healthy().await.with("TAXON_EXPLORER_ETHEREUM", &explorer(nothing).await);
    assert_eq!(found(&setup).await["well"], true);
    let setup = setup
        .with("TAXON_RPC_BASE", &blind)
        .with("TAXON_EXPLORER_BASE", &explorer(refused).await)
        .with("TAXON_EXPLORER_ARBITRUM", &explorer("<html>").await)
        .with("TAXON_EXPLORER_OPTIMISM", "http://127.0.0.1:9/s3cr3t")
        .with("TAXON_EXPLORER_SOLANA", &explorer(nothing).await);
    let found = found(&setup).await;
    let todo = part(&found, "explorers")["todo"].to_string();
    for text in [
        "The explorer of Base wants a key, or another one: check the address in TAXON_EXPLORER_BASE.",
        "The explorer of Arbitrum One does not answer in the form of Etherscan",
        "does not answer: check the address in TAXON_EXPLORER_OPTIMISM.",
        "Solana needs no explorer",
    ] {
        assert!(todo.contains(text), "{text}: {todo}");
    }
    assert!(found["nodes"].to_string().contains("is seen only by the explorer"), "{found:#}");
    assert!(!found.to_string().contains("s3cr3t"));
}

#[tokio::test]
async fn a_clock_that_is_wrong_is_told() {
    let node = Node { clock_ahead_seconds: 3_600, ..Node::well(1) }.start().await;
    let setup = Setup::demo().with("TAXON_RPC_ETHEREUM", &node);
    let found = found(&setup).await;
    assert!(part(&found, "clock")["todo"][0].as_str().unwrap().contains("behind the nodes' clocks"), "{found:#}");
}

#[tokio::test]
async fn the_embedded_database_is_looked_at_and_left_alone() {
    let setup = healthy().await;
    let file = setup.data.path().join("taxon.db");
    std::fs::remove_file(&file).unwrap();
    let absent = found(&setup).await;
    assert!(part(&absent, "database")["found"].as_str().unwrap().contains("not there yet"), "{absent:#}");
    assert!(!file.exists(), "it only looks");

    setup.run(&["migrate"]);
    let database = rusqlite::Connection::open(&file).unwrap();
    database.execute("UPDATE _sqlx_migrations SET success = 0 WHERE version > 1", []).unwrap();
    let old = found(&setup).await;
    assert!(part(&old, "database")["todo"][0].as_str().unwrap().contains("taxon migrate"), "{old:#}");
    database.execute("UPDATE _sqlx_migrations SET success = 1, version = version + 1000", []).unwrap();
    let newer = found(&setup).await;
    assert!(part(&newer, "database")["todo"][0].as_str().unwrap().contains("newer taxon"), "{newer:#}");

    drop(database);
    std::fs::write(&file, "not a database at all, and long enough to be looked at as one would").unwrap();
    assert_eq!(part(&found(&setup).await, "database")["state"], "broken");
}

#[tokio::test]
async fn postgres_is_looked_at_and_left_alone() {
    let postgres = tokio::task::spawn_blocking(Postgres::start).await.unwrap();
    let setup = healthy().await.with("TAXON_DATABASE_URL", &postgres.url);
    let empty = found(&setup).await;
    assert!(part(&empty, "database")["todo"][0].as_str().unwrap().contains("taxon migrate"), "{empty:#}");
    setup.run(&["migrate"]);
    let up = found(&setup).await;
    assert_eq!(up["well"], true, "{up:#}");
    assert!(part(&up, "clock")["found"].as_str().unwrap().contains("with the database's clock"), "{up:#}");

    let away = setup.with("TAXON_DATABASE_URL", "postgres://taxon:s3cr3t@127.0.0.1:9/taxon");
    let database = found(&away).await;
    assert_eq!(part(&database, "database")["state"], "broken");
}

#[tokio::test]
async fn what_cannot_work_is_seen_in_the_configuration() {
    let setup = healthy().await.with("TAXON_TRUSTED_PROXIES", "0.0.0.0/0");
    let setup = setup.with("TAXON_LISTEN", "127.0.0.2:7070").with("TAXON_METRICS_LISTEN", "127.0.0.2:7070");
    let found = found(&setup).await;
    assert_eq!(
        (&part(&found, "listen")["state"], &part(&found, "proxies")["state"]),
        (&json!("broken"), &json!("broken"))
    );
    let unknown = doctor(&setup.with("TAXON_RPC_ATLANTIS", "http://user:s3cr3t@127.0.0.1:9"), &[]).await;
    let said = String::from_utf8(unknown.stderr).unwrap();
    assert!(unknown.status.code() == Some(1) && said.contains("`atlantis`") && !said.contains("s3cr3t"), "{said}");
}
