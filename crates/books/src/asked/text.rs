//! Bytes as text, and hashes in text.

use std::io::{BufReader, Cursor, Read};

use encoding_rs_io::DecodeReaderBytes;
use engine::TxHash;

use super::{Collector, TableError, csv, json};

/// The beginning of a table, from which its kind and separator are guessed.
const HEAD_BYTES: u64 = 64 << 10;
const BUFFER_BYTES: usize = 64 << 10;
/// Digits of an EVM hash without its `0x`.
const EVM_DIGITS: usize = 64;

/// A table that is text: what a mark at the beginning says it is, else UTF-8. Hashes are plain letters, so what is neither does no harm elsewhere in
/// the table.
pub(super) fn read(table: impl Read, collector: &mut Collector<'_>) -> Result<(), TableError> {
    let mut decoded = DecodeReaderBytes::new(table);
    let mut head = Vec::new();
    decoded.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    let guessed = String::from_utf8_lossy(&head).into_owned();
    if guessed.trim().is_empty() {
        return Err(TableError::Empty);
    }
    let whole = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(head).chain(decoded));
    if guessed.trim_start().starts_with('{') {
        json::read(whole, collector)
    } else {
        csv::read(&guessed, whole, collector)
    }
}

/// The hash that a cell holds, by itself or in an explorer's link, and the chain of that explorer.
pub(super) fn hash_in(cell: &str, explorers: &[(String, String)]) -> Option<(TxHash, Option<String>)> {
    if let Some((_, rest)) = cell.split_once("://") {
        let mut parts = rest.split(['/', '?', '#', '&', '=']);
        let host = parts.next()?.trim_start_matches("www.");
        let hash = parts.find_map(hash)?;
        let explorer = explorers.iter().find(|(known, _)| known.eq_ignore_ascii_case(host));
        return Some((hash, explorer.map(|(_, chain)| chain.clone())));
    }
    hash(cell).map(|hash| (hash, None))
}

fn hash(text: &str) -> Option<TxHash> {
    let is_bare = text.len() == EVM_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_bare { TxHash::parse(&format!("0x{text}")).ok() } else { TxHash::parse(text).ok() }
}
