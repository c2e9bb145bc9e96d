//! The table of docs/faults.md: written with `UPDATE=1`, and held to the code otherwise. Times are a machine's and are not compared.

use std::collections::BTreeMap;
use std::time::Duration;

use super::fault::{FAULTS, Fault};
use crate::harness::root;

const FILE: &str = "docs/faults.md";
const HEAD: &str =
    "| the node | the caller sees | after | with a second node that is well | after |\n|---|---|---|---|---|\n";

pub fn is_told_to_measure() -> bool {
    std::env::var_os("UPDATE").is_some()
}

/// Writes the table anew, when told to.
pub fn update(alone: &BTreeMap<&str, Duration>, beside: &BTreeMap<&str, Duration>) {
    if !is_told_to_measure() {
        return;
    }
    let (before, _, after) = parts();
    let row = |fault: &Fault| {
        let took = alone.get(fault.name).copied().map_or(String::new(), rounded);
        let beside = format!("{} | {}", fault.beside_a_good_one.words(), rounded(beside[fault.name]));
        format!("{}{took} | {beside} |\n", beginning(fault))
    };
    let table: String = FAULTS.iter().map(row).collect();
    std::fs::write(root().join(FILE), format!("{before}{HEAD}{table}{after}")).unwrap();
}

#[test]
fn the_page_lists_every_fault() {
    let (_, table, _) = parts();
    let rows: Vec<&str> = table.lines().collect();
    let advice = "run `UPDATE=1 cargo test -p taxon --test e2e every_fault`";
    assert_eq!(rows.len(), FAULTS.len(), "{FILE}: {advice}");
    for (row, fault) in rows.iter().zip(FAULTS) {
        let is_told = row.contains(&format!(" | {} | ", fault.beside_a_good_one.words()));
        assert!(row.starts_with(&beginning(fault)) && is_told, "{FILE}: {row}: {advice}");
    }
}

/// A row up to its first time.
fn beginning(fault: &Fault) -> String {
    let sees = if fault.is_hidden { "what that node says".to_owned() } else { fault.sees.words() };
    format!("| **{}**: {} | {sees} | ", fault.name, fault.does)
}

/// The text before the table, its rows, and the text after it.
fn parts() -> (String, String, String) {
    let text = std::fs::read_to_string(root().join(FILE)).unwrap();
    let (before, rest) = text.split_once(HEAD).unwrap_or_else(|| panic!("{FILE} has no table"));
    let end = rest.find("\n\n").map_or(rest.len(), |end| end + 1);
    let (table, after) = rest.split_at(end);
    (before.to_owned(), table.to_owned(), after.to_owned())
}

/// To two digits: more would be noise.
fn rounded(took: Duration) -> String {
    match took.as_millis() {
        0..100 => format!("{} ms", took.as_millis()),
        millis @ 100..1000 => format!("{} ms", (millis + 5) / 10 * 10),
        _ => format!("{:.1} s", took.as_secs_f64()),
    }
}
