//! The report as a person reads it, and its last line as a machine does. Counts are integers; shares are thousandths.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use engine::category::TABLE;

use super::judge::{Judged, Row, Verdict};
use crate::cli::terminal::table;

const BAR_CHARS: usize = 40;
/// Pairs of expected and answered that are listed; the long tail of single rows would hide the frequent ones.
const PAIRS_MAX: usize = 25;
const NAMES_MAX: usize = 4;
const COUNTS: [&str; 8] = ["ROWS", "AUTO", "REVIEW", "WRONG", "MISCAT", "ERROR", "EXACT", "NAMED"];

pub(super) fn page(judged: &[Judged], worst: usize) -> String {
    let sections = [
        ("The whole set", figures(&Tally::of(judged))),
        ("By chain", groups("CHAIN", judged, |judged| vec![chain(&judged.row)])),
        ("By protocol, as labelled; a row counts under each of its labels", groups("PROTOCOL", judged, protocols)),
        ("By category: how many labels accept it, and how many answers say it", categories(judged)),
        ("Another category than any that the label accepts, the most frequent first", pairs(judged)),
        ("By confidence", bands(judged)),
        ("Right of what was answered without review, by confidence", bars(judged)),
        ("The worst rows", worst_rows(judged, worst)),
    ];
    let mut out = String::new();
    for (title, body) in sections {
        if !body.is_empty() {
            let _ = writeln!(out, "{title}\n{body}");
        }
    }
    out
}

pub(super) fn last_line(judged: &[Judged]) -> String {
    let all = Tally::of(judged);
    let broken = judged.iter().filter(|judged| judged.breaks_contract).count();
    let steps = judged.iter().filter(|judged| judged.steps == Some(true)).count();
    let wanted = judged.iter().filter(|judged| judged.steps.is_some()).count();
    format!(
        "score n={} answered={} auto={} review={} wrong={} miscat={} exact={} named={} contract_broken={broken} \
         steps={steps}/{wanted}",
        all.rows,
        share(all.answered(), all.rows),
        share(all.count(Verdict::Auto), all.rows),
        share(all.count(Verdict::Review), all.rows),
        all.count(Verdict::Wrong),
        all.count(Verdict::Miscat),
        share(all.exact, all.known),
        share(all.named, all.nameable),
    )
}

#[derive(Debug, Default)]
struct Tally {
    rows: usize,
    verdicts: BTreeMap<Verdict, usize>,
    /// Rows whose label knows the movements.
    known: usize,
    exact: usize,
    /// Answered rows whose label names a protocol.
    nameable: usize,
    named: usize,
}

impl Tally {
    fn of<'a>(judged: impl IntoIterator<Item = &'a Judged<'a>>) -> Self {
        let mut tally = Self::default();
        judged.into_iter().for_each(|judged| tally.add(judged));
        tally
    }

    fn add(&mut self, judged: &Judged) {
        let row = &judged.row;
        let is_nameable = row.verdict != Verdict::Error && !judged.label.protocols.is_empty();
        self.rows += 1;
        *self.verdicts.entry(row.verdict).or_default() += 1;
        self.known += usize::from(row.exact.is_some());
        self.exact += usize::from(row.exact == Some(true));
        self.nameable += usize::from(is_nameable);
        self.named += usize::from(is_nameable && row.protocol.is_some());
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.verdicts.get(&verdict).copied().unwrap_or(0)
    }

    fn answered(&self) -> usize {
        self.rows.saturating_sub(self.count(Verdict::Error))
    }

    /// Answered without review, so it may be booked without a person looking.
    fn unseen(&self) -> usize {
        self.count(Verdict::Auto) + self.count(Verdict::Miscat) + self.count(Verdict::Wrong)
    }

    fn cells(&self) -> Vec<String> {
        use Verdict::{Auto, Error, Miscat, Review, Wrong};
        let verdicts = [Auto, Review, Wrong, Miscat, Error].map(|verdict| self.count(verdict).to_string());
        let mut cells = vec![self.rows.to_string()];
        cells.extend(verdicts);
        cells.extend([part(self.exact, self.known), part(self.named, self.nameable)]);
        cells
    }
}

fn figures(all: &Tally) -> String {
    let rows = [
        ("answered", all.answered(), all.rows, "classified, not an error"),
        ("auto", all.count(Verdict::Auto), all.rows, "not for review, and an accepted category"),
        ("review", all.count(Verdict::Review), all.rows, "left to a person"),
        ("wrong", all.count(Verdict::Wrong), all.rows, "not for review, and the treatment of no accepted category"),
        ("miscat", all.count(Verdict::Miscat), all.rows, "not for review, treatment fine, category not accepted"),
        ("exact", all.exact, all.known, "net movements equal to the last digit, where they are known"),
        ("named", all.named, all.nameable, "a protocol is named, where the label has one"),
    ];
    let row = |(name, count, of, about): (&str, usize, usize, &str)| {
        vec![name.to_owned(), count.to_string(), of.to_string(), share(count, of), about.to_owned()]
    };
    table(&["FIGURE", "ROWS", "OF", "SHARE", "MEANING"], rows.map(row))
}

