//! The OpenAPI document as a running service shows it: it is the one that integrators hold, its examples are real answers, schemathesis
//! finds nothing that contradicts it, and a browser can show it under a strict policy. Run `tests/agents/install` once before (`./test`
//! does).

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use axum::Router;
use axum::response::Html;
use axum::routing::get;
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;

use super::harness::{Anvil, Setup, Taxon, demo_scenario, read};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/openapi/examples.json");
const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
/// Stands for the engine's version and rules in the files; the service puts its own in.
const ENGINE: &str = "0.1.0+0000000000000000";
const NOWHERE: &str = "0xabababababababababababababababababababababababababababababababab";
const CHAIN: &str = "/components/schemas/SingleRequest/properties/chain";

/// A real node that knows none of the hashes that are made up, so that they are nowhere, and no node is at fault.
async fn node() -> &'static Anvil {
    static NODE: OnceCell<Anvil> = OnceCell::const_new();
    NODE.get_or_init(|| Anvil::start(1)).await
}

async fn setup() -> Setup {
    Setup::demo().with("TAXON_RPC_ETHEREUM", &node().await.url)
}

/// Address of one service for the tests that only read, and a key.
async fn shared() -> (&'static str, &'static str) {
    static SHARED: OnceCell<Taxon> = OnceCell::const_new();
    let start = || async { setup().await.with("TAXON_POOL_DEV", "1000000").start().await };
    let taxon = SHARED.get_or_init(start).await;
    (&taxon.url, &taxon.key)
}

/// Not by way of the shared service's own client: its connections end with the runtime of the test that made them.
async fn document(url: &str) -> Value {
    let answer = read(crate::harness::client().get(format!("{url}/openapi.json")).send().await.unwrap()).await;
    assert_eq!((answer.status, answer.headers["content-type"].as_str()), (200, "application/json"));
    answer.body
}

fn file(path: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The same with the engine's name masked.
fn masked(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mask = |(name, field): (String, Value)| match field {
                Value::String(_) if name == "engine" => (name, json!(ENGINE)),
                field => (name, masked(field)),
            };
            Value::Object(fields.into_iter().map(mask).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(masked).collect()),
        other => other,
    }
}

/// A tool of the environment that `tests/agents/install` makes.
fn python() -> Command {
    let program = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/agents/venv/bin/python");
    assert!(program.exists(), "{} is needed: run tests/agents/install, or ./test", program.display());
    Command::new(program)
}

