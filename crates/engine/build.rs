//! Lists the rule packs, token files and tables of law so that they are embedded in the binary: adding one touches one file.

#![expect(clippy::disallowed_methods, reason = "the engine does no IO; its build reads the packs")]

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = Path::new("../..").canonicalize()?;
    let mut listing = String::new();
    for (constant, folder) in [("PROTOCOLS", "protocols"), ("TOKENS", "tokens"), ("TREATMENTS", "treatments")] {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
        listing.push_str(&format!("pub const {constant}: &[(&str, &str)] = &[\n"));
        for file in toml_files(&root.join(folder))? {
            println!("cargo::rerun-if-changed={}", file.display());
            let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            listing.push_str(&format!("    ({stem:?}, include_str!({:?})),\n", file.display().to_string()));
        }
        listing.push_str("];\n");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("embedded.rs");
    fs::write(out, listing)
}

fn toml_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    Ok(files)
}
