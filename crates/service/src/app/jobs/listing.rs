//! Looks up what the wallets of a job did, and writes it as the job's parts. Whoever holds the job lists all of it anew; the job opens in one write at the end.

use std::sync::Arc;
use std::time::Duration;

use books::asked::ROWS_MAX;
use chains::{History, Period};
use engine::{Account, TxHash};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::packed::{AskedRow, pack_asked};
use super::{JobOptions, NO_KEY};
use crate::app::wallets::{Found, SearchError, Searches, Tally};
use crate::app::{App, BATCH_ITEMS_MAX};
use crate::store::{HeldListing, NewPart, StoreError};

/// Jobs that one instance looks up at the same time.
const LISTERS: usize = 4;
/// How long a job is held without a sign of life of its holder.
const HELD: Duration = Duration::from_secs(20);
const RENEWED_EVERY: Duration = Duration::from_secs(2);
/// How often an idle lister looks for a job that another instance took in.
const POLLED_EVERY: Duration = Duration::from_secs(1);
/// A source is asked so often before its failure stands, with growing pauses between.
const TRIES_MAX: i64 = 6;
const PAUSE: Duration = Duration::from_secs(5);
const PAUSE_MAX: Duration = Duration::from_secs(300);
/// Hashes that are taken from a source before they are written.
const TAKEN_MAX: usize = 32 * BATCH_ITEMS_MAX;

const NO_LOOKUP: &str = "what the job looks up cannot be read back";

/// Looks up until `stop`. What is not whole then is left to another instance.
pub(super) async fn look_up(app: &Arc<App>, stop: &CancellationToken) {
    let listers = (0..LISTERS).map(|_| Lister::new(app).run(stop));
    futures_util::future::join_all(listers).await;
}

struct Lister {
    app: Arc<App>,
    id: String,
}

/// What looking up came to.
enum Listed {
    Whole(Box<Found>),
    /// Another has the job, or it has ended.
    Lost,
    /// It is tried again later.
    Later(String),
    Failed(String),
}

/// Why looking up stops.
enum Stop {
    Lost,
    Source(SearchError),
    TooMany,
    Unwritable,
    Store(StoreError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Lister {
    fn new(app: &Arc<App>) -> Self {
        Self { app: Arc::clone(app), id: format!("{:032x}", rand::random::<u128>()) }
    }

    async fn run(self, stop: &CancellationToken) {
        while !stop.is_cancelled() {
            // A store that is out of reach is told by those who work on parts.
            match self.app.store.hold_listing(&self.id, HELD).await.ok().flatten() {
                Some(held) => {
                    if let Err(error) = self.serve(&held, stop).await {
                        tracing::warn!(%error, "what was looked up for a job could not be written down");
                    }
                }
                None => tokio::select! {
                    () = self.app.jobs.bell.notified() => {}
                    () = tokio::time::sleep(POLLED_EVERY) => {}
                    () = stop.cancelled() => {}
                },
            }
        }
    }

    async fn serve(&self, held: &HeldListing, stop: &CancellationToken) -> Result<(), StoreError> {
        let store = &self.app.store;
        let listed = tokio::select! {
            listed = self.list(held) => listed?,
            () = stop.cancelled() => return store.release_listing(&held.id, &self.id).await,
        };
        match listed {
            Listed::Whole(found) => {
                let count = i64::try_from(found.count).unwrap_or(i64::MAX);
                let told = serde_json::to_string(&found).unwrap_or_default();
                if store.end_listing(&held.id, &self.id, &told, count).await? {
                    self.app.jobs.bell.notify_waiters();
                }
            }
            Listed::Lost => {}
            Listed::Later(reason) if held.tries.saturating_add(1) < TRIES_MAX => {
                let shift = u32::try_from(held.tries).unwrap_or(u32::MAX);
                let pause = PAUSE.saturating_mul(1_u32.checked_shl(shift).unwrap_or(u32::MAX)).min(PAUSE_MAX);
                store.retry_listing(&held.id, &self.id, pause, &format!("{reason}; it is tried again")).await?;
            }
            Listed::Later(reason) | Listed::Failed(reason) => {
                store.fail_listing(&held.id, &self.id, &reason).await?;
            }
        }
        Ok(())
    }

    async fn list(&self, held: &HeldListing) -> Result<Listed, StoreError> {
        let Some(job) = self.app.store.job(&held.owner_id, &held.id).await? else { return Ok(Listed::Lost) };
        match self.app.job_caller(&job).await {
            Ok(Some(_)) => {}
            Ok(None) => return Ok(Listed::Failed(NO_KEY.to_owned())),
            Err(error) => return Ok(Listed::Later(error.to_string())),
        }
        let options: JobOptions = serde_json::from_str(&job.options).unwrap_or_default();
        let Some(lookup) = options.lookup else { return Ok(Listed::Failed(NO_LOOKUP.to_owned())) };
        let (Searches { pairs, unlisted }, period) = match lookup.searches(&self.app.reader) {
            Ok(searches) => searches,
            Err(error) => return Ok(Listed::Failed(error.to_string())),
        };
        if !self.app.store.clear_listing(&held.id, &self.id).await? {
            return Ok(Listed::Lost);
        }
        let mut writer = Writer { lister: self, job_id: &held.id, rows: Vec::new(), next: 0, found: 0 };
        let mut tally = Tally::default();
        for (wallet, chain) in pairs {
            match writer.take_history(wallet, &chain, period).await {
                Ok(history) => tally.add(&history, wallet, &chain),
                Err(stop) => return stopped(stop),
            }
        }
        if let Err(stop) = writer.write(1).await {
            return stopped(stop);
        }
        let found = Found { count: writer.found, from: lookup.from, to: lookup.to, ..tally.found(unlisted) };
        Ok(Listed::Whole(Box::new(found)))
    }
}

fn stopped(stop: Stop) -> Result<Listed, StoreError> {
    match stop {
        Stop::Lost => Ok(Listed::Lost),
        Stop::Source(error) if error.may_pass() => Ok(Listed::Later(error.to_string())),
        Stop::Source(error) => Ok(Listed::Failed(error.to_string())),
        Stop::TooMany => Ok(Listed::Failed(format!("more than {ROWS_MAX} transactions; take a shorter period"))),
        Stop::Unwritable => Ok(Listed::Failed(NO_LOOKUP.to_owned())),
        Stop::Store(error) => Err(error),
    }
}

/// Writes what is found as it comes in, and keeps the job.
struct Writer<'a> {
    lister: &'a Lister,
    job_id: &'a str,
    /// Found and not written yet.
    rows: Vec<AskedRow>,
    /// The number of the next part.
    next: i64,
    found: usize,
}

impl Writer<'_> {
    /// While something is written the source is not asked on, so that no more waits here than one page of it holds.
    async fn take_history(&mut self, wallet: Account, chain: &str, period: Period) -> Result<History, Stop> {
        let lister = self.lister;
        let (send, mut hashes) = mpsc::unbounded_channel();
        let mut take = move |hash: TxHash| {
            let _ = send.send(hash);
        };
        let history = lister.app.reader.upstreams.history(chain, wallet, period, &mut take);
        let mut history = std::pin::pin!(history);
        let mut renew = tokio::time::interval(RENEWED_EVERY);
        renew.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut taken = Vec::with_capacity(TAKEN_MAX);
        let done = loop {
            tokio::select! {
                biased;
                done = &mut history => break done,
                _ = renew.tick() => self.renew().await?,
                _ = hashes.recv_many(&mut taken, TAKEN_MAX) => self.push(&mut taken, wallet, chain).await?,
            }
        };
        let done = done.map_err(|error| Stop::Source(SearchError::of(error, wallet, chain)))?;
        while let Ok(hash) = hashes.try_recv() {
            taken.push(hash);
            if taken.len() >= TAKEN_MAX {
                self.push(&mut taken, wallet, chain).await?;
            }
        }
        self.push(&mut taken, wallet, chain).await?;
        Ok(done)
    }

