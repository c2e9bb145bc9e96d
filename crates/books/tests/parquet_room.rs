//! How much room a Parquet file can make this process take. A file of its own, since the system counts for the whole process.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail loudly")]

use std::io::Cursor;

use books::asked::{Hints, understand};
use proptest::prelude::*;

macro_rules! tables {
    ($($name:literal),* $(,)?) => { [$(include_bytes!(concat!("parquet/", $name, ".parquet")).as_slice()),*] };
}

const TABLES: [&[u8]; 12] = tables![
    "pyarrow",
    "pyarrow-gzip-v2",
    "pyarrow-delta",
    "pyarrow-brotli",
    "polars",
    "duckdb",
    "duckdb-v2-zstd",
    "fastparquet",
    "raw",
    "fixed",
    "many",
    "many-delta",
];
/// Rows of the longest.
const ROWS_MAX: usize = 1_000;
/// 2,147,483,647 as Thrift writes numbers.
const HUGE: [u8; 5] = [0xfe, 0xff, 0xff, 0xff, 0x0f];
/// A page of each of three columns and one that is being unpacked, if all were as large as is allowed.
const ROOM_BYTES_MAX: u64 = 4 * (96 << 20);

/// What the process took at most, resident or not, in bytes.
#[expect(clippy::disallowed_methods, reason = "the system tells it in a file")]
fn room() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// A byte that becomes another, or a number that becomes huge.
#[derive(Debug, Clone)]
struct Change {
    is_in_footer: bool,
    place: prop::sample::Index,
    byte: Option<u8>,
}

fn change() -> impl Strategy<Value = Change> {
    let parts = (any::<bool>(), any::<prop::sample::Index>(), any::<Option<u8>>());
    parts.prop_map(|(is_in_footer, place, byte)| Change { is_in_footer, place, byte })
}

/// The file with its footer where its last bytes say, however long it became.
fn changed(table: &[u8], changes: &[Change]) -> Vec<u8> {
    let (rest, tail) = table.split_at(table.len() - 8);
    let footer_length = u32::from_le_bytes(*tail.first_chunk().unwrap());
    let (body, footer) = rest.split_at(rest.len() - usize::try_from(footer_length).unwrap());
    let (mut body, mut footer) = (body.to_vec(), footer.to_vec());
    for change in changes {
        let part = if change.is_in_footer { &mut footer } else { &mut body };
        let at = change.place.index(part.len());
        match change.byte {
            Some(byte) => part[at] = byte,
            None => drop(part.splice(at..=at, HUGE)),
        }
    }
    let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
    [body.as_slice(), &footer, &length, b"PAR1"].concat()
}

/// Real tables are changed: nothing panics, no row comes from nowhere, and no room is taken by what a file claims.
#[test]
fn no_change_of_a_table_brings_it_down() {
    let before = room();
    let config = ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() };
    let changes = prop::collection::vec(change(), 1..4);
    proptest!(config, |(table in prop::sample::select(TABLES.as_slice()), changes in changes)| {
        let bytes = changed(table, &changes);
        let mut count = 0_usize;
        let understood = understand(Cursor::new(&bytes), &Hints::default(), &mut |_| {
            count += 1;
            true
        });
        if let Ok(understood) = understood {
            let counted = count + understood.repeated + understood.empty + understood.refused_count;
            prop_assert!(counted <= ROWS_MAX, "{} rows", counted);
        }
        prop_assert!(room() < before + ROOM_BYTES_MAX, "{} bytes", room() - before);
    });
}
