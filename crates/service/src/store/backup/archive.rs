//! The file: gzip, one JSON value a line. First what it is, then each table's name and columns before its rows, last how many rows there
//! were and the SHA-256 of every line before. The checksum finds damage; it is no protection against a forged file.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};

use alloy_primitives::hex;
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::BackupError;
use super::tables::{ColumnKind, Table};

/// Raised when a taxon that knows only earlier formats would misread a file.
const FORMAT: u64 = 1;
/// The longest row is a reading's note; anything near this is no row of ours.
const LINE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Rows of each table.
pub type Counts = BTreeMap<String, u64>;

/// The first line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct About {
    taxon_backup: u64,
    /// The version of taxon that wrote it, and on which engine.
    pub taxon: String,
    pub engine: String,
    /// Milliseconds since 1970.
    pub taken_at: i64,
}

#[derive(Serialize, Deserialize)]
struct TableHead {
    table: String,
    columns: Vec<String>,
}

/// The last line.
#[derive(Serialize, Deserialize)]
struct End {
    rows: Counts,
    sha256: String,
}

/// One value of a row.
#[derive(Debug)]
pub(super) enum Cell {
    Text(Option<String>),
    Number(Option<i64>),
    Flag(Option<bool>),
    Bytes(Option<Vec<u8>>),
}

impl Cell {
    fn written(self) -> Value {
        match self {
            Self::Text(text) => text.into(),
            Self::Number(number) => number.into(),
            Self::Flag(flag) => flag.into(),
            Self::Bytes(bytes) => bytes.map(hex::encode).into(),
        }
    }

    fn read(kind: ColumnKind, value: Value) -> Option<Self> {
        let is_null = value.is_null();
        let cell = match (kind, value) {
            (ColumnKind::Text, Value::String(text)) => Self::Text(Some(text)),
            (ColumnKind::Text, Value::Null) => Self::Text(None),
            (ColumnKind::Number, value) => Self::Number(value.as_i64()),
            (ColumnKind::Flag, value) => Self::Flag(value.as_bool()),
            (ColumnKind::Bytes, value) => Self::Bytes(value.as_str().and_then(|text| hex::decode(text).ok())),
            (ColumnKind::Text, _) => return None,
        };
        // A value of the wrong type must be an error and not NULL.
        (cell.is_null() == is_null).then_some(cell)
    }

    fn is_null(&self) -> bool {
        match self {
            Self::Text(value) => value.is_none(),
            Self::Number(value) => value.is_none(),
            Self::Flag(value) => value.is_none(),
            Self::Bytes(value) => value.is_none(),
        }
    }
}

pub(super) struct ArchiveWriter<W: Write> {
    out: GzEncoder<W>,
    digest: Sha256,
    rows: Counts,
    table: &'static str,
}

impl<W: Write> ArchiveWriter<W> {
    pub(super) fn start(out: W, engine: &str, taken_at: i64) -> Result<Self, BackupError> {
        let out = GzEncoder::new(out, Compression::default());
        let mut writer = Self { out, digest: Sha256::new(), rows: Counts::new(), table: "" };
        let taxon = env!("CARGO_PKG_VERSION").to_owned();
        writer.line(&About { taxon_backup: FORMAT, taxon, engine: engine.to_owned(), taken_at })?;
        Ok(writer)
    }

    pub(super) fn table(&mut self, table: &Table) -> Result<(), BackupError> {
        self.table = table.name;
        self.rows.insert(table.name.to_owned(), 0);
        let columns = table.names().into_iter().map(str::to_owned).collect();
        self.line(&TableHead { table: table.name.to_owned(), columns })
    }

    pub(super) fn row(&mut self, cells: Vec<Cell>) -> Result<(), BackupError> {
        if let Some(count) = self.rows.get_mut(self.table) {
            *count = count.saturating_add(1);
        }
        self.line(&cells.into_iter().map(Cell::written).collect::<Vec<Value>>())
    }

    pub(super) fn finish(mut self) -> Result<(W, Counts), BackupError> {
        let rows = std::mem::take(&mut self.rows);
        let sha256 = hex::encode(self.digest.clone().finalize());
        self.line(&End { rows: rows.clone(), sha256 })?;
        Ok((self.out.finish()?, rows))
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), BackupError> {
        let mut line = serde_json::to_vec(value).map_err(std::io::Error::from)?;
        line.push(b'\n');
        self.digest.update(&line);
        Ok(self.out.write_all(&line)?)
    }
}

/// The next part of a file.
pub(super) enum ArchivePart {
    Table {
        table: &'static Table,
        columns: Vec<&'static str>,
    },
    Row(Vec<Cell>),
    /// The end: all rows were read and the checksum matched.
    End(Counts),
}

