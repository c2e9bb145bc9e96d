//! Lists the rule packs, token files and tables of law so that they are embedded in the binary: adding one touches one file. What can be computed
//! of them here is not computed at each start.

#![expect(clippy::disallowed_methods, reason = "the engine does no IO; its build reads the packs")]

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use sha2::{Digest, Sha256};

fn main() -> io::Result<()> {
    let root = Path::new("../..").canonicalize()?;
    let (mut listing, mut digests) = (String::new(), String::new());
    for (constant, folder) in [("PROTOCOLS", "protocols"), ("TOKENS", "tokens"), ("TREATMENTS", "treatments")] {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
        listing.push_str(&format!("pub const {constant}: &[(&str, &str)] = &[\n"));
        for file in files(&root.join(folder), "toml")? {
            println!("cargo::rerun-if-changed={}", file.display());
            let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            listing.push_str(&format!("    ({stem:?}, include_str!({:?})),\n", file.display().to_string()));
            if folder == "protocols" {
                digests.push_str(&format!("    {:?},\n", <[u8; 32]>::from(Sha256::digest(fs::read(&file)?))));
            }
        }
        listing.push_str("];\n");
    }
    listing.push_str(&format!(
        "/// In the order of `PROTOCOLS`.\npub const PROTOCOL_DIGESTS: &[[u8; 32]] = &[\n{digests}];\n"
    ));
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    listing.push_str("pub const WIDESPREAD: &[(&str, &[u8])] = &[\n");
    for file in files(&root.join("tokens/widespread"), "txt")? {
        println!("cargo::rerun-if-changed={}", file.display());
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let packed = out.join(format!("widespread-{stem}"));
        fs::write(&packed, addresses(&fs::read_to_string(&file)?)?)?;
        listing.push_str(&format!("    ({stem:?}, include_bytes!({:?})),\n", packed.display().to_string()));
    }
    listing.push_str("];\n");
    fs::write(out.join("embedded.rs"), listing)
}

/// One address a line, after comments; sorted, and nothing between them.
fn addresses(text: &str) -> io::Result<Vec<u8>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut all: Vec<[u8; 20]> = lines.map(address).collect::<io::Result<_>>()?;
    all.sort_unstable();
    Ok(all.concat())
}

fn address(line: &str) -> io::Result<[u8; 20]> {
    let mut bytes = [0; 20];
    for (at, byte) in bytes.iter_mut().enumerate() {
        let digits = line.get(2 + 2 * at..4 + 2 * at);
        let read = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        *byte = read.ok_or_else(|| io::Error::other(format!("`{line}` is no address")))?;
    }
    Ok(bytes)
}

fn files(folder: &Path, ending: &str) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == ending));
    // By name without ending, by which a pack is looked up: `balancer-v2` is after `balancer`, and `balancer-v2.toml` before `balancer.toml`.
    files.sort_by(|one, other| one.file_stem().cmp(&other.file_stem()));
    Ok(files)
}
