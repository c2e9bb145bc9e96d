//! Verdicts as a table: what people filter and count by as columns, and the whole answer as JSON beside it.

use std::io::{self, Write};

use bytes::Bytes;
use engine::Classification;
use parquet::file::writer::SerializedFileWriter;

use crate::table::{self, Cell, Cells, Form, Written};

/// Rows that are held before they are written together. A row is 2 to 4 KiB.
const GROUP_ROWS_MAX: usize = 16_384;
const GROUP_BYTES_MAX: usize = 64 << 20;
/// Room for a usual answer.
const ANSWER_BYTES: usize = 2 << 10;

/// A column of the table of verdicts, for the documentation.
#[derive(Debug)]
pub struct VerdictColumn {
    pub name: &'static str,
    /// In Markdown.
    pub about: &'static str,
    form: Form,
    is_required: bool,
}

const fn column(name: &'static str, form: Form, is_required: bool, about: &'static str) -> VerdictColumn {
    VerdictColumn { name, about, form, is_required }
}

impl VerdictColumn {
    /// As people and their tools call it.
    pub fn kind(&self) -> &'static str {
        match self.form {
            Form::Word | Form::Name => "text",
            Form::Document => "text (JSON)",
            Form::Truth => "BOOLEAN",
            Form::Short => "INT32",
            Form::Long => "INT64",
            Form::Time => "TIMESTAMP (milliseconds, UTC)",
        }
    }
}

pub const VERDICT_COLUMNS: [VerdictColumn; 17] = [
    column("hash", Form::Name, false, "as in the facts; empty where that was none"),
    column("chain", Form::Word, false, "slug of the chain"),
    column("perspective", Form::Word, false, "the address whose view it is"),
    column("block_number", Form::Long, false, "on Solana the slot"),
    column("time", Form::Time, false, "of the block, UTC"),
    column("final", Form::Truth, false, "whether the chain calls the block final"),
    column("category", Form::Word, true, "what it was"),
    column("treatment", Form::Word, true, "how it is treated"),
    column("taxable", Form::Truth, false, "empty is undetermined, and always for review"),
    column("confidence", Form::Short, true, "0 to 100: how far the sources agree"),
    column("needs_review", Form::Truth, true, "a person must look"),
    column("ledger_action", Form::Word, false, "suggested ledger label"),
    column("protocol", Form::Word, false, "where it was identified"),
    column("called", Form::Word, false, "the contract or program that the transaction called"),
    column("error", Form::Word, false, "why this row was not classified; such a row must not be booked"),
    column("engine", Form::Word, true, "version of the engine and digest of its rules"),
    column("answer", Form::Document, true, "the whole answer as JSON, byte for byte as over REST"),
];

fn columns() -> [Written; VERDICT_COLUMNS.len()] {
    VERDICT_COLUMNS.each_ref().map(|column| Written {
        name: column.name,
        form: column.form,
        is_required: column.is_required,
    })
}

/// Verdicts of some rows, made where they are read and written where their turn comes.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) rows: usize,
    /// The answers as JSON, one a line.
    lines: Vec<u8>,
    columns: Vec<Cells>,
}

/// A part while it is made: each verdict is written down while it is at hand, and then let go.
#[derive(Debug)]
pub(crate) struct Draft {
    lines: Vec<u8>,
    /// Where each answer ends.
    ends: Vec<usize>,
    /// All but the answer itself; none where nobody wants them.
    columns: Vec<Cells>,
}

impl Draft {
    pub(crate) fn new(rows: usize, has_columns: bool) -> Self {
        let columns = if has_columns { VERDICT_COLUMNS.as_slice() } else { &[] };
        Self {
            lines: Vec::with_capacity(rows.saturating_mul(ANSWER_BYTES)),
            ends: Vec::with_capacity(rows),
            columns: columns.iter().map(|column| Cells::new(column.form)).collect(),
        }
    }

