//! Jobs that begin with wallets: whoever holds one looks up its transactions and writes them as parts. A holder that is silent loses it to another
//! instance, which begins anew; what the first brings after that is dropped.

use std::time::Duration;

use super::jobs::{JobRow, NewJob, NewPart, job_columns, write_parts};
use super::webhooks::announce;
use super::{EventKind, PURGE_ROWS_MAX, Store, StoreError, from_row, millis, on};

/// A job whose transactions are looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldListing {
    pub id: String,
    pub owner_id: String,
    /// How often its sources have failed.
    pub tries: i64,
}

from_row!(HeldListing: id, owner_id, tries);

/// Jobs that nobody holds, of owners of whom no other is held: who has many does not keep everybody else waiting.
const WAITING: &str = "SELECT id FROM jobs AS waiting WHERE state = 'listing' AND due_at <= $1 AND held_until <= $1
     AND NOT EXISTS (SELECT 1 FROM jobs AS held WHERE held.owner_id = waiting.owner_id AND held.state = 'listing' AND held.held_until > $1)
     ORDER BY served_at, id LIMIT 1";

impl Store {
    /// Writes down that a job's transactions are to be looked up; false as with `begin_job`.
    pub async fn begin_listing(&self, job: &NewJob, unfinished_max: i64) -> Result<bool, StoreError> {
        self.begin_job_as(job, "listing", unfinished_max).await
    }

