//! The footer: which columns there are, and where each part of each stands.

use std::io::{Read, Seek, SeekFrom};

use super::thrift::{Seen, walk};
use super::{ColumnsError, Limits, MAGIC, fault};

/// A table of a thousand row groups and thirty columns has about 5 MiB.
const FOOTER_BYTES_MAX: u64 = 16 << 20;
/// The length of the footer, and the magic again.
const TAIL_BYTES: u64 = 8;
/// Columns and the groups that they are nested in, for each column that may be.
const SCHEMA_ELEMENTS_PER_COLUMN_MAX: usize = 4;
const ROW_GROUPS_MAX: usize = 10_000;
/// Columns of all row groups together.
const CHUNKS_MAX: usize = 100_000;
/// The magic of a file whose footer is encrypted.
const MAGIC_ENCRYPTED: [u8; 4] = *b"PARE";

#[derive(Debug)]
pub struct Footer {
    pub columns: Vec<Column>,
    pub groups: Vec<Group>,
}

#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    /// None where it holds something else than is read here, or is nested.
    pub kind: Option<Kind>,
    /// Whether a row may have nothing there.
    pub is_optional: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// Text or raw bytes: the column does not say which.
    Bytes,
    /// Raw bytes of this length.
    Fixed(usize),
    Truth,
    /// A whole number of 32 or of 64 bits.
    Short,
    Long,
    /// Since 1970.
    Time(TimeUnit),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

impl Kind {
    /// Values are bytes, and not numbers.
    pub fn is_bytes(self) -> bool {
        matches!(self, Self::Text | Self::Bytes | Self::Fixed(_))
    }

    /// What every value takes in a page, where that is fixed.
    pub(super) fn width(self) -> Option<usize> {
        match self {
            Self::Text | Self::Bytes | Self::Truth => None,
            Self::Fixed(length) => Some(length),
            Self::Short => Some(4),
            Self::Long | Self::Time(_) => Some(8),
        }
    }
}

#[derive(Debug, Default)]
pub struct Group {
    pub rows: usize,
    /// One for each column.
    pub chunks: Vec<Chunk>,
}

/// The part of a column that belongs to one row group.
#[derive(Debug, Default)]
pub struct Chunk {
    pub codec: i64,
    pub start: u64,
    pub bytes: u64,
}

impl Footer {
    /// Of a file of so many bytes.
    pub fn read(table: &mut (impl Read + Seek), length: u64, limits: &Limits) -> Result<Self, ColumnsError> {
        let (bytes, footer_length) = bytes(table, length)?;
        let mut draft = Draft { columns_max: limits.columns_max, ..Draft::default() };
        walk(&mut bytes.as_slice(), footer_length, &mut |path, seen| draft.see(path, &seen))?;
        let footer = Self { columns: columns(&draft.elements, limits.columns_max)?, groups: draft.groups };
        is_whole(&footer, length, limits.rows_max)?;
        Ok(footer)
    }

    pub fn rows(&self) -> usize {
        self.groups.iter().fold(0, |rows, group| rows.saturating_add(group.rows))
    }
}

/// The bytes of the footer, and how many it says there are.
fn bytes(table: &mut (impl Read + Seek), length: u64) -> Result<(Vec<u8>, u64), ColumnsError> {
    let tail_start = length.checked_sub(TAIL_BYTES).ok_or_else(|| fault("it has no end"))?;
    table.seek(SeekFrom::Start(tail_start))?;
    let (mut footer_length, mut magic) = ([0; 4], [0; 4]);
    table.read_exact(&mut footer_length)?;
    table.read_exact(&mut magic)?;
    match magic {
        MAGIC => {}
        MAGIC_ENCRYPTED => return Err(fault("it is encrypted")),
        _ => return Err(fault("it begins as Parquet but does not end so; it may be cut off")),
    }
    let footer_length = u64::from(u32::from_le_bytes(footer_length));
    if footer_length > FOOTER_BYTES_MAX {
        return Err(fault(format!("its footer is longer than {FOOTER_BYTES_MAX} bytes")));
    }
    let start = tail_start.checked_sub(footer_length).ok_or_else(|| fault("its footer is longer than the file"))?;
    table.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    table.take(footer_length).read_to_end(&mut bytes)?;
    Ok((bytes, footer_length))
}

/// The footer as far as it was read.
#[derive(Default)]
struct Draft {
    columns_max: usize,
    elements: Vec<Element>,
    groups: Vec<Group>,
    chunks_count: usize,
    data_start: i64,
    dictionary_start: Option<i64>,
}

