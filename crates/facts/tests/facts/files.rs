//! Files of facts, there and back, and verdicts out of them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Cursor;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use engine::Question;
use facts::{Batch, Done, FactsFile, FactsWriter, Failure, Output, Plan, RowText, classify, run};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::RowAccessor as _;

use super::demo::{CHAINS, KNOWLEDGE, rows};

fn plan(question: &Question, threads: usize) -> Plan<'_> {
    Plan { knowledge: &KNOWLEDGE, chains: &CHAINS, question, threads }
}

/// A file of these rows.
pub fn file(rows: &[RowText]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = FactsWriter::new(&folder.path().join("facts")).unwrap();
    for row in rows {
        writer.append_row(row.clone()).unwrap();
    }
    let kept = writer.close().unwrap();
    assert_eq!((kept.files.len(), kept.rows), (1, u64::try_from(rows.len()).unwrap()));
    assert_eq!(std::fs::read_dir(folder.path().join("facts")).unwrap().count(), 1, "nothing else is left");
    std::fs::read(&kept.files[0]).unwrap()
}

pub fn lines(files: &[Vec<u8>], question: &Question, threads: usize) -> Result<(Done, String), Failure> {
    let inputs = files.iter().enumerate().map(|(at, file)| (format!("file {at}"), Ok(Cursor::new(file.as_slice()))));
    let (done, out) =
        run(&plan(question, threads), inputs, Output::Lines(Vec::new()), &|_| {}, &AtomicBool::new(false))?;
    Ok((done, String::from_utf8(out).unwrap()))
}

#[test]
fn rows_come_back_from_a_file_as_they_were() {
    let rows = rows();
    let mut file = FactsFile::open(Cursor::new(file(&rows))).unwrap();
    assert_eq!(file.rows(), rows.len());
    let (mut batch, mut at) = (Batch::default(), 0);
    while file.next(&mut batch).unwrap() {
        assert_eq!(batch.first_row, at + 1);
        for row in batch.rows() {
            assert_eq!(format!("{:?}", row.unwrap()), format!("{:?}", rows[at].row()));
            at += 1;
        }
    }
    assert_eq!(at, rows.len());
}

#[test]
fn verdicts_come_in_the_order_of_the_rows_however_many_threads_there_are() {
    let question = Question::default();
    let mut all = Vec::new();
    for at in 0..20 {
        all.extend(rows().into_iter().cycle().skip(at).take(85));
    }
    let files = [file(&all[..1_000]), file(&all[1_000..])];
    let expected: Vec<String> = all
        .iter()
        .map(|row| {
            let mut bytes = Vec::new();
            classify(&plan(&question, 1), &row.row()).unwrap().write_json(&mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        })
        .collect();
    for threads in [1, 2, 7] {
        let (done, told) = lines(&files, &question, threads).unwrap();
        assert_eq!(told.lines().collect::<Vec<_>>(), expected);
        assert_eq!((done.rows, done.failed, done.unconcerned), (u64::try_from(all.len()).unwrap(), 0, 0));
        assert!(done.reviews > 0 && done.reading > std::time::Duration::ZERO);
    }
}

#[test]
fn verdicts_are_a_table_that_other_readers_read() {
    let rows = rows();
    let wallet = rows.iter().find(|row| row.chain == "demo").unwrap();
    let mut asked = rows.clone();
    asked[3].wallet = Some(format!("0x{}", "12".repeat(20)));
    asked[5].transaction = "{".to_owned();
    let bytes = file(&asked);
    let question = Question::default();
    let told = AtomicUsize::new(0);
    let out = Output::parquet(Vec::new()).unwrap();
    let inputs = [("facts.parquet".to_owned(), Ok(Cursor::new(bytes)))].into_iter();
    let tell = |rows: usize| {
        told.fetch_add(rows, Ordering::Relaxed);
    };
    let (done, written) = run(&plan(&question, 2), inputs, out, &tell, &AtomicBool::new(false)).unwrap();
    assert_eq!((done.unconcerned, done.failed, told.into_inner()), (1, 1, rows.len()));
    assert!(done.parquet_share() > 0.0 && done.parquet_share() < 1.0);
    let table = SerializedFileReader::new(Bytes::from(written)).unwrap();
    let names: Vec<String> =
        table.metadata().file_metadata().schema().get_fields().iter().map(|field| field.name().to_owned()).collect();
    assert_eq!(names, facts::VERDICT_COLUMNS.each_ref().map(|column| column.name));
    let place = |name: &str| names.iter().position(|there| there == name).unwrap();
    let mut errors = Vec::new();
    let mut hashes = BTreeSet::new();
    for (at, row) in table.get_row_iter(None).unwrap().enumerate() {
        let row = row.unwrap();
        let answer: serde_json::Value = serde_json::from_str(row.get_string(place("answer")).unwrap()).unwrap();
        hashes.insert(row.get_string(place("hash")).unwrap().clone());
        assert_eq!(row.get_string(place("hash")).unwrap(), &rows[at].hash);
        assert_eq!(answer["hash"], rows[at].hash.as_str());
        assert_eq!(answer["category"], row.get_string(place("category")).unwrap().as_str());
        assert_eq!(answer["taxable"].as_bool(), row.get_bool(place("taxable")).ok());
        let millis = answer["block"]["timestamp"].as_str().map(|time| time.parse::<jiff::Timestamp>().unwrap());
        assert_eq!(row.get_timestamp_millis(place("time")).ok(), millis.map(jiff::Timestamp::as_millisecond));
        errors.extend(
            row.get_string(place("error")).ok().map(|error| (at, error.clone(), answer["review_note"].clone())),
        );
    }
    assert!(hashes.contains(&wallet.hash) && hashes.len() == rows.len());
    assert_eq!(errors.len(), 2);
    assert_eq!((errors[0].0, errors[0].1.as_str()), (3, "wallet_not_in_transaction"));
    assert_eq!((errors[1].0, errors[1].1.as_str()), (5, "invalid_facts"));
    assert!(errors[1].2.as_str().unwrap().starts_with("row 6 of facts.parquet: `transaction`: "), "{:?}", errors[1]);
}

#[test]
fn a_file_that_is_not_finished_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = FactsWriter::new(folder.path()).unwrap();
    writer.append_row(rows()[0].clone()).unwrap();
    let names = || -> Vec<String> {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    assert!(names().iter().all(|name| name.starts_with('.')), "{:?}", names());
    drop(writer);
    assert_eq!(names(), Vec::<String>::new());
    assert_eq!(FactsWriter::new(folder.path()).unwrap().close().unwrap().files.len(), 0);
}

#[test]
fn a_run_stops_when_it_is_told_to_and_when_a_file_is_missing() {
    let question = Question::default();
    let good = file(&rows());
    let inputs = || [("facts.parquet".to_owned(), Ok(Cursor::new(good.as_slice())))].into_iter();
    let stopped =
        run(&plan(&question, 2), inputs(), Output::Lines(Vec::new()), &|_| {}, &AtomicBool::new(true)).unwrap_err();
    assert!(matches!(stopped, Failure::Stopped));
    let missing = [("there".to_owned(), File::open("/nowhere"))].into_iter();
    let failure =
        run(&plan(&question, 2), missing, Output::Lines(Vec::new()), &|_| {}, &AtomicBool::new(false)).unwrap_err();
    assert!(failure.to_string().starts_with("there cannot be read: "), "{failure}");
}
