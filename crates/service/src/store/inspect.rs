//! Inspects a database without changing it: no migration, no new file.

use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use super::{Database, StoreError, migrations};

const CONNECT_SECONDS_MAX: u64 = 5;
/// A running service holds the write lock for moments only.
const LOCK_SECONDS_MAX: u64 = 5;
/// Queries whose median time is the latency.
const LATENCY_QUERIES: usize = 5;

#[derive(Debug, Clone)]
pub struct Inspected {
    /// `false` where the file is still to be made.
    pub is_there: bool,
    /// The newest migration that the database has, and the newest that this program knows.
    pub version: i64,
    pub known: i64,
    /// PostgreSQL's own version, as it numbers it.
    pub server: Option<i64>,
    pub latency: Duration,
    /// How far the database's clock is ahead of ours, where it has one of its own.
    pub clock_ahead_millis: Option<i64>,
    /// Room on the disk of an embedded database.
    pub free_bytes: Option<u64>,
}

pub async fn inspect(database: &Database) -> Result<Inspected, StoreError> {
    match database {
        Database::Sqlite(path) => inspect_sqlite(path).await,
        Database::Postgres(url) => {
            let patience = Duration::from_secs(CONNECT_SECONDS_MAX);
            let looked = tokio::time::timeout(patience, inspect_postgres(url)).await;
            looked.unwrap_or_else(|_| Err(StoreError::Unusable("the database did not answer in time".to_owned())))
        }
    }
}

async fn inspect_sqlite(path: &Path) -> Result<Inspected, StoreError> {
    let known = newest(&migrations::sqlite());
    let folder = path.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
    let free_bytes = rustix::fs::statvfs(folder).ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    let mut seen = Inspected {
        is_there: path.exists(),
        version: 0,
        known,
        server: None,
        latency: Duration::ZERO,
        clock_ahead_millis: None,
        free_bytes,
    };
    if !seen.is_there {
        return Ok(seen);
    }
    let options = SqliteConnectOptions::new().filename(path).busy_timeout(Duration::from_secs(LOCK_SECONDS_MAX));
    let mut connection: SqliteConnection = options.connect().await?;
    let has_any = "SELECT count(*) FROM sqlite_master WHERE name = '_sqlx_migrations'";
    if sqlx::query_scalar::<_, i64>(has_any).fetch_one(&mut connection).await? > 0 {
        seen.version = sqlx::query_scalar(VERSION).fetch_one(&mut connection).await?;
    }
    let mut took = Vec::new();
    for _ in 0..LATENCY_QUERIES {
        let started = Instant::now();
        // Takes the write lock, which fails on a file that cannot be written.
        let turn = connection.begin_with("BEGIN IMMEDIATE").await?;
        turn.rollback().await?;
        took.push(started.elapsed());
    }
    seen.latency = median(took);
    connection.close().await?;
    Ok(seen)
}

async fn inspect_postgres(url: &str) -> Result<Inspected, StoreError> {
    // The parser's message may quote the address, and with it a password.
    let options = PgConnectOptions::from_str(url)
        .map_err(|_| StoreError::Unusable("TAXON_DATABASE_URL is not a PostgreSQL address".to_owned()))?;
    let mut connection: PgConnection = options.application_name("taxon doctor").connect().await?;
    let server = sqlx::query_scalar("SELECT current_setting('server_version_num')::bigint");
    let server: i64 = server.fetch_one(&mut connection).await?;
    let has_any = "SELECT to_regclass('_sqlx_migrations') IS NOT NULL";
    let mut version = 0;
    if sqlx::query_scalar::<_, bool>(has_any).fetch_one(&mut connection).await? {
        version = sqlx::query_scalar(VERSION).fetch_one(&mut connection).await?;
    }
    let mut took = Vec::new();
    let mut ahead = Vec::new();
    for _ in 0..LATENCY_QUERIES {
        let started = Instant::now();
        let clock = sqlx::query_scalar("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint");
        let there: i64 = clock.fetch_one(&mut connection).await?;
        took.push(started.elapsed());
        ahead.push(there.saturating_sub(Timestamp::now().as_millisecond()));
    }
    connection.close().await?;
    ahead.sort_unstable();
    Ok(Inspected {
        is_there: true,
        version,
        known: newest(&migrations::postgres()),
        server: Some(server),
        latency: median(took),
        clock_ahead_millis: ahead.get(ahead.len() / 2).copied(),
        free_bytes: None,
    })
}

const VERSION: &str = "SELECT coalesce(max(version), 0) FROM _sqlx_migrations WHERE success";

fn newest(migrator: &sqlx::migrate::Migrator) -> i64 {
    migrator.iter().map(|migration| migration.version).max().unwrap_or_default()
}

fn median(mut took: Vec<Duration>) -> Duration {
    took.sort_unstable();
    took.get(took.len() / 2).copied().unwrap_or_default()
}
