//! Parquet as a way in and out. The tables in `tests/parquet/` are those of other people's tools; `make.py` there wrote them. `readings.jsonl` is two
//! lines of `taxon bulk demo/demo.csv --demo --format jsonl`.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::as_conversions,
    clippy::indexing_slicing,
    reason = "tests fail loudly"
)]

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{Cursor, Write};
use std::rc::Rc;

use books::asked::{Asked, Hints, TableError, Understood, understand};
use books::chart::Chart;
use books::formats::{Options, find};
use bytes::Bytes;
use engine::Classification;
use parquet::file::reader::{FileReader as _, SerializedFileReader};

const ONE: &str = "0x04df701a75c3dc3f1283c6a26e668bec4bd92cf7f02e9963c3c887f5376c590e";
const OTHER: &str = "0x6cb9d7ceb55a1063c17b58cb643e699525ca6037e711c34283cf0f3d6e81716e";
const SOLANA: &str = "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW";
const WALLET: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";

macro_rules! tables {
    ($($name:literal),* $(,)?) => { [$(($name, include_bytes!(concat!("parquet/", $name, ".parquet")).as_slice())),*] };
}

/// One table, as each tool writes it unless told otherwise, and in the other encodings, codecs and versions of pages.
const THE_SAME: [(&str, &[u8]); 7] =
    tables!["pyarrow", "pyarrow-gzip-v2", "pyarrow-delta", "polars", "duckdb", "duckdb-v2-zstd", "fastparquet",];
/// A thousand rows over several row groups and pages.
const MANY: [(&str, &[u8]); 3] = tables!["many", "many-delta", "many-polars"];
const OTHERS: [(&str, &[u8]); 3] = tables!["raw", "fixed", "pyarrow-brotli"];

fn read(bytes: &[u8], hints: &Hints<'_>) -> Result<(Vec<Asked>, Understood), TableError> {
    let mut rows = Vec::new();
    let understood = understand(Cursor::new(bytes), hints, &mut |row| {
        rows.push(row);
        true
    })?;
    Ok((rows, understood))
}

fn fault(bytes: &[u8]) -> String {
    read(bytes, &Hints::default()).expect_err("it is refused").to_string()
}

fn table(name: &str) -> Vec<u8> {
    let all = [THE_SAME.as_slice(), &MANY, &OTHERS].concat();
    all.iter().find(|(one, _)| *one == name).expect("it is in the folder").1.to_vec()
}

fn shown(row: &Asked) -> (String, Option<&str>, Option<String>) {
    (row.hash.to_string(), row.chain.as_deref(), row.wallet.map(|wallet| wallet.to_string().to_lowercase()))
}