    /// Each from the wallet's own perspective.
    async fn push(&mut self, taken: &mut Vec<TxHash>, wallet: Account, chain: &str) -> Result<(), Stop> {
        self.found = self.found.saturating_add(taken.len());
        if self.found > ROWS_MAX {
            return Err(Stop::TooMany);
        }
        let row = |hash: TxHash| AskedRow {
            hash: hash.to_string(),
            chain: Some(chain.to_owned()),
            wallet: Some(wallet.to_string()),
        };
        self.rows.extend(taken.drain(..).map(row));
        self.write(BATCH_ITEMS_MAX).await
    }

    /// Writes parts of at least so many rows; what is left over waits for more.
    async fn write(&mut self, least: usize) -> Result<(), Stop> {
        let whole = |rows: &&[AskedRow]| rows.len() >= least;
        let mut parts = Vec::new();
        for rows in self.rows.chunks(BATCH_ITEMS_MAX).filter(whole) {
            let row_count = i64::try_from(rows.len()).unwrap_or_default();
            parts.push(NewPart { row_count, asked: pack_asked(rows).map_err(|_| Stop::Unwritable)? });
        }
        if parts.is_empty() {
            return Ok(());
        }
        let store = &self.lister.app.store;
        if !store.add_listed(self.job_id, &self.lister.id, self.next, &parts, self.count()).await? {
            return Err(Stop::Lost);
        }
        self.next = self.next.saturating_add(i64::try_from(parts.len()).unwrap_or(i64::MAX));
        let written = parts.len().saturating_mul(BATCH_ITEMS_MAX).min(self.rows.len());
        self.rows.drain(..written);
        Ok(())
    }

    /// Goes on while the store is out of reach for a moment: what is written is refused if another has the job.
    async fn renew(&self) -> Result<(), Stop> {
        let store = &self.lister.app.store;
        match store.renew_listing(self.job_id, &self.lister.id, HELD, self.count()).await {
            Ok(false) => Err(Stop::Lost),
            Ok(true) | Err(_) => Ok(()),
        }
    }

    fn count(&self) -> i64 {
        i64::try_from(self.found).unwrap_or(i64::MAX)
    }
}
