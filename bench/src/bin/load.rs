//! 100 keys at the full contractual rate: each calls once a second with 100 transactions, half of which its owner has asked for before
//! and half of which are new to its ledger. What the chain says of them is cached.
//!
//! Calls go out at fixed times, whether or not earlier ones are answered, and each is timed from the moment it was due: a service that
//! stalls cannot hide it by being asked less.
//!
//! `cargo build --release -p taxon && cargo run --release -p taxon-bench --bin load [--seconds N] [--soak] [--distinct N]`. `--soak` is
//! the same for ten minutes, which takes more transactions than memory keeps verdicts of, and looks whether memory grows.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Parser;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use taxon_bench::client::{self, Client};
use taxon_bench::corpus::{self, BATCH, Corpus, NEW};
use taxon_bench::figures::{Figures, Sorted, median, millis, number};
use taxon_bench::process::{cpu_seconds, memory};
use taxon_bench::service::Setup;
use taxon_bench::upstream::{Recording, Upstream};

const KEYS: usize = 100;
const SECONDS: usize = 60;
const SOAK_SECONDS: usize = 600;
const DISTINCT_MIN: usize = 10_000;
/// Calls that one key may make for the warm-up within its rate.
const WARM_CALLS: usize = 50;
const IDLE_SECONDS: u64 = 3;
const LATENCY_MILLIS: u64 = 20;
const SEED: u64 = 9;
const P99_MILLIS_MAX: f64 = 500.0;
const IDLE_MIB_MAX: f64 = 60.0;
const LOAD_MIB_MAX: f64 = 250.0;
const GROWTH_PERCENT_MAX: f64 = 5.0;
/// Failures that are printed.
const SHOWN_MAX: usize = 3;

#[derive(Parser)]
struct Arguments {
    #[arg(long)]
    seconds: Option<usize>,
    /// Ten minutes, and is there growth?
    #[arg(long)]
    soak: bool,
    /// How many transactions there are to ask for, at least.
    #[arg(long)]
    distinct: Option<usize>,
}

/// The outcome of one call.
struct Call {
    millis: f64,
    failure: Option<String>,
}

/// Once a second: memory of the service, in MiB.
type Samples = Vec<f64>;

fn main() -> anyhow::Result<()> {
    // One thread: the generator must not take both processors from the service.
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run(&Arguments::parse()))
}

async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let seconds = arguments.seconds.unwrap_or(if arguments.soak { SOAK_SECONDS } else { SECONDS });
    let recording = Arc::new(Recording::demo()?);
    let upstream = Upstream::start(Arc::clone(&recording), Duration::ZERO)?;
    let corpus =
        Arc::new(Corpus::new(&recording, KEYS, arguments.distinct.unwrap_or(DISTINCT_MIN).max(NEW * (seconds + 1))));
    let warm_keys = corpus.hashes().len() / BATCH / WARM_CALLS + 1;
    let setup = setup(&upstream, seconds)?;
    let keys = setup.keys(KEYS + warm_keys)?;
    // A second key of the same owners, since what is asked before counts in the first one's rate.
    let second_keys = setup.keys(KEYS)?;
    let service = setup.start()?;
    let client = Client::new(&service.url, keys.first().context("a key")?)?;
    client.ready().await?;
    tokio::time::sleep(Duration::from_secs(IDLE_SECONDS)).await;
    let idle = memory(service.id())?.resident;

    let (keys, warm_keys) = keys.split_at(KEYS);
    warm(&client, &corpus, warm_keys, &second_keys).await?;
    upstream.set_latency(Duration::from_millis(LATENCY_MILLIS));
    let (requests, bytes) = (upstream.requests(), service.database_bytes()?);
    let cpu = (cpu_seconds(service.id())?, cpu_seconds(std::process::id())?);
    let started = Instant::now();
    let sampler = tokio::spawn(sample(service.id(), seconds));
    let calls = offer(&client, keys, &corpus, seconds).await?;
    let span = started.elapsed().as_secs_f64();
    let cpu = (cpu_seconds(service.id())? - cpu.0, cpu_seconds(std::process::id())? - cpu.1);
    let samples = sampler.await??;

    let failures: Vec<&String> = calls.iter().filter_map(|call| call.failure.as_ref()).collect();
    let latencies = Sorted::new(calls.iter().map(|call| call.millis).collect());
    let peak = memory(service.id())?.peak;
    let median_mib = median(samples.clone());
    println!(
        "{KEYS} keys, one call of {BATCH} a second each for {seconds} s, {NEW} of them new to the owner's ledger; {} distinct transactions, cached",
        corpus.hashes().len()
    );
    println!(
        "  calls                {:>8}   {:.1} /s, {:.0} transactions/s",
        calls.len(),
        number(calls.len()) / span,
        number(calls.len() * BATCH) / span
    );
    println!("  errors               {:>8}", failures.len());
    for failure in failures.iter().take(SHOWN_MAX) {
        println!("    {failure}");
    }
    let quantile = |share: f64| latencies.quantile(share);
    println!(
        "  from due to answered {:>8.1} ms median, {:.1} p90, {:.1} p99, {:.1} most (goal: p99 under {P99_MILLIS_MAX})",
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        latencies.max()
    );
    println!("  processor            {:>8.2} of the service, {:.2} of the generator", cpu.0 / span, cpu.1 / span);
    println!("  requests upstream    {:>8}", upstream.requests() - requests);
    println!(
        "  resident memory      {idle:>8.1} MiB at idle (goal: under {IDLE_MIB_MAX}), {median_mib:.1} median under load, {peak:.1} at most (goal: under {LOAD_MIB_MAX})"
    );
    let mut figures = Figures::default();
    let name = if arguments.soak { "soak" } else { "load" };
    figures.add(format!("{name}_calls_per_second"), number(calls.len()) / span);
    figures.add(format!("{name}_errors"), number(failures.len()));
    figures.add(format!("{name}_p50_ms"), quantile(0.5));
    figures.add(format!("{name}_p90_ms"), quantile(0.9));
    figures.add(format!("{name}_p99_ms"), quantile(0.99));
    figures.add(format!("{name}_max_ms"), latencies.max());
    figures.add(format!("{name}_cpu_service"), cpu.0 / span);
    figures.add(format!("{name}_cpu_generator"), cpu.1 / span);
    figures.add(format!("{name}_cpu_ms_per_call"), cpu.0 * 1_000.0 / number(calls.len()));
    figures.add(format!("{name}_idle_mib"), idle);
    figures.add(format!("{name}_peak_mib"), peak);
    let grown = number(service.database_bytes()?.saturating_sub(bytes) / 1_024) * 1_024.0;
    figures.add(format!("{name}_database_bytes_per_new"), grown / number(calls.len() * NEW));
    if arguments.soak {
        let growth = growth(&samples)?;
        println!(
            "  growth               {growth:>8.1} % from minutes 3 and 4 to minutes 9 and 10 (goal: at most {GROWTH_PERCENT_MAX})"
        );
        figures.add("soak_growth_percent", growth);
    }
    figures.print();
    Ok(())
}

