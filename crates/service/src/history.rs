//! Readings and refusals per owner: buffered in memory for a second and written in batches, so that no caller waits for it. A crash may
//! lose that second; the ledger, which is the record for billing, loses nothing.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use engine::Classification;
use engine::classification::AssetLeg;

use crate::store::{HistoryRow, Payer, ReadRow, RefusalCount, Store, StoreError};

/// Readings buffered while the database is down; past it new ones are dropped.
const READINGS_MAX: usize = 20_000;
/// Buffered pairs of owner and reason; past it new ones are not counted.
const REFUSALS_MAX: usize = 10_000;
/// Rows per database transaction, which bounds how long the ledger's writer waits for the lock.
const WRITE_ROWS_MAX: usize = 150;
/// A database that hangs must not hold up shutdown.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);
const NOTE_BYTES_MAX: usize = 2_000;
/// A reading equal to the last one within about this time is not written again: only its time would change.
const SAME_FOR: Duration = Duration::from_secs(60);
/// Digests of readings kept for that comparison, in each of two generations.
const RECENT_VERDICTS_MAX: usize = 100_000;
const DAY_MILLIS: i64 = 86_400_000;
/// What a row of a book tells of amounts: legs of each side, and bytes of an amount and of a symbol.
const LEGS_TOLD_MAX: usize = 2;
const AMOUNT_BYTES_MAX: usize = 24;
const SYMBOL_BYTES_MAX: usize = 16;

#[derive(Debug)]
pub(crate) struct History {
    store: Store,
    kept: Mutex<HistoryBuffer>,
    /// One writer at a time, so that the last write at shutdown finds no other in progress.
    writing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct HistoryBuffer {
    readings: HashSet<LatestReading>,
    /// By owner, day since 1970 and code.
    refusals: BTreeMap<(String, i64, &'static str), i64>,
    recent: RecentVerdicts,
}

/// The last verdict per key, as keyed digests: one generation for the current span of time, one for the span before.
#[derive(Debug)]
struct RecentVerdicts {
    secret: RandomState,
    since: Instant,
    now: HashMap<u64, u64>,
    before: HashMap<u64, u64>,
}

impl Default for RecentVerdicts {
    fn default() -> Self {
        Self { secret: RandomState::new(), since: Instant::now(), now: HashMap::new(), before: HashMap::new() }
    }
}

impl RecentVerdicts {
    /// Whether the verdict differs from the last one under its key, or there was none recently.
    fn is_new(&mut self, key: impl Hash, verdict: impl Hash, now: Instant) -> bool {
        if now.duration_since(self.since) >= SAME_FOR || self.now.len() >= RECENT_VERDICTS_MAX {
            self.before = std::mem::take(&mut self.now);
            self.since = now;
        }
        let (key, verdict) = (self.secret.hash_one(key), self.secret.hash_one(verdict));
        let is_new = self.now.get(&key).or_else(|| self.before.get(&key)) != Some(&verdict);
        if is_new {
            self.now.insert(key, verdict);
        }
        is_new
    }
}

/// Equal by owner, hash and wallet, so that repeated readings of a transaction are one row.
#[derive(Debug)]
struct LatestReading(HistoryRow);

impl LatestReading {
    fn key(&self) -> (&str, &str, &str) {
        (&self.0.owner_id, &self.0.hash, &self.0.wallet)
    }
}

impl PartialEq for LatestReading {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for LatestReading {}

impl Hash for LatestReading {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl HistoryBuffer {
    fn keep(&mut self, readings: impl IntoIterator<Item = HistoryRow>) {
        for reading in readings.into_iter().map(LatestReading) {
            if self.readings.len() < READINGS_MAX || self.readings.contains(&reading) {
                self.readings.replace(reading);
            }
        }
    }

    fn refuse(&mut self, owner_id: &str, day: i64, code: &'static str, count: i64) {
        let key = (owner_id.to_owned(), day, code);
        if self.refusals.len() < REFUSALS_MAX || self.refusals.contains_key(&key) {
            let known = self.refusals.entry(key).or_default();
            *known = known.saturating_add(count);
        }
    }
}

impl History {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, kept: Mutex::default(), writing: tokio::sync::Mutex::default() }
    }

    /// Buffers the readings of one call. Nothing is recorded for anonymous callers. What a job asks for goes into the job's own book.
    pub(crate) fn note<'a>(&self, payer: &Payer, rows: impl Iterator<Item = &'a Classification>, is_job: bool) {
        if payer.is_anonymous() {
            return;
        }
        let (at, now) = (jiff::Timestamp::now().as_millisecond(), Instant::now());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        for row in rows {
            let key = (&payer.id, &row.hash, row.perspective);
            let verdict = (row.category.name(), row.treatment.name(), row.taxable, row.confidence, row.needs_review);
            let verdict = (verdict, &row.chain, &row.protocol, &row.review_note);
            // Where the buffer is full, the digest is not stored either.
            if kept.readings.len() >= READINGS_MAX || kept.recent.is_new(key, verdict, now) {
                kept.keep([reading(&payer.id, row, at, is_job)]);
            }
        }
    }

    /// Readings that are not written yet.
    pub(crate) fn waiting(&self) -> usize {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).readings.len()
    }

