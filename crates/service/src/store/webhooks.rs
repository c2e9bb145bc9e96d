//! Webhooks: where owners are told of events, and the messages on their way. A message is written in the transaction that changes what it tells of, so
//! none is lost when the process is killed. Whoever holds an endpoint sends to it, one message at a time; a holder that is silent loses it to another
//! instance.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::QueryBuilder;

use super::{PURGE_ROWS_MAX, Store, StoreError, from_row, lock_owner, millis, on};

/// Endpoints that are looked at for a message that is due.
const ENDPOINTS_LOOKED_AT: i64 = 16;
/// How long it is known what an owner was told of a pool: longer than any period.
const QUOTA_TOLD_MILLIS: i64 = 62 * 86_400_000;

/// What owners are told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    JobFinished,
    JobFailed,
    QuotaLow,
    QuotaExhausted,
    VerdictMoved,
    /// Sent on demand, whatever the endpoint wants.
    Test,
}

impl EventKind {
    /// Those that an endpoint chooses from.
    pub const CHOSEN: [Self; 5] =
        [Self::JobFinished, Self::JobFailed, Self::QuotaLow, Self::QuotaExhausted, Self::VerdictMoved];

    pub const fn name(self) -> &'static str {
        match self {
            Self::JobFinished => "job.finished",
            Self::JobFailed => "job.failed",
            Self::QuotaLow => "quota.low",
            Self::QuotaExhausted => "quota.exhausted",
            Self::VerdictMoved => "verdict.moved",
            Self::Test => "test",
        }
    }

    /// For people who choose.
    pub const fn about(self) -> &'static str {
        match self {
            Self::JobFinished => "every row of a job was read or has failed",
            Self::JobFailed => "a job cannot go on",
            Self::QuotaLow => "90 % of the pool of a period is used",
            Self::QuotaExhausted => "the pool of a period is used up, or a transaction was refused for it",
            Self::VerdictMoved => "a transaction that you had read reads differently under new rules",
            Self::Test => "somebody pressed the button",
        }
    }

    /// The message as it is sent.
    pub(super) fn payload(self, at: i64, data: &Value) -> String {
        let timestamp = jiff::Timestamp::from_millisecond(at).unwrap_or_default().to_string();
        json!({ "type": self.name(), "timestamp": timestamp, "data": data }).to_string()
    }
}

/// With which messages are signed. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(pub Vec<u8>);

impl std::fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WebhookSecret (redacted)")
    }
}

/// An endpoint as its owner sees it, without its secret. The address may hold a token.
#[derive(Clone, PartialEq, Eq)]
pub struct EndpointRow {
    pub id: String,
    pub url: String,
    pub events: String,
    /// Until when the secret before the last signs too.
    pub old_secret_until: Option<i64>,
    /// Milliseconds since 1970, as all times here.
    pub created_at: i64,
    pub disabled_at: Option<i64>,
    pub disabled_reason: Option<String>,
}

from_row!(EndpointRow: id, url, events, old_secret_until, created_at, disabled_at, disabled_reason);

impl EndpointRow {
    pub fn wants(&self, kind: EventKind) -> bool {
        self.events.split(' ').any(|name| name == kind.name())
    }
}

impl std::fmt::Debug for EndpointRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EndpointRow").field("id", &self.id).field("events", &self.events).finish_non_exhaustive()
    }
}

/// A message, and how far its delivery is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRow {
    pub seq: i64,
    pub id: String,
    pub endpoint_id: String,
    pub kind: String,
    pub payload: String,
    pub state: String,
    pub created_at: i64,
    pub attempts: i64,
    pub tried_at: Option<i64>,
    pub due_at: i64,
    pub ended_at: Option<i64>,
    pub status: Option<i64>,
    pub failure: Option<String>,
}

from_row!(DeliveryRow: seq, id, endpoint_id, kind, payload, state, created_at, attempts, tried_at, due_at, ended_at, status, failure);

/// A message that is due, at an endpoint that is held.
#[derive(Clone)]
pub struct DueDelivery {
    pub endpoint_id: String,
    pub url: String,
    /// The newest first.
    pub secrets: Vec<WebhookSecret>,
    pub id: String,
    pub payload: String,
    /// Attempts before this one.
    pub attempts: i64,
    begun_at: i64,
}

impl std::fmt::Debug for DueDelivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DueDelivery").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What came of an attempt.
#[derive(Debug, Clone, Default)]
pub struct AttemptOutcome {
    pub status: Option<u16>,
    /// Why it failed; none when it was delivered.
    pub failure: Option<String>,
    /// How long a message that failed waits for the next attempt.
    pub pause: Duration,
    /// The receiver wants no more: nothing is sent there until its owner says so.
    pub is_gone: bool,
}