#[test]
fn the_tables_of_other_tools_ask_for_what_is_in_them() {
    for (name, bytes) in THE_SAME {
        let (rows, understood) = read(bytes, &Hints::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = [
            (ONE.to_owned(), Some("base"), Some(WALLET.to_owned())),
            (OTHER.to_owned(), Some("base"), None),
            (SOLANA.to_owned(), Some("solana"), None),
        ];
        assert_eq!(rows.iter().map(shown).collect::<Vec<_>>(), expected, "{name}");
        let columns = &understood.columns;
        assert_eq!((columns.hash.as_str(), understood.empty), ("Transaction Hash", 1), "{name}");
        assert!(columns.names.contains(&columns.hash), "{name}: {:?}", columns.names);
        assert_eq!((columns.chain.as_deref(), columns.wallet.as_deref()), (Some("Network"), Some("wallet")), "{name}");
    }
}

#[test]
fn many_rows_keep_their_order_and_their_cells_over_pages_and_row_groups() {
    for (name, bytes) in MANY {
        let (rows, _) = read(bytes, &Hints::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(rows.len(), 1_000, "{name}");
        for (number, row) in rows.iter().enumerate() {
            let chain = match number {
                _ if number % 7 == 0 => None,
                _ if number % 3 == 0 => Some("ethereum"),
                _ => Some("base"),
            };
            assert_eq!((row.hash.to_string(), row.chain.as_deref()), (format!("0x{number:064x}"), chain), "{name}");
        }
    }
}

#[test]
fn hashes_and_wallets_may_be_raw_bytes_and_nested_columns_are_no_text() {
    let (rows, understood) = read(&table("raw"), &Hints::default()).expect("it is a table");
    let wallet = Some(WALLET.to_owned());
    assert_eq!(
        rows.iter().map(shown).collect::<Vec<_>>(),
        [(ONE.to_owned(), None, wallet.clone()), (OTHER.to_owned(), None, wallet.clone())]
    );
    assert_eq!(understood.columns.hash, "transaction_hash");
    // No name tells the hashes here, but what the rows hold does.
    let (rows, understood) = read(&table("fixed"), &Hints::default()).expect("it is a table");
    assert_eq!((rows.len(), understood.columns.hash.as_str()), (2, "proof"));
    assert_eq!(shown(&rows[1]), (OTHER.to_owned(), None, wallet));
}

#[test]
fn a_column_can_be_named() {
    let bytes = table("pyarrow");
    let named = |column| read(&bytes, &Hints { column: Some(column), ..Hints::default() });
    let (rows, understood) = named("network").expect("it is a table");
    assert_eq!((rows.len(), understood.refused_count, understood.empty), (0, 3, 1));
    let refusal = &understood.refused[2];
    assert_eq!((refusal.row, refusal.column.as_str()), (4, "Network"));
    assert_eq!(refusal.what, "`solana` is no hash of a transaction");
    let columns = "Block, Transaction Hash, Network, wallet".to_owned();
    assert_eq!(named("x").unwrap_err(), TableError::NoColumn { name: "x".to_owned(), columns });
    assert!(named("block").unwrap_err().to_string().ends_with("column `block` holds no text"));
}

#[test]
fn a_file_that_is_none_says_what_is_wrong_with_it() {
    let begins = "the file begins as Parquet and cannot be read: ";
    let whole = table("pyarrow");
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        fault(&bytes)
    };
    assert_eq!(fault(b"PAR1"), format!("{begins}it has no end"));
    let text = format!("PAR1,hash\n1,{ONE}\n");
    assert_eq!(fault(text.as_bytes()), format!("{begins}it begins as Parquet but does not end so; it may be cut off"));
    assert!(with(&|bytes| bytes.truncate(1_000)).ends_with("it may be cut off"));
    let last = whole.len() - 1;
    assert_eq!(with(&|bytes| bytes[last] = b'E'), format!("{begins}it is encrypted"));
    let length = whole.len() - 8..whole.len() - 4;
    let claims = |claimed: u32| with(&|bytes| bytes[length.clone()].copy_from_slice(&claimed.to_le_bytes()));
    assert_eq!(claims(u32::MAX), format!("{begins}its footer is longer than 16777216 bytes"));
    assert_eq!(claims(10_000), format!("{begins}its footer is longer than the file"));
    assert_eq!(claims(0), format!("{begins}its metadata does not end"));
    let brotli = "it is compressed with Brotli; Snappy, gzip, zstd and nothing are read";
    assert_eq!(fault(&table("pyarrow-brotli")), format!("{begins}row 1 of column `Transaction Hash`: {brotli}"));
    // Another magic, another kind of table: it has no text that could be read.
    assert!(with(&|bytes| bytes[0] = b'Q').starts_with("no column holds hashes of transactions"));
}

/// A footer of one column and one row group, whose page is `page`; every number is written as a reader would want it, except what the test changes.
struct Forged {
    children: i64,
    rows: i64,
    row_groups: usize,
    codec: i64,
    chunk_bytes: Option<i64>,
    page: Vec<u8>,
}

impl Forged {
    fn new(page: Vec<u8>) -> Self {
        Self { children: 1, rows: 1, row_groups: 1, codec: 0, chunk_bytes: None, page }
    }

    fn file(&self) -> Vec<u8> {
        let root = fields(&[(4, text("schema")), (5, integer(self.children))]);
        let hash = fields(&[(1, integer(6)), (3, integer(0)), (4, text("hash"))]);
        let chunk_bytes = self.chunk_bytes.unwrap_or(i64::try_from(self.page.len()).unwrap());
        let about = fields(&[(4, integer(self.codec)), (7, integer(chunk_bytes)), (9, integer(4))]);
        let chunk = fields(&[(3, (12, about))]);
        let group = fields(&[(1, list(&[chunk])), (3, integer(self.rows))]);
        let groups = vec![group; self.row_groups];
        let footer = fields(&[(2, list(&[root, hash])), (3, integer(self.rows)), (4, list(&groups))]);
        let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
        [b"PAR1", self.page.as_slice(), &footer, &length, b"PAR1"].concat()
    }
}

fn page(unpacked: i64, rows: i64, body: &[u8]) -> Vec<u8> {
    let about = fields(&[(1, integer(rows)), (2, integer(0)), (3, integer(3)), (4, integer(3))]);
    let packed = i64::try_from(body.len()).unwrap();
    let header = fields(&[(1, integer(0)), (2, integer(unpacked)), (3, integer(packed)), (5, (12, about))]);
    [header, body.to_vec()].concat()
}

fn hash() -> Vec<u8> {
    [66_u32.to_le_bytes().as_slice(), ONE.as_bytes()].concat()
}

/// Thrift's compact form: each field with its kind, by rising numbers.
fn fields(fields: &[(u8, (u8, Vec<u8>))]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut last = 0;
    for (number, (kind, value)) in fields {
        bytes.push((number - last) << 4 | kind);
        bytes.extend(value);
        last = *number;
    }
    bytes.push(0);
    bytes
}

fn integer(value: i64) -> (u8, Vec<u8>) {
    (6, varint(((value << 1) ^ (value >> 63)).cast_unsigned()))
}

fn text(value: &str) -> (u8, Vec<u8>) {
    (8, [varint(value.len() as u64), value.as_bytes().to_vec()].concat())
}

fn list(items: &[Vec<u8>]) -> (u8, Vec<u8>) {
    (9, [vec![0xfc], varint(items.len() as u64), items.concat()].concat())
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap());
    bytes
}

