//! The pages of one column of a row group, and the cells in them.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::FrameDecoder;

use super::footer::{Chunk, Column, Kind};
use super::thrift::{Seen, walk};
use super::values::{Dictionary, PLAIN, PLAIN_DICTIONARY, RLE, Runs, Values, short};
use super::{TableError, fault};
use crate::asked::{Extent, ROW_BYTES_MAX, shown};

const BUFFER_BYTES: usize = 64 << 10;
/// It holds statistics too, which writers leave out for values of more than 4 KiB.
const PAGE_HEADER_BYTES_MAX: u64 = 64 << 10;
/// Packed, and unpacked. Most writers have pages of 1 MiB; fastparquet writes one for a whole column, which is 88 MiB for the longest hashes and the
/// most rows that a table may have.
const PAGE_BYTES_MAX: u64 = 96 << 20;
/// Read, unpacked and looked at over the whole table, so that a small file is no work for hours: a million rows of hash, chain and wallet
/// are below half of it.
const TABLE_BYTES_MAX: u64 = 1 << 30;
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

/// How many bytes of the table may still be worked on.
#[derive(Debug)]
pub(super) struct Budget(Cell<u64>);

impl Budget {
    pub(super) fn new(extent: Extent) -> Self {
        Self(Cell::new(if extent == Extent::Bounded { TABLE_BYTES_MAX } else { u64::MAX }))
    }

    fn spend(&self, bytes: usize) -> Result<(), TableError> {
        let left = self.0.get().checked_sub(u64::try_from(bytes).unwrap_or(u64::MAX));
        let left = left.ok_or_else(|| fault(format!("its columns unpack to more than {TABLE_BYTES_MAX} bytes")))?;
        self.0.set(left);
        Ok(())
    }
}

/// Reads one cell after another. It holds one page at a time, and the dictionary.
#[derive(Debug)]
pub(super) struct ColumnReader<'a, R> {
    column: &'a Column,
    kind: Kind,
    codec: i64,
    input: BufReader<Section<'a, R>>,
    budget: &'a Budget,
    /// Rows of the row group whose page was not read yet.
    rows_left: usize,
    dictionary: Option<Dictionary>,
    page: Page,
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

impl<'a, R: Read + Seek> ColumnReader<'a, R> {
    pub(super) fn new(
        table: &'a RefCell<R>,
        (column, kind): (&'a Column, Kind),
        chunk: &Chunk,
        rows: usize,
        budget: &'a Budget,
    ) -> Self {
        let section = Section { table, at: chunk.start, left: chunk.bytes };
        Self {
            column,
            kind,
            codec: chunk.codec,
            input: BufReader::with_capacity(BUFFER_BYTES, section),
            budget,
            rows_left: rows,
            dictionary: None,
            page: Page { bytes: Vec::new(), rows_left: 0, levels: None, values: Values::Plain { at: 0 } },
        }
    }

    /// The cell of the next row as text; `row` is for a person to find it by.
    pub(super) fn next(&mut self, row: usize) -> Result<Cow<'_, str>, TableError> {
        let (name, kind) = (&self.column.name, self.kind);
        let value = self.next_value().map_err(|error| match error {
            TableError::Parquet(what) => fault(format!("row {row} of column `{}`: {what}", shown(name))),
            other => other,
        })?;
        Ok(value.map_or(Cow::Borrowed(""), |value| text(kind, value)))
    }

    fn next_value(&mut self) -> Result<Option<&[u8]>, TableError> {
        while self.page.rows_left == 0 {
            self.next_page()?;
        }
        let page = &mut self.page;
        page.rows_left = page.rows_left.saturating_sub(1);
        if let Some(levels) = &mut page.levels
            && levels.next(&page.bytes)? == 0
        {
            return Ok(None);
        }
        let value = page.values.next(&page.bytes, self.dictionary.as_ref())?;
        if value.len() > ROW_BYTES_MAX {
            return Err(fault(format!("it is longer than {ROW_BYTES_MAX} bytes")));
        }
        self.budget.spend(value.len())?;
        Ok(Some(value))
    }

    fn next_page(&mut self) -> Result<(), TableError> {
        if self.input.fill_buf()?.is_empty() {
            return Err(fault("the column has fewer rows than its row group"));
        }
        let header = Header::read(&mut self.input)?;
        let packed = self.packed(&header)?;
        match header.kind {
            DATA_PAGE => {
                let bytes = unpacked(self.codec, packed, header.unpacked_bytes)?;
                self.open(bytes, &header.data, None)
            }
            DATA_PAGE_V2 => {
                let mut packed = packed;
                let details = &header.data_v2;
                // The levels come first, and are never packed.
                let levels = usize::try_from(details.levels_bytes).ok().filter(|length| *length <= packed.len());
                let levels = levels.filter(|_| details.repetitions_bytes == 0).ok_or_else(short)?;
                let rest = packed.split_off(levels);
                let codec = if details.is_packed { self.codec } else { UNCOMPRESSED };
                let left = header.unpacked_bytes.saturating_sub(u64::try_from(levels).unwrap_or(u64::MAX));
                packed.append(&mut unpacked(codec, rest, left)?);
                self.open(packed, details, Some(levels))
            }
            DICTIONARY_PAGE => {
                if !matches!(header.dictionary.encoding, PLAIN | PLAIN_DICTIONARY) {
                    return Err(fault("its dictionary has an unknown encoding"));
                }
                let bytes = unpacked(self.codec, packed, header.unpacked_bytes)?;
                self.dictionary = Some(Dictionary::new(bytes, self.fixed(), header.dictionary.values)?);
                Ok(())
            }
            INDEX_PAGE => Ok(()),
            kind => Err(fault(format!("it has a page of the kind {kind}"))),
        }
    }

