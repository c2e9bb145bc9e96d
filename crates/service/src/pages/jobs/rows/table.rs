//! The table itself: dense, one line a row, with the form that decides what is chosen in it.

use engine::Treatments;
use engine::category::TABLE;
use engine::treatment::Treatment;
use maud::{Markup, html};

use super::ChosenRows;
use super::query::{RowsQuery, STATES};
use crate::app::{FailedRow, JobPage, JobPageRow, JobRowAnswer, TREATMENTS};
use crate::pages::deciding::{date, day, fields, person, reading, verdict};
use crate::pages::frame::proof;
use crate::pages::jobs::name;
use crate::pages::parts::{grouped, harmless, shortened, treatment_words};
use crate::pages::visitor::Visitor;
use crate::store::{BookRow, Decision, ReadRow};

/// Characters of a note, a comment, a name and the amounts that a line shows.
const NOTE_CHARS_MAX: usize = 100;
const COMMENT_CHARS_MAX: usize = 80;
const WORD_CHARS_MAX: usize = 40;
const AMOUNTS_CHARS_MAX: usize = 120;
const FILTER_CHARS_MAX: usize = 64;

pub(super) fn drawn(
    visitor: &Visitor,
    page: &JobPage,
    wanted: &RowsQuery,
    typed: Option<&ChosenRows>,
    treatments: &Treatments,
) -> Markup {
    let id = &page.job.id;
    html! {
        p { a href={ "/jobs/" (id) } { (name(&page.job)) }
            @if let Some(book) = &page.book { " · " a href={ "/books/" (book.id) } { "Its book" } " · " a href={ "/books/" (book.id) "/review" } { "Review" } } }
        h1 { "Results" }
        (states(id, wanted))
        (filters(id, wanted))
        @if page.rows.is_empty() {
            p { @if wanted.text().is_empty() { "Nothing has been read yet." } @else { "No row is like that." } }
        } @else {
            p { strong { (grouped(&page.count.to_string())) } @if page.count == 1 { " row" } @else { " rows" } " on all pages." }
            form.review method="post" action={ "/jobs/" (id) "/rows" } {
                (proof(visitor))
                input type="hidden" name="back" value=(wanted.text());
                div.wide { table.dense { (head(id, wanted)) tbody { @for row in &page.rows { (line(row, page.book.as_ref(), typed)) } } } }
                @if page.book.is_some() { (deciding(typed, treatments)) }
            }
            @if let Some(next) = page.next { p { a rel="next" href=(wanted.after(next).path(id)) { "Next rows" } } }
        }
        @if !wanted.after.is_empty() {
            p { a href=(RowsQuery { after: String::new(), ..wanted.clone() }.path(id)) { "Back to the first rows" } }
        }
    }
}

fn states(id: &str, wanted: &RowsQuery) -> Markup {
    html! {
        ul.tabs aria-label="State" { @for (word, words, state) in STATES { li {
            @let there = RowsQuery { state: word.to_owned(), after: String::new(), ..wanted.clone() };
            a href=(there.path(id)) aria-current=[(state == wanted.state()).then_some("page")] { (words) }
        } } }
    }
}

fn filters(id: &str, wanted: &RowsQuery) -> Markup {
    let day = |label: &str, name: &str, value: &str| {
        html! { label { (label) input type="date" name=(name) value=(harmless(value, FILTER_CHARS_MAX)); } }
    };
    html! {
        form.row.filters method="get" action={ "/jobs/" (id) "/rows" } {
            @if !wanted.state.is_empty() { input type="hidden" name="state" value=(harmless(&wanted.state, FILTER_CHARS_MAX)); }
            @if !wanted.sort.is_empty() { input type="hidden" name="sort" value=(harmless(&wanted.sort, FILTER_CHARS_MAX)); }
            label { "Read as" select name="category" {
                option value="" { "anything" }
                @for known in TABLE { option selected[known.name == wanted.category] { (known.name) } }
            } }
            label { "Comes to" select name="treatment" {
                option value="" { "anything" }
                @for known in TREATMENTS.into_iter().chain([Treatment::NeedsReview]) {
                    option value=(known.name()) selected[known.name() == wanted.treatment] { (treatment_words(known)) }
                }
            } }
            label { "Chain" input name="chain" value=(harmless(&wanted.chain, FILTER_CHARS_MAX)) maxlength=(FILTER_CHARS_MAX) autocomplete="off" spellcheck="false"; }
            (day("From", "from", &wanted.from))
            (day("To", "to", &wanted.to))
            button { "Filter" }
        }
    }
}

