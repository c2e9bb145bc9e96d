//! A copy of everything that must not be lost, in a file that either engine restores, so that an instance can move from SQLite to
//! PostgreSQL. It is read in one transaction while the service runs, and restored in one: all of it, or nothing.

mod archive;
mod tables;

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, PgPool, QueryBuilder, Row, SqlitePool};

use super::{Database, Store, StoreError, on, postgres, sqlite};
pub use archive::{About, Counts};
use archive::{ArchivePart, ArchiveReader, ArchiveWriter, Cell};
use tables::{ColumnKind, TABLES, Table};
pub use tables::{NOT_KEPT, kept};

/// Rows that are inserted by one statement: both engines take so many parameters, and few round trips remain.
const ROWS_MAX: usize = 200;
/// The connection of a process that has just ended may still be listed for a moment.
const GONE_MILLIS_MAX: u64 = 3_000;
const LOOK_MILLIS: u64 = 50;

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("this is no backup of taxon")]
    NoBackup,
    #[error("the backup was written by a newer taxon: restore it with that one")]
    Newer,
    #[error("the backup is damaged: {0}")]
    Damaged(&'static str),
    #[error("the database holds rows already: restore into an empty one, or let --force delete them")]
    Occupied,
    #[error("another taxon uses the database: stop it first")]
    InUse,
    #[error("the file failed: {0}")]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for BackupError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

/// What becomes of rows that the database holds already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Present {
    Refuse,
    Delete,
}

impl Store {
    /// Writes a backup as of this moment, and tells how many rows each table had. Callers are served meanwhile.
    pub async fn back_up<W: Write>(&self, out: W) -> Result<(W, Counts), BackupError> {
        let engine = match self {
            Self::Sqlite(_) => "sqlite",
            Self::Postgres(_) => "postgres",
        };
        let mut archive = ArchiveWriter::start(out, engine, self.now().await?)?;
        on!(self, store => {
            let mut snapshot = store.snapshot().await?;
            for table in &TABLES {
                archive.table(table)?;
                let select = format!("SELECT {} FROM {}", table.names().join(", "), table.name);
                let mut rows = sqlx::query(AssertSqlSafe(select)).fetch(&mut *snapshot);
                while let Some(row) = rows.try_next().await? {
                    let cells = table.columns.iter().map(|(name, kind)| {
                        Ok(match kind {
                            ColumnKind::Text => Cell::Text(row.try_get(name)?),
                            ColumnKind::Number => Cell::Number(row.try_get(name)?),
                            ColumnKind::Flag => Cell::Flag(row.try_get(name)?),
                            ColumnKind::Bytes => Cell::Bytes(row.try_get(name)?),
                        })
                    });
                    archive.row(cells.collect::<Result<_, sqlx::Error>>()?)?;
                }
            }
        });
        archive.finish()
    }
}

/// Fills the database from a backup. On any error it is left as it was. No other process may use the database meanwhile.
pub async fn restore(database: &Database, input: impl Read, present: Present) -> Result<(About, Counts), BackupError> {
    let archive = ArchiveReader::open(input)?;
    match database {
        Database::Sqlite(path) => {
            let pool = sqlite::Sqlite::alone(path).await?.ok_or(BackupError::InUse)?;
            into_sqlite(&pool, archive, present).await
        }
        Database::Postgres(url) => into_postgres(&postgres::Postgres::alone(url).await?, archive, present).await,
    }
}

