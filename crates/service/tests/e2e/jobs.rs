//! Jobs: whole tables over HTTP, read while the caller does something else, whatever happens to the process that reads them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::cli::taxon;
use super::crash::books::{Books, caller, ledger};
use super::crash::{SlowNode, within};
use super::harness::{Answer, Postgres, Setup, Taxon, demo_scenario, free_port, read, root};

const KILLS: usize = 50;
const DONE: Duration = Duration::from_secs(60);

fn demo_table() -> String {
    std::fs::read_to_string(root().join("demo/demo.csv")).unwrap()
}

async fn upload(taxon: &Taxon, key: &str, query: &str, table: impl Into<reqwest::Body>) -> Answer {
    let request = taxon.raw(Method::POST, &format!("/v1/jobs{query}")).bearer_auth(key).body(table);
    read(request.send().await.unwrap()).await
}

async fn job(taxon: &Taxon, key: &str, method: Method, path: &str) -> Answer {
    read(taxon.raw(method, &format!("/v1/jobs{path}")).bearer_auth(key).send().await.unwrap()).await
}

/// The id of a job that was taken in.
async fn begun(taxon: &Taxon, key: &str, table: String) -> String {
    let answer = upload(taxon, key, "", table).await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    format!("/{}", answer.body["id"].as_str().unwrap())
}

async fn finished(taxon: &Taxon, key: &str, id: &str) -> Value {
    within(DONE, async || job(taxon, key, Method::GET, id).await.body["state"] == "finished").await;
    job(taxon, key, Method::GET, id).await.body
}

async fn results(taxon: &Taxon, key: &str, id: &str, format: &str) -> String {
    let path = format!("/v1/jobs{id}/results?format={format}");
    let response = taxon.raw(Method::GET, &path).bearer_auth(key).send().await.unwrap();
    assert_eq!(response.status(), 200);
    response.text().await.unwrap()
}

fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Hashes of the demo chain among many that no chain has: so many rows in all.
fn long_table(count: usize) -> (String, Vec<String>) {
    let known: Vec<String> = demo_scenario().transactions.into_iter().map(|done| done.hash).collect();
    let every = count / known.len();
    let mut hashes: Vec<String> = (0..count).map(|number| format!("0x{number:064x}")).collect();
    for (at, hash) in known.iter().enumerate() {
        hashes[at * every].clone_from(hash);
    }
    let mut table = "hash,chain\n".to_owned();
    for hash in &hashes {
        let chain = if known.contains(hash) { "demo" } else { "" };
        let _ = writeln!(table, "{hash},{chain}");
    }
    (table, known)
}

