//! What the ledger costs: reserve-and-settle pairs by 32 callers at once, on SQLite and on PostgreSQL, beside what the same disk and
//! the same server do without us.
//!
//! `cargo run --release -p taxon-bench --bin ledger [SECONDS]`. PostgreSQL is started by `tools/postgres` where it is installed.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use taxon::store::{Clock, Database, Store};
use taxon_bench::figures::Figures;
use taxon_bench::ledger::Caller;
use taxon_bench::postgres::Server;
use taxon_bench::service::scratch;

const CALLERS: usize = 32;
const BATCH: usize = 100;
const SECONDS: u64 = 4;
const SQLITE_PAIRS_MIN: f64 = 2_000.0;
const SQLITE_HASHES_MIN: f64 = 20_000.0;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let seconds = std::env::args().nth(1).map_or(Ok(SECONDS), |text| text.parse()).context("SECONDS is a number")?;
    let span = Duration::from_secs(seconds);
    let folder = scratch()?;
    println!("{CALLERS} callers at once, {seconds} s each\n");
    let commits = bare_commits(&folder.path().join("bare.db"), span).await?;
    println!("SQLite, WAL, synchronous=FULL");
    println!("  bare commits, one after another   {commits:>9.0} /s");
    let store = Store::open(&Database::Sqlite(folder.path().join("taxon.db")), Clock::System).await?;
    let (pairs, hashes) = measure(&store, span, commits, "bare commits").await?;
    println!("  goals: {SQLITE_PAIRS_MIN} pairs and {SQLITE_HASHES_MIN} hashes a second\n");
    let mut figures = Figures::default();
    figures.add("ledger_sqlite_pairs", pairs);
    figures.add("ledger_sqlite_hashes", hashes);

    let Ok(server) = Server::start(folder.path()) else {
        println!("PostgreSQL: not installed, not measured");
        figures.print();
        return Ok(());
    };
    let pgbench = server.pgbench(CALLERS, seconds)?;
    println!("PostgreSQL, fsync on, two round trips a pair");
    println!("  pgbench, TPC-B-like, 32 clients   {pgbench:>9.0} tps");
    let store = Store::open(&Database::Postgres(server.url.clone()), Clock::System).await?;
    let (pairs, hashes) = measure(&store, span, pgbench, "pgbench").await?;
    figures.add("ledger_postgres_pairs", pairs);
    figures.add("ledger_postgres_hashes", hashes);
    figures.print();
    Ok(())
}

/// Pairs and hashes a second, with an owner for each caller; printed beside the same with one owner for all.
async fn measure(store: &Store, span: Duration, bare: f64, what: &str) -> anyhow::Result<(f64, f64)> {
    let mut best = (0.0, 0.0);
    for (owners, whose) in [(CALLERS, "an owner each"), (1, "one owner   ")] {
        let pairs = run(store, span, owners, 1).await?;
        let hashes = run(store, span, owners, BATCH).await?;
        println!("  pairs of single calls, {whose}    {pairs:>9.0} /s   {:.2} × {what}", pairs / bare);
        println!("  hashes in batches, {whose}        {hashes:>9.0} /s   {:.2} × {what}", hashes / bare);
        if owners == CALLERS {
            best = (pairs, hashes);
        }
    }
    ensure!(store.imbalances().await?.is_empty(), "the books do not balance");
    Ok(best)
}

/// Hashes a second that 32 callers reserve and settle, so many in a call.
async fn run(store: &Store, span: Duration, owners: usize, batch: usize) -> anyhow::Result<f64> {
    let started = Instant::now();
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| {
            let (store, owner) = (store.clone(), format!("owner-{owners}-{batch}-{}", caller % owners));
            tokio::spawn(async move { call(&store, &owner, caller, batch, started, span).await })
        })
        .collect();
    let mut done = 0u32;
    for caller in callers {
        done += caller.await??;
    }
    Ok(f64::from(done) / started.elapsed().as_secs_f64())
}

async fn call(
    store: &Store,
    owner: &str,
    caller: usize,
    batch: usize,
    started: Instant,
    span: Duration,
) -> anyhow::Result<u32> {
    let caller = Caller::new(store, owner, caller);
    let mut done = 0u32;
    while started.elapsed() < span {
        caller.pair(&caller.fresh(batch), &[]).await?;
        done += u32::try_from(batch)?;
    }
    Ok(done)
}

/// What the disk gives: one row and one flush at a time.
async fn bare_commits(path: &Path, span: Duration) -> anyhow::Result<f64> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    let mut connection = options.connect().await?;
    sqlx::query("CREATE TABLE bare (id INTEGER PRIMARY KEY, text TEXT)").execute(&mut connection).await?;
    let started = Instant::now();
    let mut done = 0u32;
    while started.elapsed() < span {
        sqlx::query("INSERT INTO bare (text) VALUES (?)").bind("x".repeat(100)).execute(&mut connection).await?;
        done += 1;
    }
    Ok(f64::from(done) / started.elapsed().as_secs_f64())
}
