//! Works on jobs: takes a part that nobody holds, reads it as a call of its owner, and writes down what came of it. A worker that dies loses its part to
//! another after `HELD`; since the ledger counts a hash once, nothing is counted twice.

use std::sync::Arc;
use std::time::Duration;

use chains::UPSTREAM_CODES;
use engine::Classification;
use tokio_util::sync::CancellationToken;

use super::packed::{AskedRow, RowAnswer, pack_answers, pack_times, unpack_answers, unpack_asked, unpack_times};
use super::{JobOptions, NO_KEY, listing};
use crate::app::{App, Item, RequestId};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::history::read_row;
use crate::store::{HeldPart, JobRow, PartOutcome, Payer};

/// Parts that one instance works on at the same time.
const WORKERS: usize = 4;
/// How long a part is held without a sign of life of its holder.
const HELD: Duration = Duration::from_secs(10);
const RENEWED_EVERY: Duration = Duration::from_secs(3);
/// How often an idle worker looks for work that another instance took in.
const POLLED_EVERY: Duration = Duration::from_millis(500);
/// A row is asked for so often before its failure stands, with growing pauses between.
const TRIES_MAX: i64 = 5;
const PAUSE: Duration = Duration::from_secs(5);
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// How often it is looked whether the pool of a job that waits has grown.
const QUOTA_POLLED_EVERY: Duration = Duration::from_secs(10);

const NO_QUOTA: &str =
    "the owner's pool of this period is used up; the job goes on when the next period begins or the pool grows";
const NO_ANSWER: &str = "what the job asks for cannot be read back";

/// Works until `stop`; parts that are in work then are finished first.
pub(crate) async fn work(app: Arc<App>, stop: CancellationToken) {
    let workers = (0..WORKERS).map(|_| Worker::new(&app).run(&stop));
    tokio::join!(futures_util::future::join_all(workers), listing::look_up(&app, &stop));
}

struct Worker {
    app: Arc<App>,
    id: String,
}

/// What a part came to.
enum Done {
    Ended(PartOutcome),
    /// Rows were refused because the pool is empty; the others are in the outcome, if any was read.
    NoQuota(Option<PartOutcome>),
    /// As many calls were made as the owner may make: the job goes on so much later.
    Paced(Duration),
    /// It is tried again, and counts as no try.
    Later,
    /// The whole job cannot go on.
    Failed(&'static str),
}

impl Worker {
    fn new(app: &Arc<App>) -> Self {
        Self { app: Arc::clone(app), id: format!("{:032x}", rand::random::<u128>()) }
    }

    async fn run(self, stop: &CancellationToken) {
        let mut is_away = false;
        while !stop.is_cancelled() {
            let taken = self.app.store.hold_parts(&self.id, HELD, 1).await;
            if let Err(error) = &taken
                && !is_away
            {
                tracing::error!(%error, "jobs are out of reach");
            }
            is_away = taken.is_err();
            let parts = taken.unwrap_or_default();
            if parts.is_empty() {
                tokio::select! {
                    () = self.app.jobs.bell.notified() => {}
                    () = tokio::time::sleep(POLLED_EVERY) => {}
                    () = stop.cancelled() => {}
                }
            }
            for part in parts {
                if let Err(error) = self.serve(&part).await {
                    tracing::warn!(%error, "a part of a job could not be written down");
                }
            }
        }
    }

    async fn serve(&self, part: &HeldPart) -> Result<(), crate::store::StoreError> {
        let store = &self.app.store;
        let job = store.job_of_part(part).await?.filter(|job| job.state == "open");
        let Some(job) = job else { return store.release_part(part, &self.id, Duration::ZERO).await };
        let done = {
            let reading = self.read(part, &job);
            let mut reading = std::pin::pin!(reading);
            loop {
                tokio::select! {
                    done = &mut reading => break done,
                    () = tokio::time::sleep(RENEWED_EVERY) => {
                        // Lost or not: the ledger has what is read, and the end of the part is refused if another has it.
                        let _ = store.renew_part(part, &self.id, HELD).await;
                    }
                }
            }
        };
        match done {
            Done::Ended(outcome) => drop(store.end_part(part, &self.id, &outcome).await?),
            Done::NoQuota(outcome) => {
                match outcome {
                    Some(outcome) => drop(store.end_part(part, &self.id, &outcome).await?),
                    None => store.release_part(part, &self.id, Duration::ZERO).await?,
                }
                // After it, since a part that was read ends a wait.
                store.delay_job(&job.id, QUOTA_POLLED_EVERY, Some(NO_QUOTA)).await?;
            }
            Done::Paced(pause) => {
                store.delay_job(&job.id, pause, None).await?;
                store.release_part(part, &self.id, Duration::ZERO).await?;
            }
            Done::Later => store.release_part(part, &self.id, PAUSE).await?,
            Done::Failed(reason) => {
                store.end_job(&job.id, "failed", Some(reason)).await?;
                store.release_part(part, &self.id, Duration::ZERO).await?;
            }
        }
        Ok(())
    }

