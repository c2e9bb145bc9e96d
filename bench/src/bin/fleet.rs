//! Workers of a fleet behind a real NATS server beside the same transactions asked for directly; and one worker beside two on the same processors.
//!
//! `cargo build --release -p taxon && cargo run --release -p taxon-bench --bin fleet [--rows N]`. All transactions are new to whoever reads them, over a node
//! that answers after 20 ms. A fleet's time is from the beginning of `taxon feed` until the last batch has its end.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use clap::Parser;
use futures_util::future::try_join_all;
use taxon_bench::client::{self, Client};
use taxon_bench::figures::{Figures, number};
use taxon_bench::nats::{Nats, Watch};
use taxon_bench::process::cpu_seconds;
use taxon_bench::service::{Setup, Worker};
use taxon_bench::upstream::{Recording, Upstream};

const LATENCY: Duration = Duration::from_millis(20);
/// Hashes of EVM are checked against what was signed, so that none can be made up.
const CHAIN: &str = "demo-solana";
const BATCH: usize = 100;
/// As many calls at once as a worker has batches in hand.
const CALLERS: u8 = 4;
/// What a worker does before it is measured, so that its rules are loaded and its connections open.
const WARM_ROWS: usize = 800;
const DIRECT_RATIO_MIN: f64 = 0.75;
const TWO_RATIO_MIN: f64 = 0.9;

#[derive(Parser)]
struct Arguments {
    /// Transactions of each measurement
    #[arg(long, default_value_t = 30_000)]
    rows: usize,
}

/// What the fleet's commands are run with, and the next transaction that nobody has read.
struct Fleet<'a> {
    setup: &'a Setup,
    recording: &'a Recording,
    watch: Watch,
    next: usize,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let rows = arguments.rows;
    let recording = Arc::new(Recording::demo()?);
    let upstream = Upstream::start(Arc::clone(&recording), LATENCY)?;
    let nats = Nats::start()?;
    let setup =
        Setup::new()?.with("TAXON_RATE_PER_MINUTE", "0").with("TAXON_NATS_URL", &nats.url).upstream(&upstream, &[]);
    ensure!(setup.command()?.args(["streams", "make"]).stdout(Stdio::null()).status()?.success(), "no streams");
    let mut fleet = Fleet { setup: &setup, recording: &recording, watch: nats.watch().await?, next: 0 };
    let mut figures = Figures::default();
    println!("{rows} transactions that are new, over a node that answers after 20 ms");

    let direct = directly(&upstream, &mut fleet, rows).await?;
    println!("  {:<44}{direct:>8.0} /s", format!("{CALLERS} callers of a service, {BATCH} at a time"));

    let (requests, cpu) = (upstream.requests(), cpu_seconds(nats.id())?);
    let one = fleet.measure(1, rows).await?;
    let per_row = number(usize::try_from(upstream.requests() - requests)?) / number(rows + WARM_ROWS);
    let nats_cpu = (cpu_seconds(nats.id())? - cpu) / (number(rows) / one);
    println!(
        "  {:<44}{one:>8.0} /s{:>8.2} of it (goal: at least {DIRECT_RATIO_MIN}); NATS takes {:.0} % of a processor, {per_row:.3} requests a transaction",
        "one worker through NATS",
        one / direct,
        nats_cpu * 100.0,
    );
    let two = fleet.measure(2, rows).await?;
    println!(
        "  {:<44}{two:>8.0} /s{:>8.2} of one (goal: at least {TWO_RATIO_MIN})",
        "two workers on the same processors",
        two / one
    );
    figures.add("fleet_direct_per_second", direct);
    figures.add("fleet_one_per_second", one);
    figures.add("fleet_direct_ratio", one / direct);
    figures.add("fleet_two_ratio", two / one);
    figures.print();
    Ok(())
}

/// Transactions a second, without a fleet.
async fn directly(upstream: &Upstream, fleet: &mut Fleet<'_>, rows: usize) -> anyhow::Result<f64> {
    let setup = Setup::new()?.with("TAXON_RATE_PER_MINUTE", "0").upstream(upstream, &[]);
    let keys = setup.keys(1)?;
    let service = setup.start()?;
    let key = keys.first().map(String::as_str).unwrap_or_default();
    let client = Client::new(&service.url, key)?;
    client.ready().await?;
    let (warm, measured) = (fleet.hashes(WARM_ROWS), fleet.hashes(rows));
    call(&client, &warm).await?;
    let started = Instant::now();
    call(&client, &measured).await?;
    Ok(number(rows) / started.elapsed().as_secs_f64())
}

async fn call(client: &Client, hashes: &[String]) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let batches: Vec<&[String]> = hashes.chunks(BATCH).collect();
    let caller = async || {
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            let answer = client.post(client::batch(batch, Some(CHAIN))).await?;
            client::check(&answer, batch.len())?;
        }
        anyhow::Ok(())
    };
    try_join_all((0..CALLERS).map(|_| caller())).await?;
    Ok(())
}

impl Fleet<'_> {
    /// Transactions that nobody has read.
    fn hashes(&mut self, count: usize) -> Vec<String> {
        let from = self.next;
        self.next += count;
        (from..self.next).map(|at| self.recording.solana_hash(u64::try_from(at).unwrap_or_default())).collect()
    }

    /// Transactions a second of so many workers.
    async fn measure(&mut self, workers: usize, rows: usize) -> anyhow::Result<f64> {
        let _running =
            (0..workers).map(|_| Worker::start(self.setup, CALLERS)).collect::<anyhow::Result<Vec<Worker>>>()?;
        self.pass(WARM_ROWS).await?;
        let took = self.pass(rows).await?;
        Ok(number(rows) / took.as_secs_f64())
    }

    /// Feeds so many and waits until all have their end.
    async fn pass(&mut self, rows: usize) -> anyhow::Result<Duration> {
        let mut table = String::from("hash,chain\n");
        for hash in self.hashes(rows) {
            table.push_str(&hash);
            table.push(',');
            table.push_str(CHAIN);
            table.push('\n');
        }
        let path = self.setup.folder().join(format!("{}.csv", self.next));
        std::fs::write(&path, table)?;
        let started = Instant::now();
        let fed = self.setup.command()?.arg("feed").arg(&path).stdout(Stdio::null()).status()?;
        ensure!(fed.success(), "the table is not fed");
        self.watch.until_empty().await?;
        Ok(started.elapsed())
    }
}
