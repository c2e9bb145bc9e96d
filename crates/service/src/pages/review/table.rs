//! The table itself: dense, one line a row, with the form that decides what is chosen in it.

use engine::Treatments;
use engine::category::TABLE;
use maud::{Markup, html};

use super::PostedRows;
use super::query::{ReviewQuery, SORTS, STATES};
use crate::app::ReviewPage;
use crate::pages::book::name;
use crate::pages::deciding::{date, day, fields, person, reading, verdict};
use crate::pages::frame::proof;
use crate::pages::parts::{grouped, harmless, shortened, spoken};
use crate::pages::visitor::Visitor;
use crate::store::{BookRow, ReviewRow, ReviewState};

/// Characters of a note, a comment, a protocol's name and the amounts that a line shows.
const NOTE_CHARS_MAX: usize = 140;
const COMMENT_CHARS_MAX: usize = 80;
const PROTOCOL_CHARS_MAX: usize = 40;
const AMOUNTS_CHARS_MAX: usize = 120;
const FILTER_CHARS_MAX: usize = 128;

pub(super) fn drawn(
    visitor: &Visitor,
    person_id: &str,
    page: &ReviewPage,
    wanted: &ReviewQuery,
    typed: Option<&PostedRows>,
    treatments: &Treatments,
) -> Markup {
    let book = &page.book;
    html! {
        p { a href={ "/books/" (book.id) } { (name(book)) } " · " a href={ "/books/" (book.id) "/rules" } { "Rules" } " · " a href={ "/books/" (book.id) "/log" } { "Log" } }
        h1 { "Review" }
        (states(page, wanted))
        (filters(book, wanted))
        @if page.rows.is_empty() {
            p { @if wanted.state() == ReviewState::Open && wanted.after.is_empty() { "Nothing here waits for a person." } @else { "No row is like that." } }
        } @else {
            form.review method="post" action={ "/books/" (book.id) "/review" } {
                (proof(visitor))
                input type="hidden" name="back" value=(wanted.text());
                div.wide { table.dense {
                    thead { tr {
                        th { span.offstage { "Choose" } }
                        (header(book, wanted, "date", "Date"))
                        (header(book, wanted, "wallet", "Wallet"))
                        th { "Amounts" }
                        (header(book, wanted, "protocol", "Protocol"))
                        (header(book, wanted, "category", "Read as"))
                        (header(book, wanted, "confidence", "Sure"))
                        th { "Note" }
                        th { "Decision" }
                    } }
                    tbody { @for row in &page.rows { (line(row, person_id, book, typed)) } }
                } }
                (deciding(book, typed, treatments))
            }
            @if let Some(next) = &page.next { p { a rel="next" href=(wanted.after(next).path(&book.id)) { "Next rows" } } }
        }
        @if !wanted.after.is_empty() {
            p { a href=(ReviewQuery { after: String::new(), ..wanted.clone() }.path(&book.id)) { "Back to the first rows" } }
        }
    }
}

fn states(page: &ReviewPage, wanted: &ReviewQuery) -> Markup {
    let counts = &page.counts;
    let count = |state: ReviewState| match state {
        ReviewState::Open => Some(counts.open),
        ReviewState::Decided => Some(counts.decided),
        ReviewState::Waiting => Some(counts.waiting),
        ReviewState::Disagreed => Some(counts.disagreed),
        ReviewState::All | ReviewState::Read => None,
    };
    html! {
        ul.tabs aria-label="State" { @for (word, words, state) in STATES { li {
            @let there = ReviewQuery { state: word.to_owned(), after: String::new(), ..wanted.clone() };
            a href=(there.path(&page.book.id)) aria-current=[(state == wanted.state()).then_some("page")] {
                (words) @if let Some(count) = count(state) { " " strong { (grouped(&count.to_string())) } }
            }
        } } }
    }
}