    /// The bytes of a page as they are in the file.
    fn packed(&mut self, header: &Header) -> Result<Vec<u8>, TableError> {
        if header.packed_bytes.max(header.unpacked_bytes) > PAGE_BYTES_MAX {
            let bytes = header.packed_bytes.max(header.unpacked_bytes);
            return Err(fault(format!("it has a page of {bytes} bytes; at most {PAGE_BYTES_MAX} are read")));
        }
        let count = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let length = count(header.packed_bytes);
        self.budget.spend(length.saturating_add(count(header.unpacked_bytes)).saturating_add(PAGE_COST_BYTES))?;
        // Room comes with the bytes, not with what the header says.
        let mut bytes = Vec::new();
        (&mut self.input).take(header.packed_bytes).read_to_end(&mut bytes)?;
        if bytes.len() == length { Ok(bytes) } else { Err(short()) }
    }

    fn open(&mut self, bytes: Vec<u8>, details: &Details, v2_levels: Option<usize>) -> Result<(), TableError> {
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
            false => Values::new(details.encoding, self.fixed(), &bytes, start, rows)?,
        };
        self.rows_left = self.rows_left.saturating_sub(rows);
        self.page = Page { bytes, rows_left: rows, levels, values };
        Ok(())
    }

    fn fixed(&self) -> Option<usize> {
        match self.kind {
            Kind::Fixed(length) => Some(length),
            Kind::Text | Kind::Bytes => None,
        }
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
    fn read(input: &mut impl Read) -> Result<Self, TableError> {
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

fn counted(integer: i64) -> Result<u64, TableError> {
    u64::try_from(integer).map_err(|_| fault("a page has a negative size"))
}

/// Unpacks to exactly as many bytes as the header says, which are bounded; whatever would unpack to more stops there.
fn unpacked(codec: i64, packed: Vec<u8>, length: u64) -> Result<Vec<u8>, TableError> {
    let room = usize::try_from(length).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    match codec {
        UNCOMPRESSED => return Ok(packed),
        _ if room == 0 => {}
        SNAPPY => {
            if snap::raw::decompress_len(&packed).is_ok_and(|told| told == room) {
                bytes = snap::raw::Decoder::new().decompress_vec(&packed).map_err(|error| broken(&error))?;
            }
        }
        GZIP => {
            MultiGzDecoder::new(packed.as_slice())
                .take(length.saturating_add(1))
                .read_to_end(&mut bytes)
                .map_err(|error| broken(&error))?;
        }
        ZSTD => {
            let mut decoder = FrameDecoder::new();
            decoder.set_max_window_size(length.max(ZSTD_WINDOW_BYTES_MIN));
            bytes.resize(room, 0);
            let written = decoder.decode_all(&packed, &mut bytes).map_err(|error| broken(&error))?;
            bytes.truncate(written);
        }
        other => {
            let name = OTHER_CODECS.iter().find(|(codec, _)| *codec == other).map_or("something unknown", |one| one.1);
            return Err(fault(format!("it is compressed with {name}; Snappy, gzip, zstd and nothing are read")));
        }
    }
    if bytes.len() == room { Ok(bytes) } else { Err(fault("a page unpacks to another size than it says")) }
}

fn broken(error: &dyn std::error::Error) -> TableError {
    fault(format!("a page cannot be unpacked: {}", shown(&error.to_string())))
}

/// Hashes and addresses of EVM chains that are raw bytes, as their digits.
fn text(kind: Kind, value: &[u8]) -> Cow<'_, str> {
    let is_written = || value.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
    let is_raw = match kind {
        Kind::Text => false,
        Kind::Bytes => Kind::is_raw(value.len()) && !is_written(),
        Kind::Fixed(_) => true,
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

/// A part of the table. Several are read in turns, so each finds its place again.
#[derive(Debug)]
struct Section<'a, R> {
    table: &'a RefCell<R>,
    at: u64,
    left: u64,
}

impl<R: Read + Seek> Read for Section<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut table = self.table.try_borrow_mut().map_err(io::Error::other)?;
        table.seek(SeekFrom::Start(self.at))?;
        let read = (&mut *table).take(self.left).read(buffer)?;
        let bytes = u64::try_from(read).unwrap_or(u64::MAX);
        self.at = self.at.saturating_add(bytes);
        self.left = self.left.saturating_sub(bytes);
        Ok(read)
    }
}
