//! How the transactions of a book were last read: what the review table shows, and what decisions stand beside.

use std::collections::BTreeMap;

/// Rows per statement. SQLite accepts 32,766 parameters, of which a row needs 20.
pub(super) const ROWS_WRITTEN_MAX: usize = 500;

/// Nobody has decided, and a person must.
pub(super) const OPEN: &str = "open";
/// Decided, and not signed where that is needed.
pub(super) const WAITING: &str = "waiting";
pub(super) const DECIDED: &str = "decided";
/// Decided otherwise than the rules read it since.
pub(super) const DISAGREED: &str = "disagreed";

/// A transaction as it was read for one wallet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadRow {
    pub hash: String,
    pub wallet: String,
    pub chain: String,
    /// Seconds since 1970; 0 where it is not known.
    pub time: i64,
    pub category: &'static str,
    pub treatment: &'static str,
    pub taxable: Option<bool>,
    pub confidence: i64,
    pub needs_review: bool,
    pub protocol: String,
    pub note: String,
    pub amounts: String,
    pub contract: String,
    pub function: String,
    pub engine: String,
    /// The part of the job that holds the whole answer; 0 for what no job asked for.
    pub part: i64,
}

impl ReadRow {
    pub(super) fn state(&self) -> Option<&'static str> {
        self.needs_review.then_some(OPEN)
    }
}

/// Each hash and wallet once, the last counts; sorted, so that two who write the same rows wait for each other instead of locking each other out.
pub(super) fn latest<'a>(rows: impl IntoIterator<Item = &'a ReadRow>) -> Vec<&'a ReadRow> {
    let latest: BTreeMap<(&str, &str), &ReadRow> =
        rows.into_iter().map(|row| ((row.hash.as_str(), row.wallet.as_str()), row)).collect();
    latest.into_values().collect()
}

/// Writes rows of a book inside a transaction; `$job_id` is the job that they are of, empty for none. A decision stays, and the row says where the new verdict
/// contradicts it: not where whoever decided had seen that verdict.
macro_rules! write_rows {
    ($transaction:ident, $book_id:expr, $rows:expr, $job_id:expr, $now:expr, $only:literal) => {{
        for rows in $rows.chunks($crate::store::book_rows::ROWS_WRITTEN_MAX) {
            let mut insert = sqlx::QueryBuilder::new(
                "INSERT INTO book_rows (book_id, hash, wallet, chain, time, category, treatment, taxable, confidence, needs_review, protocol,
                                        note, amounts, contract, function, engine, job_id, part, read_at, state) ",
            );
            insert.push_values(rows, |mut values, row| {
                values
                    .push_bind($book_id)
                    .push_bind(&row.hash)
                    .push_bind(&row.wallet)
                    .push_bind(&row.chain)
                    .push_bind(row.time)
                    .push_bind(row.category)
                    .push_bind(row.treatment)
                    .push_bind(row.taxable)
                    .push_bind(row.confidence)
                    .push_bind(row.needs_review)
                    .push_bind(&row.protocol)
                    .push_bind(&row.note)
                    .push_bind(&row.amounts)
                    .push_bind(&row.contract)
                    .push_bind(&row.function)
                    .push_bind(&row.engine)
                    .push_bind($job_id)
                    .push_bind(row.part)
                    .push_bind($now)
                    .push_bind(row.state());
            });
            insert.push(concat!(
                " ON CONFLICT (book_id, hash, wallet) DO UPDATE SET chain = excluded.chain, time = excluded.time, category = excluded.category,
                      treatment = excluded.treatment, taxable = excluded.taxable, confidence = excluded.confidence,
                      needs_review = excluded.needs_review, protocol = excluded.protocol, note = excluded.note, amounts = excluded.amounts,
                      contract = excluded.contract, function = excluded.function, engine = excluded.engine, job_id = excluded.job_id,
                      part = excluded.part, read_at = excluded.read_at,
                      state = CASE WHEN coalesce(book_rows.state, 'open') = 'open' THEN excluded.state ELSE (
                          SELECT CASE
                              WHEN excluded.needs_review = FALSE
                                  AND (decisions.category <> excluded.category OR decisions.treatment NOT IN ('', excluded.treatment))
                                  AND decisions.seen <> excluded.category || '/' || excluded.treatment THEN 'disagreed'
                              WHEN books.needs_second = TRUE AND decisions.signed_at IS NULL THEN 'waiting'
                              ELSE 'decided' END
                          FROM decisions JOIN books ON books.id = decisions.book_id
                          WHERE decisions.book_id = excluded.book_id AND decisions.hash = excluded.hash
                              AND decisions.wallet = excluded.wallet) END ",
                $only
            ));
            insert.build().persistent(false).execute(&mut *$transaction).await?;
        }
    }};
}
pub(super) use write_rows;
