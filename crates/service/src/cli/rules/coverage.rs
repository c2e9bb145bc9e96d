//! `taxon rules coverage`: an ABI or IDL from a file, compared with what a pack says of it. It reads that file and the rules, nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use alloy_json_abi::{JsonAbi, StateMutability};
use anyhow::{Context, ensure};
use engine::Rules;
use engine::coverage::{Coverage, Entry, coverage};
use engine::rules::Pack;
use engine::rules::file::SurfaceRow;
use serde::Deserialize;
use serde_json::Value;

use crate::cli::terminal::{print, safe, table};

/// The longest ABI of a contract that people use is below one.
const ABI_BYTES_MAX: u64 = 8 << 20;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The pack; without it, every pack that has been compared with an ABI
    name: Option<String>,
    /// The contracts that have this ABI, by their role in the pack
    #[arg(long, value_name = "ROLE", requires = "abi")]
    on: Option<String>,
    /// A JSON ABI, a compiler's output that holds one, or the IDL of a Solana program
    #[arg(long, value_name = "FILE", requires = "on")]
    abi: Option<PathBuf>,
    /// Write the `[[surface]]` row for the pack
    #[arg(long, requires = "abi")]
    toml: bool,
}

pub(super) fn run(rules: &Rules, args: &Args) -> anyhow::Result<ExitCode> {
    let Some(name) = &args.name else {
        print(&overview(rules));
        return Ok(ExitCode::SUCCESS);
    };
    let pack = super::pack(rules, name)?;
    match args.on.as_ref().zip(args.abi.as_ref()) {
        Some((role, abi)) => {
            let coverage = coverage(rules, pack, role, entries(abi)?);
            print(&if args.toml { row(pack, role, &coverage) } else { division(role, &coverage) });
        }
        None => {
            ensure!(
                !pack.file.surface.is_empty(),
                "`{name}` was compared with no ABI yet: give `--on ROLE --abi FILE`"
            );
            for row in &pack.file.surface {
                let role = row.on.get_ref();
                print(&division(role, &coverage(rules, pack, role, entries_of(row)?)));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// One line for each ABI that a pack was compared with.
fn overview(rules: &Rules) -> String {
    let rows = rules.packs.iter().flat_map(|pack| pack.file.surface.iter().map(move |row| (pack, row)));
    let counts = |row: &SurfaceRow| [row.read.len(), row.silent.values().map(Vec::len).sum(), row.unknown.len()];
    let lines = rows.clone().map(|(pack, row)| {
        let [read, silent, unknown] = counts(row).map(|count| count.to_string());
        vec![pack.id.clone(), row.on.get_ref().clone(), read, silent, unknown]
    });
    let mut out = table(&["PACK", "ROLE", "READ", "SILENT", "UNKNOWN"], lines);
    let packs: BTreeSet<&str> = rows.clone().map(|(pack, _)| pack.id.as_str()).collect();
    let unknown: usize = rows.map(|(_, row)| row.unknown.len()).sum();
    let _ = writeln!(out, "{} of {} packs compared; {unknown} entries unknown", packs.len(), rules.packs.len());
    out
}

fn division(role: &str, coverage: &Coverage) -> String {
    let Coverage { read, silent, unknown } = coverage;
    let mut out = format!("{role}: {} read, {} silent, {} unknown\n", read.len(), silent.len(), unknown.len());
    for (entry, by) in read {
        let _ = writeln!(out, "  read     {}  ({by})", safe(&entry.to_string()));
    }
    for (entry, why) in silent {
        let _ = writeln!(out, "  silent   {}  ({why})", safe(&entry.to_string()));
    }
    for entry in unknown {
        let _ = writeln!(out, "  unknown  {}", safe(&entry.to_string()));
    }
    out
}

/// As the pack would say it; the link stays what it was.
fn row(pack: &Pack, role: &str, coverage: &Coverage) -> String {
    let before = pack.file.surface.iter().find(|row| row.on.get_ref() == role);
    let link = before.map_or("", |row| row.abi.as_str());
    let quoted = |text: &str| toml::Value::String(safe(text)).to_string();
    let list = |entries: Vec<&Entry>| {
        let lines: Vec<String> = entries.iter().map(|entry| format!("  {},\n", quoted(&entry.to_string()))).collect();
        format!("[\n{}]", lines.concat())
    };
    let mut out = format!("[[surface]]\non      = {}\nabi     = {}\n", quoted(role), quoted(link));
    let read = coverage.read.iter().map(|(entry, _)| entry).collect();
    let _ = writeln!(out, "read    = {}", list(read));
    if !coverage.unknown.is_empty() {
        let _ = writeln!(out, "unknown = {}", list(coverage.unknown.iter().collect()));
    }
    let mut reasons: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for (entry, why) in &coverage.silent {
        reasons.entry(why).or_default().push(entry);
    }
    if !reasons.is_empty() {
        let _ = writeln!(out, "\n[surface.silent]");
    }
    for (why, entries) in reasons {
        let _ = writeln!(out, "{} = {}", quoted(why), list(entries));
    }
    out
}

/// What a pack's own row names.
fn entries_of(row: &SurfaceRow) -> anyhow::Result<BTreeSet<Entry>> {
    let all = row.read.iter().chain(row.silent.values().flatten()).chain(&row.unknown);
    all.map(|text| Entry::parse(text.get_ref()).map_err(anyhow::Error::msg)).collect()
}

#[derive(Deserialize)]
struct Idl {
    instructions: Vec<IdlInstruction>,
}

#[derive(Deserialize)]
struct IdlInstruction {
    name: String,
}

/// Functions that change state, events, and instructions of a program.
fn entries(path: &Path) -> anyhow::Result<BTreeSet<Entry>> {
    let shown = path.display();
    let file = File::open(path).with_context(|| format!("{shown} cannot be opened"))?;
    let mut text = String::new();
    ensure!(file.metadata()?.len() <= ABI_BYTES_MAX, "{shown} is longer than {ABI_BYTES_MAX} bytes");
    let read = file.take(ABI_BYTES_MAX).read_to_string(&mut text);
    read.with_context(|| format!("{shown} cannot be read as text"))?;
    let value: Value = serde_json::from_str(&text).with_context(|| format!("{shown} is no JSON"))?;
    if value.get("instructions").is_some() {
        let idl: Idl = serde_json::from_value(value).with_context(|| format!("{shown} is no IDL"))?;
        return Ok(idl.instructions.iter().map(|it| Entry::Instruction(snake_case(&it.name))).collect());
    }
    let value = value.get("abi").cloned().unwrap_or(value);
    let abi: JsonAbi = serde_json::from_value(value).with_context(|| format!("{shown} holds no ABI"))?;
    let changes =
        abi.functions().filter(|it| !matches!(it.state_mutability, StateMutability::View | StateMutability::Pure));
    let functions = changes.map(|function| Entry::Function(function.signature()));
    Ok(functions.chain(abi.events().map(|event| Entry::Event(event.signature()))).collect())
}

/// Older IDLs write names in camel case, programs in snake case.
fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for letter in name.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}
