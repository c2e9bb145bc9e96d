//! A fleet on real NATS servers: every request has one result or one dead letter, whoever dies.

mod blocks;
mod kills;
mod lake;
mod servers;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::crash::within;
use super::harness::{Setup, demo_scenario, root};
use servers::{Server, rows_below};

fn demo_table() -> String {
    root().join("demo/demo.csv").to_string_lossy().into_owned()
}

/// What a drain wrote as JSON Lines, and its dead letters.
struct Drained {
    rows: Vec<Value>,
    dead: Vec<Value>,
}

fn drain(setup: &Setup, folder: &Path) -> Drained {
    let out = folder.to_string_lossy().into_owned();
    setup.run(&["drain", "--out", &out, "--format", "jsonl"]);
    Drained { rows: rows_below(folder, "chain="), dead: rows_below(folder, "dead") }
}

#[tokio::test]
async fn three_commands_give_what_rest_gives() {
    let server = Server::start();
    let setup = Setup::demo().with("TAXON_NATS_URL", &server.url);
    let unmade = setup.output(&["feed", &demo_table(), "--demo"]);
    assert!(String::from_utf8_lossy(&unmade.stderr).contains("taxon streams make"), "{unmade:?}");
    setup.run(&["streams", "make"]);
    let taxon = setup.start().await;

    setup.run(&["feed", &demo_table(), "--demo"]);
    setup.run(&["work", "--until-empty", "--demo"]);
    let folder = setup.data.path().join("drained");
    let drained = drain(&setup, &folder);
    assert_eq!(drained.dead, Vec::<Value>::new());

    let hash = |row: &Value| row["hash"].as_str().unwrap().to_owned();
    let by_hash: BTreeMap<String, Value> = drained.rows.iter().map(|row| (hash(row), row.clone())).collect();
    assert_eq!((by_hash.len(), drained.rows.len()), (85, 85));
    let asked: Vec<Value> = by_hash.keys().map(|hash| json!({ "hash": hash })).collect();
    let answer = taxon.post("/v1/classify-batch", &json!({ "hashes": asked })).await;
    for row in answer.body["results"].as_array().unwrap() {
        assert_eq!(by_hash[&hash(row)], *row);
    }

    // The same commands again change nothing.
    let again = setup.run(&["feed", &demo_table(), "--demo"]);
    assert!(again.contains("0 transactions in 0 batches") && again.contains("--again"), "{again}");
    setup.run(&["work", "--until-empty", "--demo"]);
    assert_eq!(drain(&setup, &folder).rows.len(), 85);

    // Another form needs a folder of its own.
    let out = folder.to_string_lossy().into_owned();
    let mixed = setup.output(&["drain", "--out", &out, "--format", "csv"]);
    assert!(String::from_utf8_lossy(&mixed.stderr).contains("take another folder"), "{mixed:?}");
    for format in ["csv", "parquet"] {
        let out = setup.data.path().join(format);
        let told = setup.run(&["drain", "--out", &out.to_string_lossy(), "--format", format]);
        assert!(told.starts_with("85 rows in 2 files"), "{told}");
        let written = out.join("chain=demo/month=2026-01");
        assert!(written.read_dir().unwrap().any(|file| file.unwrap().file_name().to_string_lossy().ends_with(format)));
    }

    // What a drain that died left behind is removed, and what it had not noted is written.
    let stray = folder.join("chain=demo/month=2026-01/000000000002-000000000009.jsonl");
    std::fs::write(&stray, "{}\n").unwrap();
    assert_eq!(drain(&setup, &folder).rows.len(), 85);
    assert!(!stray.exists());

    // Streams that were made anew count anew: what was drained from others is left alone.
    let shown = setup.run(&["streams", "show", "--json"]);
    assert!(shown.contains("\"stream\":\"TAXON_RESULTS\",\"messages\":1"), "{shown}");
    setup.run(&["streams", "clear", "all", "--yes"]);
    assert!(setup.run(&["streams", "show", "--json"]).contains("\"stream\":\"TAXON_RESULTS\",\"messages\":0"));
}

