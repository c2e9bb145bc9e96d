//! Parquet: a table by columns. Of its columns those of text and raw bytes are looked at, and only the ones that matter are read.
//!
//! The file is read here and not by the crate `parquet`, which writes ours: that one makes as much room as a schema, a page or a dictionary
//! claims, and where there is none the process ends; it unpacks gzip without a bound, and panics on pages that are cut short
//! (<https://github.com/apache/arrow-rs/issues/5332>, <https://github.com/apache/arrow-rs/issues/9742>).

mod footer;
mod pages;
mod thrift;
mod values;

use std::cell::RefCell;
use std::io::{Read, Seek};

use super::{Cells, Collector, Columns, NAMES_TOLD_MAX, TableError, hash, names, shown};
use footer::{Footer, Group};
use pages::{Budget, ColumnReader};

/// What a file begins and ends with.
pub(super) const MAGIC: [u8; 4] = *b"PAR1";
/// Rows that are looked at to find the column of hashes where no name tells it.
const ROWS_LOOKED_AT: usize = 100;

pub(super) fn read(mut table: impl Read + Seek, length: u64, collector: &mut Collector<'_>) -> Result<(), TableError> {
    let footer = footer::read(&mut table, length, collector.hints.extent)?;
    if footer.groups.iter().all(|group| group.rows == 0) {
        return Ok(());
    }
    let table = RefCell::new(table);
    let budget = Budget::new(collector.hints.extent);
    let open = |group: &Group, place: usize| {
        let column = footer.columns.get(place)?;
        Some(ColumnReader::new(&table, (column, column.kind?), group.chunks.get(place)?, group.rows, &budget))
    };
    let found = found(&footer, collector, |place| {
        let group = footer.groups.iter().find(|group| group.rows > 0)?;
        Some((open(group, place)?, group.rows))
    })?;
    let title = |place: usize| footer.columns.get(place).map(|column| shown(&column.name)).unwrap_or_default();
    let name = title(found.hash);
    collector.understood.columns = Columns {
        separator: None,
        has_header: true,
        hash: name.clone(),
        chain: found.chain.map(title),
        wallet: found.wallet.map(title),
        names: names_of(&footer),
    };
    let mut row = 0_usize;
    for group in &footer.groups {
        let mut hashes = open(group, found.hash).ok_or_else(|| fault("a column is missing"))?;
        let mut chains = found.chain.and_then(|place| open(group, place));
        let mut wallets = found.wallet.and_then(|place| open(group, place));
        for _ in 0..group.rows {
            row = row.saturating_add(1);
            let hash = hashes.next(row)?;
            let chain = chains.as_mut().map(|chains| chains.next(row)).transpose()?;
            let wallet = wallets.as_mut().map(|wallets| wallets.next(row)).transpose()?;
            collector.take(row, &name, &Cells { hash: &hash, chain: chain.as_deref(), wallet: wallet.as_deref() })?;
        }
    }
    Ok(())
}

/// What is wrong with the file.
fn fault(what: impl Into<String>) -> TableError {
    TableError::Parquet(what.into())
}

/// Places among the columns of the footer.
struct Found {
    hash: usize,
    chain: Option<usize>,
    wallet: Option<usize>,
}

fn names_of(footer: &Footer) -> Vec<String> {
    footer.columns.iter().take(NAMES_TOLD_MAX).map(|column| shown(&column.name)).collect()
}

/// Where the columns are: by their names as in any table, else by what their first rows hold. `open` reads a column from its first row, and tells how many
/// there are.
fn found<'a, R: Read + Seek + 'a>(
    footer: &Footer,
    collector: &Collector<'_>,
    open: impl Fn(usize) -> Option<(ColumnReader<'a, R>, usize)>,
) -> Result<Found, TableError> {
    let readable = footer.columns.iter().enumerate().filter(|(_, column)| column.kind.is_some());
    let (places, plain): (Vec<usize>, Vec<String>) =
        readable.map(|(place, column)| (place, names::plain(&column.name))).unzip();
    let place = |at: usize| places.get(at).copied();
    let columns_shown = || names_of(footer).join(", ");
    let hash = match collector.hints.column {
        Some(name) => {
            let wanted = names::plain(name);
            let is_there = footer.columns.iter().any(|column| names::plain(&column.name) == wanted);
            let hash = plain.iter().position(|plain| *plain == wanted).and_then(place);
            hash.ok_or_else(|| match is_there {
                true => fault(format!("column `{}` holds no text", shown(name))),
                false => TableError::NoColumn { name: name.to_owned(), columns: columns_shown() },
            })?
        }
        None => {
            let named = names::hash(&plain).and_then(place);
            let hash = match named {
                Some(place) => Some(place),
                None => by_content(&places, collector, open)?,
            };
            hash.ok_or_else(|| TableError::NoHashes { columns: columns_shown() })?
        }
    };
    Ok(Found { hash, chain: names::chain(&plain).and_then(place), wallet: names::wallet(&plain).and_then(place) })
}

/// The first of the columns that hold the most hashes.
fn by_content<'a, R: Read + Seek + 'a>(
    places: &[usize],
    collector: &Collector<'_>,
    open: impl Fn(usize) -> Option<(ColumnReader<'a, R>, usize)>,
) -> Result<Option<usize>, TableError> {
    let mut most = (0_usize, None);
    for place in places.iter().copied() {
        let Some((mut column, rows)) = open(place) else { continue };
        let mut count = 0_usize;
        for row in 1..=rows.min(ROWS_LOOKED_AT) {
            let is_hash = hash::hash_in(column.next(row)?.trim(), collector.hints.explorers).is_some();
            count = count.saturating_add(usize::from(is_hash));
        }
        if count > most.0 {
            most = (count, Some(place));
        }
    }
    Ok(most.1)
}
