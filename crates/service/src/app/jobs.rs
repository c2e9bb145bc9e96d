//! Jobs: an owner's table of transactions, taken in once, or what wallets did, looked up first. It is read part by part, through the same door and ledger as
//! everybody's calls. A job outlives the process; any instance that is free works on it.

mod intake;
mod listing;
mod lookup;
mod marks;
mod packed;
mod places;
mod results;
mod rows;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::{Account, Policy, Question};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Notify;
use utoipa::ToSchema;

use super::{App, is_id};
use crate::error::ApiError;
use crate::store::JobRow;
pub(crate) use intake::{JobRequest, Upload};
use lookup::Lookup;
pub(crate) use lookup::{WALLETS_MAX as JOB_WALLETS_MAX, WalletsRequest};
use packed::unpack_asked;
use places::Places;
pub(crate) use results::scratch;
pub(crate) use rows::{FailedRow, JobPage, JobPageRow, JobRowAnswer, JobRowFilter, JobRowState, RowPlace};
pub(crate) use worker::work;

/// How long a job and its results are kept.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// A table that takes longer to come in has been given up.
const ARRIVING: Duration = Duration::from_secs(6 * 60 * 60);
/// Jobs of one owner that are not finished.
const UNFINISHED_MAX: i64 = 20;
/// Tables that come in at the same time, of everybody and of one owner.
const UPLOADS_MAX: usize = 32;
const UPLOADS_OF_OWNER_MAX: usize = 2;
/// Results that are taken away at the same time.
const DOWNLOADS_MAX: usize = 64;
const DOWNLOADS_OF_OWNER_MAX: usize = 4;
/// Rows that are shown before a job is started.
const PREVIEW_ROWS: usize = 10;
/// Jobs of one page.
const PAGE_JOBS: i64 = 50;
/// Parts whose marks are loaded at once.
const PARTS_LOADED: i64 = 1_000;
/// The rate of a job is that of the last minute.
const RATE_SECONDS: i64 = 60;
const SECOND_MILLIS: i64 = 1_000;
const NO_KEY: &str = "the key that brought the job was revoked";

/// What jobs share within one instance.
#[derive(Debug)]
pub(crate) struct Jobs {
    /// Rung when a job came in, so that a worker of this instance starts at once.
    bell: Notify,
    /// Where tables are kept while they come in.
    folder: PathBuf,
    uploads: Arc<Places>,
    downloads: Arc<Places>,
}

impl Jobs {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self {
            bell: Notify::new(),
            folder,
            uploads: Places::new(UPLOADS_MAX, UPLOADS_OF_OWNER_MAX),
            downloads: Places::new(DOWNLOADS_MAX, DOWNLOADS_OF_OWNER_MAX),
        }
    }
}

/// What is looked up, and how the rows of a job are read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct JobOptions {
    #[serde(default)]
    policy: Vec<(String, String)>,
    #[serde(default)]
    own_wallets: Vec<String>,
    /// Where it begins with wallets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lookup: Option<Lookup>,
}

