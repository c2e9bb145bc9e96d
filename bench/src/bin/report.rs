//! Gathers what the other programs printed: a table with each goal and whether it was met, and a chart.
//!
//! `cargo run --release -p taxon-bench --bin report -- [--write FOLDER] [--note TEXT] FILE…`, as `bench/run` does it. It ends with 1 when a
//! goal was missed.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use taxon_bench::chart::{self, Bar};
use taxon_bench::goals::{Bound, FACTS, GOALS, Goal};

#[derive(Parser)]
struct Arguments {
    /// Where RESULTS.md and results.svg go
    #[arg(long)]
    write: Option<PathBuf>,
    /// What else is to be known of this run
    #[arg(long)]
    note: Vec<String>,
    /// What the programs printed
    files: Vec<PathBuf>,
}

/// A goal with what was measured.
struct Row {
    what: String,
    unit: &'static str,
    command: &'static str,
    value: f64,
    bound: Bound,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let figures = figures(&arguments.files)?;
    let rows: Vec<Row> = GOALS.iter().flat_map(|goal| rows(goal, &figures)).collect();
    for row in &rows {
        println!(
            "{:<9}{:<68}{:>10}   {}",
            row.verdict(),
            row.what,
            said(row.value, row.unit),
            row.bound.said(row.unit)
        );
    }
    let absent: Vec<&str> =
        GOALS.iter().filter(|goal| rows_of(goal, &figures).next().is_none()).map(|goal| goal.what).collect();
    // A caller that asked for some parts knows that the others were not run.
    for what in absent.iter().filter(|_| arguments.write.is_some()) {
        println!("{:<9}{what}", "not run");
    }
    for note in &arguments.note {
        println!("{note}");
    }
    let missed = rows.iter().filter(|row| !row.is_met()).count();
    println!("{} met, {missed} missed, {} not run", rows.len() - missed, absent.len());
    if let Some(folder) = &arguments.write {
        let bars: Vec<Bar> = rows.iter().map(Row::bar).collect();
        fs::write(folder.join("results.svg"), chart::svg(&bars))?;
        fs::write(folder.join("RESULTS.md"), markdown(&rows, &absent, &figures, &arguments.note)?)?;
    }
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Lines of a name and a number; everything else is for people.
fn figures(files: &[PathBuf]) -> anyhow::Result<BTreeMap<String, f64>> {
    let mut figures = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
        for line in text.lines() {
            let mut words = line.split(' ');
            if let (Some(name), Some(value), None) = (words.next(), words.next(), words.next())
                && let Ok(value) = value.parse()
            {
                figures.insert(name.to_owned(), value);
            }
        }
    }
    Ok(figures)
}

/// A name that ends in `_*` is as many figures as begin so.
fn rows_of<'a>(goal: &'a Goal, figures: &'a BTreeMap<String, f64>) -> impl Iterator<Item = (&'a str, f64)> {
    let prefix = goal.figure.strip_suffix('*');
    figures.iter().filter_map(move |(name, value)| match prefix {
        Some(prefix) => name.strip_prefix(prefix).map(|rest| (rest, *value)),
        None => (name == goal.figure).then_some(("", *value)),
    })
}

fn rows(goal: &Goal, figures: &BTreeMap<String, f64>) -> Vec<Row> {
    let row = |(rest, value): (&str, f64)| {
        let more = if rest.is_empty() { String::new() } else { format!(", {}", rest.replace('_', " ")) };
        let what = format!("{}{more}", goal.what);
        Row { what, unit: goal.unit, command: goal.command, value, bound: goal.bound }
    };
    rows_of(goal, figures).map(row).collect()
}

impl Row {
    fn is_met(&self) -> bool {
        self.bound.is_met(self.value)
    }

    fn verdict(&self) -> &'static str {
        if self.is_met() { "met" } else { "missed" }
    }

    fn bar(&self) -> Bar {
        Bar {
            what: self.what.clone(),
            said: format!("{} ({})", said(self.value, self.unit), self.bound.said(self.unit)),
            share: self.bound.share(self.value),
            is_met: self.is_met(),
        }
    }
}

fn said(value: f64, unit: &str) -> String {
    let digits = match value.abs() {
        _ if unit.is_empty() && value.fract() == 0.0 => 0,
        value if value >= 1_000.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    let space = if unit.is_empty() { "" } else { " " };
    format!("{value:.digits$}{space}{unit}")
}

fn markdown(
    rows: &[Row],
    absent: &[&str],
    figures: &BTreeMap<String, f64>,
    notes: &[String],
) -> anyhow::Result<String> {
    let mut text =
        String::from("# Results\n\nWritten by `bench/run`. Every figure was measured in one run on one machine");
    write!(text, " ({}), with the load generator beside the service.\n\n", machine()?)?;
    for note in notes {
        write!(text, "{note}\n\n")?;
    }
    text.push_str("| measurement | figure | goal | | command |\n|---|---:|---|---|---|\n");
    for row in rows {
        let (figure, goal) = (said(row.value, row.unit), row.bound.said(row.unit));
        writeln!(text, "| {} | {figure} | {goal} | **{}** | `{}` |", row.what, row.verdict(), row.command)?;
    }
    for goal in GOALS.iter().filter(|goal| absent.contains(&goal.what)) {
        writeln!(text, "| {} | – | {} | not run | `{}` |", goal.what, goal.bound.said(goal.unit), goal.command)?;
    }
    text.push_str("\n![Each figure as a share of what its goal allows](results.svg)\n\n## What else was measured\n\n");
    text.push_str("| measurement | figure | command |\n|---|---:|---|\n");
    for fact in FACTS {
        if let Some(value) = figures.get(fact.figure) {
            writeln!(text, "| {} | {} | `{}` |", fact.what, said(*value, fact.unit), fact.command)?;
        }
    }
    Ok(text)
}

/// Processors, kernel and day; nothing that names the machine.
fn machine() -> anyhow::Result<String> {
    let cores = std::thread::available_parallelism()?;
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        processor.lines().find_map(|line| line.strip_prefix("model name")).and_then(|rest| rest.split(": ").nth(1));
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel: String = kernel.trim().split('-').take(1).collect();
    let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs();
    Ok(format!("{cores} cores, {}, Linux {kernel}, {}", model.unwrap_or("unknown processor").trim(), day(seconds)))
}

/// The UTC calendar day.
fn day(seconds: u64) -> String {
    let (mut year, mut days) = (1970u64, seconds / 86_400);
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1u64;
    for length in [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_among_what_is_for_people() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "  table 1 2\nname 0.50\nsaid something\nengine_linear_logs 11.500\n").unwrap();
        let figures = figures(&[file.path().to_owned()]).unwrap();
        assert_eq!(figures.len(), 2);
        let goal = GOALS.iter().find(|goal| goal.figure == "engine_linear_*").unwrap();
        let rows = rows(goal, &figures);
        assert!(rows.len() == 1 && rows[0].is_met() && rows[0].what.ends_with(", logs"), "{}", rows[0].what);
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, said) in [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (1_767_225_599, "2025-12-31"),
            (1_796_000_000, "2026-11-30"),
        ] {
            assert_eq!(day(seconds), said);
        }
    }
}
