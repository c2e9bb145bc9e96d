//! The ledger survives what a machine does to a process: it is killed, stopped, its disk fills up, its callers hang up. No answer
//! is given away unpaid, and none is paid for twice.

pub mod books;

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use serde_json::{Value, json};

use super::harness::{Answer, Setup, Taxon, free_port};
use books::{Books, Caller, Load, caller, ledger, single};

const KILLS: usize = 20;
/// Reservations of a killed process expire after this long.
const FREE_AGAIN: Duration = Duration::from_secs(60);
const NEVER: Duration = Duration::from_secs(3_600);

/// An Ethereum node that knows no transaction and takes its time to say so.
pub struct SlowNode {
    pub url: String,
    /// Transactions that it was asked for.
    asked: Arc<AtomicUsize>,
}

impl SlowNode {
    pub async fn start(pause: Duration) -> Self {
        let asked = Arc::new(AtomicUsize::new(0));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(shrug).with_state((pause, Arc::clone(&asked)));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, asked }
    }

    pub async fn is_asked_for(&self, transactions: usize) {
        within(Duration::from_secs(10), async || self.asked.load(Ordering::SeqCst) >= transactions).await;
    }
}

async fn shrug(State((pause, asked)): State<(Duration, Arc<AtomicUsize>)>, body: Bytes) -> Vec<u8> {
    let questions = match serde_json::from_slice(&body).unwrap() {
        Value::Array(questions) => questions,
        question => vec![question],
    };
    let transactions = questions.iter().filter(|question| question["method"] == "eth_getTransactionByHash").count();
    asked.fetch_add(transactions, Ordering::SeqCst);
    tokio::time::sleep(pause).await;
    let answer = |question: &Value| {
        let result = if question["method"] == "eth_chainId" { json!("0x1") } else { Value::Null };
        json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })
    };
    let told: Vec<Value> = questions.iter().map(answer).collect();
    serde_json::to_vec(&told).unwrap()
}

pub async fn within(span: Duration, probe: impl AsyncFn() -> bool) {
    within_since(Instant::now(), span, probe).await;
}

