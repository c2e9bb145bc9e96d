//! Readings per owner, and an owner's counts per day.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sqlx::QueryBuilder;

use super::book::{BookSettings, make_first_book, new_book_id};
use super::book_rows::{ReadRow, latest as queued_rows, write_rows};
use super::decisions::{follow_rules, lock_book};
use super::webhooks::announce;
use super::{EventKind, PURGE_ROWS_MAX, Payer, Resets, Store, StoreError, from_row, on};

/// Rows per statement. SQLite accepts 32,766 parameters, of which a row needs 13.
const ROWS_MAX: usize = 500;
const DAY_MILLIS: i64 = 86_400_000;
const DAYS_MAX: u32 = 366;

/// How one transaction was read for one owner and wallet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRow {
    pub owner_id: String,
    pub hash: String,
    pub wallet: String,
    pub chain: String,
    pub category: &'static str,
    pub treatment: &'static str,
    pub taxable: Option<bool>,
    pub confidence: i64,
    pub needs_review: bool,
    pub protocol: Option<String>,
    pub note: Option<String>,
    /// When the transaction was, in seconds since 1970; 0 where it is not known.
    pub time: i64,
    /// When it was read, in milliseconds since 1970.
    pub at: i64,
    /// Version of the engine and digest of the rules.
    pub rules: String,
    /// The same for the owner's first book, where a person must look and no job asked for it: a job has a book of its own.
    pub for_review: Option<Box<ReadRow>>,
}

impl HistoryRow {
    fn key(&self) -> (&str, &str, &str) {
        (&self.owner_id, &self.hash, &self.wallet)
    }

    fn verdict(&self) -> Verdict<'_> {
        let Self { category, treatment, taxable, needs_review, rules, .. } = self;
        Verdict { category, treatment, taxable: *taxable, needs_review: *needs_review, rules }
    }
}

/// What an owner books by.
#[derive(Debug, PartialEq, Eq)]
struct Verdict<'a> {
    category: &'a str,
    treatment: &'a str,
    taxable: Option<bool>,
    needs_review: bool,
    rules: &'a str,
}

impl Verdict<'_> {
    fn told(&self) -> Value {
        json!({
            "category": self.category,
            "treatment": self.treatment,
            "taxable": self.taxable,
            "needs_review": self.needs_review,
            "engine": self.rules,
        })
    }
}

/// A reading that is about to be replaced.
struct EarlierReading {
    owner_id: String,
    hash: String,
    wallet: String,
    category: String,
    treatment: String,
    taxable: Option<bool>,
    needs_review: bool,
    rules: String,
    at: i64,
}

from_row!(EarlierReading: owner_id, hash, wallet, category, treatment, taxable, needs_review, rules, at);

impl EarlierReading {
    fn key(&self) -> (&str, &str, &str) {
        (&self.owner_id, &self.hash, &self.wallet)
    }

    fn verdict(&self) -> Verdict<'_> {
        let Self { category, treatment, taxable, needs_review, rules, .. } = self;
        Verdict { category, treatment, taxable: *taxable, needs_review: *needs_review, rules }
    }

    /// What the owner is told where new rules say otherwise. Under the same rules it was asked otherwise, with another policy; of readings from before rules
    /// were written down nobody knows.
    fn moved_to(&self, next: &HistoryRow) -> Option<Value> {
        let (before, after) = (self.verdict(), next.verdict());
        let is_newer = next.at >= self.at && !before.rules.is_empty() && before.rules != after.rules;
        let says_otherwise = before != Verdict { rules: before.rules, ..next.verdict() };
        (is_newer && says_otherwise).then(|| {
            json!({
                "chain": next.chain,
                "hash": next.hash,
                "wallet": Some(&next.wallet).filter(|wallet| !wallet.is_empty()),
                "before": before.told(),
                "after": after.told(),
            })
        })
    }
}