#[tokio::test]
async fn a_table_becomes_a_job_and_its_results_are_those_of_the_command_line() {
    let setup = Setup::demo();
    let instance = setup.start().await;
    let key = instance.key.clone();
    let table = format!("{}not a hash,demo\n", demo_table());
    let taken = upload(&instance, &key, "?name=year%202024.csv&start=false", table).await;
    assert_eq!((taken.status, &taken.body["name"]), (202, &json!("year 2024.csv")), "{}", taken.body);
    assert_eq!((&taken.body["state"], &taken.body["started_at"]), (&json!("ready"), &Value::Null), "{}", taken.body);
    let id = format!("/{}", taken.body["id"].as_str().unwrap());
    for _ in 0..2 {
        let started = job(&instance, &key, Method::POST, &format!("{id}/start")).await;
        assert!(started.status == 200 && started.body["state"] != "ready", "{}", started.body);
    }
    assert_eq!(job(&instance, &key, Method::POST, "/job_nobodys/start").await.status, 404);
    assert_eq!(upload(&instance, &key, "?start=perhaps", "x").await.status, 400);
    let done = finished(&instance, &key, &id).await;
    let count = demo_table().lines().count() - 1;
    assert_eq!((&done["rows"], &done["read"], &done["failed"]), (&json!(count), &json!(count), &json!(0)), "{done}");
    assert!(
        done["rows_per_second"].as_f64().unwrap() > 0.0 && done["seconds_left"].is_null() && done["reason"].is_null()
    );
    let told = &done["table"];
    assert_eq!((&told["columns"]["hash"], &told["columns"]["chain"]), (&json!("hash"), &json!("chain")));
    assert_eq!((&told["refused_count"], &told["refused"][0]["row"]), (&json!(1), &json!(count + 2)), "{told}");

    let folder = tempfile::tempdir().unwrap();
    for format in ["jsonl", "csv", "koinly", "beancount"] {
        let (file, demo) = (folder.path().join(format), root().join("demo/demo.csv"));
        let (file, demo) = (file.display().to_string(), demo.display().to_string());
        let output = taxon(folder.path(), &["bulk", &demo, "--demo", "--format", format, "--out", &file]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let (mut ours, mut theirs) =
            (results(&instance, &key, &id, format).await, std::fs::read_to_string(&file).unwrap());
        if format == "jsonl" {
            // Transactions of the same second stand in the order of the table, or of their hashes.
            let sorted = |text: &str| {
                let mut lines: Vec<&str> = text.lines().collect();
                lines.sort_unstable();
                lines.join("\n")
            };
            (ours, theirs) = (sorted(&ours), sorted(&theirs));
        }
        assert_eq!(ours, theirs, "{format}");
    }
    let times: Vec<String> = rows(&results(&instance, &key, &id, "jsonl").await)
        .iter()
        .map(|row| row["block"]["timestamp"].as_str().unwrap().to_owned())
        .collect();
    assert!(times.is_sorted(), "oldest first");

    let list = job(&instance, &key, Method::GET, "").await.body;
    assert_eq!((list["jobs"].as_array().unwrap().len(), &list["next"]), (1, &Value::Null));
    let cancelled = job(&instance, &key, Method::DELETE, &id).await;
    assert_eq!((cancelled.status, &cancelled.body["state"]), (200, &json!("finished")), "what has ended stays");
    let unknown = job(&instance, &key, Method::GET, &format!("{id}/results?format=excel")).await;
    assert_eq!((unknown.status, unknown.code()), (400, "invalid_request"));

    let stranger = setup.key("stranger@example.com", "dev", &[]);
    let others = [(Method::GET, id.clone()), (Method::DELETE, id.clone()), (Method::GET, format!("{id}/results"))];
    for (method, path) in others {
        let refused = job(&instance, &stranger, method, &path).await;
        assert_eq!((refused.status, refused.code()), (404, "not_found"), "{path}");
    }
    assert_eq!(job(&instance, &stranger, Method::GET, "").await.body["jobs"], json!([]));
    assert_eq!(job(&instance, "txn_nobody", Method::GET, "").await.status, 401);
}

#[tokio::test]
async fn what_cannot_be_understood_is_refused_and_leaves_nothing() {
    let instance = Setup::demo().start().await;
    let key = instance.key.clone();
    let hash = &demo_scenario().transactions[0].hash;
    let wide = format!("{}\n", "x,".repeat(5_000));
    let endless = format!("hash\n\"{}", "never closed\n".repeat(200_000));
    for (query, table, said) in [
        ("", String::new(), "the file has no rows"),
        ("", "a,b\n1,2\n".to_owned(), "no column holds hashes of transactions; the columns are: a, b"),
        ("", "hash\nnonsense\n".to_owned(), "no row of the table names a transaction"),
        ("", wide, "row 1 has more than 1024 columns"),
        ("", endless, "row 2 is longer than 1048576 bytes; a quote may be left open"),
        (
            "",
            format!("{{\"hash\":\"{hash}\"}}\n{{\"hash\":"),
            "row 2 is no line of a table: EOF while parsing a value at line 1 column 8",
        ),
        ("?column=proof", format!("hash\n{hash}\n"), "the table has no column `proof`; the columns are: hash"),
        ("?wallet=alice.eth", format!("hash\n{hash}\n"), "`wallet`: "),
        ("?chain=atlantis", format!("hash\n{hash}\n"), "the chain `atlantis` is not served here"),
    ] {
        let refused = upload(&instance, &key, query, table).await;
        let message = refused.body["error"]["message"].as_str().unwrap_or_default();
        assert!(refused.status == 400 && message.starts_with(said), "{}", refused.body);
    }
    // A table that breaks off on its way.
    let mut line = std::net::TcpStream::connect(instance.url.trim_start_matches("http://")).unwrap();
    write!(
        line,
        "POST /v1/jobs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-length: 9999\r\n\r\nhash\n{hash}\n"
    )
    .unwrap();
    line.shutdown(std::net::Shutdown::Write).unwrap();
    let mut said = String::new();
    let _ = line.read_to_string(&mut said);
    assert_eq!(job(&instance, &key, Method::GET, "").await.body["jobs"], json!([]));
    assert!(std::fs::read_dir(instance.setup.data.path()).unwrap().all(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        name.starts_with("taxon")
    }));
}