/// A column, or a group of them.
#[derive(Debug, Default)]
struct Element {
    name: String,
    physical: Option<i64>,
    length: i64,
    repetition: i64,
    children: i64,
    is_text: bool,
    time: Option<TimeUnit>,
    /// It is annotated as something else: a decimal, a date, …
    is_other: bool,
}

impl Draft {
    /// The numbers are those of `parquet.thrift`: `FileMetaData` is the root, 2 its `schema`, 4 its `row_groups`, 4.1 their `columns`, 4.1.3 the
    /// `meta_data` of one.
    fn see(&mut self, path: &[i16], seen: &Seen<'_>) -> Result<(), ColumnsError> {
        match (path, seen) {
            ([2], Seen::Begin) => {
                let most = self.columns_max.saturating_mul(SCHEMA_ELEMENTS_PER_COLUMN_MAX);
                if self.elements.len() >= most {
                    return Err(fault(format!("its schema has more than {most} elements")));
                }
                self.elements.push(Element::default());
            }
            ([2, ..], _) => {
                if let Some(element) = self.elements.last_mut() {
                    element.see(path, seen)?;
                }
            }
            ([4], Seen::Begin) => {
                if self.groups.len() >= ROW_GROUPS_MAX {
                    return Err(fault(format!("it has more than {ROW_GROUPS_MAX} row groups")));
                }
                self.groups.push(Group::default());
            }
            ([4, 1], Seen::Begin) => {
                self.chunks_count = self.chunks_count.saturating_add(1);
                if self.chunks_count > CHUNKS_MAX {
                    return Err(fault(format!("its row groups have more than {CHUNKS_MAX} columns together")));
                }
                (self.data_start, self.dictionary_start) = (0, None);
                self.group()?.chunks.push(Chunk::default());
            }
            ([4, 1, 1], Seen::Bytes([_, ..]) | Seen::LongBytes) => {
                return Err(fault("its columns are in other files"));
            }
            ([4, 1, 8], Seen::Begin) => return Err(fault("a column of it is encrypted")),
            ([4, 1, 3, 4], Seen::Integer(codec)) => self.chunk()?.codec = *codec,
            ([4, 1, 3, 7], Seen::Integer(bytes)) => self.chunk()?.bytes = counted(*bytes)?,
            ([4, 1, 3, 9], Seen::Integer(start)) => self.data_start = *start,
            ([4, 1, 3, 11], Seen::Integer(start)) => self.dictionary_start = Some(*start),
            ([4, 1, 3], Seen::End) => {
                // Some writers put 0 where there is no dictionary.
                let before = self.dictionary_start.filter(|start| (1..self.data_start).contains(start));
                let start = counted(before.unwrap_or(self.data_start))?;
                self.chunk()?.start = start;
            }
            ([4, 3], Seen::Integer(rows)) => {
                let rows = usize::try_from(*rows).map_err(|_| fault("a row group has no number of rows"))?;
                self.group()?.rows = rows;
            }
            _ => {}
        }
        Ok(())
    }

    fn group(&mut self) -> Result<&mut Group, ColumnsError> {
        self.groups.last_mut().ok_or_else(|| fault("it has no row groups"))
    }

    fn chunk(&mut self) -> Result<&mut Chunk, ColumnsError> {
        self.group()?.chunks.last_mut().ok_or_else(|| fault("a row group has no columns"))
    }
}

