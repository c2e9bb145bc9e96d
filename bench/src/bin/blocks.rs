//! Whole blocks beside the same transactions one by one: how many requests a transaction takes, and how many are read in a second, by one worker over a node
//! that answers after 20 ms.
//!
//! `cargo build --release -p taxon && cargo run --release -p taxon-bench --bin blocks [--slots N] [--corpus FILE.jsonl.xz]`. Without a corpus the blocks are slots
//! of the demo chain, of which there is no end and whose transactions take few calls anyway; a corpus holds recorded blocks of real chains, and what both ways
//! say of their transactions is compared.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Parser;
use futures_util::future::try_join_all;
use serde_json::{Value, json};
use taxon_bench::figures::{Figures, median, number};
use taxon_bench::nats::{Nats, Watch};
use taxon_bench::service::{Setup, Worker};
use taxon_bench::upstream::{RecordedBlock, RecordedBlocks, Recording, SLOT_TRANSACTIONS, Upstream};

const LATENCY: Duration = Duration::from_millis(20);
const BATCH: usize = 100;
const REQUESTS_MAX: f64 = 0.03;
const RATIO_MIN: f64 = 1.5;

#[derive(Parser)]
struct Arguments {
    /// Slots of the demo chain, of 100 transactions each
    #[arg(long, default_value_t = 100)]
    slots: u64,
    /// Recorded blocks, one transaction a line
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Gather the recorded transactions in blocks of so many: Ethereum's hold 150 to 250, those of most other chains more
    #[arg(long, requires = "corpus")]
    gather: Option<usize>,
    /// Batches that the worker has in hand
    #[arg(long, default_value_t = 4)]
    batches: u8,
    /// Measurements of each kind
    #[arg(long, default_value_t = 7)]
    rounds: usize,
}

/// A worker's surroundings, and what it reads.
struct Bench {
    setup: Setup,
    upstream: Upstream,
    watch: Watch,
    batches: u8,
    _nats: Nats,
}

/// What one pass took.
#[derive(Debug, Clone, Copy)]
struct Cost {
    per_second: f64,
    requests: f64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let mut figures = Figures::default();
    let blocks = match &arguments.corpus {
        Some(file) => {
            let recorded = RecordedBlocks::read(file, arguments.gather)?;
            println!("{} transactions without recorded traces are left out", recorded.left_out);
            let (blocks, chains) = (recorded.blocks(), recorded.chains());
            let upstream = Upstream::start(Arc::new(recorded), LATENCY)?;
            let mut setup = Setup::new()?;
            for slug in &chains {
                setup =
                    setup.with(&format!("TAXON_RPC_{}", slug.to_uppercase().replace('-', "_")), &upstream.url(slug));
            }
            let bench = Bench::start(setup, upstream, arguments.batches).await?;
            compare(&bench, &blocks, ("blocks", arguments.rounds), &mut figures).await?;
            bench.same(&blocks)?;
            figures.print();
            return Ok(());
        }
        None => demo_slots(arguments.slots, &Recording::demo()?),
    };
    let upstream = Upstream::start(Arc::new(Recording::demo()?), LATENCY)?;
    let setup = Setup::new()?.upstream(&upstream, &[]);
    let bench = Bench::start(setup, upstream, arguments.batches).await?;
    compare(&bench, &blocks, ("slots", arguments.rounds), &mut figures).await?;
    figures.print();
    Ok(())
}

fn demo_slots(count: u64, recording: &Recording) -> Vec<RecordedBlock> {
    let hashes = |slot: u64| {
        let first = slot * SLOT_TRANSACTIONS;
        (first..first + SLOT_TRANSACTIONS).map(|at| recording.solana_hash(at)).collect()
    };
    let block = |number| RecordedBlock { chain: "demo-solana".to_owned(), number, hashes: hashes(number) };
    (1_000..1_000 + count).map(block).collect()
}

async fn compare(
    bench: &Bench,
    blocks: &[RecordedBlock],
    (name, rounds): (&str, usize),
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let (warm, measured) = blocks.split_first().context("a block")?;
    let warm = std::slice::from_ref(warm);
    let transactions: usize = measured.iter().map(|block| block.hashes.len()).sum();
    println!(
        "{transactions} transactions of {} blocks, over a node that answers after 20 ms; one worker, {} batches in hand",
        measured.len(),
        bench.batches
    );
    let (mut singly, mut by_block) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let (first, rest) = (one_by_one(warm), one_by_one(measured));
        singly.push(bench.pass(&format!("singly{round}"), &first, &rest, transactions).await?);
        let (first, rest) = (whole(warm), whole(measured));
        by_block.push(bench.pass(&format!("blocks{round}"), &first, &rest, transactions).await?);
    }
    let middle = |costs: &[Cost]| Cost {
        per_second: median(costs.iter().map(|cost| cost.per_second).collect()),
        requests: median(costs.iter().map(|cost| cost.requests).collect()),
    };
    let (singly, by_block) = (middle(&singly), middle(&by_block));
    let ratio = by_block.per_second / singly.per_second;
    for (what, cost) in [("one by one", singly), ("by block", by_block)] {
        println!("  {what:<14}{:>8.0} /s{:>10.4} requests a transaction", cost.per_second, cost.requests);
    }
    println!(
        "  by block {ratio:.2} times as many a second (goal: at least {RATIO_MIN}), {:.4} requests a transaction (goal: at most {REQUESTS_MAX})",
        by_block.requests
    );
    figures.add(format!("{name}_per_second"), by_block.per_second);
    figures.add(format!("{name}_ratio"), ratio);
    figures.add(format!("{name}_requests"), by_block.requests);
    figures.add(format!("{name}_singly_requests"), singly.requests);
    Ok(())
}

