//! A file of facts, read batch after batch. It may be anybody's: a reader that holds no more than a page of each column and a batch of rows.

use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use columns::{Budget, ColumnReader, ColumnsError, Footer, Kind, Limits, TimeUnit};

use crate::error::{FileError, RowError};
use crate::row::Row;
use crate::schema::{self, COLUMNS, ColumnRow, place};

/// A transaction of the largest kind has some ten thousand logs, which are 8 MiB as nodes write them.
const CELL_BYTES_MAX: usize = 16 << 20;
const LIMITS: Limits = Limits { rows_max: 1_000_000_000, columns_max: 1_024, cell_bytes_max: CELL_BYTES_MAX };
/// A batch ends at so many rows or bytes. So many rows stay in a processor's cache from being unpacked to being read.
const BATCH_ROWS_MAX: usize = 64;
const BATCH_BYTES_MAX: usize = 4 << 20;
/// Bytes that are read, unpacked and looked at for each byte of the file, beside those that any file may cost: a small file is no work for hours. Nodes'
/// answers pack to a fifth or a tenth.
const WORK_PER_BYTE_MAX: u64 = 1_000;
const WORK_BYTES_MIN: u64 = 256 << 20;
/// What a row costs beside its bytes, also one that has none.
const ROW_COST_BYTES: usize = 64;

#[derive(Debug)]
pub struct FactsFile<R> {
    table: Arc<Mutex<R>>,
    footer: Footer,
    /// Of each column of the schema, which column of the file it is.
    places: [Option<usize>; COLUMNS.len()],
    budget: Arc<Budget>,
    group: usize,
    open: Option<OpenGroup<R>>,
    /// Rows that were read.
    row: usize,
}

#[derive(Debug)]
struct OpenGroup<R> {
    columns: [Option<ColumnReader<R>>; COLUMNS.len()],
    rows_left: usize,
}

/// Rows with their cells, one after another in one piece of memory that is used again.
#[derive(Debug, Default)]
pub struct Batch {
    /// The number of its first row in the file, from one.
    pub first_row: usize,
    bytes: Vec<u8>,
    rows: Vec<Cells>,
}

#[derive(Debug, Default)]
struct Cells {
    texts: [Option<Range<usize>>; COLUMNS.len()],
    numbers: [Option<i64>; COLUMNS.len()],
}

impl<R: Read + Seek> FactsFile<R> {
    pub fn open(mut table: R) -> Result<Self, FileError> {
        let mut beginning = Vec::new();
        table.by_ref().take(4).read_to_end(&mut beginning).map_err(ColumnsError::from)?;
        if beginning != columns::MAGIC {
            return Err(FileError::NoParquet);
        }
        let length = table.seek(SeekFrom::End(0)).map_err(ColumnsError::from)?;
        let footer = Footer::read(&mut table, length, &LIMITS)?;
        let mut places = [None; COLUMNS.len()];
        for (place, column) in places.iter_mut().zip(&COLUMNS) {
            *place = found(&footer, column)?;
        }
        let budget = Budget::new(length.saturating_mul(WORK_PER_BYTE_MAX).saturating_add(WORK_BYTES_MIN));
        let table = Arc::new(Mutex::new(table));
        Ok(Self { table, footer, places, budget: Arc::new(budget), group: 0, open: None, row: 0 })
    }

    pub fn rows(&self) -> usize {
        self.footer.rows()
    }

    /// Fills the batch with the next rows; false at the end of the file.
    pub fn next(&mut self, batch: &mut Batch) -> Result<bool, FileError> {
        batch.bytes.clear();
        batch.rows.clear();
        batch.first_row = self.row.saturating_add(1);
        while batch.rows.len() < BATCH_ROWS_MAX && batch.bytes.len() < BATCH_BYTES_MAX {
            let Some(group) = self.open_group() else { break };
            group.rows_left = group.rows_left.saturating_sub(1);
            self.row = self.row.saturating_add(1);
            self.budget.spend(ROW_COST_BYTES)?;
            let Some(group) = &mut self.open else { break };
            let mut cells = Cells::default();
            group.read(self.row, &mut cells, &mut batch.bytes)?;
            batch.rows.push(cells);
            batch.check_last_version(self.row)?;
        }
        Ok(!batch.rows.is_empty())
    }

