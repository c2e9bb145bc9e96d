//! A separate file with a thread of its own. Queued writes share transactions; reads go first.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, params};
use tokio::sync::{mpsc, oneshot};

use super::super::sqlite::private_file;
use super::super::{Clock, StoreError};
use super::{
    Clearing, QueueBytes, QueuedRow, ShelfHit, ShelfRow, ShelfUsage, TRIM_ROWS_MAX, WRITE_ROWS_MAX, WRITES_WAITING_MAX,
};

const BUSY_SECONDS_MAX: u64 = 5;
const READS_WAITING_MAX: usize = 1_024;
/// Raised with each change of the tables: a file of another version is replaced.
const VERSION: i64 = 1;
const TABLES: &str = "
    CREATE TABLE cache_rows (
        kind  TEXT    NOT NULL,
        key   TEXT    NOT NULL,
        chain TEXT    NOT NULL,
        body  BLOB    NOT NULL,
        at    INTEGER NOT NULL,
        PRIMARY KEY (kind, key)
    ) STRICT;
    CREATE INDEX cache_rows_by_age ON cache_rows (at);
    CREATE TABLE cache_age (number INTEGER NOT NULL) STRICT;
    INSERT INTO cache_age VALUES (0);
    PRAGMA user_version = 1;";

#[derive(Debug, Clone)]
pub struct SqliteShelf {
    jobs: mpsc::Sender<SqliteShelfJob>,
    rows: mpsc::Sender<QueuedRow>,
    room: QueueBytes,
}

type Work = Box<dyn FnOnce(&mut Connection) + Send>;

enum SqliteShelfJob {
    Work(Work),
    /// Answered after all queued rows are written.
    Flush(oneshot::Sender<()>),
}

impl std::fmt::Debug for SqliteShelfJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Job")
    }
}

impl SqliteShelf {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let connection = open(path).or_else(|error| {
            // It is only a cache, so a damaged file must not keep the service from starting.
            tracing::warn!(%error, "the cache file is damaged and begins anew");
            remove(path);
            open(path)
        });
        let unusable =
            |error: &dyn std::error::Error| StoreError::Unusable(format!("the cache cannot be opened: {error}"));
        let connection = connection.map_err(|error| unusable(&error))?;
        let (jobs, to_do) = mpsc::channel(READS_WAITING_MAX);
        let (rows, to_write) = mpsc::channel(WRITES_WAITING_MAX);
        let thread = std::thread::Builder::new().name("cache".to_owned());
        let runtime = tokio::runtime::Handle::current();
        thread.spawn(move || runtime.block_on(work(connection, to_do, to_write))).map_err(|error| unusable(&error))?;
        Ok(Self { jobs, rows, room: QueueBytes::default() })
    }

    async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let gone = || StoreError::Unusable("the cache has stopped".to_owned());
        let (reply, answer) = oneshot::channel();
        let work: Work = Box::new(move |connection| drop(reply.send(work(connection))));
        self.jobs.send(SqliteShelfJob::Work(work)).await.map_err(|_| gone())?;
        let answer = answer.await.map_err(|_| gone())?;
        answer.map_err(|error| StoreError::Unusable(format!("the cache failed: {error}")))
    }

    pub(super) async fn load(&self, kind: &'static str, keys: Vec<String>) -> Result<Vec<ShelfHit>, StoreError> {
        self.ask(move |connection| {
            let mut query =
                connection.prepare_cached("SELECT chain, body FROM cache_rows WHERE kind = ? AND key = ?")?;
            let mut found = Vec::new();
            for key in keys {
                let row = query.query_map([kind, &key], |row| Ok((row.get(0)?, row.get(1)?)))?.next().transpose()?;
                found.extend(row.map(|(chain, body)| ShelfHit { key, chain, body }));
            }
            Ok(found)
        })
        .await
    }

    pub(super) fn keep(&self, row: ShelfRow) {
        // A dropped row is only a later cache miss.
        let _ = self.room.take(row).map(|waiting| self.rows.try_send(waiting));
    }

    pub(super) async fn flush(&self) {
        let (reply, answer) = oneshot::channel();
        if self.jobs.send(SqliteShelfJob::Flush(reply)).await.is_ok() {
            let _ = answer.await;
        }
    }

    pub(super) async fn usage(&self) -> Result<Vec<ShelfUsage>, StoreError> {
        self.ask(|connection| {
            let mut query = connection.prepare_cached(
                "SELECT kind, chain, count(*), sum(length(body)), min(at), max(at) FROM cache_rows
                 GROUP BY kind, chain ORDER BY kind, chain",
            )?;
            let usage = |row: &rusqlite::Row<'_>| {
                Ok(ShelfUsage {
                    kind: row.get(0)?,
                    chain: row.get(1)?,
                    rows: row.get(2)?,
                    bytes: row.get(3)?,
                    oldest: row.get(4)?,
                    newest: row.get(5)?,
                })
            };
            query.query_map([], usage)?.collect()
        })
        .await
    }

    pub(super) async fn clear(&self, which: Clearing) -> Result<u64, StoreError> {
        self.ask(move |connection| {
            let transaction = connection.transaction()?;
            let gone = transaction.execute(
                "DELETE FROM cache_rows WHERE (?1 IS NULL OR kind = ?1) AND (?2 IS NULL OR chain = ?2)",
                params![which.kind, which.chain],
            )?;
            transaction.execute("UPDATE cache_age SET number = number + 1", [])?;
            transaction.commit()?;
            Ok(u64::try_from(gone).unwrap_or(u64::MAX))
        })
        .await
    }

    pub(super) async fn age(&self) -> Result<i64, StoreError> {
        self.ask(|connection| connection.query_row("SELECT number FROM cache_age", [], |row| row.get(0))).await
    }

    pub(super) async fn trim(&self, kinds: &[&str], bytes_max: i64) -> Result<(), StoreError> {
        let known = serde_json::to_string(kinds).unwrap_or_default();
        self.ask(move |connection| {
            let unknown = "DELETE FROM cache_rows WHERE kind NOT IN (SELECT value FROM json_each(?))";
            connection.execute(unknown, [known])
        })
        .await?;
        // In steps, so that a read waits for no more than one step.
        while self.ask(move |connection| trim_step(connection, bytes_max)).await? > 0 {}
        Ok(())
    }
}