/// Empties the tables and inserts the rows of the backup, in the given transaction. Written once for both engines.
macro_rules! pour {
    ($transaction:ident, $archive:ident, $present:ident, $overriding:literal) => {{
        let mut archive = $archive;
        if $present == Present::Refuse {
            for table in &TABLES {
                let ask = format!("SELECT EXISTS (SELECT 1 FROM {}) AS is_occupied", table.name);
                if sqlx::query(AssertSqlSafe(ask)).fetch_one(&mut *$transaction).await?.try_get("is_occupied")? {
                    return Err(BackupError::Occupied);
                }
            }
        }
        for table in NOT_KEPT.into_iter().chain(TABLES.iter().rev().map(|table| table.name)) {
            sqlx::query(AssertSqlSafe(format!("DELETE FROM {table}"))).execute(&mut *$transaction).await?;
        }
        let mut insert = QueryBuilder::new("");
        let mut rows: Vec<Vec<Cell>> = Vec::new();
        loop {
            let part = archive.next()?;
            if !rows.is_empty() && (rows.len() == ROWS_MAX || !matches!(part, ArchivePart::Row(_))) {
                insert.reset();
                insert.push_values(rows.drain(..), |mut row, cells| {
                    for cell in cells {
                        match cell {
                            Cell::Text(value) => row.push_bind(value),
                            Cell::Number(value) => row.push_bind(value),
                            Cell::Flag(value) => row.push_bind(value),
                            Cell::Bytes(value) => row.push_bind(value),
                        };
                    }
                });
                insert.build().persistent(false).execute(&mut *$transaction).await?;
            }
            match part {
                ArchivePart::Table { table, columns } => insert = QueryBuilder::new(into(table, &columns, $overriding)),
                ArchivePart::Row(cells) => rows.push(cells),
                ArchivePart::End(counts) => break (archive.about, counts),
            }
        }
    }};
}

fn into(table: &Table, columns: &[&str], overriding: &str) -> String {
    format!("INSERT INTO {} ({}){overriding} ", table.name, columns.join(", "))
}

async fn into_sqlite<R: Read>(
    pool: &SqlitePool,
    archive: ArchiveReader<R>,
    present: Present,
) -> Result<(About, Counts), BackupError> {
    let mut transaction = pool.begin().await?;
    let restored = pour!(transaction, archive, present, "");
    transaction.commit().await?;
    // Closed in order, so that the next process finds one file and no log.
    pool.close().await;
    Ok(restored)
}

async fn into_postgres<R: Read>(
    pool: &PgPool,
    archive: ArchiveReader<R>,
    present: Present,
) -> Result<(About, Counts), BackupError> {
    let mut transaction = pool.begin().await?;
    only_connection(&mut transaction).await?;
    let tables: Vec<&str> = TABLES.iter().map(|table| table.name).chain(NOT_KEPT).collect();
    // A taxon that starts meanwhile waits for this lock.
    let lock = format!("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", tables.join(", "));
    sqlx::query(AssertSqlSafe(lock)).execute(&mut *transaction).await?;
    // These tables number their rows by themselves; those of the backup keep their numbers, and the next comes after them.
    let restored = pour!(transaction, archive, present, " OVERRIDING SYSTEM VALUE");
    for count_on in [
        "SELECT setval(pg_get_serial_sequence('outbox', 'seq'), coalesce(max(seq), 0) + 1, false) FROM outbox",
        "SELECT setval(pg_get_serial_sequence('webhook_deliveries', 'seq'), coalesce(max(seq), 0) + 1, false) FROM webhook_deliveries",
    ] {
        sqlx::query(count_on).execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    pool.close().await;
    Ok(restored)
}

/// An error unless this is the only connection of any taxon to the database.
async fn only_connection(transaction: &mut sqlx::PgTransaction<'_>) -> Result<(), BackupError> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(GONE_MILLIS_MAX) {
        // Within a transaction the list of connections is a snapshot until it is cleared.
        sqlx::query("SELECT pg_stat_clear_snapshot()").execute(&mut **transaction).await?;
        let others = sqlx::query(
            "SELECT EXISTS (SELECT 1 FROM pg_stat_activity
                            WHERE datname = current_database() AND application_name = $1 AND pid <> pg_backend_pid()) AS any_other",
        )
        .bind(postgres::APPLICATION)
        .fetch_one(&mut **transaction)
        .await?;
        if !others.try_get::<bool, _>("any_other")? {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(LOOK_MILLIS)).await;
    }
    Err(BackupError::InUse)
}