    /// The row group of the next row.
    fn open_group(&mut self) -> Option<&mut OpenGroup<R>> {
        while self.open.as_ref().is_none_or(|group| group.rows_left == 0) {
            let group = self.footer.groups.get(self.group)?;
            self.group = self.group.saturating_add(1);
            let column = |place: &Option<usize>| {
                let column = self.footer.columns.get((*place)?)?;
                let chunk = (group.chunks.get((*place)?)?, group.rows);
                Some(ColumnReader::new(&self.table, (column, column.kind?), chunk, &LIMITS, &self.budget))
            };
            self.open = Some(OpenGroup { columns: self.places.each_ref().map(column), rows_left: group.rows });
        }
        self.open.as_mut()
    }
}

/// Where a column of the schema is in the file; nothing where it may be absent and is.
fn found(footer: &Footer, column: &ColumnRow) -> Result<Option<usize>, FileError> {
    let Some(place) = footer.columns.iter().position(|there| there.name == column.name) else {
        return if column.is_required { Err(FileError::NoColumn(column.name)) } else { Ok(None) };
    };
    let kind = footer.columns.get(place).and_then(|there| there.kind);
    let is_right = kind.is_some_and(|kind| match (column.kind, kind) {
        (schema::Kind::Text | schema::Kind::Json, Kind::Text | Kind::Bytes) => true,
        (schema::Kind::Number, Kind::Short | Kind::Long) => true,
        (schema::Kind::Truth, Kind::Truth) => true,
        (schema::Kind::Time, Kind::Time(_) | Kind::Long) => true,
        (_, _) => false,
    });
    if is_right { Ok(Some(place)) } else { Err(FileError::WrongKind { column: column.name, kind: column.kind.name() }) }
}

impl<R: Read + Seek> OpenGroup<R> {
    fn read(&mut self, row: usize, cells: &mut Cells, bytes: &mut Vec<u8>) -> Result<(), FileError> {
        let columns = self.columns.iter_mut().zip(cells.texts.iter_mut().zip(&mut cells.numbers));
        for (column, (text, number)) in columns {
            let Some(column) = column else { continue };
            if column.kind().is_bytes() {
                if let Some(value) = column.next(row)? {
                    let start = bytes.len();
                    bytes.extend_from_slice(value);
                    *text = Some(start..bytes.len());
                }
            } else {
                let kind = column.kind();
                *number = column.next_number(row)?.map(|number| in_seconds(kind, number));
            }
        }
        Ok(())
    }
}

fn in_seconds(kind: Kind, number: i64) -> i64 {
    let per_second = match kind {
        Kind::Time(TimeUnit::Milliseconds) => 1_000,
        Kind::Time(TimeUnit::Microseconds) => 1_000_000,
        Kind::Time(TimeUnit::Nanoseconds) => 1_000_000_000,
        Kind::Text | Kind::Bytes | Kind::Fixed(_) | Kind::Truth | Kind::Short | Kind::Long => return number,
    };
    number.div_euclid(per_second)
}

impl Batch {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// One row after another; text that is none counts as an error of its row.
    pub fn rows(&self) -> impl Iterator<Item = Result<Row<'_>, RowError>> {
        self.rows.iter().map(|cells| self.row(cells))
    }

    fn row(&self, cells: &Cells) -> Result<Row<'_>, RowError> {
        let text = |place: usize, name: &'static str| {
            let bytes = cells.texts.get(place).and_then(Option::as_ref).and_then(|range| self.bytes.get(range.clone()));
            bytes.map(std::str::from_utf8).transpose().map_err(|error| RowError::unreadable(name, &error))
        };
        let number = |place: usize| cells.numbers.get(place).copied().flatten();
        let block_number = number(place::BLOCK_NUMBER).map(u64::try_from).transpose();
        Ok(Row {
            version: number(place::VERSION),
            chain: text(place::CHAIN, "chain")?,
            hash: text(place::HASH, "hash")?,
            wallet: text(place::WALLET, "wallet")?,
            block_number: block_number.map_err(|error| RowError::unreadable("block_number", &error))?,
            block_time: number(place::BLOCK_TIME),
            is_final: number(place::FINAL).map(|truth| truth != 0),
            transaction: text(place::TRANSACTION, "transaction")?,
            receipt: text(place::RECEIPT, "receipt")?,
            internal: text(place::INTERNAL, "internal")?,
            known: text(place::KNOWN, "known")?,
        })
    }

    /// A later version is no matter of one row: what is in the file is not known here.
    fn check_last_version(&self, row: usize) -> Result<(), FileError> {
        let version = self.rows.last().and_then(|cells| cells.numbers.get(place::VERSION).copied().flatten());
        match (Row { version, ..Row::default() }).check_version() {
            Err(error @ RowError::FutureVersion(_)) => Err(FileError::Row { row, error }),
            _ => Ok(()),
        }
    }
}