    async fn read(&self, part: &HeldPart, job: &JobRow) -> Done {
        let caller = match self.app.job_caller(job).await {
            Ok(Some(caller)) => caller,
            Ok(None) => return Done::Failed(NO_KEY),
            Err(_) => return Done::Later,
        };
        let payer = caller.payer.clone();
        if job.reason.is_some() && !has_quota(&self.app, &payer).await {
            return Done::NoQuota(None);
        }
        let Some((asked, mut answers)) = unpacked(part) else { return Done::Failed(NO_ANSWER) };
        let options: JobOptions = serde_json::from_str(&job.options).unwrap_or_default();
        let question = options.question();
        let open: Vec<usize> =
            answers.iter().enumerate().filter(|(_, row)| **row == RowAnswer::Unread).map(|(at, _)| at).collect();
        let mut items = Vec::with_capacity(open.len());
        for row in open.iter().filter_map(|at| asked.get(*at)) {
            let Some((hash, wallet)) = row.parsed() else { return Done::Failed(NO_ANSWER) };
            let question = engine::Question { wallet, ..question.clone() };
            items.push(Item { hash, tx_id: None, chain: row.chain.clone(), question });
        }
        // A call in the ledger and the logs, by the job's own name.
        let request_id = RequestId::parse(&format!("{}.{}", job.id, part.number)).unwrap_or_else(RequestId::fresh);
        let call = match self.app.admit_job(caller, request_id).await {
            Ok(call) => call,
            Err(ApiError::RateLimited { seconds }) => return Done::Paced(Duration::from_secs(seconds)),
            Err(_) => return Done::Later,
        };
        let rows = match self.app.classify_batch(call, items).await {
            Ok(rows) => rows,
            // Places that other calls in flight hold come back.
            Err(ApiError::QuotaExceeded) if !has_quota(&self.app, &payer).await => return Done::NoQuota(None),
            Err(_) => return Done::Later,
        };
        let is_last_try = part.tries.saturating_add(1) >= TRIES_MAX;
        let mut tally = Tally::default();
        let read = rows.iter().filter(|row| row.error.is_none()).map(|row| read_row(row)).collect();
        for (at, row) in open.into_iter().zip(&rows) {
            if let Some(slot) = answers.get_mut(at) {
                *slot = tally.take(row, is_last_try);
            }
        }
        let Ok(packed) = pack_answers(&answers) else { return Done::Failed(NO_ANSWER) };
        let shift = u32::try_from(part.tries).unwrap_or(u32::MAX);
        let outcome = PartOutcome {
            answers: packed,
            times: pack_times(&answers),
            is_done: !answers.contains(&RowAnswer::Unread),
            pause: PAUSE.saturating_mul(1_u32.checked_shl(shift).unwrap_or(u32::MAX)).min(PAUSE_MAX),
            read: tally.read,
            failed: tally.failed,
            reviews: tally.reviews,
            rows: read,
        };
        if tally.refused > 0 && !has_quota(&self.app, &payer).await {
            return Done::NoQuota(Some(PartOutcome { pause: Duration::ZERO, ..outcome }));
        }
        Done::Ended(outcome)
    }
}

/// Whether less was counted than the pool has.
async fn has_quota(app: &App, payer: &Payer) -> bool {
    let Some(limit) = payer.limit else { return true };
    let usage = app.store.pool_usage(payer, None).await;
    usage.is_ok_and(|usage| usage.used < limit)
}

/// What a part asks for, and what is known of it from an earlier try.
fn unpacked(part: &HeldPart) -> Option<(Vec<AskedRow>, Vec<RowAnswer>)> {
    let asked = unpack_asked(&part.asked).ok()?;
    let mut answers = match (&part.answers, &part.times) {
        (Some(answers), Some(times)) => unpack_answers(answers, &unpack_times(times)).ok()?,
        _ => Vec::new(),
    };
    answers.resize(asked.len(), RowAnswer::Unread);
    Some((asked, answers))
}

#[derive(Default)]
struct Tally {
    read: i64,
    failed: i64,
    reviews: i64,
    refused: usize,
}

impl Tally {
    fn take(&mut self, row: &Classification, is_last_try: bool) -> RowAnswer {
        let mut json = Vec::new();
        let is_written = row.write_json(&mut json).is_ok();
        let Some(json) = String::from_utf8(json).ok().filter(|_| is_written) else { return RowAnswer::Unread };
        match row.error {
            None => {
                self.read = self.read.saturating_add(1);
                self.reviews = self.reviews.saturating_add(i64::from(row.needs_review));
                RowAnswer::Read { json, time: seconds(row) }
            }
            Some(error) if error == ApiError::QuotaExceeded.code() => {
                self.refused = self.refused.saturating_add(1);
                RowAnswer::Unread
            }
            Some(error) if !is_last_try && may_pass(error) => RowAnswer::Unread,
            Some(_) => {
                self.failed = self.failed.saturating_add(1);
                RowAnswer::Failed { json }
            }
        }
    }
}

/// Whether the same question may be answered later.
fn may_pass(error: &str) -> bool {
    UPSTREAM_CODES.contains(&error)
        || error == ApiError::Internal.code()
        || error == ApiError::TxNotYetMined { chain: String::new() }.code()
}

/// When the transaction was, in seconds since 1970; what has no time comes first.
fn seconds(row: &Classification) -> i64 {
    let time = row.block.as_ref().and_then(|block| block.timestamp.parse::<jiff::Timestamp>().ok());
    time.map_or(0, jiff::Timestamp::as_second)
}

impl App {
    /// Who pays for a job now; nobody where its key was revoked or its owner has left.
    pub(super) async fn job_caller(&self, job: &JobRow) -> Result<Option<Arc<Caller>>, ApiError> {
        if job.key_id.is_empty() {
            let owner = self.store.owner(&job.owner_id).await?;
            return Ok(owner.map(|owner| Arc::new(self.auth.owner_caller(&owner))));
        }
        Ok(self.auth.caller_of_key(&job.key_id).await?)
    }
}