/// How often an owner was refused on one day, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalCount {
    pub owner_id: String,
    /// Days since 1970.
    pub day: i64,
    pub code: &'static str,
    pub count: i64,
}

/// A reading, with the person's review where there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadingRow {
    pub hash: String,
    pub wallet: String,
    pub chain: String,
    pub category: String,
    pub treatment: String,
    pub taxable: Option<bool>,
    pub confidence: i64,
    pub needs_review: bool,
    pub protocol: Option<String>,
    pub note: Option<String>,
    /// When the transaction was, in seconds since 1970; 0 where it is not known.
    pub time: i64,
    /// When it was read, in milliseconds since 1970.
    pub at: i64,
}

from_row!(ReadingRow: hash, wallet, chain, category, treatment, taxable, confidence, needs_review, protocol, note, time, at);

impl ReadingRow {
    /// Where the next page starts.
    pub fn cursor(&self) -> (i64, String, String) {
        (self.time, self.hash.clone(), self.wallet.clone())
    }
}

/// Which readings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recent {
    /// The start of a hash, a category, a chain or a protocol.
    pub text: Option<String>,
    /// The last row of the page before.
    pub before: Option<(i64, String, String)>,
}

/// One UTC day of an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Day {
    /// As in 2026-11-15.
    pub date: String,
    pub billable: i64,
    pub free: i64,
    pub refused: i64,
}

