//! Parquet: a table by columns. Of its columns those of text and raw bytes are looked at, and only the ones that matter are read.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{Read, Seek};
use std::sync::{Arc, Mutex};

use columns::{Budget, Column, ColumnReader, ColumnsError, Footer, Group, Kind, Limits};

use super::{
    COLUMNS_MAX, Cells, Collector, Columns, Extent, NAMES_TOLD_MAX, ROW_BYTES_MAX, ROWS_MAX, TableError, hash, names,
    shown,
};

fn limits(extent: Extent) -> Limits {
    let rows_max = if extent == Extent::Bounded { ROWS_MAX } else { usize::MAX };
    Limits { rows_max, columns_max: COLUMNS_MAX, cell_bytes_max: ROW_BYTES_MAX }
}

/// Read, unpacked and looked at over the whole table: a million rows of hash, chain and wallet are below half of it.
const TABLE_BYTES_MAX: u64 = 1 << 30;
/// Rows that are looked at to find the column of hashes where no name tells it.
const ROWS_LOOKED_AT: usize = 100;
/// Bytes of an EVM hash and an EVM address, as some tables hold them.
const HASH_BYTES: usize = 32;
const ADDRESS_BYTES: usize = 20;

pub(super) fn read(mut table: impl Read + Seek, length: u64, collector: &mut Collector<'_>) -> Result<(), TableError> {
    let limits = limits(collector.hints.extent);
    let footer = Footer::read(&mut table, length, &limits)?;
    if footer.groups.iter().all(|group| group.rows == 0) {
        return Ok(());
    }
    let table = Arc::new(Mutex::new(table));
    let budget =
        Arc::new(Budget::new(if collector.hints.extent == Extent::Bounded { TABLE_BYTES_MAX } else { u64::MAX }));
    let open = |group: &Group, place: usize| {
        let column = footer.columns.get(place)?;
        let chunk = (group.chunks.get(place)?, group.rows);
        Some(ColumnReader::new(&table, (column, readable(column)?), chunk, &limits, &budget))
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
            let hash = cell(&mut hashes, row)?;
            let chain = chains.as_mut().map(|chains| cell(chains, row)).transpose()?;
            let wallet = wallets.as_mut().map(|wallets| cell(wallets, row)).transpose()?;
            collector.take(row, &name, &Cells { hash: &hash, chain: chain.as_deref(), wallet: wallet.as_deref() })?;
        }
    }
    Ok(())
}

/// The kind of a column that may hold text, hashes or addresses.
fn readable(column: &Column) -> Option<Kind> {
    column.kind.filter(|kind| match kind {
        Kind::Text | Kind::Bytes => true,
        Kind::Fixed(length) => is_raw(*length),
        Kind::Truth | Kind::Short | Kind::Long | Kind::Time(_) => false,
    })
}

/// Whether a value of so many bytes may be a hash or an address as it is.
fn is_raw(bytes: usize) -> bool {
    bytes == HASH_BYTES || bytes == ADDRESS_BYTES
}

/// The cell of the next row as text.
fn cell<R: Read + Seek>(column: &mut ColumnReader<R>, row: usize) -> Result<Cow<'_, str>, TableError> {
    let kind = column.kind();
    Ok(column.next(row)?.map_or(Cow::Borrowed(""), |value| text(kind, value)))
}

/// Hashes and addresses of EVM chains that are raw bytes, as their digits.
fn text(kind: Kind, value: &[u8]) -> Cow<'_, str> {
    let is_written = || value.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
    let is_raw = match kind {
        Kind::Bytes => is_raw(value.len()) && !is_written(),
        Kind::Fixed(_) => true,
        Kind::Text | Kind::Truth | Kind::Short | Kind::Long | Kind::Time(_) => false,
    };
    if !is_raw {
        return String::from_utf8_lossy(value);
    }
    let mut digits = "0x".to_owned();
    for byte in value {
        let _ = write!(digits, "{byte:02x}");
    }
    Cow::Owned(digits)
}

impl From<ColumnsError> for TableError {
    fn from(error: ColumnsError) -> Self {
        match error {
            ColumnsError::Fault(what) => fault(what),
            ColumnsError::Cell { row, column, what } => {
                fault(format!("row {row} of column `{}`: {what}", shown(&column)))
            }
            ColumnsError::TooManyRows(_) => Self::TooManyRows,
            ColumnsError::Unreadable(error) => error.into(),
        }
    }
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
fn found<R: Read + Seek>(
    footer: &Footer,
    collector: &Collector<'_>,
    open: impl Fn(usize) -> Option<(ColumnReader<R>, usize)>,
) -> Result<Found, TableError> {
    let readable = footer.columns.iter().enumerate().filter(|(_, column)| readable(column).is_some());
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
fn by_content<R: Read + Seek>(
    places: &[usize],
    collector: &Collector<'_>,
    open: impl Fn(usize) -> Option<(ColumnReader<R>, usize)>,
) -> Result<Option<usize>, TableError> {
    let mut most = (0_usize, None);
    for place in places.iter().copied() {
        let Some((mut column, rows)) = open(place) else { continue };
        let mut count = 0_usize;
        for row in 1..=rows.min(ROWS_LOOKED_AT) {
            let is_hash = hash::hash_in(cell(&mut column, row)?.trim(), collector.hints.explorers).is_some();
            count = count.saturating_add(usize::from(is_hash));
        }
        if count > most.0 {
            most = (count, Some(place));
        }
    }
    Ok(most.1)
}
