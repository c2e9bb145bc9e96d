//! The stored inputs: seeds, which are mutated, and cases that once broke a property.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Every file in order, by name.
fn files(folder: &str, target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(target);
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    files.sort();
    files
}

pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    let seeds: Vec<Vec<u8>> = files("seeds", target).iter().filter_map(|file| std::fs::read(file).ok()).collect();
    assert!(!seeds.is_empty(), "fuzz/seeds/{target} holds no seed");
    seeds
}

/// Runs the target over every file that is kept for it, and names the one that breaks it.
pub fn replay(target: &str, check: fn(&[u8])) {
    for file in [files("seeds", target), files("found", target)].concat() {
        let bytes = std::fs::read(&file);
        assert!(bytes.is_ok(), "{} cannot be read", file.display());
        let held = catch_unwind(AssertUnwindSafe(|| check(&bytes.unwrap_or_default())));
        assert!(held.is_ok(), "{} breaks `{target}`", file.display());
    }
}
