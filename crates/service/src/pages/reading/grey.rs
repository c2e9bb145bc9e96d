//! The two sides of a grey area beside each other, with the authorities that each may cite.

use std::sync::LazyLock;

use engine::Classification;
use engine::category::Treatment;
use engine::classification::{Alternate, GreyArea};
use maud::{Markup, html};

use crate::pages::parts::{prose, taxable_words, treatment};

/// The authorities are written once, as a table of the documentation.
const CATEGORIES_PAGE: &str = include_str!("../../../../../docs/categories.md");

/// How notes and bases name an authority, where that is not how its name begins.
const CITED_AS: [(&str, &str); 5] = [
    ("T.D. 10000, Reg. 1.1001-7", "Reg. 1.1001-7"),
    ("Cottage Savings v. Commissioner", "Cottage Savings"),
    ("HMRC CRYPTO61000 to 61680", "HMRC"),
    ("HMRC outcome of 2025-11-26", "2025-11-26"),
    ("ATO guidance", "ATO"),
];

#[derive(Debug)]
struct Authority {
    name: &'static str,
    cited_as: &'static str,
    says: &'static str,
    side: Option<Treatment>,
    /// It is often quoted and decides nothing.
    is_neither: bool,
}

static AUTHORITIES: LazyLock<Vec<Authority>> = LazyLock::new(|| {
    let (_, after) = CATEGORIES_PAGE.split_once("## Authorities").unwrap_or_default();
    let (section, _) = after.split_once("\n## ").unwrap_or((after, ""));
    section.lines().filter_map(authority).collect()
});

fn authority(line: &'static str) -> Option<Authority> {
    let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ");
    let (name, says, supports) = (cells.next()?, cells.next()?, cells.next()?);
    if name == "authority" {
        return None;
    }
    let shorter = CITED_AS.iter().find(|(whole, _)| *whole == name).map(|(_, cited)| *cited);
    let cited_as = shorter.unwrap_or_else(|| name.split(" (").next().unwrap_or(name));
    let side = if supports.contains("non-taxable side") {
        Some(Treatment::NonTaxable)
    } else if supports.contains("disposal side") {
        Some(Treatment::Disposal)
    } else {
        None
    };
    Some(Authority { name, cited_as, says, side, is_neither: supports.contains("neither side") })
}

pub(super) fn section(row: &Classification) -> Markup {
    html! { @if let Some(grey) = &row.grey_area { (both(row, grey)) } }
}

fn both(row: &Classification, grey: &GreyArea) -> Markup {
    let house = row.category.row();
    let note = grey.note.as_deref().unwrap_or_default();
    let cited: Vec<&Authority> = AUTHORITIES
        .iter()
        .filter(|authority| note.contains(authority.cited_as) || house.basis.contains(authority.cited_as))
        .collect();
    // The basis of the table is that of the house's own position, which a policy may have left.
    let is_house = row.treatment == house.treatment;
    let basis = |on: bool| on.then_some(house.basis);
    let other = grey.alternate.as_ref();
    let sides = [Some(row.treatment), other.and_then(|other| other.treatment)];
    let rest: Vec<&Authority> = cited
        .iter()
        .copied()
        .filter(|authority| authority.side.is_none_or(|side| !sides.contains(&Some(side))))
        .collect();
    html! {
        section.grey aria-labelledby="grey" {
            h2 id="grey" { "Grey area: two sides can be defended" }
            @if !note.is_empty() { p { (prose(note)) } }
            div.columns-two {
                div.taken {
                    h3 { (if row.needs_review { "Leaning" } else { "Taken" }) }
                    p.badges { (treatment(row.treatment)) span.quiet { (taxable_words(row.taxable)) } }
                    @if let Some(basis) = basis(is_house) { p { "Rests on: " (basis) "." } }
                    @else { p { "Chosen by your policy." } }
                    (authorities(cited.iter().copied().filter(|authority| authority.side == Some(row.treatment))))
                }
                @if let Some(other) = other { (alternate(other, basis(!is_house), &cited)) }
            }
            @if !rest.is_empty() {
                p.quiet { "Also cited" }
                (authorities(rest.into_iter()))
            }
            p.quiet {
                "More on " a href={ "/docs/categories#" (row.category.name()) } { code { (row.category.name()) } }
                " and on " a href="/docs/categories#authorities" { "every authority" } "."
            }
        }
    }
}

fn alternate(other: &Alternate, basis: Option<&str>, cited: &[&Authority]) -> Markup {
    html! {
        div.not-taken {
            h3 { "Not taken" }
            p.badges {
                @if let Some(other) = other.treatment { (treatment(other)) }
                span.quiet { (taxable_words(other.taxable)) }
            }
            @if let Some(label) = &other.label { p { (prose(label)) "." } }
            @if let Some(basis) = basis { p { "Rests on: " (basis) "." } }
            (authorities(cited.iter().copied().filter(|authority| other.treatment.is_some() && authority.side == other.treatment)))
        }
    }
}

fn authorities<'a>(cited: impl Iterator<Item = &'a Authority>) -> Markup {
    let mut cited = cited.peekable();
    html! {
        @if cited.peek().is_some() {
            ul.authorities {
                @for authority in cited {
                    li {
                        strong { (authority.name) } ": " (authority.says)
                        @if authority.is_neither { " (supports neither side)" }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::category::{Grey, TABLE};

    #[test]
    fn the_documentation_has_the_authorities() {
        assert!(AUTHORITIES.len() >= 13, "{AUTHORITIES:?}");
        for (name, _) in CITED_AS {
            assert!(AUTHORITIES.iter().any(|authority| authority.name == name), "{name} is not in docs/categories.md");
        }
    }

    #[test]
    fn every_policy_question_cites_an_authority() {
        for row in TABLE.iter().filter(|row| row.policy.is_some()) {
            let (Grey::Always(note, _) | Grey::When(_, note, _)) = row.grey else { panic!("{}", row.name) };
            assert!(AUTHORITIES.iter().any(|authority| note.contains(authority.cited_as)), "{}", row.name);
        }
    }
}
