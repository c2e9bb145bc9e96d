//! The embedded engine: one file in WAL mode. Ledger transactions go through one writer, on a thread of its own, which groups concurrent
//! callers into one commit; everything else uses pooled connections. All writers of the process are serialised by `Gate`.

mod checkpoints;
#[cfg(test)]
mod tests;
mod turns;
mod writer;

use std::ops::{Deref, DerefMut};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteLockingMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection, Row, SqliteConnection, SqlitePool};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::accounts::set_unproved_aside;
use super::{
    Billing, Clock, Cursor, DELAY_MILLIS_MAX, EVENTS_MAX, Entry, Event, Imbalance, Key, KeyRow, LedgerFilter, NewKey,
    OutboxBacklog, PAGE_ROWS_MAX, PURGE_ROWS_MAX, Payer, PoolUsage, Purged, StoreError, Turn, Turned, migration_failed,
    migrations, millis,
};
use checkpoints::{LOG_BYTES, LOG_PAGES_MAX};
use writer::TurnWriter;

const CONNECTIONS_MAX: u32 = 8;
const OWNER_ONLY: u32 = 0o600;
/// Another process may be writing.
const BUSY_SECONDS_MAX: u64 = 30;
/// How long a restore waits for a process that is about to end.
const ALONE_SECONDS_MAX: u64 = 3;
/// Takes the write lock at once, so that a second writer waits at the start instead of failing midway.
const BEGIN: &str = "BEGIN IMMEDIATE";

/// FIFO mutex of this process's writers. SQLite's own busy handler polls with pauses of up to a tenth of a second and is not fair.
type Gate = Arc<Mutex<()>>;

#[derive(Debug, Clone)]
pub struct Sqlite {
    pool: SqlitePool,
    gate: Gate,
    writer: TurnWriter,
    clock: Clock,
}

/// A write transaction. It holds the gate, so no other of this process runs until it ends.
#[derive(Debug)]
pub struct Writing {
    transaction: sqlx::Transaction<'static, sqlx::Sqlite>,
    _turn: OwnedMutexGuard<()>,
}

impl Writing {
    pub(super) async fn commit(self) -> Result<(), sqlx::Error> {
        self.transaction.commit().await
    }
}

impl Deref for Writing {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.transaction
    }
}

impl DerefMut for Writing {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.transaction
    }
}

impl Sqlite {
    pub(super) async fn open(path: &Path, clock: Clock) -> Result<Self, StoreError> {
        let _lock = lock(path).await?;
        let pool = SqlitePoolOptions::new()
            .max_connections(CONNECTIONS_MAX)
            // When the disk fails, SQLite rolls back by itself, and sqlx would count the transaction as open for ever.
            .before_acquire(|connection, _| Box::pin(async move { Ok(!connection.is_in_transaction()) }))
            .connect_with(options(path))
            .await?;
        migrate(&pool).await?;
        let gate = Gate::default();
        let writer = TurnWriter::start(path, Arc::clone(&gate))?;
        checkpoints::start(path, &gate)?;
        Ok(Self { pool, gate, writer, clock })
    }

    /// The only connection to the database; `None` while another process has it open.
    pub(super) async fn alone(path: &Path) -> Result<Option<SqlitePool>, StoreError> {
        let _lock = lock(path).await?;
        let options = options(path)
            .locking_mode(SqliteLockingMode::Exclusive)
            .busy_timeout(Duration::from_secs(ALONE_SECONDS_MAX));
        let locked = async {
            let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await?;
            // The lock is taken with the first read, and kept.
            sqlx::query("SELECT count(*) FROM sqlite_schema").execute(&pool).await?;
            Ok(pool)
        };
        let pool = match locked.await {
            Ok(pool) => pool,
            Err(error) if is_locked(&error) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        migrate(&pool).await?;
        Ok(Some(pool))
    }

    /// A snapshot transaction.
    pub(super) async fn snapshot(&self) -> Result<sqlx::Transaction<'static, sqlx::Sqlite>, StoreError> {
        Ok(self.pool.begin().await?)
    }

    pub(super) fn pool(&self) -> &SqlitePool {
        &self.pool
    }

    /// A write transaction, after waiting for the gate.
    pub(super) async fn begin(&self) -> Result<Writing, StoreError> {
        let turn = Arc::clone(&self.gate).lock_owned().await;
        Ok(Writing { transaction: self.pool.begin_with(BEGIN).await?, _turn: turn })
    }

    /// Milliseconds since 1970.
    pub(super) async fn now(&self) -> Result<i64, StoreError> {
        Ok(self.clock.millis())
    }

