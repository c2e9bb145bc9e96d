//! Files that are no facts, or lie about what is in them.

use std::io::Cursor;
use std::sync::{Arc, LazyLock};

use engine::Question;
use facts::{Batch, FactsFile};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, FloatType, Int32Type, Int64Type};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use proptest::prelude::*;

use super::demo::rows;
use super::files::{file, lines};

fn fault(bytes: Vec<u8>) -> String {
    lines(&[bytes], &Question::default(), 2).map(|(done, _)| done).expect_err("it is refused").to_string()
}

/// A column, and the cells of every row.
enum Values {
    Text(Vec<String>),
    Short(Vec<i32>),
    Long(Vec<i64>, Option<LogicalType>),
    Truth(Vec<bool>),
    Float(Vec<f32>),
}

fn table(columns: &[(&str, Values)], properties: WriterProperties) -> Vec<u8> {
    let field = |(name, values): &(&str, Values)| {
        let (physical, logical) = match values {
            Values::Text(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Values::Short(_) => (PhysicalType::INT32, None),
            Values::Long(_, logical) => (PhysicalType::INT64, logical.clone()),
            Values::Truth(_) => (PhysicalType::BOOLEAN, None),
            Values::Float(_) => (PhysicalType::FLOAT, None),
        };
        let field = Type::primitive_type_builder(name, physical).with_logical_type(logical);
        Arc::new(field.with_repetition(Repetition::REQUIRED).build().unwrap())
    };
    let schema = Type::group_type_builder("facts").with_fields(columns.iter().map(field).collect()).build().unwrap();
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties)).unwrap();
    let mut group = file.next_row_group().unwrap();
    for (_, values) in columns {
        let mut column: SerializedColumnWriter<'_> = group.next_column().unwrap().unwrap();
        match values {
            Values::Text(texts) => {
                let texts: Vec<ByteArray> = texts.iter().map(|text| text.as_str().into()).collect();
                column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap()
            }
            Values::Short(values) => column.typed::<Int32Type>().write_batch(values, None, None).unwrap(),
            Values::Long(values, _) => column.typed::<Int64Type>().write_batch(values, None, None).unwrap(),
            Values::Truth(values) => column.typed::<BoolType>().write_batch(values, None, None).unwrap(),
            Values::Float(values) => column.typed::<FloatType>().write_batch(values, None, None).unwrap(),
        };
        column.close().unwrap();
    }
    group.close().unwrap();
    file.into_inner().unwrap()
}

fn plain() -> WriterProperties {
    WriterProperties::builder().build()
}

/// The rows that a data engineer would write, with the least that a row has.
fn least(version: i32) -> Vec<(&'static str, Values)> {
    let rows: Vec<_> = rows().into_iter().filter(|row| row.chain == "demo-solana").collect();
    let texts = |of: fn(&facts::RowText) -> String| Values::Text(rows.iter().map(of).collect());
    vec![
        ("version", Values::Short(vec![version; rows.len()])),
        ("chain", texts(|row| row.chain.clone())),
        ("hash", texts(|row| row.hash.clone())),
        ("transaction", texts(|row| row.transaction.clone())),
        ("mine", Values::Float(vec![0.5; rows.len()])),
    ]
}

#[test]
fn other_columns_and_columns_that_may_be_absent_do_no_harm_in_any_version_of_pages() {
    let mut expected = None;
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for has_dictionary in [true, false] {
            let properties =
                WriterProperties::builder().set_writer_version(version).set_dictionary_enabled(has_dictionary);
            let bytes = table(&least(1), properties.set_compression(Compression::SNAPPY).build());
            let (done, told) = lines(&[bytes], &Question::default(), 1).unwrap();
            assert_eq!((done.rows, done.failed), (22, 0));
            assert_eq!(&told, expected.get_or_insert_with(|| told.clone()));
        }
    }
}

#[test]
fn numbers_times_and_truths_are_read_in_every_way_that_they_are_written() {
    let told = |properties: WriterProperties, time: Values| {
        let row = rows()[0].clone();
        let number = i64::try_from(row.block_number.unwrap()).unwrap();
        let columns = [
            ("version", Values::Long(vec![1], None)),
            ("chain", Values::Text(vec![row.chain])),
            ("hash", Values::Text(vec![row.hash])),
            ("block_number", Values::Long(vec![number], None)),
            ("block_time", time),
            ("final", Values::Truth(vec![true])),
            ("transaction", Values::Text(vec![row.transaction])),
            ("receipt", Values::Text(vec![row.receipt.unwrap()])),
        ];
        let (_, told) = lines(&[table(&columns, properties)], &Question::default(), 1).unwrap();
        let answer: serde_json::Value = serde_json::from_str(&told).unwrap();
        (answer["block"]["timestamp"].as_str().unwrap().to_owned(), answer["block"]["finalized"].as_bool().unwrap())
    };
    let time = 1_700_000_000_i64;
    let expected = ("2023-11-14T22:13:20Z".to_owned(), true);
    let ways = [
        (time, None),
        (time * 1_000 + 999, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
        (time * 1_000_000 + 999_999, Some(LogicalType::timestamp(false, TimeUnit::MICROS))),
        (time * 1_000_000_000 + 1, Some(LogicalType::timestamp(true, TimeUnit::NANOS))),
    ];
    for (value, logical) in ways {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for has_dictionary in [true, false] {
                let properties =
                    WriterProperties::builder().set_writer_version(version).set_dictionary_enabled(has_dictionary);
                assert_eq!(told(properties.build(), Values::Long(vec![value], logical.clone())), expected);
            }
        }
    }
}

