//! Facts that are kept while a table is read, and what is read out of them without a node.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::cli::{said, taxon};
use super::harness::root;

/// The answers of a file by hash and perspective.
fn answers(path: &Path) -> BTreeMap<(String, String), String> {
    let text = std::fs::read_to_string(path).unwrap();
    let answers = text.lines().map(|line| {
        let answer: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| answer[name].as_str().unwrap().to_owned();
        ((text("hash"), text("perspective")), line.to_owned())
    });
    answers.collect()
}

#[test]
fn kept_facts_give_the_same_bytes_without_a_node() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let output = taxon(folder.path(), arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        said(&output)
    };
    let table = root().join("demo/demo.csv").display().to_string();
    let told =
        run(&["bulk", &table, "--demo", "--format", "jsonl", "--out", "read.jsonl", "--keep-facts", "kept/facts"]);
    let direct = answers(&folder.path().join("read.jsonl"));
    assert!(
        direct.len() > 80 && told.contains(&format!("facts of {} transactions in kept/facts", direct.len())),
        "{told}"
    );
    let told = run(&["read", "kept/facts", "--demo", "--out", "verdicts.jsonl"]);
    assert_eq!(answers(&folder.path().join("verdicts.jsonl")), direct);
    assert!(told.starts_with(&format!("{} rows in verdicts.jsonl, ", direct.len())), "{told}");
    assert!(told.contains(" rows/s on ") && told.contains("not tax advice"), "{told}");
    run(&["read", "kept/facts", "--demo", "--threads", "3", "--out", "verdicts.parquet"]);
    // What comes out is a table of transactions, like any other.
    let told = run(&["bulk", "verdicts.parquet", "--demo", "--format", "jsonl", "--out", "again.jsonl"]);
    assert!(told.contains(&format!("{} transactions, from column `hash`, chain from `chain`", direct.len())), "{told}");

    let fails = |arguments: &[&str], expected: &str| {
        let output = taxon(folder.path(), &[&["read"], arguments].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(told.contains(expected), "{arguments:?}: {told}");
    };
    fails(&["kept/facts", "--out", "verdicts.csv"], "verdicts.csv must end in .parquet or .jsonl");
    fails(&["nowhere.parquet", "--out", "x.jsonl"], "nowhere.parquet cannot be read");
    fails(&[&table, "--out", "x.jsonl"], "demo.csv: it is no Parquet");
    fails(&["verdicts.parquet", "--out", "x.jsonl"], "verdicts.parquet: it has no column `version`");
    fails(&["kept", "--out", "x.jsonl"], "kept has no Parquet file in it");
    // The demo chains are not known without being asked for, and no row can be read: each says so.
    fails(&["kept/facts", "--out", "x.jsonl"], "rows could not be classified");
    let refused = std::fs::read_to_string(folder.path().join("x.jsonl")).unwrap();
    assert_eq!(refused.lines().filter(|line| line.contains(r#""error":"unsupported_chain""#)).count(), direct.len());
    assert!(refused.contains("no chain is called `demo`"), "{refused}");
    let left: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('.'))
        .collect();
    assert_eq!(left, Vec::<String>::new(), "nothing half written is left");
}