pub(super) struct ArchiveReader<R: Read> {
    input: BufReader<GzDecoder<BufReader<R>>>,
    digest: Sha256,
    rows: Counts,
    table: Option<(&'static Table, Vec<ColumnKind>)>,
    pub(super) about: About,
}

impl<R: Read> ArchiveReader<R> {
    /// Reads the first line: a file that does not begin like a backup is refused.
    pub(super) fn open(input: R) -> Result<Self, BackupError> {
        let mut input = BufReader::new(GzDecoder::new(BufReader::new(input)));
        let line = next_line(&mut input).map_err(|_| BackupError::NoBackup)?.ok_or(BackupError::NoBackup)?;
        let first: Value = serde_json::from_slice(&line).map_err(|_| BackupError::NoBackup)?;
        let format = first.get("taxon_backup").and_then(Value::as_u64).ok_or(BackupError::NoBackup)?;
        if format > FORMAT {
            return Err(BackupError::Newer);
        }
        let about = serde_json::from_value(first).map_err(|_| BackupError::NoBackup)?;
        let digest = Sha256::new_with_prefix(&line);
        Ok(Self { input, digest, rows: Counts::new(), table: None, about })
    }

    pub(super) fn next(&mut self) -> Result<ArchivePart, BackupError> {
        let line = next_line(&mut self.input)?.ok_or(BackupError::Damaged("it ends too early"))?;
        let so_far = self.digest.clone();
        self.digest.update(&line);
        match serde_json::from_slice(&line).map_err(|_| BackupError::Damaged("a line is no JSON"))? {
            Value::Array(values) => self.row(values),
            value if value.get("table").is_some() => {
                let head = serde_json::from_value(value).map_err(|_| BackupError::Damaged("a table has no columns"))?;
                self.head(head)
            }
            value => {
                let end = serde_json::from_value(value).map_err(|_| BackupError::Damaged("a line is no part of it"))?;
                self.end(end, so_far)
            }
        }
    }

    fn head(&mut self, head: TableHead) -> Result<ArchivePart, BackupError> {
        let table = Table::named(&head.table).ok_or(BackupError::Newer)?;
        let columns: Option<Vec<_>> = head.columns.iter().map(|name| table.column(name)).collect();
        let (columns, kinds) = columns.ok_or(BackupError::Newer)?.into_iter().unzip();
        if self.rows.insert(head.table, 0).is_some() {
            return Err(BackupError::Damaged("a table is there twice"));
        }
        self.table = Some((table, kinds));
        Ok(ArchivePart::Table { table, columns })
    }

    fn row(&mut self, values: Vec<Value>) -> Result<ArchivePart, BackupError> {
        let (table, kinds) = self.table.as_ref().ok_or(BackupError::Damaged("a row belongs to no table"))?;
        let wrong = || BackupError::Damaged("a row does not fit its table");
        if values.len() != kinds.len() {
            return Err(wrong());
        }
        let cells = kinds.iter().zip(values).map(|(kind, value)| Cell::read(*kind, value));
        let cells = cells.collect::<Option<_>>().ok_or_else(wrong)?;
        if let Some(count) = self.rows.get_mut(table.name) {
            *count = count.saturating_add(1);
        }
        Ok(ArchivePart::Row(cells))
    }

    /// Reads past the last line too, since gzip's own checksum follows it, and looks whether the file goes on behind that.
    fn end(&mut self, end: End, so_far: Sha256) -> Result<ArchivePart, BackupError> {
        if end.sha256 != hex::encode(so_far.finalize()) || end.rows != self.rows {
            return Err(BackupError::Damaged("its sum is not that of its rows"));
        }
        if next_line(&mut self.input)?.is_some() || !self.input.get_mut().get_mut().fill_buf()?.is_empty() {
            return Err(BackupError::Damaged("something stands behind its end"));
        }
        Ok(ArchivePart::End(end.rows))
    }
}

/// With its line feed; `None` at the end.
fn next_line(input: &mut impl BufRead) -> Result<Option<Vec<u8>>, BackupError> {
    let mut line = Vec::new();
    input.take(LINE_BYTES_MAX).read_until(b'\n', &mut line).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => BackupError::Damaged("it ends too early"),
        std::io::ErrorKind::InvalidInput | std::io::ErrorKind::InvalidData => {
            BackupError::Damaged("it cannot be decompressed")
        }
        _ => BackupError::Io(error),
    })?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(line)),
        Some(_) => Err(BackupError::Damaged("a line has no end")),
    }
}
