//! The persistent cache of what was read from chains: rows of bytes by kind and key, which may be lost at any time. On SQLite they are in a
//! file of their own, so that the ledger never waits for them and a backup leaves them out; on PostgreSQL all instances share them.

mod postgres;
mod sqlite;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Database, Store, StoreError, from_row};

/// Rows that wait to be written, and their bytes; past either limit new rows are dropped.
const WRITES_WAITING_MAX: usize = 20_000;
const BYTES_WAITING_MAX: usize = 32 * 1024 * 1024;
/// Rows of one transaction.
const WRITE_ROWS_MAX: usize = 500;
/// Rows that one trimming step deletes.
const TRIM_ROWS_MAX: i64 = 1_000;
/// A lookup takes no longer than this: a node can answer instead.
const LOAD_PATIENCE: Duration = Duration::from_secs(1);

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShelfRow {
    pub kind: &'static str,
    pub key: String,
    pub chain: String,
    pub body: Vec<u8>,
}

/// A queued row, with its share of the byte limit until it is written.
#[derive(Debug)]
struct QueuedRow {
    row: ShelfRow,
    _room: OwnedSemaphorePermit,
}

/// The byte limit of queued rows.
#[derive(Debug, Clone)]
struct QueueBytes(Arc<Semaphore>);

impl Default for QueueBytes {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(BYTES_WAITING_MAX)))
    }
}

impl QueueBytes {
    fn take(&self, row: ShelfRow) -> Option<QueuedRow> {
        let bytes = u32::try_from(row.key.len().saturating_add(row.body.len())).ok()?;
        let room = Arc::clone(&self.0).try_acquire_many_owned(bytes).ok()?;
        Some(QueuedRow { row, _room: room })
    }
}

/// What was found under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShelfHit {
    pub key: String,
    pub chain: String,
    pub body: Vec<u8>,
}

from_row!(ShelfHit: key, chain, body);

/// Rows and bytes on the shelf, by kind and chain.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ShelfUsage {
    pub kind: String,
    pub chain: String,
    pub rows: i64,
    pub bytes: i64,
    /// Milliseconds since 1970.
    pub oldest: i64,
    pub newest: i64,
}

from_row!(ShelfUsage: kind, chain, rows, bytes, oldest, newest);

/// Which rows to clear; `None` is all of them.
#[derive(Debug, Clone, Default)]
pub struct Clearing {
    pub kind: Option<String>,
    pub chain: Option<String>,
}

#[derive(Debug, Clone)]
pub enum Shelf {
    /// Nothing outlives the process.
    Absent,
    Sqlite(sqlite::SqliteShelf),
    Postgres(postgres::PostgresShelf),
}

impl Shelf {
    /// Beside the database that is in use.
    pub fn open(database: &Database, store: &Store) -> Result<Self, StoreError> {
        match (database, store) {
            (Database::Sqlite(path), _) => Ok(Self::Sqlite(sqlite::SqliteShelf::open(&Self::file(path))?)),
            (Database::Postgres(_), Store::Postgres(store)) => {
                Ok(Self::Postgres(postgres::PostgresShelf::new(store.pool().clone())))
            }
            (Database::Postgres(_), Store::Sqlite(_)) => Ok(Self::Absent),
        }
    }

    /// The file beside an embedded database.
    pub fn file(database: &Path) -> std::path::PathBuf {
        database.with_extension("cache.db")
    }

    /// The rows that exist under these keys, in any order. A shelf that fails counts as empty.
    pub async fn load(&self, kind: &'static str, keys: Vec<String>) -> Vec<ShelfHit> {
        if keys.is_empty() {
            return Vec::new();
        }
        let load = async {
            match self {
                Self::Absent => Ok(Vec::new()),
                Self::Sqlite(shelf) => shelf.load(kind, keys).await,
                Self::Postgres(shelf) => shelf.load(kind, keys).await,
            }
        };
        match tokio::time::timeout(LOAD_PATIENCE, load).await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => {
                tracing::warn!(%error, "what was kept could not be looked up");
                Vec::new()
            }
            Err(_) => {
                tracing::warn!("what was kept was not found in time");
                Vec::new()
            }
        }
    }

    /// Queues the row, or drops it when too many wait.
    pub fn keep(&self, row: ShelfRow) {
        match self {
            Self::Absent => {}
            Self::Sqlite(shelf) => shelf.keep(row),
            Self::Postgres(shelf) => shelf.keep(row),
        }
    }

    /// Waits until all queued rows are written.
    pub async fn flush(&self) {
        match self {
            Self::Absent => {}
            Self::Sqlite(shelf) => shelf.flush().await,
            Self::Postgres(shelf) => shelf.flush().await,
        }
    }

    pub async fn usage(&self) -> Result<Vec<ShelfUsage>, StoreError> {
        match self {
            Self::Absent => Ok(Vec::new()),
            Self::Sqlite(shelf) => shelf.usage().await,
            Self::Postgres(shelf) => shelf.usage().await,
        }
    }

    /// How many rows were deleted. Running instances empty their memory too: they see it by `age`.
    pub async fn clear(&self, which: &Clearing) -> Result<u64, StoreError> {
        match self {
            Self::Absent => Ok(0),
            Self::Sqlite(shelf) => shelf.clear(which.clone()).await,
            Self::Postgres(shelf) => shelf.clear(which).await,
        }
    }

    /// Counts up whenever the shelf is cleared.
    pub async fn age(&self) -> Result<i64, StoreError> {
        match self {
            Self::Absent => Ok(0),
            Self::Sqlite(shelf) => shelf.age().await,
            Self::Postgres(shelf) => shelf.age().await,
        }
    }

    /// Deletes rows of unknown kinds, and then evicts the oldest rows until at most so many bytes are left.
    pub async fn trim(&self, kinds: &[&str], bytes_max: i64) -> Result<(), StoreError> {
        match self {
            Self::Absent => Ok(()),
            Self::Sqlite(shelf) => shelf.trim(kinds, bytes_max).await,
            Self::Postgres(shelf) => shelf.trim(kinds, bytes_max).await,
        }
    }
}
