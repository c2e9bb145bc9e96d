//! `taxon backup` and `taxon restore`

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use jiff::Timestamp;

use super::UNCONFIRMED;
use super::terminal::{is_confirmed, print, safe};
use crate::app;
use crate::config::Config;
use crate::store::Store;
use crate::store::backup::{Counts, Present, restore as fill};

/// Standard output, or standard input.
const STREAM: &str = "-";
/// A backup holds hashes of keys and passwords and who reads what, so only the operator may read it.
const OWNER_ONLY: u32 = 0o600;

#[derive(Debug, clap::Args)]
pub(super) struct BackupArgs {
    /// Where to write it; there must be no such file yet. `-` is standard output
    file: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(super) struct RestoreArgs {
    /// A file that `taxon backup` wrote, on either database. `-` is standard input
    file: PathBuf,
    /// Delete what the database holds
    #[arg(long)]
    force: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(super) async fn backup(config: &Config, args: &BackupArgs) -> anyhow::Result<ExitCode> {
    let store = app::store(config).await?;
    if args.file == Path::new(STREAM) {
        let (mut out, _) = store.back_up(BufWriter::new(std::io::stdout())).await?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let counts = write(&store, &args.file).await?;
    print(&format!("Wrote {}: {}.\n", shown(&args.file), told(&counts)));
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn restore(config: &Config, args: &RestoreArgs) -> anyhow::Result<ExitCode> {
    if args.force && !is_confirmed("All that the database holds is deleted.", args.yes) {
        bail!(UNCONFIRMED);
    }
    app::make_folder(config)?;
    let input: Box<dyn Read> = if args.file == Path::new(STREAM) {
        Box::new(std::io::stdin())
    } else {
        Box::new(File::open(&args.file).with_context(|| format!("{} cannot be read", shown(&args.file)))?)
    };
    let present = if args.force { Present::Delete } else { Present::Refuse };
    let (about, counts) = fill(&config.database, BufReader::new(input), present).await?;
    let taken = Timestamp::from_millisecond(about.taken_at).map_or(String::new(), |at| at.to_string());
    print(&format!(
        "Restored {} as of {taken}, written by taxon {} on {}.\n",
        told(&counts),
        safe(&about.taxon),
        safe(&about.engine)
    ));
    Ok(ExitCode::SUCCESS)
}

/// Written under another name until all of it is on disk, so a file with the final name is complete.
async fn write(store: &Store, path: &Path) -> anyhow::Result<Counts> {
    if path.exists() {
        bail!("{} is there already", shown(path));
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let file = File::options().create(true).write(true).truncate(true).mode(OWNER_ONLY).open(&partial);
    let file = file.with_context(|| format!("{} cannot be written", shown(path)))?;
    let written = async {
        let (out, counts) = store.back_up(BufWriter::new(file)).await?;
        out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
        std::fs::rename(&partial, path)?;
        anyhow::Ok(counts)
    };
    let written = written.await;
    if written.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    written
}

fn shown(path: &Path) -> String {
    safe(&path.display().to_string())
}

fn told(counts: &Counts) -> String {
    let parts = ["owners", "keys", "entries"].map(|table| (table, counts.get(table).copied().unwrap_or_default()));
    let parts =
        parts.map(|(table, count)| format!("{count} {}", if table == "entries" { "ledger rows" } else { table }));
    format!("{} rows ({})", counts.values().sum::<u64>(), parts.join(", "))
}
