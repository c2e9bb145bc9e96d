//! The shared engine: PostgreSQL 15 or later, for any number of instances. Each turn at the ledger and each hit on a rate window is
//! one call of a function in the database (`migrations/postgres`), so it costs one round trip. The database's clock counts.

use std::future::Future;
use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgRow};
use sqlx::{Connection, PgPool, Row};

use super::{
    Billing, Clock, Cursor, EVENTS_MAX, Entry, Event, Filter, Grant, HOLD, Imbalance, Key, NewKey, PAGE_ROWS_MAX,
    Payer, Posted, Purged, Standing, StoreError, Turn, Turned, Waiting, migration_failed, millis,
};

const CONNECTIONS_MAX: u32 = 16;
/// A caller is told that the database is away after this long.
const ACQUIRE_SECONDS_MAX: u64 = 2;
/// A connection that was idle for longer is asked whether it still stands before it is used.
const IDLE_MILLIS_MAX: u64 = 1_000;
/// A connection that broke is replaced and the work done again, this often.
const TRIES_MAX: usize = 3;
/// A statement that takes longer is given up by the server.
const STATEMENT_TIMEOUT: &str = "10s";
const VERSION_MIN: i64 = 150_000;
/// A window that nobody used for this long is forgotten.
const WINDOW_IDLE_MICROS: i64 = 600_000_000;

#[derive(Debug, Clone)]
pub struct Postgres {
    pool: PgPool,
    clock: Clock,
}

impl Postgres {
    pub(super) async fn open(url: &str, clock: Clock) -> Result<Self, StoreError> {
        // The parser's message may quote the address, and with it a password.
        let options = PgConnectOptions::from_str(url)
            .map_err(|_| StoreError::Unusable("TAXON_DATABASE_URL is not a PostgreSQL address".to_owned()))?
            .application_name("taxon")
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
        let version =
            sqlx::query("SELECT current_setting('server_version_num')::bigint AS version").fetch_one(&pool).await?;
        if version.try_get::<i64, _>("version")? < VERSION_MIN {
            return Err(StoreError::Unusable("PostgreSQL 15 or later is needed".to_owned()));
        }
        let migrator = sqlx::migrate!("../../migrations/postgres");
        migrator.run(&pool).await.map_err(|error| migration_failed(error, &migrator))?;
        Ok(Self { pool, clock })
    }

    /// Milliseconds since 1970 where a test holds the clock; the database's own time otherwise.
    fn now(&self) -> Option<i64> {
        self.clock.manual()
    }

    pub(super) async fn answers(&self) -> bool {
        sqlx::query("SELECT count(*) FROM leases").execute(&self.pool).await.is_ok()
    }

    pub(super) async fn create_key(&self, key: &NewKey) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        sqlx::query(
            "INSERT INTO owners (id, email, created_at) VALUES ($1, $2, coalesce($3, taxon_now()) / 1000)
             ON CONFLICT (email) DO NOTHING",
        )
        .bind(&key.owner_id)
        .bind(&key.email)
        .bind(self.now())
        .execute(&mut *transaction)
        .await?;
        if let Billing::Pool { tier, contracted } = &key.billing {
            sqlx::query("UPDATE owners SET tier = $1, pool = $2 WHERE email = $3")
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
        .bind(self.now())
        .bind(&key.email)
        .execute(&mut *transaction)
        .await?;
        Ok(transaction.commit().await?)
    }

    pub(super) async fn key(&self, id: &str) -> Result<Option<Key>, StoreError> {
        let query = || async {
            sqlx::query(
                "SELECT keys.*, owners.email, owners.tier, owners.pool FROM keys JOIN owners ON owners.id = keys.owner_id
                 WHERE keys.id = $1",
            )
            .bind(id)
            .fetch_optional(&self.pool)
            .await
        };
        let row = steadily(query).await?;
        Ok(row.map(|row| key(&row)).transpose()?)
    }

    pub(super) async fn keys(&self) -> Result<Vec<Key>, StoreError> {
        let rows = sqlx::query(
            "SELECT keys.*, owners.email, owners.tier, owners.pool FROM keys JOIN owners ON owners.id = keys.owner_id
             ORDER BY keys.created_at, keys.id",
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.iter().map(key).collect::<Result<_, _>>()?)
    }

