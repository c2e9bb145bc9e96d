//! Nodes that misbehave in every way we know (`fault.rs`), against the real binary. Whatever a node does, the caller sees the right
//! answer, an honest review or a code, soon; callers of other chains see nothing of it; and once the node is well, so is the service.

mod fault;
mod node;
mod page;
mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::{join_all, try_join_all};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::harness::{Setup, Taxon};
use fault::{FAULTS, Fault, Sees};
use node::{MARKER, Node, Place, USAGES_MAX, recorded};

/// A swap whose proceeds only the trace shows, of a token whose name must be asked for.
const TRANSACTION: &str = "v2_swap_eth_out";
const TRANSACTION_ON_SOLANA: &str = "sol_transfer";
const BATCH: usize = 100;
/// A machine that is busy with other tests is this much slower than promised.
const PATIENCE: u32 = 6;
/// A healthy chain answers within this, and a chain that is well again is asked again within this.
const AT_ONCE: Duration = Duration::from_secs(2);
/// Failing over to a second endpoint.
const FAILOVER: Duration = Duration::from_secs(4);
/// The service's whole memory, at its highest.
const MEMORY_KIB_MAX: u64 = 400 * 1024;
/// Batches under way at once: they are work for a machine, not for a node.
const BATCHES_AT_ONCE: usize = 2;
const PAIRS_AT_ONCE: usize = 8;

/// The fields that make a reading.
const READING: [&str; 9] =
    ["category", "treatment", "taxable", "needs_review", "confidence", "review_note", "protocol", "assets", "legs"];

type Checked<T> = Result<T, String>;

