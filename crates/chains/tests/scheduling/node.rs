//! A node of a small made-up chain over HTTP, which misbehaves as a test tells it to, and counts what it was asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use chains::{Forgetful, Node, Registry, Tape, TokenMemory, Upstreams, live_node};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// How a node behaves to an HTTP request.
#[derive(Clone, Default)]
pub struct Manners {
    pub status: Option<u16>,
    pub retry_after: Option<String>,
    /// Before any answer.
    pub delay: Duration,
    /// Before the answer to a request that holds a trace.
    pub trace_delay: Duration,
    /// Instead of an answer, these bytes, packed with gzip.
    pub packed: Option<Arc<Vec<u8>>>,
    /// This many members of the next batches are refused for the rate limit.
    pub limited_members: usize,
    /// Methods that it does not offer.
    pub unsupported: Vec<&'static str>,
    /// What it answers to every trace instead, as an error object.
    pub trace_error: Option<Value>,
    pub chain_id: u64,
    /// The head's number and time.
    pub head: (u64, u64),
    /// What it has, by hash.
    pub transactions: BTreeMap<String, Mined>,
}

#[derive(Clone)]
pub struct Mined {
    pub block: u64,
    /// Which branch the block is of, in each part of the story.
    pub transaction_branch: u64,
    pub receipt_branch: u64,
    pub header_branch: u64,
    pub status: u64,
}

impl Mined {
    pub fn at(block: u64) -> Self {
        Self { block, transaction_branch: 1, receipt_branch: 1, header_branch: 1, status: 1 }
    }
}

pub struct FakeNode {
    pub url: String,
    inside: Arc<Mutex<Inside>>,
}

struct Inside {
    manners: Manners,
    requests: usize,
    methods: Vec<String>,
}

pub const CHAIN_ID: u64 = 777;

pub fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

