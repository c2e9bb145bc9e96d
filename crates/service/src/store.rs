//! Persistent data: owners, keys and accounts, the ledger, the history of readings, books, jobs, rate windows that instances share, events for the
//! billing rail, and webhooks with the messages on their way.
//!
//! Two engines implement one contract: SQLite, embedded, for one machine, and PostgreSQL for any number of instances. Nothing outside this
//! folder writes SQL; `tests/store` holds both engines to the same answers.

mod accounts;
pub mod backup;
mod book;
mod book_rows;
mod decision_log;
mod decisions;
mod history;
mod inspect;
mod jobs;
mod links;
mod listing;
mod migrations;
mod owners;
mod postgres;
mod review;
mod shelf;
mod sqlite;
pub mod turn;
mod webhooks;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::Timestamp;

use crate::metrics;

pub use accounts::{NewSession, SessionOwner, UserAccount};
pub use book::{BookRemoval, BookRow, BookSettings, BookWallet, new_book_id};
pub use book_rows::ReadRow;
pub use decision_log::{DecisionStep, LogCursor};
pub use decisions::{Decision, DecisionRule, Likeness, NewDecision, RowKey};
pub use history::{Day, HistoryRow, ReadingRow, Recent, RefusalCount};
pub use inspect::{Inspected, inspect};
pub use jobs::{EndedPart, HeldPart, JobRow, NewJob, NewPart, PartOutcome, PartTimes};
pub use links::Link;
pub use listing::HeldListing;
pub use owners::OwnerRow;
pub use review::{ReviewCounts, ReviewCursor, ReviewFilter, ReviewRow, ReviewSort, ReviewState};
pub use shelf::{Clearing, Shelf, ShelfHit, ShelfRow, ShelfUsage};
pub use turn::{Grant, Payer, Posted, Resets, SettleOutcome, Settled, Turn, Turned};
pub use webhooks::{AttemptOutcome, DeliveryRow, DeliveryState, DueDelivery, EndpointRow, EventKind, WebhookSecret};

/// Reads a row of either engine into a struct whose fields are named after its columns. `sqlx::FromRow` could be derived instead, but
/// sqlx's macros need the whole of sqlx, its drivers, SQLite's C and TLS compiled a second time for the compiler itself.
macro_rules! from_row {
    ($row:ident: $($column:ident),+) => {
        $crate::store::from_row!(@sqlx::sqlite::SqliteRow, $row: $($column),+);
        $crate::store::from_row!(@sqlx::postgres::PgRow, $row: $($column),+);
    };
    (@$engine_row:ty, $row:ident: $($column:ident),+) => {
        impl sqlx::FromRow<'_, $engine_row> for $row {
            fn from_row(row: &$engine_row) -> Result<Self, sqlx::Error> {
                Ok(Self { $($column: sqlx::Row::try_get(row, stringify!($column))?),+ })
            }
        }
    };
}
use from_row;

/// Lifetime of a reservation: longer than reading takes, and short enough that a crash releases it within a minute.
pub const HOLD: Duration = Duration::from_secs(45);
/// Events per query of the outbox.
pub const EVENTS_MAX: i64 = 100;
/// Rows per page of an export.
pub const PAGE_ROWS_MAX: i64 = 1_000;
/// Rows deleted per statement, which bounds how long callers wait for it.
const PURGE_ROWS_MAX: i64 = 1_000;
/// A delay or a lease that ends later than this was written by a wrong clock, and is ignored.
const DELAY_MILLIS_MAX: i64 = 120_000;

/// The oldest PostgreSQL that the migrations run on, as it numbers itself.
pub(crate) const POSTGRES_VERSION_MIN: i64 = postgres::VERSION_MIN;