#[test]
fn what_a_file_claims_is_not_believed() {
    let body = hash();
    let good = page(70, 1, &body);
    let rows = read(&Forged::new(good.clone()).file(), &Hints::default()).expect("the forgery is good").0;
    assert_eq!(rows.len(), 1);
    let told = |change: &dyn Fn(&mut Forged)| {
        let mut forged = Forged::new(good.clone());
        change(&mut forged);
        fault(&forged.file())
    };
    let column = "row 1 of column `hash`: ";
    assert!(told(&|forged| forged.rows = 2_000_000).contains("more than 1000000 rows"));
    assert!(told(&|forged| forged.rows = -1).ends_with("a row group has no number of rows"));
    assert!(told(&|forged| forged.rows = 2).ends_with("the column has fewer rows than its row group"));
    assert!(told(&|forged| forged.row_groups = 10_001).ends_with("it has more than 10000 row groups"));
    assert!(told(&|forged| forged.chunk_bytes = Some(1 << 40)).ends_with("a column is outside of the file"));
    assert!(told(&|forged| forged.chunk_bytes = Some(-1)).ends_with("a place in the file is negative"));
    assert!(
        told(&|forged| forged.page = page(70, 1 << 31, &body)).ends_with("a page has more rows than its row group")
    );
    assert!(told(&|forged| forged.page = page(70, 1, &body[..50])).ends_with("a page ends before its last value"));
    let huge = told(&|forged| forged.page = page(i64::from(i32::MAX), 1, &body));
    assert!(
        huge.ends_with(&format!("{column}it has a page of 2147483647 bytes; at most 100663296 are read")),
        "{huge}"
    );
    // Children that do not follow make no room.
    let (rows, _) =
        read(&Forged { children: i64::MAX, ..Forged::new(good.clone()) }.file(), &Hints::default()).unwrap();
    assert_eq!(rows.len(), 1);
}

#[test]
fn what_unpacks_to_more_than_it_says_stops_there() {
    // 128 MiB of zeros: once they claim to be small, once they say what they are.
    let zeros = vec![0; 128 << 20];
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&zeros).unwrap();
    let gzip = gzip.finish().unwrap();
    let snappy = snap::raw::Encoder::new().compress_vec(&zeros).unwrap();
    for (codec, packed) in [(1, snappy), (2, gzip)] {
        let told = |unpacked| fault(&Forged { codec, ..Forged::new(page(unpacked, 1, &packed)) }.file());
        assert!(told(70).ends_with("a page unpacks to another size than it says"), "{}", told(70));
        assert!(told(128 << 20).ends_with("it has a page of 134217728 bytes; at most 100663296 are read"));
    }
    // A frame of zstd that asks for a window of 2 GiB.
    let zstd = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x01, 0x00, 0x00];
    let told = fault(&Forged { codec: 6, ..Forged::new(page(70, 1, &zstd)) }.file());
    assert!(told.contains("a page cannot be unpacked: "), "{told}");
}

