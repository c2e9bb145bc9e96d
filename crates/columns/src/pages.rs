//! The pages of one column of a row group, and the cells in them.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::FrameDecoder;

use super::footer::{Chunk, Column, Kind};
use super::thrift::{Seen, walk};
use super::values::{Dictionary, PLAIN, PLAIN_DICTIONARY, RLE, Runs, Values, short};
use super::{ColumnsError, Limits, fault};

const BUFFER_BYTES: usize = 64 << 10;
/// It holds statistics too, which writers leave out for values of more than 4 KiB.
const PAGE_HEADER_BYTES_MAX: u64 = 64 << 10;
/// Packed, and unpacked. Most writers have pages of 1 MiB; fastparquet writes one for a whole column, which is 88 MiB for the longest hashes and the
/// most rows that a table may have.
const PAGE_BYTES_MAX: u64 = 96 << 20;
const USUAL_PAGE_BYTES: usize = 1 << 20;
/// What a page costs beside its bytes.
const PAGE_COST_BYTES: usize = 64;
/// The window that RFC 8878 advises every decoder of zstd to support.
const ZSTD_WINDOW_BYTES_MIN: u64 = 8 << 20;

/// Kinds of pages and codecs of `parquet.thrift`.
const DATA_PAGE: i64 = 0;
const INDEX_PAGE: i64 = 1;
const DICTIONARY_PAGE: i64 = 2;
const DATA_PAGE_V2: i64 = 3;
const UNCOMPRESSED: i64 = 0;
const SNAPPY: i64 = 1;
const GZIP: i64 = 2;
const ZSTD: i64 = 6;
const OTHER_CODECS: [(i64, &str); 4] = [(3, "LZO"), (4, "Brotli"), (5, "LZ4"), (7, "LZ4")];

/// How many bytes of the table may still be read, unpacked and looked at, so that a small file is no work for hours.
#[derive(Debug)]
pub struct Budget {
    left: AtomicU64,
    whole: u64,
}

impl Budget {
    pub fn new(bytes: u64) -> Self {
        Self { left: AtomicU64::new(bytes), whole: bytes }
    }

    pub fn spend(&self, bytes: usize) -> Result<(), ColumnsError> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let spent = |left: u64| left.checked_sub(bytes);
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spent);
        left.map(drop).map_err(|_| fault(format!("its columns unpack to more than {} bytes", self.whole)))
    }
}

/// Reads one cell after another. It holds one page at a time, and the dictionary.
#[derive(Debug)]
pub struct ColumnReader<R> {
    column: Column,
    kind: Kind,
    codec: i64,
    input: BufReader<Section<R>>,
    budget: Arc<Budget>,
    cell_bytes_max: usize,
    /// Rows of the row group whose page was not read yet.
    rows_left: usize,
    dictionary: Option<Dictionary>,
    page: Page,
    /// The last page as it was in the file: its room is used again.
    packed: Vec<u8>,
}

/// Rows of a column that are unpacked.
#[derive(Debug)]
struct Page {
    bytes: Vec<u8>,
    rows_left: usize,
    /// One where a row has a value, zero where it has none; absent where all have.
    levels: Option<Runs>,
    values: Values,
}