#[tokio::test]
async fn rows_past_the_pool_wait_until_it_grows() {
    let setup = Setup::demo();
    let instance = setup.start().await;
    let books = Books::open(&instance).await;
    let (owner, key) = caller(&setup, "small", 10);
    let id = begun(&instance, &key, demo_table()).await;
    within(DONE, async || job(&instance, &key, Method::GET, &id).await.body["state"] == "waiting").await;
    let waiting = job(&instance, &key, Method::GET, &id).await.body;
    assert!(waiting["reason"].as_str().unwrap().starts_with("the owner's pool of this period is used up"), "{waiting}");
    assert_eq!(
        ledger(&setup).iter().filter(|row| row["owner"] == owner.as_str() && row["billed"] == "pool").count(),
        10
    );
    let so_far = rows(&results(&instance, &key, &id, "jsonl").await);
    assert_eq!(so_far.len(), usize::try_from(waiting["read"].as_i64().unwrap()).unwrap(), "what was read is there");
    assert!(so_far.len() >= 10 && so_far.len() < books.billable.len());

    setup.key(&owner, "enterprise", &["--pool", "1000"]);
    let done = finished(&instance, &key, &id).await;
    assert_eq!((&done["read"], &done["reason"]), (&done["rows"], &Value::Null));
    let read = rows(&results(&instance, &key, &id, "jsonl").await);
    assert_eq!(books.check(&setup)[&owner], read.iter().filter(|row| books.is_billable(row)).count());
}

#[tokio::test]
async fn a_job_that_is_cancelled_or_loses_its_key_reads_no_further() {
    let node = SlowNode::start(Duration::from_millis(300)).await;
    let setup = Setup::demo().with("TAXON_RPC_ETHEREUM", &node.url);
    let instance = setup.start().await;
    let (table, _) = long_table(5_000);
    let key = instance.key.clone();
    let id = begun(&instance, &key, table.clone()).await;
    within(DONE, async || job(&instance, &key, Method::GET, &id).await.body["failed"].as_i64() > Some(0)).await;
    for _ in 0..2 {
        let cancelled = job(&instance, &key, Method::DELETE, &id).await;
        assert_eq!((cancelled.status, &cancelled.body["state"]), (200, &json!("cancelled")));
    }
    let lost = setup.key("lost@example.com", "dev", &[]);
    let other = begun(&instance, &lost, table).await;
    within(DONE, async || job(&instance, &lost, Method::GET, &other).await.body["failed"].as_i64() > Some(0)).await;
    setup.run(&["keys", "revoke", &lost]);
    let kept = setup.key("lost@example.com", "dev", &[]);
    within(DONE, async || job(&instance, &kept, Method::GET, &other).await.body["state"] == "failed").await;
    let failed = job(&instance, &kept, Method::GET, &other).await.body;
    assert_eq!(failed["reason"], "the key that brought the job was revoked");
    // What was in work when it was cancelled has come in by now, and nothing after it.
    let count = async |id: &str| {
        let status = job(&instance, &instance.key, Method::GET, id).await.body;
        status["read"].as_i64().unwrap() + status["failed"].as_i64().unwrap()
    };
    let before = count(&id).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(before < 5_000 && count(&id).await == before);
}