impl FakeNode {
    /// A node that has these transactions and behaves well.
    pub async fn with(transactions: &[(&str, Mined)]) -> Self {
        let transactions = transactions.iter().map(|(hash, mined)| ((*hash).to_owned(), mined.clone())).collect();
        let manners = Manners { chain_id: CHAIN_ID, head: (1_000, now()), transactions, ..Manners::default() };
        let inside = Arc::new(Mutex::new(Inside { manners, requests: 0, methods: Vec::new() }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(Arc::clone(&inside));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, inside }
    }

    pub fn behave(&self, change: impl FnOnce(&mut Manners)) {
        change(&mut self.inside.lock().unwrap().manners);
    }

    /// HTTP requests since the last call of this function.
    pub fn requests(&self) -> usize {
        std::mem::take(&mut self.inside.lock().unwrap().requests)
    }

    /// Methods that were called since the last call of this function.
    pub fn methods(&self) -> Vec<String> {
        std::mem::take(&mut self.inside.lock().unwrap().methods)
    }
}

async fn answer(State(inside): State<Arc<Mutex<Inside>>>, body: String) -> Response<Body> {
    let asked: Value = serde_json::from_str(&body).unwrap();
    let questions = asked.as_array().cloned().unwrap_or_else(|| vec![asked.clone()]);
    let methods: Vec<String> = questions.iter().map(|one| one["method"].as_str().unwrap().to_owned()).collect();
    let mut manners = {
        let mut inside = inside.lock().unwrap();
        inside.requests += 1;
        inside.methods.extend(methods.iter().cloned());
        let taken = inside.manners.clone();
        inside.manners.limited_members = 0;
        taken
    };
    let is_traced = methods.iter().any(|method| method.contains("trace"));
    tokio::time::sleep(manners.delay + if is_traced { manners.trace_delay } else { Duration::ZERO }).await;
    let mut response = Response::builder().status(manners.status.unwrap_or(200));
    if let Some(wish) = &manners.retry_after {
        response = response.header("retry-after", wish);
    }
    if manners.status.is_some_and(|status| status != StatusCode::OK.as_u16()) {
        return response.body(Body::from("<html>no</html>")).unwrap();
    }
    if let Some(packed) = &manners.packed {
        return response.header("content-encoding", "gzip").body(Body::from(packed.to_vec())).unwrap();
    }
    let told: Vec<Value> = questions.iter().map(|question| member(&mut manners, question)).collect();
    let told = if asked.is_array() { Value::Array(told) } else { told.into_iter().next().unwrap() };
    response.body(Body::from(told.to_string())).unwrap()
}

fn member(manners: &mut Manners, question: &Value) -> Value {
    let method = question["method"].as_str().unwrap();
    let is_own = method == "eth_chainId" || question["params"][0] == "latest";
    if manners.limited_members > 0 && !is_own {
        manners.limited_members -= 1;
        return json!({ "id": question["id"], "error": { "code": -32005, "message": "limit exceeded" } });
    }
    if manners.unsupported.contains(&method) {
        return json!({ "id": question["id"], "error": { "code": -32601, "message": "the method does not exist" } });
    }
    if let Some(error) = manners.trace_error.as_ref().filter(|_| method.contains("trace")) {
        return json!({ "id": question["id"], "error": error });
    }
    json!({ "jsonrpc": "2.0", "id": question["id"], "result": result(manners, method, &question["params"]) })
}

fn branch(block: u64, branch: u64) -> String {
    format!("0x{branch:032x}{block:032x}")
}

/// What is said of each transaction of a block.
fn of_block(manners: &Manners, number: u64, method: &str) -> Vec<Value> {
    let mined = manners.transactions.iter().filter(|(_, mined)| mined.block == number);
    mined.map(|(hash, _)| result(manners, method, &json!([hash]))).collect()
}

fn result(manners: &Manners, method: &str, params: &Value) -> Value {
    let first = params[0].as_str().unwrap_or_default();
    let mined = manners.transactions.get(first);
    match method {
        "eth_chainId" => json!(format!("{:#x}", manners.chain_id)),
        "eth_getTransactionByHash" => mined.map_or(Value::Null, |mined| {
            json!({
                "hash": first, "blockNumber": format!("{:#x}", mined.block), "nonce": "0x0", "gas": "0x5208",
                "blockHash": branch(mined.block, mined.transaction_branch), "chainId": format!("{CHAIN_ID:#x}"),
                "from": "0x00000000000000000000000000000000000000aa", "to": "0x00000000000000000000000000000000000000bb",
                "value": "0x1", "input": "0x", "gasPrice": "0x1", "type": "0x2", "transactionIndex": "0x0",
            })
        }),
        "eth_getTransactionReceipt" => mined.map_or(Value::Null, |mined| {
            json!({
                "transactionHash": first, "blockNumber": format!("{:#x}", mined.block), "gasUsed": "0x5208", "logs": [],
                "blockHash": branch(mined.block, mined.receipt_branch), "status": format!("{:#x}", mined.status),
                "effectiveGasPrice": "0x1",
            })
        }),
        "debug_traceTransaction" => json!({
            "type": "CALL", "from": "0x00000000000000000000000000000000000000aa", "gas": "0x0", "gasUsed": "0x0",
            "to": "0x00000000000000000000000000000000000000bb", "value": "0x1", "input": "0x",
        }),
        "trace_transaction" => json!([{
            "type": "call", "traceAddress": [], "transactionHash": first, "result": {},
            "action": { "callType": "call", "from": "0x00000000000000000000000000000000000000aa",
                        "to": "0x00000000000000000000000000000000000000bb", "value": "0x1" },
        }]),
        "eth_getBlockByNumber" if first == "latest" || first == "finalized" => {
            let (number, time) = manners.head;
            json!({ "number": format!("{number:#x}"), "hash": branch(number, 1), "timestamp": format!("{time:#x}") })
        }
        "eth_getBlockByNumber" => {
            let number = u64::from_str_radix(first.trim_start_matches("0x"), 16).unwrap();
            let mined = manners.transactions.values().find(|mined| mined.block == number);
            let of = mined.map_or(1, |mined| mined.header_branch);
            let mut block = json!({ "number": first, "hash": branch(number, of), "timestamp": "0x65000000" });
            if params[1] == true {
                block["transactions"] = of_block(manners, number, "eth_getTransactionByHash").into();
            }
            if number > manners.head.0 { Value::Null } else { block }
        }
        "eth_getBlockReceipts" | "debug_traceBlockByNumber" => {
            let number = u64::from_str_radix(first.trim_start_matches("0x"), 16).unwrap();
            let is_trace = method != "eth_getBlockReceipts";
            let single = if is_trace { "debug_traceTransaction" } else { "eth_getTransactionReceipt" };
            let all = of_block(manners, number, single);
            if !is_trace {
                return all.into();
            }
            all.into_iter().map(|trace| json!({ "result": trace })).collect()
        }
        "getAssetBatch" => {
            let ids = params["ids"].as_array().cloned().unwrap_or_default();
            let named = |id: Value| json!({ "id": id, "content": { "metadata": { "name": "Named", "symbol": "NAMED" } } });
            ids.into_iter().map(named).collect()
        }
        "getMultipleAccounts" => json!({ "value": vec![Value::Null; params[0].as_array().map_or(0, Vec::len)] }),
        "getSlot" => json!(manners.head.0),
        "getTransaction" | "getSignatureStatuses" => {
            let answer = demo_solana().answer("demo-solana", method, params);
            answer.map_or(Value::Null, |answer| serde_json::from_str(answer.get()).unwrap())
        }
        _ => json!("0x0"),
    }
}

/// What a Solana node says of transactions is what the demo chain's said.
fn demo_solana() -> &'static Tape {
    static TAPE: OnceLock<Tape> = OnceLock::new();
    TAPE.get_or_init(|| Tape::read(include_str!("../../../../demo/solana.jsonl")).unwrap())
}

pub fn registry(slugs: &[&str]) -> Registry {
    let mut registry = Registry::embedded().unwrap();
    for (at, slug) in slugs.iter().enumerate() {
        let id = CHAIN_ID + at as u64;
        let row = format!(
            "[[chain]]\nslug = \"{slug}\"\nname = \"{slug}\"\nfamily = \"evm\"\nchain_id = {id}\nnative_symbol = \"M\"\n\
             native_name = \"M\"\nnative_decimals = 18\n"
        );
        registry.add(&row).unwrap();
    }
    registry
}

/// A chain whose endpoints are these nodes, in order.
pub fn node(fakes: &[&FakeNode]) -> Node {
    let urls: Vec<String> = fakes.iter().map(|fake| fake.url.clone()).collect();
    node_at(&urls)
}

pub fn node_at(urls: &[String]) -> Node {
    live_node(registry(&["local"]).find("local").unwrap(), urls, None).unwrap()
}

pub fn chain(fakes: &[&FakeNode]) -> Upstreams {
    upstreams([node(fakes)])
}

pub fn upstreams(nodes: impl IntoIterator<Item = Node>) -> Upstreams {
    let memory: Arc<dyn TokenMemory> = Arc::new(Forgetful);
    Upstreams::new(nodes, &memory)
}