impl JobOptions {
    fn question(&self) -> Question {
        let mut policy = Policy::default();
        for (key, value) in &self.policy {
            policy.set(key, value);
        }
        let own_wallets = self.own_wallets.iter().filter_map(|wallet| Account::parse(wallet).ok()).collect();
        Question { policy, own_wallets, ..Question::default() }
    }
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum JobState {
    /// What its wallets did is being looked up; `rows` says how many transactions were found so far, and `reason` which source failed and is tried again.
    Listing,
    /// All of it is there, and it waits to be started.
    Ready,
    /// Its rows are being read, or it is about to be its turn.
    Open,
    /// It goes on by itself; `reason` says when.
    Waiting,
    Finished,
    Cancelled,
    /// It cannot go on; `reason` says why. What was read before stays.
    Failed,
}

/// One job: where it stands, and how its table was understood or what was found.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct JobStatus {
    /// Under which it is asked for.
    pub(crate) id: String,
    /// The book that it belongs to.
    #[schema(required)]
    pub(crate) book: Option<String>,
    /// As its owner called it.
    pub(crate) name: String,
    pub(crate) state: JobState,
    /// Why it waits or failed, or is looked up again.
    #[schema(required)]
    pub(crate) reason: Option<String>,
    /// Transactions that it asks for; while they are looked up, those that were found so far.
    pub(crate) rows: i64,
    /// Rows that were read.
    pub(crate) read: i64,
    /// Rows that could not be read. Among the results in JSON Lines they carry `error`.
    pub(crate) failed: i64,
    /// Rows that were read and are for review.
    pub(crate) needs_review: i64,
    /// Of the last minute, or of the whole job when it has ended.
    #[schema(required)]
    pub(crate) rows_per_second: Option<f64>,
    /// At that rate; null when it has ended or nothing was read in the last minute.
    #[schema(required)]
    pub(crate) seconds_left: Option<i64>,
    /// When it was brought.
    pub(crate) created_at: String,
    /// When its first row was asked for.
    #[schema(required)]
    pub(crate) started_at: Option<String>,
    /// When it was finished, cancelled or failed.
    #[schema(required)]
    pub(crate) ended_at: Option<String>,
    /// When the job and its results are deleted.
    pub(crate) kept_until: String,
    /// How the table was understood: its columns, and rows that were repeated, empty or refused, with row and column. Of wallets how much was found of each,
    /// what the sources do not list (`unseen`), and which chains were not looked at (`unlisted`); empty until all is found.
    #[schema(value_type = Object)]
    pub(crate) table: Value,
}

/// The caller's jobs, the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JobList {
    /// At most 50.
    pub(crate) jobs: Vec<JobStatus>,
    /// Give it as `before` for the next page; null on the last.
    #[schema(required)]
    pub(crate) next: Option<String>,
}

/// A transaction that a job will ask for.
#[derive(Debug)]
pub(crate) struct PreviewRow {
    pub(crate) hash: String,
    pub(crate) chain: Option<String>,
    pub(crate) wallet: Option<String>,
}

impl App {
    pub(crate) async fn job(&self, owner_id: &str, id: &str) -> Result<JobStatus, ApiError> {
        let row = self.owned_job(owner_id, id).await?;
        self.job_status(row).await
    }

    /// A page of the owner's jobs, before the one that `before` names; of one book, or of all.
    pub(crate) async fn job_list(
        &self,
        owner_id: &str,
        book_id: Option<&str>,
        before: Option<&str>,
    ) -> Result<JobList, ApiError> {
        let before = match before {
            Some(id) => Some(self.owned_job(owner_id, id).await?.cursor()),
            None => None,
        };
        let rows = self.store.jobs(owner_id, book_id, before.as_ref(), PAGE_JOBS).await?;
        let is_full = i64::try_from(rows.len()).is_ok_and(|count| count >= PAGE_JOBS);
        let next = rows.last().filter(|_| is_full).map(|row| row.id.clone());
        let mut jobs = Vec::with_capacity(rows.len());
        for row in rows {
            jobs.push(self.job_status(row).await?);
        }
        Ok(JobList { jobs, next })
    }

    /// Starting what has begun or ended changes nothing. What is still looked up starts when all is found.
    pub(crate) async fn start_job(&self, owner_id: &str, id: &str) -> Result<JobStatus, ApiError> {
        let row = self.owned_job(owner_id, id).await?;
        if self.store.start_job(&row.id).await? {
            self.jobs.bell.notify_waiters();
        }
        self.job(owner_id, id).await
    }