/// Where the data is. An address may hold a password, so it is never printed.
#[derive(Clone)]
pub enum Database {
    Sqlite(PathBuf),
    Postgres(String),
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "SQLite, {}", path.display()),
            Self::Postgres(_) => write!(f, "PostgreSQL (address redacted)"),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the database stands at version {found} and this taxon knows only {known}: start the newer taxon again")]
    Newer { found: i64, known: i64 },
    #[error("the database could not be brought up to date: {0}")]
    Migration(sqlx::migrate::MigrateError),
    #[error("{0}")]
    Unusable(String),
    #[error("the database failed: {0}")]
    Failed(sqlx::Error),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error)
    }
}

/// The clock for written times. PostgreSQL uses its own, so that instances whose clocks differ agree.
#[derive(Debug, Clone, Default)]
pub enum Clock {
    #[default]
    System,
    /// Milliseconds since 1970, moved by a test.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    fn millis(&self) -> i64 {
        self.manual().unwrap_or_else(|| Timestamp::now().as_millisecond())
    }

    fn manual(&self) -> Option<i64> {
        match self {
            Self::System => None,
            Self::Manual(millis) => Some(millis.load(Ordering::SeqCst)),
        }
    }
}

#[derive(Debug, Clone)]
pub enum Store {
    Sqlite(sqlite::Sqlite),
    Postgres(postgres::Postgres),
}

/// A key as it is made. Only its hash is kept.
#[derive(Debug, Clone)]
pub struct NewKey {
    pub id: String,
    pub hash: Vec<u8>,
    pub email: String,
    pub name: String,
    /// For an e-mail address that has no owner yet.
    pub owner_id: String,
    pub billing: Billing,
}

/// How what a key classifies is paid for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Billing {
    /// From the owner's pool. Making such a key moves the owner to this tier.
    Pool { tier: String, contracted: Option<i64> },
    /// Metered by event, without a limit.
    Metered,
}

#[derive(Debug, Clone)]
pub struct Key {
    pub id: String,
    pub hash: Vec<u8>,
    pub owner_id: String,
    pub email: String,
    pub name: String,
    pub billing: Billing,
    pub created_at: i64,
    pub last_used_at: Option<i64>,
    pub revoked_at: Option<i64>,
}

/// A key and its owner, as a row of the database.
struct KeyRow {
    id: String,
    hash: Vec<u8>,
    owner_id: String,
    email: String,
    name: String,
    metered: bool,
    tier: String,
    pool: Option<i64>,
    created_at: i64,
    last_used_at: Option<i64>,
    revoked_at: Option<i64>,
}

from_row!(KeyRow: id, hash, owner_id, email, name, metered, tier, pool, created_at, last_used_at, revoked_at);

impl From<KeyRow> for Key {
    fn from(row: KeyRow) -> Self {
        let billing =
            if row.metered { Billing::Metered } else { Billing::Pool { tier: row.tier, contracted: row.pool } };
        Self {
            id: row.id,
            hash: row.hash,
            owner_id: row.owner_id,
            email: row.email,
            name: row.name,
            billing,
            created_at: row.created_at,
            last_used_at: row.last_used_at,
            revoked_at: row.revoked_at,
        }
    }
}

/// What `/quota-status` tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolUsage {
    pub used: i64,
    /// The hash that was asked for was counted in this period.
    pub is_counted: bool,
}

from_row!(PoolUsage: used, is_counted);

/// One row of the ledger, as an auditor reads it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Entry {
    pub owner: Option<String>,
    pub payer: String,
    pub period: String,
    pub hash: String,
    pub billed: String,
    pub category: String,
    pub chain: String,
    pub key_id: String,
    pub request_id: String,
    /// Milliseconds since 1970.
    pub at: i64,
}

from_row!(Entry: owner, payer, period, hash, billed, category, chain, key_id, request_id, at);

/// Which rows of the ledger.
#[derive(Debug, Clone, Default)]
pub struct LedgerFilter {
    pub since: i64,
    pub email: Option<String>,
    pub is_metered_only: bool,
}

/// A row that comes after all rows of an earlier page.
pub type Cursor = (i64, String, String, String);

impl Entry {
    pub fn cursor(&self) -> Cursor {
        (self.at, self.payer.clone(), self.period.clone(), self.hash.clone())
    }
}