fn head(id: &str, wanted: &RowsQuery) -> Markup {
    let (direction, arrow) = if wanted.is_newest_first() { ("descending", " ↓") } else { ("ascending", " ↑") };
    html! {
        thead { tr {
            th { span.offstage { "Choose" } }
            th aria-sort=(direction) { a href=(wanted.turned().path(id)) { "Date" (arrow) } }
            @for words in ["Wallet", "Amounts", "Protocol", "Read as", "Taxable", "Sure", "Review or decision"] { th { (words) } }
        } }
    }
}

fn line(row: &JobPageRow, book: Option<&BookRow>, typed: Option<&ChosenRows>) -> Markup {
    match &row.answer {
        JobRowAnswer::Read(read) => read_line(row, read, book, typed),
        JobRowAnswer::Failed(failed) => failed_line(failed),
    }
}

fn read_line(row: &JobPageRow, read: &ReadRow, book: Option<&BookRow>, typed: Option<&ChosenRows>) -> Markup {
    let (part, at) = (row.place.part, row.place.at);
    let is_chosen = typed.is_some_and(|typed| typed.rows.contains(&(part, at)));
    let query = serde_urlencoded::to_string([("chain", &read.chain), ("wallet", &read.wallet)]).unwrap_or_default();
    let short = shortened(&read.hash);
    let time_zone = book.map_or("UTC", |book| &book.time_zone);
    html! {
        tr {
            td { @if book.is_some() { input type="checkbox" name="row" value={ (part) ":" (at) } checked[is_chosen] aria-label={ "Choose " (short) }; } }
            td { (date(read.time, time_zone)) br; a href={ "/reading/" (read.hash) "?" (query) } { code { (short) } } " " span.hint { (harmless(&read.chain, WORD_CHARS_MAX)) } }
            td { code { (shortened(&read.wallet)) } }
            td { bdi.stranger { (harmless(&read.amounts, AMOUNTS_CHARS_MAX)) } }
            td { bdi.stranger { (harmless(&read.protocol, WORD_CHARS_MAX)) } }
            td { (reading(read.category, read.treatment, read.needs_review)) }
            td { (taxable(read.taxable)) }
            td { (read.confidence) }
            td { (mark(read, row.decision.as_ref(), book)) }
        }
    }
}

fn taxable(taxable: Option<bool>) -> Markup {
    html! { @match taxable { Some(true) => "yes", Some(false) => "no", None => span.quiet { "undetermined" } } }
}

/// What was decided, or else whether somebody must.
fn mark(read: &ReadRow, decision: Option<&Decision>, book: Option<&BookRow>) -> Markup {
    match (decision, book) {
        (Some(decision), Some(book)) => decided(decision, book),
        _ if read.needs_review => {
            html! { strong { "For review" } br; bdi.stranger { (harmless(&read.note, NOTE_CHARS_MAX)) } }
        }
        _ => html! {},
    }
}

fn decided(decision: &Decision, book: &BookRow) -> Markup {
    let query = serde_urlencoded::to_string([("state", "all"), ("find", &decision.hash)]).unwrap_or_default();
    html! {
        @if book.needs_second && decision.signed_at.is_none() { strong { "Waits for a signature." } br; }
        (verdict(&decision.category, &decision.treatment))
        @if !decision.comment.is_empty() { br; bdi.stranger { (harmless(&decision.comment, COMMENT_CHARS_MAX)) } }
        br; span.hint {
            bdi { (person(&decision.decided_by)) } ", " a href={ "/books/" (book.id) "/review?" (query) } { (day(decision.decided_at)) }
            @if let (Some(signer), Some(at)) = (&decision.signed_by, decision.signed_at) { "; signed by " bdi { (person(signer)) } ", " (day(at)) }
        }
    }
}

/// What was not read has no page of a reading, and nothing to decide.
fn failed_line(failed: &FailedRow) -> Markup {
    let word = |text: &Option<String>| harmless(text.as_deref().unwrap_or_default(), WORD_CHARS_MAX);
    let hash = harmless(failed.hash.as_deref().unwrap_or_default(), FILTER_CHARS_MAX.saturating_mul(2));
    html! {
        tr {
            td {}
            td { code title=(hash) { (shortened(&hash)) } " " span.hint { (word(&failed.chain)) } }
            td colspan="6" { strong { "Not read" } " " code { (word(&failed.error)) } }
            td { bdi.stranger { (harmless(failed.review_note.as_deref().unwrap_or_default(), NOTE_CHARS_MAX)) } }
        }
    }
}

fn deciding(typed: Option<&ChosenRows>, treatments: &Treatments) -> Markup {
    let draft = typed.map(|typed| typed.draft.clone()).unwrap_or_default();
    html! {
        fieldset.deciding {
            legend { "With the chosen rows" }
            (fields(&draft, treatments))
            button name="do" value="decide" { "Decide" }
            " " button.plain name="do" value="undo" { "Undo the decision" }
        }
    }
}