    /// The first rows of a job, as they will be asked.
    pub(crate) async fn job_preview(&self, owner_id: &str, id: &str) -> Result<Vec<PreviewRow>, ApiError> {
        let row = self.owned_job(owner_id, id).await?;
        let asked = self.store.part_asked(&row.id, 0).await?.unwrap_or_default();
        let rows = unpack_asked(&asked).unwrap_or_default().into_iter().take(PREVIEW_ROWS);
        Ok(rows.map(|row| PreviewRow { hash: row.hash, chain: row.chain, wallet: row.wallet }).collect())
    }

    /// Cancelling what has ended changes nothing.
    pub(crate) async fn cancel_job(&self, owner_id: &str, id: &str) -> Result<JobStatus, ApiError> {
        let row = self.owned_job(owner_id, id).await?;
        self.store.end_job(&row.id, "cancelled", None).await?;
        self.job(owner_id, id).await
    }

    pub(crate) async fn sweep_jobs(&self) -> Result<(), ApiError> {
        Ok(self.store.sweep_jobs(KEPT, ARRIVING).await?)
    }

    async fn owned_job(&self, owner_id: &str, id: &str) -> Result<JobRow, ApiError> {
        let found = if is_id(id) { self.store.job(owner_id, id).await? } else { None };
        found.ok_or(ApiError::JobNotFound)
    }

    async fn job_status(&self, row: JobRow) -> Result<JobStatus, ApiError> {
        let now = self.store.now().await?;
        let state = match (row.state.as_str(), &row.reason) {
            ("listing", _) => JobState::Listing,
            ("ready", _) => JobState::Ready,
            ("open", None) => JobState::Open,
            ("open", Some(_)) => JobState::Waiting,
            ("finished", _) => JobState::Finished,
            ("cancelled", _) => JobState::Cancelled,
            _ => JobState::Failed,
        };
        let left = row.row_count.saturating_sub(row.read_count).saturating_sub(row.failed_count);
        let rate = self.job_rate(&row, now).await?;
        let is_open = matches!(state, JobState::Open | JobState::Waiting);
        let seconds_left = rate.filter(|rate| is_open && *rate > 0.0).and_then(|rate| seconds(left, rate));
        Ok(JobStatus {
            state,
            rows: row.row_count,
            read: row.read_count,
            failed: row.failed_count,
            needs_review: row.review_count,
            rows_per_second: rate,
            seconds_left,
            created_at: time(row.created_at),
            started_at: row.started_at.map(time),
            ended_at: row.ended_at.map(time),
            kept_until: time(row.created_at.saturating_add(i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX))),
            table: serde_json::from_str(&row.understood).unwrap_or_default(),
            id: row.id,
            book: row.book_id,
            name: row.name,
            reason: row.reason,
        })
    }

    /// Rows a second: of the last minute while it is worked on, of the whole when it has ended.
    async fn job_rate(&self, row: &JobRow, now: i64) -> Result<Option<f64>, ApiError> {
        let Some(started) = row.started_at else { return Ok(None) };
        let (count, since, until) = match row.ended_at {
            Some(ended) => (row.read_count.saturating_add(row.failed_count), started, ended),
            None => {
                let since = started.max(now.saturating_sub(RATE_SECONDS.saturating_mul(SECOND_MILLIS)));
                (self.store.rows_read_since(&row.id, since).await?, since, now)
            }
        };
        let millis = until.saturating_sub(since).max(1);
        Ok(Some(ratio(count.saturating_mul(SECOND_MILLIS), millis)))
    }
}

/// With one digit after the point.
#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "a rate for people")]
fn ratio(count: i64, of: i64) -> f64 {
    (count as f64 * 10.0 / of as f64).round() / 10.0
}

#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "an estimate for people"
)]
fn seconds(rows: i64, rate: f64) -> Option<i64> {
    let seconds = (rows as f64 / rate).ceil();
    seconds.is_finite().then_some(seconds as i64)
}

fn time(millis: i64) -> String {
    jiff::Timestamp::from_millisecond(millis).unwrap_or_default().to_string()
}