    pub(super) async fn revoke_key(&self, id: &str) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "UPDATE keys SET revoked_at = coalesce(revoked_at, coalesce($1, taxon_now()) / 1000) WHERE id = $2",
        )
        .bind(self.now())
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
        sqlx::query(
            "UPDATE keys SET last_used_at = greatest(coalesce(last_used_at, 0), used.at)
             FROM unnest($1::text[], $2::bigint[]) AS used (id, at) WHERE keys.id = used.id",
        )
        .bind(ids)
        .bind(times)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    pub(super) async fn turn(&self, turn: Turn) -> Result<Turned, StoreError> {
        let column = |read: fn(&super::Settled) -> &str| turn.settled.iter().map(read).collect::<Vec<&str>>();
        let query = || async {
            sqlx::query("SELECT * FROM taxon_turn($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)")
                .bind(&turn.payer.id)
                .bind(turn.payer.resets.name())
                .bind(&turn.period)
                .bind(turn.payer.limit)
                .bind(&turn.call_id)
                .bind(&turn.key_id)
                .bind(&turn.request_id)
                .bind(self.now())
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
        let row = steadily(query).await?;
        let posted: Vec<String> = row.try_get("o_settled")?;
        let granted: Vec<String> = row.try_get("o_wanted")?;
        Ok(Turned {
            period: row.try_get("o_period")?,
            posted: posted.iter().map(|word| posted_as(word)).collect::<Result<_, _>>()?,
            granted: granted.iter().map(|word| granted_as(word)).collect::<Result<_, _>>()?,
        })
    }

    pub(super) async fn standing(&self, payer: &Payer, hash: Option<&str>) -> Result<Standing, StoreError> {
        let query = || async {
            sqlx::query(
                "WITH now AS (SELECT greatest(taxon_period($2, coalesce($4, taxon_now())),
                     (SELECT max(period COLLATE \"C\") FROM pools WHERE payer = $1)) AS period)
                 SELECT coalesce((SELECT used FROM pools WHERE payer = $1 AND period = now.period), 0) AS used,
                        EXISTS (SELECT 1 FROM entries
                                WHERE payer = $1 AND period = now.period AND hash = $3 AND billed <> 'free') AS counted
                 FROM now",
            )
            .bind(&payer.id)
            .bind(payer.resets.name())
            .bind(hash)
            .bind(self.now())
            .fetch_one(&self.pool)
            .await
        };
        let row = steadily(query).await?;
        Ok(Standing { used: row.try_get("used")?, is_counted: row.try_get("counted")? })
    }

    /// Takes one of `most` places in the window; when none is free, how long to wait.
    pub(super) async fn hit(&self, who: &str, most: u32, span: Duration) -> Result<Option<Duration>, StoreError> {
        let query = || async {
            sqlx::query("SELECT taxon_hit($1, $2, $3, $4) AS wait")
                .bind(who)
                .bind(i64::from(most))
                .bind(i64::try_from(span.as_micros()).unwrap_or(i64::MAX))
                .bind(self.now().map(|millis| millis.saturating_mul(1000)))
                .fetch_one(&self.pool)
                .await
        };
        let wait: i64 = steadily(query).await?.try_get("wait")?;
        Ok(u64::try_from(wait).ok().filter(|wait| *wait > 0).map(Duration::from_micros))
    }

    pub(super) async fn entries(&self, filter: &Filter, after: Option<&Cursor>) -> Result<Vec<Entry>, StoreError> {
        let (at, payer, period, hash) = after.cloned().unwrap_or_default();
        let rows = sqlx::query(
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
        Ok(rows.iter().map(entry).collect::<Result<_, _>>()?)
    }

    pub(super) async fn imbalances(&self) -> Result<Vec<Imbalance>, StoreError> {
        let rows = sqlx::query(
            "SELECT payer, period, sum(used)::bigint AS used, sum(rows)::bigint AS rows FROM (
                 SELECT payer, period, used, 0 AS rows FROM pools
                 UNION ALL SELECT payer, period, 0, count(*) FROM entries WHERE billed = 'pool' GROUP BY payer, period
             ) AS both_sides GROUP BY payer, period HAVING sum(used) <> sum(rows)",
        )
        .fetch_all(&self.pool)
        .await?;
        let read = |row: &PgRow| -> Result<Imbalance, sqlx::Error> {
            Ok(Imbalance {
                payer: row.try_get("payer")?,
                period: row.try_get("period")?,
                used: row.try_get("used")?,
                rows: row.try_get("rows")?,
            })
        };
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    pub(super) async fn purge(&self, before: i64) -> Result<Purged, StoreError> {
        let mut transaction = self.pool.begin().await?;
        sqlx::query("SET LOCAL statement_timeout = 0").execute(&mut *transaction).await?;
        let open = sqlx::query("SELECT taxon_period('monthly', coalesce($1, taxon_now())) AS open")
            .bind(self.now())
            .fetch_one(&mut *transaction)
            .await?;
        let open: String = open.try_get("open")?;
        let events = sqlx::query("DELETE FROM outbox WHERE delivered_at < $1 AND period COLLATE \"C\" < $2")
            .bind(before)
            .bind(&open)
            .execute(&mut *transaction)
            .await?;
        // A pool's counter goes with its rows, never before them.
        let entries = sqlx::query(
            "DELETE FROM entries WHERE at < $1 AND period COLLATE \"C\" < $2 AND NOT EXISTS (
                 SELECT 1 FROM outbox WHERE outbox.payer = entries.payer AND outbox.period = entries.period
                 AND outbox.hash = entries.hash AND delivered_at IS NULL)",
        )
        .bind(before)
        .bind(&open)
        .execute(&mut *transaction)
        .await?;
        sqlx::query(
            "UPDATE pools SET used = (SELECT count(*) FROM entries
                 WHERE entries.payer = pools.payer AND entries.period = pools.period AND billed = 'pool')
             WHERE period COLLATE \"C\" < $1",
        )
        .bind(&open)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(Purged { entries: entries.rows_affected(), events: events.rows_affected() })
    }

    pub(super) async fn sweep(&self) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM holds WHERE expires_at <= coalesce($1, taxon_now())")
            .bind(self.now())
            .execute(&self.pool)
            .await?;
        sqlx::query("DELETE FROM windows WHERE hits[cardinality(hits)] < coalesce($1, taxon_now()) * 1000 - $2")
            .bind(self.now())
            .bind(WINDOW_IDLE_MICROS)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    pub(super) async fn lease(&self, name: &str, holder: &str, span: Duration) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "INSERT INTO leases (name, holder, until) VALUES ($1, $2, coalesce($4, taxon_now()) + $3)
             ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
             WHERE leases.holder = $2 OR leases.until <= coalesce($4, taxon_now())",
        )
        .bind(name)
        .bind(holder)
        .bind(millis(span))
        .bind(self.now())
        .execute(&self.pool)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    /// Steps from payer to payer along the index, so that a long queue costs no more than a short one.
    pub(super) async fn due(&self) -> Result<Vec<(String, i64)>, StoreError> {
        let rows = sqlx::query(
            "WITH RECURSIVE payers (payer) AS (
                 SELECT min(payer) FROM outbox WHERE delivered_at IS NULL
                 UNION ALL
                 SELECT (SELECT min(outbox.payer) FROM outbox WHERE delivered_at IS NULL AND outbox.payer > payers.payer)
                 FROM payers WHERE payer IS NOT NULL)
             SELECT payers.payer, coalesce(delays.failures, 0) AS failures
             FROM payers LEFT JOIN delays ON delays.payer = payers.payer
             WHERE payers.payer IS NOT NULL AND coalesce(delays.until, 0) <= coalesce($1, taxon_now()) ORDER BY payers.payer",
        )
        .bind(self.now())
        .fetch_all(&self.pool)
        .await?;
        let read = |row: &PgRow| Ok((row.try_get("payer")?, row.try_get("failures")?));
        Ok(rows.iter().map(read).collect::<Result<_, sqlx::Error>>()?)
    }

    pub(super) async fn events(&self, payer: &str) -> Result<Vec<Event>, StoreError> {
        let rows = sqlx::query(
            "SELECT outbox.seq, entries.*, owners.email AS owner
             FROM outbox JOIN entries USING (payer, period, hash) LEFT JOIN owners ON owners.id = outbox.payer
             WHERE outbox.payer = $1 AND delivered_at IS NULL ORDER BY seq LIMIT $2",
        )
        .bind(payer)
        .bind(EVENTS_MAX)
        .fetch_all(&self.pool)
        .await?;
        let read =
            |row: &PgRow| -> Result<Event, sqlx::Error> { Ok(Event { seq: row.try_get("seq")?, entry: entry(row)? }) };
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    pub(super) async fn delivered(&self, payer: &str, up_to: i64) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        sqlx::query(
            "UPDATE outbox SET delivered_at = coalesce($1, taxon_now())
             WHERE payer = $2 AND seq <= $3 AND delivered_at IS NULL",
        )
        .bind(self.now())
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
        .bind(self.now())
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    pub(super) async fn waiting(&self) -> Result<Vec<Waiting>, StoreError> {
        let rows = sqlx::query(
            "SELECT outbox.payer, owners.email AS owner, count(*) AS waiting, min(entries.at) AS oldest,
                    coalesce(max(delays.failures), 0) AS failures, max(delays.until) AS retry_at, max(delays.reason) AS reason
             FROM outbox JOIN entries USING (payer, period, hash) LEFT JOIN owners ON owners.id = outbox.payer
             LEFT JOIN delays ON delays.payer = outbox.payer
             WHERE delivered_at IS NULL GROUP BY outbox.payer, owners.email ORDER BY outbox.payer",
        )
        .fetch_all(&self.pool)
        .await?;
        let read = |row: &PgRow| -> Result<Waiting, sqlx::Error> {
            Ok(Waiting {
                payer: row.try_get("payer")?,
                owner: row.try_get("owner")?,
                waiting: row.try_get("waiting")?,
                oldest: row.try_get("oldest")?,
                failures: row.try_get("failures")?,
                retry_at: row.try_get("retry_at")?,
                reason: row.try_get("reason")?,
            })
        };
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }
}

