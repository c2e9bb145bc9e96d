//! A table that is text: its encoding, and whether it is JSON Lines or separated values.

use std::io::{BufReader, Cursor, Read};

use encoding_rs_io::DecodeReaderBytes;

use super::{Collector, TableError, csv, json};

/// The beginning of a table, from which its kind and separator are guessed.
const HEAD_BYTES: u64 = 64 << 10;
const BUFFER_BYTES: usize = 64 << 10;

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