impl<R: Read + Seek> ColumnReader<R> {
    /// A column's part of a row group of so many rows.
    pub fn new(
        table: &Arc<Mutex<R>>,
        (column, kind): (&Column, Kind),
        (chunk, rows): (&Chunk, usize),
        limits: &Limits,
        budget: &Arc<Budget>,
    ) -> Self {
        let section = Section { table: Arc::clone(table), at: chunk.start, left: chunk.bytes };
        Self {
            column: column.clone(),
            kind,
            codec: chunk.codec,
            input: BufReader::with_capacity(BUFFER_BYTES, section),
            budget: Arc::clone(budget),
            cell_bytes_max: limits.cell_bytes_max,
            rows_left: rows,
            dictionary: None,
            page: Page { bytes: Vec::new(), rows_left: 0, levels: None, values: Values::Plain { at: 0 } },
            packed: Vec::new(),
        }
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The bytes of the next row, where it has any; `row` is for a person to find it by.
    pub fn next(&mut self, row: usize) -> Result<Option<&[u8]>, ColumnsError> {
        match self.has_value() {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => return Err(at(row, &self.column, error)),
        }
        let (bytes_max, page) = (self.cell_bytes_max, &mut self.page);
        let value = page.values.next(&page.bytes, self.dictionary.as_ref(), bytes_max);
        let value = value.map_err(|error| at(row, &self.column, error))?;
        if value.len() > bytes_max {
            return Err(at(row, &self.column, fault(format!("it is longer than {bytes_max} bytes"))));
        }
        self.budget.spend(value.len()).map_err(|error| at(row, &self.column, error))?;
        Ok(Some(value))
    }

    /// The number of the next row, where it has one; of a truth one or zero.
    pub fn next_number(&mut self, row: usize) -> Result<Option<i64>, ColumnsError> {
        let number = self.has_value().and_then(|has_value| {
            let page = &mut self.page;
            has_value.then(|| page.values.next_number(&page.bytes, self.dictionary.as_ref())).transpose()
        });
        number.map_err(|error| at(row, &self.column, error))
    }

    fn has_value(&mut self) -> Result<bool, ColumnsError> {
        while self.page.rows_left == 0 {
            self.next_page()?;
        }
        let page = &mut self.page;
        page.rows_left = page.rows_left.saturating_sub(1);
        match &mut page.levels {
            Some(levels) => Ok(levels.next(&page.bytes)? != 0),
            None => Ok(true),
        }
    }

    fn next_page(&mut self) -> Result<(), ColumnsError> {
        if self.input.fill_buf()?.is_empty() {
            return Err(fault("the column has fewer rows than its row group"));
        }
        let header = Header::read(&mut self.input)?;
        self.read_packed(&header)?;
        match header.kind {
            DATA_PAGE => {
                let mut bytes = std::mem::take(&mut self.page.bytes);
                bytes.clear();
                unpack(self.codec, &self.packed, header.unpacked_bytes, &mut bytes)?;
                self.open(bytes, &header.data, None)
            }
            DATA_PAGE_V2 => {
                let details = &header.data_v2;
                // The levels come first, and are never packed.
                let levels = usize::try_from(details.levels_bytes).ok().filter(|_| details.repetitions_bytes == 0);
                let levels = levels.ok_or_else(short)?;
                let (told, packed) = self.packed.split_at_checked(levels).ok_or_else(short)?;
                let codec = if details.is_packed { self.codec } else { UNCOMPRESSED };
                let left = header.unpacked_bytes.saturating_sub(details.levels_bytes);
                let mut bytes = std::mem::take(&mut self.page.bytes);
                bytes.clear();
                bytes.extend_from_slice(told);
                unpack(codec, packed, left, &mut bytes)?;
                self.open(bytes, details, Some(levels))
            }
            DICTIONARY_PAGE => {
                if !matches!(header.dictionary.encoding, PLAIN | PLAIN_DICTIONARY) {
                    return Err(fault("its dictionary has an unknown encoding"));
                }
                let mut bytes = Vec::new();
                unpack(self.codec, &self.packed, header.unpacked_bytes, &mut bytes)?;
                self.dictionary = Some(Dictionary::new(bytes, self.kind.width(), header.dictionary.values)?);
                Ok(())
            }
            INDEX_PAGE => Ok(()),
            kind => Err(fault(format!("it has a page of the kind {kind}"))),
        }
    }

    /// The bytes of a page as they are in the file.
    fn read_packed(&mut self, header: &Header) -> Result<(), ColumnsError> {
        if header.packed_bytes.max(header.unpacked_bytes) > PAGE_BYTES_MAX {
            let bytes = header.packed_bytes.max(header.unpacked_bytes);
            return Err(fault(format!("it has a page of {bytes} bytes; at most {PAGE_BYTES_MAX} are read")));
        }
        let count = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let length = count(header.packed_bytes);
        self.budget.spend(length.saturating_add(count(header.unpacked_bytes)).saturating_add(PAGE_COST_BYTES))?;
        // Beyond a usual page, room comes with the bytes and not with what the header says.
        self.packed.clear();
        self.packed.reserve(length.min(USUAL_PAGE_BYTES));
        (&mut self.input).take(header.packed_bytes).read_to_end(&mut self.packed)?;
        if self.packed.len() == length { Ok(()) } else { Err(short()) }
    }

    fn open(&mut self, bytes: Vec<u8>, details: &Details, v2_levels: Option<usize>) -> Result<(), ColumnsError> {
        let rows = usize::try_from(details.values).ok().filter(|rows| *rows <= self.rows_left);
        let rows = rows.ok_or_else(|| fault("a page has more rows than its row group"))?;
        let levels = match v2_levels {
            Some(end) => 0..end,
            None if self.column.is_optional => {
                if details.levels_encoding != RLE {
                    return Err(fault("it marks empty cells in an old way that is not read"));
                }
                let length = bytes.first_chunk::<4>().ok_or_else(short)?;
                let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
                4..length.saturating_add(4)
            }
            None => 0..0,
        };
        let start = levels.end;
        if start > bytes.len() {
            return Err(short());
        }
        let levels = if self.column.is_optional { Some(Runs::new(1, levels)?) } else { None };
        // A page without a single value may have no bytes at all.
        let values = match bytes.len() == start {
            true => Values::Plain { at: start },
            false => Values::new(details.encoding, self.kind, &bytes, start, rows)?,
        };
        self.rows_left = self.rows_left.saturating_sub(rows);
        self.page = Page { bytes, rows_left: rows, levels, values };
        Ok(())
    }
}

/// Where it was found.
fn at(row: usize, column: &Column, error: ColumnsError) -> ColumnsError {
    match error {
        ColumnsError::Fault(what) => ColumnsError::Cell { row, column: column.name.clone(), what },
        other => other,
    }
}

/// What stands before each page.
#[derive(Debug, Default)]
struct Header {
    kind: i64,
    unpacked_bytes: u64,
    packed_bytes: u64,
    data: Details,
    dictionary: Details,
    data_v2: Details,
}

#[derive(Debug)]
struct Details {
    values: u64,
    encoding: i64,
    levels_encoding: i64,
    levels_bytes: u64,
    repetitions_bytes: u64,
    is_packed: bool,
}

impl Default for Details {
    fn default() -> Self {
        let (encoding, levels_encoding) = (PLAIN, RLE);
        Self { values: 0, encoding, levels_encoding, levels_bytes: 0, repetitions_bytes: 0, is_packed: true }
    }
}

impl Header {
    /// The numbers are those of `PageHeader` in `parquet.thrift`: 5 is `data_page_header`, 7 `dictionary_page_header`, 8 `data_page_header_v2`.
    fn read(input: &mut impl Read) -> Result<Self, ColumnsError> {
        let mut header = Self::default();
        walk(input, PAGE_HEADER_BYTES_MAX, &mut |path, seen| {
            let (data, dictionary, data_v2) = (&mut header.data, &mut header.dictionary, &mut header.data_v2);
            match (path, seen) {
                ([1], Seen::Integer(kind)) => header.kind = kind,
                ([2], Seen::Integer(bytes)) => header.unpacked_bytes = counted(bytes)?,
                ([3], Seen::Integer(bytes)) => header.packed_bytes = counted(bytes)?,
                ([5, 1], Seen::Integer(values)) => data.values = counted(values)?,
                ([5, 2], Seen::Integer(encoding)) => data.encoding = encoding,
                ([5, 3], Seen::Integer(encoding)) => data.levels_encoding = encoding,
                ([7, 1], Seen::Integer(values)) => dictionary.values = counted(values)?,
                ([7, 2], Seen::Integer(encoding)) => dictionary.encoding = encoding,
                ([8, 1], Seen::Integer(values)) => data_v2.values = counted(values)?,
                ([8, 4], Seen::Integer(encoding)) => data_v2.encoding = encoding,
                ([8, 5], Seen::Integer(bytes)) => data_v2.levels_bytes = counted(bytes)?,
                ([8, 6], Seen::Integer(bytes)) => data_v2.repetitions_bytes = counted(bytes)?,
                ([8, 7], Seen::Bool(is_packed)) => data_v2.is_packed = is_packed,
                _ => {}
            }
            Ok(())
        })?;
        Ok(header)
    }
}

fn counted(integer: i64) -> Result<u64, ColumnsError> {
    u64::try_from(integer).map_err(|_| fault("a page has a negative size"))
}

/// Unpacks to exactly as many bytes as the header says, which are bounded; whatever would unpack to more stops there.
fn unpack(codec: i64, packed: &[u8], length: u64, bytes: &mut Vec<u8>) -> Result<(), ColumnsError> {
    let room = usize::try_from(length).unwrap_or(usize::MAX);
    let start = bytes.len();
    let end = start.saturating_add(room);
    match codec {
        UNCOMPRESSED => {
            bytes.extend_from_slice(packed);
            return Ok(());
        }
        _ if room == 0 => {}
        SNAPPY => {
            if snap::raw::decompress_len(packed).is_ok_and(|told| told == room) {
                bytes.resize(end, 0);
                let into = bytes.get_mut(start..).unwrap_or_default();
                snap::raw::Decoder::new().decompress(packed, into).map_err(|error| broken(&error))?;
            }
        }
        GZIP => {
            let unpacked = MultiGzDecoder::new(packed).take(length.saturating_add(1)).read_to_end(bytes);
            unpacked.map_err(|error| broken(&error))?;
        }
        ZSTD => {
            let mut decoder = FrameDecoder::new();
            decoder.set_max_window_size(length.max(ZSTD_WINDOW_BYTES_MIN));
            bytes.resize(end, 0);
            let into = bytes.get_mut(start..).unwrap_or_default();
            let written = decoder.decode_all(packed, into).map_err(|error| broken(&error))?;
            bytes.truncate(start.saturating_add(written));
        }
        other => {
            let name = OTHER_CODECS.iter().find(|(codec, _)| *codec == other).map_or("something unknown", |one| one.1);
            return Err(fault(format!("it is compressed with {name}; Snappy, gzip, zstd and nothing are read")));
        }
    }
    if bytes.len() == end { Ok(()) } else { Err(fault("a page unpacks to another size than it says")) }
}

fn broken(error: &dyn std::error::Error) -> ColumnsError {
    fault(format!("a page cannot be unpacked: {}", error))
}

/// A part of the table. Several are read in turns, so each finds its place again.
#[derive(Debug)]
struct Section<R> {
    table: Arc<Mutex<R>>,
    at: u64,
    left: u64,
}

impl<R: Read + Seek> Read for Section<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.seek(SeekFrom::Start(self.at))?;
        let read = (&mut *table).take(self.left).read(buffer)?;
        let bytes = u64::try_from(read).unwrap_or(u64::MAX);
        self.at = self.at.saturating_add(bytes);
        self.left = self.left.saturating_sub(bytes);
        Ok(read)
    }
}
