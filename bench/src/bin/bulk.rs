//! A job of many transactions beside the same calls made directly, by as many callers as a job has workers; and what a very long job takes of memory.
//!
//! `cargo build --release -p taxon && cargo run --release -p taxon-bench --bin bulk [--rows N] [--long N]`. The first half is new to the service, over a node
//! that answers after 20 ms; the second is the same transactions for other owners, whose facts are cached. `--long 0` leaves the long job out.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Parser;
use futures_util::future::try_join_all;
use taxon_bench::client::{self, Client};
use taxon_bench::figures::{Figures, number};
use taxon_bench::process::{cpu_seconds, memory};
use taxon_bench::service::{Service, Setup};
use taxon_bench::upstream::{Recording, Upstream};

const LATENCY: Duration = Duration::from_millis(20);
/// Hashes of EVM are checked against what was signed, so that none can be made up.
const CHAIN: &str = "demo-solana";
const BATCH: usize = 100;
/// As many calls at once as an instance works on parts of jobs.
const CALLERS: usize = 4;
const POLLED_EVERY: Duration = Duration::from_millis(50);
const SAMPLED_EVERY: Duration = Duration::from_millis(250);
const IDLE: Duration = Duration::from_secs(3);
/// A service that uses less processor time than this in the span before is at rest. History is written once a second.
const RESTED: Duration = Duration::from_millis(1_500);
const BUSY_SECONDS: f64 = 0.1;
const CACHED_RATIO_MIN: f64 = 0.6;
const COLD_RATIO_MIN: f64 = 0.7;
const GROWTH_MIB_MAX: f64 = 64.0;

#[derive(Parser)]
struct Arguments {
    /// Transactions of each job, and as many directly
    #[arg(long, default_value_t = 100_000)]
    rows: usize,
    /// Rows of the long job
    #[arg(long, default_value_t = 1_000_000)]
    long: usize,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let recording = Arc::new(Recording::demo()?);
    let upstream = Upstream::start(Arc::clone(&recording), LATENCY)?;
    let setup = Setup::new()?.with("TAXON_RATE_PER_MINUTE", "0").upstream(&upstream, &[]);
    let keys = setup.keys(5)?;
    let service = setup.start()?;
    let callers: Vec<Client> = keys.iter().map(|key| Client::new(&service.url, key)).collect::<Result<_, _>>()?;
    let [direct_cold, job_cold, direct_cached, job_cached, long] = callers.as_slice() else {
        anyhow::bail!("five owners")
    };
    direct_cold.ready().await?;
    let rows = arguments.rows;
    let hashes = |from: usize, count: usize| -> Vec<String> {
        (from..from.saturating_add(count))
            .map(|at| recording.solana_hash(u64::try_from(at).unwrap_or_default()))
            .collect()
    };
    let (one, other) = (hashes(0, rows), hashes(rows, rows));
    // The first calls of a process also find out what its tokens are.
    directly(direct_cold, &hashes(2 * rows, BATCH * CALLERS)).await?;

    println!("{rows} transactions as a job, and as {CALLERS} callers with calls of {BATCH}");
    let mut figures = Figures::default();
    let mut compare = |name: &str, what: &str, direct: f64, job: f64, goal: f64| {
        println!(
            "  {what:<32}{direct:>8.0} /s directly{job:>10.0} /s as a job{:>8.2} (goal: at least {goal})",
            job / direct
        );
        figures.add(format!("bulk_{name}_direct_per_second"), direct);
        figures.add(format!("bulk_{name}_job_per_second"), job);
        figures.add(format!("bulk_{name}_ratio"), job / direct);
    };
    rested(&service).await?;
    let direct = directly(direct_cold, &one).await?;
    rested(&service).await?;
    let job = as_job(job_cold, &other).await?;
    compare("cold", "new to the service", direct, job, COLD_RATIO_MIN);
    rested(&service).await?;
    let direct = directly(direct_cached, &other).await?;
    rested(&service).await?;
    let job = as_job(job_cached, &one).await?;
    compare("cached", "facts cached", direct, job, CACHED_RATIO_MIN);

