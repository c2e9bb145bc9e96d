//! `taxon read`: the engine over facts that somebody recorded, without any node.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use engine::question::OWN_WALLETS_MAX;
use engine::{Account, Question};
use facts::{Done, FactsFile, Failure, Output, Plan};
use indicatif::{ProgressBar, ProgressStyle};

use super::classify::{policy_choice, policy_of};
use super::terminal::print;
use super::whole::{WholeFile, folder_of};
use crate::app::{self, DISCLAIMER, Demo};
use crate::config::Config;

const PROGRESS: &str = "{bar:32} {pos} of {len} rows, {per_sec}, {eta} left";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Parquet files of facts (docs/facts.md), or folders of them
    #[arg(value_name = "FACTS.parquet", required = true)]
    files: Vec<PathBuf>,
    /// Where to write the verdicts: a file that ends in .parquet or .jsonl
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Read from this wallet's perspective, unless the row names one
    #[arg(long, value_parser = |text: &str| Account::parse(text))]
    wallet: Option<Account>,
    /// Moves between these wallets are transfers to oneself; may be given several times
    #[arg(long = "own-wallet", value_name = "WALLET", value_parser = |text: &str| Account::parse(text))]
    own_wallets: Vec<Account>,
    /// House position, such as lp=non_taxable; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = policy_choice)]
    policy: Vec<(String, String)>,
    /// Add to each answer what each source said, and where on chain
    #[arg(long)]
    explain: bool,
    /// Threads that read; one more than there are processors when left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Also know the demo chains
    #[arg(long)]
    demo: bool,
}

/// What the output is, by the end of its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Parquet,
    Lines,
}

pub(super) async fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    // What can be found wrong beforehand is, since a run may be long.
    let format = format(&args.out)?;
    let files = files(&args.files)?;
    check_out(&args.out, &files)?;
    ensure!(args.own_wallets.len() <= OWN_WALLETS_MAX, "at most {OWN_WALLETS_MAX} wallets can be one's own");
    let rows = rows(&files)?;
    let question = Question {
        wallet: args.wallet,
        own_wallets: args.own_wallets.clone(),
        policy: policy_of(&args.policy),
        explain: args.explain,
        review_below: None,
    };
    let (chains, knowledge) = app::known(config, if args.demo { Demo::On } else { Demo::Off })?;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    // Only one unpacks rows at a time, and only one packs verdicts: with one more, no processor waits for its turn.
    let threads = args.threads.map_or(processors.saturating_add(1), usize::from);
    let plan = Plan { knowledge: &knowledge, chains: &chains, question: &question, threads };
    let bar = ProgressBar::new(rows);
    bar.set_style(ProgressStyle::with_template(PROGRESS)?);
    let stop = Arc::new(AtomicBool::new(false));
    let stopping = tokio::spawn({
        let stop = Arc::clone(&stop);
        async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                stop.store(true, Ordering::Relaxed);
            }
        }
    });
    let began = Instant::now();
    let done = tokio::task::block_in_place(|| write(&plan, &files, &args.out, format, &bar, &stop));
    stopping.abort();
    bar.finish_and_clear();
    let done = done?;
    print(&told(&done, &args.out, threads, began.elapsed()));
    print(&format!("{DISCLAIMER}\n"));
    if done.failed > 0 {
        bail!("{} rows could not be classified: `error` and `review_note` of each say why", done.failed);
    }
    Ok(ExitCode::SUCCESS)
}

fn write(
    plan: &Plan<'_>,
    files: &[PathBuf],
    out: &Path,
    format: Format,
    bar: &ProgressBar,
    stop: &AtomicBool,
) -> anyhow::Result<Done> {
    let (whole, file) = WholeFile::create(out)?;
    let output = match format {
        Format::Parquet => Output::parquet(file)?,
        Format::Lines => Output::Lines(file),
    };
    let inputs = files.iter().map(|path| (path.display().to_string(), File::open(path)));
    let tell = |rows: usize| bar.inc(u64::try_from(rows).unwrap_or_default());
    let (done, file) = facts::run(plan, inputs, output, &tell, stop).map_err(|failure| match failure {
        Failure::Stopped => anyhow::anyhow!("stopped, and nothing is written"),
        failure => failure.into(),
    })?;
    whole.finish(file)?;
    Ok(done)
}

fn format(out: &Path) -> anyhow::Result<Format> {
    match out.extension().and_then(|extension| extension.to_str()) {
        Some("parquet") => Ok(Format::Parquet),
        Some("jsonl") => Ok(Format::Lines),
        _ => bail!("{} must end in .parquet or .jsonl", out.display()),
    }
}

/// Of a folder the Parquet files, by their names. One that is still written has another name.
fn files(named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = std::fs::read_dir(path).with_context(|| format!("{} cannot be read", path.display()))?;
        let mut inside = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if !is_hidden && path.extension().is_some_and(|extension| extension == "parquet") {
                inside.push(path);
            }
        }
        ensure!(!inside.is_empty(), "{} has no Parquet file in it", path.display());
        inside.sort();
        files.extend(inside);
    }
    Ok(files)
}

fn check_out(out: &Path, files: &[PathBuf]) -> anyhow::Result<()> {
    ensure!(!out.exists() || out.is_file(), "{} is no file", out.display());
    let folder = folder_of(out);
    ensure!(folder.is_dir(), "{} is no folder", folder.display());
    let there = out.canonicalize().ok();
    let is_same = there.is_some() && files.iter().any(|file| file.canonicalize().ok() == there);
    ensure!(!is_same, "{} would be written over itself", out.display());
    Ok(())
}

/// How many rows the files say they have.
fn rows(files: &[PathBuf]) -> anyhow::Result<u64> {
    let mut rows = 0_u64;
    for path in files {
        let file = File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
        let file = FactsFile::open(file).with_context(|| path.display().to_string())?;
        rows = rows.saturating_add(u64::try_from(file.rows()).unwrap_or(u64::MAX));
    }
    Ok(rows)
}

fn told(done: &Done, out: &Path, threads: usize, took: Duration) -> String {
    let Done { rows, reviews, unconcerned, failed, .. } = done;
    let mut told = format!("{rows} rows in {}, {reviews} of them for review", out.display());
    if *unconcerned > 0 {
        told.push_str(&format!(", {unconcerned} of transactions that the wallet is no part of"));
    }
    if *failed > 0 {
        told.push_str(&format!(", {failed} not classified"));
    }
    let millis = took.as_millis().max(1);
    let rate = u128::from(*rows).saturating_mul(1_000) / millis;
    let share = (done.parquet_share() * 100.0).round();
    told.push_str(&format!("; {rate} rows/s on {threads} threads, {share:.0} % of the time in Parquet\n"));
    told
}
