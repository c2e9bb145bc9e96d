//! The two sides of a grey area beside each other, with the authorities that each may cite.

use engine::classification::{Alternate, GreyArea};
use engine::treatments::Authority;
use engine::{Classification, Treatments};
use maud::{Markup, html};

use crate::pages::parts::{prose, taxable_words, treatment};

pub(super) fn section(row: &Classification, treatments: &Treatments) -> Markup {
    html! { @if let Some(grey) = &row.grey_area { (both(row, grey, treatments)) } }
}

fn both(row: &Classification, grey: &GreyArea, treatments: &Treatments) -> Markup {
    let house = treatments.row(row.category);
    let note = grey.note.as_deref().unwrap_or_default();
    let cited: Vec<&Authority> = treatments.cited(row.category).collect();
    // The basis of the table is that of the house's own position, which a policy may have left.
    let is_house = row.treatment == house.treatment;
    let basis = |on: bool| on.then_some(house.basis.as_str());
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
                        @if authority.neither { " (supports neither side)" }
                    }
                }
            }
        }
    }
}