fn trim_step(connection: &mut Connection, bytes_max: i64) -> rusqlite::Result<usize> {
    let sum = "SELECT coalesce(sum(length(body)), 0) FROM cache_rows";
    let bytes: i64 = connection.query_row(sum, [], |row| row.get(0))?;
    if bytes <= bytes_max {
        return Ok(0);
    }
    connection.execute(
        "DELETE FROM cache_rows WHERE rowid IN (SELECT rowid FROM cache_rows ORDER BY at LIMIT ?)",
        [TRIM_ROWS_MAX],
    )
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    // Where the file cannot be made, SQLite says why.
    let _ = private_file(path);
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(BUSY_SECONDS_MAX))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // Commits are not flushed: rows lost in a power cut are read from the chain again.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let transaction = connection.unchecked_transaction()?;
    let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version != VERSION {
        transaction.execute_batch("DROP TABLE IF EXISTS cache_rows; DROP TABLE IF EXISTS cache_age;")?;
        transaction.execute_batch(TABLES)?;
    }
    transaction.commit()?;
    Ok(connection)
}

fn remove(path: &Path) {
    for end in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        // A file that does not exist is no error.
        let _ = std::fs::remove_file(name);
    }
}

async fn work(
    mut connection: Connection,
    mut jobs: mpsc::Receiver<SqliteShelfJob>,
    mut rows: mpsc::Receiver<QueuedRow>,
) {
    let mut written = Vec::new();
    loop {
        tokio::select! {
            biased;
            job = jobs.recv() => match job {
                Some(SqliteShelfJob::Work(work)) => work(&mut connection),
                Some(SqliteShelfJob::Flush(reply)) => {
                    while let Ok(row) = rows.try_recv() {
                        written.push(row);
                    }
                    write(&mut connection, &mut written);
                    let _ = reply.send(());
                }
                None => break,
            },
            count = rows.recv_many(&mut written, WRITE_ROWS_MAX) => {
                if count == 0 {
                    break;
                }
                write(&mut connection, &mut written);
            }
        }
    }
}

fn write(connection: &mut Connection, rows: &mut Vec<QueuedRow>) {
    let now = Clock::System.millis();
    let mut all = || -> rusqlite::Result<()> {
        let transaction = connection.transaction()?;
        let mut insert = transaction.prepare_cached(
            "INSERT INTO cache_rows (kind, key, chain, body, at) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT DO UPDATE SET chain = excluded.chain, body = excluded.body, at = excluded.at",
        )?;
        for QueuedRow { row, .. } in rows.iter() {
            insert.execute(params![row.kind, row.key, row.chain, row.body, now])?;
        }
        drop(insert);
        transaction.commit()
    };
    if let Err(error) = all() {
        tracing::warn!(%error, rows = rows.len(), "what was read could not be kept");
    }
    rows.clear();
}