impl Element {
    /// The fields of `SchemaElement`: 6 is `converted_type`, 10 the union `logicalType`, whose members 1, 4 and 12 are text, 8 is a time with its unit
    /// and 10 a whole number.
    fn see(&mut self, path: &[i16], seen: &Seen<'_>) -> Result<(), ColumnsError> {
        match (path, seen) {
            ([_, 1], Seen::Integer(physical)) => self.physical = Some(*physical),
            ([_, 2], Seen::Integer(length)) => self.length = *length,
            ([_, 3], Seen::Integer(repetition)) => self.repetition = *repetition,
            ([_, 4], Seen::Bytes(name)) => self.name = String::from_utf8_lossy(name).into_owned(),
            ([_, 4], Seen::LongBytes) => return Err(fault("the name of a column is too long")),
            ([_, 5], Seen::Integer(children)) => self.children = *children,
            ([_, 6], Seen::Integer(UTF8 | ENUM | JSON)) => self.is_text = true,
            ([_, 6], Seen::Integer(TIMESTAMP_MILLIS)) => self.time = Some(TimeUnit::Milliseconds),
            ([_, 6], Seen::Integer(TIMESTAMP_MICROS)) => self.time = Some(TimeUnit::Microseconds),
            ([_, 6], Seen::Integer(UINT_8..=INT_64)) => {}
            ([_, 6], Seen::Integer(_)) => self.is_other = true,
            ([_, 10, 1 | 4 | 12], Seen::Begin) => self.is_text = true,
            ([_, 10, 8, 2, unit], Seen::Begin) => {
                self.time = match unit {
                    1 => Some(TimeUnit::Milliseconds),
                    2 => Some(TimeUnit::Microseconds),
                    _ => Some(TimeUnit::Nanoseconds),
                }
            }
            ([_, 10, 8 | 10], Seen::Begin) => {}
            ([_, 10, _], Seen::Begin) => self.is_other = true,
            _ => {}
        }
        Ok(())
    }

    fn kind(&self) -> Option<Kind> {
        if self.is_other {
            return None;
        }
        match (self.physical?, self.time) {
            (BYTE_ARRAY, None) if self.is_text => Some(Kind::Text),
            (BYTE_ARRAY, None) => Some(Kind::Bytes),
            (FIXED_LEN_BYTE_ARRAY, None) if !self.is_text => {
                usize::try_from(self.length).ok().filter(|length| *length > 0).map(Kind::Fixed)
            }
            (BOOLEAN, None) => Some(Kind::Truth),
            (INT32, None) => Some(Kind::Short),
            (INT64, None) => Some(Kind::Long),
            (INT64, Some(unit)) => Some(Kind::Time(unit)),
            _ => None,
        }
    }
}

/// Of `parquet.thrift`: kinds of columns, repetitions, and what text, times and numbers are annotated as.
const BOOLEAN: i64 = 0;
const INT32: i64 = 1;
const INT64: i64 = 2;
const BYTE_ARRAY: i64 = 6;
const FIXED_LEN_BYTE_ARRAY: i64 = 7;
const REQUIRED: i64 = 0;
const OPTIONAL: i64 = 1;
const UTF8: i64 = 0;
const ENUM: i64 = 4;
const JSON: i64 = 19;
const TIMESTAMP_MILLIS: i64 = 9;
const TIMESTAMP_MICROS: i64 = 10;
const UINT_8: i64 = 11;
const INT_64: i64 = 18;

/// The leaves of the schema, which is a tree in the order of a walk through it: each element says how many follow below it.
fn columns(elements: &[Element], columns_max: usize) -> Result<Vec<Column>, ColumnsError> {
    let (root, below) = elements.split_first().ok_or_else(|| fault("it has no schema"))?;
    let mut open = vec![root.children];
    let mut columns = Vec::new();
    for element in below {
        while open.last().is_some_and(|left| *left <= 0) {
            open.pop();
        }
        let is_flat = open.len() == 1;
        let left = open.last_mut().ok_or_else(|| fault("its schema is no tree"))?;
        *left = left.saturating_sub(1);
        if element.children > 0 {
            open.push(element.children);
            continue;
        }
        if columns.len() >= columns_max {
            return Err(fault(format!("it has more than {columns_max} columns")));
        }
        let is_one = is_flat && matches!(element.repetition, REQUIRED | OPTIONAL);
        columns.push(Column {
            name: element.name.clone(),
            kind: element.kind().filter(|_| is_one),
            is_optional: element.repetition == OPTIONAL,
        });
    }
    Ok(columns)
}

fn is_whole(footer: &Footer, length: u64, rows_max: usize) -> Result<(), ColumnsError> {
    if footer.rows() > rows_max {
        return Err(ColumnsError::TooManyRows(rows_max));
    }
    for group in &footer.groups {
        if group.chunks.len() != footer.columns.len() {
            return Err(fault("a row group has other columns than the schema"));
        }
        let is_inside = |chunk: &Chunk| chunk.start.checked_add(chunk.bytes).is_some_and(|end| end <= length);
        if !group.chunks.iter().all(is_inside) {
            return Err(fault("a column is outside of the file"));
        }
    }
    Ok(())
}

fn counted(integer: i64) -> Result<u64, ColumnsError> {
    u64::try_from(integer).map_err(|_| fault("a place in the file is negative"))
}