/// A row is listed in every group that it belongs to.
fn groups(title: &str, judged: &[Judged], keys: impl Fn(&Judged) -> Vec<String>) -> String {
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for judged in judged {
        for key in keys(judged) {
            tallies.entry(key).or_default().add(judged);
        }
    }
    let rows = tallies.into_iter().map(|(name, tally)| [vec![name], tally.cells()].concat());
    table(&[&[title], COUNTS.as_slice()].concat(), rows)
}

fn chain(row: &Row) -> String {
    row.chain.clone().unwrap_or_else(|| "(unknown)".to_owned())
}

fn protocols(judged: &Judged) -> Vec<String> {
    let named = &judged.label.protocols;
    if named.is_empty() { vec!["(none)".to_owned()] } else { named.clone() }
}

fn categories(judged: &[Judged]) -> String {
    let rows = TABLE.iter().filter_map(|category| {
        let expected = judged.iter().filter(|judged| judged.label.categories.contains(&category.category)).count();
        let says = |judged: &&Judged| judged.row.verdict != Verdict::Error && judged.row.category == category.name;
        let answers = Tally::of(judged.iter().filter(says));
        let counts = [Verdict::Auto, Verdict::Review, Verdict::Wrong, Verdict::Miscat].map(|v| answers.count(v));
        let cells = [expected, answers.rows].into_iter().chain(counts).map(|count| count.to_string());
        let is_seen = expected > 0 || answers.rows > 0;
        is_seen.then(|| std::iter::once(category.name.to_owned()).chain(cells).collect())
    });
    table(&["CATEGORY", "EXPECTED", "ANSWERED", "AUTO", "REVIEW", "WRONG", "MISCAT"], rows)
}

fn pairs(judged: &[Judged]) -> String {
    let mut pairs: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for Judged { label, row, .. } in judged {
        if row.verdict != Verdict::Error && !label.categories.iter().any(|category| category.name() == row.category) {
            *pairs.entry((expected(label.categories.iter().map(|c| c.name())), &row.category)).or_default() += 1;
        }
    }
    let mut pairs: Vec<_> = pairs.into_iter().collect();
    pairs.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    if pairs.is_empty() {
        return String::new();
    }
    let row =
        |((expected, answered), count): ((String, &str), usize)| vec![expected, answered.to_owned(), count.to_string()];
    table(&["EXPECTED", "ANSWERED", "ROWS"], pairs.into_iter().take(PAIRS_MAX).map(row))
}

fn expected<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = if names.len() > NAMES_MAX { ",…" } else { "" };
    format!("{}{more}", names.take(NAMES_MAX).collect::<Vec<_>>().join(","))
}

