//! How many keys some instances can serve: what a call takes is measured on this machine, and many instances on one PostgreSQL are
//! simulated from it. And what a fleet needs for so many transactions a month, from the same measurements.
//!
//! `cargo build --release -p taxon && cargo run --release -p taxon-bench --bin capacity [--calls N] [--cold PER_MILLE] [--month N]
//! [--node-requests N] [--node-price N]`. PostgreSQL is started by `tools/postgres` where it is installed; without it, one instance on SQLite
//! is told.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use clap::Parser;
use taxon_bench::corpus::BATCH;
use taxon_bench::figures::{Figures, Sorted, number};
use taxon_bench::monthly::{Batch, Needs, Worker, most_of_nodes, most_of_workers};
use taxon_bench::simulation::{Arrivals, Draw, Plan, Work};
use taxon_bench::times::{Calls, Times, Turns};

const INSTANCES: [usize; 5] = [1, 2, 4, 8, 16];
const KEYS: [usize; 7] = [100, 200, 500, 1_000, 2_000, 5_000, 10_000];
const CORES: usize = 2;
/// Calls a second and key: the contract's 60 a minute.
const RATE: f64 = 1.0;
const BURST: u32 = 10;
const SECONDS: f64 = 60.0;
const SEED: u64 = 1;
/// Past this share queues grow faster than anybody would wait.
const SHARE_MAX: f64 = 0.95;
/// What a sensible operator uses of a machine.
const SHARE_PLANNED: f64 = 0.7;
const MILLION: f64 = 1_000_000.0;
const SECONDS_PER_HOUR: f64 = 3_600.0;

#[derive(Parser)]
struct Arguments {
    /// Calls of each kind that are measured
    #[arg(long, default_value_t = 120)]
    calls: usize,
    /// Of a thousand calls, those whose transactions nobody has asked for before
    #[arg(long, default_value_t = 100)]
    cold: u32,
    /// Transactions a month that a fleet is planned for
    #[arg(long, default_value_t = 1e9)]
    month: f64,
    /// HTTP requests a second that all nodes together take
    #[arg(long)]
    node_requests: Option<f64>,
    /// Price of a million calls to nodes, in any currency
    #[arg(long)]
    node_price: Option<f64>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let times = Times::measure(arguments.calls).await?;
    let mut figures = Figures::default();
    measured(&times);
    costs(&times, &mut figures);
    simulated("SQLite", &[1], &times, &times.sqlite, arguments.cold, &mut figures);
    match &times.postgres {
        Some(turns) => simulated("PostgreSQL", &INSTANCES, &times, turns, arguments.cold, &mut figures),
        None => println!("\nPostgreSQL: not installed, not measured"),
    }
    fleet(&arguments, &times.cold, &mut figures);
    figures.print();
    Ok(())
}

fn measured(times: &Times) {
    println!("measured, ms: one caller at a time, calls of {BATCH}, 20 ms a round trip upstream");
    let row = |what: &str, times: &[f64], more: String| {
        let times = Sorted::new(times.to_vec());
        let (median, p99) = (times.quantile(0.5), times.quantile(0.99));
        println!("  {what:<28}{median:>8.2} median{p99:>9.2} p99   {more}");
    };
    let call = |what: &str, calls: &Calls| {
        let more = format!("{:.2} of processor time, {:.1} requests upstream", calls.compute, calls.requests);
        row(what, &calls.walls, more);
    };
    call("cached, half new to ledger", &times.cached);
    call("cold", &times.cold);
    let ledger = |name: &str, turns: &Turns| {
        row(&format!("{name}, taking places"), &turns.reserve, String::new());
        let more = format!("{:.0} calls/s with 32 callers at once", turns.calls_per_second);
        row(&format!("{name}, settling"), &turns.settle, more);
    };
    ledger("SQLite", &times.sqlite);
    if let Some(turns) = &times.postgres {
        ledger("PostgreSQL", turns);
    }
}

fn costs(times: &Times, figures: &mut Figures) {
    println!("\nper million transactions in calls of {BATCH}");
    let calls = MILLION / number(BATCH);
    for (name, made) in [("cached", &times.cached), ("cold", &times.cold)] {
        let seconds = made.compute * calls / 1_000.0;
        let hours = seconds / number(CORES) / SHARE_PLANNED / SECONDS_PER_HOUR;
        let requests = made.requests * calls;
        println!(
            "  {name:<8}{seconds:>9.0} s of processor time, {hours:.3} hours of an instance with {CORES} cores at {:.0} %, {requests:.0} requests upstream",
            SHARE_PLANNED * 100.0
        );
        figures.add(format!("capacity_{name}_cpu_seconds"), seconds);
        figures.add(format!("capacity_{name}_instance_hours"), hours);
        figures.add(format!("capacity_{name}_upstream_requests"), requests);
    }
    let engines = [("sqlite", Some(&times.sqlite)), ("postgres", times.postgres.as_ref())];
    for (name, turns) in engines.iter().filter_map(|(name, turns)| turns.map(|turns| (name, turns))) {
        println!("  {name:<8}{:>9.0} MB of ledger, all of them new to it", turns.bytes_per_new);
        figures.add(format!("capacity_{name}_ledger_mb"), turns.bytes_per_new);
    }
}

