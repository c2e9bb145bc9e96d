//! All that is known, as a table by columns for databases and notebooks. The columns are those of `csv`; cells are typed, so that none can be taken for a
//! formula and none is quoted.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use super::everything::{COLUMNS, cells};
use super::{Options, Rows};
use crate::journal::bookings;

/// Rows that are held before they are written together. A row is about 1 KiB.
const GROUP_ROWS_MAX: usize = 16_384;
const GROUP_BYTES_MAX: usize = 32 << 20;

/// Columns that are not text. Amounts are: they have up to 78 digits, and a `DECIMAL` has 38 in DuckDB and Spark.
const TYPED: [(&str, Kind); 8] = [
    ("time", Kind::Time),
    ("taxable", Kind::Truth),
    ("row_taxable", Kind::Truth),
    ("confidence", Kind::Number),
    ("needs_review", Kind::Truth),
    ("price_time", Kind::Time),
    ("decided_at", Kind::Time),
    ("signed_at", Kind::Time),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Truth,
    Number,
    /// Milliseconds since 1970, UTC.
    Time,
}

pub(super) fn write(rows: Rows<'_>, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    // The writer wants to own what it writes to, in any thread; `out` is lent. So it writes here, and a row group at a time is handed on.
    let written = Written::default();
    // What data lakes are packed with: whatever reads Parquet today reads it.
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let schema = schema().map_err(io::Error::other)?;
    let mut file =
        SerializedFileWriter::new(written.clone(), schema, Arc::new(properties)).map_err(io::Error::other)?;
    let currency = options.prices.as_ref().map_or("", |prices| prices.currency());
    let mut group = Group::new();
    for reading in rows {
        let reading = reading?;
        let bookings = bookings(&reading.row, options.rules()).map_err(io::Error::other)?;
        for booking in &bookings {
            group.push(cells(&reading, Some(booking), currency))?;
        }
        if bookings.is_empty() {
            group.push(cells(&reading, None, currency))?;
        }
        if group.rows >= GROUP_ROWS_MAX || group.bytes >= GROUP_BYTES_MAX {
            write_group(&mut file, &group).map_err(io::Error::other)?;
            written.hand_on(out)?;
            group = Group::new();
        }
    }
    if group.rows > 0 {
        write_group(&mut file, &group).map_err(io::Error::other)?;
    }
    file.close().map_err(io::Error::other)?;
    written.hand_on(out)?;
    out.flush()
}

fn schema() -> Result<TypePtr> {
    let mut columns = Vec::with_capacity(COLUMNS.len());
    for name in COLUMNS {
        let (physical, logical) = match kind(name) {
            Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Truth => (PhysicalType::BOOLEAN, None),
            Kind::Number => (PhysicalType::INT32, None),
            Kind::Time => (PhysicalType::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
        };
        let column = Type::primitive_type_builder(name, physical).with_logical_type(logical);
        columns.push(Arc::new(column.with_repetition(Repetition::OPTIONAL).build()?));
    }
    Ok(Arc::new(Type::group_type_builder("postings").with_fields(columns).build()?))
}

fn kind(name: &str) -> Kind {
    TYPED.iter().find(|(typed, _)| *typed == name).map_or(Kind::Text, |(_, kind)| *kind)
}

/// Rows, by their columns.
struct Group {
    columns: Vec<Values>,
    rows: usize,
    bytes: usize,
}

/// The cells of one column that are not empty, and for each row one or zero, whether it has one.
enum Values {
    Text(Vec<ByteArray>, Vec<i16>),
    Truth(Vec<bool>, Vec<i16>),
    Number(Vec<i32>, Vec<i16>),
    Time(Vec<i64>, Vec<i16>),
}

impl Group {
    fn new() -> Self {
        let columns = COLUMNS.map(|name| match kind(name) {
            Kind::Text => Values::Text(Vec::new(), Vec::new()),
            Kind::Truth => Values::Truth(Vec::new(), Vec::new()),
            Kind::Number => Values::Number(Vec::new(), Vec::new()),
            Kind::Time => Values::Time(Vec::new(), Vec::new()),
        });
        Self { columns: columns.into(), rows: 0, bytes: 0 }
    }

    fn push(&mut self, cells: [String; COLUMNS.len()]) -> io::Result<()> {
        self.rows = self.rows.saturating_add(1);
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            self.bytes = self.bytes.saturating_add(cell.len());
            let has_value = !cell.is_empty();
            let levels = match column {
                Values::Text(values, levels) => {
                    values.extend(has_value.then(|| ByteArray::from(cell.into_bytes())));
                    levels
                }
                Values::Truth(values, levels) => {
                    values.extend(has_value.then_some(cell == "true"));
                    levels
                }
                Values::Number(values, levels) => {
                    values.extend(has_value.then(|| cell.parse::<i32>()).transpose().map_err(io::Error::other)?);
                    levels
                }
                Values::Time(values, levels) => {
                    let time = has_value.then(|| cell.parse::<jiff::Timestamp>()).transpose();
                    values.extend(time.map_err(io::Error::other)?.map(jiff::Timestamp::as_millisecond));
                    levels
                }
            };
            levels.push(i16::from(has_value));
        }
        Ok(())
    }
}

fn write_group(file: &mut SerializedFileWriter<Written>, group: &Group) -> Result<()> {
    let mut written = file.next_row_group()?;
    for column in &group.columns {
        match column {
            Values::Text(values, levels) => write_column::<ByteArrayType>(&mut written, values, levels)?,
            Values::Truth(values, levels) => write_column::<BoolType>(&mut written, values, levels)?,
            Values::Number(values, levels) => write_column::<Int32Type>(&mut written, values, levels)?,
            Values::Time(values, levels) => write_column::<Int64Type>(&mut written, values, levels)?,
        }
    }
    written.close()?;
    Ok(())
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Written>,
    values: &[T::T],
    levels: &[i16],
) -> Result<()> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, Some(levels), None)?;
        column.close()?;
    }
    Ok(())
}

/// What was written and not yet handed on.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn hand_on(&self, out: &mut dyn Write) -> io::Result<()> {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        out.write_all(&bytes)
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_typed_column_is_one() {
        assert!(TYPED.iter().all(|(name, _)| COLUMNS.contains(name)));
    }
}