/// Does it again when the connection broke under it. Only for work that may be done twice.
async fn steadily<T, F: Future<Output = Result<T, sqlx::Error>>>(work: impl Fn() -> F) -> Result<T, sqlx::Error> {
    for _ in 1..TRIES_MAX {
        match work().await {
            Err(error) if is_broken(&error) => {}
            done => return done,
        }
    }
    work().await
}

/// The server went away, or is going: classes 08 (connection) and 57P (operator intervention).
fn is_broken(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) => true,
        sqlx::Error::Database(error) => {
            error.code().is_some_and(|code| code.starts_with("08") || code.starts_with("57P"))
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

fn key(row: &PgRow) -> Result<Key, sqlx::Error> {
    let billing = match row.try_get("metered")? {
        true => Billing::Metered,
        false => Billing::Pool { tier: row.try_get("tier")?, contracted: row.try_get("pool")? },
    };
    Ok(Key {
        id: row.try_get("id")?,
        hash: row.try_get("hash")?,
        owner_id: row.try_get("owner_id")?,
        email: row.try_get("email")?,
        name: row.try_get("name")?,
        billing,
        created_at: row.try_get("created_at")?,
        last_used_at: row.try_get("last_used_at")?,
        revoked_at: row.try_get("revoked_at")?,
    })
}

fn entry(row: &PgRow) -> Result<Entry, sqlx::Error> {
    Ok(Entry {
        owner: row.try_get("owner")?,
        payer: row.try_get("payer")?,
        period: row.try_get("period")?,
        hash: row.try_get("hash")?,
        billed: row.try_get("billed")?,
        category: row.try_get("category")?,
        chain: row.try_get("chain")?,
        key_id: row.try_get("key_id")?,
        request_id: row.try_get("request_id")?,
        at: row.try_get("at")?,
    })
}
