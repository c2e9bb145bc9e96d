//! The lines that an operator reads: to which request each belongs, and that no secret is in any, whatever strangers and nodes do.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};

use super::harness::{Postgres, Setup, Taxon, demo_scenario};

const LOG: &str = "log.txt";
const UNKNOWN: &str = "0x00000000000000000000000000000000000000000000000000000000deadbeef";
const WALLET: &str = "0x00000000000000000000000000000000000000aa";
/// As the session of somebody who is signed in.
const SESSION: &str = "5e55105e55105e55105e55105e55105e55105e55105e55105e55105e55105e55";

fn logged(format: &str) -> Setup {
    let setup = Setup::demo().with("TAXON_LOG", "debug").with("TAXON_LOG_FORMAT", format);
    setup.around(&format!("exec \"$@\" 2>{LOG}"))
}

/// All lines of a service that has ended in order, but for the link that is printed for whoever started it.
async fn lines(taxon: Taxon) -> Vec<String> {
    let data = Arc::clone(&taxon.setup.data);
    assert_eq!(taxon.stop().await, Some(0));
    let text = std::fs::read_to_string(data.path().join(LOG)).unwrap();
    text.lines().filter(|line| !line.starts_with("There is no operator yet")).map(str::to_owned).collect()
}

/// Secrets in every place where a confused caller may put one.
async fn pester(taxon: &Taxon) {
    let key = &taxon.key;
    for path in [
        format!("/{key}"),
        format!("/v1/classify/{key}?key={key}"),
        "/a@example.com".to_owned(),
        format!("/link/{SESSION}"),
    ] {
        taxon.get(&path).await;
        taxon.raw(Method::GET, &path).header("cookie", format!("session={SESSION}; key={key}")).send().await.unwrap();
    }
    let bodies = [
        json!({ "hash": key }),
        json!({ "hash": UNKNOWN, "chain": key }),
        json!({ "hash": UNKNOWN, "chain": "ethereum", "wallet": WALLET, "own_wallets": [WALLET] }),
        json!({ "hash": UNKNOWN, "chain": "http://user:s3cr3t@127.0.0.1:9/credential" }),
        json!({ "hash": UNKNOWN, "wallet": "a@example.com" }),
    ];
    for body in bodies {
        taxon.post("/v1/classify", &body).await;
        let odd = taxon.raw(Method::POST, "/v1/classify").header("x-request-id", key).basic_auth("user", Some(key));
        odd.json(&body).send().await.unwrap();
    }
    let form = [("email", "a@example.com"), ("password", "hunter2hunter2")];
    let page = taxon.raw(Method::POST, "/sign-in").header("content-type", "application/x-www-form-urlencoded");
    page.body(format!("{}={}&{}={}", form[0].0, form[0].1, form[1].0, form[1].1)).send().await.unwrap();
}

fn no_secret(lines: &[String], key: &str) {
    let text = lines.join("\n");
    let secrets =
        [&key[4..], "txn_", "Bearer", "s3cr3t", "credential", "://", SESSION, "example.com", "hunter2", WALLET];
    for secret in secrets {
        let line =
            lines.iter().find(|line| line.contains(secret)).filter(|line| secret != "txn_" || !line.contains("txn_…"));
        let line = line.filter(|line| secret != "://" || !line.contains("://…"));
        assert!(line.is_none(), "{secret}: {line:?}");
    }
    assert!(!text.is_empty());
}

#[tokio::test]
async fn no_secret_is_in_any_line() {
    for format in ["text", "json"] {
        let setup = logged(format).with("TAXON_RPC_ETHEREUM", "http://user:s3cr3t@127.0.0.1:9/credential");
        let taxon = setup.with("TAXON_METER_SINK", "http://user:s3cr3t@127.0.0.1:9/credential").start().await;
        pester(&taxon).await;
        let key = taxon.key.clone();
        let lines = lines(taxon).await;
        assert!(lines.iter().any(|line| line.contains("upstream_unavailable")), "the node that fails is told of");
        no_secret(&lines, &key);
    }
}

