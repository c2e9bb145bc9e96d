//! Works on jobs in three steps, each with its own pace: parts that nobody holds are taken ahead, read as calls of their owners, and what came of them is
//! written down, several in one write. A worker that dies loses its parts to another after `HELD`; since the ledger counts a hash once, nothing is counted
//! twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::Classification;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::marks::Said;
use super::packed::{AskedRow, RowAnswer, pack_answers, pack_known, unpack_answers, unpack_asked};
use super::{JobOptions, NO_KEY, listing};
use crate::app::reader::may_pass;
use crate::app::{App, Item, RequestId};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::history::{read_row, seconds};
use crate::store::{EndedPart, HeldPart, JobRow, PartOutcome, Payer, ReadRow, StoreError};

/// Parts that one instance reads at the same time.
const READ_MAX: usize = 4;
/// Parts that are taken ahead, so that nobody waits for the database between two parts; and how many are taken at once.
const AHEAD_MAX: usize = 4;
/// The same where a fleet reads them: here they only wait.
const SENT_MAX: usize = 64;
const TAKEN_AT_ONCE: usize = 2;
/// Parts whose ends share a write.
const ENDED_MAX: usize = 2 * READ_MAX;
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

/// Works until `stop`; parts that are being read then are finished first. What writes does so on `background`.
pub(crate) async fn work(app: Arc<App>, stop: CancellationToken, background: &Handle) {
    let looking_up = tokio::spawn({
        let (app, stop) = (Arc::clone(&app), stop.clone());
        async move { listing::look_up(&app, &stop).await }
    });
    let worker = Arc::new(Worker { app, id: format!("{:032x}", rand::random::<u128>()), stop, held: Mutex::default() });
    let (read_max, ahead_max) = if worker.app.has_fleet() { (SENT_MAX, SENT_MAX) } else { (READ_MAX, AHEAD_MAX) };
    let (ahead, taken) = mpsc::channel(ahead_max);
    let (ended, ends) = mpsc::channel(ENDED_MAX);
    let taken = Arc::new(tokio::sync::Mutex::new(taken));
    let mut readers = JoinSet::new();
    for _ in 0..read_max {
        readers.spawn(Arc::clone(&worker).read_parts(Arc::clone(&taken), ended.clone()));
    }
    drop(ended);
    let taker = background.spawn(Arc::clone(&worker).take_parts(ahead));
    let writer = background.spawn(Arc::clone(&worker).end_parts(ends));
    let all = async {
        // What a panic leaves behind comes back when it is no longer held.
        let _ = taker.await;
        while readers.join_next().await.is_some() {}
        let _ = writer.await;
        let _ = looking_up.await;
    };
    tokio::select! {
        () = all => {}
        () = worker.renew_parts() => {}
    }
}

