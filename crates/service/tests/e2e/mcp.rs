//! The agent interface: real clients on it, what it says to messages that are none, and that it shares admission, pool and answers with
//! REST. Run `tests/agents/install` once before (`./test` does).

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::{Notify, OnceCell};

use super::crash::within;
use super::harness::{Answer, Setup, Taxon, demo_scenario, free_port, read};

const TOOLS: [&str; 6] = [
    "classify_batch",
    "quota_status",
    "list_chains",
    "explain_category",
    "lookup_contract",
    "map_to_chart_of_accounts",
];
const ROUTER: &str = "0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D";
const NOBODYS_KEY: &str = "txn_nobodys1_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;
const METHOD_NOT_FOUND: i64 = -32_601;
const INVALID_PARAMS: i64 = -32_602;
const UNAUTHORIZED: i64 = -32_011;
const HEADER_MISMATCH: i64 = -32_020;
const UNSUPPORTED_VERSION: i64 = -32_022;

/// A caller of one service, on both of its interfaces. Each test has its own, since connections end with a test's runtime.
struct Agent {
    url: String,
    key: String,
    client: reqwest::Client,
}

impl Agent {
    fn new(url: &str, key: &str) -> Self {
        Self { url: url.to_owned(), key: key.to_owned(), client: crate::harness::client() }
    }

    fn of(taxon: &Taxon) -> Self {
        Self::new(&taxon.url, &taxon.key)
    }

    /// As `curl` sends it: one message, and nothing said about sessions, versions or event streams.
    fn request(&self) -> reqwest::RequestBuilder {
        let request = self.client.post(format!("{}/mcp", self.url)).bearer_auth(&self.key);
        request.header("content-type", "application/json")
    }

    async fn say(&self, message: &Value) -> Answer {
        read(self.request().body(message.to_string()).send().await.unwrap()).await
    }

    async fn call(&self, tool: &str, arguments: Value) -> Answer {
        self.say(&call(tool, arguments)).await
    }

    /// What a call that succeeds tells.
    async fn told(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.call(tool, arguments).await;
        assert_eq!((answer.status, &answer.body["result"]["isError"]), (200, &json!(false)), "{}", answer.body);
        let structured = &answer.body["result"]["structuredContent"];
        assert_eq!(text(&answer), *structured, "the text says the same");
        structured.clone()
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        let request = self.client.post(format!("{}{path}", self.url)).bearer_auth(&self.key).json(body);
        read(request.send().await.unwrap()).await
    }

    async fn get(&self, path: &str) -> Answer {
        let request = self.client.get(format!("{}{path}", self.url)).bearer_auth(&self.key);
        read(request.send().await.unwrap()).await
    }
}

fn message(id: &Value, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn call(tool: &str, arguments: Value) -> Value {
    message(&json!(1), "tools/call", json!({ "name": tool, "arguments": arguments }))
}

/// The text of a tool's answer, which is JSON too.
fn text(answer: &Answer) -> Value {
    let text = answer.body["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{}", answer.body));
    serde_json::from_str(text).unwrap()
}

/// The reason of a call that a tool answered with its failure.
fn failure(answer: &Answer) -> Value {
    assert_eq!((answer.status, &answer.body["result"]["isError"]), (200, &json!(true)), "{}", answer.body);
    text(answer)["error"].clone()
}

/// Status, code and the id that came back, of a refusal as JSON-RPC has it.
fn refusal(answer: &Answer) -> (u16, i64, Value) {
    let body = &answer.body;
    assert_eq!(body["jsonrpc"], "2.0", "{body}");
    assert!(body["error"]["message"].is_string() && body.get("result").is_none(), "{body}");
    assert!(answer.headers.contains_key("x-request-id") && answer.headers["content-type"] == "application/json");
    (answer.status, body["error"]["code"].as_i64().unwrap(), body["id"].clone())
}

fn item(name: &str) -> Value {
    json!({ "hash": demo_scenario().named(name).hash, "tx_id": name })
}

fn items(names: &[&str]) -> Value {
    json!({ "hashes": names.iter().map(|name| item(name)).collect::<Vec<_>>() })
}

/// Each row's error, or else its category.
fn outcomes(batch: &Value) -> Vec<&str> {
    let rows = batch["results"].as_array().unwrap().iter();
    rows.map(|row| row.get("error").unwrap_or(&row["category"]).as_str().unwrap()).collect()
}

