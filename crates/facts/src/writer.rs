//! Files of facts that are written while transactions are read. A file is there whole or not at all: it has another name until it is finished.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use engine::{Account, Facts};
use parquet::file::writer::SerializedFileWriter;

use crate::row::RowText;
use crate::schema::{COLUMNS, Kind, VERSION, place};
use crate::table::{self, Cell, Cells, Form, Written};

/// Rows that are held before they are written together. A row is about 4 KiB.
const GROUP_ROWS_MAX: usize = 16_384;
const GROUP_BYTES_MAX: usize = 32 << 20;
/// A file is finished when it is this large, unpacked, or this old, so that few rows are lost with the machine.
const FILE_BYTES_MAX: usize = 1 << 30;
const FILE_AGE_MAX: Duration = Duration::from_secs(600);

/// Writes `facts-….parquet` into a folder.
pub struct FactsWriter {
    folder: PathBuf,
    /// What the names of this writer's files begin with; no other writer's do.
    stem: String,
    columns: [Written; COLUMNS.len()],
    open: Option<OpenFile>,
    finished: Vec<PathBuf>,
    rows: u64,
}

impl std::fmt::Debug for FactsWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FactsWriter").field("folder", &self.folder).field("rows", &self.rows).finish_non_exhaustive()
    }
}

struct OpenFile {
    file: SerializedFileWriter<File>,
    /// Under which name it is written, and under which it is there in the end.
    part: PathBuf,
    path: PathBuf,
    group: Vec<Cells>,
    group_rows: usize,
    group_bytes: usize,
    bytes: usize,
    began: Instant,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub files: Vec<PathBuf>,
    pub rows: u64,
}

impl FactsWriter {
    /// The folder is made where there is none.
    pub fn new(folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let millis = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let stem = format!("facts-{millis}-{}", std::process::id());
        Ok(Self { folder: folder.to_owned(), stem, columns: columns(), open: None, finished: Vec::new(), rows: 0 })
    }

    /// Writes down what is known of a transaction, and whose view was asked for.
    pub fn append(&mut self, facts: &Facts, wallet: Option<Account>) -> io::Result<()> {
        self.append_row(RowText::of(facts, wallet)?)
    }

    pub fn append_row(&mut self, row: RowText) -> io::Result<()> {
        let bytes = row.bytes();
        let open = match &mut self.open {
            Some(open) => open,
            none => none.insert(OpenFile::create(&self.folder, &self.stem, self.finished.len(), &self.columns)?),
        };
        for (column, cell) in open.group.iter_mut().zip(cells(row)) {
            column.push(cell);
        }
        self.rows = self.rows.saturating_add(1);
        open.group_rows = open.group_rows.saturating_add(1);
        open.group_bytes = open.group_bytes.saturating_add(bytes);
        if open.group_rows >= GROUP_ROWS_MAX || open.group_bytes >= GROUP_BYTES_MAX {
            open.write_group(&self.columns)?;
        }
        if open.bytes >= FILE_BYTES_MAX || open.began.elapsed() >= FILE_AGE_MAX {
            self.finish_file()?;
        }
        Ok(())
    }

    /// Finishes the last file.
    pub fn close(mut self) -> io::Result<Kept> {
        self.finish_file()?;
        Ok(Kept { files: std::mem::take(&mut self.finished), rows: self.rows })
    }

    fn finish_file(&mut self) -> io::Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let (part, path) = (open.part.clone(), open.path.clone());
        let finished = open.finish(&self.columns).and_then(|()| std::fs::rename(&part, &path));
        if let Err(error) = finished {
            let _ = std::fs::remove_file(&part);
            return Err(error);
        }
        self.finished.push(path);
        Ok(())
    }
}

impl Drop for FactsWriter {
    /// Without its end a file cannot be read.
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            let _ = std::fs::remove_file(open.part);
        }
    }
}

impl OpenFile {
    fn create(folder: &Path, stem: &str, number: usize, columns: &[Written]) -> io::Result<Self> {
        let path = folder.join(format!("{stem}-{number}.parquet"));
        let part = folder.join(format!(".{stem}-{number}.part"));
        let file = table::file(File::create_new(&part)?, "facts", columns).map_err(io::Error::other)?;
        let group = columns.iter().map(|column| Cells::new(column.form)).collect();
        Ok(Self { file, part, path, group, group_rows: 0, group_bytes: 0, bytes: 0, began: Instant::now() })
    }

    fn write_group(&mut self, columns: &[Written]) -> io::Result<()> {
        if self.group_rows > 0 {
            table::write_group(&mut self.file, columns, &self.group).map_err(io::Error::other)?;
            self.group = columns.iter().map(|column| Cells::new(column.form)).collect();
            self.bytes = self.bytes.saturating_add(self.group_bytes);
            (self.group_rows, self.group_bytes) = (0, 0);
        }
        Ok(())
    }

    fn finish(mut self, columns: &[Written]) -> io::Result<()> {
        self.write_group(columns)?;
        self.file.into_inner().map_err(io::Error::other)?.sync_all()
    }
}

fn columns() -> [Written; COLUMNS.len()] {
    let mut columns = COLUMNS.each_ref().map(|column| {
        let form = match column.kind {
            Kind::Text => Form::Word,
            Kind::Json => Form::Document,
            Kind::Number => Form::Long,
            Kind::Truth => Form::Truth,
            Kind::Time => Form::Time,
        };
        Written { name: column.name, form, is_required: column.is_required }
    });
    // Of these no two are the same.
    if let Some(hash) = columns.get_mut(place::HASH) {
        hash.form = Form::Name;
    }
    columns
}

fn cells(row: RowText) -> [Cell; COLUMNS.len()] {
    [
        VERSION.into(),
        row.chain.into(),
        row.hash.into(),
        row.wallet.into(),
        row.block_number.and_then(|number| i64::try_from(number).ok()).into(),
        row.block_time.map(|seconds| seconds.saturating_mul(1_000)).into(),
        row.is_final.into(),
        row.transaction.into(),
        row.receipt.into(),
        row.internal.into(),
        row.known.into(),
    ]
}