struct Worker {
    app: Arc<App>,
    id: String,
    stop: CancellationToken,
    /// Every part that was taken and not let go of, by job and number.
    held: Mutex<BTreeSet<(String, i64)>>,
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
    async fn take_parts(self: Arc<Self>, ahead: mpsc::Sender<HeldPart>) {
        let mut is_away = false;
        while !self.stop.is_cancelled() {
            tokio::select! {
                room = ahead.reserve_many(TAKEN_AT_ONCE) => drop(room),
                () = self.stop.cancelled() => return,
            }
            let most = i64::try_from(ahead.capacity()).unwrap_or(1);
            let taken = self.app.store.hold_parts(&self.id, HELD, most).await;
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
                    () = self.stop.cancelled() => {}
                }
            }
            self.held().extend(parts.iter().map(key));
            for part in parts {
                // There is room for all of them, and the readers outlive this.
                let _ = ahead.send(part).await;
            }
        }
    }

    async fn read_parts(
        self: Arc<Self>,
        taken: Arc<tokio::sync::Mutex<mpsc::Receiver<HeldPart>>>,
        ended: mpsc::Sender<EndedPart>,
    ) {
        loop {
            let next = taken.lock().await.recv().await;
            let Some(part) = next else { return };
            let key = key(&part);
            let served = if self.stop.is_cancelled() {
                self.let_go(&part, Duration::ZERO).await.map(|()| None)
            } else {
                self.serve(part).await
            };
            match served {
                // The writer outlives the readers.
                Ok(Some(end)) => drop(ended.send(end).await),
                Ok(None) => {}
                Err(error) => {
                    // No longer renewed, so that it comes back.
                    self.held().remove(&key);
                    tell_lost(&error);
                }
            }
        }
    }

    async fn end_parts(self: Arc<Self>, mut ends: mpsc::Receiver<EndedPart>) {
        let mut group = Vec::new();
        while ends.recv_many(&mut group, ENDED_MAX).await > 0 {
            let mut by_job: BTreeMap<String, Vec<EndedPart>> = BTreeMap::new();
            for end in group.drain(..) {
                by_job.entry(end.part.job_id.clone()).or_default().push(end);
            }
            for ends in by_job.into_values() {
                if let Err(error) = self.write_ends(&ends).await {
                    tell_lost(&error);
                }
            }
        }
    }

    async fn write_ends(&self, ends: &[EndedPart]) -> Result<(), StoreError> {
        // Written or lost: whoever has a part that is not ended takes it when it is no longer held.
        for end in ends {
            self.held().remove(&key(&end.part));
        }
        self.app.store.end_parts(ends, &self.id).await?;
        Ok(())
    }

    async fn renew_parts(&self) {
        loop {
            tokio::time::sleep(RENEWED_EVERY).await;
            let held: Vec<(String, i64)> = self.held().iter().cloned().collect();
            for (job_id, number) in &held {
                // Lost or not: the ledger has what is read, and the end of a part is refused if another has it.
                let _ = self.app.store.renew_part(job_id, *number, &self.id, HELD).await;
            }
        }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, BTreeSet<(String, i64)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn let_go(&self, part: &HeldPart, pause: Duration) -> Result<(), StoreError> {
        self.held().remove(&key(part));
        self.app.store.release_part(part, &self.id, pause).await
    }

    /// Reads a part; what has nothing to be written down is let go of.
    async fn serve(&self, part: HeldPart) -> Result<Option<EndedPart>, StoreError> {
        let store = &self.app.store;
        let job = store.job_of_part(&part).await?.filter(|job| job.state == "open");
        let Some(job) = job else {
            self.let_go(&part, Duration::ZERO).await?;
            return Ok(None);
        };
        match self.read(&part, &job).await {
            Done::Ended(outcome) => return Ok(Some(EndedPart { part, outcome })),
            Done::NoQuota(outcome) => {
                match outcome {
                    Some(outcome) => self.write_ends(&[EndedPart { part, outcome }]).await?,
                    None => self.let_go(&part, Duration::ZERO).await?,
                }
                // After it, since a part that was read ends a wait.
                store.delay_job(&job.id, QUOTA_POLLED_EVERY, Some(NO_QUOTA)).await?;
            }
            Done::Paced(pause) => {
                store.delay_job(&job.id, pause, None).await?;
                self.let_go(&part, Duration::ZERO).await?;
            }
            Done::Later => self.let_go(&part, PAUSE).await?,
            Done::Failed(reason) => {
                store.end_job(&job.id, "failed", Some(reason)).await?;
                self.let_go(&part, Duration::ZERO).await?;
            }
        }
        Ok(None)
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
        let read = rows
            .iter()
            .filter(|row| row.error.is_none())
            .map(|row| ReadRow { part: part.number, ..read_row(row) })
            .collect();
        for (at, row) in open.into_iter().zip(&rows) {
            if let Some(slot) = answers.get_mut(at) {
                *slot = tally.take(row, is_last_try);
            }
        }
        let Ok(packed) = pack_answers(&answers) else { return Done::Failed(NO_ANSWER) };
        let shift = u32::try_from(part.tries).unwrap_or(u32::MAX);
        let outcome = PartOutcome {
            answers: packed,
            times: pack_known(&answers),
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

fn key(part: &HeldPart) -> (String, i64) {
    (part.job_id.clone(), part.number)
}

fn tell_lost(error: &StoreError) {
    tracing::warn!(%error, "a part of a job could not be written down");
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
        (Some(answers), Some(times)) => unpack_answers(answers, times).ok()?,
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
                RowAnswer::Read { json, time: seconds(row), said: Some(Said::of(row)) }
            }
            Some(error) if error == ApiError::QuotaExceeded.code() => {
                self.refused = self.refused.saturating_add(1);
                RowAnswer::Unread
            }
            Some(error) if !is_last_try && may_pass(error) => RowAnswer::Unread,
            Some(_) => {
                self.failed = self.failed.saturating_add(1);
                RowAnswer::Failed { json, said: Some(Said::of(row)) }
            }
        }
    }
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
