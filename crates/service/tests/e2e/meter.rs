//! The billing rail: what a partner's key classifies arrives at the sink, all of it, in order, whatever the sink or the process
//! goes through.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::crash::books::{Books, batch, single};
use super::crash::{make_room, on_a_full_disk, within};
use super::harness::{Postgres, Setup, Taxon, demo_scenario, free_port};

const TOKEN: &str = "rail-secret";
const PATH: &str = "/hidden-path";
/// The sink is tried again after at most a few seconds, as long as it has not failed often.
const ARRIVED: Duration = Duration::from_secs(30);
/// A lease runs out after 15 s; then another instance delivers.
const TAKEN_OVER: Duration = Duration::from_secs(60);

/// What the sink was sent, also while it refused.
#[derive(Default)]
struct Inside {
    /// Events that hold this text get a 500.
    refuses: Option<String>,
    refused: usize,
    taken: Vec<(HeaderMap, Value)>,
}

/// Stands for a partner's billing system. It is away until it opens.
struct Sink {
    port: u16,
    inside: Arc<Mutex<Inside>>,
}

impl Sink {
    fn new() -> Self {
        Self { port: free_port(), inside: Arc::default() }
    }

    async fn open() -> Self {
        let sink = Self::new();
        sink.listen().await;
        sink
    }

    async fn listen(&self) {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", self.port)).await.unwrap();
        let router = Router::new().fallback(take).with_state(Arc::clone(&self.inside));
        tokio::spawn(async move { axum::serve(listener, router).await });
    }

    fn refuse(&self, what: Option<&str>) {
        self.inside.lock().unwrap().refuses = what.map(str::to_owned);
    }

    fn refused(&self) -> usize {
        self.inside.lock().unwrap().refused
    }

    fn setup(&self, setup: Setup) -> Setup {
        let url = format!("http://127.0.0.1:{}{PATH}", self.port);
        setup.with("TAXON_METER_SINK", &url).with("TAXON_METER_TOKEN", TOKEN)
    }

    /// Each event as it came first: whoever hears an id twice ignores the second.
    fn events(&self) -> Vec<Value> {
        let mut known = BTreeSet::new();
        let taken = self.inside.lock().unwrap();
        taken
            .taken
            .iter()
            .map(|(_, event)| event.clone())
            .filter(|event| known.insert(event["id"].to_string()))
            .collect()
    }

    /// The hashes of one owner, in the order in which they arrived.
    fn hashes(&self, owner: &str) -> Vec<String> {
        let events = self.events().into_iter().filter(|event| event["data"]["owner"] == owner);
        events.map(|event| event["data"]["hash"].as_str().unwrap().to_owned()).collect()
    }

    async fn has(&self, count: usize, span: Duration) {
        within(span, async || self.events().len() >= count).await;
    }
}

async fn take(State(inside): State<Arc<Mutex<Inside>>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let mut inside = inside.lock().unwrap();
    let event: Value = serde_json::from_slice(&body).unwrap();
    if inside.refuses.as_ref().is_some_and(|what| event.to_string().contains(what)) {
        inside.refused += 1;
        return StatusCode::INTERNAL_SERVER_ERROR;
    }
    inside.taken.push((headers, event));
    StatusCode::ACCEPTED
}

fn partner(setup: &Setup, name: &str) -> (String, String) {
    let owner = format!("{name}@example.com");
    let key = setup.key(&owner, "partner", &[]);
    (owner, key)
}

