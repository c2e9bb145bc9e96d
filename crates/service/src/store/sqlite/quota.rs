//! What an owner is told of the pool, in the transaction of the turn that brought it about. PostgreSQL's `taxon_tell_quota` does the same.

use rusqlite::{Connection, OptionalExtension, Result, params};
use serde_json::json;

use super::super::EventKind;

/// The pool runs low when no more than this part of it is left.
const LOW_PART: i64 = 10;

/// `used` is of after the turn; `is_refused` says that the turn refused something.
pub(super) fn tell(
    connection: &Connection,
    (owner, period): (&str, &str),
    limit: i64,
    used: i64,
    is_refused: bool,
    now: i64,
) -> Result<()> {
    let is_exhausted = is_refused || used >= limit;
    let is_low = limit > 0 && used >= limit.saturating_sub(limit / LOW_PART);
    // Most turns end here, without a statement.
    if !is_exhausted && !is_low {
        return Ok(());
    }
    let told: Option<(i64, Option<i64>)> = connection
        .prepare_cached("SELECT low_of, exhausted_of FROM quota_told WHERE owner_id = ? AND period = ?")?
        .query_row([owner, period], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (low_of, exhausted_of) = told.map_or((None, None), |(low_of, exhausted_of)| (Some(low_of), exhausted_of));
    let is_news = |told_of: Option<i64>| told_of.is_none_or(|told_of| told_of < limit);
    let low = (is_low && is_news(low_of)).then_some(EventKind::QuotaLow);
    let exhausted = (is_exhausted && is_news(exhausted_of)).then_some(EventKind::QuotaExhausted);
    if low.or(exhausted).is_none() {
        return Ok(());
    }
    // Nobody is told that it runs low after it was used up. A payer that is no owner, or has left, is told nothing.
    let marked = connection
        .prepare_cached(
            "INSERT INTO quota_told (owner_id, period, low_of, exhausted_of, told_at)
             SELECT id, ?2, ?3, ?4, ?5 FROM owners WHERE id = ?1 AND email LIKE '%@%'
             ON CONFLICT DO UPDATE SET low_of = excluded.low_of,
                 exhausted_of = coalesce(excluded.exhausted_of, exhausted_of), told_at = excluded.told_at",
        )?
        .execute(params![owner, period, limit, exhausted.map(|_| limit), now])?;
    for kind in low.into_iter().chain(exhausted).filter(|_| marked > 0) {
        let payload = kind.payload(now, &json!({ "period": period, "pool": limit, "used": used }));
        connection
            .prepare_cached(
                "INSERT INTO webhook_deliveries (id, endpoint_id, kind, subject, payload, created_at, begun_at, due_at)
                 SELECT 'msg_' || lower(hex(randomblob(16))), id, ?2, 'quota ' || ?3, ?4, ?5, ?5, ?5 FROM webhook_endpoints
                 WHERE owner_id = ?1 AND disabled_at IS NULL AND ' ' || events || ' ' LIKE '% ' || ?2 || ' %'",
            )?
            .execute(params![owner, kind.name(), period, payload, now])?;
    }
    Ok(())
}
