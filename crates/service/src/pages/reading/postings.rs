//! How every part of every leg is booked, as a table.

use engine::Classification;
use engine::classification::{Assets, Entry, Posting, Side};
use maud::{Markup, html};

use crate::pages::parts::{badge, grouped, part_of, spoken};

/// Postings that the table lists.
const POSTINGS_LISTED_MAX: usize = 40;

/// Characters of a token's symbol.
const SYMBOL_CHARS_MAX: usize = 20;

/// Nothing where nothing is booked: an item with an error, or a transaction that moved nothing and cost nothing.
pub(super) fn section(row: &Classification) -> Markup {
    let postings = row.postings.as_deref().unwrap_or_default();
    html! { @if !postings.is_empty() { (table(postings, row)) } }
}

fn table(postings: &[Posting], row: &Classification) -> Markup {
    let more = postings.len().saturating_sub(POSTINGS_LISTED_MAX);
    let listed = || postings.iter().take(POSTINGS_LISTED_MAX);
    let mut entries: Vec<Entry> = listed().map(|posting| posting.entry).collect();
    entries.sort_unstable();
    entries.dedup();
    html! {
        section.postings aria-labelledby="postings" {
            h2 id="postings" { "How it is booked" }
            div.wide tabindex="0" role="region" aria-labelledby="postings" {
                table {
                    caption { "Every part of what moved, once. The parts of an asset add up to its amount above." }
                    thead {
                        tr {
                            th scope="col" { "Side" }
                            th scope="col" { "Amount" }
                            th scope="col" { "Entry" }
                            th scope="col" { "Category" }
                            th scope="col" { "Taxable" }
                        }
                    }
                    tbody { @for posting in listed() { (line(posting, &row.assets)) } }
                }
            }
            @if more > 0 { p.quiet { "and " (more) " more postings, in the answer of the API." } }
            details {
                summary { "What these entries mean" }
                dl.meanings { @for entry in entries { dt { (words(entry)) } dd { (meaning(entry)) } } }
                p.quiet { a href="/docs/concepts#postings" { "More on postings" } }
            }
        }
    }
}

fn line(posting: &Posting, assets: &Assets) -> Markup {
    let leg = assets.leg_of(posting);
    let (side, class) = match posting.side {
        Side::Sent => ("Went out", "out"),
        Side::Received => ("Came in", "in"),
        Side::Gas => ("Network fee", "gas"),
    };
    let taxable = match posting.taxable {
        Some(true) => "Yes",
        Some(false) => "No",
        None => "Undetermined",
    };
    html! {
        tr class=(class) {
            td { (side) }
            td {
                @match leg {
                    Some(leg) => {
                        (part_of(leg, &posting.amount, SYMBOL_CHARS_MAX))
                        @if leg.symbol_collision { " " (badge("alarm", "⚠ Look-alike")) }
                    }
                    None => span.amount { (grouped(&posting.amount)) },
                }
            }
            td { span.entry title=(meaning(posting.entry)) { (words(posting.entry)) } }
            td { (spoken(posting.category.name())) }
            td { (taxable) }
        }
    }
}

fn words(entry: Entry) -> &'static str {
    match entry {
        Entry::Dispose => "Disposed of",
        Entry::Acquire => "Acquired",
        Entry::Income => "Income",
        Entry::Expense => "Expense",
        Entry::CarryOut => "Cost carried out",
        Entry::CarryIn => "Cost carried in",
        Entry::MoveOut => "Moved out",
        Entry::MoveIn => "Moved in",
        Entry::Lock => "Locked",
        Entry::Unlock => "Unlocked",
        Entry::Borrow => "Borrowed",
        Entry::Repay => "Repaid",
        Entry::Mirror => "Marks a debt",
        Entry::Ignore => "Ignored",
        Entry::Open => "Open",
    }
}

/// As the page on concepts has it.
fn meaning(entry: Entry) -> &'static str {
    match entry {
        Entry::Dispose => "sold at its fair value",
        Entry::Acquire => "bought, at the value of what was disposed of in the same transaction",
        Entry::Income => "income at its fair value, which is also its cost",
        Entry::Expense => "spent: a disposal, and an expense of the same value",
        Entry::CarryOut => {
            "the old form of an investment that only changes form (receipt token, wrapper, migration, vault share): its cost passes on"
        }
        Entry::CarryIn => "the new form of that investment, with the cost of the old one",
        Entry::MoveOut => "the same asset leaves for another place of the same owner (wallet, exchange, chain)",
        Entry::MoveIn => "the same asset arrives from another place of the same owner",
        Entry::Lock => "held by a protocol and still owned, with no token for it (stake, escrow, order, margin)",
        Entry::Unlock => "returned by a protocol that held it",
        Entry::Borrow => "a loan received: a liability opens",
        Entry::Repay => "a loan paid back: a liability closes",
        Entry::Mirror => "a token that only marks a debt and has no value of its own",
        Entry::Ignore => "spam: left out of the books",
        Entry::Open => "undecided: a person must look before it is booked",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What users read is the same on the page and in the docs.
    #[test]
    fn the_docs_tell_every_entry_in_the_same_words() {
        let docs = include_str!("../../../../../docs/concepts.md");
        let (_, section) = docs.split_once("\n## Postings\n").unwrap();
        let (section, _) = section.split_once("\n## ").unwrap();
        let rows: Vec<Vec<&str>> = section
            .lines()
            .filter(|line| line.starts_with("| `"))
            .map(|line| line.split('|').map(|cell| cell.trim().trim_matches('`')).collect())
            .collect();
        assert_eq!(rows.len(), 15, "the set of entries is closed");
        for row in rows {
            let entry: Entry = serde_json::from_value(row[1].into()).unwrap();
            assert_eq!((entry.name(), meaning(entry)), (row[1], row[3]));
        }
    }
}
