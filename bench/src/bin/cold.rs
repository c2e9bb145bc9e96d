//! What a batch of 100 takes that nobody has asked for before, over a node on this machine that answers every request after 20 ms.
//!
//! `cargo build --release -p taxon && cargo run --release -p taxon-bench --bin cold [--rounds N]`

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Parser;
use futures_util::future::try_join_all;
use taxon_bench::client::{self, Client};
use taxon_bench::figures::{Figures, Sorted, millis, number};
use taxon_bench::service::{Service, Setup};
use taxon_bench::upstream::{Recording, Upstream};

const LATENCY_MILLIS: u64 = 20;
const BATCH: usize = 100;
/// Four round trips, and what the service itself may take.
const WALL_MILLIS_MAX: f64 = 105.0;
/// Chains that are asked for a hash whose chain the caller does not name.
const SEVERAL: [&str; 8] = ["ethereum", "base", "arbitrum", "optimism", "polygon", "bsc", "avalanche", "gnosis"];
const CALLERS: usize = 16;
const CALLER_BATCHES: usize = 8;

#[derive(Parser)]
struct Arguments {
    /// Batches of each kind
    #[arg(long, default_value_t = 9)]
    rounds: usize,
}

/// What is asked.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    what: &'static str,
    chain: &'static str,
    is_pinned: bool,
}

const KINDS: [Kind; 4] = [
    Kind { name: "evm_pinned", what: "EVM, chain named", chain: "demo", is_pinned: true },
    Kind { name: "evm_found", what: "EVM, chain found among 9", chain: "demo", is_pinned: false },
    Kind { name: "solana_pinned", what: "Solana, chain named", chain: "demo-solana", is_pinned: true },
    Kind { name: "solana_found", what: "Solana, chain found", chain: "demo-solana", is_pinned: false },
];

struct Bench {
    recording: Arc<Recording>,
    upstream: Upstream,
    /// Transactions asked for so far: none is asked for twice.
    asked: AtomicU64,
}

/// One batch: how long it took, and what it took upstream.
struct Cost {
    millis: f64,
    requests: u64,
    calls: u64,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let recording = Arc::new(Recording::demo()?);
    let upstream = Upstream::start(Arc::clone(&recording), Duration::from_millis(LATENCY_MILLIS))?;
    let bench = Bench { recording, upstream, asked: AtomicU64::new(0) };
    println!(
        "batches of {BATCH} that are new to the service, {LATENCY_MILLIS} ms a round trip upstream, {} of each kind",
        arguments.rounds
    );
    println!(
        "  {:<26}{:>12}{:>10}{:>10}{:>8}{:>10}{:>8}",
        "", "tokens", "median ms", "most ms", "trips", "requests", "calls"
    );
    let (mut figures, mut worst) = (Figures::default(), 0.0f64);
    for kind in KINDS {
        let costs = bench.with_cold_tokens(kind, arguments.rounds).await?;
        worst = worst.max(report(kind, "cold", &costs, &mut figures));
        let (service, client) = bench.service().await?;
        bench.batch(&client, kind).await?;
        let mut costs = Vec::new();
        for _ in 0..arguments.rounds {
            costs.push(bench.batch(&client, kind).await?);
        }
        drop(service);
        worst = worst.max(report(kind, "warm", &costs, &mut figures));
    }
    println!("  the slowest kind's median: {worst:.1} ms (goal: at most {WALL_MILLIS_MAX}, 4 round trips and 25 ms)\n");
    for kind in KINDS.iter().filter(|kind| kind.is_pinned) {
        bench.throughput(*kind, &mut figures).await?;
    }
    figures.add("cold_batch_ms", worst);
    figures.print();
    Ok(())
}

fn report(kind: Kind, tokens: &str, costs: &[Cost], figures: &mut Figures) -> f64 {
    let walls = Sorted::new(costs.iter().map(|cost| cost.millis).collect());
    let mean = |of: fn(&Cost) -> u64| number(costs.iter().map(of).sum::<u64>()) / number(costs.len());
    let (wall, requests, calls) = (walls.quantile(0.5), mean(|cost| cost.requests), mean(|cost| cost.calls));
    let trips = wall / millis(Duration::from_millis(LATENCY_MILLIS));
    println!(
        "  {:<26}{tokens:>12}{wall:>10.1}{:>10.1}{trips:>8.2}{requests:>10.1}{calls:>8.0}",
        kind.what,
        walls.max()
    );
    figures.add(format!("cold_{}_{tokens}_ms", kind.name), wall);
    figures.add(format!("cold_{}_{tokens}_requests", kind.name), requests);
    wall
}

impl Bench {
    /// A service on an empty folder.
    async fn service(&self) -> anyhow::Result<(Service, Client)> {
        let setup = Setup::new()?.with("TAXON_RATE_PER_MINUTE", "0").upstream(&self.upstream, &SEVERAL);
        let key = setup.keys(1)?.pop().context("a key")?;
        let service = setup.start()?;
        let client = Client::new(&service.url, &key)?;
        // The connection to the service is there before the first batch, as it is for every later one; and the service is over its start.
        client.ready().await?;
        Ok((service, client))
    }

    /// Hashes that nobody has asked for.
    fn fresh(&self, kind: Kind) -> Vec<String> {
        let first = self.asked.fetch_add(u64::try_from(BATCH).unwrap_or_default(), Ordering::Relaxed);
        let numbers = (first..).take(BATCH);
        match kind.chain {
            "demo" => numbers.map(|number| self.recording.evm_hash(number)).collect(),
            _ => numbers.map(|number| self.recording.solana_hash(number)).collect(),
        }
    }

    async fn batch(&self, client: &Client, kind: Kind) -> anyhow::Result<Cost> {
        let body = client::batch(&self.fresh(kind), kind.is_pinned.then_some(kind.chain));
        let (requests, calls) = (self.upstream.requests(), self.upstream.calls());
        let started = Instant::now();
        let answer = client.post(body).await?;
        let millis = millis(started.elapsed());
        client::check(&answer, BATCH)?;
        Ok(Cost { millis, requests: self.upstream.requests() - requests, calls: self.upstream.calls() - calls })
    }

    /// The first batch of a process on an empty folder, so many times.
    async fn with_cold_tokens(&self, kind: Kind, rounds: usize) -> anyhow::Result<Vec<Cost>> {
        let mut costs = Vec::new();
        for _ in 0..rounds {
            let (_service, client) = self.service().await?;
            costs.push(self.batch(&client, kind).await?);
        }
        Ok(costs)
    }

    /// Transactions a second with several callers at once, all of them new.
    async fn throughput(&self, kind: Kind, figures: &mut Figures) -> anyhow::Result<()> {
        let (_service, client) = self.service().await?;
        self.batch(&client, kind).await?;
        let (requests, started) = (self.upstream.requests(), Instant::now());
        let caller = async || {
            for _ in 0..CALLER_BATCHES {
                self.batch(&client, kind).await?;
            }
            anyhow::Ok(())
        };
        try_join_all((0..CALLERS).map(|_| caller())).await?;
        let transactions = number(BATCH * CALLERS * CALLER_BATCHES);
        let rate = transactions / started.elapsed().as_secs_f64();
        let requests = number(self.upstream.requests() - requests);
        println!(
            "  {}: {rate:.0} new transactions/s, {CALLERS} callers at once, {:.1} requests upstream per 100",
            kind.what,
            requests * 100.0 / transactions
        );
        figures.add(format!("cold_{}_per_second", kind.name), rate);
        Ok(())
    }
}