/// Where a message stands after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    Delivered,
    Waiting,
    GivenUp,
}

impl DeliveryState {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Waiting => "waiting",
            Self::GivenUp => "given_up",
        }
    }
}

/// Writes a message to each of the owner's endpoints that wants it, in the transaction that changes what it tells of. The rows of the endpoints are locked, so
/// that one that is being deleted gets none.
macro_rules! announce {
    ($store:ident, $transaction:ident, $owner_id:expr, $kind:expr, $subject:expr, $data:expr, $at:expr) => {{
        let (kind, at): ($crate::store::EventKind, i64) = ($kind, $at);
        let payload = kind.payload(at, $data);
        let mut insert = sqlx::QueryBuilder::new(
            "INSERT INTO webhook_deliveries (endpoint_id, kind, subject, payload, created_at, begun_at, due_at, id) SELECT id, ",
        );
        insert.push_bind(kind.name()).push(", ").push_bind($subject).push(", ").push_bind(payload).push(", ");
        insert.push_bind(at).push(", ").push_bind(at).push(", ").push_bind(at);
        insert.push(", 'msg_' || ").push($store.random_name());
        insert.push(" FROM webhook_endpoints WHERE disabled_at IS NULL AND owner_id = ").push_bind($owner_id);
        insert.push(" AND ' ' || events || ' ' LIKE ").push_bind(format!("% {} %", kind.name())).push($store.holding());
        insert.build().execute(&mut *$transaction).await?;
    }};
}
pub(super) use announce;

const ENDPOINT_COLUMNS: &str =
    "SELECT id, url, events, old_secret_until, created_at, disabled_at, disabled_reason FROM webhook_endpoints WHERE ";
const DELIVERY_COLUMNS: &str =
    "SELECT seq, id, endpoint_id, kind, payload, state, created_at, attempts, tried_at, due_at, ended_at, status, failure
     FROM webhook_deliveries WHERE ";
/// Of the message `due`: its time has come, and no earlier one about the same waits at the endpoint.
const IS_DUE: &str = " AND due.state = 'waiting' AND NOT EXISTS (
     SELECT 1 FROM webhook_deliveries AS earlier WHERE earlier.endpoint_id = due.endpoint_id AND earlier.subject = due.subject
     AND earlier.state = 'waiting' AND earlier.seq < due.seq) AND due.due_at <= ";

struct HeldEndpoint {
    url: String,
    secret: Vec<u8>,
    old_secret: Option<Vec<u8>>,
    old_secret_until: Option<i64>,
}

from_row!(HeldEndpoint: url, secret, old_secret, old_secret_until);

struct DueMessage {
    id: String,
    payload: String,
    attempts: i64,
    begun_at: i64,
}

from_row!(DueMessage: id, payload, attempts, begun_at);

