//! Jobs: tables of transactions that are read while their owner is away, in parts of as many rows as one call takes. Whoever holds a part works on
//! it; a holder that is silent loses it to another instance, and what it brings too late is dropped.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::QueryBuilder;

use super::book_rows::{ReadRow, write_rows};
use super::decisions::{follow_rules, lock_book, rows_to_keep};
use super::webhooks::announce;
use super::{EventKind, PURGE_ROWS_MAX, Store, StoreError, from_row, lock_owner, millis, on};

/// Jobs that are looked at for a part that nobody holds.
const JOBS_LOOKED_AT: i64 = 16;
/// Parts per statement. SQLite accepts 32,766 parameters, of which a part needs 4.
pub(super) const PARTS_WRITTEN_MAX: usize = 100;

/// A job before its table has come in, or its transactions were looked up.
#[derive(Debug, Clone)]
pub struct NewJob {
    pub id: String,
    pub owner_id: String,
    pub key_id: String,
    /// A book of the owner.
    pub book_id: String,
    pub name: String,
    /// What is looked up and how its rows are read, as JSON.
    pub options: String,
    /// Whether it is read as soon as all of it is there.
    pub starts: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    pub id: String,
    pub owner_id: String,
    pub key_id: String,
    /// Nothing only where a backup from before there were books was restored.
    pub book_id: Option<String>,
    pub name: String,
    pub options: String,
    /// How its table was understood, or what was found, as JSON.
    pub understood: String,
    pub state: String,
    /// Why it waits, or why it failed.
    pub reason: Option<String>,
    pub row_count: i64,
    pub read_count: i64,
    pub failed_count: i64,
    pub review_count: i64,
    /// Milliseconds since 1970, as all times here.
    pub created_at: i64,
    pub started_at: Option<i64>,
    pub ended_at: Option<i64>,
}

from_row!(JobRow: id, owner_id, key_id, book_id, name, options, understood, state, reason, row_count, read_count, failed_count, review_count, created_at, started_at, ended_at);

impl JobRow {
    pub fn cursor(&self) -> (i64, String) {
        (self.created_at, self.id.clone())
    }

    /// What its owner is told at its end.
    pub(super) fn told(&self) -> Value {
        let time = |millis: i64| jiff::Timestamp::from_millisecond(millis).unwrap_or_default().to_string();
        json!({
            "id": self.id,
            "name": self.name,
            "state": self.state,
            "reason": self.reason,
            "rows": self.row_count,
            "read": self.read_count,
            "failed": self.failed_count,
            "needs_review": self.review_count,
            "created_at": time(self.created_at),
            "ended_at": self.ended_at.map(time),
        })
    }
}

/// Up to as many rows as one call takes.
#[derive(Debug, Clone)]
pub struct NewPart {
    pub row_count: i64,
    pub asked: Vec<u8>,
}

/// A part that is held, until another instance may take it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldPart {
    pub job_id: String,
    pub number: i64,
    pub asked: Vec<u8>,
    /// What an earlier try brought.
    pub answers: Option<Vec<u8>>,
    pub times: Option<Vec<u8>>,
    pub tries: i64,
}

from_row!(HeldPart: job_id, number, asked, answers, times, tries);

/// What came of a part.
#[derive(Debug, Clone, Default)]
pub struct PartOutcome {
    pub answers: Vec<u8>,
    pub times: Vec<u8>,
    /// Whether nothing of it is left to read.
    pub is_done: bool,
    /// How long the rest of it waits.
    pub pause: Duration,
    /// By how much the job's counts grow.
    pub read: i64,
    pub failed: i64,
    pub reviews: i64,
    /// Rows that were read in this try.
    pub rows: Vec<ReadRow>,
}

/// A part and what came of it.
#[derive(Debug, Clone)]
pub struct EndedPart {
    pub part: HeldPart,
    pub outcome: PartOutcome,
}

/// What is known of the rows of a part without their answers: when the transactions were, and how they were read.
#[derive(Debug, Clone)]
pub struct PartTimes {
    pub number: i64,
    pub times: Option<Vec<u8>>,
}

from_row!(PartTimes: number, times);

macro_rules! job_columns {
    () => {
        "id, owner_id, key_id, book_id, name, options, understood, state, reason, row_count, read_count, failed_count, review_count,
         created_at, started_at, ended_at"
    };
}
pub(super) use job_columns;