/// A payer and period whose counter is not the sum of its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imbalance {
    pub payer: String,
    pub period: String,
    pub used: i64,
    pub rows: i64,
}

from_row!(Imbalance: payer, period, used, rows);

/// A metered classification that waits for the billing rail.
#[derive(Debug, Clone)]
pub struct Event {
    pub seq: i64,
    pub entry: Entry,
}

impl<'r, R: sqlx::Row> sqlx::FromRow<'r, R> for Event
where
    Entry: sqlx::FromRow<'r, R>,
    i64: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
    &'static str: sqlx::ColumnIndex<R>,
{
    fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
        Ok(Self { seq: row.try_get("seq")?, entry: Entry::from_row(row)? })
    }
}

/// What the outbox holds of one payer.
#[derive(Debug, Clone, serde::Serialize)]
pub struct OutboxBacklog {
    pub payer: String,
    pub owner: Option<String>,
    pub waiting: i64,
    /// Milliseconds since 1970.
    pub oldest: i64,
    pub failures: i64,
    pub retry_at: Option<i64>,
    pub reason: Option<String>,
}

from_row!(OutboxBacklog: payer, owner, waiting, oldest, failures, retry_at, reason);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Purged {
    pub entries: usize,
    pub events: u64,
}

impl Purged {
    /// Whether anything was deleted, so that another round may find more.
    fn add(&mut self, entries: usize, events: u64) -> bool {
        self.entries = self.entries.saturating_add(entries);
        self.events = self.events.saturating_add(events);
        entries > 0 || events > 0
    }
}

/// Runs the same code on the engine in use: both accept `$1` as a parameter, so a shared statement is written once.
macro_rules! on {
    ($self:ident, $store:ident => $work:block) => {
        match $self {
            $crate::store::Store::Sqlite($store) => $work,
            $crate::store::Store::Postgres($store) => $work,
        }
    };
}
use on;

/// Locks the owner's row inside a transaction, so that two who count what the owner has and add to it come one after the other.
macro_rules! lock_owner {
    ($transaction:ident, $owner_id:expr) => {
        sqlx::query("UPDATE owners SET tier = tier WHERE id = $1").bind($owner_id).execute(&mut *$transaction).await?
    };
}
use lock_owner;

/// Calls the function of the same name on the engine in use.
macro_rules! either {
    ($self:ident, $store:ident => $call:expr) => {
        match $self {
            Store::Sqlite($store) => $call.await,
            Store::Postgres($store) => $call.await,
        }
    };
}
use either;

impl Store {
    /// Opens the database and brings it up to date, under a lock: several processes may do so at once.
    pub async fn open(database: &Database, clock: Clock) -> Result<Self, StoreError> {
        match database {
            Database::Sqlite(path) => Ok(Self::Sqlite(sqlite::Sqlite::open(path, clock).await?)),
            Database::Postgres(url) => Ok(Self::Postgres(postgres::Postgres::open(url, clock).await?)),
        }
    }

    pub async fn answers(&self) -> bool {
        either!(self, store => store.answers())
    }

    /// Whether somebody had signed up at the address without showing that it is theirs. That account is set aside: the key belongs to a new
    /// owner, whom a link claims.
    pub async fn create_key(&self, key: &NewKey) -> Result<bool, StoreError> {
        either!(self, store => store.create_key(key))
    }

    /// The key of this name, revoked or not.
    pub async fn key(&self, id: &str) -> Result<Option<Key>, StoreError> {
        either!(self, store => store.key(id))
    }

    pub async fn keys(&self) -> Result<Vec<Key>, StoreError> {
        either!(self, store => store.keys())
    }

    /// Whether there was such a key. Revoking twice keeps the first time.
    pub async fn revoke_key(&self, id: &str) -> Result<bool, StoreError> {
        either!(self, store => store.revoke_key(id))
    }

    pub async fn rename_key(&self, id: &str, name: &str) -> Result<bool, StoreError> {
        either!(self, store => store.rename_key(id, name))
    }