async fn classify(taxon: &Taxon, key: &str, hashes: &[String]) {
    for hash in hashes {
        let answer = taxon.post_as(key, "/v1/classify", &single(hash)).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
}

fn exported(setup: &Setup) -> Vec<Value> {
    let lines = setup.run(&["meter", "export", "--since", "2020-01-01"]);
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn by_id(events: &[Value]) -> BTreeMap<&str, &Value> {
    events.iter().map(|event| (event["id"].as_str().unwrap(), event)).collect()
}

/// What `taxon meter status` says; it never gives the sink away.
fn status(setup: &Setup) -> String {
    let said = setup.run(&["meter", "status"]);
    assert!(!said.contains(TOKEN) && !said.contains(PATH) && !said.contains("127.0.0.1"), "{said}");
    said
}

fn waits(setup: &Setup, owner: &str, count: usize, reason: &str) -> bool {
    let said = status(setup);
    let row = said.lines().find(|line| line.contains(owner));
    row.is_some_and(|row| row.contains(reason) && row.split_whitespace().any(|word| word == count.to_string()))
}

#[tokio::test]
async fn each_billable_classification_is_one_cloud_event() {
    let sink = Sink::open().await;
    let setup = sink.setup(Setup::demo());
    let taxon = setup.start().await;
    let books = Books::open(&taxon).await;
    let (owner, key) = partner(&setup, "partner");
    let free = demo_scenario().transactions.into_iter().map(|done| done.hash);
    let free: Vec<String> = free.filter(|hash| !books.billable.contains(hash)).collect();

    classify(&taxon, &key, &books.billable[..5]).await;
    let answer = taxon.post_as(&key, "/v1/classify-batch", &batch(&books.billable[..20])).await;
    assert_eq!(answer.status, 200);
    classify(&taxon, &key, &free).await;
    classify(&taxon, &key, &books.billable[..25]).await;
    sink.has(25, ARRIVED).await;
    within(ARRIVED, async || status(&setup).contains("No event waits")).await;

    assert_eq!(
        sink.hashes(&owner),
        books.billable[..25],
        "in order, and neither what is free nor repeats nor other keys"
    );
    let taken = std::mem::take(&mut sink.inside.lock().unwrap().taken);
    for (headers, event) in &taken {
        assert_eq!(headers["content-type"], "application/cloudevents+json");
        assert_eq!(headers["authorization"], format!("Bearer {TOKEN}"));
        assert_eq!((&event["specversion"], &event["datacontenttype"]), (&"1.0".into(), &"application/json".into()));
        for required in ["id", "source", "type", "subject", "time"] {
            assert!(event[required].as_str().is_some_and(|text| !text.is_empty()), "{required}: {event}");
        }
        let data = &event["data"];
        assert_eq!((&data["owner"], &data["chain"]), (&owner.as_str().into(), &"demo".into()));
        assert!(key.contains(data["key_id"].as_str().unwrap()) && !event.to_string().contains(&key));
    }
    let taken: Vec<Value> = taken.into_iter().map(|(_, event)| event).collect();
    let exported = exported(&setup);
    assert_eq!((by_id(&taken).len(), by_id(&taken)), (25, by_id(&exported)), "the export is what was delivered");
}

#[tokio::test]
async fn events_wait_for_a_sink_that_is_down_and_survive_a_kill() {
    let sink = Sink::new();
    let setup = sink.setup(Setup::demo());
    let taxon = setup.start().await;
    let books = Books::open(&taxon).await;
    let (owner, key) = partner(&setup, "partner");
    classify(&taxon, &key, &books.billable[..4]).await;
    within(ARRIVED, async || waits(&setup, &owner, 4, "cannot be reached")).await;
    taxon.kill();
    assert!(waits(&setup, &owner, 4, "cannot be reached"));

    let taxon = setup.start_on(free_port(), key.clone()).await;
    sink.refuse(Some(&owner));
    sink.listen().await;
    classify(&taxon, &key, &books.billable[4..8]).await;
    within(ARRIVED, async || sink.refused() > 0 && waits(&setup, &owner, 8, "the sink answered 500")).await;

    sink.refuse(None);
    sink.has(8, ARRIVED).await;
    assert_eq!(sink.hashes(&owner), books.billable[..8]);
    within(ARRIVED, async || status(&setup).contains("No event waits")).await;
    classify(&taxon, &key, &books.billable[8..10]).await;
    sink.has(10, ARRIVED).await;
    assert_eq!(sink.hashes(&owner), books.billable[..10]);
}

#[tokio::test]
async fn one_partner_whose_events_wait_holds_up_no_other() {
    let sink = Sink::open().await;
    let setup = sink.setup(Setup::demo());
    let taxon = setup.start().await;
    let books = Books::open(&taxon).await;
    let ((late, late_key), (prompt, prompt_key)) = (partner(&setup, "late"), partner(&setup, "prompt"));
    sink.refuse(Some(&late));
    classify(&taxon, &late_key, &books.billable[..3]).await;
    within(ARRIVED, async || sink.refused() > 0).await;
    classify(&taxon, &prompt_key, &books.billable[..3]).await;
    sink.has(3, ARRIVED).await;
    assert_eq!((sink.hashes(&prompt), sink.hashes(&late)), (books.billable[..3].to_vec(), Vec::new()));
    within(ARRIVED, async || waits(&setup, &late, 3, "the sink answered 500")).await;
    sink.refuse(None);
    sink.has(6, ARRIVED).await;
    assert_eq!(sink.hashes(&late), books.billable[..3]);
}

#[tokio::test]
async fn events_are_done_with_once_a_full_disk_has_room_again() {
    let sink = Sink::open().await;
    let setup = sink.setup(Setup::demo());
    let books = Books::open(&setup.start().await).await;
    let partner = partner(&setup, "partner");
    let taxon = on_a_full_disk(&setup, &books, &partner).await;
    make_room(&taxon);
    classify(&taxon, &partner.1, &books.billable).await;
    sink.has(books.billable.len(), ARRIVED).await;
    within(ARRIVED, async || status(&setup).contains("No event waits")).await;
    assert_eq!(by_id(&sink.events()), by_id(&exported(&setup)));
}

#[tokio::test]
async fn without_a_sink_nothing_waits_and_the_ledger_still_tells() {
    let setup = Setup::demo();
    let taxon = setup.start().await;
    let books = Books::open(&taxon).await;
    let (owner, key) = partner(&setup, "partner");
    classify(&taxon, &key, &books.billable[..6]).await;
    assert_eq!(status(&setup), "sink: none: metered rows stay in the ledger\nNo event waits.\n");

    let before = exported(&setup);
    let hashes: Vec<&str> = before.iter().map(|event| event["data"]["hash"].as_str().unwrap()).collect();
    assert_eq!(hashes, books.billable[..6]);
    assert!(before.iter().all(|event| event["data"]["owner"] == owner.as_str() && event["specversion"] == "1.0"));
    classify(&taxon, &key, &books.billable[..7]).await;
    assert_eq!(exported(&setup)[..6], before, "the same events have the same ids, however often they are read");
    assert_eq!(by_id(&exported(&setup)).len(), 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_instance_delivers_when_the_one_that_did_is_killed() {
    let postgres = Postgres::start();
    let sink = Sink::open().await;
    let setup = sink.setup(Setup::demo().with("TAXON_DATABASE_URL", &postgres.url));
    let first = setup.start().await;
    let books = Books::open(&first).await;
    let partners = [partner(&setup, "one"), partner(&setup, "two")];
    for (_, key) in &partners {
        classify(&first, key, &books.billable[..3]).await;
    }
    sink.has(6, ARRIVED).await;

    let second = setup.start_on(free_port(), String::new()).await;
    let all = &books.billable[3..];
    let calls = all.iter().enumerate().flat_map(|(at, hash)| {
        let taxon = if at % 2 == 0 { &first } else { &second };
        partners.iter().map(move |(_, key)| async move { classify(taxon, key, std::slice::from_ref(hash)).await })
    });
    futures_util::future::join_all(calls).await;
    first.kill();
    sink.has(2 * books.billable.len(), TAKEN_OVER).await;

    let events = sink.events();
    assert_eq!(by_id(&events), by_id(&exported(&setup)), "every event arrived");
    for (owner, _) in &partners {
        let times = events.iter().filter(|event| event["data"]["owner"] == owner.as_str()).map(|event| &event["time"]);
        let times: Vec<jiff::Timestamp> = times.map(|time| time.as_str().unwrap().parse().unwrap()).collect();
        assert!(times.is_sorted(), "{owner}: {times:?}");
        assert_eq!(times.len(), books.billable.len());
    }
}
