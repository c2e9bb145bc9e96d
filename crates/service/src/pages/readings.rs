//! What the person and their keys had read, call by call, by the date of the transaction; with a CSV of it. What jobs read is on their own pages.

use axum::extract::{Query, State};
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::deciding::{date, reading};
use super::extract::SignedIn;
use super::frame::{PageError, page};
use super::parts::{link_to_reading, when};
use crate::accounts::{ReadingRow, Recent};
use crate::web::Web;

const ROWS: usize = 50;
/// Dates here are of no book.
const TIME_ZONE: &str = "UTC";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ReadingsQuery {
    find: String,
    /// The last row of the page before, as `cursor` writes it.
    before: String,
}

impl ReadingsQuery {
    fn recent(&self) -> Recent {
        let text = Some(self.find.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
        Recent { text, before: self.before() }
    }

    /// What is no row begins at the first page.
    fn before(&self) -> Option<(i64, String, String)> {
        let mut parts = self.before.splitn(3, ':');
        let (time, hash, wallet) = (parts.next()?, parts.next()?, parts.next()?);
        Some((time.parse().ok()?, hash.to_owned(), wallet.to_owned()))
    }
}

fn cursor(row: &ReadingRow) -> String {
    let (time, hash, wallet) = row.cursor();
    format!("{time}:{hash}:{wallet}")
}

pub(crate) async fn shown(
    State(web): State<Web>,
    SignedIn { visitor, person }: SignedIn,
    Query(wanted): Query<ReadingsQuery>,
) -> Result<Html<String>, PageError> {
    let one_more = i64::try_from(ROWS.saturating_add(1)).unwrap_or(i64::MAX);
    let mut rows = web.app.accounts.recent(&person.owner_id, &wanted.recent(), one_more).await?;
    let has_more = rows.len() > ROWS;
    rows.truncate(ROWS);
    let next = rows.last().filter(|_| has_more).map(|last| address(&wanted.find, &cursor(last)));
    let csv = serde_urlencoded::to_string([("find", &wanted.find)]).unwrap_or_default();
    let main = html! {
        h1 { "Readings" }
        p { "What you and your keys asked for, by the date of the transaction. " a href="/jobs" { "Jobs" } " have their results on their own pages, and what is left to a person is under " a href="/review" { "Review" } "." }
        form.row method="get" action="/readings" {
            label { "Find" input name="find" value=(wanted.find) maxlength="128" placeholder="hash, category, chain or protocol" autocomplete="off"; }
            button { "Filter" }
            a href={ "/readings.csv?" (csv) } { "Download as CSV" }
        }
        (table(&rows))
        @if let Some(next) = next { p { a href=(next) rel="next" { "Older transactions" } } }
    };
    Ok(page(&visitor, "Readings", main))
}

fn address(find: &str, before: &str) -> String {
    let query = serde_urlencoded::to_string([("find", find), ("before", before)]).unwrap_or_default();
    format!("/readings?{query}")
}

fn table(rows: &[ReadingRow]) -> Markup {
    if rows.is_empty() {
        return html! { p { "Nothing here yet. " a href="/" { "Read a transaction" } ", or use a key." } };
    }
    html! {
        div.wide { table {
            thead { tr { th { "Date (UTC)" } th { "Transaction" } th { "Chain" } th { "Read as" } th { "Protocol" } th { "Sure" } th { "Read" } } }
            tbody { @for row in rows { tr {
                td { (date(row.time, TIME_ZONE)) }
                td { (link_to_reading(row)) }
                td { (row.chain) }
                td { (reading(&row.category, &row.treatment, row.needs_review)) @if row.needs_review { br; strong { "For review" } } }
                td { (row.protocol.as_deref().unwrap_or_default()) }
                td { (row.confidence) }
                td { (when(row.at)) }
            } } }
        } }
    }
}

pub(crate) async fn csv(
    State(web): State<Web>,
    SignedIn { person, .. }: SignedIn,
    Query(wanted): Query<ReadingsQuery>,
) -> Result<Response, PageError> {
    let csv = web.app.readings_csv(&person.owner_id, Recent { before: None, ..wanted.recent() }).await?;
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"taxon.csv\""),
    ];
    Ok((headers, csv).into_response())
}
