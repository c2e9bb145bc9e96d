//! The shared engine: PostgreSQL 15 or later, for any number of instances. Each ledger transaction and each hit on a rate window is one
//! call of a function in the database (`migrations/postgres`), so it costs one round trip. Times are those of the database's clock.

use std::future::Future;
use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgPool, Row};

use super::accounts::set_unproved_aside;
use super::{
    Billing, Clock, Cursor, DELAY_MILLIS_MAX, EVENTS_MAX, Entry, Event, Grant, HOLD, Imbalance, Key, KeyRow,
    LedgerFilter, NewKey, OutboxBacklog, PAGE_ROWS_MAX, PURGE_ROWS_MAX, Payer, PoolUsage, Posted, Purged, StoreError,
    Turn, Turned, migration_failed, migrations, millis,
};

/// The application name of our connections on the server.
pub(super) const APPLICATION: &str = "taxon";
const CONNECTIONS_MAX: u32 = 16;
/// After this long a caller is told that the database is down.
const ACQUIRE_SECONDS_MAX: u64 = 2;
/// A connection that was idle for longer is pinged before it is used.
const IDLE_MILLIS_MAX: u64 = 1_000;
/// Attempts in total; a broken connection is replaced before each retry.
const TRIES_MAX: usize = 3;
/// The server cancels a statement that takes longer, and we give up a moment later, in case the server hangs.
const STATEMENT_TIMEOUT: &str = "5s";
const ANSWER_SECONDS_MAX: u64 = 7;
/// How long a restore waits for exclusive locks on the tables.
const ALONE_TIMEOUT: &str = "10s";
pub(super) const VERSION_MIN: i64 = 150_000;
/// A window that was not used for this long is deleted.
const WINDOW_IDLE_MICROS: i64 = 600_000_000;

#[derive(Debug, Clone)]
pub struct Postgres {
    pool: PgPool,
    clock: Clock,
}

impl Postgres {
    pub(super) async fn open(url: &str, clock: Clock) -> Result<Self, StoreError> {
        let options = options(url)?;
        migrate(&options).await?;
        let options = options
            .options([("default_transaction_isolation", "read committed"), ("statement_timeout", STATEMENT_TIMEOUT)]);
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS_MAX)
            .acquire_timeout(Duration::from_secs(ACQUIRE_SECONDS_MAX))
            .test_before_acquire(false)
            .before_acquire(|connection, meta| {
                Box::pin(async move {
                    if meta.idle_for > Duration::from_millis(IDLE_MILLIS_MAX) {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            })
            .connect_with(options)
            .await?;
        Ok(Self { pool, clock })
    }

    /// One connection, whose statements may take as long as they need.
    pub(super) async fn alone(url: &str) -> Result<PgPool, StoreError> {
        let options = options(url)?;
        migrate(&options).await?;
        let options = options.options([("lock_timeout", ALONE_TIMEOUT)]);
        Ok(PgPoolOptions::new().max_connections(1).connect_with(options).await?)
    }

    /// A read-only snapshot transaction without a statement timeout, since reading everything takes long.
    pub(super) async fn snapshot(&self) -> Result<sqlx::Transaction<'static, sqlx::Postgres>, StoreError> {
        let mut transaction = self.pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        sqlx::query("SET LOCAL statement_timeout = 0").execute(&mut *transaction).await?;
        Ok(transaction)
    }

    pub(super) fn pool(&self) -> &PgPool {
        &self.pool
    }

    pub(super) async fn begin(&self) -> Result<sqlx::Transaction<'static, sqlx::Postgres>, StoreError> {
        Ok(self.pool.begin().await?)
    }

    /// Milliseconds since 1970 where a test sets the clock; the database's own time otherwise.
    fn manual_now(&self) -> Option<i64> {
        self.clock.manual()
    }

    /// Milliseconds since 1970, for statements that both engines share.
    pub(super) async fn now(&self) -> Result<i64, StoreError> {
        if let Some(millis) = self.manual_now() {
            return Ok(millis);
        }
        let query = || async { sqlx::query_as("SELECT taxon_now()").fetch_one(&self.pool).await };
        let (millis,): (i64,) = with_retries(query).await?;
        Ok(millis)
    }