/// A fault and how long its first call took.
type Outcome = Checked<(&'static str, Duration)>;

/// In three parts, the second beside the first: faults that cost nothing but time, all of them beside a good endpoint, and then, one by
/// one, those that are work.
#[tokio::test(flavor = "multi_thread")]
async fn every_fault() {
    let (light, beside) = tokio::join!(alone(false), beside_a_good_one());
    let work = alone(true).await;
    let wrong: Vec<&String> = light.iter().chain(&beside).chain(&work).filter_map(|one| one.as_ref().err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    page::update(&light.into_iter().chain(work).flatten().collect(), &beside.into_iter().flatten().collect());
}

/// Each fault at the only endpoint of its chain.
async fn alone(are_work: bool) -> Vec<Outcome> {
    let mut groups: BTreeMap<&str, Vec<(usize, &'static Fault)>> = BTreeMap::new();
    for (at, fault) in FAULTS.iter().enumerate().filter(|(_, fault)| !fault.is_hidden && fault.is_work == are_work) {
        // Chains that fail with one code are grouped: whichever of them fails first, a hash without a chain gets that code.
        let group = match fault.sees {
            _ if are_work => fault.name,
            Sees::Code(code) => code,
            Sees::Right | Sees::RightButNames | Sees::Review => "answers",
        };
        groups.entry(group).or_default().push((at + 1, fault));
    }
    let batches = Arc::new(Semaphore::new(BATCHES_AT_ONCE));
    let trials = Arc::new(Semaphore::new(if are_work { 1 } else { FAULTS.len() }));
    let ran = join_all(groups.values().map(|faults| Group::run(faults, &batches, &trials))).await;
    ran.into_iter().flatten().collect()
}

/// Each fault at the first of two endpoints: the caller sees the good one's answer.
async fn beside_a_good_one() -> Vec<Outcome> {
    let healthy = healthy_nodes().await;
    let pairs = join_all(FAULTS.iter().enumerate().map(|(at, fault)| async move {
        let place = Place { is_solana: false, number: at + 1 };
        [Node::start(place, Some(fault.act)).await, Node::start(place, None).await]
    }))
    .await;
    let mut chains: Vec<(Place, String)> = healthy.iter().map(|node| (node.place, node.url.clone())).collect();
    chains.extend(pairs.iter().map(|[bad, good]| (bad.place, format!("{},{}", bad.url, good.url))));
    let taxon = serve(&chains).await;
    let turns = Arc::new(Semaphore::new(PAIRS_AT_ONCE));
    let group = Group { failing: taxon.key.clone(), right: right(&taxon).await, taxon, batches: turns, charged: None };
    let trial = async |fault: &'static Fault, place: Place| {
        let _turn = group.batches.acquire().await.unwrap();
        let body = json!({ "hash": hash_of(place, TRANSACTION, 0), "chain": place.slug() });
        let (answer, took) = group.ask(&body).await;
        let seen = group.seen(TRANSACTION, &answer, fault.beside_a_good_one);
        let seen = seen.and_then(|()| within(took, FAILOVER * PATIENCE));
        seen.map(|()| (fault.name, took)).map_err(|why| format!("{} beside a good endpoint: {why}", fault.name))
    };
    join_all(FAULTS.iter().zip(&pairs).map(|(fault, [bad, _])| trial(fault, bad.place))).await
}

async fn healthy_nodes() -> [Node; 2] {
    [Node::start(HEALTHY, None).await, Node::start(Place { is_solana: true, ..HEALTHY }, None).await]
}

/// One service, chains that fail alike, and one that is well.
struct Group {
    taxon: Taxon,
    /// A key for calls that must not be charged.
    failing: String,
    /// What a healthy node's transactions give, by name.
    right: BTreeMap<String, Value>,
    batches: Arc<Semaphore>,
    /// Where all chains fail: what the other key has paid before the first fault, and what the healthy part of a batch costs.
    charged: Option<[u64; 2]>,
}

const HEALTHY: Place = Place { is_solana: false, number: 0 };

impl Group {
    async fn run(
        faults: &[(usize, &'static Fault)],
        batches: &Arc<Semaphore>,
        trials: &Arc<Semaphore>,
    ) -> Vec<Outcome> {
        let healthy = healthy_nodes().await;
        let sick = join_all(faults.iter().map(|(number, fault)| {
            let families: &[bool] = if fault.on_solana.is_some() { &[false, true] } else { &[false] };
            let place = |is_solana: &bool| Place { is_solana: *is_solana, number: *number };
            join_all(families.iter().map(place).map(|place| Node::start(place, Some(fault.act))))
        }))
        .await;
        let nodes = healthy.iter().chain(sick.iter().flatten());
        let chains: Vec<(Place, String)> = nodes.map(|node| (node.place, node.url.clone())).collect();
        let taxon = serve(&chains).await;
        let failing = taxon.setup.key("failing@example.com", "dev", &[]);
        let right = right(&taxon).await;
        let mut group = Self { taxon, failing, right, batches: Arc::clone(batches), charged: None };
        if faults.iter().all(|(_, fault)| matches!(fault.sees, Sees::Code(_))) {
            group.charged = Some(group.price().await);
        }
        let mut outcomes = join_all(faults.iter().zip(&sick).map(|((_, fault), nodes)| async {
            let _turn = trials.acquire().await.unwrap();
            group.trial(fault, nodes).await.map_err(|why| format!("{}: {why}", fault.name))
        }))
        .await;
        if outcomes.iter().all(Result::is_ok) {
            outcomes.extend(group.afterwards(faults).await.err().map(Err));
        }
        outcomes
    }

    /// What was paid until now, and what the healthy part of a batch costs.
    async fn price(&self) -> [u64; 2] {
        let before = self.paid(&self.taxon.key).await;
        let items: Vec<Value> = healthy_items(USAGES_MAX - 2).into_iter().map(|(_, item)| item).collect();
        self.taxon.post("/v1/classify-batch", &json!({ "hashes": items })).await;
        let after = self.paid(&self.taxon.key).await;
        [after, after - before]
    }

    async fn paid(&self, key: &str) -> u64 {
        let status = self.taxon.quota(key).await;
        status["used"].as_u64().unwrap_or_else(|| panic!("{status}"))
    }

    /// One fault from its first call to the node's recovery: how long the first call took.
    async fn trial(&self, fault: &'static Fault, nodes: &[Node]) -> Outcome {
        let evm = &nodes[0];
        let most = Duration::from_secs(fault.seconds) * PATIENCE;
        let pinned = try_join_all(nodes.iter().map(|node| self.single(fault, node, most)));
        let (took, healthy) = tokio::join!(pinned, self.healthy(evm.place.number));
        let took = took.and_then(|took| healthy.map(|()| took[0]))?;
        let (batch, unpinned) = tokio::join!(self.batch(fault, evm, most), self.unpinned(fault, evm, most));
        batch.and(unpinned)?;
        for node in nodes {
            node.heal().await;
            self.recovered(fault, node).await?;
            if node.strays() > 0 {
                return Err("a redirect was followed".to_owned());
            }
        }
        Ok((fault.name, took))
    }

    /// Meanwhile, a hash of a healthy chain: it is found at once, without waiting for the chains that fail.
    async fn healthy(&self, number: usize) -> Checked<()> {
        let start = Instant::now();
        let answer = self.taxon.classify(&hash_of(HEALTHY, TRANSACTION, 2 * FAULTS.len() + 4 + number)).await;
        let seen = self.seen(TRANSACTION, &answer, Sees::Right);
        let seen = seen.and_then(|()| within(start.elapsed(), AT_ONCE * PATIENCE));
        seen.map_err(|why| format!("a healthy chain beside it: {why}"))
    }

    /// With the chain named.
    async fn single(&self, fault: &Fault, node: &Node, most: Duration) -> Checked<Duration> {
        let (name, sees) = if node.place.is_solana {
            (TRANSACTION_ON_SOLANA, fault.on_solana.unwrap())
        } else {
            (TRANSACTION, fault.sees)
        };
        let body = json!({ "hash": hash_of(node.place, name, 0), "chain": node.place.slug() });
        let (answer, took) = self.ask(&body).await;
        self.seen(name, &answer, sees).map_err(|why| format!("{}: {why}", node.place.slug()))?;
        within(took, most)?;
        Ok(took)
    }

    /// Without: other chains of the group fail beside it, and the hash is on this one alone.
    async fn unpinned(&self, fault: &Fault, node: &Node, most: Duration) -> Checked<()> {
        let body = json!({ "hash": hash_of(node.place, TRANSACTION, 1) });
        let (answer, took) = self.ask(&body).await;
        self.seen(TRANSACTION, &answer, fault.sees).map_err(|why| format!("without a chain: {why}"))?;
        within(took, most).map_err(|why| format!("without a chain: {why}"))
    }

    async fn ask(&self, body: &Value) -> (crate::harness::Answer, Duration) {
        let start = Instant::now();
        let answer = self.taxon.post_as(&self.failing, "/v1/classify", body).await;
        (answer, start.elapsed())
    }

    /// 99 transactions of the healthy chain, and one of this: it alone carries the failure.
    async fn batch(&self, fault: &Fault, node: &Node, most: Duration) -> Checked<()> {
        let _turn = self.batches.acquire().await.unwrap();
        let one = json!({ "hash": hash_of(node.place, TRANSACTION, 2), "chain": node.place.slug() });
        let healthy = healthy_items(2 * node.place.number);
        let at = BATCH / 3;
        let mut items: Vec<Value> = healthy.iter().map(|(_, item)| item.clone()).collect();
        items.insert(at, one);
        let start = Instant::now();
        let answer = self.taxon.post("/v1/classify-batch", &json!({ "hashes": items })).await;
        let took = start.elapsed();
        kept_secret(&answer.body)?;
        let mut rows = answer.body["results"].as_array().ok_or(format!("batch: {}", answer.body))?.clone();
        if rows.len() != BATCH {
            return Err(format!("batch: {} rows", rows.len()));
        }
        let row = rows.remove(at);
        match fault.sees {
            Sees::Code(code) if row["error"] != code => return Err(format!("batch: {row}")),
            Sees::Code(_) if row["treatment"] != "needs_review" || row["confidence"] != 0 => {
                return Err(format!("batch: {row}"));
            }
            Sees::Code(_) => {}
            sees => self.reads(TRANSACTION, &row, sees)?,
        }
        for ((name, _), row) in healthy.iter().zip(&rows) {
            self.reads(name, row, Sees::Right).map_err(|why| format!("beside it in a batch: {why}"))?;
        }
        within(took, most + AT_ONCE * PATIENCE).map_err(|why| format!("batch: {why}"))
    }

    /// The node does as it should: soon the caller sees it.
    async fn recovered(&self, fault: &Fault, node: &Node) -> Checked<()> {
        // What a token says of itself is kept.
        let sees = if fault.sees == Sees::RightButNames { Sees::RightButNames } else { Sees::Right };
        let start = Instant::now();
        let name = if node.place.is_solana { TRANSACTION_ON_SOLANA } else { TRANSACTION };
        let body = json!({ "hash": hash_of(node.place, name, 3), "chain": node.place.slug() });
        loop {
            let answer = self.taxon.post("/v1/classify", &body).await;
            let seen = self.seen(name, &answer, sees);
            if seen.is_ok() || fault.is_pausing {
                return Ok(());
            }
            if start.elapsed() > AT_ONCE * PATIENCE {
                return seen.map_err(|why| format!("{} is well again, and still: {why}", node.place.slug()));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Nothing lasting: nothing was charged that failed, memory stayed within bounds, and healthy calls are served.
    async fn afterwards(&self, faults: &[(usize, &'static Fault)]) -> Checked<()> {
        if let Some([before, each]) = self.charged {
            let failed = self.paid(&self.failing).await;
            let paid = self.paid(&self.taxon.key).await;
            // Beside the batch: the healthy call, and the one that shows that the node is well.
            let owed: u64 = faults.iter().map(|(_, fault)| each + 2 - u64::from(fault.is_pausing)).sum();
            if failed != 0 || paid != before + owed {
                return Err(format!("failures were charged: {failed} and {paid}, not 0 and {}", before + owed));
            }
        }
        let kib = highest_memory(self.taxon.pid());
        if page::is_told_to_measure() {
            eprintln!("{} KiB at most where callers see {}", kib, faults[0].1.sees.words());
        }
        if kib > MEMORY_KIB_MAX {
            return Err(format!("{kib} KiB of memory after {}", faults[0].1.sees.words()));
        }
        self.healthy(FAULTS.len() + 1).await
    }

    fn seen(&self, name: &str, answer: &crate::harness::Answer, sees: Sees) -> Checked<()> {
        kept_secret(&answer.body)?;
        match sees {
            Sees::Code(code) if answer.status == 502 && answer.body["error"]["code"] == code => Ok(()),
            Sees::Code(code) => Err(format!("{code} expected, {} {} seen", answer.status, answer.body)),
            _ if answer.status != 200 => Err(format!("200 expected, {} {} seen", answer.status, answer.body)),
            sees => self.reads(name, &answer.body, sees),
        }
    }

    fn reads(&self, name: &str, row: &Value, sees: Sees) -> Checked<()> {
        let right = &self.right[name];
        let fields: &[&str] = match sees {
            Sees::Right => &READING,
            Sees::RightButNames => &["category", "treatment", "taxable", "needs_review"],
            Sees::Review | Sees::Code(_) => &[],
        };
        if let Some(field) = fields.iter().find(|field| row[**field] != right[**field]) {
            return Err(format!("{name}: {field} is {}, not {}; {}", row[*field], right[*field], row["error"]));
        }
        let is_review = row["needs_review"] == true && row["taxable"].is_null() && row["review_note"].is_string();
        if sees == Sees::Review && !(is_review && row["error"].is_null()) {
            return Err(format!("{name}: a review expected, {row} seen"));
        }
        Ok(())
    }
}

/// Serves these chains from the given addresses.
async fn serve(chains: &[(Place, String)]) -> Taxon {
    let mut setup = Setup::demo().with("TAXON_POOL_DEV", "1000000");
    setup.flags.clear();
    setup.env.remove("TAXON_RPC_ETHEREUM");
    let rows: String = chains.iter().map(|(place, _)| place.row()).collect();
    let file = setup.data.path().join("chains.toml");
    std::fs::write(&file, rows).unwrap();
    setup = setup.with("TAXON_CHAINS", &file.display().to_string());
    for (place, urls) in chains {
        setup = setup.with(&format!("TAXON_RPC_{}", place.slug().to_uppercase()), urls);
    }
    setup.start().await
}

/// What the healthy chains give for every recorded transaction.
async fn right(taxon: &Taxon) -> BTreeMap<String, Value> {
    let mut right = BTreeMap::new();
    for is_solana in [false, true] {
        let place = Place { is_solana, ..HEALTHY };
        let done = &recorded()[usize::from(is_solana)].transactions;
        let items: Vec<Value> = done.iter().map(|done| json!({ "hash": place.hash(&done.hash, 0) })).collect();
        let answer = taxon.post("/v1/classify-batch", &json!({ "hashes": items })).await;
        let rows = answer.body["results"].as_array().unwrap();
        assert!(rows.iter().all(|row| row["error"].is_null()), "{}", answer.body);
        right.extend(done.iter().map(|done| done.name.clone()).zip(rows.iter().cloned()));
    }
    assert_eq!((&right[TRANSACTION]["category"], &right[TRANSACTION]["needs_review"]), (&json!("swap"), &json!(false)));
    right
}

fn hash_of(place: Place, name: &str, usage: usize) -> String {
    place.hash(&recorded()[usize::from(place.is_solana)].named(name).hash, usage)
}

/// Different for each `usage` and the one after it, so that none is known yet.
fn healthy_items(usage: usize) -> Vec<(&'static str, Value)> {
    let done = recorded()[0].transactions.iter();
    let item = |usage: usize| {
        done.clone().map(move |done| {
            (done.name.as_str(), json!({ "hash": HEALTHY.hash(&done.hash, usage), "chain": HEALTHY.slug() }))
        })
    };
    item(usage).chain(item(usage + 1)).take(BATCH - 1).collect()
}

fn highest_memory(pid: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let highest = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    highest.trim().trim_end_matches(" kB").parse().unwrap()
}

fn within(took: Duration, most: Duration) -> Checked<()> {
    if took <= most { Ok(()) } else { Err(format!("it took {took:.1?}, and {most:.1?} at most")) }
}

/// Neither where a node is nor what it said.
fn kept_secret(body: &Value) -> Checked<()> {
    let text = body.to_string();
    match [MARKER, "127.0.0.1", "localhost"].iter().find(|word| text.contains(**word)) {
        Some(word) => Err(format!("{word} reached the caller: {text}")),
        None => Ok(()),
    }
}
