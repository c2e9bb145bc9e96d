//! What a call takes, measured piece by piece on this machine: the material of the simulation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use futures_util::future::try_join_all;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use taxon::store::{Clock, Database, Store};
use tempfile::TempDir;

use crate::client::{self, Client};
use crate::corpus::{self, BATCH, Corpus, NEW};
use crate::figures::{Sorted, millis, number};
use crate::ledger::Caller;
use crate::postgres::Server;
use crate::process::cpu_seconds;
use crate::service::{Service, Setup, scratch};
use crate::upstream::{Recording, Upstream};

const LATENCY_MILLIS: u64 = 20;
/// Callers at once, where it is measured what the database can do.
const CALLERS: usize = 32;
const SEED: u64 = 5;
/// Transactions of the cold calls are numbered from here, past every cached one.
const COLD_FROM: u64 = 10_000_000;

/// Milliseconds, one caller at a time.
#[derive(Debug)]
pub struct Times {
    /// Facts are in memory, half of the hashes are new to the ledger.
    pub cached: Calls,
    /// Nothing is known of any of them.
    pub cold: Calls,
    pub sqlite: Turns,
    pub postgres: Option<Turns>,
}

/// Calls of 100 over HTTP.
#[derive(Debug)]
pub struct Calls {
    pub walls: Vec<f64>,
    /// Processor time of the service for one call.
    pub compute: f64,
    /// HTTP requests upstream for one call.
    pub requests: f64,
    /// Calls in those requests, which is what most nodes are paid by.
    pub upstream_calls: f64,
    /// Of one question and its answer.
    pub bytes: f64,
}

impl Calls {
    /// Processor time call by call: as much in all as was measured, spread as the times were.
    pub fn computes(&self) -> Vec<f64> {
        let scale = self.compute / Sorted::new(self.walls.clone()).mean().max(f64::MIN_POSITIVE);
        self.walls.iter().map(|wall| wall * scale).collect()
    }
}

/// The two turns of a call at the ledger.
#[derive(Debug)]
pub struct Turns {
    pub reserve: Vec<f64>,
    pub settle: Vec<f64>,
    /// Calls a second that 32 callers get through.
    pub calls_per_second: f64,
    /// On disk, for a transaction that was not in the ledger.
    pub bytes_per_new: f64,
}

impl Turns {
    /// Calls whose turns the database does at once when it is busy.
    pub fn at_once(&self) -> usize {
        (1..=CALLERS).rev().find(|count| number(*count) <= self.seen_at_once()).unwrap_or(1)
    }

    /// By how much turns take longer when the database is busy, so that it gets through as many as it was seen to.
    pub fn stretch(&self) -> f64 {
        number(self.at_once()) / self.seen_at_once().max(f64::MIN_POSITIVE)
    }

    fn seen_at_once(&self) -> f64 {
        let alone = Sorted::new(self.reserve.clone()).mean() + Sorted::new(self.settle.clone()).mean();
        self.calls_per_second * alone / 1_000.0
    }
}

impl Times {
    pub async fn measure(calls: usize) -> anyhow::Result<Self> {
        let folder = scratch()?;
        let server = Server::start(folder.path()).ok();
        let sqlite = Ledger::Sqlite(&folder);
        let postgres = server.as_ref().map(Ledger::Postgres);
        let turns = match &postgres {
            Some(ledger) => Some(ledger.turns(calls).await?),
            None => None,
        };
        let recording = Arc::new(Recording::demo()?);
        let upstream = Upstream::start(Arc::clone(&recording), Duration::ZERO)?;
        let corpus = Corpus::new(&recording, 1, NEW * (calls + 1));
        let service = Running::start(&upstream, server.as_ref()).await?;
        let cached = service.cached(&upstream, &corpus, calls).await?;
        let cold = service.cold(&upstream, &recording, calls).await?;
        Ok(Self { cached, cold, sqlite: sqlite.turns(calls).await?, postgres: turns })
    }
}