impl Store {
    /// False where the owner has as many as one may have, or has left.
    pub async fn create_endpoint(
        &self,
        owner_id: &str,
        id: &str,
        url: &str,
        events: &str,
        secret: &WebhookSecret,
        most: i64,
    ) -> Result<bool, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            // The owner's row serialises two forms at the same moment.
            lock_owner!(transaction, owner_id);
            let made = sqlx::query(
                "INSERT INTO webhook_endpoints (id, owner_id, url, events, secret, created_at)
                 SELECT $1, id, $3, $4, $5, $6 FROM owners WHERE id = $2 AND email LIKE '%@%'
                     AND (SELECT count(*) FROM webhook_endpoints WHERE owner_id = $2) < $7",
            )
            .bind(id)
            .bind(owner_id)
            .bind(url)
            .bind(events)
            .bind(&secret.0)
            .bind(now)
            .bind(most)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(made.rows_affected() == 1)
        })
    }

    /// The oldest first.
    pub async fn endpoints(&self, owner_id: &str) -> Result<Vec<EndpointRow>, StoreError> {
        on!(self, store => {
            let mut query = QueryBuilder::new(ENDPOINT_COLUMNS);
            query.push("owner_id = ").push_bind(owner_id).push(" ORDER BY created_at, id");
            Ok(query.build_query_as().fetch_all(store.pool()).await?)
        })
    }

    pub async fn endpoint(&self, owner_id: &str, id: &str) -> Result<Option<EndpointRow>, StoreError> {
        on!(self, store => {
            let mut query = QueryBuilder::new(ENDPOINT_COLUMNS);
            query.push("owner_id = ").push_bind(owner_id).push(" AND id = ").push_bind(id);
            Ok(query.build_query_as().fetch_optional(store.pool()).await?)
        })
    }

    /// Whether an endpoint of the owner wants to know when a transaction reads differently.
    pub async fn is_told_of_moves(&self, owner_id: &str) -> Result<bool, StoreError> {
        on!(self, store => {
            let mut ask = QueryBuilder::new("SELECT 1 FROM webhook_endpoints WHERE disabled_at IS NULL AND owner_id = ");
            ask.push_bind(owner_id).push(" AND ' ' || events || ' ' LIKE ");
            ask.push_bind(format!("% {} %", EventKind::VerdictMoved.name())).push(" LIMIT 1");
            Ok(ask.build().fetch_optional(store.pool()).await?.is_some())
        })
    }

    pub async fn set_endpoint_events(&self, owner_id: &str, id: &str, events: &str) -> Result<bool, StoreError> {
        on!(self, store => {
            let set = sqlx::query("UPDATE webhook_endpoints SET events = $3 WHERE id = $2 AND owner_id = $1");
            let done = set.bind(owner_id).bind(id).bind(events).execute(store.pool()).await?;
            Ok(done.rows_affected() == 1)
        })
    }

    /// The secret until now signs too, for as long as `overlap`; one before it no longer does.
    pub async fn rotate_secret(
        &self,
        owner_id: &str,
        id: &str,
        secret: &WebhookSecret,
        overlap: Duration,
    ) -> Result<bool, StoreError> {
        let until = self.now().await?.saturating_add(millis(overlap));
        on!(self, store => {
            let rotated = sqlx::query(
                "UPDATE webhook_endpoints SET old_secret = secret, old_secret_until = $4, secret = $3 WHERE id = $2 AND owner_id = $1",
            );
            let done = rotated.bind(owner_id).bind(id).bind(&secret.0).bind(until).execute(store.pool()).await?;
            Ok(done.rows_affected() == 1)
        })
    }

    /// Sends to it again, also what waits.
    pub async fn enable_endpoint(&self, owner_id: &str, id: &str) -> Result<bool, StoreError> {
        on!(self, store => {
            let enabled = sqlx::query(
                "UPDATE webhook_endpoints SET disabled_at = NULL, disabled_reason = NULL WHERE id = $2 AND owner_id = $1",
            );
            let done = enabled.bind(owner_id).bind(id).execute(store.pool()).await?;
            Ok(done.rows_affected() == 1)
        })
    }

    /// Deletes it with its messages, in steps that hold nobody up.
    pub async fn remove_endpoint(&self, owner_id: &str, id: &str) -> Result<bool, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            // First, so that no further message is written to it.
            let ended = sqlx::query("UPDATE webhook_endpoints SET disabled_at = $3 WHERE id = $2 AND owner_id = $1");
            if ended.bind(owner_id).bind(id).bind(now).execute(store.pool()).await?.rows_affected() == 0 {
                return Ok(false);
            }
            loop {
                let gone = sqlx::query(
                    "DELETE FROM webhook_deliveries WHERE seq IN (SELECT seq FROM webhook_deliveries WHERE endpoint_id = $1 LIMIT $2)",
                );
                if gone.bind(id).bind(PURGE_ROWS_MAX).execute(store.pool()).await?.rows_affected() == 0 {
                    break;
                }
            }
            // With what was written meanwhile.
            sqlx::query("DELETE FROM webhook_endpoints WHERE id = $1").bind(id).execute(store.pool()).await?;
            Ok(true)
        })
    }

    /// A message to one endpoint alone; false where the owner has no such endpoint.
    pub async fn announce_test(&self, owner_id: &str, endpoint_id: &str, id: &str) -> Result<bool, StoreError> {
        let now = self.now().await?;
        let payload = EventKind::Test.payload(now, &json!({ "webhook": endpoint_id }));
        on!(self, store => {
            let made = sqlx::query(
                "INSERT INTO webhook_deliveries (id, endpoint_id, kind, subject, payload, created_at, begun_at, due_at)
                 SELECT $3, id, $4, $3, $5, $6, $6, $6 FROM webhook_endpoints WHERE owner_id = $1 AND id = $2",
            )
            .bind(owner_id)
            .bind(endpoint_id)
            .bind(id)
            .bind(EventKind::Test.name())
            .bind(payload)
            .bind(now)
            .execute(store.pool())
            .await?;
            Ok(made.rows_affected() == 1)
        })
    }

    /// The endpoint's messages, the newest first.
    pub async fn deliveries(
        &self,
        endpoint_id: &str,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<DeliveryRow>, StoreError> {
        on!(self, store => {
            let mut query = QueryBuilder::new(DELIVERY_COLUMNS);
            query.push("endpoint_id = ").push_bind(endpoint_id);
            query.push(" AND seq < ").push_bind(before.unwrap_or(i64::MAX));
            query.push(" ORDER BY seq DESC LIMIT ").push_bind(limit);
            Ok(query.build_query_as().fetch_all(store.pool()).await?)
        })
    }

    pub async fn delivery(&self, owner_id: &str, id: &str) -> Result<Option<DeliveryRow>, StoreError> {
        on!(self, store => {
            let mut query = QueryBuilder::new(DELIVERY_COLUMNS);
            query.push("id = ").push_bind(id);
            query.push(" AND endpoint_id IN (SELECT id FROM webhook_endpoints WHERE owner_id = ").push_bind(owner_id).push(")");
            Ok(query.build_query_as().fetch_optional(store.pool()).await?)
        })
    }

    /// Sends a message once more, under its own id: a receiver that has it can tell.
    pub async fn redeliver(&self, owner_id: &str, id: &str) -> Result<bool, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let again = sqlx::query(
                "UPDATE webhook_deliveries SET state = 'waiting', begun_at = $3, due_at = $3, attempts = 0, ended_at = NULL
                 WHERE id = $2 AND endpoint_id IN (SELECT id FROM webhook_endpoints WHERE owner_id = $1)",
            );
            let done = again.bind(owner_id).bind(id).bind(now).execute(store.pool()).await?;
            Ok(done.rows_affected() == 1)
        })
    }

    /// Takes the message that is due at the endpoint that has waited longest for its turn, and holds the endpoint.
    pub async fn hold_delivery(&self, holder: &str, span: Duration) -> Result<Option<DueDelivery>, StoreError> {
        let now = self.now().await?;
        let until = now.saturating_add(millis(span));
        on!(self, store => {
            let mut ask = QueryBuilder::new(
                "SELECT id FROM webhook_endpoints WHERE disabled_at IS NULL AND EXISTS (
                     SELECT 1 FROM webhook_deliveries AS due WHERE due.endpoint_id = webhook_endpoints.id",
            );
            ask.push(IS_DUE).push_bind(now).push(") AND held_until <= ").push_bind(now);
            ask.push(" ORDER BY served_at, id LIMIT ").push_bind(ENDPOINTS_LOOKED_AT);
            let waiting: Vec<(String,)> = ask.build_query_as().fetch_all(store.pool()).await?;
            for (endpoint_id,) in waiting {
                let mut transaction = store.begin().await?;
                let mut take = QueryBuilder::new("UPDATE webhook_endpoints SET holder = ");
                take.push_bind(holder).push(", held_until = ").push_bind(until).push(", served_at = ").push_bind(now);
                take.push(" WHERE id IN (SELECT id FROM webhook_endpoints WHERE id = ").push_bind(&endpoint_id);
                take.push(" AND disabled_at IS NULL AND held_until <= ").push_bind(now).push(store.skipping());
                take.push(") RETURNING url, secret, old_secret, old_secret_until");
                let held: Option<HeldEndpoint> = take.build_query_as().fetch_optional(&mut *transaction).await?;
                let Some(held) = held else { continue };
                let mut next = QueryBuilder::new(
                    "SELECT id, payload, attempts, begun_at FROM webhook_deliveries AS due WHERE due.endpoint_id = ",
                );
                next.push_bind(&endpoint_id).push(IS_DUE).push_bind(now).push(" ORDER BY due.due_at, due.seq LIMIT 1");
                let due: Option<DueMessage> = next.build_query_as().fetch_optional(&mut *transaction).await?;
                let Some(due) = due else { continue };
                transaction.commit().await?;
                let old = held.old_secret.filter(|_| held.old_secret_until.is_some_and(|until| until > now));
                return Ok(Some(DueDelivery {
                    endpoint_id,
                    url: held.url,
                    secrets: std::iter::once(held.secret).chain(old).map(WebhookSecret).collect(),
                    id: due.id,
                    payload: due.payload,
                    attempts: due.attempts,
                    begun_at: due.begun_at,
                }));
            }
            Ok(None)
        })
    }

    /// Writes down what came of an attempt and lets go of the endpoint. A message that would be tried again later than `tried_for` after the first attempt is
    /// given up. `None`, and nothing is written, where another holds the endpoint by now: then it is sent once more.
    pub async fn end_delivery(
        &self,
        delivery: &DueDelivery,
        holder: &str,
        outcome: &AttemptOutcome,
        tried_for: Duration,
    ) -> Result<Option<DeliveryState>, StoreError> {
        let now = self.now().await?;
        let due_at = now.saturating_add(millis(outcome.pause));
        let state = match &outcome.failure {
            None => DeliveryState::Delivered,
            Some(_) if outcome.is_gone => DeliveryState::GivenUp,
            Some(_) if due_at > delivery.begun_at.saturating_add(millis(tried_for)) => DeliveryState::GivenUp,
            Some(_) => DeliveryState::Waiting,
        };
        on!(self, store => {
            let mut transaction = store.begin().await?;
            let released = sqlx::query(
                "UPDATE webhook_endpoints SET holder = '', held_until = 0, disabled_at = CASE WHEN $3 THEN $4 ELSE disabled_at END,
                     disabled_reason = CASE WHEN $3 THEN $5 ELSE disabled_reason END
                 WHERE id = $1 AND holder = $2",
            )
            .bind(&delivery.endpoint_id)
            .bind(holder)
            .bind(outcome.is_gone)
            .bind(now)
            .bind(&outcome.failure)
            .execute(&mut *transaction)
            .await?;
            if released.rows_affected() == 0 {
                return Ok(None);
            }
            sqlx::query(
                "UPDATE webhook_deliveries SET state = $2, attempts = attempts + 1, tried_at = $3, due_at = $4, ended_at = $5, status = $6,
                     failure = $7 WHERE id = $1",
            )
            .bind(&delivery.id)
            .bind(state.name())
            .bind(now)
            .bind(due_at)
            .bind((state != DeliveryState::Waiting).then_some(now))
            .bind(outcome.status.map(i64::from))
            .bind(&outcome.failure)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(Some(state))
        })
    }

    /// Gives up messages that were tried for too long, such as those of an endpoint that is disabled; deletes old ones, and secrets whose time is over.
    pub async fn sweep_webhooks(&self, kept: Duration, tried_for: Duration) -> Result<(), StoreError> {
        let now = self.now().await?;
        let (old, late) = (now.saturating_sub(millis(kept)), now.saturating_sub(millis(tried_for)));
        on!(self, store => {
            // Checked first: a statement that changes nothing would still wait for the write lock.
            let (has_any,): (bool,) = sqlx::query_as(
                "SELECT EXISTS (SELECT 1 FROM webhook_deliveries WHERE created_at < $1 AND state <> 'waiting')
                     OR EXISTS (SELECT 1 FROM webhook_deliveries WHERE state = 'waiting' AND begun_at < $2 AND due_at <= $3)
                     OR EXISTS (SELECT 1 FROM webhook_endpoints WHERE old_secret_until <= $3)
                     OR EXISTS (SELECT 1 FROM quota_told WHERE told_at < $4)",
            )
            .bind(old)
            .bind(late)
            .bind(now)
            .bind(now.saturating_sub(QUOTA_TOLD_MILLIS))
            .fetch_one(store.pool())
            .await?;
            if !has_any {
                return Ok(());
            }
            // What nobody has tried, since no instance ran for so long, is tried once.
            sqlx::query(
                "UPDATE webhook_deliveries SET state = 'given_up', ended_at = $2 WHERE seq IN (
                     SELECT seq FROM webhook_deliveries WHERE state = 'waiting' AND begun_at < $1 AND due_at <= $2
                         AND (attempts > 0 OR endpoint_id IN (SELECT id FROM webhook_endpoints WHERE disabled_at IS NOT NULL))
                     LIMIT $3)",
            )
            .bind(late)
            .bind(now)
            .bind(PURGE_ROWS_MAX)
            .execute(store.pool())
            .await?;
            sqlx::query("UPDATE webhook_endpoints SET old_secret = NULL, old_secret_until = NULL WHERE old_secret_until <= $1")
                .bind(now)
                .execute(store.pool())
                .await?;
            sqlx::query("DELETE FROM quota_told WHERE told_at < $1")
                .bind(now.saturating_sub(QUOTA_TOLD_MILLIS))
                .execute(store.pool())
                .await?;
            loop {
                let gone = sqlx::query(
                    "DELETE FROM webhook_deliveries WHERE seq IN (
                         SELECT seq FROM webhook_deliveries WHERE created_at < $1 AND state <> 'waiting' LIMIT $2)",
                );
                if gone.bind(old).bind(PURGE_ROWS_MAX).execute(store.pool()).await?.rows_affected() == 0 {
                    return Ok(());
                }
            }
        })
    }
}
