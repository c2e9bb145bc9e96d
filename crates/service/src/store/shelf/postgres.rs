//! One unlogged table that all instances share: after a crash of the server it is empty and fills again.

use std::time::Duration;

use sqlx::{PgPool, Row as _};
use tokio::sync::{mpsc, oneshot};

use super::super::StoreError;
use super::{
    Clearing, QueueBytes, QueuedRow, ShelfHit, ShelfRow, ShelfUsage, TRIM_ROWS_MAX, WRITE_ROWS_MAX, WRITES_WAITING_MAX,
};

/// A write that takes longer is given up.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub struct PostgresShelf {
    pool: PgPool,
    jobs: mpsc::Sender<PostgresShelfJob>,
    room: QueueBytes,
}

#[derive(Debug)]
enum PostgresShelfJob {
    Keep(QueuedRow),
    Flush(oneshot::Sender<()>),
}

impl PostgresShelf {
    /// Starts the task that writes. It ends when the last copy of the shelf is dropped.
    pub(super) fn new(pool: PgPool) -> Self {
        let (jobs, to_do) = mpsc::channel(WRITES_WAITING_MAX);
        tokio::spawn(work(pool.clone(), to_do));
        Self { pool, jobs, room: QueueBytes::default() }
    }

    pub(super) async fn load(&self, kind: &'static str, keys: Vec<String>) -> Result<Vec<ShelfHit>, StoreError> {
        let query = sqlx::query_as("SELECT key, chain, body FROM cache_rows WHERE kind = $1 AND key = ANY($2)");
        Ok(query.bind(kind).bind(keys).fetch_all(&self.pool).await?)
    }

    pub(super) fn keep(&self, row: ShelfRow) {
        // A dropped row is only a later cache miss.
        let _ = self.room.take(row).map(|waiting| self.jobs.try_send(PostgresShelfJob::Keep(waiting)));
    }

    pub(super) async fn flush(&self) {
        let (reply, answer) = oneshot::channel();
        if self.jobs.send(PostgresShelfJob::Flush(reply)).await.is_ok() {
            let _ = answer.await;
        }
    }

    pub(super) async fn usage(&self) -> Result<Vec<ShelfUsage>, StoreError> {
        let query = sqlx::query_as(
            "SELECT kind, chain, count(*) AS rows, sum(octet_length(body))::bigint AS bytes, min(at) AS oldest, max(at) AS newest
             FROM cache_rows GROUP BY kind, chain ORDER BY kind, chain",
        );
        Ok(query.fetch_all(&self.pool).await?)
    }

    pub(super) async fn clear(&self, which: &Clearing) -> Result<u64, StoreError> {
        let mut transaction = self.pool.begin().await?;
        let gone = sqlx::query("DELETE FROM cache_rows WHERE ($1 IS NULL OR kind = $1) AND ($2 IS NULL OR chain = $2)")
            .bind(&which.kind)
            .bind(&which.chain)
            .execute(&mut *transaction)
            .await?;
        sqlx::query("UPDATE cache_age SET number = number + 1").execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(gone.rows_affected())
    }

    pub(super) async fn age(&self) -> Result<i64, StoreError> {
        let row = sqlx::query("SELECT coalesce(max(number), 0) FROM cache_age").fetch_one(&self.pool).await?;
        Ok(row.try_get(0)?)
    }

    pub(super) async fn trim(&self, kinds: &[&str], bytes_max: i64) -> Result<(), StoreError> {
        let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        sqlx::query("DELETE FROM cache_rows WHERE kind <> ALL($1)").bind(kinds).execute(&self.pool).await?;
        loop {
            let sum = sqlx::query("SELECT coalesce(sum(octet_length(body)), 0)::bigint FROM cache_rows");
            let bytes: i64 = sum.fetch_one(&self.pool).await?.try_get(0)?;
            if bytes <= bytes_max {
                return Ok(());
            }
            let oldest = "DELETE FROM cache_rows WHERE ctid IN (SELECT ctid FROM cache_rows ORDER BY at LIMIT $1)";
            sqlx::query(oldest).bind(TRIM_ROWS_MAX).execute(&self.pool).await?;
        }
    }
}

async fn work(pool: PgPool, mut jobs: mpsc::Receiver<PostgresShelfJob>) {
    let mut waiting = Vec::new();
    while jobs.recv_many(&mut waiting, WRITE_ROWS_MAX).await > 0 {
        let mut rows = Vec::new();
        let mut flushed = Vec::new();
        for job in waiting.drain(..) {
            match job {
                PostgresShelfJob::Keep(row) => rows.push(row),
                PostgresShelfJob::Flush(reply) => flushed.push(reply),
            }
        }
        match tokio::time::timeout(WRITE_PATIENCE, write(&pool, &mut rows)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, rows = rows.len(), "what was read could not be kept"),
            Err(_) => tracing::warn!(rows = rows.len(), "what was read was not kept in time"),
        }
        for reply in flushed {
            let _ = reply.send(());
        }
    }
}

async fn write(pool: &PgPool, rows: &mut Vec<QueuedRow>) -> Result<(), sqlx::Error> {
    // An upsert may touch a row only once, so the latest of equal keys is kept; rows are sorted, so that two instances do not deadlock.
    rows.reverse();
    rows.sort_by(|one, other| (one.row.kind, &one.row.key).cmp(&(other.row.kind, &other.row.key)));
    rows.dedup_by(|older, newer| older.row.kind == newer.row.kind && older.row.key == newer.row.key);
    if rows.is_empty() {
        return Ok(());
    }
    let rows = || rows.iter().map(|waiting| &waiting.row);
    let kinds: Vec<&str> = rows().map(|row| row.kind).collect();
    let keys: Vec<&str> = rows().map(|row| row.key.as_str()).collect();
    let chains: Vec<&str> = rows().map(|row| row.chain.as_str()).collect();
    let bodies: Vec<&[u8]> = rows().map(|row| row.body.as_slice()).collect();
    sqlx::query(
        "INSERT INTO cache_rows (kind, key, chain, body, at)
         SELECT kind, key, chain, body, (extract(epoch FROM clock_timestamp()) * 1000)::bigint
         FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[]) AS new (kind, key, chain, body)
         ON CONFLICT (kind, key) DO UPDATE SET chain = excluded.chain, body = excluded.body, at = excluded.at",
    )
    .bind(kinds)
    .bind(keys)
    .bind(chains)
    .bind(bodies)
    .execute(pool)
    .await?;
    Ok(())
}