    /// A write transaction has the whole database to itself.
    pub(super) fn holding(&self) -> &'static str {
        ""
    }

    /// A write transaction has the whole database to itself.
    pub(super) fn locking(&self) -> &'static str {
        ""
    }

    /// For rows that another transaction works on: there is none.
    pub(super) fn skipping(&self) -> &'static str {
        ""
    }

    pub(super) async fn answers(&self) -> bool {
        sqlx::query("SELECT count(*) FROM leases").execute(&self.pool).await.is_ok()
    }

    pub(super) async fn create_key(&self, key: &NewKey) -> Result<bool, StoreError> {
        let now = self.clock.millis() / 1000;
        let mut transaction = self.begin().await?;
        // The first takes the address, or waits for a concurrent sign-up that does; the second takes it from whoever was set aside.
        let mut is_aside = false;
        for round in 0..2 {
            sqlx::query("INSERT INTO owners (id, email, created_at) VALUES (?, ?, ?) ON CONFLICT (email) DO NOTHING")
                .bind(&key.owner_id)
                .bind(&key.email)
                .bind(now)
                .execute(&mut *transaction)
                .await?;
            if round == 0 {
                is_aside = set_unproved_aside!(transaction, &key.email);
            }
        }
        if let Billing::Pool { tier, contracted } = &key.billing {
            sqlx::query("UPDATE owners SET pool = CASE WHEN tier = ?1 THEN coalesce(?2, pool) ELSE ?2 END, tier = ?1 WHERE email = ?3")
                .bind(tier)
                .bind(contracted)
                .bind(&key.email)
                .execute(&mut *transaction)
                .await?;
        }
        sqlx::query(
            "INSERT INTO keys (id, owner_id, hash, name, metered, created_at)
             SELECT ?, id, ?, ?, ?, ? FROM owners WHERE email = ?",
        )
        .bind(&key.id)
        .bind(&key.hash)
        .bind(&key.name)
        .bind(key.billing == Billing::Metered)
        .bind(now)
        .bind(&key.email)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(is_aside)
    }

    pub(super) async fn key(&self, id: &str) -> Result<Option<Key>, StoreError> {
        let row = sqlx::query_as(
            "SELECT keys.*, owners.email, owners.tier, owners.pool FROM keys JOIN owners ON owners.id = keys.owner_id
             WHERE keys.id = ?",
        )
        .bind(id)
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.map(|row: KeyRow| row.into()))
    }

    pub(super) async fn keys(&self) -> Result<Vec<Key>, StoreError> {
        let rows = sqlx::query_as(
            "SELECT keys.*, owners.email, owners.tier, owners.pool FROM keys JOIN owners ON owners.id = keys.owner_id
             ORDER BY keys.created_at, keys.id",
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.into_iter().map(|row: KeyRow| row.into()).collect())
    }

    pub(super) async fn revoke_key(&self, id: &str) -> Result<bool, StoreError> {
        let done = sqlx::query("UPDATE keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?")
            .bind(self.clock.millis() / 1000)
            .bind(id)
            .execute(&self.pool)
            .await?;
        Ok(done.rows_affected() == 1)
    }

    pub(super) async fn rename_key(&self, id: &str, name: &str) -> Result<bool, StoreError> {
        let done = sqlx::query("UPDATE keys SET name = ? WHERE id = ?").bind(name).bind(id).execute(&self.pool).await?;
        Ok(done.rows_affected() == 1)
    }

    pub(super) async fn touch_keys(&self, used: &[(String, i64)]) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        for (id, at) in used {
            sqlx::query("UPDATE keys SET last_used_at = max(coalesce(last_used_at, 0), ?) WHERE id = ?")
                .bind(at / 1000)
                .bind(id)
                .execute(&mut *transaction)
                .await?;
        }
        Ok(transaction.commit().await?)
    }

    pub(super) async fn turn(&self, turn: Turn) -> Result<Turned, StoreError> {
        self.writer.turn(turn, self.clock.millis()).await
    }

    pub(super) async fn pool_usage(&self, payer: &Payer, hash: Option<&str>) -> Result<PoolUsage, StoreError> {
        let row = sqlx::query_as(
            "WITH now AS (SELECT max(?2, coalesce((SELECT max(period) FROM pools WHERE payer = ?1), '')) AS period)
             SELECT coalesce((SELECT used FROM pools WHERE payer = ?1 AND period = now.period), 0) AS used,
                    EXISTS (SELECT 1 FROM entries
                            WHERE payer = ?1 AND period = now.period AND hash = ?3 AND billed <> 'free') AS is_counted
             FROM now",
        )
        .bind(&payer.id)
        .bind(payer.resets.period(self.clock.millis()))
        .bind(hash)
        .fetch_one(&self.pool)
        .await?;
        Ok(row)
    }

    pub(super) async fn entries(
        &self,
        filter: &LedgerFilter,
        after: Option<&Cursor>,
    ) -> Result<Vec<Entry>, StoreError> {
        let (at, payer, period, hash) = after.cloned().unwrap_or_default();
        let rows = sqlx::query_as(
            "SELECT entries.*, owners.email AS owner FROM entries LEFT JOIN owners ON owners.id = entries.payer
             WHERE at >= ?1 AND (at, payer, period, hash) > (?2, ?3, ?4, ?5) AND at >= ?2
               AND (?6 IS NULL OR owners.email = ?6) AND (NOT ?7 OR billed = 'metered')
             ORDER BY at, payer, period, hash LIMIT ?8",
        )
        .bind(filter.since)
        .bind(at)
        .bind(payer)
        .bind(period)
        .bind(hash)
        .bind(&filter.email)
        .bind(filter.is_metered_only)
        .bind(PAGE_ROWS_MAX)
        .fetch_all(&self.pool)
        .await?;
        Ok(rows)
    }

    pub(super) async fn imbalances(&self) -> Result<Vec<Imbalance>, StoreError> {
        let rows = sqlx::query_as(
            "SELECT payer, period, sum(used) AS used, sum(rows) AS rows FROM (
                 SELECT payer, period, used, 0 AS rows FROM pools
                 UNION ALL SELECT payer, period, 0, count(*) FROM entries WHERE billed = 'pool' GROUP BY payer, period
             ) GROUP BY payer, period HAVING sum(used) <> sum(rows)",
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(rows)
    }

    pub(super) async fn purge(&self, before: i64) -> Result<Purged, StoreError> {
        let open = super::Resets::Monthly.period(self.clock.millis());
        let mut purged = Purged::default();
        loop {
            let mut transaction = self.begin().await?;
            let events = sqlx::query(
                "DELETE FROM outbox WHERE seq IN
                     (SELECT seq FROM outbox WHERE delivered_at < ? AND period < ? ORDER BY seq LIMIT ?)",
            )
            .bind(before)
            .bind(&open)
            .bind(PURGE_ROWS_MAX)
            .execute(&mut *transaction)
            .await?;
            let gone: Vec<(String, String, bool)> = sqlx::query_as(
                "DELETE FROM entries WHERE (payer, period, hash) IN (
                     SELECT payer, period, hash FROM entries WHERE at < ?1 AND period < ?2 AND NOT EXISTS (
                         SELECT 1 FROM outbox WHERE outbox.payer = entries.payer AND outbox.period = entries.period
                         AND outbox.hash = entries.hash AND delivered_at IS NULL)
                     ORDER BY at LIMIT ?3)
                 RETURNING payer, period, billed = 'pool'",
            )
            .bind(before)
            .bind(&open)
            .bind(PURGE_ROWS_MAX)
            .fetch_all(&mut *transaction)
            .await?;
            for (payer, period, _) in gone.iter().filter(|(.., is_counted)| *is_counted) {
                sqlx::query("UPDATE pools SET used = used - 1 WHERE payer = ? AND period = ?")
                    .bind(payer)
                    .bind(period)
                    .execute(&mut *transaction)
                    .await?;
            }
            transaction.commit().await?;
            if !purged.add(gone.len(), events.rows_affected()) {
                return Ok(purged);
            }
        }
    }

    pub(super) async fn sweep(&self) -> Result<(), StoreError> {
        let expired = sqlx::query("SELECT EXISTS (SELECT 1 FROM holds WHERE expires_at <= ?1) AS any")
            .bind(self.clock.millis())
            .fetch_one(&self.pool)
            .await?;
        if expired.try_get("any")? {
            sqlx::query("DELETE FROM holds WHERE expires_at <= ?")
                .bind(self.clock.millis())
                .execute(&self.pool)
                .await?;
        }
        Ok(())
    }

    pub(super) async fn lease(&self, name: &str, holder: &str, span: Duration) -> Result<bool, StoreError> {
        let now = self.clock.millis();
        let done = sqlx::query(
            "INSERT INTO leases (name, holder, until) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE
             SET holder = excluded.holder, until = excluded.until WHERE leases.holder = ?2 OR leases.until <= ?4 OR leases.until > ?5",
        )
        .bind(name)
        .bind(holder)
        .bind(now.saturating_add(millis(span)))
        .bind(now)
        .bind(now.saturating_add(DELAY_MILLIS_MAX))
        .execute(&self.pool)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    /// Skips from payer to payer along the index, so that the cost does not grow with the queue.
    pub(super) async fn due(&self) -> Result<Vec<(String, i64)>, StoreError> {
        let rows = sqlx::query_as(
            "WITH RECURSIVE payers (payer) AS (
                 SELECT min(payer) FROM outbox WHERE delivered_at IS NULL
                 UNION ALL
                 SELECT (SELECT min(outbox.payer) FROM outbox WHERE delivered_at IS NULL AND outbox.payer > payers.payer)
                 FROM payers WHERE payer IS NOT NULL)
             SELECT payers.payer, coalesce(delays.failures, 0) AS failures
             FROM payers LEFT JOIN delays ON delays.payer = payers.payer
             WHERE payers.payer IS NOT NULL AND coalesce(delays.until, 0) NOT BETWEEN ?1 + 1 AND ?1 + ?2 ORDER BY payers.payer",
        )
        .bind(self.clock.millis())
        .bind(DELAY_MILLIS_MAX)
        .fetch_all(&self.pool)
        .await?;
        Ok(rows)
    }

    pub(super) async fn events(&self, payer: &str) -> Result<Vec<Event>, StoreError> {
        let rows = sqlx::query_as(
            "SELECT outbox.seq, entries.*, owners.email AS owner
             FROM outbox JOIN entries USING (payer, period, hash) LEFT JOIN owners ON owners.id = outbox.payer
             WHERE outbox.payer = ? AND delivered_at IS NULL ORDER BY seq LIMIT ?",
        )
        .bind(payer)
        .bind(EVENTS_MAX)
        .fetch_all(&self.pool)
        .await?;
        Ok(rows)
    }

    pub(super) async fn delivered(&self, payer: &str, up_to: i64) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        sqlx::query("UPDATE outbox SET delivered_at = ? WHERE payer = ? AND seq <= ? AND delivered_at IS NULL")
            .bind(self.clock.millis())
            .bind(payer)
            .bind(up_to)
            .execute(&mut *transaction)
            .await?;
        sqlx::query("DELETE FROM delays WHERE payer = ?").bind(payer).execute(&mut *transaction).await?;
        Ok(transaction.commit().await?)
    }

    pub(super) async fn delay(&self, payer: &str, span: Duration, reason: &str) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO delays (payer, failures, until, reason) VALUES (?1, 1, ?2, ?3) ON CONFLICT (payer) DO UPDATE
             SET failures = failures + 1, until = excluded.until, reason = excluded.reason",
        )
        .bind(payer)
        .bind(self.clock.millis().saturating_add(millis(span)))
        .bind(reason)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    pub(super) async fn waiting(&self) -> Result<Vec<OutboxBacklog>, StoreError> {
        let rows = sqlx::query_as(
            "SELECT outbox.payer, owners.email AS owner, count(*) AS waiting, min(entries.at) AS oldest,
                    coalesce(max(delays.failures), 0) AS failures, max(delays.until) AS retry_at, max(delays.reason) AS reason
             FROM outbox JOIN entries USING (payer, period, hash) LEFT JOIN owners ON owners.id = outbox.payer
             LEFT JOIN delays ON delays.payer = outbox.payer
             WHERE delivered_at IS NULL GROUP BY outbox.payer, owners.email ORDER BY outbox.payer",
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(rows)
    }
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("wal_autocheckpoint", LOG_PAGES_MAX.to_string())
        .pragma("journal_size_limit", LOG_BYTES.to_string())
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(BUSY_SECONDS_MAX))
}

async fn migrate(pool: &SqlitePool) -> Result<(), StoreError> {
    let migrator = migrations::sqlite();
    migrator.run(pool).await.map_err(|error| migration_failed(error, &migrator))
}

fn is_locked(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.message().contains("locked"))
}

/// SQLite has no lock around migrations, so a file beside the database is locked. Closing the file releases the lock.
/// Opens a file, and makes it for its owner alone if there is none: it holds hashes of keys and passwords, and who reads what.
pub(super) fn private_file(path: &Path) -> std::io::Result<std::fs::File> {
    std::fs::File::options().create(true).write(true).truncate(false).mode(OWNER_ONLY).open(path)
}

async fn lock(path: &Path) -> Result<std::fs::File, StoreError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let path = path.to_owned();
    let locked = tokio::task::spawn_blocking(move || {
        let file = private_file(name.as_ref())?;
        file.lock()?;
        // SQLite takes an empty file for a new database, and gives its log the same mode.
        private_file(&path)?;
        Ok::<_, std::io::Error>(file)
    });
    let locked = locked.await.map_err(|fault| StoreError::Unusable(fault.to_string()))?;
    locked.map_err(|error| StoreError::Unusable(format!("the database's folder cannot be written: {error}")))
}