/// From the surest down. An error has no confidence.
fn banded(judged: &[Judged]) -> [(&'static str, Tally); 4] {
    [("95+", 95..=u8::MAX), ("80-94", 80..=94), ("60-79", 60..=79), ("<60", 0..=59)].map(|(name, band)| {
        let inside = |row: &Row| row.verdict != Verdict::Error && band.contains(&row.confidence);
        (name, Tally::of(judged.iter().filter(|judged| inside(&judged.row))))
    })
}

fn bands(judged: &[Judged]) -> String {
    let rows = banded(judged).map(|(name, tally)| [vec![name.to_owned()], tally.cells()].concat());
    table(&[&["CONFIDENCE"], COUNTS.as_slice()].concat(), rows)
}

/// Lengths are cut, not rounded, so a full bar means that the band has no error.
fn bars(judged: &[Judged]) -> String {
    let mut out = String::new();
    for (name, tally) in banded(judged) {
        let (right, of) = (tally.count(Verdict::Auto), tally.unseen());
        let bar = "#".repeat((right * BAR_CHARS).checked_div(of).unwrap_or(0));
        let said = if of == 0 { "all for review".to_owned() } else { format!("{} of {of}", share(right, of)) };
        let _ = writeln!(out, " {name:<6} |{bar:<BAR_CHARS$}| {}", if tally.rows == 0 { "no row" } else { &said });
    }
    out
}

fn worst_rows(judged: &[Judged], worst: usize) -> String {
    let is_bad = |row: &Row| row.verdict <= Verdict::Miscat || row.exact == Some(false);
    let mut bad: Vec<&Judged> = judged.iter().filter(|judged| is_bad(&judged.row)).collect();
    bad.sort_by_key(|judged| judged.row.verdict);
    bad.truncate(worst);
    if bad.is_empty() {
        return String::new();
    }
    let rows = bad.into_iter().map(|Judged { label, row, .. }| {
        let inexact = if row.exact == Some(false) { "inexact" } else { "" };
        vec![
            row.verdict.name().to_owned(),
            inexact.to_owned(),
            chain(row),
            row.hash.clone(),
            row.reading(),
            expected(label.categories.iter().map(|category| category.name())),
            label.protocols.join(","),
        ]
    });
    table(&["VERDICT", "MOVEMENTS", "CHAIN", "HASH", "ANSWERED", "EXPECTED", "PROTOCOL"], rows)
}

fn part(count: usize, of: usize) -> String {
    if of == 0 { "-".to_owned() } else { format!("{count}/{of}") }
}

/// Three places; a half goes to the even digit, as number formatting has it everywhere.
fn share(count: usize, of: usize) -> String {
    let of = of.max(1);
    let (whole, rest) = (count * 1000 / of, count * 1000 % of);
    let up = rest * 2 > of || (rest * 2 == of && whole % 2 == 1);
    let thousandths = whole + usize::from(up);
    format!("{}.{:03}", thousandths / 1000, thousandths % 1000)
}

#[cfg(test)]
mod tests {
    use engine::treatment::Treatment;
    use engine::{Category, TxHash};

    use super::super::labels::Label;
    use super::*;

    fn label(protocol: &str) -> Label {
        Label {
            hash: TxHash::parse(&format!("0x{}", "1".repeat(64))).unwrap(),
            chain: None,
            wallet: None,
            categories: vec![Category::Swap],
            protocols: if protocol.is_empty() { Vec::new() } else { vec![protocol.to_owned()] },
            movements: None,
        }
    }

    fn judged(label: &Label, verdict: Verdict, confidence: u8, exact: Option<bool>) -> Judged<'_> {
        let row = Row {
            hash: label.hash.to_string(),
            chain: None,
            wallet: None,
            verdict,
            error: (verdict == Verdict::Error).then(|| "upstream_timeout".to_owned()),
            category: "swap".to_owned(),
            treatment: Treatment::Disposal,
            confidence,
            exact,
            protocol: Some("Uniswap v2".to_owned()).filter(|_| verdict == Verdict::Auto),
        };
        Judged { label, row, breaks_contract: false, steps: None }
    }

    #[test]
    fn shares_have_three_places() {
        for (count, of, text) in
            [(0, 0, "0.000"), (1, 1, "1.000"), (2, 3, "0.667"), (1, 16, "0.062"), (3, 16, "0.188"), (1, 3000, "0.000")]
        {
            assert_eq!(share(count, of), text, "{count} of {of}");
        }
    }

    #[test]
    fn the_last_line_counts_errors_as_inexact_and_as_nameless() {
        let (plain, labelled) = (label(""), label("uniswap-v2"));
        let rows = [
            judged(&labelled, Verdict::Auto, 99, Some(true)),
            judged(&labelled, Verdict::Review, 40, None),
            judged(&labelled, Verdict::Error, 0, Some(false)),
            judged(&plain, Verdict::Wrong, 99, None),
        ];
        let line = "score n=4 answered=0.750 auto=0.250 review=0.250 wrong=1 miscat=0 exact=0.500 named=0.500 \
                    contract_broken=0 steps=0/0";
        assert_eq!(last_line(&rows), line);
    }

    #[test]
    fn a_full_bar_is_a_band_without_a_fault() {
        let label = label("");
        let mut rows: Vec<Judged> = (0..99).map(|_| judged(&label, Verdict::Auto, 95, None)).collect();
        let full = "#".repeat(BAR_CHARS);
        assert!(bars(&rows).contains(&format!("95+    |{full}| 1.000 of 99")));
        rows.push(judged(&label, Verdict::Wrong, 95, None));
        rows.push(judged(&label, Verdict::Review, 59, None));
        let drawn = bars(&rows);
        assert!(!drawn.contains(&full) && drawn.contains("0.990 of 100"), "{drawn}");
        assert!(drawn.contains("| all for review") && drawn.contains("| no row"), "{drawn}");
    }

    #[test]
    fn the_worst_rows_come_first_and_are_safe_to_print() {
        let hostile = label("evil\u{1b}[2J");
        let rows = [
            judged(&hostile, Verdict::Auto, 99, Some(false)),
            judged(&hostile, Verdict::Error, 0, None),
            judged(&hostile, Verdict::Wrong, 99, None),
            judged(&hostile, Verdict::Review, 40, None),
        ];
        let text = worst_rows(&rows, 2);
        let verdicts: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(verdicts, ["wrong", "error"]);
        assert!(!page(&rows, 9).contains('\u{1b}'));
        assert_eq!(worst_rows(&rows, 0), "");
    }
}