    if arguments.long > 0 {
        upstream.set_latency(Duration::ZERO);
        let (growth, rate) = long_job(&service, long, &recording, 3 * rows, arguments.long).await?;
        println!(
            "  a job of {} rows at {rate:.0} /s: {growth:.1} MiB more than at idle before (goal: at most {GROWTH_MIB_MAX})",
            arguments.long
        );
        figures.add("bulk_growth_mib", growth);
    }
    figures.print();
    Ok(())
}

/// Waits until the service has nothing left to do, so that no measurement pays for what the one before left to be written.
async fn rested(service: &Service) -> anyhow::Result<()> {
    let mut used = cpu_seconds(service.id())?;
    loop {
        tokio::time::sleep(RESTED).await;
        let now = cpu_seconds(service.id())?;
        if now - used < BUSY_SECONDS {
            return Ok(());
        }
        used = now;
    }
}

/// Transactions a second.
async fn directly(client: &Client, hashes: &[String]) -> anyhow::Result<f64> {
    let next = AtomicUsize::new(0);
    let batches: Vec<&[String]> = hashes.chunks(BATCH).collect();
    let caller = async || {
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            let answer = client.post(client::batch(batch, Some(CHAIN))).await?;
            client::check(&answer, batch.len())?;
        }
        anyhow::Ok(())
    };
    let started = Instant::now();
    try_join_all((0..CALLERS).map(|_| caller())).await?;
    Ok(number(hashes.len()) / started.elapsed().as_secs_f64())
}

fn table(hashes: impl Iterator<Item = String>) -> String {
    let mut table = String::from("hash,chain\n");
    for hash in hashes {
        table.push_str(&hash);
        table.push(',');
        table.push_str(CHAIN);
        table.push('\n');
    }
    table
}

/// The same, from the upload of the table to the end of the job.
async fn as_job(client: &Client, hashes: &[String]) -> anyhow::Result<f64> {
    let table = table(hashes.iter().cloned());
    let started = Instant::now();
    finish(client, table, hashes.len()).await?;
    Ok(number(hashes.len()) / started.elapsed().as_secs_f64())
}

/// Uploads a table and waits until all of it was read.
async fn finish(client: &Client, table: String, rows: usize) -> anyhow::Result<String> {
    let taken = client.upload(table).await?;
    let id = taken.get("id").and_then(|id| id.as_str()).context("the job has an id")?.to_owned();
    loop {
        let status = client.job(&id).await?;
        let count = |field: &str| status.get(field).and_then(serde_json::Value::as_u64).unwrap_or_default();
        match status.get("state").and_then(|state| state.as_str()) {
            Some("open") => tokio::time::sleep(POLLED_EVERY).await,
            Some("finished") => {
                ensure!(count("read") == u64::try_from(rows)?, "{status}");
                return Ok(id);
            }
            _ => anyhow::bail!("{status}"),
        }
    }
}

/// By how much memory grew at most over a job and the download of its results, and rows a second.
async fn long_job(
    service: &Service,
    client: &Client,
    recording: &Arc<Recording>,
    from: usize,
    rows: usize,
) -> anyhow::Result<(f64, f64)> {
    tokio::time::sleep(IDLE).await;
    let before = memory(service.id())?.resident;
    let is_over = Arc::new(AtomicBool::new(false));
    let (process, over) = (service.id(), Arc::clone(&is_over));
    let sampler = std::thread::spawn(move || {
        let mut most = 0.0_f64;
        while !over.load(Ordering::Relaxed) {
            most = most.max(memory(process).map_or(0.0, |memory| memory.resident));
            std::thread::sleep(SAMPLED_EVERY);
        }
        most
    });
    let numbers = (from..from.saturating_add(rows)).filter_map(|at| u64::try_from(at).ok());
    let table = table(numbers.map(|number| recording.solana_hash(number)));
    let started = Instant::now();
    let id = finish(client, table, rows).await?;
    let rate = number(rows) / started.elapsed().as_secs_f64();
    let lines = client.results(&id, "jsonl").await?;
    ensure!(lines == rows, "{lines} results of {rows}");
    is_over.store(true, Ordering::Relaxed);
    let most = sampler.join().map_err(|_| anyhow::anyhow!("the sampler failed"))?;
    Ok(((most - before).max(0.0), rate))
}
