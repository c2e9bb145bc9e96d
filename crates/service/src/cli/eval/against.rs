//! Two reports side by side: which verdicts moved, and whether that was for the better.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use super::judge::{Row, Verdict};
use crate::cli::terminal::safe;

const REPORT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// What `--out` writes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) summary: String,
    pub(super) engine: String,
    pub(super) rows: Vec<Row>,
}

pub(super) fn open(path: &Path) -> anyhow::Result<Report> {
    let file = File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
    if file.metadata()?.len() > REPORT_BYTES_MAX {
        bail!("{}: larger than {REPORT_BYTES_MAX} bytes", path.display());
    }
    let read = serde_json::from_reader(BufReader::new(file.take(REPORT_BYTES_MAX)));
    read.map_err(|error| anyhow::anyhow!("{}: no report of `taxon eval`: {}", path.display(), safe(&error.to_string())))
}

/// In the order in which they are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum VerdictChange {
    Worse,
    Better,
    Sideways,
}

impl VerdictChange {
    fn name(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Sideways => "sideways",
        }
    }
}

pub(super) fn page(old: &Report, new: &Report) -> String {
    let (before, after) = (keyed(&old.rows), keyed(&new.rows));
    let pairs = after.iter().filter_map(|(key, new)| before.get(key).map(|old| (*old, *new)));
    let mut moved: Vec<(VerdictChange, &Row, &Row)> =
        pairs.filter_map(|(old, new)| way(old, new).map(|way| (way, old, new))).collect();
    moved.sort_by_key(|(way, ..)| *way);
    let count = |wanted: VerdictChange| moved.iter().filter(|(way, ..)| *way == wanted).count();
    let (better, worse, sideways) =
        (count(VerdictChange::Better), count(VerdictChange::Worse), count(VerdictChange::Sideways));
    let added = after.keys().filter(|key| !before.contains_key(*key)).count();
    let gone = before.keys().filter(|key| !after.contains_key(*key)).count();
    let mut out = format!("Against the earlier report (engine {})\n", safe(&old.engine));
    for (way, old, new) in &moved {
        let _ = writeln!(out, " {}", safe(&line(*way, old, new)));
    }
    let _ = writeln!(
        out,
        "moved={} better={better} worse={worse} sideways={sideways} new={added} gone={gone}\n",
        moved.len()
    );
    out
}

/// One set may hold a transaction for several wallets, or the same line twice.
fn keyed(rows: &[Row]) -> BTreeMap<(&str, Option<&str>, usize), &Row> {
    let mut seen: BTreeMap<_, usize> = BTreeMap::new();
    let mut keyed = BTreeMap::new();
    for row in rows {
        let (hash, wallet) = (row.hash.as_str(), row.wallet.as_deref());
        let nth = seen.entry((hash, wallet)).or_default();
        keyed.insert((hash, wallet, *nth), row);
        *nth += 1;
    }
    keyed
}

/// `None` when nothing moved.
fn way(old: &Row, new: &Row) -> Option<VerdictChange> {
    let judged = |row: &Row| (row.verdict, row.exact, row.reading());
    if judged(old) == judged(new) {
        return None;
    }
    let worth = |row: &Row| (worth(row.verdict), row.exact != Some(false));
    Some(match worth(new).cmp(&worth(old)) {
        Ordering::Less => VerdictChange::Worse,
        Ordering::Greater => VerdictChange::Better,
        Ordering::Equal => VerdictChange::Sideways,
    })
}

/// A review costs a person's time; a wrong category of the right treatment costs the name. Neither counts as better than the other.
fn worth(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Auto => 3,
        Verdict::Miscat | Verdict::Review => 2,
        Verdict::Error => 1,
        Verdict::Wrong => 0,
    }
}

fn line(way: VerdictChange, old: &Row, new: &Row) -> String {
    let mut notes = vec![way.name().to_owned()];
    if old.verdict != new.verdict {
        notes.push(format!("{} → {}", old.verdict.name(), new.verdict.name()));
    }
    if old.exact != new.exact {
        let movements = |exact| match exact {
            Some(true) => "exact",
            Some(false) => "inexact",
            None => "movements not known",
        };
        notes.push(format!("{} → {}", movements(old.exact), movements(new.exact)));
    }
    format!("{}: {} → {} ({})", new.hash, old.reading(), new.reading(), notes.join(", "))
}

#[cfg(test)]
mod tests {
    use engine::treatment::Treatment;

    use super::*;

    fn row(hash: &str, verdict: Verdict, confidence: u8, exact: Option<bool>) -> Row {
        Row {
            hash: hash.to_owned(),
            chain: None,
            wallet: None,
            verdict,
            error: None,
            category: "swap".to_owned(),
            treatment: Treatment::Disposal,
            confidence,
            exact,
            protocol: None,
        }
    }

    #[test]
    fn ways() {
        use Verdict::{Auto, Error, Miscat, Review, Wrong};
        for (old, new, expected) in [
            ((Auto, 99, None), (Auto, 99, None), None),
            ((Auto, 90, None), (Auto, 99, None), Some(VerdictChange::Sideways)),
            ((Review, 40, None), (Auto, 99, None), Some(VerdictChange::Better)),
            ((Auto, 99, None), (Review, 40, None), Some(VerdictChange::Worse)),
            ((Review, 40, None), (Miscat, 90, None), Some(VerdictChange::Sideways)),
            ((Review, 40, None), (Error, 0, None), Some(VerdictChange::Worse)),
            ((Wrong, 99, None), (Error, 0, None), Some(VerdictChange::Better)),
            ((Auto, 99, Some(false)), (Auto, 99, Some(true)), Some(VerdictChange::Better)),
            ((Auto, 99, Some(true)), (Auto, 99, Some(false)), Some(VerdictChange::Worse)),
            ((Review, 40, Some(true)), (Auto, 99, Some(false)), Some(VerdictChange::Better)),
        ] {
            let [before, after] = [old, new].map(|(verdict, confidence, exact)| row("0x1", verdict, confidence, exact));
            assert_eq!(way(&before, &after), expected, "{old:?} to {new:?}");
        }
    }

    #[test]
    fn rows_meet_by_hash_and_wallet_and_the_rest_is_counted() {
        let report = |rows| Report { summary: String::new(), engine: "1".to_owned(), rows };
        let twice = [row("0x1", Verdict::Auto, 99, None), row("0x1", Verdict::Review, 40, None)];
        let old = report([twice.to_vec(), vec![row("0x2", Verdict::Auto, 99, None)]].concat());
        let mut third = row("0x2", Verdict::Auto, 99, None);
        third.wallet = Some("0xa".to_owned());
        let new = report([twice.to_vec(), vec![third]].concat());
        assert!(page(&old, &new).contains("moved=0 better=0 worse=0 sideways=0 new=1 gone=1"));
    }

    #[test]
    fn a_move_is_one_safe_line() {
        let mut old = row("0x1", Verdict::Review, 40, None);
        old.category = "old\u{1b}[2J\nname".to_owned();
        old.treatment = Treatment::NeedsReview;
        let report = |rows| Report { summary: String::new(), engine: "1".to_owned(), rows };
        let text = page(&report(vec![old]), &report(vec![row("0x1", Verdict::Auto, 99, None)]));
        let said = "0x1: old\u{241b}[2J name/needs_review/40 → swap/disposal/99 (better, review → auto)";
        assert!(text.contains(said), "{text}");
    }
}