async fn run(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

fn said(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[tokio::test]
async fn an_instance_shows_the_document_that_integrators_hold() {
    let mut shown = document(shared().await.0).await;
    let chains = shown.pointer_mut(CHAIN).and_then(Value::as_object_mut).unwrap().remove("enum").unwrap();
    for served in [Value::Null, json!("demo"), json!("demo-solana"), json!("ethereum"), json!("1"), json!("eth")] {
        assert!(chains.as_array().unwrap().contains(&served), "{served} is taken, and {chains} does not say so");
    }
    assert!(!chains.as_array().unwrap().contains(&json!("polygon")), "it is not served");
    assert!(masked(shown) == masked(file(DOCUMENT)), "it differs from docs/openapi.json in more than the chains");
}

/// The questions of the examples, each with what the service answers to it.
async fn asked() -> Value {
    let taxon = setup().await.start().await;
    let scenario = demo_scenario();
    let single = json!({ "hash": scenario.named("v2_swap_eth_in").hash, "chain": "demo", "explain": true });
    let batch = json!({ "hashes": [
        { "hash": scenario.named("v2_liquidity_add").hash, "tx_id": "row-17" },
        { "hash": NOWHERE, "tx_id": "row-18", "chain": "demo" },
    ] });
    let one = taxon.post("/v1/classify", &single).await;
    // Before the batch, which counts too.
    let quota = taxon.quota(&taxon.key).await;
    let several = taxon.post("/v1/classify-batch", &batch).await;
    let mut swap = one.body.clone();
    swap.as_object_mut().unwrap().remove("evidence");
    let journal = json!({
        "results": [swap],
        "prices": [{ "time": "2026-01-01", "asset": "ETH", "currency": "USD", "price": "2983.07" }],
    });
    let lines = taxon.post("/v1/journal", &journal).await;
    assert_eq!((one.status, several.status, lines.status), (200, 200, 200));
    assert_eq!(lines.body["unpriced"], 2, "lines with a price and without");
    assert!(one.body["evidence"].is_array(), "it was asked to explain");
    assert!(several.body["results"][0]["grey_area"].is_object(), "two positions are shown");
    assert_eq!(several.body["results"][1]["error"], "tx_not_found", "and an item that failed");
    assert_eq!(quota["used"], 1);
    masked(json!({
        "/v1/classify": { "request": single, "response": one.body },
        "/v1/classify-batch": { "request": batch, "response": several.body },
        "/v1/journal": { "request": journal, "response": lines.body },
        "/quota-status": { "response": quota },
        "/chains": { "response": taxon.get("/chains").await.body },
    }))
}

#[tokio::test]
async fn the_examples_are_real_answers() {
    let now = asked().await;
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(EXAMPLES, serde_json::to_string_pretty(&now).unwrap() + "\n").unwrap();
    }
    assert!(
        file(EXAMPLES) == now,
        "the service answers otherwise; read `UPDATE=1 cargo test -p taxon --test e2e openapi::the_examples && git diff`, then write the \
         document anew with `UPDATE=1 cargo test -p taxon --lib openapi`"
    );
}

#[tokio::test]
async fn the_examples_are_as_their_schemas_say() {
    let url = shared().await.0;
    let mut command = python();
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/agents/check_examples.py")).arg(url);
    let output = run(command).await;
    assert!(output.status.success(), "{}", said(&output));
    for place in [
        "post /v1/classify, request",
        "post /v1/classify-batch, 200",
        "post /v1/journal, 200",
        "get /quota-status, 200",
        "get /chains, 200",
    ] {
        assert!(said(&output).contains(place), "{place} has no example: {}", said(&output));
    }
    let shown = document(url).await;
    let engine =
        &shown["paths"]["/v1/classify"]["post"]["responses"]["200"]["content"]["application/json"]["example"]["engine"];
    assert!(engine.is_string() && engine != ENGINE, "an instance names its own engine in them: {engine}");
}

/// With another `SCHEMATHESIS_SEED` it tries other requests.
#[tokio::test]
async fn schemathesis_finds_nothing() {
    let (url, key) = shared().await;
    // It leaves files in its working folder.
    let folder = tempfile::tempdir().unwrap();
    let seed = std::env::var("SCHEMATHESIS_SEED").unwrap_or("1".to_owned());
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/agents/schemathesis.toml");
    let mut command = python();
    command.args([
        "-m",
        "schemathesis.cli",
        "--config-file",
        config.to_str().unwrap(),
        "run",
        &format!("{url}/openapi.json"),
        "--checks",
        "all",
        "--seed",
        &seed,
    ]);
    command.args(["-H", &format!("Authorization: Bearer {key}")]).current_dir(folder.path());
    let output = run(command).await;
    assert!(output.status.success(), "{}", said(&output));
    let document = document(url).await;
    let paths = document["paths"].as_object().unwrap().values();
    let operations: usize = paths.map(|methods| methods.as_object().unwrap().len()).sum();
    assert!(said(&output).contains(&format!("Tested: {operations}")), "every operation was tried: {}", said(&output));
}

#[tokio::test]
async fn the_page_and_its_files_carry_a_strict_policy() {
    let url = shared().await.0;
    for (path, kind) in [
        ("/docs/api", "text/html"),
        ("/docs/api/page.js", "text/javascript"),
        ("/docs/api/swagger-ui.js", "text/javascript"),
        ("/docs/api/swagger-ui.css", "text/css"),
    ] {
        let answer = read(crate::harness::client().get(format!("{url}{path}")).send().await.unwrap()).await;
        let header = |name: &str| answer.headers.get(name).map_or("", String::as_str);
        let essence = header("content-type").split(';').next();
        assert_eq!((answer.status, essence), (200, Some(kind)), "{path}");
        let policy = header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        for loose in ["unsafe-inline", "unsafe-eval", "http:", "https:", "*"] {
            assert!(!policy.contains(loose), "{path}: {policy}");
        }
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert!(answer.body.as_str().is_some_and(|body| body.len() > 100), "{path} is not empty");
    }
}

/// The page as a real browser builds it, and what the browser complains of.
async fn browse(url: String) -> (String, String) {
    let profile = tempfile::tempdir().unwrap();
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000"]);
    command.args(["--enable-logging=stderr", "--v=0", "--dump-dom"]);
    command.arg(format!("--user-data-dir={}", profile.path().display())).arg(url);
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap();
    let output = output.expect("chromium is needed: run ./test, which installs it");
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[tokio::test]
async fn a_browser_shows_every_operation_and_complains_of_nothing() {
    const COMPLAINT: &str = "Content Security Policy";
    // Were the browser silent about violations, the test below would show nothing.
    let page = async || ([("content-security-policy", "default-src 'none'")], Html("<script>document.title</script>"));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/", get(page))).await });
    let (_, complaints) = browse(format!("http://{address}/")).await;
    assert!(complaints.contains(COMPLAINT), "{complaints}");

    let url = shared().await.0;
    let shown = document(url).await;
    let (dom, complaints) = browse(format!("{url}/docs/api")).await;
    assert!(!complaints.contains(COMPLAINT), "{complaints}");
    for (path, item) in shown["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values() {
            let summary = operation["summary"].as_str().unwrap();
            assert!(dom.contains(summary), "{path}: {summary}");
        }
    }
    assert!(dom.contains("not tax advice"));
    let (dom, complaints) = browse(format!("{url}/docs/api#/Classify/classify")).await;
    assert!(!complaints.contains(COMPLAINT), "{complaints}");
    let hash = demo_scenario().named("v2_swap_eth_in").hash.clone();
    assert!(dom.contains(&hash), "an operation that is opened shows its example");
}