#[tokio::test]
async fn a_line_is_an_object_that_names_its_request() {
    let taxon = logged("json").start().await;
    let hash = demo_scenario().named("weth_wrap").hash.clone();
    let request = taxon.raw(Method::POST, "/v1/classify").bearer_auth(&taxon.key).header("x-request-id", "mine-1");
    assert_eq!(request.json(&json!({ "hash": hash, "chain": "demo" })).send().await.unwrap().status(), 200);
    let request =
        taxon.raw(Method::POST, "/v1/classify-batch").bearer_auth(&taxon.key).header("x-request-id", "mine-2");
    let items = json!({ "hashes": [{ "hash": UNKNOWN, "chain": "ethereum" }, { "hash": hash, "chain": "demo" }] });
    assert_eq!(request.json(&items).send().await.unwrap().status(), 200);
    let tool = json!({ "name": "classify_batch", "arguments": items });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool });
    let request = taxon.raw(Method::POST, "/mcp").bearer_auth(&taxon.key).header("x-request-id", "mine-3");
    assert_eq!(request.json(&message).send().await.unwrap().status(), 200);
    let own = taxon.get("/chains").await.headers["x-request-id"].clone();

    let lines: Vec<Value> = lines(taxon).await.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &lines {
        assert!(line["time"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok(), "{line}");
        assert!(line["message"].is_string() && line["target"].is_string(), "{line}");
        assert!(["ERROR", "WARN", "INFO", "DEBUG"].contains(&line["level"].as_str().unwrap()), "{line}");
    }
    let of = |id: &str, message: &str| lines.iter().find(|line| line["request_id"] == id && line["message"] == message);
    let answered = of("mine-1", "request").unwrap();
    assert_eq!((&answered["route"], &answered["status"]), (&json!("/v1/classify"), &json!(200)));
    for id in ["mine-2", "mine-3"] {
        let failed = of(id, "nodes failed a call").unwrap_or_else(|| panic!("{id}: {lines:?}"));
        assert_eq!(
            (&failed["chain"], &failed["code"], &failed["items"]),
            (&json!("ethereum"), &json!("upstream_unavailable"), &json!(1))
        );
    }
    assert!(of(&own, "request").is_some());
    assert!(lines.last().unwrap()["message"].as_str().unwrap().starts_with("stopping"), "the last line is written too");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_goes_away_is_told_of_without_its_password() {
    let postgres = tokio::task::spawn_blocking(Postgres::start).await.unwrap();
    let taxon = logged("text").with("TAXON_DATABASE_URL", &postgres.url).start().await;
    let key = taxon.key.clone();
    tokio::task::block_in_place(|| postgres.stop());
    let request = taxon.raw(Method::POST, "/v1/classify").bearer_auth(&key).header("x-request-id", "mine-4");
    let hash = demo_scenario().named("weth_wrap").hash.clone();
    assert_eq!(request.json(&json!({ "hash": hash, "chain": "demo" })).send().await.unwrap().status(), 500);
    let away = taxon.setup.clone().with("TAXON_DATABASE_URL", "postgres://taxon:s3cr3t@127.0.0.1:9/taxon");
    let refused = away.output(&["serve"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(1) && !said.contains("s3cr3t") && !said.contains("://"), "{said}");
    let lines = lines(taxon).await;
    let told = lines.iter().find(|line| line.contains("the ledger is out of reach"));
    assert!(told.is_some_and(|line| line.contains("ERROR") && line.ends_with("request_id=mine-4")), "{lines:?}");
    no_secret(&lines, &key);
}

/// A pipe that is full and that nobody reads.
#[tokio::test]
async fn whoever_reads_the_lines_holds_nobody_up() {
    let setup = Setup::demo().with("TAXON_LOG", "info").around("mkfifo pipe && exec 3<>pipe && exec \"$@\" 2>pipe");
    let taxon = setup.start().await;
    for _ in 0..1_500 {
        assert_eq!(taxon.raw(Method::GET, "/healthz").send().await.unwrap().status(), 200);
    }
    assert_eq!(taxon.stop().await, Some(0), "it ends all the same");
}

#[tokio::test]
async fn an_unknown_format_is_refused() {
    let output = Setup::demo().with("TAXON_LOG_FORMAT", "xml").output(&["chains"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("neither text nor json"));
}