    pub(crate) fn refused(&self, payer: &Payer, code: &'static str, count: usize) {
        if payer.is_anonymous() || count == 0 {
            return;
        }
        let day = jiff::Timestamp::now().as_millisecond().div_euclid(DAY_MILLIS);
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).refuse(&payer.id, day, code, count);
    }

    /// Writes the buffer. What could not be written is kept for the next attempt.
    pub(crate) async fn write(&self) -> Result<(), StoreError> {
        let _turn = self.writing.lock().await;
        let (readings, refusals) = {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            (std::mem::take(&mut kept.readings), std::mem::take(&mut kept.refusals))
        };
        let mut readings: Vec<HistoryRow> = readings.into_iter().map(|latest| latest.0).collect();
        let mut refusals: Vec<RefusalCount> = refusals
            .into_iter()
            .map(|((owner_id, day, code), count)| RefusalCount { owner_id, day, code, count })
            .collect();
        while !readings.is_empty() || !refusals.is_empty() {
            let rest = readings.split_off(readings.len().min(WRITE_ROWS_MAX));
            let writing = self.store.write_history(&readings, &refusals);
            let done = tokio::time::timeout(WRITE_PATIENCE, writing)
                .await
                .unwrap_or_else(|_| Err(StoreError::Unusable("the database did not answer in time".to_owned())));
            if done.is_err() {
                readings.extend(rest);
                self.keep_again(readings, refusals);
                return done;
            }
            readings = rest;
            refusals.clear();
        }
        Ok(())
    }

    /// Readings that arrived in the meantime are newer and win.
    fn keep_again(&self, readings: Vec<HistoryRow>, refusals: Vec<RefusalCount>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let newer = std::mem::take(&mut kept.readings);
        kept.keep(readings);
        kept.keep(newer.into_iter().map(|latest| latest.0));
        for refusal in refusals {
            kept.refuse(&refusal.owner_id, refusal.day, refusal.code, refusal.count);
        }
    }
}

fn reading(owner_id: &str, row: &Classification, at: i64, is_job: bool) -> HistoryRow {
    HistoryRow {
        owner_id: owner_id.to_owned(),
        hash: row.hash.clone().unwrap_or_default(),
        wallet: row.perspective.map(|wallet| wallet.to_string()).unwrap_or_default(),
        chain: row.chain.clone().unwrap_or_default(),
        category: row.category.name(),
        treatment: row.treatment.name(),
        taxable: row.taxable,
        confidence: i64::from(row.confidence),
        needs_review: row.needs_review,
        protocol: row.protocol.clone(),
        note: row.review_note.as_deref().map(cut),
        time: seconds(row),
        at,
        rules: row.engine.clone(),
        for_review: (row.needs_review && !is_job).then(|| Box::new(read_row(row))),
    }
}

/// When the transaction was, in seconds since 1970; 0 where that is not known.
pub(crate) fn seconds(row: &Classification) -> i64 {
    let time = row.block.as_ref().and_then(|block| block.timestamp.parse::<jiff::Timestamp>().ok());
    time.map_or(0, jiff::Timestamp::as_second)
}

/// A reading as its book keeps it.
pub(crate) fn read_row(row: &Classification) -> ReadRow {
    ReadRow {
        hash: row.hash.clone().unwrap_or_default(),
        wallet: row.perspective.map(|wallet| wallet.to_string()).unwrap_or_default(),
        chain: row.chain.clone().unwrap_or_default(),
        time: seconds(row),
        category: row.category.name(),
        treatment: row.treatment.name(),
        taxable: row.taxable,
        confidence: i64::from(row.confidence),
        needs_review: row.needs_review,
        protocol: row.protocol.as_deref().map(cut).unwrap_or_default(),
        note: row.review_note.as_deref().map(cut).unwrap_or_default(),
        amounts: amounts(row),
        contract: row.called.as_ref().map(|called| called.contract.to_string()).unwrap_or_default(),
        function: row.called.as_ref().map(|called| called.function.clone()).unwrap_or_default(),
        engine: row.engine.clone(),
        part: 0,
    }
}

