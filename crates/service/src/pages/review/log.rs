//! The log of a book: every decision, signature and undoing, with who and when.

use axum::extract::{Path, Query, State};
use axum::response::Html;
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::app::LogPage;
use crate::pages::book::name;
use crate::pages::deciding::{date, person, verdict};
use crate::pages::extract::SignedIn;
use crate::pages::frame::{PageError, page};
use crate::pages::parts::{harmless, shortened};
use crate::store::{BookRow, DecisionStep, LogCursor};
use crate::web::Web;

const COMMENT_CHARS_MAX: usize = 300;
const FIND_CHARS_MAX: usize = 128;
const SECOND_MILLIS: i64 = 1_000;

/// Every parameter of the log's address.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct LogQuery {
    #[serde(skip_serializing_if = "String::is_empty")]
    find: String,
    /// Time, step, hash and wallet of the last line of the page before.
    #[serde(skip_serializing_if = "String::is_empty")]
    before: String,
}

impl LogQuery {
    fn before(&self, last: &LogCursor) -> Self {
        let LogCursor { at, hash, wallet, step } = last;
        Self { before: format!("{at}:{step}:{hash}:{wallet}"), ..self.clone() }
    }

    /// What is no cursor of ours begins at the first line.
    fn cursor(&self) -> Option<LogCursor> {
        let mut parts = self.before.splitn(4, ':');
        let (at, step) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some(LogCursor { at, step, hash: parts.next()?.to_owned(), wallet: parts.next()?.to_owned() })
    }

    fn path(&self, book_id: &str) -> String {
        let text = serde_urlencoded::to_string(self).unwrap_or_default();
        let mark = if text.is_empty() { "" } else { "?" };
        format!("/books/{book_id}/log{mark}{text}")
    }
}

pub(crate) async fn log(
    State(web): State<Web>,
    SignedIn { visitor, person }: SignedIn,
    Path(id): Path<String>,
    Query(wanted): Query<LogQuery>,
) -> Result<Html<String>, PageError> {
    let find = Some(wanted.find.trim()).filter(|find| !find.is_empty());
    let shown = web.app.decision_log(&person.owner_id, &id, find, wanted.cursor().as_ref()).await?;
    Ok(page(&visitor, "Log of decisions", drawn(&shown, &wanted)))
}

fn drawn(shown: &LogPage, wanted: &LogQuery) -> Markup {
    let book = &shown.book;
    html! {
        p { a href={ "/books/" (book.id) } { (name(book)) } " · " a href={ "/books/" (book.id) "/review" } { "Review" } " · "
            a href={ "/books/" (book.id) "/rules" } { "Rules" } }
        h1 { "Log of decisions" }
        p { "Every decision, signature and undoing, the newest first. Nothing is taken out of it. Times are those of " (harmless(&book.time_zone, FIND_CHARS_MAX)) "." }
        form.row.filters method="get" action={ "/books/" (book.id) "/log" } {
            label { "In the hash" input name="find" value=(harmless(&wanted.find, FIND_CHARS_MAX)) maxlength=(FIND_CHARS_MAX) autocomplete="off" spellcheck="false"; }
            button { "Filter" }
        }
        @if shown.steps.is_empty() {
            p { @if wanted.find.is_empty() && wanted.before.is_empty() { "Nobody has decided anything yet." } @else { "No line is like that." } }
        } @else {
            div.wide { table.dense {
                thead { tr { th { "When" } th { "Who" } th { "What" } th { "Row" } th { "As" } th { "Comment" } } }
                tbody { @for step in &shown.steps { (line(step, book)) } }
            } }
            @if let Some(next) = &shown.next { p { a rel="next" href=(wanted.before(next).path(&book.id)) { "Older lines" } } }
        }
        @if !wanted.before.is_empty() {
            p { a href=(LogQuery { before: String::new(), ..wanted.clone() }.path(&book.id)) { "Back to the newest" } }
        }
    }
}

fn line(step: &DecisionStep, book: &BookRow) -> Markup {
    let row = serde_urlencoded::to_string([("state", "all"), ("find", &step.hash)]).unwrap_or_default();
    html! {
        tr {
            td { (date(step.at.div_euclid(SECOND_MILLIS), &book.time_zone)) }
            td { bdi { (person(&step.by_email)) } @if step.rule_id.is_some() && step.what == "decided" { ", by a rule" } }
            td { (what(&step.what)) }
            td { a href={ "/books/" (book.id) "/review?" (row) } { code { (shortened(&step.hash)) } } " " code { (shortened(&step.wallet)) } }
            td { (verdict(&step.category, &step.treatment)) }
            td { bdi.stranger { (harmless(&step.comment, COMMENT_CHARS_MAX)) } }
        }
    }
}

fn what(word: &str) -> &'static str {
    match word {
        "decided" => "Decided",
        "signed" => "Signed",
        _ => "Undone",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_where_a_page_begins() {
        let last = LogCursor { at: 5, hash: "0xab".to_owned(), wallet: "w:1".to_owned(), step: 2 };
        let next = LogQuery { find: "0x".to_owned(), before: String::new() }.before(&last);
        assert_eq!(next.path("b"), "/books/b/log?find=0x&before=5%3A2%3A0xab%3Aw%3A1");
        assert_eq!(next.cursor(), Some(last));
        for odd in ["", "x", "1:2", "1:2:3", "9999999999999999999999:1:a:b"] {
            assert_eq!(LogQuery { before: odd.to_owned(), ..LogQuery::default() }.cursor(), None, "{odd}");
        }
    }
}
