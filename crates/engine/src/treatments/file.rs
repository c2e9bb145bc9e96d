//! From the text of a table to `Treatments`, or to every fault in it with its file and line.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use toml::Spanned;

use super::{Authority, Condition, Grey, GreySide, Instead, TreatmentRow, Treatments};
use crate::category::{Category, TABLE};
use crate::opinion::Perhaps;
use crate::policy::PolicyKey;
use crate::rules::{Fault, Lines};
use crate::treatment::{LedgerAction, Treatment};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TreatmentsFile {
    jurisdiction: String,
    name: String,
    as_of: String,
    category: BTreeMap<Spanned<String>, FileRow>,
    grey: BTreeMap<Spanned<String>, GreyEntry>,
    perhaps: BTreeMap<Perhaps, GreyEntry>,
    authority: Vec<Spanned<Authority>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRow {
    treatment: Treatment,
    ledger_action: LedgerAction,
    policy: Option<PolicyKey>,
    grey: Option<Spanned<String>>,
    basis: String,
    #[serde(default)]
    instead: Vec<Instead>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GreyEntry {
    when: Option<Condition>,
    note: String,
    alternate: SideEntry,
    #[serde(default)]
    instead: Vec<SideWhen>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SideEntry {
    treatment: Treatment,
    ledger_action: Option<LedgerAction>,
    label: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SideWhen {
    when: Condition,
    treatment: Treatment,
    label: String,
}

/// Faults of one file, each with its line.
struct Faults<'a> {
    file: &'a str,
    lines: Lines,
    found: Vec<Fault>,
}

impl Faults<'_> {
    fn add(&mut self, span: Option<Range<usize>>, what: impl Into<String>) {
        let line = span.map_or(1, |span| self.lines.at(span.start));
        self.found.push(Fault { file: self.file.to_owned(), line, what: what.into() });
    }
}

pub(super) fn load(stem: &str, text: &str) -> Result<Treatments, Vec<Fault>> {
    let name = format!("treatments/{stem}.toml");
    let mut faults = Faults { file: &name, lines: Lines::of(text), found: Vec::new() };
    let file: TreatmentsFile = match toml::from_str(text) {
        Ok(file) => file,
        Err(error) => {
            faults.add(error.span(), error.message());
            return Err(faults.found);
        }
    };
    if file.jurisdiction != stem {
        faults.add(None, format!("the file of jurisdiction `{}` is called `{stem}`", file.jurisdiction));
    }
    if file.as_of.parse::<jiff::civil::Date>().is_err() {
        faults.add(None, format!("`as_of` is no date: `{}`", file.as_of));
    }
    authorities(&file, &mut faults);
    let rows = rows(&file, &mut faults);
    for missing in TABLE.iter().filter(|row| !rows.contains_key(&row.category)) {
        faults.add(None, format!("category `{}` has no row", missing.name));
    }
    for missing in Perhaps::ALL.into_iter().filter(|perhaps| !file.perhaps.contains_key(perhaps)) {
        faults.add(None, format!("`perhaps` does not say what it comes to: {missing:?}"));
    }
    if !faults.found.is_empty() {
        return Err(faults.found);
    }
    Ok(Treatments {
        perhaps: file.perhaps.iter().map(|(perhaps, entry)| (*perhaps, grey(entry))).collect(),
        jurisdiction: file.jurisdiction,
        name: file.name,
        as_of: file.as_of,
        authorities: file.authority.into_iter().map(Spanned::into_inner).collect(),
        rows,
        unknown: TreatmentRow {
            treatment: Treatment::NeedsReview,
            ledger_action: LedgerAction::Review,
            policy: None,
            basis: String::new(),
            instead: Vec::new(),
            grey: None,
        },
        digest: Sha256::digest(text).into(),
    })
}

fn rows(file: &TreatmentsFile, faults: &mut Faults<'_>) -> BTreeMap<Category, TreatmentRow> {
    let greys: BTreeMap<&str, Arc<Grey>> =
        file.grey.iter().map(|(name, entry)| (name.get_ref().as_str(), Arc::new(grey(entry)))).collect();
    let mut used = BTreeSet::new();
    let mut rows = BTreeMap::new();
    for (name, row) in &file.category {
        let Some(category) = Category::parse(name.get_ref()) else {
            faults.add(Some(name.span()), format!("no category is called `{}`", name.get_ref()));
            continue;
        };
        let named = row.grey.as_ref().map(|grey| (grey, greys.get(grey.get_ref().as_str())));
        if let Some((named, None)) = named {
            faults.add(Some(named.span()), format!("no grey area is called `{}`", named.get_ref()));
        }
        used.extend(row.grey.as_ref().map(|grey| grey.get_ref().as_str()));
        let row = TreatmentRow {
            treatment: row.treatment,
            ledger_action: row.ledger_action,
            policy: row.policy,
            basis: row.basis.clone(),
            instead: row.instead.clone(),
            grey: named.and_then(|(_, grey)| grey.cloned()),
        };
        for what in wrong(&row) {
            faults.add(Some(name.span()), format!("`{}`: {what}", name.get_ref()));
        }
        rows.insert(category, row);
    }
    for unused in file.grey.keys().filter(|name| !used.contains(name.get_ref().as_str())) {
        faults.add(Some(unused.span()), format!("no category names grey area `{}`", unused.get_ref()));
    }
    rows
}

fn grey(entry: &GreyEntry) -> Grey {
    let side = |treatment: Treatment, ledger_action, label: &str| GreySide {
        treatment,
        label: label.to_owned(),
        ledger_action,
    };
    let alternate = &entry.alternate;
    Grey {
        when: entry.when,
        note: entry.note.clone(),
        alternate: side(alternate.treatment, alternate.ledger_action, &alternate.label),
        instead: entry.instead.iter().map(|one| (one.when, side(one.treatment, None, &one.label))).collect(),
    }
}

/// What contradicts itself within one row.
fn wrong(row: &TreatmentRow) -> Vec<&'static str> {
    let mut found = Vec::new();
    if row.basis.trim().is_empty() {
        found.push("`basis` says nothing");
    }
    if row.treatment == Treatment::NeedsReview
        && !matches!(row.ledger_action, LedgerAction::Review | LedgerAction::WriteOff)
    {
        found.push("a treatment for review books nothing: `ledger_action` is `review` or `write_off`");
    }
    if let Some(grey) = &row.grey
        && grey.alternate.treatment == row.treatment
        && row.instead.is_empty()
    {
        found.push("the other side of its grey area is the treatment itself");
    }
    if let Some(key) = row.policy {
        match &row.grey {
            Some(grey) if grey.when.is_none() => {
                if grey.alternate.ledger_action.is_none() {
                    found.push("the other side of a policy says its `ledger_action`");
                }
                if [row.treatment, grey.alternate.treatment].iter().any(|side| key.row().choice_of(*side).is_none()) {
                    found.push("a side is no choice of its policy key");
                }
            }
            _ => found.push("a row that a policy governs has a grey area without a condition"),
        }
    }
    found
}

fn authorities(file: &TreatmentsFile, faults: &mut Faults<'_>) {
    let mut seen = BTreeSet::new();
    for row in &file.authority {
        let authority = row.get_ref();
        if authority.cited_as.trim().is_empty() || !seen.insert(authority.cited_as.as_str()) {
            faults.add(Some(row.span()), format!("`{}`: `cited_as` is empty or taken", authority.name));
        }
        if authority.neither && authority.side.is_some() {
            faults.add(Some(row.span()), format!("`{}` supports a side and neither", authority.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Treatments;

    const US: &str = include_str!("../../../../treatments/us.toml");

    fn fault_of(find: &str, replace: &str) -> String {
        assert!(US.contains(find), "{find}");
        let text = US.replacen(find, replace, 1);
        let faults = Treatments::parse("us", &text).expect_err("a broken table is refused");
        faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_broken_table_is_refused_whole_with_file_and_line() {
        let cases = [
            ("jurisdiction = \"us\"", "jurisdiction = \"uk\"", "is called `us`"),
            ("as_of = \"2026-11-01\"", "as_of = \"lately\"", "`as_of` is no date"),
            ("\nswap = {", "\nsale = {", "no category is called `sale`"),
            ("\nswap = {", "\n#swap = {", "category `swap` has no row"),
            ("grey = \"pool\"", "grey = \"puddle\"", "no grey area is called `puddle`"),
            ("grey = \"presale\", ", "", "no category names grey area `presale`"),
            ("[perhaps.gift]", "[perhaps.present]", "unknown variant"),
            ("policy = \"lp\", grey = \"pool\"", "policy = \"lp\"", "a grey area without a condition"),
            ("policy = \"lp\"", "policy = \"staking\"", "no choice of its policy key"),
            ("ledger_action = \"no_entry\", label = \"Deferred", "label = \"Deferred", "says its `ledger_action`"),
            ("basis = \"IRC 61\"", "basis = \" \"", "`basis` says nothing"),
            (
                "treatment = \"needs_review\", ledger_action = \"review\"",
                "treatment = \"needs_review\", ledger_action = \"move\"",
                "books nothing",
            ),
            ("cited_as = \"Rev. Rul. 2023-14\"", "cited_as = \"Rev. Rul. 2019-24\"", "is empty or taken"),
            ("treatment = \"disposal\"", "treatment = \"sold\"", "unknown variant"),
            ("[category]", "colour = 7\n[category]", "unknown field"),
        ];
        for (find, replace, expected) in cases {
            let said = fault_of(find, replace);
            assert!(said.starts_with("treatments/us.toml:") && said.contains(expected), "{find}: {said}");
        }
        let line = US.lines().position(|line| line.starts_with("liquidity_add")).unwrap_or_default() + 1;
        assert!(fault_of("grey = \"pool\"", "grey = \"puddle\"").contains(&format!("us.toml:{line}: ")));
    }
}