/// One service for the tests that change nothing in it.
async fn shared() -> Agent {
    static SHARED: OnceCell<Taxon> = OnceCell::const_new();
    Agent::of(SHARED.get_or_init(|| async { Setup::demo().with("TAXON_POOL_DEV", "100000").start().await }).await)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

async fn run(mut command: Command) -> Output {
    let program = PathBuf::from(command.get_program());
    assert!(program.exists(), "{} is needed: run tests/agents/install, or ./test", program.display());
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

#[tokio::test]
async fn the_official_client_does_everything_in_both_protocol_eras() {
    let agent = shared().await;
    let mut command = Command::new(root().join("target/agents/venv/bin/python"));
    command.arg(root().join("tests/agents/mcp_client.py")).args([&agent.url, &agent.key]);
    let output = run(command).await;
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    for version in ["2025-11-25", "2026-07-28"] {
        assert!(said.contains(&format!("{version}: connected")), "{said}");
    }
}

/// What the inspector prints.
async fn inspect(agent: &Agent, arguments: &[&str]) -> Value {
    let mut command = Command::new(root().join("tests/agents/node_modules/.bin/mcp-inspector"));
    command.args(["--cli", &format!("{}/mcp", agent.url), "--transport", "http"]);
    command.args(["--header", &format!("Authorization: Bearer {}", agent.key)]).args(arguments);
    let output = run(command).await;
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
async fn the_inspector_lists_and_calls_every_tool() {
    let agent = shared().await;
    let hashes = format!("hashes=[{}]", item("v2_swap_eth_in"));
    let router = format!("address={ROUTER}");
    let swap = agent.post("/v1/classify", &json!({ "hash": item("v2_swap_eth_in")["hash"] })).await.body;
    let results = format!("results=[{swap}]");
    let arguments: [&[&str]; 6] = [
        &["--tool-arg", &hashes, "--tool-arg", "fields=summary"],
        &[],
        &[],
        &["--tool-arg", "category=swap"],
        &["--tool-arg", &router],
        &["--tool-arg", &results],
    ];
    let calls = TOOLS.iter().zip(arguments).map(|(tool, arguments)| {
        let whole = [&["--method", "tools/call", "--tool-name", tool], arguments].concat();
        let agent = &agent;
        async move { inspect(agent, &whole).await }
    });
    let found = join_all(calls).await;
    for (tool, result) in TOOLS.iter().zip(&found) {
        assert_eq!(result["isError"], false, "{tool}: {result}");
        assert!(result["structuredContent"].is_object(), "{tool}: {result}");
    }
    assert_eq!(found[0]["structuredContent"]["results"][0]["category"], "swap");
    assert_eq!(found[2]["structuredContent"], agent.get("/chains").await.body);
    assert_eq!(found[3]["structuredContent"]["treatment"], "disposal");
    assert_eq!(found[4]["structuredContent"]["known"][0]["protocol"], "Uniswap v2");
    assert_eq!(found[5]["structuredContent"]["lines"].as_array().unwrap().len(), 6);

    let tools = inspect(&agent, &["--method", "tools/list"]).await;
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, TOOLS);
    let resources = inspect(&agent, &["--method", "resources/list"]).await;
    for resource in resources["resources"].as_array().unwrap() {
        let read = inspect(&agent, &["--method", "resources/read", "--uri", resource["uri"].as_str().unwrap()]).await;
        assert!(read["contents"][0]["text"].as_str().unwrap().contains("not tax advice"));
    }
}

#[tokio::test]
async fn a_bare_post_is_answered() {
    let agent = shared().await;
    let address = agent.url.trim_start_matches("http://");
    let body = call("list_chains", json!({})).to_string();
    // By hand, since every HTTP client says by itself what it accepts.
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        agent.key,
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    let (head, answer) = said.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("content-type: application/json"), "{head}");
    assert!(!head.contains("mcp-session-id"), "there are no sessions");
    let answer: Value = serde_json::from_str(answer).unwrap();
    assert_eq!(answer["result"]["structuredContent"], agent.get("/chains").await.body);
}

#[tokio::test]
async fn what_is_no_message_gets_the_code_that_says_why() {
    let agent = shared().await;
    let list = r#""method":"tools/list""#;
    let deep =
        format!(r#"{{"jsonrpc":"2.0","id":1,{list},"params":{{"a":{}{}}}}}"#, "[".repeat(5_000), "]".repeat(5_000));
    let cases: [(&str, u16, i64, Value); 32] = [
        ("", 400, PARSE_ERROR, Value::Null),
        ("{", 400, PARSE_ERROR, Value::Null),
        ("tools/list", 400, PARSE_ERROR, Value::Null),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#, 400, PARSE_ERROR, Value::Null),
        (&deep, 400, PARSE_ERROR, Value::Null),
        ("null", 400, INVALID_REQUEST, Value::Null),
        ("7", 400, INVALID_REQUEST, Value::Null),
        (r#""ping""#, 400, INVALID_REQUEST, Value::Null),
        ("[]", 400, INVALID_REQUEST, Value::Null),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, 400, INVALID_REQUEST, Value::Null),
        ("{}", 400, INVALID_REQUEST, Value::Null),
        (r#"{"id":1,"method":"ping"}"#, 400, INVALID_REQUEST, json!(1)),
        (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, 400, INVALID_REQUEST, json!("a")),
        (r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, 400, INVALID_REQUEST, json!(1)),
        (r#"{"jsonrpc":null,"id":1,"method":"ping"}"#, 400, INVALID_REQUEST, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1}"#, 400, INVALID_REQUEST, json!(1)),
        (r#"{"jsonrpc":"2.0","id":"b","method":7}"#, 400, INVALID_REQUEST, json!("b")),
        (r#"{"jsonrpc":"2.0","id":1,"method":null}"#, 400, INVALID_REQUEST, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#, 400, INVALID_PARAMS, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":7}"#, 400, INVALID_PARAMS, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"}"#, 400, INVALID_PARAMS, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":""}"#, 200, METHOD_NOT_FOUND, json!(1)),
        (r#"{"jsonrpc":"2.0","id":"c","method":"tools/burn"}"#, 200, METHOD_NOT_FOUND, json!("c")),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, 200, INVALID_PARAMS, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#, 200, INVALID_PARAMS, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"burn"}}"#, 200, INVALID_PARAMS, json!(1)),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_chains","arguments":[]}}"#,
            200,
            INVALID_PARAMS,
            json!(1),
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"resources/read"}"#, 200, INVALID_PARAMS, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":7}}"#, 200, INVALID_PARAMS, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#, 200, INVALID_PARAMS, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, 400, INVALID_REQUEST, json!(1)),
        (
            r#"{"jsonrpc":"2.0","method":"resources/read","params":{"uri":"taxon://guide","_meta":[]}}"#,
            400,
            INVALID_PARAMS,
            Value::Null,
        ),
    ];
    for (body, status, code, id) in cases {
        let answer = read(agent.request().body(body.to_owned()).send().await.unwrap()).await;
        assert_eq!(refusal(&answer), (status, code, id), "{body:.120}");
    }
    let unknown = agent.call("burn", json!({})).await;
    for tool in TOOLS {
        assert!(
            unknown.body["error"]["message"].as_str().unwrap().contains(tool),
            "the tools that there are are listed"
        );
    }
}

#[tokio::test]
async fn an_id_is_a_string_or_an_integer_and_comes_back_as_it_was() {
    let agent = shared().await;
    for id in [json!("a"), json!(""), json!("1"), json!(0), json!(-5), json!(i64::MAX), json!(i64::MIN)] {
        let answer = agent.say(&message(&id, "ping", json!({}))).await;
        assert_eq!(answer.body, json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
        let refused = agent.say(&message(&id, "tools/burn", json!({}))).await;
        assert_eq!(refusal(&refused), (200, METHOD_NOT_FOUND, id));
    }
    for id in [Value::Null, json!(true), json!(1.5), json!([]), json!([1]), json!({}), json!({ "a": 1 })] {
        let answer = agent.say(&message(&id, "ping", json!({}))).await;
        assert_eq!(refusal(&answer), (400, INVALID_REQUEST, Value::Null), "{id}");
    }
    for method in ["notifications/initialized", "tools/list", "nothing"] {
        let answer = agent.say(&json!({ "jsonrpc": "2.0", "method": method })).await;
        assert_eq!((answer.status, answer.body), (202, json!("")), "without an id no answer is wanted: {method}");
    }
}

/// From 2026-07-28 on, headers repeat what the body says, so that gateways need not read it; both must say the same.
#[tokio::test]
async fn the_newer_protocol_holds_the_headers_against_the_body() {
    let agent = shared().await;
    let say = async |version: &str, method: &str, headers: &[(&str, &str)]| {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let body = message(&json!(1), method, json!({ "_meta": meta, "name": "list_chains" }));
        let request = headers.iter().fold(agent.request(), |request, (name, value)| request.header(*name, *value));
        read(request.body(body.to_string()).send().await.unwrap()).await
    };
    let version = ("mcp-protocol-version", "2026-07-28");
    let call = ("mcp-method", "tools/call");
    let answered = say(version.1, "tools/call", &[version, call, ("mcp-name", "list_chains")]).await;
    assert_eq!(answered.body["result"]["structuredContent"], agent.get("/chains").await.body);
    let refused =
        async |asked: &str, method: &str, headers: &[(&str, &str)]| refusal(&say(asked, method, headers).await);
    let mismatch = (400, HEADER_MISMATCH, json!(1));
    assert_eq!(refused(version.1, "tools/call", &[]).await, mismatch, "no version");
    assert_eq!(refused(version.1, "tools/call", &[version]).await, mismatch, "no method");
    assert_eq!(refused(version.1, "tools/list", &[version, call]).await, mismatch, "another method");
    assert_eq!(
        refused(version.1, "tools/call", &[version, call, ("mcp-name", "quota_status")]).await,
        mismatch,
        "another tool"
    );
    let unknown = [version, ("mcp-method", "tools/burn")];
    assert_eq!(refused(version.1, "tools/burn", &unknown).await, (404, METHOD_NOT_FOUND, json!(1)));
    let future = [("mcp-protocol-version", "2099-01-01"), call, ("mcp-name", "list_chains")];
    assert_eq!(refused("2099-01-01", "tools/call", &future).await, (400, UNSUPPORTED_VERSION, json!(1)));
}

#[tokio::test]
async fn wrong_arguments_are_named_with_their_index() {
    let agent = shared().await;
    let good = item("v2_swap_eth_in");
    let hash = &good["hash"];
    let wallets = vec!["0x00000000000000000000000000000000000000aa"; 1_001];
    let batch: [(Value, &str, Value); 20] = [
        (json!({}), "invalid_request", Value::Null),
        (json!({ "hashes": null }), "invalid_request", Value::Null),
        (json!({ "hashes": {} }), "invalid_request", Value::Null),
        (json!({ "hashes": hash }), "invalid_request", Value::Null),
        (json!({ "hashes": "hashes[7]" }), "invalid_request", Value::Null),
        (json!({ "hashes": [] }), "invalid_request", Value::Null),
        (json!({ "hashes": vec![&good; 101] }), "invalid_request", Value::Null),
        (json!({ "hashes": [hash] }), "invalid_request", json!(0)),
        (json!({ "hashes": [good, {}] }), "invalid_request", json!(1)),
        (json!({ "hashes": [good, good, { "hash": 7 }] }), "invalid_request", json!(2)),
        (json!({ "hashes": [{ "hash": hash, "tx_id": 7 }] }), "invalid_request", json!(0)),
        (json!({ "hashes": [good, { "hash": hash, "chain": 7 }] }), "invalid_request", json!(1)),
        (json!({ "hashes": [good, { "hash": hash, "wallet": "0x12" }] }), "invalid_request", json!(1)),
        (json!({ "hashes": [good, { "hash": "0x1" }] }), "invalid_hash", json!(1)),
        (json!({ "hashes": [good], "policy": "lp" }), "invalid_request", Value::Null),
        (json!({ "hashes": [good], "wallet": "0x12" }), "invalid_request", Value::Null),
        (json!({ "hashes": [good], "own_wallets": wallets }), "invalid_request", Value::Null),
        (json!({ "hashes": [good], "explain": "yes" }), "invalid_request", Value::Null),
        (json!({ "hashes": [good], "fields": "some" }), "invalid_request", Value::Null),
        (json!({ "hashes": [good], "fields": 7 }), "invalid_request", Value::Null),
    ];
    let others: [(&str, Value, &str); 9] = [
        ("quota_status", json!({ "hash": 7 }), "invalid_request"),
        ("quota_status", json!({ "hash": "0x1" }), "invalid_hash"),
        ("explain_category", json!({}), "invalid_request"),
        ("explain_category", json!({ "category": 7 }), "invalid_request"),
        ("explain_category", json!({ "category": "nothing" }), "invalid_request"),
        ("lookup_contract", json!({}), "invalid_request"),
        ("lookup_contract", json!({ "address": 7 }), "invalid_request"),
        ("lookup_contract", json!({ "address": "0x1" }), "invalid_request"),
        ("lookup_contract", json!({ "address": ROUTER, "chain": "atlantis" }), "invalid_request"),
    ];
    let batch = batch.into_iter().map(|(arguments, code, index)| ("classify_batch", arguments, code, index));
    let others = others.into_iter().map(|(tool, arguments, code)| (tool, arguments, code, Value::Null));
    for (tool, arguments, code, index) in batch.chain(others) {
        let answer = agent.call(tool, arguments.clone()).await;
        let shown = arguments.to_string();
        assert_eq!(refusal(&answer), (200, INVALID_PARAMS, json!(1)), "{tool} {shown:.120}");
        assert_eq!(answer.body["error"]["data"], json!({ "code": code, "index": index }), "{tool} {shown:.120}");
        if tool == "classify_batch" && arguments.get("fields").is_none() {
            assert_eq!(agent.post("/v1/classify-batch", &arguments).await.code(), code, "as on REST: {shown:.120}");
        }
    }
    let lenient = json!({ "hashes": [good], "policy": { "lp": 7 }, "fields": null, "wallet": null, "colour": "red" });
    assert_eq!(outcomes(&agent.told("classify_batch", lenient).await), ["swap"], "unknown fields and nulls are absent");
}

#[tokio::test]
async fn only_json_is_taken_and_only_by_post() {
    let agent = shared().await;
    let body = message(&json!(1), "ping", json!({})).to_string();
    for method in [Method::GET, Method::DELETE, Method::PUT] {
        let request = agent.client.request(method.clone(), format!("{}/mcp", agent.url)).bearer_auth(&agent.key);
        let answer = read(request.send().await.unwrap()).await;
        assert_eq!(refusal(&answer), (405, INVALID_REQUEST, Value::Null), "{method}");
        assert_eq!(answer.headers["allow"], "POST", "{method}");
    }
    let post = |kind: Option<&str>| {
        let request = agent.client.post(format!("{}/mcp", agent.url)).body(body.clone());
        kind.map_or_else(
            || request.try_clone().unwrap(),
            |kind| request.try_clone().unwrap().header("content-type", kind),
        )
    };
    for kind in [None, Some("text/plain"), Some("application/jsonp"), Some("application/x-www-form-urlencoded")] {
        let answer = read(post(kind).send().await.unwrap()).await;
        assert_eq!(refusal(&answer), (415, INVALID_REQUEST, Value::Null), "{kind:?}");
    }
    for kind in ["application/json; charset=utf-8", "APPLICATION/JSON"] {
        assert_eq!(read(post(Some(kind)).send().await.unwrap()).await.status, 200, "{kind}");
    }
    let padded = |bytes: usize| {
        let bare = message(&json!(1), "ping", json!({ "pad": "" })).to_string().len();
        message(&json!(1), "ping", json!({ "pad": "x".repeat(bytes - bare) })).to_string()
    };
    let largest = read(agent.request().body(padded(1024 * 1024)).send().await.unwrap()).await;
    assert_eq!(largest.status, 200, "1 MiB is taken");
    let larger = read(agent.request().body(padded(1024 * 1024 + 1)).send().await.unwrap()).await;
    assert_eq!(refusal(&larger), (413, INVALID_REQUEST, Value::Null));
}

/// The status that a message with this header gets; a refusal is told as JSON-RPC.
async fn with_header(agent: &Agent, name: &str, value: &str) -> u16 {
    let body = message(&json!(1), "ping", json!({})).to_string();
    let answer = read(agent.request().header(name, value).body(body).send().await.unwrap()).await;
    if answer.status != 200 {
        assert_eq!(refusal(&answer).1, INVALID_REQUEST);
    }
    answer.status
}

#[tokio::test]
async fn pages_of_strangers_are_kept_out() {
    let agent = shared().await;
    for host in ["localhost", "localhost:1", "LOCALHOST", "127.0.0.1", "127.0.0.1:9", "[::1]:9"] {
        assert_eq!(with_header(&agent, "host", host).await, 200, "{host}");
    }
    for host in ["evil.example.com", "localhost.evil.example.com", "127.0.0.1.evil.example.com", "10.0.0.1"] {
        assert_eq!(with_header(&agent, "host", host).await, 403, "{host}");
    }
    let own = agent.url.as_str();
    for origin in ["https://evil.example.com", "null", "http://localhost", own] {
        assert_eq!(with_header(&agent, "origin", origin).await, 403, "{origin}: none is allowed unless by name");
    }
    assert_eq!(agent.get("/chains").await.status, 200, "the rest of the service does not mind");
}

#[tokio::test]
async fn an_operator_allows_hosts_and_origins_by_name() {
    let setup = Setup::demo().with("TAXON_MCP_HOSTS", "tax.example.com");
    let taxon = setup.with("TAXON_CORS_ORIGINS", "https://app.example.com").start().await;
    let agent = Agent::of(&taxon);
    for (host, status) in
        [("tax.example.com", 200), ("localhost", 200), ("evil.example.com", 403), ("example.com", 403)]
    {
        assert_eq!(with_header(&agent, "host", host).await, status, "{host}");
    }
    for (origin, status) in [
        ("https://app.example.com", 200),
        ("https://app.example.com:8443", 403),
        ("http://app.example.com", 403),
        ("https://app.example.com.evil.example.com", 403),
        ("https://evil.example.com", 403),
    ] {
        assert_eq!(with_header(&agent, "origin", origin).await, status, "{origin}");
    }
    // What a browser asks before it lets a page call.
    let asked = "authorization,content-type,mcp-protocol-version,mcp-method,mcp-name";
    let preflight = agent.client.request(Method::OPTIONS, format!("{}/mcp", agent.url));
    let preflight =
        preflight.header("origin", "https://app.example.com").header("access-control-request-method", "POST");
    let answer = read(preflight.header("access-control-request-headers", asked).send().await.unwrap()).await;
    assert_eq!(answer.headers["access-control-allow-origin"], "https://app.example.com");
    for header in asked.split(',') {
        assert!(answer.headers["access-control-allow-headers"].contains(header), "{header}");
    }
    let any = Setup::demo().with("TAXON_MCP_HOSTS", "*").start().await;
    let agent = Agent::of(&any);
    assert_eq!(with_header(&agent, "host", "whatever.example.com").await, 200);
    assert_eq!(with_header(&agent, "origin", "https://evil.example.com").await, 403, "hosts are not origins");
}

#[tokio::test]
async fn without_a_key_there_are_lists_and_no_calls() {
    let taxon = Setup::demo().start().await;
    let revoked = taxon.setup.key("gone@example.com", "dev", &[]);
    assert_eq!(Agent::new(&taxon.url, &revoked).call("list_chains", json!({})).await.status, 200);
    taxon.setup.run(&["keys", "revoke", &revoked]);
    // A key that was used just now may be valid for a second more.
    let gone = Agent::new(&taxon.url, &revoked);
    within(Duration::from_secs(2), async || gone.call("list_chains", json!({})).await.status == 401).await;
    let client = crate::harness::client();
    for key in [None, Some(NOBODYS_KEY), Some("nonsense"), Some(revoked.as_str())] {
        let say = async |message: Value| {
            let request = client.post(format!("{}/mcp", taxon.url)).json(&message);
            let request =
                key.map_or_else(|| request.try_clone().unwrap(), |key| request.try_clone().unwrap().bearer_auth(key));
            read(request.send().await.unwrap()).await
        };
        for tool in [TOOLS.as_slice(), &["burn"]].concat() {
            let answer = say(call(tool, json!({}))).await;
            assert_eq!(refusal(&answer), (401, UNAUTHORIZED, json!(1)), "{key:?} {tool}");
            assert_eq!(answer.body["error"]["data"]["code"], "unauthorized");
            assert_eq!(answer.headers["www-authenticate"], "Bearer");
        }
        for method in ["ping", "tools/list", "resources/list"] {
            let answer = say(message(&json!(1), method, json!({}))).await;
            assert_eq!((answer.status, answer.body.get("error")), (200, None), "{key:?} {method}");
        }
    }
}

#[tokio::test]
async fn the_rate_limit_is_shared_with_rest() {
    let taxon = Setup::demo().with("TAXON_RATE_PER_MINUTE", "2").start().await;
    let agent = Agent::of(&taxon);
    let one = items(&["v2_swap_eth_in"]);
    assert_eq!(agent.post("/v1/classify-batch", &one).await.status, 200);
    agent.told("classify_batch", one.clone()).await;
    assert_eq!(agent.post("/v1/classify-batch", &one).await.status, 429);
    let limited = agent.call("classify_batch", one.clone()).await;
    let failure = failure(&limited);
    assert_eq!(failure["code"], "rate_limited");
    assert_eq!(failure["retry_after_seconds"].to_string(), limited.headers["retry-after"]);
    assert!((1..=60).contains(&failure["retry_after_seconds"].as_u64().unwrap()), "{failure}");
    // Reading the quota has a window of its own, and that is shared too.
    assert_eq!(agent.get("/quota-status").await.status, 200);
    agent.told("quota_status", json!({})).await;
    assert_eq!(agent.get("/quota-status").await.status, 429);
    assert_eq!(self::failure(&agent.call("quota_status", json!({})).await)["code"], "rate_limited");
    for _ in 0..3 {
        agent.told("list_chains", json!({})).await;
    }
}

#[tokio::test]
async fn a_call_that_is_refused_for_its_arguments_has_counted() {
    let taxon = Setup::demo().with("TAXON_RATE_PER_MINUTE", "1").start().await;
    for (tool, arguments) in [("classify_batch", json!({})), ("classify_batch", json!([])), ("burn", json!({}))] {
        let agent = Agent::new(&taxon.url, &taxon.setup.key("test@example.com", "dev", &[]));
        assert_eq!(refusal(&agent.call(tool, arguments.clone()).await).1, INVALID_PARAMS, "{tool} {arguments}");
        let limited = agent.post("/v1/classify-batch", &items(&["v2_swap_eth_in"])).await;
        assert_eq!((limited.status, limited.code()), (429, "rate_limited"), "{tool} {arguments}");
    }
}

#[tokio::test]
async fn guessing_keys_is_limited() {
    let taxon = Setup::demo().with("TAXON_RATE_PER_MINUTE", "2").start().await;
    let guesser = Agent::new(&taxon.url, NOBODYS_KEY);
    for _ in 0..2 {
        assert_eq!(guesser.call("list_chains", json!({})).await.status, 401);
    }
    let limited = guesser.call("list_chains", json!({})).await;
    assert_eq!((limited.status, limited.headers.contains_key("retry-after")), (429, true));
    assert_eq!(limited.body["error"]["data"]["code"], "rate_limited");
}

#[tokio::test]
async fn the_pool_is_shared_with_rest() {
    let taxon = Setup::demo().with("TAXON_POOL_DEV", "3").start().await;
    let agent = Agent::of(&taxon);
    let quota = async || {
        let told = agent.told("quota_status", json!({})).await;
        assert_eq!(told, agent.get("/quota-status").await.body);
        told["used"].clone()
    };
    assert_eq!(quota().await, 0);
    assert_eq!(agent.post("/v1/classify-batch", &items(&["v2_swap_eth_in"])).await.status, 200);
    assert_eq!(quota().await, 1);
    agent.told("classify_batch", items(&["v2_swap_eth_in"])).await;
    assert_eq!(quota().await, 1, "what REST classified is a repeat here");
    let partly =
        agent.told("classify_batch", items(&["weth_wrap", "plain_transfer", "aave_supply", "aave_borrow"])).await;
    assert_eq!(outcomes(&partly), ["wrap", "transfer", "collateral_supply", "quota_exceeded"]);
    assert_eq!(quota().await, 3);
    let refused = failure(&agent.call("classify_batch", items(&["aave_borrow", "v3_swap_tokens"])).await);
    assert_eq!(refused["code"], "quota_exceeded");
    assert!(refused["message"].is_string() && refused["action"].is_string(), "{refused}");
    assert_eq!(agent.post("/v1/classify-batch", &items(&["aave_borrow"])).await.status, 402);
    let mixed = agent.told("classify_batch", items(&["aave_borrow", "weth_wrap"])).await;
    assert_eq!(outcomes(&mixed), ["quota_exceeded", "wrap"], "a repeat is still served");
    let counted = json!({ "hash": item("weth_wrap")["hash"] });
    let path = format!("/quota-status?hash={}", counted["hash"].as_str().unwrap());
    let told = agent.told("quota_status", counted).await;
    assert_eq!((&told["repeat"], &told), (&json!(true), &agent.get(&path).await.body));
}

#[tokio::test]
async fn it_can_listen_on_a_port_of_its_own() {
    let port = free_port();
    let taxon = Setup::demo().flag("--mcp-listen").flag(&format!("127.0.0.1:{port}")).start().await;
    let main = Agent::of(&taxon);
    let own = Agent::new(&format!("http://127.0.0.1:{port}"), &taxon.key);
    assert_eq!(outcomes(&own.told("classify_batch", items(&["v2_swap_eth_in"])).await), ["swap"]);
    assert_eq!(own.told("quota_status", json!({})).await, main.get("/quota-status").await.body, "one service");
    assert_eq!(main.call("list_chains", json!({})).await.status, 404, "it is off the main port");
    assert_eq!(
        own.post("/v1/classify-batch", &items(&["v2_swap_eth_in"])).await.status,
        404,
        "and nothing else is there"
    );
    assert_eq!(own.get("/chains").await.status, 404);
}

#[tokio::test]
async fn categories_and_contracts_are_explained() {
    let agent = shared().await;
    let categories = agent.get("/categories").await.body;
    for row in categories["categories"].as_array().unwrap() {
        assert_eq!(agent.told("explain_category", json!({ "category": row["category"] })).await, *row);
    }
    let lookup = async |arguments: Value| agent.told("lookup_contract", arguments).await;
    let router = lookup(json!({ "address": ROUTER, "chain": "ethereum" })).await;
    assert_eq!(router["address"], ROUTER.to_lowercase());
    let row = &router["known"][0];
    assert_eq!((&row["protocol"], &row["chain"]), (&json!("Uniswap v2"), &json!("ethereum")));
    assert_eq!(lookup(json!({ "address": ROUTER, "chain": "1" })).await, router, "a chain id names a chain too");
    assert_eq!(lookup(json!({ "address": ROUTER, "chain": "solana" })).await["known"], json!([]));
    let jupiter = lookup(json!({ "address": "JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4" })).await;
    assert_eq!(
        (&jupiter["known"][0]["protocol"], &jupiter["known"][0]["chain"]),
        (&json!("Jupiter"), &json!("solana"))
    );
    let unknown = lookup(json!({ "address": format!("0x{}", "12".repeat(20)) })).await;
    assert_eq!(unknown["known"], json!([]));
}

/// The official client holds every demo transaction against REST; here is what a request can say beside the hash.
#[tokio::test]
async fn the_same_body_gets_the_same_rows_as_on_rest() {
    let agent = shared().await;
    let scenario = demo_scenario();
    let (add, transfer) = (scenario.named("v2_liquidity_add"), scenario.named("plain_transfer"));
    let stranger = format!("0x{}", "12".repeat(20));
    let body = json!({
        "hashes": [
            { "hash": add.hash, "tx_id": "add", "chain": "demo" },
            { "hash": add.hash, "tx_id": "elsewhere", "chain": "atlantis" },
            { "hash": add.hash, "tx_id": "stranger", "wallet": stranger },
            { "hash": transfer.hash },
        ],
        "policy": { "lp": "non_taxable" },
        "own_wallets": [transfer.wallet],
        "explain": true,
    });
    let rest = agent.post("/v1/classify-batch", &body).await.body;
    let mut told = agent.told("classify_batch", body).await;
    for row in told["results"].as_array_mut().unwrap() {
        let row = row.as_object_mut().unwrap();
        let mut alias = |name: &str| row.remove(name).unwrap();
        let old = ["tx_type", "tax_category", "reasoning", "authoritative", "source"].map(&mut alias);
        let review = row["needs_review"].as_bool().unwrap();
        let new = [&row["category"], &row["treatment"], &row["description"], &json!(!review)];
        assert_eq!(old.iter().take(4).collect::<Vec<_>>(), new);
        assert!(["protocol", "call", "shape", "labels", "none"].contains(&old[4].as_str().unwrap()));
    }
    assert_eq!(told, rest);
    assert_eq!(told["results"][0]["treatment"], "non_taxable", "the policy was heard");
    assert_eq!(outcomes(&told)[1..3], ["unsupported_chain", "wallet_not_in_transaction"]);
}

#[tokio::test]
async fn any_instance_answers_any_message() {
    let setup = Setup::demo();
    let first = setup.start().await;
    let second = setup.start_on(free_port(), first.key.clone()).await;
    let (first, second) = (Agent::of(&first), Agent::of(&second));
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    let met = first.say(&message(&json!(1), "initialize", hello)).await;
    assert_eq!(met.body["result"]["protocolVersion"], "2025-11-25");
    assert!(!met.headers.contains_key("mcp-session-id"));
    assert_eq!(second.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await.status, 202);
    assert_eq!(
        first.say(&message(&json!(2), "tools/list", json!({}))).await.body["result"]["tools"][0]["name"],
        TOOLS[0]
    );
    let names = items(&["v2_swap_eth_in", "weth_wrap"]);
    assert_eq!(outcomes(&second.told("classify_batch", names.clone()).await), ["swap", "wrap"]);
    assert_eq!(outcomes(&first.told("classify_batch", names).await), ["swap", "wrap"]);
    for agent in [&first, &second] {
        assert_eq!(agent.told("quota_status", json!({})).await["used"], 2, "counted once");
    }
}

/// A node that knows no transaction and takes its time to say so; it tells when it is asked for one.
async fn slow_node() -> (String, Arc<Notify>) {
    let asked = Arc::new(Notify::new());
    let shrug = async |State(asked): State<Arc<Notify>>, body: String| {
        if body.contains("eth_getTransactionByHash") {
            asked.notify_one();
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let answer = |question: &Value| {
            let result = if question["method"] == "eth_chainId" { json!("0x1") } else { Value::Null };
            json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })
        };
        match serde_json::from_str(&body).unwrap() {
            Value::Array(questions) => Value::Array(questions.iter().map(answer).collect()).to_string(),
            question => answer(&question).to_string(),
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(shrug).with_state(Arc::clone(&asked));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, asked)
}

#[tokio::test]
async fn an_agent_that_hangs_up_still_pays() {
    let (node, asked) = slow_node().await;
    let taxon = Setup::demo().with("TAXON_RPC_ETHEREUM", &node).start().await;
    let agent = Agent::of(&taxon);
    // Pinned to the slow chain, and found on the demo chain after that one knows no such transaction.
    let slowly = json!({ "hashes": [{ "hash": item("v2_swap_eth_in")["hash"], "chain": "ethereum" }] });
    tokio::select! {
        answer = agent.call("classify_batch", slowly) => panic!("the node was not slow: {answer:?}"),
        () = asked.notified() => {}
    }
    assert_eq!(taxon.quota(&taxon.key).await["used"], 0, "nothing is settled yet");
    within(Duration::from_secs(10), async || taxon.quota(&taxon.key).await["used"] == 1).await;
}