    /// When keys were last used, in milliseconds since 1970. It may be lost in a crash.
    pub async fn touch_keys(&self, used: &[(String, i64)]) -> Result<(), StoreError> {
        either!(self, store => store.touch_keys(used))
    }

    /// Settles, then reserves, in one transaction. Idempotent: a second run finds the rows of the first.
    pub async fn turn(&self, turn: Turn) -> Result<Turned, StoreError> {
        let turning = metrics::turning();
        let turned = either!(self, store => store.turn(turn));
        if turned.is_err() {
            turning.failed();
        }
        turned
    }

    pub async fn pool_usage(&self, payer: &Payer, hash: Option<&str>) -> Result<PoolUsage, StoreError> {
        either!(self, store => store.pool_usage(payer, hash))
    }

    /// Counts a hit in a window of `span` that all instances share and that takes `most` hits; when it is full, how long to wait. `None`
    /// where instances share nothing and each keeps its own windows.
    pub async fn hit(&self, who: &str, most: u32, span: Duration) -> Option<Result<Option<Duration>, StoreError>> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(store) => Some(store.hit(who, most, span).await),
        }
    }

    /// The rows after the cursor, oldest first, at most a page of them.
    pub async fn entries(&self, filter: &LedgerFilter, after: Option<&Cursor>) -> Result<Vec<Entry>, StoreError> {
        either!(self, store => store.entries(filter, after))
    }

    /// Where a counter and its rows disagree, which happens only when somebody edited the database by hand.
    pub async fn imbalances(&self) -> Result<Vec<Imbalance>, StoreError> {
        either!(self, store => store.imbalances())
    }

    /// Deletes what was written before the given time. What is still open stays: this month's rows, and events that wait.
    pub async fn purge(&self, before: i64) -> Result<Purged, StoreError> {
        either!(self, store => store.purge(before))
    }

    /// Deletes expired reservations and windows.
    pub async fn sweep(&self) -> Result<(), StoreError> {
        either!(self, store => store.sweep())
    }

    /// Takes or renews the lease on the named work; false while another holder has it.
    pub async fn lease(&self, name: &str, holder: &str, span: Duration) -> Result<bool, StoreError> {
        either!(self, store => store.lease(name, holder, span))
    }

    /// Payers whose events are due, with how often in a row their delivery has failed.
    pub async fn due(&self) -> Result<Vec<(String, i64)>, StoreError> {
        either!(self, store => store.due())
    }

    /// The payer's oldest waiting events, in order.
    pub async fn events(&self, payer: &str) -> Result<Vec<Event>, StoreError> {
        either!(self, store => store.events(payer))
    }

    pub async fn delivered(&self, payer: &str, up_to: i64) -> Result<(), StoreError> {
        either!(self, store => store.delivered(payer, up_to))
    }

    /// Postpones the payer's events for this long after a failure.
    pub async fn delay(&self, payer: &str, span: Duration, reason: &str) -> Result<(), StoreError> {
        either!(self, store => store.delay(payer, span, reason))
    }

    /// How many events wait in all.
    pub async fn waiting_count(&self) -> Result<i64, StoreError> {
        let sql = "SELECT count(*) FROM outbox WHERE delivered_at IS NULL";
        on!(self, store => { Ok(sqlx::query_scalar(sql).fetch_one(store.pool()).await?) })
    }

    pub async fn waiting(&self) -> Result<Vec<OutboxBacklog>, StoreError> {
        either!(self, store => store.waiting())
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// A migration that this binary does not know was applied by a newer one.
fn migration_failed(error: sqlx::migrate::MigrateError, migrator: &sqlx::migrate::Migrator) -> StoreError {
    let known = migrator.iter().map(|migration| migration.version).max().unwrap_or_default();
    match error {
        sqlx::migrate::MigrateError::VersionMissing(found) => StoreError::Newer { found, known },
        other => StoreError::Migration(other),
    }
}