#[tokio::test]
async fn a_job_keeps_to_the_rate_of_its_owner_and_holds_up_no_other_call() {
    let node = SlowNode::start(Duration::ZERO).await;
    let setup = Setup::demo().with("TAXON_RPC_ETHEREUM", &node.url).with("TAXON_RATE_PER_MINUTE", "8");
    let (_, key) = caller(&setup, "hasty", 10_000);
    let instance = setup.start_on(free_port(), key.clone()).await;
    let (table, known) = long_table(2_000);
    let id = begun(&instance, &key, table).await;
    let settled = async || {
        let status = job(&instance, &key, Method::GET, &id).await.body;
        status["read"].as_i64().unwrap() + status["failed"].as_i64().unwrap()
    };
    // Looking is limited too.
    for _ in 0..6 {
        tokio::time::sleep(Duration::from_secs(5)).await;
        if settled().await == 800 {
            break;
        }
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(settled().await, 800, "8 calls of 100 a minute");
    assert_eq!(instance.classify(&known[0]).await.status, 200, "the key has calls left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_fifty_kills_every_row_is_there_once_and_the_ledger_is_exact() {
    let node = SlowNode::start(Duration::from_millis(50)).await;
    // Without packs it starts at once; what the rows are read as does not matter here.
    let packs = tempfile::tempdir().unwrap();
    let setup = Setup::demo().with("TAXON_RPC_ETHEREUM", &node.url);
    let setup = setup.flag("--packs").flag(&packs.path().display().to_string());
    let first = setup.start().await;
    let books = Books::open(&first).await;
    let (owner, key) = caller(&setup, "patient", 1_000);
    let (table, known) = long_table(12_000);
    let id = begun(&first, &key, table).await;
    first.kill();
    for round in 0..KILLS {
        let instance = setup.start_on(free_port(), key.clone()).await;
        tokio::time::sleep(Duration::from_millis(u64::try_from(round % 7).unwrap() * 40)).await;
        instance.kill();
    }
    let last = setup.start_on(free_port(), key.clone()).await;
    let before = job(&last, &key, Method::GET, &id).await.body;
    assert_ne!(before["state"], "finished", "the kills came during the job: {before}");
    let done = finished(&last, &key, &id).await;
    assert_eq!((&done["rows"], &done["read"]), (&json!(12_000), &json!(known.len())), "{done}");
    assert_eq!(done["failed"], json!(12_000 - known.len()));
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows(&results(&last, &key, &id, "jsonl").await) {
        *seen.entry(row["hash"].as_str().unwrap().to_owned()).or_default() += 1;
        assert_eq!(row["error"].is_null(), known.iter().any(|hash| row["hash"] == hash.as_str()), "{row}");
    }
    assert!(seen.len() == 12_000 && seen.values().all(|times| *times == 1));
    assert_eq!(books.check(&setup)[&owner], books.billable.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_instances_on_one_database_share_one_job() {
    let postgres = Postgres::start();
    let nodes = [SlowNode::start(Duration::from_millis(200)).await, SlowNode::start(Duration::from_millis(200)).await];
    let setup = Setup::demo().with("TAXON_DATABASE_URL", &postgres.url);
    let (owner, key) = caller(&setup, "shared", 1_000);
    let own = |node: &SlowNode| setup.clone().with("TAXON_RPC_ETHEREUM", &node.url);
    let (one, other) = (own(&nodes[0]), own(&nodes[1]));
    let (one, other) = tokio::join!(one.start_on(free_port(), key.clone()), other.start_on(free_port(), key.clone()));
    let books = Books::open(&one).await;
    let (table, known) = long_table(4_000);
    let id = begun(&one, &key, table).await;
    let done = finished(&other, &key, &id).await;
    assert_eq!((&done["rows"], &done["read"]), (&json!(4_000), &json!(known.len())), "{done}");
    for node in &nodes {
        // Each looked for hundreds of the rows.
        node.is_asked_for(400).await;
    }
    let hashes: Vec<Value> = rows(&results(&one, &key, &id, "jsonl").await);
    let distinct: std::collections::BTreeSet<&str> = hashes.iter().filter_map(|row| row["hash"].as_str()).collect();
    assert_eq!((hashes.len(), distinct.len()), (4_000, 4_000));
    assert_eq!(books.check(&setup)[&owner], books.billable.len());
}