#[test]
fn a_file_that_is_none_of_facts_says_what_is_wrong_with_it() {
    assert_eq!(fault(b"PAR1".to_vec()), "file 0: its Parquet cannot be read: it has no end");
    assert!(fault(b"hash,chain\n1,2\nthree,four\n".to_vec()).ends_with("it is no Parquet"));
    for name in ["version", "chain", "hash", "transaction"] {
        let columns: Vec<_> = least(1).into_iter().filter(|(there, _)| *there != name).collect();
        assert_eq!(
            fault(table(&columns, plain())),
            format!("file 0: it has no column `{name}`, which every file of facts has")
        );
    }
    let mut columns = least(1);
    columns.push(("final", Values::Short(vec![1; 22])));
    assert_eq!(fault(table(&columns, plain())), "file 0: column `final` must hold BOOLEAN");
    let mut columns = least(1);
    columns.push(("block_number", Values::Float(vec![1.0; 22])));
    assert_eq!(fault(table(&columns, plain())), "file 0: column `block_number` must hold INT32 or INT64");
}

#[test]
fn a_later_version_is_refused_and_an_earlier_one_is_a_wrong_row() {
    assert_eq!(
        fault(table(&least(2), plain())),
        "file 0: row 1: version 2 of the schema of facts is not known here; the newest that is, is 1"
    );
    let (done, told) = lines(&[table(&least(0), plain())], &Question::default(), 2).unwrap();
    assert_eq!(done.failed, 22);
    assert!(told.contains("row 22 of file 0: `version`: there is no version 0"), "{told}");
}

#[test]
fn one_wrong_row_leaves_the_others_alone() {
    let mut bent = rows();
    bent[10].receipt.clone_from(&rows()[11].receipt);
    bent[20].chain = "nowhere".to_owned();
    bent[30].hash = "0x".to_owned();
    let (done, told) = lines(&[file(&bent)], &Question::default(), 2).unwrap();
    assert_eq!((done.failed, done.rows), (3, u64::try_from(bent.len()).unwrap()));
    let codes: Vec<(usize, String)> = told
        .lines()
        .enumerate()
        .filter_map(|(at, line)| {
            let answer: serde_json::Value = serde_json::from_str(line).unwrap();
            Some((at, answer["error"].as_str()?.to_owned()))
        })
        .collect();
    let invalid = "invalid_facts".to_owned();
    assert_eq!(codes, [(10, invalid.clone()), (20, "unsupported_chain".to_owned()), (30, invalid)]);
}

#[test]
fn a_small_file_is_no_work_for_hours() {
    // One transaction over and over, which a dictionary holds once and Snappy packs to a twentieth.
    let row = rows().into_iter().find(|row| row.chain == "demo-solana").unwrap();
    let padding = format!("{{\"padding\":\"{}\",", "x".repeat(800_000));
    let (transaction, count) = (row.transaction.replacen('{', &padding, 1), 500);
    let columns = [
        ("version", Values::Short(vec![1; count])),
        ("chain", Values::Text(vec![row.chain; count])),
        ("hash", Values::Text(vec![row.hash; count])),
        ("transaction", Values::Text(vec![transaction; count])),
    ];
    let bytes = table(&columns, WriterProperties::builder().set_compression(Compression::SNAPPY).build());
    assert!(bytes.len() < 60_000, "{}", bytes.len());
    let mut file = FactsFile::open(Cursor::new(bytes)).unwrap();
    let mut batch = Batch::default();
    let told = loop {
        match file.next(&mut batch) {
            Ok(true) => {}
            Ok(false) => panic!("it is read to its end"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(told.contains("unpack to more than"), "{told}");
}

static SMALL: LazyLock<Vec<u8>> = LazyLock::new(|| file(&rows()[..12]));

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn a_damaged_file_is_an_error_or_other_rows_and_never_a_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<Option<prop::sample::Index>>(),
    ) {
        let mut bytes = SMALL.clone();
        for (place, byte) in &changes {
            let place = place.index(bytes.len());
            bytes[place] = *byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok((done, told)) = lines(&[bytes], &Question::default(), 1) {
            prop_assert_eq!(usize::try_from(done.rows).unwrap(), told.lines().count());
        }
    }
}