    /// Locks the selected rows against erasure until the transaction ends.
    pub(super) fn holding(&self) -> &'static str {
        " FOR KEY SHARE"
    }

    /// Holds a row so that whoever else wants to waits; rows that refer to it may come.
    pub(super) fn locking(&self) -> &'static str {
        " FOR NO KEY UPDATE"
    }

    /// 32 random hexadecimal digits, as an expression.
    pub(super) fn random_name(&self) -> &'static str {
        "replace(gen_random_uuid()::text, '-', '')"
    }

    /// Rows that another instance is just taking are left to it.
    pub(super) fn skipping(&self) -> &'static str {
        " FOR UPDATE SKIP LOCKED"
    }

    pub(super) async fn answers(&self) -> bool {
        let query = || async { sqlx::query("SELECT count(*) FROM leases").execute(&self.pool).await };
        with_retries(query).await.is_ok()
    }

    pub(super) async fn create_key(&self, key: &NewKey) -> Result<bool, StoreError> {
        let mut transaction = self.pool.begin().await?;
        // The first takes the address, or waits for a concurrent sign-up that does; the second takes it from whoever was set aside.
        let mut is_aside = false;
        for round in 0..2 {
            sqlx::query(
                "INSERT INTO owners (id, email, created_at) VALUES ($1, $2, coalesce($3, taxon_now()) / 1000)
                 ON CONFLICT (email) DO NOTHING",
            )
            .bind(&key.owner_id)
            .bind(&key.email)
            .bind(self.manual_now())
            .execute(&mut *transaction)
            .await?;
            if round == 0 {
                is_aside = set_unproved_aside!(transaction, &key.email);
            }
        }
        if let Billing::Pool { tier, contracted } = &key.billing {
            sqlx::query("UPDATE owners SET pool = CASE WHEN tier = $1 THEN coalesce($2, pool) ELSE $2 END, tier = $1 WHERE email = $3")
                .bind(tier)
                .bind(contracted)
                .bind(&key.email)
                .execute(&mut *transaction)
                .await?;
        }
        sqlx::query(
            "INSERT INTO keys (id, owner_id, hash, name, metered, created_at)
             SELECT $1, id, $2, $3, $4, coalesce($5, taxon_now()) / 1000 FROM owners WHERE email = $6",
        )
        .bind(&key.id)
        .bind(&key.hash)
        .bind(&key.name)
        .bind(key.billing == Billing::Metered)
        .bind(self.manual_now())
        .bind(&key.email)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(is_aside)
    }

    pub(super) async fn key(&self, id: &str) -> Result<Option<Key>, StoreError> {
        let query = || async {
            sqlx::query_as(
                "SELECT keys.*, owners.email, owners.tier, owners.pool FROM keys JOIN owners ON owners.id = keys.owner_id
                 WHERE keys.id = $1",
            )
            .bind(id)
            .fetch_optional(&self.pool)
            .await
        };
        let row = with_retries(query).await?;
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
        let done = sqlx::query(
            "UPDATE keys SET revoked_at = coalesce(revoked_at, coalesce($1, taxon_now()) / 1000) WHERE id = $2",
        )
        .bind(self.manual_now())
        .bind(id)
        .execute(&self.pool)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    pub(super) async fn rename_key(&self, id: &str, name: &str) -> Result<bool, StoreError> {
        let done =
            sqlx::query("UPDATE keys SET name = $1 WHERE id = $2").bind(name).bind(id).execute(&self.pool).await?;
        Ok(done.rows_affected() == 1)
    }

    pub(super) async fn touch_keys(&self, used: &[(String, i64)]) -> Result<(), StoreError> {
        let (ids, times): (Vec<&str>, Vec<i64>) = used.iter().map(|(id, at)| (id.as_str(), at / 1000)).unzip();
        let mut transaction = self.pool.begin().await?;
        sqlx::query("SET LOCAL synchronous_commit = off").execute(&mut *transaction).await?;
        // Rows are locked in one order, so that two instances that write at once do not deadlock.
        sqlx::query(
            "WITH used AS (SELECT * FROM unnest($1::text[], $2::bigint[]) AS used (id, at)),
                  locked AS (SELECT keys.id FROM keys JOIN used USING (id) ORDER BY keys.id FOR UPDATE OF keys)
             UPDATE keys SET last_used_at = greatest(coalesce(last_used_at, 0), used.at)
             FROM used JOIN locked USING (id) WHERE keys.id = used.id",
        )
        .bind(ids)
        .bind(times)
        .execute(&mut *transaction)
        .await?;
        Ok(transaction.commit().await?)
    }

    pub(super) async fn turn(&self, turn: Turn) -> Result<Turned, StoreError> {
        let column = |read: fn(&super::Settled) -> &str| turn.settled.iter().map(read).collect::<Vec<&str>>();
        let query = || async {
            sqlx::query(
                "SELECT * FROM taxon_turn_told($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
            )
            .bind(&turn.payer.id)
            .bind(turn.payer.resets.name())
            .bind(&turn.period)
            .bind(turn.payer.limit)
            .bind(&turn.call_id)
            .bind(&turn.key_id)
            .bind(&turn.request_id)
            .bind(self.manual_now())
            .bind(millis(HOLD))
            .bind(turn.has_sink)
            .bind(column(|row| &row.hash))
            .bind(column(|row| row.outcome.name()))
            .bind(column(|row| &row.category))
            .bind(column(|row| &row.chain))
            .bind(&turn.wanted)
            .fetch_one(&self.pool)
            .await
        };
        let row = with_retries(query).await?;
        let posted: Vec<String> = row.try_get("o_settled")?;
        let granted: Vec<String> = row.try_get("o_wanted")?;
        Ok(Turned {
            period: row.try_get("o_period")?,
            posted: posted.iter().map(|word| posted_as(word)).collect::<Result<_, _>>()?,
            granted: granted.iter().map(|word| granted_as(word)).collect::<Result<_, _>>()?,
        })
    }

    pub(super) async fn pool_usage(&self, payer: &Payer, hash: Option<&str>) -> Result<PoolUsage, StoreError> {
        let query = || async {
            sqlx::query_as(
                "WITH now AS (SELECT greatest(taxon_period($2, coalesce($4, taxon_now())),
                     (SELECT max(period COLLATE \"C\") FROM pools WHERE payer = $1)) AS period)
                 SELECT coalesce((SELECT used FROM pools WHERE payer = $1 AND period = now.period), 0) AS used,
                        EXISTS (SELECT 1 FROM entries
                                WHERE payer = $1 AND period = now.period AND hash = $3 AND billed <> 'free') AS is_counted
                 FROM now",
            )
            .bind(&payer.id)
            .bind(payer.resets.name())
            .bind(hash)
            .bind(self.manual_now())
            .fetch_one(&self.pool)
            .await
        };
        let row = with_retries(query).await?;
        Ok(row)
    }

    /// Counts a hit in a window that takes `most` hits; when it is full, how long to wait.
    pub(super) async fn hit(&self, who: &str, most: u32, span: Duration) -> Result<Option<Duration>, StoreError> {
        let query = || async {
            sqlx::query("SELECT taxon_hit($1, $2, $3, $4) AS wait")
                .bind(who)
                .bind(i64::from(most))
                .bind(i64::try_from(span.as_micros()).unwrap_or(i64::MAX))
                .bind(self.manual_now().map(|millis| millis.saturating_mul(1000)))
                .fetch_one(&self.pool)
                .await
        };
        let wait: i64 = with_retries(query).await?.try_get("wait")?;
        Ok(u64::try_from(wait).ok().filter(|wait| *wait > 0).map(Duration::from_micros))
    }

    pub(super) async fn entries(
        &self,
        filter: &LedgerFilter,
        after: Option<&Cursor>,
    ) -> Result<Vec<Entry>, StoreError> {
        let (at, payer, period, hash) = after.cloned().unwrap_or_default();
        let rows = sqlx::query_as(
            "SELECT entries.*, owners.email AS owner FROM entries LEFT JOIN owners ON owners.id = entries.payer
             WHERE at >= $1 AND (at, payer, period, hash) > ($2, $3, $4, $5) AND at >= $2
               AND ($6::text IS NULL OR owners.email = $6) AND (NOT $7 OR billed = 'metered')
             ORDER BY at, payer, period, hash LIMIT $8",
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
            "SELECT payer, period, sum(used)::bigint AS used, sum(rows)::bigint AS rows FROM (
                 SELECT payer, period, used, 0 AS rows FROM pools
                 UNION ALL SELECT payer, period, 0, count(*) FROM entries WHERE billed = 'pool' GROUP BY payer, period
             ) AS both_sides GROUP BY payer, period HAVING sum(used) <> sum(rows)",
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(rows)
    }

    pub(super) async fn purge(&self, before: i64) -> Result<Purged, StoreError> {
        let open: (String,) = sqlx::query_as("SELECT taxon_period('monthly', coalesce($1, taxon_now()))")
            .bind(self.manual_now())
            .fetch_one(&self.pool)
            .await?;
        let mut purged = Purged::default();
        loop {
            let events = sqlx::query(
                "DELETE FROM outbox WHERE seq IN (
                     SELECT seq FROM outbox WHERE delivered_at < $1 AND period COLLATE \"C\" < $2 ORDER BY seq LIMIT $3)",
            )
            .bind(before)
            .bind(&open.0)
            .bind(PURGE_ROWS_MAX)
            .execute(&self.pool)
            .await?;
            // The counter is reduced by the deleted rows and not reset, so that a concurrent call that settles in an old period still
            // counts.
            let gone: (i64,) = sqlx::query_as(
                "WITH gone AS (
                     DELETE FROM entries WHERE (payer, period, hash) IN (
                         SELECT payer, period, hash FROM entries WHERE at < $1 AND period COLLATE \"C\" < $2 AND NOT EXISTS (
                             SELECT 1 FROM outbox WHERE outbox.payer = entries.payer AND outbox.period = entries.period
                             AND outbox.hash = entries.hash AND delivered_at IS NULL)
                         ORDER BY at LIMIT $3)
                     RETURNING payer, period, billed),
                 counted AS (
                     SELECT payer, period, count(*) AS rows FROM gone WHERE billed = 'pool' GROUP BY payer, period),
                 less AS (
                     UPDATE pools SET used = used - counted.rows FROM counted
                     WHERE pools.payer = counted.payer AND pools.period = counted.period)
                 SELECT count(*) FROM gone",
            )
            .bind(before)
            .bind(&open.0)
            .bind(PURGE_ROWS_MAX)
            .fetch_one(&self.pool)
            .await?;
            if !purged.add(usize::try_from(gone.0).unwrap_or_default(), events.rows_affected()) {
                return Ok(purged);
            }
        }
    }

    pub(super) async fn sweep(&self) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM holds WHERE expires_at <= coalesce($1, taxon_now())")
            .bind(self.manual_now())
            .execute(&self.pool)
            .await?;
        sqlx::query("DELETE FROM windows WHERE hits[cardinality(hits)] < coalesce($1, taxon_now()) * 1000 - $2")
            .bind(self.manual_now())
            .bind(WINDOW_IDLE_MICROS)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    pub(super) async fn lease(&self, name: &str, holder: &str, span: Duration) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "INSERT INTO leases (name, holder, until) VALUES ($1, $2, coalesce($4, taxon_now()) + $3)
             ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
             WHERE leases.holder = $2
                OR leases.until NOT BETWEEN coalesce($4, taxon_now()) + 1 AND coalesce($4, taxon_now()) + $5",
        )
        .bind(name)
        .bind(holder)
        .bind(millis(span))
        .bind(self.manual_now())
        .bind(DELAY_MILLIS_MAX)
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
             WHERE payers.payer IS NOT NULL AND coalesce(delays.until, 0)
                 NOT BETWEEN coalesce($1, taxon_now()) + 1 AND coalesce($1, taxon_now()) + $2
             ORDER BY payers.payer",
        )
        .bind(self.manual_now())
        .bind(DELAY_MILLIS_MAX)
        .fetch_all(&self.pool)
        .await?;
        Ok(rows)
    }

    pub(super) async fn events(&self, payer: &str) -> Result<Vec<Event>, StoreError> {
        let rows = sqlx::query_as(
            "SELECT outbox.seq, entries.*, owners.email AS owner
             FROM outbox JOIN entries USING (payer, period, hash) LEFT JOIN owners ON owners.id = outbox.payer
             WHERE outbox.payer = $1 AND delivered_at IS NULL ORDER BY seq LIMIT $2",
        )
        .bind(payer)
        .bind(EVENTS_MAX)
        .fetch_all(&self.pool)
        .await?;
        Ok(rows)
    }

    pub(super) async fn delivered(&self, payer: &str, up_to: i64) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        sqlx::query(
            "UPDATE outbox SET delivered_at = coalesce($1, taxon_now())
             WHERE payer = $2 AND seq <= $3 AND delivered_at IS NULL",
        )
        .bind(self.manual_now())
        .bind(payer)
        .bind(up_to)
        .execute(&mut *transaction)
        .await?;
        sqlx::query("DELETE FROM delays WHERE payer = $1").bind(payer).execute(&mut *transaction).await?;
        Ok(transaction.commit().await?)
    }

    pub(super) async fn delay(&self, payer: &str, span: Duration, reason: &str) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO delays (payer, failures, until, reason) VALUES ($1, 1, coalesce($4, taxon_now()) + $2, $3)
             ON CONFLICT (payer) DO UPDATE
             SET failures = delays.failures + 1, until = excluded.until, reason = excluded.reason",
        )
        .bind(payer)
        .bind(millis(span))
        .bind(reason)
        .bind(self.manual_now())
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

