//! Separated values, with or without a header; a plain list is one column of them.

use csv::{ReaderBuilder, StringRecord, Trim};

use super::{COLUMNS_MAX, Cells, Collector, Columns, TableError, names, shown, text};

const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];
const TITLES_SHOWN: usize = 40;
/// Rows that are looked at to find the column of hashes where no header names it.
const ROWS_LOOKED_AT: usize = 100;

pub(super) fn read(text: &str, collector: &mut Collector<'_>) -> Result<(), TableError> {
    let separator = separator(text);
    let delimiter = separator.and_then(|c| u8::try_from(c).ok()).unwrap_or(b',');
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .delimiter(delimiter)
        .from_reader(text.as_bytes());
    let mut records = reader.records().enumerate().map(|(at, record)| {
        let row = at.saturating_add(1);
        let record = record.map_err(|error| TableError::Broken { row, what: error.to_string() })?;
        if record.len() > COLUMNS_MAX {
            return Err(TableError::TooManyColumns { row });
        }
        Ok((row, record))
    });
    let mut first: Vec<(usize, StringRecord)> = Vec::new();
    for record in records.by_ref().take(ROWS_LOOKED_AT) {
        first.push(record?);
    }
    let Some(found) = found(&first, separator, collector)? else { return Ok(()) };
    let Found { hash, chain, wallet, .. } = found;
    let skipped = usize::from(found.columns.has_header);
    let name = found.columns.hash.clone();
    collector.understood.columns = found.columns;
    for record in first.into_iter().skip(skipped).map(Ok).chain(records) {
        let (row, record) = record?;
        let cell = |place: Option<usize>| place.and_then(|at| record.get(at));
        let cells = Cells { hash: cell(Some(hash)).unwrap_or_default(), chain: cell(chain), wallet: cell(wallet) };
        collector.take(row, &name, &cells)?;
    }
    Ok(())
}

struct Found {
    columns: Columns,
    hash: usize,
    chain: Option<usize>,
    wallet: Option<usize>,
}

/// Where the columns are, from the first rows; nothing of an empty table.
fn found(
    first: &[(usize, StringRecord)],
    separator: Option<char>,
    collector: &Collector<'_>,
) -> Result<Option<Found>, TableError> {
    let Some((_, head)) = first.first() else { return Ok(None) };
    let is_hash = |cell: &str| text::hash_in(cell, collector.hints.explorers).is_some();
    let has_header = !head.iter().any(is_hash);
    let titles: Vec<String> = if has_header {
        head.iter().map(str::to_owned).collect()
    } else {
        (1..=head.len()).map(|number| number.to_string()).collect()
    };
    let plain: Vec<String> = titles.iter().map(|title| names::plain(title)).collect();
    let columns_shown = || titles.iter().take(TITLES_SHOWN).map(|title| shown(title)).collect::<Vec<_>>().join(", ");
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
            place.ok_or_else(|| TableError::NoColumn { name: name.to_owned(), columns: columns_shown() })?
        }
        None => {
            let named = names::hash(&plain).filter(|_| has_header);
            let place = named.or_else(|| by_content().map(|(_, at)| at));
            place.ok_or_else(|| TableError::NoHashes { columns: columns_shown() })?
        }
    };
    let (chain, wallet) = (names::chain(&plain), names::wallet(&plain));
    let title = |place: usize| titles.get(place).cloned().unwrap_or_default();
    let columns =
        Columns { separator, has_header, hash: title(hash), chain: chain.map(title), wallet: wallet.map(title) };
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
