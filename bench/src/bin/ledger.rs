//! What the ledger costs: reserve-and-settle pairs by 32 callers at once, on SQLite and on PostgreSQL, beside what the same disk and
//! the same server do without us.
//!
//! `cargo run --release -p taxon-bench --bin ledger [SECONDS]`. PostgreSQL is started by `tools/postgres` where it is installed.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use taxon::store::{Clock, Database, Outcome, Payer, Posted, Resets, Settled, Store, Turn};

const CALLERS: usize = 32;
const BATCH: usize = 100;
const SECONDS: u64 = 4;
/// More than any run can use up.
const POOL: i64 = 1_000_000_000;
const SQLITE_PAIRS_MIN: f64 = 2_000.0;
const SQLITE_HASHES_MIN: f64 = 20_000.0;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let seconds = std::env::args().nth(1).map_or(Ok(SECONDS), |text| text.parse()).context("SECONDS is a number")?;
    let span = Duration::from_secs(seconds);
    // Beside the build, so that it is the disk that is measured and not a folder in memory.
    let folder = tempfile::tempdir_in(Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"))?;
    println!("{CALLERS} callers at once, {seconds} s each\n");
    let commits = bare_commits(&folder.path().join("bare.db"), span).await?;
    println!("SQLite, WAL, synchronous=FULL");
    println!("  bare commits, one after another   {commits:>9.0} /s");
    let store = Store::open(&Database::Sqlite(folder.path().join("taxon.db")), Clock::System).await?;
    let (pairs, hashes) = measure(&store, span, commits, "bare commits").await?;
    ensure!(pairs >= SQLITE_PAIRS_MIN, "under {SQLITE_PAIRS_MIN} pairs a second");
    ensure!(hashes >= SQLITE_HASHES_MIN, "under {SQLITE_HASHES_MIN} hashes a second in batches");
    println!("  goals: {SQLITE_PAIRS_MIN} pairs and {SQLITE_HASHES_MIN} hashes a second: met\n");

    let Ok(server) = Server::start(folder.path()) else {
        println!("PostgreSQL: not installed, not measured");
        return Ok(());
    };
    let pgbench = server.pgbench(seconds)?;
    println!("PostgreSQL, fsync on, two round trips a pair");
    println!("  pgbench, TPC-B-like, 32 clients   {pgbench:>9.0} tps");
    let store = Store::open(&Database::Postgres(server.url.clone()), Clock::System).await?;
    measure(&store, span, pgbench, "pgbench").await?;
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
    let payer = Payer { id: owner.to_owned(), resets: Resets::Monthly, limit: Some(POOL) };
    let mut done = 0u32;
    let mut number = 0u64;
    while started.elapsed() < span {
        let call_id = format!("{caller:08x}{number:024x}");
        let hashes: Vec<String> = (0..batch).map(|at| format!("0x{caller:016x}{number:024x}{at:024x}")).collect();
        number += 1;
        let turn = Turn {
            payer: payer.clone(),
            period: None,
            request_id: call_id.clone(),
            call_id,
            key_id: "benchkey".to_owned(),
            has_sink: false,
            settled: Vec::new(),
            wanted: hashes.clone(),
        };
        let held = store.turn(turn.clone()).await?;
        let settled = hashes.into_iter().map(|hash| Settled {
            hash,
            outcome: Outcome::Billable,
            category: "swap".to_owned(),
            chain: "ethereum".to_owned(),
        });
        let turn = Turn { period: Some(held.period), settled: settled.collect(), wanted: Vec::new(), ..turn };
        let posted = store.turn(turn).await?.posted;
        if posted.iter().any(|posted| *posted != Posted::Billed) {
            bail!("a fresh hash was not billed");
        }
        done += u32::try_from(posted.len())?;
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

/// A throw-away server, removed at the end.
struct Server {
    folder: PathBuf,
    url: String,
}

fn tool(arguments: &[&str]) -> anyhow::Result<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/postgres");
    let output = Command::new(script).args(arguments).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

impl Server {
    fn start(folder: &Path) -> anyhow::Result<Self> {
        let folder = folder.join("postgres");
        let name = folder.to_str().context("a plain path")?;
        let url = tool(&["start", "--with", &std::process::id().to_string(), name])?;
        Ok(Self { folder, url })
    }

    /// Transactions a second of PostgreSQL's own benchmark.
    fn pgbench(&self, seconds: u64) -> anyhow::Result<f64> {
        let program = tool(&["bin", "pgbench"])?;
        let clients = CALLERS.to_string();
        let ask = |arguments: &[&str]| -> anyhow::Result<String> {
            let output = Command::new(&program).args(arguments).arg(&self.url).output()?;
            ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Ok(String::from_utf8(output.stdout)?)
        };
        ask(&["--initialize", "--quiet", "--scale", &clients])?;
        let said = ask(&["--client", &clients, "--jobs", "2", "--time", &seconds.to_string()])?;
        let line = said.lines().find_map(|line| line.strip_prefix("tps = ")).context("pgbench tells its tps")?;
        line.split_whitespace().next().context("a number")?.parse().context("a number")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(name) = self.folder.to_str() {
            let _ = tool(&["remove", name]);
        }
    }
}
