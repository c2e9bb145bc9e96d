//! Records what callers were told, to compare it with the ledger.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::{Answer, Setup, Taxon, demo_scenario};

/// Callers of one key that are at work at the same time.
const LANES: usize = 2;
const BATCH_ITEMS: usize = 5;

pub struct Books {
    free_categories: BTreeSet<String>,
    /// Billable demo transactions.
    pub billable: Vec<String>,
    heard: Mutex<Heard>,
}

#[derive(Default)]
struct Heard {
    answers: usize,
    billable: BTreeSet<(String, String)>,
    free: BTreeSet<(String, String)>,
    /// Answers other than 200: status and code.
    refusals: BTreeSet<(u16, String)>,
}

impl Books {
    /// Reads every demo transaction once, for an owner of its own, to know which are billable.
    pub async fn open(taxon: &Taxon) -> Arc<Self> {
        let categories = taxon.get("/categories").await.body;
        let rows = categories["categories"].as_array().unwrap().iter();
        let free = rows.filter(|row| row["billing"] == "free").map(|row| row["category"].as_str().unwrap().to_owned());
        let mut books =
            Self { free_categories: free.collect(), billable: Vec::new(), heard: Mutex::new(Heard::default()) };
        let key = taxon.setup.key("survey@example.com", "enterprise", &[]);
        let all: Vec<String> = demo_scenario().transactions.into_iter().map(|done| done.hash).collect();
        let answer = taxon.post_as(&key, "/v1/classify-batch", &batch(&all)).await;
        books.hear("survey@example.com", &answer);
        let rows = answer.body["results"].as_array().unwrap().iter();
        books.billable = rows.filter(|row| books.is_billable(row)).map(|row| text(row, "hash")).collect();
        assert!(books.billable.len() > 40, "the demo chain has enough to load with");
        Arc::new(books)
    }

    pub fn is_billable(&self, row: &Value) -> bool {
        row["needs_review"] == true || !self.free_categories.contains(row["category"].as_str().unwrap())
    }

    /// Takes down a whole answer that an owner received.
    pub fn hear(&self, owner: &str, answer: &Answer) {
        let mut heard = self.heard.lock().unwrap();
        heard.answers += 1;
        if answer.status != 200 {
            heard.refusals.insert((answer.status, answer.code().to_owned()));
            return;
        }
        let rows = answer.body["results"].as_array().cloned().unwrap_or_else(|| vec![answer.body.clone()]);
        for row in rows.iter().filter(|row| row["error"].is_null()) {
            let kept = if self.is_billable(row) { &mut heard.billable } else { &mut heard.free };
            kept.insert((owner.to_owned(), text(row, "hash")));
        }
    }

    pub fn answers(&self) -> usize {
        self.heard.lock().unwrap().answers
    }

    pub fn refusals(&self) -> Vec<(u16, String)> {
        self.heard.lock().unwrap().refusals.iter().cloned().collect()
    }

    /// Whoever was told something billable paid for it, once, and nobody paid for what is free. What was counted without being
    /// heard is allowed: the answer was lost on its way. Tells how much each owner paid.
    pub fn check(&self, setup: &Setup) -> BTreeMap<String, usize> {
        assert_eq!(setup.run(&["ledger", "check"]), "The books balance.\n");
        let mut counted: BTreeMap<(String, String), usize> = BTreeMap::new();
        for row in ledger(setup).iter().filter(|row| row["billed"] != "free") {
            *counted.entry((text(row, "owner"), text(row, "hash"))).or_default() += 1;
        }
        let heard = self.heard.lock().unwrap();
        let unpaid: Vec<_> = heard.billable.iter().filter(|row| !counted.contains_key(*row)).collect();
        let twice: Vec<_> = counted.iter().filter(|(_, times)| **times > 1).collect();
        let wrongly: Vec<_> = heard.free.iter().filter(|row| counted.contains_key(*row)).collect();
        assert!(unpaid.is_empty() && twice.is_empty() && wrongly.is_empty(), "{unpaid:?} {twice:?} {wrongly:?}");
        let mut paid = BTreeMap::new();
        for (owner, _) in counted.into_keys() {
            *paid.entry(owner).or_default() += 1;
        }
        paid
    }
}

pub fn ledger(setup: &Setup) -> Vec<Value> {
    setup.run(&["ledger", "export"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text(row: &Value, field: &str) -> String {
    row[field].as_str().unwrap().to_owned()
}

pub fn single(hash: &str) -> Value {
    json!({ "hash": hash, "chain": "demo" })
}

pub fn batch(hashes: &[String]) -> Value {
    json!({ "hashes": hashes.iter().map(|hash| single(hash)).collect::<Vec<_>>() })
}

/// Owner and key.
pub type Caller = (String, String);

/// Makes an owner with a pool of this size.
pub fn caller(setup: &Setup, name: &str, pool: usize) -> Caller {
    let owner = format!("{name}@example.com");
    let key = setup.key(&owner, "enterprise", &["--pool", &pool.to_string()]);
    (owner, key)
}

/// Callers who send single and batch calls to every instance. They stop when this is dropped.
pub struct Load {
    _callers: JoinSet<()>,
}

impl Load {
    pub fn start(books: &Arc<Books>, urls: &[&str], callers: &[Caller]) -> Self {
        let mut set = JoinSet::new();
        // The tasks of one caller start far from each other, so that one does not soon repeat what another has lost.
        let stride = demo_scenario().transactions.len() / LANES;
        for url in urls {
            for (at, caller) in callers.iter().enumerate() {
                for lane in 0..LANES {
                    set.spawn(call(Arc::clone(books), (*url).to_owned(), caller.clone(), at * 5 + lane * stride));
                }
            }
        }
        Self { _callers: set }
    }
}

/// Goes through all transactions again and again, from a place of its own; what breaks off is tried again later.
async fn call(books: Arc<Books>, url: String, (owner, key): Caller, start: usize) {
    let client = crate::harness::client();
    let all: Vec<String> = demo_scenario().transactions.into_iter().map(|done| done.hash).collect();
    let mut next = all.iter().cycle().skip(start % all.len());
    for turn in start.. {
        let (path, body) = if turn % 2 == 0 {
            ("/v1/classify", single(next.next().unwrap()))
        } else {
            let items: Vec<String> = next.by_ref().take(BATCH_ITEMS).cloned().collect();
            ("/v1/classify-batch", batch(&items))
        };
        let request = client.post(format!("{url}{path}")).bearer_auth(&key).json(&body);
        match whole(request).await {
            Some(answer) => books.hear(&owner, &answer),
            None => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

/// An answer that was received to its end.
async fn whole(request: reqwest::RequestBuilder) -> Option<Answer> {
    let response = request.send().await.ok()?;
    let status = response.status().as_u16();
    let body = serde_json::from_slice(&response.bytes().await.ok()?).ok()?;
    Some(Answer { status, headers: BTreeMap::new(), body })
}