    pub(crate) fn push(&mut self, verdict: &Classification) -> serde_json::Result<()> {
        verdict.write_json(&mut self.lines)?;
        self.ends.push(self.lines.len());
        self.lines.push(b'\n');
        if !self.columns.is_empty() {
            self.columns.iter_mut().zip(cells(verdict)).for_each(|(column, cell)| column.push(cell));
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Part {
        let rows = self.ends.len();
        let Some(answers) = self.columns.last_mut() else {
            return Part { rows, lines: self.lines, columns: self.columns };
        };
        let lines = Bytes::from(self.lines);
        let mut start = 0;
        for end in self.ends {
            answers.push(Cell::Text(lines.slice(start..end)));
            start = end.saturating_add(1);
        }
        Part { rows, lines: Vec::new(), columns: self.columns }
    }
}

/// All but the last column, which is the answer.
fn cells(verdict: &Classification) -> [Cell; VERDICT_COLUMNS.len() - 1] {
    let block = verdict.block.as_ref();
    let time = block.and_then(|block| block.timestamp.parse::<jiff::Timestamp>().ok());
    [
        verdict.hash.clone().into(),
        verdict.chain.clone().into(),
        verdict.perspective.map(|account| account.to_string()).into(),
        block.and_then(|block| i64::try_from(block.number).ok()).into(),
        time.map(jiff::Timestamp::as_millisecond).into(),
        block.map(|block| block.finalized).into(),
        Cell::Word(verdict.category.name()),
        Cell::Word(verdict.treatment.name()),
        verdict.taxable.into(),
        Cell::Short(verdict.confidence.into()),
        verdict.needs_review.into(),
        verdict.ledger_action.map_or(Cell::Empty, |action| Cell::Word(action.name())),
        verdict.protocol.clone().into(),
        verdict.called.as_ref().map(|called| called.contract.to_string()).into(),
        verdict.error.map_or(Cell::Empty, Cell::Word),
        verdict.engine.clone().into(),
    ]
}

/// Where verdicts go.
#[derive(Debug)]
pub enum Output<W: Write + Send> {
    /// One answer a line.
    Lines(W),
    Parquet(Box<VerdictFile<W>>),
}

impl<W: Write + Send> Output<W> {
    pub fn parquet(out: W) -> io::Result<Self> {
        Ok(Self::Parquet(Box::new(VerdictFile::new(out)?)))
    }

    pub(crate) fn has_columns(&self) -> bool {
        matches!(self, Self::Parquet(_))
    }

    pub(crate) fn write(&mut self, part: Part) -> io::Result<()> {
        match self {
            Self::Lines(out) => out.write_all(&part.lines),
            Self::Parquet(file) => file.write(part),
        }
    }

    /// Writes what is left, and gives back what was written to.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Self::Lines(mut out) => out.flush().map(|()| out),
            Self::Parquet(file) => file.finish(),
        }
    }
}

/// Verdicts as Parquet.
pub struct VerdictFile<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: [Written; VERDICT_COLUMNS.len()],
    group: Vec<Cells>,
    rows: usize,
    bytes: usize,
}

impl<W: Write + Send> std::fmt::Debug for VerdictFile<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VerdictFile").field("rows", &self.rows).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl<W: Write + Send> VerdictFile<W> {
    pub fn new(out: W) -> io::Result<Self> {
        let columns = columns();
        let file = table::file(out, "verdicts", &columns).map_err(io::Error::other)?;
        Ok(Self { file, columns, group: Vec::new(), rows: 0, bytes: 0 })
    }

    fn write(&mut self, part: Part) -> io::Result<()> {
        self.rows = self.rows.saturating_add(part.rows);
        self.bytes = self.bytes.saturating_add(part.bytes());
        if self.group.is_empty() {
            self.group = part.columns;
        } else {
            self.group.iter_mut().zip(part.columns).for_each(|(column, more)| column.append(more));
        }
        if self.rows >= GROUP_ROWS_MAX || self.bytes >= GROUP_BYTES_MAX { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> io::Result<()> {
        if self.rows > 0 {
            table::write_group(&mut self.file, &self.columns, &self.group).map_err(io::Error::other)?;
            (self.group, self.rows, self.bytes) = (Vec::new(), 0, 0);
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<W> {
        self.write_group()?;
        self.file.into_inner().map_err(io::Error::other)
    }
}

impl Part {
    /// Of the answers, which are most of a row.
    fn bytes(&self) -> usize {
        match self.columns.last() {
            Some(Cells::Text(answers, _)) => answers.iter().map(parquet::data_type::ByteArray::len).sum(),
            _ => self.lines.len(),
        }
    }
}