fn setup(upstream: &Upstream, seconds: usize) -> anyhow::Result<Setup> {
    let mut setup = Setup::new()?.upstream(upstream, &["ethereum", "base", "arbitrum"]);
    if seconds > SECONDS {
        // The 61st call of a key is due exactly when its first leaves the window: a millisecond earlier it would be refused.
        setup = setup.with("TAXON_RATE_PER_MINUTE", "61");
    }
    Ok(setup)
}

/// Other owners ask for everything once; then each owner asks for what is to be in its ledger already.
async fn warm(client: &Client, corpus: &Corpus, keys: &[String], owners: &[String]) -> anyhow::Result<()> {
    for (key, part) in keys.iter().zip(corpus.hashes().chunks(WARM_CALLS * BATCH)) {
        corpus::ask_once(&client.with_key(key)?, part).await?;
    }
    for (owner, key) in owners.iter().enumerate() {
        corpus::ask_once(&client.with_key(key)?, &corpus.first(owner)).await?;
    }
    Ok(())
}

/// Every key calls once a second, at a moment of its own.
async fn offer(client: &Client, keys: &[String], corpus: &Arc<Corpus>, seconds: usize) -> anyhow::Result<Vec<Call>> {
    let mut random = SmallRng::seed_from_u64(SEED);
    let started = Instant::now() + Duration::from_millis(100);
    let mut tasks = Vec::new();
    for (owner, key) in keys.iter().enumerate() {
        let (client, corpus) = (client.with_key(key)?, Arc::clone(corpus));
        let phase = Duration::from_secs_f64(random.random_range(0.0..1.0));
        let mut random = SmallRng::seed_from_u64(random.random());
        tasks.push(tokio::spawn(async move {
            let mut calls = Vec::new();
            for call in 0..seconds {
                let due = started + phase + Duration::from_secs(u64::try_from(call)?);
                tokio::time::sleep_until(due.into()).await;
                let (client, hashes) = (client.clone(), corpus.call(owner, call, &mut random));
                calls.push(tokio::spawn(async move { ask(&client, &hashes, due).await }));
            }
            let mut done = Vec::new();
            for call in calls {
                done.push(call.await?);
            }
            anyhow::Ok(done)
        }));
    }
    let mut done = Vec::new();
    for task in tasks {
        done.extend(task.await??);
    }
    Ok(done)
}

async fn ask(client: &Client, hashes: &[String], due: Instant) -> Call {
    let answer = client.post(client::batch(hashes, None)).await;
    let millis = millis(due.elapsed());
    let failure = answer.and_then(|answer| client::check(&answer, hashes.len())).err();
    Call { millis, failure: failure.map(|error| error.to_string()) }
}

async fn sample(process: u32, seconds: usize) -> anyhow::Result<Samples> {
    let mut samples = Samples::new();
    for _ in 0..seconds {
        tokio::time::sleep(Duration::from_secs(1)).await;
        samples.push(memory(process)?.resident);
    }
    Ok(samples)
}

/// Percent by which the last two minutes take more than the third and fourth, or the like of a shorter run.
fn growth(samples: &[f64]) -> anyhow::Result<f64> {
    let tenth = samples.len() / 10;
    let part = |from: usize| samples.get(from * tenth..(from + 2) * tenth).map(|part| median(part.to_vec()));
    let (early, late) = part(2).zip(part(8)).context("too short a run")?;
    ensure!(early > 0.0, "no memory was seen");
    Ok((late / early - 1.0) * 100.0)
}