fn filters(book: &BookRow, wanted: &ReviewQuery) -> Markup {
    let field = |label: &str, name: &str, value: &str| {
        html! { label { (label) input name=(name) value=(harmless(value, FILTER_CHARS_MAX)) maxlength=(FILTER_CHARS_MAX) autocomplete="off" spellcheck="false"; } }
    };
    html! {
        form.row.filters method="get" action={ "/books/" (book.id) "/review" } {
            @if !wanted.state.is_empty() { input type="hidden" name="state" value=(harmless(&wanted.state, FILTER_CHARS_MAX)); }
            @if !wanted.sort.is_empty() { input type="hidden" name="sort" value=(harmless(&wanted.sort, FILTER_CHARS_MAX)); }
            (field("Chain", "chain", &wanted.chain))
            (field("Protocol", "protocol", &wanted.protocol))
            label { "Read as" select name="category" {
                option value="" { "anything" }
                @for known in TABLE { option selected[known.name == wanted.category] { (known.name) } }
            } }
            (field("Wallet", "wallet", &wanted.wallet))
            (field("In the hash", "find", &wanted.find))
            button { "Filter" }
        }
    }
}

fn header(book: &BookRow, wanted: &ReviewQuery, by: &str, words: &str) -> Markup {
    let (sort, is_descending) = wanted.sort();
    let is_now = SORTS.iter().any(|(known, of)| *known == by && *of == sort);
    let direction = if is_descending { "descending" } else { "ascending" };
    html! {
        th aria-sort=[is_now.then_some(direction)] {
            @if wanted.state() == ReviewState::Read { (words) }
            @else { a href=(wanted.sorted(by).path(&book.id)) { (words) @if is_now { @if is_descending { " ↓" } @else { " ↑" } } } }
        }
    }
}

fn line(row: &ReviewRow, person_id: &str, book: &BookRow, typed: Option<&PostedRows>) -> Markup {
    let is_chosen =
        typed.is_some_and(|typed| typed.rows.iter().any(|key| key.hash == row.hash && key.wallet == row.wallet));
    let query = serde_urlencoded::to_string([("chain", &row.chain), ("wallet", &row.wallet)]).unwrap_or_default();
    let short = shortened(&row.hash);
    html! {
        tr {
            td { input type="checkbox" name="row" value={ (row.hash) ":" (row.wallet) } checked[is_chosen] aria-label={ "Choose " (short) }; }
            td { (date(row.time, &book.time_zone)) br; a href={ "/reading/" (row.hash) "?" (query) } { code { (short) } } " " span.hint { (harmless(&row.chain, PROTOCOL_CHARS_MAX)) } }
            td { code { (shortened(&row.wallet)) } }
            td { bdi.stranger { (harmless(&row.amounts, AMOUNTS_CHARS_MAX)) } }
            td { bdi.stranger { (harmless(&row.protocol, PROTOCOL_CHARS_MAX)) } }
            td { (reading(&row.category, &row.treatment, row.needs_review)) }
            td { (row.confidence) }
            td { bdi.stranger { (harmless(&row.note, NOTE_CHARS_MAX)) } }
            td { (decision(row, person_id)) }
        }
    }
}

fn decision(row: &ReviewRow, person_id: &str) -> Markup {
    let (Some(category), Some(treatment)) = (&row.decided_category, &row.decided_treatment) else { return html! {} };
    let by = row.decider.as_deref().map(person).unwrap_or_default();
    let comment = row.comment.as_deref().unwrap_or_default();
    html! {
        @match row.state.as_deref() {
            Some("disagreed") => { strong { "The rules now read this as " (spoken(&row.category)) "." } br; }
            Some("waiting") => {
                strong { @if row.decided_by.as_deref() == Some(person_id) { "Another person signs it." } @else { "Waits for a signature." } } br;
            }
            _ => {}
        }
        (verdict(category, treatment))
        @if !comment.is_empty() { br; bdi.stranger { (harmless(comment, COMMENT_CHARS_MAX)) } }
        br; span.hint {
            bdi { (by) } ", " (row.decided_at.map(day).unwrap_or_default()) @if row.rule_id.is_some() { ", by a rule" }
            @if let (Some(signer), Some(at)) = (&row.signer, row.signed_at) { "; signed by " bdi { (person(signer)) } ", " (day(at)) }
        }
    }
}

fn deciding(book: &BookRow, typed: Option<&PostedRows>, treatments: &Treatments) -> Markup {
    let draft = typed.map(|typed| typed.draft.clone()).unwrap_or_default();
    html! {
        fieldset.deciding {
            legend { "With the chosen rows" }
            (fields(&draft, treatments))
            button name="do" value="decide" { "Decide" }
            " " button.plain name="do" value="like" { "Decide all like this…" }
            @if book.needs_second { " " button.plain name="do" value="sign" { "Sign" } }
            " " button.plain name="do" value="undo" { "Undo the decision" }
        }
    }
}