/// Writes parts of a job, numbered from `$first` on.
macro_rules! write_parts {
    ($transaction:ident, $job_id:expr, $first:expr, $parts:expr) => {{
        let mut number: i64 = $first;
        for parts in $parts.chunks($crate::store::jobs::PARTS_WRITTEN_MAX) {
            let mut insert = sqlx::QueryBuilder::new("INSERT INTO job_parts (job_id, number, row_count, asked) ");
            insert.push_values(parts, |mut row, part| {
                row.push_bind($job_id).push_bind(number).push_bind(part.row_count).push_bind(&part.asked);
                number = number.saturating_add(1);
            });
            insert.build().persistent(false).execute(&mut *$transaction).await?;
        }
    }};
}
pub(super) use write_parts;

const JOB_COLUMNS: &str = concat!("SELECT ", job_columns!(), " FROM jobs WHERE ");

impl Store {
    /// Makes room for a table that comes in; false where the owner has as many unfinished jobs as one may have, or the book has gone.
    pub async fn begin_job(&self, job: &NewJob, unfinished_max: i64) -> Result<bool, StoreError> {
        self.begin_job_as(job, "arriving", unfinished_max).await
    }

    pub(super) async fn begin_job_as(
        &self,
        job: &NewJob,
        state: &'static str,
        unfinished_max: i64,
    ) -> Result<bool, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            // The owner's row serialises two uploads at the same moment.
            lock_owner!(transaction, &job.owner_id);
            let begun = sqlx::query(
                "INSERT INTO jobs (id, owner_id, key_id, name, options, understood, state, created_at, due_at, served_at, book_id, starts)
                 SELECT $1, owner_id, $3, $4, $5, '{}', $9, $6, 0, 0, id, $10 FROM books
                 WHERE owner_id = $2 AND id = $8
                     AND (SELECT count(*) FROM jobs WHERE owner_id = $2 AND state IN ('arriving', 'listing', 'ready', 'open')) < $7",
            )
            .bind(&job.id)
            .bind(&job.owner_id)
            .bind(&job.key_id)
            .bind(&job.name)
            .bind(&job.options)
            .bind(now)
            .bind(unfinished_max)
            .bind(&job.book_id)
            .bind(state)
            .bind(job.starts)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(begun.rows_affected() == 1)
        })
    }

    /// Writes parts of a table that comes in, numbered from `first` on.
    pub async fn add_parts(&self, job_id: &str, first: i64, parts: &[NewPart]) -> Result<(), StoreError> {
        on!(self, store => {
            let mut transaction = store.begin().await?;
            write_parts!(transaction, job_id, first, parts);
            transaction.commit().await?;
            Ok(())
        })
    }

    /// The whole table is there: from now on it is worked on, or ready to be started. False where it is gone, with its owner.
    pub async fn open_job(&self, id: &str, understood: &str, row_count: i64) -> Result<bool, StoreError> {
        on!(self, store => {
            let mut transaction = store.begin().await?;
            let opened = sqlx::query(
                "UPDATE jobs SET state = CASE WHEN starts = TRUE THEN 'open' ELSE 'ready' END, understood = $2, row_count = $3
                 WHERE id = $1 AND state = 'arriving'",
            )
            .bind(id)
            .bind(understood)
            .bind(row_count)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(opened.rows_affected() == 1)
        })
    }

    /// Has a job read that is ready, or will be. False where it has begun or ended already.
    pub async fn start_job(&self, id: &str) -> Result<bool, StoreError> {
        on!(self, store => {
            let mut transaction = store.begin().await?;
            let started = sqlx::query(
                "UPDATE jobs SET starts = TRUE, state = CASE WHEN state = 'ready' THEN 'open' ELSE state END
                 WHERE id = $1 AND state IN ('listing', 'ready') AND starts = FALSE",
            )
            .bind(id)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(started.rows_affected() == 1)
        })
    }

    /// A job of this owner whose table is there.
    pub async fn job(&self, owner_id: &str, id: &str) -> Result<Option<JobRow>, StoreError> {
        on!(self, store => {
            let mut query = QueryBuilder::new(JOB_COLUMNS);
            query.push("owner_id = ").push_bind(owner_id).push(" AND id = ").push_bind(id).push(" AND state <> 'arriving'");
            Ok(query.build_query_as().fetch_optional(store.pool()).await?)
        })
    }

    /// The owner's jobs, the newest first; of one book, or of all.
    pub async fn jobs(
        &self,
        owner_id: &str,
        book_id: Option<&str>,
        before: Option<&(i64, String)>,
        limit: i64,
    ) -> Result<Vec<JobRow>, StoreError> {
        let (at, id) = before.cloned().unwrap_or((i64::MAX, String::new()));
        on!(self, store => {
            let mut query = QueryBuilder::new(JOB_COLUMNS);
            query.push("owner_id = ").push_bind(owner_id);
            if let Some(book_id) = book_id {
                query.push(" AND book_id = ").push_bind(book_id);
            }
            query.push(" AND state <> 'arriving' AND (created_at, id) < (");
            query.push_bind(at).push(", ").push_bind(&id).push(") ORDER BY created_at DESC, id DESC LIMIT ").push_bind(limit);
            Ok(query.build_query_as().fetch_all(store.pool()).await?)
        })
    }

    /// Rows of the job that were read since then.
    pub async fn rows_read_since(&self, job_id: &str, since: i64) -> Result<i64, StoreError> {
        on!(self, store => {
            let sum = sqlx::query_scalar(
                "SELECT CAST(coalesce(sum(row_count), 0) AS BIGINT) FROM job_parts WHERE job_id = $1 AND is_done = TRUE AND done_at >= $2",
            );
            Ok(sum.bind(job_id).bind(since).fetch_one(store.pool()).await?)
        })
    }

    /// Takes up to `most` parts of the job that has waited longest for its turn.
    pub async fn hold_parts(&self, holder: &str, span: Duration, most: i64) -> Result<Vec<HeldPart>, StoreError> {
        let now = self.now().await?;
        let until = now.saturating_add(millis(span));
        on!(self, store => {
            let waiting: Vec<(String,)> = sqlx::query_as(
                "SELECT id FROM jobs WHERE state = 'open' AND due_at <= $1 ORDER BY served_at, id LIMIT $2",
            )
            .bind(now)
            .bind(JOBS_LOOKED_AT)
            .fetch_all(store.pool())
            .await?;
            for (job_id,) in waiting {
                let mut transaction = store.begin().await?;
                // The job before its parts, as at the end of a part: two instances never wait for each other.
                sqlx::query("UPDATE jobs SET served_at = $2, started_at = coalesce(started_at, $2) WHERE id = $1")
                    .bind(&job_id)
                    .bind(now)
                    .execute(&mut *transaction)
                    .await?;
                let mut take = QueryBuilder::new("UPDATE job_parts SET holder = ");
                take.push_bind(holder).push(", held_until = ").push_bind(until);
                take.push(" WHERE (job_id, number) IN (SELECT job_id, number FROM job_parts WHERE job_id = ")
                    .push_bind(&job_id);
                take.push(" AND is_done = FALSE AND held_until <= ").push_bind(now).push(" AND due_at <= ").push_bind(now);
                take.push(" ORDER BY number LIMIT ").push_bind(most).push(store.skipping());
                take.push(") RETURNING job_id, number, asked, answers, times, tries");
                let parts: Vec<HeldPart> = take.build_query_as().fetch_all(&mut *transaction).await?;
                if parts.is_empty() {
                    continue;
                }
                transaction.commit().await?;
                return Ok(parts);
            }
            Ok(Vec::new())
        })
    }

    /// The job of a part, whoever's it is: for the worker that holds the part.
    pub async fn job_of_part(&self, part: &HeldPart) -> Result<Option<JobRow>, StoreError> {
        on!(self, store => {
            let mut query = QueryBuilder::new(JOB_COLUMNS);
            query.push("id = ").push_bind(&part.job_id);
            Ok(query.build_query_as().fetch_optional(store.pool()).await?)
        })
    }

    /// Holds the part longer; false where another has it.
    pub async fn renew_part(
        &self,
        job_id: &str,
        number: i64,
        holder: &str,
        span: Duration,
    ) -> Result<bool, StoreError> {
        let until = self.now().await?.saturating_add(millis(span));
        on!(self, store => {
            let mut transaction = store.begin().await?;
            let renewed = sqlx::query(
                "UPDATE job_parts SET held_until = $4 WHERE job_id = $1 AND number = $2 AND holder = $3 AND is_done = FALSE",
            )
            .bind(job_id)
            .bind(number)
            .bind(holder)
            .bind(until)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(renewed.rows_affected() == 1)
        })
    }

    /// Lets go of a part that could not be worked on, for this long. It counts as no try.
    pub async fn release_part(&self, part: &HeldPart, holder: &str, pause: Duration) -> Result<(), StoreError> {
        let due_at = self.now().await?.saturating_add(millis(pause));
        on!(self, store => {
            let mut transaction = store.begin().await?;
            sqlx::query(
                "UPDATE job_parts SET holder = '', held_until = 0, due_at = $4 WHERE job_id = $1 AND number = $2 AND holder = $3",
            )
            .bind(&part.job_id)
            .bind(part.number)
            .bind(holder)
            .bind(due_at)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(())
        })
    }

    /// Writes down what came of parts of one job; with the last one the job is finished. Gives how
    /// many were written: not those that another has by now.
    pub async fn end_parts(&self, ends: &[EndedPart], holder: &str) -> Result<usize, StoreError> {
        let Some(job_id) = ends.first().map(|end| end.part.job_id.as_str()) else { return Ok(0) };
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            // First, since its lock makes the last two parts of a job see each other.
            let mut lock = QueryBuilder::new("SELECT book_id FROM jobs WHERE id = ");
            lock.push_bind(job_id).push(store.locking());
            let book: Option<(Option<String>,)> = lock.build_query_as().fetch_optional(&mut *transaction).await?;
            let mut written: Vec<&EndedPart> = Vec::with_capacity(ends.len());
            for end in ends {
                let outcome = &end.outcome;
                let done = sqlx::query(
                    "UPDATE job_parts SET answers = $4, times = $5, is_done = $6, tries = tries + 1, holder = '', held_until = 0,
                         due_at = $7, done_at = $8
                     WHERE job_id = $1 AND number = $2 AND holder = $3 AND is_done = FALSE",
                )
                .bind(job_id)
                .bind(end.part.number)
                .bind(holder)
                .bind(&outcome.answers)
                .bind(&outcome.times)
                .bind(outcome.is_done)
                .bind(now.saturating_add(millis(outcome.pause)))
                .bind(outcome.is_done.then_some(now))
                .execute(&mut *transaction)
                .await?;
                if done.rows_affected() > 0 {
                    written.push(end);
                }
            }
            if written.is_empty() {
                return Ok(0);
            }
            let sum = |count: fn(&PartOutcome) -> i64| written.iter().map(|end| count(&end.outcome)).sum::<i64>();
            let job: Option<JobRow> = sqlx::query_as(concat!(
                "UPDATE jobs SET read_count = read_count + $2, failed_count = failed_count + $3, review_count = review_count + $4,
                     reason = CASE WHEN state = 'open' AND $2 > 0 THEN NULL ELSE reason END,
                     state = CASE WHEN left_over.is_none AND state = 'open' THEN 'finished' ELSE state END,
                     ended_at = CASE WHEN left_over.is_none AND state = 'open' THEN $5 ELSE ended_at END
                 FROM (SELECT NOT EXISTS (SELECT 1 FROM job_parts WHERE job_id = $1 AND is_done = FALSE) AS is_none) AS left_over
                 WHERE id = $1 RETURNING ",
                job_columns!()
            ))
            .bind(job_id)
            .bind(sum(|outcome| outcome.read))
            .bind(sum(|outcome| outcome.failed))
            .bind(sum(|outcome| outcome.reviews))
            .bind(now)
            .fetch_optional(&mut *transaction)
            .await?;
            if let Some((Some(book_id),)) = &book
                && written.iter().any(|end| !end.outcome.rows.is_empty())
                && let Some(needs_second) = lock_book!(store, transaction, book_id)
            {
                let rows = rows_to_keep!(transaction, book_id, written.iter().flat_map(|end| &end.outcome.rows));
                write_rows!(transaction, book_id, rows, job_id, now, "");
                if rows.iter().any(|row| row.needs_review) {
                    follow_rules!(store, transaction, book_id, rows, needs_second, now);
                }
            }
            // Of a job that was finished before, no part was left to be written.
            if let Some(job) = job.filter(|job| job.state == "finished") {
                announce!(store, transaction, &job.owner_id, EventKind::JobFinished, &job.id, &job.told(), now);
            }
            transaction.commit().await?;
            Ok(written.len())
        })
    }

    /// The job is left alone for this long, and may say why.
    pub async fn delay_job(&self, id: &str, pause: Duration, reason: Option<&str>) -> Result<(), StoreError> {
        let due_at = self.now().await?.saturating_add(millis(pause));
        on!(self, store => {
            let mut transaction = store.begin().await?;
            sqlx::query("UPDATE jobs SET due_at = $2, reason = $3 WHERE id = $1 AND state = 'open'")
                .bind(id)
                .bind(due_at)
                .bind(reason)
                .execute(&mut *transaction)
                .await?;
            transaction.commit().await?;
            Ok(())
        })
    }

    /// Nothing more is looked up or read of a job that has not ended: it was cancelled, or it failed.
    pub async fn end_job(&self, id: &str, state: &'static str, reason: Option<&str>) -> Result<bool, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            let ended: Option<JobRow> = sqlx::query_as(concat!(
                "UPDATE jobs SET state = $2, reason = $3, ended_at = $4
                 WHERE id = $1 AND state IN ('listing', 'ready', 'open') RETURNING ",
                job_columns!()
            ))
            .bind(id)
            .bind(state)
            .bind(reason)
            .bind(now)
            .fetch_optional(&mut *transaction)
            .await?;
            // Whoever cancels a job knows.
            if let Some(job) = ended.as_ref().filter(|job| job.state == "failed") {
                announce!(store, transaction, &job.owner_id, EventKind::JobFailed, &job.id, &job.told(), now);
            }
            transaction.commit().await?;
            Ok(ended.is_some())
        })
    }

    /// When the transactions of a job were, for parts from `first` on; at most `limit` parts.
    pub async fn part_times(&self, job_id: &str, first: i64, limit: i64) -> Result<Vec<PartTimes>, StoreError> {
        on!(self, store => {
            let parts = sqlx::query_as(
                "SELECT number, times FROM job_parts WHERE job_id = $1 AND number >= $2 ORDER BY number LIMIT $3",
            );
            Ok(parts.bind(job_id).bind(first).bind(limit).fetch_all(store.pool()).await?)
        })
    }

    /// What a part asks for.
    pub async fn part_asked(&self, job_id: &str, number: i64) -> Result<Option<Vec<u8>>, StoreError> {
        on!(self, store => {
            let asked = sqlx::query_scalar("SELECT asked FROM job_parts WHERE job_id = $1 AND number = $2");
            Ok(asked.bind(job_id).bind(number).fetch_optional(store.pool()).await?)
        })
    }

    pub async fn part_answers(&self, job_id: &str, number: i64) -> Result<Option<Vec<u8>>, StoreError> {
        on!(self, store => {
            let answers = sqlx::query_scalar("SELECT answers FROM job_parts WHERE job_id = $1 AND number = $2");
            let answers: Option<Option<Vec<u8>>> =
                answers.bind(job_id).bind(number).fetch_optional(store.pool()).await?;
            Ok(answers.flatten())
        })
    }

    /// Deletes jobs that are older than `kept`, and tables that began to come in longer than `arriving` ago and never came whole.
    pub async fn sweep_jobs(&self, kept: Duration, arriving: Duration) -> Result<(), StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let old: Vec<(String,)> = sqlx::query_as(
                "SELECT id FROM jobs WHERE created_at < $1 OR (created_at < $2 AND state = 'arriving') LIMIT $3",
            )
            .bind(now.saturating_sub(millis(kept)))
            .bind(now.saturating_sub(millis(arriving)))
            .bind(JOBS_LOOKED_AT)
            .fetch_all(store.pool())
            .await?;
            for (id,) in old {
                self.drop_job(&id).await?;
            }
            Ok(())
        })
    }

    /// Deletes a job with everything in it, in steps that hold nobody up.
    pub async fn drop_job(&self, id: &str) -> Result<(), StoreError> {
        on!(self, store => {
            loop {
                let mut transaction = store.begin().await?;
                let gone = sqlx::query(
                    "DELETE FROM job_parts WHERE (job_id, number) IN (SELECT job_id, number FROM job_parts WHERE job_id = $1 LIMIT $2)",
                )
                .bind(id)
                .bind(PURGE_ROWS_MAX)
                .execute(&mut *transaction)
                .await?;
                let is_empty = gone.rows_affected() == 0;
                if is_empty {
                    sqlx::query("DELETE FROM jobs WHERE id = $1").bind(id).execute(&mut *transaction).await?;
                }
                transaction.commit().await?;
                if is_empty {
                    return Ok(());
                }
            }
        })
    }
}
