//! One turn of a call, inside the writer's transaction.

use rusqlite::{Connection, OptionalExtension, Result, params};

use super::super::turn::{Grant, HashState, Posted, Turn, Turned, decide};
use super::super::{HOLD, millis};
use super::quota;

pub(super) fn turn(connection: &Connection, turn: &Turn, now: i64) -> Result<Turned> {
    let period = period(connection, turn, now)?;
    let page = PayerPeriod { connection, payer: &turn.payer.id, period: &period };
    let free = match turn.payer.limit {
        None => None,
        Some(limit) => {
            page.expire(now)?;
            Some(limit.saturating_sub(page.used()?).saturating_sub(page.held()?))
        }
    };
    let hashes = turn.settled.iter().map(|row| &row.hash).chain(&turn.wanted);
    let seen = hashes.map(|hash| page.seen(hash, &turn.call_id)).collect::<Result<Vec<HashState>>>()?;
    let (posted, granted) = decide(turn, free, &seen);
    page.post(turn, &posted, now)?;
    if let Some(limit) = turn.payer.limit {
        for (hash, _) in turn.wanted.iter().zip(&granted).filter(|(_, grant)| **grant == Grant::Held) {
            page.hold(hash, &turn.call_id, now.saturating_add(millis(HOLD)))?;
        }
        if !turn.payer.is_anonymous() {
            let is_refused = posted.contains(&Posted::Refused) || granted.contains(&Grant::Refused);
            quota::tell(connection, (page.payer, page.period), limit, page.used()?, is_refused, now)?;
        }
    }
    Ok(Turned { period, posted, granted })
}

/// The call's own period, or else the calendar's, but never one before the payer's latest.
fn period(connection: &Connection, turn: &Turn, now: i64) -> Result<String> {
    if let Some(period) = &turn.period {
        return Ok(period.clone());
    }
    let latest: Option<String> = connection
        .prepare_cached("SELECT max(period) FROM pools WHERE payer = ?")?
        .query_row([&turn.payer.id], |row| row.get(0))?;
    Ok(turn.payer.resets.period(now).max(latest.unwrap_or_default()))
}

/// One payer's period.
struct PayerPeriod<'a> {
    connection: &'a Connection,
    payer: &'a str,
    period: &'a str,
}

impl PayerPeriod<'_> {
    /// Deletes reservations that have expired, or that a wrong clock has written.
    fn expire(&self, now: i64) -> Result<()> {
        let last = now.saturating_add(2 * millis(HOLD));
        self.connection
            .prepare_cached(
                "DELETE FROM holds WHERE payer = ?1 AND period = ?2 AND (expires_at <= ?3 OR expires_at > ?4)",
            )?
            .execute(params![self.payer, self.period, now, last])?;
        Ok(())
    }

    fn used(&self) -> Result<i64> {
        let used = self
            .connection
            .prepare_cached("SELECT used FROM pools WHERE payer = ? AND period = ?")?
            .query_row([self.payer, self.period], |row| row.get(0))
            .optional()?;
        Ok(used.unwrap_or_default())
    }

    fn held(&self) -> Result<i64> {
        self.connection
            .prepare_cached("SELECT count(DISTINCT hash) FROM holds WHERE payer = ? AND period = ?")?
            .query_row([self.payer, self.period], |row| row.get(0))
    }

    fn seen(&self, hash: &str, call_id: &str) -> Result<HashState> {
        self.connection
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM entries WHERE payer = ?1 AND period = ?2 AND hash = ?3),
                        EXISTS (SELECT 1 FROM holds WHERE payer = ?1 AND period = ?2 AND hash = ?3 AND call_id = ?4),
                        EXISTS (SELECT 1 FROM holds WHERE payer = ?1 AND period = ?2 AND hash = ?3 AND call_id <> ?4)",
            )?
            .query_row([self.payer, self.period, hash, call_id], |row| {
                Ok(HashState { is_entered: row.get(0)?, is_own: row.get(1)?, is_shared: row.get(2)? })
            })
    }

    fn hold(&self, hash: &str, call_id: &str, until: i64) -> Result<()> {
        self.connection
            .prepare_cached(
                "INSERT INTO holds (payer, period, hash, call_id, expires_at) VALUES (?, ?, ?, ?, ?)
                 ON CONFLICT DO UPDATE SET expires_at = excluded.expires_at",
            )?
            .execute(params![self.payer, self.period, hash, call_id, until])?;
        Ok(())
    }

    /// Writes what was settled: entries, events and the pool's counter, and deletes the reservations.
    fn post(&self, turn: &Turn, posted: &[Posted], now: i64) -> Result<()> {
        let mut entered = 0;
        let mut counted = 0i64;
        for (row, posted) in turn.settled.iter().zip(posted) {
            let billed = match posted {
                Posted::Repeat | Posted::Refused => continue,
                Posted::Void => {
                    self.connection
                        .prepare_cached(
                            "DELETE FROM holds WHERE payer = ? AND period = ? AND hash = ? AND call_id = ?",
                        )?
                        .execute([self.payer, self.period, &row.hash, &turn.call_id])?;
                    continue;
                }
                Posted::Free => "free",
                Posted::Billed if turn.payer.limit.is_none() => "metered",
                Posted::Billed => "pool",
            };
            entered += 1;
            counted += i64::from(billed == "pool");
            self.connection
                .prepare_cached(
                    "INSERT INTO entries (payer, period, hash, billed, category, chain, key_id, request_id, at)
                     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                )?
                .execute(params![
                    self.payer,
                    self.period,
                    row.hash,
                    billed,
                    row.category,
                    row.chain,
                    turn.key_id,
                    turn.request_id,
                    now
                ])?;
            self.connection
                .prepare_cached("DELETE FROM holds WHERE payer = ? AND period = ? AND hash = ?")?
                .execute([self.payer, self.period, &row.hash])?;
            if billed == "metered" && turn.has_sink {
                self.connection
                    .prepare_cached("INSERT INTO outbox (payer, period, hash) VALUES (?, ?, ?)")?
                    .execute([self.payer, self.period, &row.hash])?;
            }
        }
        if entered > 0 {
            self.connection
                .prepare_cached(
                    "INSERT INTO pools (payer, period, used) VALUES (?, ?, ?)
                     ON CONFLICT DO UPDATE SET used = used + excluded.used",
                )?
                .execute(params![self.payer, self.period, counted])?;
        }
        Ok(())
    }
}