enum Ledger<'a> {
    Sqlite(&'a TempDir),
    Postgres(&'a Server),
}

impl Ledger<'_> {
    fn database(&self) -> Database {
        match self {
            Self::Sqlite(folder) => Database::Sqlite(folder.path().join("taxon.db")),
            Self::Postgres(server) => Database::Postgres(server.url.clone()),
        }
    }

    async fn bytes(&self) -> anyhow::Result<u64> {
        match self {
            Self::Sqlite(folder) => {
                let path = folder.path().join("taxon.db");
                let mut connection = SqliteConnectOptions::new().filename(&path).connect().await?;
                // Rows that are still in the write-ahead log beside it belong to the database.
                sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await?;
                Ok(path.metadata()?.len())
            }
            Self::Postgres(server) => {
                let mut connection = sqlx::PgConnection::connect(&server.url).await?;
                let query = sqlx::query_scalar("SELECT pg_database_size(current_database())");
                let bytes: i64 = query.fetch_one(&mut connection).await?;
                Ok(u64::try_from(bytes)?)
            }
        }
    }

    async fn turns(&self, calls: usize) -> anyhow::Result<Turns> {
        let store = Store::open(&self.database(), Clock::System).await?;
        let before = self.bytes().await?;
        let caller = Caller::new(&store, "alone", 0);
        let (reserve, settle) = pairs(&caller, calls).await?.into_iter().unzip();
        let callers: Vec<Caller> =
            (1..=CALLERS).map(|number| Caller::new(&store, &format!("owner-{number}"), number)).collect();
        let started = Instant::now();
        let each = (calls / 8).max(1);
        try_join_all(callers.iter().map(|caller| pairs(caller, each))).await?;
        let calls_per_second = number(CALLERS * each) / started.elapsed().as_secs_f64();
        let grown = self.bytes().await?.saturating_sub(before);
        let new = (calls + CALLERS * each + 1 + CALLERS) * NEW;
        Ok(Turns { reserve, settle, calls_per_second, bytes_per_new: number(grown / 1_024) * 1_024.0 / number(new) })
    }
}

/// Half of each call was in the call before.
async fn pairs(caller: &Caller, calls: usize) -> anyhow::Result<Vec<(f64, f64)>> {
    let mut had = caller.fresh(NEW);
    caller.pair(&had, &[]).await?;
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let new = caller.fresh(NEW);
        let pair = caller.pair(&new, &had).await?;
        times.push((millis(pair.reserve), millis(pair.settle)));
        had = new;
    }
    Ok(times)
}

/// A service, somebody who warms it, and somebody whose calls are timed.
struct Running {
    service: Service,
    stranger: Client,
    caller: Client,
}

impl Running {
    async fn start(upstream: &Upstream, server: Option<&Server>) -> anyhow::Result<Self> {
        // So high that nobody is refused; the window is counted all the same.
        let mut setup = Setup::new()?.with("TAXON_RATE_PER_MINUTE", "4000000000").upstream(upstream, &[]);
        if let Some(server) = server {
            setup = setup.with("TAXON_DATABASE_URL", &server.url);
        }
        let keys = setup.keys(2)?;
        let service = setup.start()?;
        let stranger = Client::new(&service.url, keys.first().context("a key")?)?;
        stranger.ready().await?;
        let caller = stranger.with_key(keys.last().context("a key")?)?;
        Ok(Self { service, stranger, caller })
    }

    async fn cached(&self, upstream: &Upstream, corpus: &Corpus, calls: usize) -> anyhow::Result<Calls> {
        corpus::ask_once(&self.stranger, corpus.hashes()).await?;
        corpus::ask_once(&self.caller, &corpus.first(0)).await?;
        let mut random = SmallRng::seed_from_u64(SEED);
        let bodies = (0..calls).map(|call| client::batch(&corpus.call(0, call, &mut random), None)).collect();
        self.timed(upstream, bodies).await
    }

    async fn cold(&self, upstream: &Upstream, recording: &Recording, calls: usize) -> anyhow::Result<Calls> {
        upstream.set_latency(Duration::from_millis(LATENCY_MILLIS));
        let hashes: Vec<String> = (COLD_FROM..).take(calls * BATCH).map(|number| recording.evm_hash(number)).collect();
        let bodies = hashes.chunks(BATCH).map(|hashes| client::batch(hashes, Some("demo"))).collect();
        self.timed(upstream, bodies).await
    }

    async fn timed(&self, upstream: &Upstream, bodies: Vec<String>) -> anyhow::Result<Calls> {
        let (requests, cpu, calls) = (upstream.requests(), cpu_seconds(self.service.id())?, number(bodies.len()));
        let upstream_calls = upstream.calls();
        let mut bytes = 0.0;
        let mut walls = Vec::with_capacity(bodies.len());
        for body in bodies {
            bytes += number(body.len());
            let started = Instant::now();
            let answer = self.caller.post(body).await?;
            walls.push(millis(started.elapsed()));
            client::check(&answer, BATCH)?;
            bytes += number(answer.len());
        }
        let compute = (cpu_seconds(self.service.id())? - cpu) * 1_000.0 / calls;
        Ok(Calls {
            walls,
            compute,
            requests: number(upstream.requests() - requests) / calls,
            upstream_calls: number(upstream.calls() - upstream_calls) / calls,
            bytes: bytes / calls,
        })
    }
}