#[test]
fn a_small_file_is_no_work_for_hours() {
    // Ten thousand row groups that are all the same 4 MiB.
    let page = page(4 << 20, 1, &[hash(), vec![0; (4 << 20) - 70]].concat());
    let file = Forged { row_groups: 10_000, ..Forged::new(page) }.file();
    assert!(file.len() < 5 << 20);
    assert!(fault(&file).ends_with("its columns unpack to more than 1073741824 bytes"));
}

#[test]
fn nesting_has_an_end() {
    // Structures in structures, in a field that nobody knows.
    let deep = [vec![0xfc; 100_000], vec![0; 100_000]].concat();
    let length = u32::try_from(deep.len()).unwrap().to_le_bytes();
    let file = [b"PAR1", deep.as_slice(), &length, b"PAR1"].concat();
    assert!(fault(&file).ends_with("its metadata is nested too deeply"));
    // Lists that claim two thousand million truths, again and again.
    let lists = [0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07].repeat(10_000);
    let length = u32::try_from(lists.len()).unwrap().to_le_bytes();
    let file = [b"PAR1", lists.as_slice(), &length, b"PAR1"].concat();
    assert!(fault(&file).ends_with("its metadata does not end"));
}

/// Readings of a swap and of a review on the demo chain, over and over.
fn readings(count: usize) -> impl Iterator<Item = std::io::Result<Classification>> {
    let lines = include_str!("parquet/readings.jsonl").lines();
    let rows: Vec<Classification> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    (0..count).map(move |at| Ok(rows[at % rows.len()].clone()))
}

/// Where an export goes: its bytes, and after how many readings the first part of it came.
#[derive(Default)]
struct Export {
    bytes: Vec<u8>,
    taken: Rc<Cell<usize>>,
    first_after: Option<usize>,
}

impl Write for Export {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.first_after.get_or_insert(self.taken.get());
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn export(count: usize) -> Export {
    let mut export = Export::default();
    let options = Options {
        chart: Chart::embedded().unwrap(),
        coins: BTreeSet::new(),
        prices: None,
        scratch: || Ok(Box::new(std::io::Cursor::new(Vec::new()))),
    };
    let taken = Rc::clone(&export.taken);
    let mut rows = readings(count).inspect(|_| taken.set(taken.get() + 1)).map(|row| row.map(Into::into));
    find("parquet").unwrap().write(&mut rows, &options, &mut export).unwrap();
    export
}

#[test]
fn an_export_is_written_while_its_readings_come_and_twice_to_the_same_bytes() {
    let (readings, postings) = (8_000, 4_000 * (3 + 2));
    let one = export(readings);
    assert!(one.first_after.is_some_and(|after| after < readings), "{:?}", one.first_after);
    assert!(one.bytes == export(readings).bytes);
    let file = SerializedFileReader::new(Bytes::from(one.bytes.clone())).unwrap();
    let rows: Vec<i64> = file.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!((rows.len(), rows.iter().sum::<i64>()), (2, postings));
    // What went out goes in again.
    let (rows, understood) = read(&one.bytes, &Hints::default()).expect("it is a table");
    assert_eq!((rows.len(), understood.repeated), (2, usize::try_from(postings).unwrap() - 2));
    let columns = &understood.columns;
    assert_eq!(
        (columns.hash.as_str(), columns.chain.as_deref(), columns.wallet.as_deref()),
        ("hash", Some("chain"), Some("wallet"))
    );
}

#[test]
fn an_export_of_nothing_is_a_table_without_rows() {
    let bytes = export(0).bytes;
    let file = SerializedFileReader::new(Bytes::from(bytes.clone())).unwrap();
    assert_eq!(file.metadata().file_metadata().num_rows(), 0);
    assert_eq!(read(&bytes, &Hints::default()).unwrap_err(), TableError::Empty);
}