#[tokio::test]
async fn what_is_no_request_is_a_dead_letter_and_the_worker_lives() {
    let server = Server::start();
    let setup = Setup::demo().with("TAXON_NATS_URL", &server.url);
    setup.run(&["streams", "make"]);
    let nats = server.client().await;
    let known = demo_scenario().transactions[0].hash.clone();
    let row = |hash: &str| json!({ "hash": hash, "chain": "demo", "tx_id": hash });
    let poison: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"{\"v\":1".to_vec(),
        vec![0xff; 200_000],
        json!({ "v": 2, "id": "later" }).to_string().into_bytes(),
        json!({ "v": 1, "id": "none", "rows": [] }).to_string().into_bytes(),
        json!({ "v": 1, "id": "misspelt", "rows": [row(&known)], "polcy": {} }).to_string().into_bytes(),
        json!({ "v": 1, "id": "many", "rows": vec![row(&known); 101] }).to_string().into_bytes(),
    ];
    let count = poison.len();
    for payload in poison {
        nats.publish("taxon.requests.feed", payload).await;
    }
    // Rows fail alone: one is read, one is no hash, one names a chain that is not served.
    let mut unserved = row(&known);
    unserved["chain"] = json!("nowhere");
    let rows = json!([row(&known), row("0x12"), unserved]);
    nats.publish("taxon.requests.feed", json!({ "v": 1, "id": "mixed", "rows": rows }).to_string().into_bytes()).await;
    setup.run(&["work", "--until-empty", "--demo"]);

    // Nor does a message among the results that is no outcome stop a drain.
    nats.publish("taxon.results.feed", b"no outcome".to_vec()).await;
    nats.publish("taxon.dead.feed", b"no letter".to_vec()).await;
    let folder = setup.data.path().join("drained");
    let drained = drain(&setup, &folder);
    assert_eq!(drained.rows.iter().map(|row| row["id"].as_str().unwrap()).collect::<Vec<_>>(), [known.as_str()]);
    assert_eq!(rows_below(&folder, "refused").len(), 1);
    let mut codes: Vec<&str> = drained.dead.iter().map(|dead| dead["code"].as_str().unwrap()).collect();
    codes.sort_unstable();
    assert_eq!(drained.dead.len(), count + 3);
    let told = ["invalid_hash", "invalid_request", "invalid_result", "unknown_version", "unsupported_chain"];
    assert_eq!(codes.iter().copied().collect::<BTreeSet<_>>(), told.into());
    assert_eq!(codes.iter().filter(|code| **code == "unknown_version").count(), 1);
    assert!(drained.dead.iter().all(|dead| !dead["reason"].as_str().unwrap().is_empty()));
}

#[tokio::test]
async fn rows_that_fail_upstream_are_asked_for_again_and_then_are_dead() {
    let server = Server::start();
    // A node that nobody answers for.
    let setup = Setup::demo().with("TAXON_NATS_URL", &server.url);
    setup.run(&["streams", "make"]);
    let nats = server.client().await;
    let known = demo_scenario().transactions[0].hash.clone();
    let absent = format!("0x{}", "ab".repeat(32));
    let row = |hash: &str, chain: &str| json!({ "hash": hash, "chain": chain, "tx_id": format!("{chain} {hash}") });
    // The last try of rows that were asked for five times.
    let last = json!({ "v": 1, "id": "last", "tries": 5, "rows": [row(&absent, "ethereum")] });
    let first = json!({ "v": 1, "id": "first", "rows": [row(&absent, "ethereum"), row(&known, "demo")] });
    for request in [last, first] {
        nats.publish("taxon.requests.feed", request.to_string().into_bytes()).await;
    }
    let worker = setup.running(&["work", "--demo"]);
    // What could be read is there; what could not is asked for again later, under a name of its own.
    within(Duration::from_secs(60), async || nats.count("TAXON_RESULTS").await >= 2).await;
    within(Duration::from_secs(60), async || nats.count("TAXON_DEAD").await == 1).await;
    within(Duration::from_secs(60), async || nats.count("TAXON_REQUESTS").await == 1).await;
    let waiting = nats.first("TAXON_REQUESTS").await;
    assert_eq!((&waiting["id"], &waiting["tries"], &waiting["pause"]), (&json!("first~"), &json!(1), &json!(5)));
    assert_eq!(waiting["rows"], json!([row(&absent, "ethereum")]));
    let dead = nats.first("TAXON_DEAD").await;
    let code = dead["rows"][0]["code"].as_str().unwrap();
    assert!(code.starts_with("upstream"), "{dead}");
    drop(worker);
}

