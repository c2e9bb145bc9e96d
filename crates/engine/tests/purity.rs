//! The engine stays a function: it depends on nothing that could do IO, wait or tell the time.

#![expect(clippy::disallowed_methods, reason = "the engine does no IO; this test reads its sources")]

use std::collections::BTreeSet;

/// What the engine may depend on. None of these does IO; jiff only formats a time that is given, utoipa only describes the answer.
const ALLOWED: [&str; 10] =
    ["alloy-primitives", "bs58", "five8", "jiff", "serde", "serde_json", "sha2", "thiserror", "toml", "utoipa"];

#[test]
fn the_engine_depends_on_nothing_that_does_io() {
    let manifest: toml::Table = include_str!("../Cargo.toml").parse().unwrap();
    let names: BTreeSet<&str> = manifest["dependencies"].as_table().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, BTreeSet::from(ALLOWED));
}

#[test]
fn the_engine_neither_waits_nor_floats() {
    let sources = env!("CARGO_MANIFEST_DIR").to_owned() + "/src";
    let mut folders = vec![std::path::PathBuf::from(sources)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for phrase in ["async fn", ".await", "std::fs", "std::net", "std::env::"] {
                assert!(!text.contains(phrase), "{}: {phrase}", path.display());
            }
            let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            assert!(!words.any(|word| word == "f32" || word == "f64"), "{}: floats", path.display());
        }
    }
}