    /// Takes the job that has waited longest to be looked up.
    pub async fn hold_listing(&self, holder: &str, span: Duration) -> Result<Option<HeldListing>, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let waiting: Option<(String,)> = sqlx::query_as(WAITING).bind(now).fetch_optional(store.pool()).await?;
            let Some((id,)) = waiting else { return Ok(None) };
            let mut transaction = store.begin().await?;
            let held = sqlx::query_as(
                "UPDATE jobs SET holder = $2, held_until = $3, served_at = $4
                 WHERE id = $1 AND state = 'listing' AND held_until <= $4 RETURNING id, owner_id, tries",
            )
            .bind(&id)
            .bind(holder)
            .bind(now.saturating_add(millis(span)))
            .bind(now)
            .fetch_optional(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(held)
        })
    }

    /// Holds the job longer, and tells how many were found so far; false where another has it, or it has ended.
    pub async fn renew_listing(&self, id: &str, holder: &str, span: Duration, found: i64) -> Result<bool, StoreError> {
        let until = self.now().await?.saturating_add(millis(span));
        on!(self, store => {
            let mut transaction = store.begin().await?;
            let renewed = sqlx::query(
                "UPDATE jobs SET held_until = $3, row_count = $4 WHERE id = $1 AND state = 'listing' AND holder = $2",
            )
            .bind(id)
            .bind(holder)
            .bind(until)
            .bind(found)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(renewed.rows_affected() == 1)
        })
    }

    /// Deletes what an earlier holder wrote, in steps that hold nobody up. False where another has the job.
    pub async fn clear_listing(&self, id: &str, holder: &str) -> Result<bool, StoreError> {
        on!(self, store => {
            loop {
                let mut transaction = store.begin().await?;
                let own = sqlx::query("UPDATE jobs SET row_count = 0 WHERE id = $1 AND state = 'listing' AND holder = $2")
                    .bind(id)
                    .bind(holder)
                    .execute(&mut *transaction)
                    .await?;
                if own.rows_affected() == 0 {
                    return Ok(false);
                }
                let gone = sqlx::query(
                    "DELETE FROM job_parts WHERE (job_id, number) IN (SELECT job_id, number FROM job_parts WHERE job_id = $1 LIMIT $2)",
                )
                .bind(id)
                .bind(PURGE_ROWS_MAX)
                .execute(&mut *transaction)
                .await?;
                transaction.commit().await?;
                if gone.rows_affected() == 0 {
                    return Ok(true);
                }
            }
        })
    }

    /// Writes what was found as parts, numbered from `first` on, and that `found` were found so far. False, and nothing is written, where another has the job.
    pub async fn add_listed(
        &self,
        id: &str,
        holder: &str,
        first: i64,
        parts: &[NewPart],
        found: i64,
    ) -> Result<bool, StoreError> {
        on!(self, store => {
            let mut transaction = store.begin().await?;
            // Its lock keeps the job from being taken over, cancelled or erased between this and the parts.
            let own = sqlx::query("UPDATE jobs SET row_count = $3 WHERE id = $1 AND state = 'listing' AND holder = $2")
                .bind(id)
                .bind(holder)
                .bind(found)
                .execute(&mut *transaction)
                .await?;
            if own.rows_affected() == 0 {
                return Ok(false);
            }
            write_parts!(transaction, id, first, parts);
            transaction.commit().await?;
            Ok(true)
        })
    }

    /// Everything was looked up: the job is read from now on or ready to be started, and where nothing was found it is finished. False where another has it.
    pub async fn end_listing(
        &self,
        id: &str,
        holder: &str,
        understood: &str,
        row_count: i64,
    ) -> Result<bool, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            let ended: Option<JobRow> = sqlx::query_as(concat!(
                "UPDATE jobs SET understood = $3, row_count = $4, reason = NULL, holder = '', held_until = 0,
                     state = CASE WHEN $4 = 0 THEN 'finished' WHEN starts = TRUE THEN 'open' ELSE 'ready' END,
                     ended_at = CASE WHEN $4 = 0 THEN $5 END
                 WHERE id = $1 AND state = 'listing' AND holder = $2 RETURNING ",
                job_columns!()
            ))
            .bind(id)
            .bind(holder)
            .bind(understood)
            .bind(row_count)
            .bind(now)
            .fetch_optional(&mut *transaction)
            .await?;
            if let Some(job) = ended.as_ref().filter(|job| job.state == "finished") {
                announce!(store, transaction, &job.owner_id, EventKind::JobFinished, &job.id, &job.told(), now);
            }
            transaction.commit().await?;
            Ok(ended.is_some())
        })
    }

    /// Lets go of a job that is to be looked up by another, or later. It counts as no try.
    pub async fn release_listing(&self, id: &str, holder: &str) -> Result<(), StoreError> {
        on!(self, store => {
            let mut transaction = store.begin().await?;
            sqlx::query("UPDATE jobs SET holder = '', held_until = 0 WHERE id = $1 AND holder = $2 AND state = 'listing'")
                .bind(id)
                .bind(holder)
                .execute(&mut *transaction)
                .await?;
            transaction.commit().await?;
            Ok(())
        })
    }

    /// A source failed, for this reason: it is tried again after a pause.
    pub async fn retry_listing(&self, id: &str, holder: &str, pause: Duration, reason: &str) -> Result<(), StoreError> {
        let due_at = self.now().await?.saturating_add(millis(pause));
        on!(self, store => {
            let mut transaction = store.begin().await?;
            sqlx::query(
                "UPDATE jobs SET holder = '', held_until = 0, tries = tries + 1, due_at = $3, reason = $4
                 WHERE id = $1 AND holder = $2 AND state = 'listing'",
            )
            .bind(id)
            .bind(holder)
            .bind(due_at)
            .bind(reason)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(())
        })
    }

    /// It cannot be looked up. False where another has the job.
    pub async fn fail_listing(&self, id: &str, holder: &str, reason: &str) -> Result<bool, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            let failed: Option<JobRow> = sqlx::query_as(concat!(
                "UPDATE jobs SET state = 'failed', reason = $3, ended_at = $4, holder = '', held_until = 0
                 WHERE id = $1 AND state = 'listing' AND holder = $2 RETURNING ",
                job_columns!()
            ))
            .bind(id)
            .bind(holder)
            .bind(reason)
            .bind(now)
            .fetch_optional(&mut *transaction)
            .await?;
            if let Some(job) = &failed {
                announce!(store, transaction, &job.owner_id, EventKind::JobFailed, &job.id, &job.told(), now);
            }
            transaction.commit().await?;
            Ok(failed.is_some())
        })
    }
}