fn whole(blocks: &[RecordedBlock]) -> Vec<Value> {
    let request = |block: &RecordedBlock| json!({ "block": { "chain": block.chain, "number": block.number } });
    blocks.iter().map(request).collect()
}

fn one_by_one(blocks: &[RecordedBlock]) -> Vec<Value> {
    let row = |block: &RecordedBlock, hash: &String| json!({ "hash": hash, "chain": block.chain });
    let rows: Vec<Value> =
        blocks.iter().flat_map(|block| block.hashes.iter().map(move |hash| row(block, hash))).collect();
    rows.chunks(BATCH).map(|rows| json!({ "rows": rows })).collect()
}

impl Bench {
    async fn start(setup: Setup, upstream: Upstream, batches: u8) -> anyhow::Result<Self> {
        let nats = Nats::start()?;
        let setup = setup.with("TAXON_NATS_URL", &nats.url);
        ensure!(setup.command()?.args(["streams", "make"]).stdout(Stdio::null()).status()?.success(), "no streams");
        Ok(Self { setup, upstream, watch: nats.watch().await?, batches, _nats: nats })
    }

    /// All of it by a worker that has read nothing before but what makes it load its rules.
    async fn pass(&self, lane: &str, warm: &[Value], measured: &[Value], transactions: usize) -> anyhow::Result<Cost> {
        let _worker = Worker::start(&self.setup, self.batches)?;
        self.publish(lane, "warm", warm).await?;
        self.watch.until_empty().await?;
        self.upstream.take_busy();
        let before = self.upstream.requests();
        self.publish(lane, "measured", measured).await?;
        self.watch.until_empty().await?;
        let dead = self.watch.dead_letters().await?;
        ensure!(dead == 0, "{dead} dead letters");
        let requests = self.upstream.requests() - before;
        Ok(Cost {
            per_second: number(transactions) / self.upstream.take_busy().as_secs_f64(),
            requests: number(usize::try_from(requests)?) / number(transactions),
        })
    }

    /// All at once, as a long feed would have them wait.
    async fn publish(&self, lane: &str, what: &str, requests: &[Value]) -> anyhow::Result<()> {
        let publish = async |(at, request): (usize, &Value)| {
            let mut request = request.clone();
            let fields = request.as_object_mut().context("a request")?;
            fields.insert("v".to_owned(), json!(1));
            fields.insert("id".to_owned(), json!(format!("{lane}.{what}.{at}")));
            self.watch.publish(lane, &request).await
        };
        try_join_all(requests.iter().enumerate().map(publish)).await?;
        Ok(())
    }

    /// Both ways say the same of every transaction; votes of validators are no rows of a block.
    fn same(&self, blocks: &[RecordedBlock]) -> anyhow::Result<()> {
        let (singly, by_block) = (self.drained("singly0")?, self.drained("blocks0")?);
        let transactions: usize = blocks.iter().map(|block| block.hashes.len()).sum();
        ensure!(singly.len() == transactions, "{} rows of {transactions}", singly.len());
        let differ = by_block.iter().filter(|(hash, row)| singly.get(*hash) != Some(row)).count();
        let without = singly.keys().filter(|hash| !by_block.contains_key(*hash)).count();
        println!(
            "  {} rows are the same both ways, {differ} differ, {without} are left out of blocks as votes",
            by_block.len() - differ
        );
        ensure!(differ == 0, "what is read of a block differs from what is read of its transactions");
        Ok(())
    }

    fn drained(&self, lane: &str) -> anyhow::Result<BTreeMap<String, Value>> {
        let folder = self.setup.folder().join(lane);
        let mut command = self.setup.command()?;
        command.args(["drain", "--format", "jsonl", "--lane", lane, "--out"]).arg(&folder);
        ensure!(command.stdout(Stdio::null()).status()?.success(), "{lane} is not drained");
        let mut rows = BTreeMap::new();
        gather(&folder, &mut rows)?;
        Ok(rows)
    }
}

fn gather(folder: &Path, rows: &mut BTreeMap<String, Value>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            gather(&path, rows)?;
        } else if path.extension().is_some_and(|ending| ending == "jsonl") {
            for line in std::fs::read_to_string(&path)?.lines() {
                let row: Value = serde_json::from_str(line)?;
                let hash = row.get("hash").and_then(Value::as_str).context("a hash")?.to_owned();
                rows.insert(hash, row);
            }
        }
    }
    Ok(())
}
