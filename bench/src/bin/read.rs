//! `taxon read`: verdicts a second out of recorded facts on two processors, and how much of the time goes to Parquet; beside them what the engine takes alone.
//!
//! `cargo build --release -p taxon && cargo run --release -p taxon-bench --bin read [FILE.jsonl] [--rows N]`: without a file the demo chains' transactions
//! are measured, over and over. They are larger than what stands in whole blocks.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Parser;
use engine::{Classification, Missing, Question, Read};
use facts::{FactsWriter, RowText};
use taxon_bench::figures::{Figures, median, number};
use taxon_bench::goals;
use taxon_bench::recorded::{Recorded, Recording};
use taxon_bench::service::{repository, scratch};

/// The service's own.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Rounds over all transactions in one thread, and runs of the command; medians are reported, since the machine is noisy.
const ROUNDS: usize = 7;
const RUNS: usize = 5;

/// One of the two rows of a recorded transaction.
type Form = fn(&Recorded) -> &RowText;

#[derive(Parser)]
struct Arguments {
    /// Recorded transactions, one JSON object a line
    file: Option<String>,
    /// Rows of the files of facts
    #[arg(long, default_value_t = 200_000)]
    rows: usize,
    #[arg(long, default_value_t = RUNS)]
    runs: usize,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let recording = Recording::open(arguments.file.as_deref())?;
    let mut figures = Figures::default();
    one_thread(&recording, &mut figures);
    let forms: [(&str, &str, Form); 2] =
        [("read", "as taxon keeps them", |row| &row.kept), ("read_raw", "as nodes wrote them", |row| &row.raw)];
    for (name, what, form) in forms {
        let folder = scratch()?;
        let facts = folder.path().join("facts");
        let mut writer = FactsWriter::new(&facts)?;
        for row in recording.rows.iter().cycle().take(arguments.rows) {
            writer.append_row(form(row).clone())?;
        }
        let packed: u64 =
            writer.close()?.files.iter().filter_map(|file| file.metadata().ok()).map(|about| about.len()).sum();
        let rows = u64::try_from(arguments.rows.max(1))?;
        println!("\nfacts {what}: {rows} rows, {} bytes each in Parquet", packed / rows);
        let (mut rates, mut shares) = (Vec::new(), Vec::new());
        for _ in 0..arguments.runs {
            let (rate, share) = run(folder.path(), &facts)?;
            println!("  {rate:>8.0} rows/s, {share:.0} % of the time in Parquet");
            rates.push(rate);
            shares.push(share);
        }
        figures.add(format!("{name}_rows_per_second"), median(rates));
        figures.add(format!("{name}_parquet_percent"), median(shares));
    }
    println!();
    for goal in goals::GOALS.iter().filter(|goal| goal.command == "bench/run read") {
        println!("goal: {}: {}", goal.what, goal.bound.said(goal.unit));
    }
    figures.print();
    Ok(())
}

/// What one transaction costs in one thread: from text to facts, from facts to the verdict, and the verdict as JSON.
fn one_thread(recording: &Recording, figures: &mut Figures) {
    let rows = &recording.rows;
    let question = Question::default();
    println!("{} transactions, microseconds each in one thread", rows.len());
    let verdict = |row: &Recorded| -> Option<Classification> {
        let read = engine::read(black_box(&row.facts), &question, &recording.knowledge, Missing::Accept);
        read.ok().and_then(Read::done)
    };
    let verdicts: Vec<Classification> = rows.iter().filter_map(verdict).collect();
    let parse = |form: Form| {
        timed(rows.len(), || rows.iter().for_each(|row| drop(black_box(form(row).row().facts(&recording.chains)))))
    };
    let steps = [
        ("read_parse_us", "text as taxon keeps it to facts", parse(|row| &row.kept)),
        ("read_parse_raw_us", "text as nodes wrote it to facts", parse(|row| &row.raw)),
        (
            "read_engine_us",
            "facts to verdict",
            timed(rows.len(), || rows.iter().for_each(|row| drop(black_box(verdict(row))))),
        ),
        (
            "read_json_us",
            "verdict to JSON",
            timed(rows.len(), || {
                let mut bytes = Vec::new();
                for verdict in &verdicts {
                    bytes.clear();
                    drop(black_box(verdict.write_json(&mut bytes)));
                }
            }),
        ),
    ];
    for (name, what, micros) in steps {
        println!("  {what:<34}{micros:>8.1}");
        figures.add(name, micros);
    }
}

fn timed(count: usize, work: impl Fn()) -> f64 {
    let round = || {
        let began = Instant::now();
        work();
        began.elapsed().div_duration_f64(Duration::from_micros(1)) / number(count.max(1))
    };
    median((0..ROUNDS).map(|_| round()).collect())
}

/// Rows a second and the share of Parquet, as the command tells them.
fn run(folder: &Path, facts: &Path) -> anyhow::Result<(f64, f64)> {
    let mut command = Command::new(repository().join("target/release/taxon"));
    command.arg("read").arg(facts).args(["--demo", "--out", "verdicts.parquet"]);
    let output = command.env("TAXON_DATA_DIR", folder).current_dir(folder).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8(output.stdout)?;
    let before = |mark: &str| -> Option<f64> { told.split_once(mark)?.0.rsplit([' ', ',']).next()?.parse().ok() };
    let rate = before(" rows/s").with_context(|| told.clone())?;
    let share = before(" % of the time in Parquet").with_context(|| told.clone())?;
    Ok((rate, share))
}