fn work(times: &Times, turns: &Turns, cold_per_mille: u32) -> Work {
    let mean = |times: &[f64]| Sorted::new(times.to_vec()).mean();
    let turn = mean(&turns.reserve) + mean(&turns.settle);
    let more = (times.cold.compute - times.cached.compute).max(0.0) / times.cold.compute.max(f64::MIN_POSITIVE);
    let computes = times.cold.computes();
    let waits = times.cold.walls.iter().zip(&computes).map(|(wall, compute)| (wall - compute - turn).max(0.0));
    let stretched = |times: &[f64]| Draw::Measured(times.iter().map(|time| time * turns.stretch()).collect());
    Work {
        // Reading and writing happen after quota is reserved; what comes before is a small part of the same measurement.
        read: Draw::Nothing,
        answer: Draw::Measured(times.cached.computes()),
        reserve: stretched(&turns.reserve),
        settle: stretched(&turns.settle),
        cold_per_mille,
        cold_compute: Draw::Measured(computes.iter().map(|compute| compute * more).collect()),
        cold_wait: Draw::Measured(waits.collect()),
    }
}

fn simulated(engine: &str, instances: &[usize], times: &Times, turns: &Turns, cold: u32, figures: &mut Figures) {
    let work = work(times, turns, cold);
    let plan = |keys: usize, instances: usize, arrivals: Arrivals| Plan {
        keys,
        rate: RATE,
        arrivals,
        instances,
        cores: CORES,
        database: turns.at_once(),
        seconds: SECONDS,
        seed: SEED,
    };
    println!(
        "\nsimulated on {engine}: every key calls once a second, {:.1} % of calls are cold, {CORES} cores an instance, {:.0} calls/s at most in the database",
        f64::from(cold) / 10.0,
        turns.calls_per_second
    );
    println!(
        "  {:>9}{:>8}  {:<26}{:<26}{:>10}{:>10}",
        "instances", "keys", "regular: median, p99 ms", "bursts of 10", "compute", "database"
    );
    for instances in instances {
        for keys in KEYS {
            let (compute, database) = plan(keys, *instances, Arrivals::Regular).offered(&work);
            let shares = format!("{:>9.0}%{:>9.0}%", compute * 100.0, database * 100.0);
            if compute.max(database) > SHARE_MAX {
                println!("  {instances:>9}{keys:>8}  {:<52}{shares}", "too much");
                break;
            }
            let told = |arrivals: Arrivals| {
                let outcome = plan(keys, *instances, arrivals).run(&work);
                format!("{:.1}, {:.1}", outcome.latencies.quantile(0.5), outcome.latencies.quantile(0.99))
            };
            let (regular, bursts) = (told(Arrivals::Regular), told(Arrivals::Bursts(BURST)));
            println!("  {instances:>9}{keys:>8}  {regular:<26}{bursts:<26}{shares}");
        }
        let (compute, database) = plan(1, *instances, Arrivals::Regular).offered(&work);
        let keys = (1.0 / compute.max(database)).floor();
        let bound = if compute > database { "its processors" } else { "the database" };
        println!("  {instances:>9}{keys:>8}  are the most, bound by {bound}");
        figures.add(format!("capacity_{}_{instances}_keys", engine.to_lowercase()), keys);
    }
}

/// A batch of a fleet takes what a cold call takes: `bench/run fleet` compares the two.
fn fleet(arguments: &Arguments, cold: &Calls, figures: &mut Figures) {
    let batch = Batch {
        transactions: number(BATCH),
        compute: cold.compute,
        wall: Sorted::new(cold.walls.clone()).mean(),
        requests: cold.requests,
        calls: cold.upstream_calls,
        bytes: cold.bytes,
    };
    let worker = Worker { cores: number(CORES), share: SHARE_PLANNED };
    let millions = |count: f64| count / MILLION;
    let needs = Needs::of(arguments.month, &batch, &worker);
    println!("\na fleet for {:.0} million transactions a month, all of them cold", millions(arguments.month));
    println!("  {:>12.2} batches of {BATCH} a second, evenly over the month", needs.batches_per_second);
    println!(
        "  {:>12.0} workers with {CORES} cores at {:.0} %, each with {:.1} batches in hand while nodes answer after 20 ms",
        needs.workers,
        SHARE_PLANNED * 100.0,
        needs.in_hand
    );
    println!(
        "  {:>12.1} HTTP requests a second to nodes, {:.0} million a month",
        needs.requests_per_second,
        millions(needs.requests)
    );
    println!("  {:>12.1} calls a second in them, {:.0} million a month", needs.calls_per_second, millions(needs.calls));
    println!("  {:>12.1} GB a day into the streams of each server, before outcomes are packed", needs.gb_per_day);
    let workers_most = most_of_workers(needs.workers, &batch, &worker);
    println!("  {:>12.0} million a month are the most of these workers", millions(workers_most));
    if let Some(rate) = arguments.node_requests {
        let nodes_most = most_of_nodes(rate, &batch);
        let next = if nodes_most < workers_most { "the nodes" } else { "the workers" };
        println!(
            "  {:>12.0} million a month are the most of these nodes; the next limit are {next}",
            millions(nodes_most)
        );
    }
    if let Some(price) = arguments.node_price {
        println!("  {:>12.2} is the price of the calls of a month", price * millions(needs.calls));
    }
    for (name, value) in [
        ("workers", needs.workers),
        ("requests_per_second", needs.requests_per_second),
        ("calls_per_second", needs.calls_per_second),
        ("gb_per_day", needs.gb_per_day),
    ] {
        figures.add(format!("capacity_fleet_{name}"), value);
    }
}