/// Tells owners whose endpoints want it which of these readings say otherwise than the ones that they are about to replace.
macro_rules! announce_moves {
    ($store:ident, $transaction:ident, $rows:ident, $now:ident) => {{
        let mut ask = QueryBuilder::new(
            "SELECT DISTINCT owner_id FROM webhook_endpoints WHERE disabled_at IS NULL AND ' ' || events || ' ' LIKE ",
        );
        ask.push_bind(format!("% {} %", EventKind::VerdictMoved.name())).push(" AND owner_id IN (");
        let owners: BTreeSet<&str> = $rows.iter().map(|row| row.owner_id.as_str()).collect();
        let mut ids = ask.separated(", ");
        for owner in owners {
            ids.push_bind(owner);
        }
        ask.push(")");
        let wanting: Vec<(String,)> = ask.build_query_as().persistent(false).fetch_all(&mut *$transaction).await?;
        let wanting: BTreeSet<&str> = wanting.iter().map(|(id,)| id.as_str()).collect();
        let replaced = $rows.iter().filter(|row| wanting.contains(row.owner_id.as_str()));
        let replaced: BTreeMap<_, &HistoryRow> = replaced.map(|row| (row.key(), *row)).collect();
        if !replaced.is_empty() {
            let mut ask = QueryBuilder::new(
                "SELECT owner_id, hash, wallet, category, treatment, taxable, needs_review, rules, at FROM readings
                 WHERE (owner_id, hash, wallet) IN (",
            );
            ask.push_values(replaced.keys(), |mut row, (owner_id, hash, wallet)| {
                row.push_bind(*owner_id).push_bind(*hash).push_bind(*wallet);
            });
            // In the order in which they are written, so that two instances that write at once do not deadlock.
            ask.push(") ORDER BY owner_id, hash, wallet").push($store.locking());
            let earlier = ask.build_query_as().persistent(false).fetch_all(&mut *$transaction).await?;
            let earlier: Vec<EarlierReading> = earlier;
            for earlier in earlier {
                let Some(next) = replaced.get(&earlier.key()) else { continue };
                if let Some(data) = earlier.moved_to(next) {
                    let subject = format!("{} {}", next.hash, next.wallet);
                    announce!($store, $transaction, &next.owner_id, EventKind::VerdictMoved, &subject, &data, $now);
                }
            }
        }
    }};
}

macro_rules! reading_rows {
    ($($which:literal),+) => {
        concat!(
            "SELECT readings.hash, readings.wallet, readings.chain, readings.category, readings.treatment, readings.taxable,
                    readings.confidence, readings.needs_review, readings.protocol, readings.note, readings.time, readings.at
             FROM readings WHERE readings.owner_id = $1 ",
            $($which),+
        )
    };
}

/// Puts rows into the owner's first book, which is made if there is none, and decides them by its rules. What a job of that book has read stays.
macro_rules! write_to_first_book {
    ($store:ident, $transaction:ident, $owner:expr, $rows:expr, $now:expr) => {{
        let first = BookSettings::first();
        make_first_book!($transaction, $owner, new_book_id(), first, $now);
        let book_id: String = sqlx::query_scalar("SELECT id FROM books WHERE owner_id = $1 AND is_first = TRUE")
            .bind($owner)
            .fetch_one(&mut *$transaction)
            .await?;
        if let Some(needs_second) = lock_book!($store, $transaction, &book_id) {
            write_rows!($transaction, &book_id, $rows, "", $now, " WHERE book_rows.job_id = ''");
            follow_rules!($store, $transaction, &book_id, $rows, needs_second, $now);
        }
    }};
}

impl Store {
    /// Writes all of it or nothing. Of several readings of one hash and wallet the last is kept; rows of an owner who has left are dropped.
    pub async fn write_history(&self, readings: &[HistoryRow], refusals: &[RefusalCount]) -> Result<(), StoreError> {
        let latest: BTreeMap<_, &HistoryRow> = readings.iter().map(|reading| (reading.key(), reading)).collect();
        let owners = readings.iter().map(|row| &row.owner_id).chain(refusals.iter().map(|row| &row.owner_id));
        let owners: BTreeSet<&str> = owners.map(String::as_str).collect();
        if owners.is_empty() {
            return Ok(());
        }
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            let mut ask = QueryBuilder::new("SELECT id FROM owners WHERE email LIKE '%@%' AND id IN (");
            let mut ids = ask.separated(", ");
            for owner in &owners {
                ids.push_bind(*owner);
            }
            ask.push(")").push(store.holding());
            let existing: Vec<(String,)> =
                ask.build_query_as().persistent(false).fetch_all(&mut *transaction).await?;
            let existing: BTreeSet<&str> = existing.iter().map(|(id,)| id.as_str()).collect();
            let rows: Vec<&HistoryRow> =
                latest.into_values().filter(|reading| existing.contains(reading.owner_id.as_str())).collect();
            for rows in rows.chunks(ROWS_MAX) {
                announce_moves!(store, transaction, rows, now);
                let mut insert = QueryBuilder::new(
                    "INSERT INTO readings (owner_id, hash, wallet, chain, category, treatment, taxable, confidence,
                                           needs_review, protocol, note, time, at, rules) ",
                );
                insert.push_values(rows, |mut row, reading| {
                    row.push_bind(&reading.owner_id)
                        .push_bind(&reading.hash)
                        .push_bind(&reading.wallet)
                        .push_bind(&reading.chain)
                        .push_bind(reading.category)
                        .push_bind(reading.treatment)
                        .push_bind(reading.taxable)
                        .push_bind(reading.confidence)
                        .push_bind(reading.needs_review)
                        .push_bind(&reading.protocol)
                        .push_bind(&reading.note)
                        .push_bind(reading.time)
                        .push_bind(reading.at)
                        .push_bind(&reading.rules);
                });
                insert.push(
                    " ON CONFLICT (owner_id, hash, wallet) DO UPDATE SET chain = excluded.chain,
                      category = excluded.category, treatment = excluded.treatment, taxable = excluded.taxable,
                      confidence = excluded.confidence, needs_review = excluded.needs_review, protocol = excluded.protocol,
                      note = excluded.note, time = excluded.time, at = excluded.at, rules = excluded.rules WHERE excluded.at >= readings.at",
                );
                insert.build().persistent(false).execute(&mut *transaction).await?;
            }
            for owner in &existing {
                let queued = readings.iter().filter(|reading| reading.owner_id == **owner);
                let queued = queued_rows(queued.filter_map(|reading| reading.for_review.as_deref()));
                if !queued.is_empty() {
                    write_to_first_book!(store, transaction, owner, queued, now);
                }
            }
            for refusal in refusals.iter().filter(|refusal| existing.contains(refusal.owner_id.as_str())) {
                sqlx::query(
                    "INSERT INTO refusals (owner_id, day, code, count) VALUES ($1, $2, $3, $4)
                     ON CONFLICT (owner_id, day, code) DO UPDATE SET count = refusals.count + excluded.count",
                )
                .bind(&refusal.owner_id)
                .bind(refusal.day)
                .bind(refusal.code)
                .bind(refusal.count)
                .execute(&mut *transaction)
                .await?;
            }
            transaction.commit().await?;
            Ok(())
        })
    }

    /// Deletes an owner's readings and refusals from before the given time, except the current month's, and the rows of the owner's books that nobody has
    /// decided; tells how many readings went.
    pub async fn purge_history(&self, owner_id: &str, before: i64) -> Result<u64, StoreError> {
        let before = before.min(month_start(self.now().await?));
        let mut purged = 0u64;
        on!(self, store => {
            sqlx::query("DELETE FROM refusals WHERE owner_id = $1 AND day < $2")
                .bind(owner_id)
                .bind(before.div_euclid(DAY_MILLIS))
                .execute(store.pool())
                .await?;
            loop {
                let gone = sqlx::query(
                    "DELETE FROM readings WHERE (owner_id, hash, wallet) IN (
                         SELECT owner_id, hash, wallet FROM readings WHERE owner_id = $1 AND at < $2 ORDER BY at LIMIT $3)",
                )
                .bind(owner_id)
                .bind(before)
                .bind(PURGE_ROWS_MAX)
                .execute(store.pool())
                .await?;
                let rows = sqlx::query(
                    "DELETE FROM book_rows WHERE (book_id, hash, wallet) IN (
                         SELECT book_id, hash, wallet FROM book_rows WHERE book_id IN (SELECT id FROM books WHERE owner_id = $1)
                             AND read_at < $2 AND coalesce(state, 'open') = 'open' LIMIT $3)",
                )
                .bind(owner_id)
                .bind(before)
                .bind(PURGE_ROWS_MAX)
                .execute(store.pool())
                .await?;
                if gone.rows_affected() == 0 && rows.rows_affected() == 0 {
                    return Ok(purged);
                }
                purged = purged.saturating_add(gone.rows_affected());
            }
        })
    }

    /// By the date of the transaction, the newest first, at most `limit`.
    pub async fn readings(&self, owner_id: &str, filter: &Recent, limit: i64) -> Result<Vec<ReadingRow>, StoreError> {
        let (time, hash, wallet) = filter.before.clone().unwrap_or((i64::MAX, String::new(), String::new()));
        let pattern = filter.text.as_deref().map(starting_with);
        on!(self, store => {
            let rows = sqlx::query_as(reading_rows!(
                " AND (readings.time, readings.hash, readings.wallet) < ($2, $3, $4)
                  AND (CAST($5 AS TEXT) IS NULL OR lower(readings.hash) LIKE $5 ESCAPE '!' OR readings.category LIKE $5 ESCAPE '!'
                       OR readings.chain LIKE $5 ESCAPE '!' OR lower(readings.protocol) LIKE $5 ESCAPE '!')
                  ORDER BY readings.time DESC, readings.hash DESC, readings.wallet DESC LIMIT $6"
            ));
            Ok(rows.bind(owner_id).bind(time).bind(hash).bind(wallet).bind(pattern).bind(limit).fetch_all(store.pool()).await?)
        })
    }

    /// Whether the payer has had this transaction classified in this period, free or not.
    pub async fn was_classified(&self, payer: &Payer, hash: &str) -> Result<bool, StoreError> {
        let period = payer.resets.period(self.now().await?);
        on!(self, store => {
            let row = sqlx::query_as(
                "SELECT EXISTS (SELECT 1 FROM entries WHERE payer = $1 AND period = $2 AND hash = $3)",
            );
            let (was,): (bool,) = row.bind(&payer.id).bind(period).bind(hash).fetch_one(store.pool()).await?;
            Ok(was)
        })
    }

    /// Without a wallet, the newest of the hash.
    pub async fn reading(
        &self,
        owner_id: &str,
        hash: &str,
        wallet: Option<&str>,
    ) -> Result<Option<ReadingRow>, StoreError> {
        on!(self, store => {
            let row = sqlx::query_as(reading_rows!(
                "AND readings.hash = $2 AND (CAST($3 AS TEXT) IS NULL OR readings.wallet = $3)
                 ORDER BY readings.at DESC, readings.wallet LIMIT 1"
            ));
            Ok(row.bind(owner_id).bind(hash).bind(wallet).fetch_optional(store.pool()).await?)
        })
    }

    /// The last `days` UTC days of the owner, today included, oldest first; a day without anything is there too.
    pub async fn usage(&self, owner_id: &str, days: u32) -> Result<Vec<Day>, StoreError> {
        let today = self.now().await?.div_euclid(DAY_MILLIS);
        let first = today.saturating_add(1).saturating_sub(i64::from(days.clamp(1, DAYS_MAX)));
        // What was reserved at the very end of a month may be settled on the first day of the next.
        let month = Resets::Monthly.period(first.saturating_sub(1).saturating_mul(DAY_MILLIS));
        let since = first.saturating_mul(DAY_MILLIS);
        let (rows, refused) = on!(self, store => {
            let rows = sqlx::query_as(
                "SELECT at / 86400000 AS day, billed = 'free' AS is_free, count(*) AS rows FROM entries
                 WHERE payer = $1 AND period >= $2 AND at >= $3 GROUP BY 1, 2",
            );
            let rows: Vec<(i64, bool, i64)> =
                rows.bind(owner_id).bind(month).bind(since).fetch_all(store.pool()).await?;
            let refused = sqlx::query_as(
                "SELECT day, CAST(sum(count) AS BIGINT) AS rows FROM refusals WHERE owner_id = $1 AND day >= $2 GROUP BY day",
            );
            let refused: Vec<(i64, i64)> = refused.bind(owner_id).bind(first).fetch_all(store.pool()).await?;
            (rows, refused)
        });
        let date = |day: i64| Resets::Daily.period(day.saturating_mul(DAY_MILLIS));
        let empty = |day: i64| (day, Day { date: date(day), billable: 0, free: 0, refused: 0 });
        let mut days: BTreeMap<i64, Day> = (first..=today).map(empty).collect();
        for (day, is_free, count) in rows {
            if let Some(day) = days.get_mut(&day) {
                *(if is_free { &mut day.free } else { &mut day.billable }) = count;
            }
        }
        for (day, count) in refused {
            if let Some(day) = days.get_mut(&day) {
                day.refused = count;
            }
        }
        Ok(days.into_values().collect())
    }
}

/// The first moment of the UTC month.
fn month_start(millis: i64) -> i64 {
    let at = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
    let first = at.to_zoned(jiff::tz::TimeZone::UTC).date().first_of_month();
    first.to_zoned(jiff::tz::TimeZone::UTC).map_or(0, |first| first.timestamp().as_millisecond())
}

/// As a LIKE pattern, in lower case and with its wildcards escaped.
pub(super) fn starting_with(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        if matches!(c, '!' | '%' | '_') {
            pattern.push('!');
        }
        pattern.push(c.to_ascii_lowercase());
    }
    pattern.push('%');
    pattern
}
