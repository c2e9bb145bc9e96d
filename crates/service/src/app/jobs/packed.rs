//! The rows of a part as they are stored: compressed, since a million of them are kept for a month.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};

use engine::{Account, TxHash};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use super::marks::{Mark, Said, pack_marks, unpack_marks};

/// More than a part of the longest answers has.
const UNPACKED_BYTES_MAX: u64 = 256 << 20;

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
    Read { json: String, time: i64, said: Option<Said> },
    Failed { json: String, said: Option<Said> },
}

impl RowAnswer {
    pub(super) fn json(&self) -> &str {
        match self {
            Self::Unread => "",
            Self::Read { json, .. } | Self::Failed { json, .. } => json,
        }
    }

    fn mark(&self) -> Mark {
        match self {
            Self::Unread => Mark::unread(),
            Self::Read { time, said, .. } => Mark { time: *time, said: said.clone() },
            Self::Failed { said, .. } => Mark::failed(said.clone()),
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

/// Only these lines of a part, each with its number; whatever is behind the last of them is not unpacked.
pub(super) fn unpack_some(bytes: &[u8], wanted: &[u8]) -> io::Result<Vec<(u8, String)>> {
    let Some(last) = wanted.iter().max() else { return Ok(Vec::new()) };
    let lines = BufReader::new(GzDecoder::new(bytes).take(UNPACKED_BYTES_MAX)).lines();
    let mut found = Vec::with_capacity(wanted.len());
    for (at, line) in (0..=*last).zip(lines) {
        let line = line?;
        if wanted.contains(&at) {
            found.push((at, line));
        }
    }
    Ok(found)
}

/// What is known of the rows without their answers.
pub(super) fn pack_known(rows: &[RowAnswer]) -> Vec<u8> {
    pack_marks(&rows.iter().map(RowAnswer::mark).collect::<Vec<_>>())
}

/// What is known of the rows of a part that was worked on before.
pub(super) fn unpack_answers(answers: &[u8], marks: &[u8]) -> io::Result<Vec<RowAnswer>> {
    let lines = unpack_lines(answers)?;
    let rows = lines.into_iter().zip(unpack_marks(marks)).map(|(json, mark)| {
        if !mark.is_read() {
            return RowAnswer::Unread;
        }
        let is_failed = mark.is_failed();
        let Mark { time, said } = mark;
        let said = said.or_else(|| Said::of_json(&json));
        if is_failed { RowAnswer::Failed { json, said } } else { RowAnswer::Read { json, time, said } }
    });
    Ok(rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were() {
        let json = r#"{"hash":"0x1","category":"swap","treatment":"disposal","needs_review":false}"#.to_owned();
        let error = r#"{"hash":"0x2","error":"tx_not_found"}"#.to_owned();
        let rows = [
            RowAnswer::Read { said: Said::of_json(&json), json, time: 1_700_000_000 },
            RowAnswer::Unread,
            RowAnswer::Failed { said: Said::of_json(&error), json: error },
        ];
        let answers = pack_answers(&rows).unwrap();
        assert_eq!(unpack_answers(&answers, &pack_known(&rows)).unwrap(), rows);
        let times: Vec<u8> = rows.iter().flat_map(|row| row.mark().time.to_le_bytes()).collect();
        assert_eq!(
            unpack_answers(&answers, &times).unwrap(),
            rows,
            "what an earlier version left says itself what it is"
        );
        assert_eq!(
            unpack_some(&answers, &[2, 0, 7]).unwrap(),
            [(0, rows[0].json().to_owned()), (2, rows[2].json().to_owned()),]
        );
        let asked = [AskedRow { hash: "0x1".to_owned(), chain: None, wallet: Some("0x2".to_owned()) }];
        assert_eq!(unpack_asked(&pack_asked(&asked).unwrap()).unwrap(), asked);
        assert!(unpack_asked(b"rubbish").is_err() && unpack_lines(b"rubbish").is_err());
        assert!(unpack_some(b"rubbish", &[0]).is_err());
    }
}