/// What was sent and what came for it, as `1 ETH → 3,000 USDC`. Symbols are strangers' text.
fn amounts(row: &Classification) -> String {
    let leg = |leg: &AssetLeg| {
        let symbol = leg.shown_symbol();
        let end = symbol.floor_char_boundary(SYMBOL_BYTES_MAX);
        let cut = if end < symbol.len() { "…" } else { "" };
        let amount = leg.amount.get(..leg.amount.floor_char_boundary(AMOUNT_BYTES_MAX)).unwrap_or_default();
        let shortened = if amount.len() < leg.amount.len() { "…" } else { "" };
        format!("{amount}{shortened} {}{cut}", symbol.get(..end).unwrap_or_default().replace('\0', "\u{fffd}"))
    };
    let side = |legs: &[AssetLeg]| {
        let mut told: Vec<String> = legs.iter().take(LEGS_TOLD_MAX).map(leg).collect();
        let more = legs.len().saturating_sub(LEGS_TOLD_MAX);
        if more > 0 {
            told.push(format!("{more} more"));
        }
        told.join(" + ")
    };
    match (row.assets.sent.as_slice(), row.assets.received.as_slice()) {
        ([], []) => String::new(),
        (sent, received) => format!("{} → {}", side(sent), side(received)).trim().to_owned(),
    }
}

/// The note, cut to its limit. Notes quote token text, which strangers write, and PostgreSQL rejects NUL.
fn cut(note: &str) -> String {
    let end = note.floor_char_boundary(NOTE_BYTES_MAX);
    note.get(..end).unwrap_or_default().replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Clock, Database, Recent, Resets};

    fn sample(number: usize) -> HistoryRow {
        HistoryRow {
            owner_id: "a".to_owned(),
            hash: format!("h{number}"),
            wallet: String::new(),
            chain: "demo".to_owned(),
            category: "swap",
            treatment: "disposal",
            taxable: Some(true),
            confidence: 90,
            needs_review: false,
            protocol: None,
            note: None,
            time: 1,
            at: 1,
            rules: String::new(),
            for_review: None,
        }
    }

    #[test]
    fn a_note_is_cut_between_characters() {
        assert_eq!(cut("short\0"), "short\u{fffd}");
        let long = format!("x{}", "é".repeat(2_000));
        assert_eq!(cut(&long).len(), 1_999);
    }

    #[test]
    fn only_what_came_out_as_the_last_time_is_left_out() {
        let (mut recent, start) = (RecentVerdicts::default(), Instant::now());
        let mut is_new = |key: &str, verdict: &str, spans: u32| recent.is_new(key, verdict, start + SAME_FOR * spans);
        assert!(is_new("a", "swap", 0));
        assert!(!is_new("a", "swap", 0), "the same again");
        assert!(is_new("b", "swap", 0), "another transaction");
        assert!(is_new("a", "transfer", 0), "another policy");
        assert!(is_new("a", "swap", 0), "and back: the last one counts, not any before it");
        assert!(!is_new("a", "swap", 2), "the span before is remembered");
        assert!(is_new("a", "swap", 4), "and then forgotten");
    }

    #[test]
    fn what_is_kept_is_bounded_and_once_per_transaction() {
        let mut kept = HistoryBuffer::default();
        kept.keep([sample(1), HistoryRow { confidence: 70, ..sample(1) }]);
        assert_eq!(
            kept.readings.iter().map(|latest| latest.0.confidence).collect::<Vec<_>>(),
            [70],
            "the latest counts"
        );
        kept.keep((0..READINGS_MAX + 2).map(sample));
        assert_eq!(kept.readings.len(), READINGS_MAX);
        for owner in 0..=REFUSALS_MAX {
            kept.refuse(&owner.to_string(), 1, "rate_limited", 1);
        }
        kept.refuse("0", 1, "rate_limited", 1);
        assert_eq!(kept.refusals.len(), REFUSALS_MAX);
        assert_eq!(kept.refusals[&("0".to_owned(), 1, "rate_limited")], 2);
    }

    #[tokio::test]
    async fn what_could_not_be_written_is_written_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("taxon.db");
        let store = Store::open(&Database::Sqlite(path.clone()), Clock::System).await.unwrap();
        assert!(store.create_account("a", "a@example.com", "hash").await.unwrap());
        let history = History::new(store.clone());
        let payer = |id: &str| Payer { id: id.to_owned(), resets: Resets::Monthly, limit: None };
        history.refused(&payer("anon:192.0.2.7"), "rate_limited", 1);
        assert!(history.kept.lock().unwrap().refusals.is_empty(), "strangers leave nothing");
        let file = rusqlite::Connection::open(&path).unwrap();
        file.execute_batch("ALTER TABLE readings RENAME TO elsewhere").unwrap();
        history.kept.lock().unwrap().keep((0..2_500).map(sample));
        history.refused(&payer("a"), "rate_limited", 3);
        assert!(history.write().await.is_err());
        history.kept.lock().unwrap().keep([sample(2_500)]);
        history.refused(&payer("a"), "rate_limited", 1);
        file.execute_batch("ALTER TABLE elsewhere RENAME TO readings").unwrap();
        history.write().await.unwrap();
        let rows = store.readings("a", &Recent::default(), 5_000).await.unwrap();
        assert_eq!((rows.len(), store.usage("a", 1).await.unwrap()[0].refused), (2_501, 4));
        history.write().await.unwrap();
        assert_eq!(store.usage("a", 1).await.unwrap()[0].refused, 4, "and once");
    }
}
