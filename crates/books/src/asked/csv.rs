//! Separated values, with or without a header; a plain list is one column of them.

use std::io::BufRead;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::{COLUMNS_MAX, Cells, Collector, Columns, NAMES_TOLD_MAX, ROW_BYTES_MAX, TableError, hash, names, shown};

const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];
/// Lines of one cell in quotes.
const CELL_LINES_MAX: usize = 50;
/// Rows that are looked at to find the column of hashes where no header names it, and their bytes.
const ROWS_LOOKED_AT: usize = 100;
const BYTES_LOOKED_AT: usize = 1 << 20;

/// The cells of a row, trimmed.
type Row = Vec<String>;

/// `head` is the beginning of the table, from which the separator is guessed.
pub(super) fn read(head: &str, table: impl BufRead, collector: &mut Collector<'_>) -> Result<(), TableError> {
    let separator = separator(head);
    let mut records = Records::new(table, separator);
    let mut first: Vec<(usize, Row)> = Vec::new();
    let mut looked_at = 0_usize;
    while first.len() < ROWS_LOOKED_AT && looked_at < BYTES_LOOKED_AT {
        let Some(record) = records.next()? else { break };
        looked_at = looked_at.saturating_add(record.1.iter().map(String::len).sum());
        first.push(record);
    }
    let Some(found) = found(&first, separator, collector)? else { return Ok(()) };
    let Found { hash, chain, wallet, .. } = found;
    let skipped = usize::from(found.columns.has_header);
    let name = found.columns.hash.clone();
    collector.understood.columns = found.columns;
    let mut first = first.into_iter().skip(skipped);
    loop {
        let next = match first.next() {
            Some(looked_at) => Some(looked_at),
            None => records.next()?,
        };
        let Some((row, record)) = next else { return Ok(()) };
        let cell = |place: Option<usize>| place.and_then(|at| record.get(at)).map(String::as_str);
        let cells = Cells { hash: cell(Some(hash)).unwrap_or_default(), chain: cell(chain), wallet: cell(wallet) };
        collector.take(row, &name, &cells)?;
    }
}

/// Row by row. The room for a row is the bound on it: a table without line ends fills no more.
struct Records<R> {
    table: R,
    reader: Reader,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    row: usize,
}

impl<R: BufRead> Records<R> {
    fn new(table: R, separator: Option<char>) -> Self {
        let delimiter = separator.and_then(|c| u8::try_from(c).ok()).unwrap_or(b',');
        let reader = ReaderBuilder::new().delimiter(delimiter).build();
        Self { table, reader, bytes: vec![0; ROW_BYTES_MAX], ends: vec![0; COLUMNS_MAX], row: 0 }
    }

    /// The next row that is not empty, with its number.
    fn next(&mut self) -> Result<Option<(usize, Row)>, TableError> {
        let row = self.row.saturating_add(1);
        self.row = row;
        let (mut written, mut ended) = (0_usize, 0_usize);
        loop {
            let input = self.table.fill_buf()?;
            let (bytes, ends) = (self.bytes.get_mut(written..), self.ends.get_mut(ended..));
            let (Some(bytes), Some(ends)) = (bytes, ends) else { return Err(TableError::RowTooLong { row }) };
            let (result, read, more, more_ends) = self.reader.read_record(input, bytes, ends);
            self.table.consume(read);
            written = written.saturating_add(more);
            ended = ended.saturating_add(more_ends);
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => return Err(TableError::RowTooLong { row }),
                ReadRecordResult::OutputEndsFull => return Err(TableError::TooManyColumns { row }),
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return Ok(None),
            }
        }
        let mut cells = Row::with_capacity(ended);
        let mut begin = 0;
        for end in self.ends.iter().take(ended).copied() {
            let cell = self.bytes.get(begin..end).unwrap_or_default();
            if cell.iter().filter(|byte| **byte == b'\n').count() > CELL_LINES_MAX {
                return Err(TableError::Broken { row, what: "a quote is not closed".to_owned() });
            }
            cells.push(String::from_utf8_lossy(cell).trim().to_owned());
            begin = end;
        }
        Ok(Some((row, cells)))
    }
}

struct Found {
    columns: Columns,
    hash: usize,
    chain: Option<usize>,
    wallet: Option<usize>,
}

/// Where the columns are, from the first rows; nothing of an empty table.
fn found(
    first: &[(usize, Row)],
    separator: Option<char>,
    collector: &Collector<'_>,
) -> Result<Option<Found>, TableError> {
    let Some((_, head)) = first.first() else { return Ok(None) };
    let is_hash = |cell: &str| hash::hash_in(cell, collector.hints.explorers).is_some();
    let has_header = !head.iter().any(|cell| is_hash(cell));
    let titles: Vec<String> =
        if has_header { head.clone() } else { (1..=head.len()).map(|number| number.to_string()).collect() };
    let plain: Vec<String> = titles.iter().map(|title| names::plain(title)).collect();
    let names: Vec<String> = titles.iter().take(NAMES_TOLD_MAX).map(|title| shown(title)).collect();
    let by_content = || {
        let counts = (0..titles.len()).map(|at| {
            let cells = first.iter().filter_map(|(_, record)| record.get(at));
            (cells.filter(|cell| is_hash(cell)).count(), at)
        });
        counts.filter(|(count, _)| *count > 0).max_by_key(|(count, at)| (*count, usize::MAX.saturating_sub(*at)))
    };
    let hash = match collector.hints.column {
        Some(name) => {
            let place = plain.iter().position(|title| *title == names::plain(name));
            place.ok_or_else(|| TableError::NoColumn { name: name.to_owned(), columns: names.join(", ") })?
        }
        None => {
            let named = names::hash(&plain).filter(|_| has_header);
            let place = named.or_else(|| by_content().map(|(_, at)| at));
            place.ok_or_else(|| TableError::NoHashes { columns: names.join(", ") })?
        }
    };
    let (chain, wallet) = (names::chain(&plain), names::wallet(&plain));
    let title = |place: usize| titles.get(place).cloned().unwrap_or_default();
    let (chain_title, wallet_title) = (chain.map(title), wallet.map(title));
    let columns = Columns { separator, has_header, hash: title(hash), chain: chain_title, wallet: wallet_title, names };
    Ok(Some(Found { columns, hash, chain, wallet }))
}

/// The one that stands most often in the first line, outside of quotes.
fn separator(text: &str) -> Option<char> {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut quoted = false;
    let mut counts = [0_usize; SEPARATORS.len()];
    for c in line.chars() {
        quoted ^= c == '"';
        if let Some(count) = SEPARATORS.iter().position(|one| *one == c).and_then(|at| counts.get_mut(at)) {
            *count = count.saturating_add(usize::from(!quoted));
        }
    }
    let most = counts.iter().zip(SEPARATORS).max_by_key(|(count, _)| **count)?;
    (*most.0 > 0).then_some(most.1)
}