/// Whoever asks after the span finds it so, however long a busy machine takes for the answer.
pub async fn within_since(start: Instant, span: Duration, probe: impl AsyncFn() -> bool) {
    loop {
        let asked = start.elapsed();
        if probe().await {
            return;
        }
        assert!(asked < span, "it was not so when asked {asked:?} later, not {span:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A call that the slow node holds up; after it answers that it knows no such transaction, it is found on the demo chain.
fn slowly(hash: &str) -> Value {
    json!({ "hash": hash, "chain": "ethereum" })
}

pub async fn post_slowly(taxon: &Arc<Taxon>, key: &str, hash: &str) -> tokio::task::JoinHandle<Answer> {
    let (taxon, key, body) = (Arc::clone(taxon), key.to_owned(), slowly(hash));
    tokio::spawn(async move { taxon.post_as(&key, "/v1/classify", &body).await })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_twenty_kills_under_load_the_books_balance() {
    let setup = Setup::demo();
    let books = Books::open(&setup.start().await).await;
    let (regular, tight) = (caller(&setup, "regular", 1_000), caller(&setup, "tight", 30));
    for round in 0..KILLS {
        let newcomers =
            [caller(&setup, &format!("small-{round}"), 10), caller(&setup, &format!("large-{round}"), 1_000)];
        let taxon = setup.start_on(free_port(), String::new()).await;
        let callers = [regular.clone(), tight.clone()].into_iter().chain(newcomers);
        let load = Load::start(&books, &[&taxon.url], &callers.collect::<Vec<_>>());
        let enough = books.answers() + 2 + 3 * round;
        within(Duration::from_secs(20), async || books.answers() >= enough).await;
        taxon.kill();
        drop(load);
        // After each: a row that was lost might be read again, and counted, in the next round.
        books.check(&setup);
    }
    let paid = books.check(&setup);
    assert_eq!(books.refusals(), [(402, "quota_exceeded".to_owned())]);
    assert!(paid["tight@example.com"] <= 30);
    assert!(paid.iter().filter(|(owner, _)| owner.starts_with("small")).all(|(_, paid)| *paid <= 10), "{paid:?}");
}

#[tokio::test]
async fn a_place_held_by_a_killed_process_is_free_within_a_minute() {
    let node = SlowNode::start(NEVER).await;
    let setup = Setup::demo().with("TAXON_RPC_ETHEREUM", &node.url);
    let taxon = Arc::new(setup.start().await);
    let books = Books::open(&taxon).await;
    let (_, key) = caller(&setup, "one-place", 1);
    let call = post_slowly(&taxon, &key, &books.billable[0]).await;
    node.is_asked_for(1).await;
    call.abort();
    let _ = call.await;
    Arc::into_inner(taxon).unwrap().kill();
    let killed_at = Instant::now();

    let taxon = setup.start_on(free_port(), key).await;
    let other = single(&books.billable[1]);
    let at_first = taxon.post("/v1/classify", &other).await;
    assert_eq!((at_first.status, at_first.code()), (402, "quota_exceeded"), "the place was held");
    within_since(killed_at, FREE_AGAIN, async || taxon.post("/v1/classify", &other).await.status == 200).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_answers_what_is_in_flight_and_leaves_no_place_taken() {
    let node = SlowNode::start(Duration::from_secs(1)).await;
    let setup = Setup::demo().with("TAXON_RPC_ETHEREUM", &node.url);
    let taxon = Arc::new(setup.start().await);
    let books = Books::open(&taxon).await;
    let (owner, key) = caller(&setup, "in-flight", 7);
    let load = Load::start(&books, &[&taxon.url], &[caller(&setup, "regular", 1_000), caller(&setup, "tight", 30)]);
    let unknown = format!("0x{}", "5".repeat(64));
    let mut calls = Vec::new();
    for hash in books.billable.iter().take(6).chain([&unknown]) {
        calls.push(post_slowly(&taxon, &key, hash).await);
    }
    node.is_asked_for(7).await;
    taxon.terminate();
    let mut statuses = Vec::new();
    for call in calls {
        let answer = call.await.unwrap();
        statuses.push(answer.status);
        books.hear(&owner, &answer);
    }
    assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 404]);
    assert_eq!(Arc::into_inner(taxon).unwrap().stop().await, Some(0));
    drop(load);

    let paid = books.check(&setup);
    assert_eq!(paid[&owner], 6);
    // The failed call released the seventh reservation, so it is available at once, and it is the last.
    let taxon = setup.start_on(free_port(), key).await;
    assert_eq!(taxon.post("/v1/classify", &single(&books.billable[6])).await.status, 200);
    assert_eq!(taxon.post("/v1/classify", &single(&books.billable[7])).await.status, 402);
}

/// Room for some of the transactions that the tests read, and not for all.
const ROOM_BYTES: u64 = 700 << 10;
/// In which a shell counts the size of files.
const BLOCK_BYTES: u64 = 512;

/// A service whose disk filled up while the owner's transactions were read: its files may grow a little beyond what the database has now, and every write
/// past that fails.
pub async fn on_a_full_disk(setup: &Setup, books: &Books, (owner, key): &Caller) -> Taxon {
    let sizes = ["taxon.db", "taxon.db-wal"].map(|name| std::fs::metadata(setup.data.path().join(name)));
    let used = sizes.into_iter().flatten().map(|file| file.len()).max().unwrap();
    let blocks = (used + ROOM_BYTES) / BLOCK_BYTES;
    let small_disk = setup.clone().around(&format!("trap '' XFSZ; ulimit -S -f {blocks}; exec \"$@\" 2>/dev/null"));
    let taxon = small_disk.start_on(free_port(), key.clone()).await;
    let mut failures = 0;
    for hash in &books.billable {
        let answer = taxon.post("/v1/classify", &single(hash)).await;
        books.hear(owner, &answer);
        failures += usize::from(answer.status != 200);
    }
    assert!(failures > 5 && failures < books.billable.len(), "{failures}");
    assert_eq!(books.refusals(), [(500, "internal_error".to_owned())]);
    let ready = taxon.get("/readyz").await;
    assert_eq!((ready.status, ready.body.as_str()), (503, Some("the database takes no writes")));
    assert_eq!(taxon.get("/healthz").await.status, 200);
    taxon
}

pub fn make_room(taxon: &Taxon) {
    let lifted = Command::new("prlimit").args(["--fsize=unlimited", "--pid", taxon.pid()]).status().unwrap();
    assert!(lifted.success());
}

async fn serves_and_counts_all(taxon: &Taxon, books: &Books, owner: &str) {
    for hash in &books.billable {
        let answer = taxon.post("/v1/classify", &single(hash)).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    assert_eq!(books.check(&taxon.setup)[owner], books.billable.len());
}

#[tokio::test]
async fn a_full_disk_gives_nothing_away() {
    let setup = Setup::demo();
    let books = Books::open(&setup.start().await).await;
    let caller = caller(&setup, "someone", 1_000);
    let taxon = on_a_full_disk(&setup, &books, &caller).await;
    taxon.kill();
    books.check(&setup);
    let (owner, key) = caller;
    serves_and_counts_all(&setup.start_on(free_port(), key).await, &books, &owner).await;
}

#[tokio::test]
async fn once_a_full_disk_has_room_again_the_service_goes_on() {
    let setup = Setup::demo();
    let books = Books::open(&setup.start().await).await;
    let someone = caller(&setup, "someone", 1_000);
    let taxon = on_a_full_disk(&setup, &books, &someone).await;
    // Long enough that the background writes, every two seconds, have failed too.
    tokio::time::sleep(Duration::from_secs(3)).await;
    make_room(&taxon);
    serves_and_counts_all(&taxon, &books, &someone.0).await;
    let (latecomer, key) = caller(&setup, "latecomer", 10);
    assert_eq!(taxon.post_as(&key, "/v1/classify", &single(&books.billable[0])).await.status, 200);
    within(Duration::from_secs(10), async || {
        let keys = setup.run(&["keys", "list"]);
        keys.lines().any(|row| row.contains(&latecomer) && !row.contains("never"))
    })
    .await;
}

#[tokio::test]
async fn a_caller_who_hangs_up_still_pays() {
    let node = SlowNode::start(Duration::from_secs(1)).await;
    let setup = Setup::demo().with("TAXON_RPC_ETHEREUM", &node.url);
    let taxon = Arc::new(setup.start().await);
    let books = Books::open(&taxon).await;
    let (owner, key) = caller(&setup, "impatient", 1);
    let call = post_slowly(&taxon, &key, &books.billable[0]).await;
    node.is_asked_for(1).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    assert!(!ledger(&setup).iter().any(|row| row["owner"] == owner.as_str()));
    within(Duration::from_secs(10), async || ledger(&setup).iter().any(|row| row["owner"] == owner.as_str())).await;
    assert_eq!(books.check(&setup)[&owner], 1);
    // What was paid for is a repeat, also for whoever never heard the answer.
    assert_eq!(taxon.post_as(&key, "/v1/classify", &single(&books.billable[0])).await.status, 200);
}
