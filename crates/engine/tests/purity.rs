//! The engine stays a function: it depends on nothing that could do IO, wait or tell the time.

#![expect(clippy::disallowed_methods, reason = "the engine does no IO; this test reads its sources")]
#![expect(clippy::unwrap_used, reason = "tests fail loudly")]

use std::collections::BTreeSet;

/// What the engine may depend on. None of these does IO; jiff only formats a time that is given, utoipa only describes the answer.
const ALLOWED: [&str; 11] =
    ["alloy-primitives", "bs58", "five8", "itoa", "jiff", "serde", "serde_json", "sha2", "thiserror", "toml", "utoipa"];

#[test]
fn the_engine_depends_on_nothing_that_does_io() {
    let manifest: toml::Table = include_str!("../Cargo.toml").parse().unwrap();
    let names: BTreeSet<&str> = manifest["dependencies"].as_table().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, BTreeSet::from(ALLOWED));
}

/// Every source file of the engine, by its path below `src`.
fn sources() -> Vec<(String, String)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut folders, mut found) = (vec![root.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                found.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found
}

#[test]
fn the_engine_neither_waits_nor_floats() {
    for (path, text) in sources() {
        for phrase in ["async fn", ".await", "std::fs", "std::net", "std::env::"] {
            assert!(!text.contains(phrase), "{path}: {phrase}");
        }
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        // The writer of answers must name them to refuse them.
        let is_writer = path == "json.rs";
        assert!(is_writer || !words.any(|word| word == "f32" || word == "f64"), "{path}: floats");
    }
}

/// What happened never depends on a jurisdiction: only these may know the table of law.
const KNOW_THE_LAW: [&str; 13] = [
    "answer.rs",
    "audit.rs",
    "books.rs",
    "cases.rs",
    "classification.rs",
    "describe.rs",
    "knowledge.rs",
    "lib.rs",
    "policy.rs",
    "position.rs",
    "steps.rs",
    "treatment.rs",
    "treatments.rs",
];

#[test]
fn what_happened_is_read_without_the_law() {
    for (path, text) in sources() {
        let may_know = KNOW_THE_LAW.contains(&path.as_str()) || path.starts_with("treatments/");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let knows = ["treatment::", "treatments::", "Treatment::"].iter().any(|word| code.contains(word));
        assert!(may_know || !knows, "{path} reads a treatment");
    }
}
