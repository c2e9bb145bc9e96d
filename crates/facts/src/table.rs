//! Rows by their columns, until a row group is written.

use std::io::Write;

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;

/// How a column is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Few different ones: by their numbers in a dictionary.
    Word,
    /// Nearly all different, and worth knowing the least and the greatest of.
    Name,
    /// Long, and read only where its row is.
    Document,
    Truth,
    Short,
    Long,
    /// Milliseconds since 1970, UTC.
    Time,
}

impl Form {
    fn physical(self) -> (PhysicalType, Option<LogicalType>) {
        match self {
            Self::Word | Self::Name | Self::Document => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Self::Truth => (PhysicalType::BOOLEAN, None),
            Self::Short => (PhysicalType::INT32, None),
            Self::Long => (PhysicalType::INT64, None),
            Self::Time => (PhysicalType::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
        }
    }
}

/// A column of a table that is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) is_required: bool,
}

/// The cells of one column that are not empty, and for each row one or zero, whether it has one.
#[derive(Debug)]
pub(crate) enum Cells {
    Text(Vec<ByteArray>, Vec<i16>),
    Truth(Vec<bool>, Vec<i16>),
    Short(Vec<i32>, Vec<i16>),
    Long(Vec<i64>, Vec<i16>),
}

/// One cell.
#[derive(Debug)]
pub(crate) enum Cell {
    Empty,
    Word(&'static str),
    Text(Bytes),
    Truth(bool),
    Short(i32),
    Long(i64),
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(Bytes::from(text))
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(cell: Option<T>) -> Self {
        cell.map_or(Self::Empty, Into::into)
    }
}

impl From<bool> for Cell {
    fn from(truth: bool) -> Self {
        Self::Truth(truth)
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Long(number)
    }
}

impl Cells {
    pub(crate) fn new(form: Form) -> Self {
        match form {
            Form::Word | Form::Name | Form::Document => Self::Text(Vec::new(), Vec::new()),
            Form::Truth => Self::Truth(Vec::new(), Vec::new()),
            Form::Short => Self::Short(Vec::new(), Vec::new()),
            Form::Long | Form::Time => Self::Long(Vec::new(), Vec::new()),
        }
    }

    /// A cell of another kind than the column's counts as empty; no caller has one.
    pub(crate) fn push(&mut self, cell: Cell) {
        let levels = match (self, cell) {
            (Self::Text(values, levels), Cell::Word(word)) => {
                values.push(ByteArray::from(Bytes::from_static(word.as_bytes())));
                return levels.push(1);
            }
            (Self::Text(values, levels), Cell::Text(text)) => {
                values.push(ByteArray::from(text));
                return levels.push(1);
            }
            (Self::Truth(values, levels), Cell::Truth(truth)) => {
                values.push(truth);
                return levels.push(1);
            }
            (Self::Short(values, levels), Cell::Short(number)) => {
                values.push(number);
                return levels.push(1);
            }
            (Self::Long(values, levels), Cell::Long(number)) => {
                values.push(number);
                return levels.push(1);
            }
            (Self::Text(_, levels) | Self::Truth(_, levels) | Self::Short(_, levels) | Self::Long(_, levels), _) => {
                levels
            }
        };
        levels.push(0);
    }

    pub(crate) fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Text(values, levels), Self::Text(more, more_levels)) => {
                values.extend(more);
                levels.extend(more_levels);
            }
            (Self::Truth(values, levels), Self::Truth(more, more_levels)) => {
                values.extend(more);
                levels.extend(more_levels);
            }
            (Self::Short(values, levels), Self::Short(more, more_levels)) => {
                values.extend(more);
                levels.extend(more_levels);
            }
            (Self::Long(values, levels), Self::Long(more, more_levels)) => {
                values.extend(more);
                levels.extend(more_levels);
            }
            // Both are of one table.
            (_, _) => {}
        }
    }
}

pub(crate) fn file<W: Write + Send>(out: W, name: &str, columns: &[Written]) -> Result<SerializedFileWriter<W>> {
    // Of the codecs the quickest, and the one that every reader has.
    let mut properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let mut fields = Vec::with_capacity(columns.len());
    for Written { name, form, is_required } in columns {
        let repetition = if *is_required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
        let (physical, logical) = form.physical();
        let field = Type::primitive_type_builder(name, physical).with_logical_type(logical);
        fields.push(Arc::new(field.with_repetition(repetition).build()?));
        if matches!(form, Form::Name | Form::Document) {
            properties = properties.set_column_dictionary_enabled((*name).into(), false);
        }
        if *form == Form::Document {
            properties = properties.set_column_statistics_enabled((*name).into(), EnabledStatistics::None);
        }
    }
    let schema: TypePtr = Arc::new(Type::group_type_builder(name).with_fields(fields).build()?);
    SerializedFileWriter::new(out, schema, Arc::new(properties.build()))
}

pub(crate) fn write_group<W: Write + Send>(
    file: &mut SerializedFileWriter<W>,
    columns: &[Written],
    cells: &[Cells],
) -> Result<()> {
    let mut group = file.next_row_group()?;
    for (column, cells) in columns.iter().zip(cells) {
        let is_required = column.is_required;
        match cells {
            Cells::Text(values, levels) => write_column::<_, ByteArrayType>(&mut group, values, levels, is_required)?,
            Cells::Truth(values, levels) => write_column::<_, BoolType>(&mut group, values, levels, is_required)?,
            Cells::Short(values, levels) => write_column::<_, Int32Type>(&mut group, values, levels, is_required)?,
            Cells::Long(values, levels) => write_column::<_, Int64Type>(&mut group, values, levels, is_required)?,
        }
    }
    group.close()?;
    Ok(())
}

fn write_column<W: Write + Send, T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: &[i16],
    is_required: bool,
) -> Result<()> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, (!is_required).then_some(levels), None)?;
        column.close()?;
    }
    Ok(())
}
