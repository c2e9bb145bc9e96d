//! The rows of a part as they are stored: compressed, since a million of them are kept for a month.

use std::io::{self, Read as _, Write as _};

use engine::{Account, TxHash};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

/// More than a part of the longest answers has.
const UNPACKED_BYTES_MAX: u64 = 256 << 20;
const TIME_BYTES: usize = 8;
/// The time of a row that is not read yet.
const UNREAD: i64 = i64::MIN;
/// The time of a row that could not be read: it sorts behind all others.
const FAILED: i64 = i64::MAX;

/// One transaction that a job asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AskedRow {
    pub(super) hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) chain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wallet: Option<String>,
}

impl AskedRow {
    pub(super) fn parsed(&self) -> Option<(TxHash, Option<Account>)> {
        let wallet = self.wallet.as_deref().map(Account::parse).transpose().ok()?;
        Some((TxHash::parse(&self.hash).ok()?, wallet))
    }
}

/// What is known of a row: nothing yet, its answer as JSON, or its answer as JSON that says why it failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RowAnswer {
    Unread,
    Read { json: String, time: i64 },
    Failed { json: String },
}

impl RowAnswer {
    pub(super) fn json(&self) -> &str {
        match self {
            Self::Unread => "",
            Self::Read { json, .. } | Self::Failed { json } => json,
        }
    }

    fn time(&self) -> i64 {
        match self {
            Self::Unread => UNREAD,
            Self::Read { time, .. } => *time,
            Self::Failed { .. } => FAILED,
        }
    }
}

pub(super) fn pack_asked(rows: &[AskedRow]) -> io::Result<Vec<u8>> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    serde_json::to_writer(&mut out, rows)?;
    out.finish()
}

pub(super) fn unpack_asked(bytes: &[u8]) -> io::Result<Vec<AskedRow>> {
    Ok(serde_json::from_reader(GzDecoder::new(bytes).take(UNPACKED_BYTES_MAX))?)
}

/// One line a row.
pub(super) fn pack_answers(rows: &[RowAnswer]) -> io::Result<Vec<u8>> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    for row in rows {
        out.write_all(row.json().as_bytes())?;
        out.write_all(b"\n")?;
    }
    out.finish()
}

/// The lines of a part, by row; empty where a row is not read.
pub(super) fn unpack_lines(bytes: &[u8]) -> io::Result<Vec<String>> {
    let mut text = String::new();
    GzDecoder::new(bytes).take(UNPACKED_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text.lines().map(str::to_owned).collect())
}

pub(super) fn pack_times(rows: &[RowAnswer]) -> Vec<u8> {
    rows.iter().flat_map(|row| row.time().to_le_bytes()).collect()
}

/// What is known of the rows of a part that was worked on before.
pub(super) fn unpack_answers(answers: &[u8], times: &[i64]) -> io::Result<Vec<RowAnswer>> {
    let lines = unpack_lines(answers)?;
    let rows = lines.into_iter().zip(times).map(|(json, time)| match *time {
        UNREAD => RowAnswer::Unread,
        FAILED => RowAnswer::Failed { json },
        time => RowAnswer::Read { json, time },
    });
    Ok(rows.collect())
}

pub(super) fn unpack_times(bytes: &[u8]) -> Vec<i64> {
    bytes.chunks_exact(TIME_BYTES).filter_map(|bytes| bytes.try_into().ok().map(i64::from_le_bytes)).collect()
}

pub(super) fn is_read(time: i64) -> bool {
    time != UNREAD
}

pub(super) fn is_failed(time: i64) -> bool {
    time == FAILED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were() {
        let rows = [
            RowAnswer::Read { json: "{\"a\":1}".to_owned(), time: 1_700_000_000 },
            RowAnswer::Unread,
            RowAnswer::Failed { json: "{\"error\":\"tx_not_found\"}".to_owned() },
        ];
        let times = unpack_times(&pack_times(&rows));
        assert_eq!(unpack_answers(&pack_answers(&rows).unwrap(), &times).unwrap(), rows);
        assert_eq!(
            times.iter().map(|time| (is_read(*time), is_failed(*time))).collect::<Vec<_>>(),
            [(true, false), (false, false), (true, true)]
        );
        let asked = [AskedRow { hash: "0x1".to_owned(), chain: None, wallet: Some("0x2".to_owned()) }];
        assert_eq!(unpack_asked(&pack_asked(&asked).unwrap()).unwrap(), asked);
        assert!(unpack_asked(b"rubbish").is_err() && unpack_lines(b"rubbish").is_err());
    }
}