fn options(url: &str) -> Result<PgConnectOptions, StoreError> {
    // The parser's message may quote the address, and with it a password.
    let options = PgConnectOptions::from_str(url)
        .map_err(|_| StoreError::Unusable("TAXON_DATABASE_URL is not a PostgreSQL address".to_owned()))?;
    Ok(options.application_name(APPLICATION))
}

/// On a connection of its own without timeouts, since waiting for the lock and migrating may take long.
async fn migrate(options: &PgConnectOptions) -> Result<(), StoreError> {
    let patience = Duration::from_secs(ACQUIRE_SECONDS_MAX);
    let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(patience).connect_with(options.clone()).await?;
    let version: (i64,) =
        sqlx::query_as("SELECT current_setting('server_version_num')::bigint").fetch_one(&pool).await?;
    if version.0 < VERSION_MIN {
        return Err(StoreError::Unusable("PostgreSQL 15 or later is needed".to_owned()));
    }
    let migrator = migrations::postgres();
    migrator.run(&pool).await.map_err(|error| migration_failed(error, &migrator))?;
    pool.close().await;
    Ok(())
}

/// Retries when the connection broke: for idempotent work, and for a hit on a rate window, where at worst one request counts as two. A
/// server that does not answer at all is given up.
async fn with_retries<T, F: Future<Output = Result<T, sqlx::Error>>>(work: impl Fn() -> F) -> Result<T, sqlx::Error> {
    let mut tries = 1..TRIES_MAX;
    loop {
        match tokio::time::timeout(Duration::from_secs(ANSWER_SECONDS_MAX), work()).await {
            Ok(Err(error)) if is_broken(&error) && tries.next().is_some() => {}
            Ok(done) => return done,
            Err(_) => return Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
        }
    }
}

/// Errors worth a retry, since the server went away or the transaction conflicted with another: classes 08 (connection), 57P (operator
/// intervention) and 40 (rollback).
fn is_broken(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) => true,
        sqlx::Error::Database(error) => {
            error.code().is_some_and(|code| ["08", "40", "57P"].iter().any(|class| code.starts_with(class)))
        }
        _ => false,
    }
}

fn posted_as(word: &str) -> Result<Posted, StoreError> {
    match word {
        "billed" => Ok(Posted::Billed),
        "free" => Ok(Posted::Free),
        "repeat" => Ok(Posted::Repeat),
        "void" => Ok(Posted::Void),
        "refused" => Ok(Posted::Refused),
        other => Err(StoreError::Unusable(format!("the ledger said `{other}`"))),
    }
}

fn granted_as(word: &str) -> Result<Grant, StoreError> {
    match word {
        "held" => Ok(Grant::Held),
        "repeat" => Ok(Grant::Repeat),
        "refused" => Ok(Grant::Refused),
        other => Err(StoreError::Unusable(format!("the ledger said `{other}`"))),
    }
}
