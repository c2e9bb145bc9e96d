//! The export of an owner's readings, as CSV (RFC 4180).

use books::cell::tamed;
use csv::{Terminator, WriterBuilder};

use super::App;
use crate::accounts::{ReadingRow, Recent};
use crate::error::ApiError;

/// Rows of one file; larger accounts use the ledger's export.
const ROWS_MAX: usize = 10_000;
const PAGE_ROWS: i64 = 1_000;

const COLUMNS: [&str; 12] = [
    "time",
    "hash",
    "chain",
    "wallet",
    "category",
    "treatment",
    "taxable",
    "confidence",
    "needs_review",
    "protocol",
    "review_note",
    "read_at",
];

impl App {
    /// By the date of the transaction, the newest first, as on the page.
    pub(crate) async fn readings_csv(&self, owner_id: &str, mut filter: Recent) -> Result<Vec<u8>, ApiError> {
        let mut rows: Vec<ReadingRow> = Vec::new();
        while rows.len() < ROWS_MAX {
            let more = self.accounts.recent(owner_id, &filter, PAGE_ROWS).await?;
            let Some(last) = more.last() else { break };
            filter.before = Some(last.cursor());
            rows.extend(more);
        }
        written(&rows).ok_or(ApiError::Internal)
    }
}

fn written(rows: &[ReadingRow]) -> Option<Vec<u8>> {
    let mut out = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    out.write_record(COLUMNS).ok()?;
    for row in rows {
        out.write_record(fields(row).map(tamed)).ok()?;
    }
    out.into_inner().ok()
}

fn fields(row: &ReadingRow) -> [String; 12] {
    let time = jiff::Timestamp::from_second(row.time).ok().filter(|_| row.time != 0);
    let read_at = jiff::Timestamp::from_millisecond(row.at).unwrap_or_default();
    [
        time.map(|time| time.to_string()).unwrap_or_default(),
        row.hash.clone(),
        row.chain.clone(),
        row.wallet.clone(),
        row.category.clone(),
        row.treatment.clone(),
        row.taxable.map(|taxable| taxable.to_string()).unwrap_or_default(),
        row.confidence.to_string(),
        row.needs_review.to_string(),
        row.protocol.clone().unwrap_or_default(),
        row.note.clone().unwrap_or_default(),
        read_at.to_string(),
    ]
}