#[tokio::test]
async fn a_full_stream_is_waited_for_and_nothing_is_lost() {
    let server = Server::start();
    let setup = Setup::demo().with("TAXON_NATS_URL", &server.url);
    setup.run(&["streams", "make"]);
    let nats = server.client().await;
    let requests = nats.feed_rows(0, 2_000).await;
    nats.limit("TAXON_RESULTS", 100_000).await;
    let worker = setup.running(&["work", "--demo", "--batches", "2"]);
    within(Duration::from_secs(60), async || nats.bytes("TAXON_RESULTS").await > 60_000).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let held = nats.count("TAXON_REQUESTS").await;
    assert!(held > 0, "the stream of results is not full");
    nats.limit("TAXON_RESULTS", 1 << 30).await;
    within(Duration::from_secs(60), async || nats.count("TAXON_REQUESTS").await == 0).await;
    drop(worker);
    let drained = drain(&setup, &setup.data.path().join("drained"));
    let ids: BTreeSet<String> = drained.rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!((drained.rows.len(), ids), (2_000, requests));
}

#[tokio::test]
async fn a_jobs_rows_are_read_by_the_fleet_and_by_the_service_where_no_worker_runs() {
    let server = Server::start();
    let setup = Setup::demo().with("TAXON_NATS_URL", &server.url);
    setup.run(&["streams", "make"]);
    let worker = setup.running(&["work", "--demo"]);
    let taxon = setup.start().await;
    let table = std::fs::read_to_string(demo_table()).unwrap();
    let job = async || {
        let made = taxon
            .raw(reqwest::Method::POST, "/v1/jobs")
            .bearer_auth(&taxon.key)
            .body(table.clone())
            .send()
            .await
            .unwrap();
        let made: Value = made.json().await.unwrap();
        let path = format!("/v1/jobs/{}", made["id"].as_str().unwrap());
        let status = async || {
            let asked = taxon.raw(reqwest::Method::GET, &path).bearer_auth(&taxon.key);
            asked.send().await.unwrap().json::<Value>().await.unwrap()
        };
        within(Duration::from_secs(60), async || status().await["state"] == "finished").await;
        let status = status().await;
        let results = taxon.raw(reqwest::Method::GET, &format!("{path}/results?format=jsonl"));
        let results = results.bearer_auth(&taxon.key).send().await.unwrap();
        (status, results.text().await.unwrap())
    };
    let (status, by_fleet) = job().await;
    assert_eq!((&status["read"], &status["failed"]), (&json!(85), &json!(0)), "{status}");
    let nats = server.client().await;
    assert!(nats.count("TAXON_RESULTS").await >= 1, "the fleet read none of it");
    assert_eq!(nats.count("TAXON_REQUESTS").await, 0);

    // Without a worker the service reads by itself, and the same.
    drop(worker);
    let (status, by_itself) = job().await;
    assert_eq!(status["read"], 85, "{status}");
    assert_eq!(by_itself, by_fleet);
}
