//! Usage: the pool, what happened day by day, and the caller's own recent classifications, with a CSV of them.

use axum::extract::{Query, State};
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::chart;
use super::extract::SignedIn;
use super::frame::{PageError, page};
use super::parts::{link_to_reading, when};
use crate::accounts::{Day, ReadingRow, Recent};
use crate::app::{Asker, QuotaStatus};
use crate::web::Web;

const DAYS: u32 = 30;
const ROWS: i64 = 50;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct UsageQuery {
    #[serde(default)]
    find: String,
    #[serde(default)]
    review: String,
}

impl UsageQuery {
    fn recent(&self) -> Recent {
        let text = Some(self.find.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
        Recent { text, needs_review: (self.review == "yes").then_some(true), ..Recent::default() }
    }
}

pub(crate) async fn page_of(web: &Web, signed_in: &SignedIn, wanted: &UsageQuery) -> Result<Html<String>, PageError> {
    let SignedIn { visitor, person } = signed_in;
    let asker = Asker::Keyed(web.app.signed_in(person).await?);
    let status = web.app.quota_status(&asker, None).await?;
    let days = web.app.accounts.usage(&person.owner_id, DAYS).await?;
    let rows = web.app.accounts.recent(&person.owner_id, &wanted.recent(), ROWS).await?;
    let query = serde_urlencoded::to_string([("find", &wanted.find), ("review", &wanted.review)]).unwrap_or_default();
    let main = html! {
        h1 { "Usage" }
        (pool(&status))
        section aria-labelledby="days" {
            h2 id="days" { "The last " (DAYS) " days" }
            (chart::days(&days))
            p.legend { span.billable { "billable" } " " span.free { "free" } }
            (table(&days))
        }
        section aria-labelledby="recent" {
            h2 id="recent" { "Recent classifications" }
            form.row method="get" action="/usage" {
                label { "Find" input name="find" value=(wanted.find) maxlength="128" placeholder="hash, category, chain or protocol" autocomplete="off"; }
                label.check { input type="checkbox" name="review" value="yes" checked[wanted.review == "yes"]; " only for review" }
                button { "Filter" }
                a href={ "/usage.csv?" (query) } { "Download as CSV" }
            }
            (recent(&rows))
        }
    };
    Ok(page(visitor, "Usage", main))
}

pub(crate) async fn page_handler(
    State(web): State<Web>,
    signed_in: SignedIn,
    Query(wanted): Query<UsageQuery>,
) -> Result<Html<String>, PageError> {
    page_of(&web, &signed_in, &wanted).await
}

fn pool(status: &QuotaStatus) -> Markup {
    match status {
        QuotaStatus::Partner(_) => html! { p { "Your keys are metered: there is no pool." } },
        QuotaStatus::Pool(pool) => html! {
            div.pool {
                p { strong { (pool.used_now()) } " of " (pool.limit()) " used, " strong { (pool.left()) } " left. It starts anew on " (next_month()) " (UTC)." }
                meter min="0" max=(pool.limit()) value=(pool.used_now()) aria-label="Pool used" {}
            }
        },
    }
}

/// The first day of the next UTC month.
fn next_month() -> String {
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    today.first_of_month().checked_add(jiff::Span::new().months(1)).map(|day| day.to_string()).unwrap_or_default()
}

fn table(days: &[Day]) -> Markup {
    let busy = days.iter().rev().filter(|day| day.billable + day.free + day.refused > 0);
    html! {
        details {
            summary { "The same as a table" }
            div.wide { table {
                thead { tr { th { "Day (UTC)" } th { "Billable" } th { "Free" } th { "Refused" } } }
                tbody { @for day in busy { tr { td { (day.date) } td { (day.billable) } td { (day.free) } td { (day.refused) } } } }
            } }
        }
        p { "Requests refused in this time: " (days.iter().map(|day| day.refused).sum::<i64>()) "." }
    }
}

fn recent(rows: &[ReadingRow]) -> Markup {
    if rows.is_empty() {
        return html! { p { "Nothing here yet. " a href="/" { "Read a transaction" } ", or use a key." } };
    }
    html! {
        div.wide { table {
            thead { tr { th { "When" } th { "Transaction" } th { "Chain" } th { "Category" } th { "Treatment" } th { "Confidence" } } }
            tbody { @for row in rows { tr {
                td { (when(row.at)) }
                td { (link_to_reading(row)) }
                td { (row.chain) }
                td { (row.category) @if let Some(protocol) = &row.protocol { " · " (protocol) } }
                td { @if row.needs_review { strong { "review" } } @else { (row.treatment) } }
                td { (row.confidence) }
            } } }
        } }
        @if rows.len() >= usize::try_from(ROWS).unwrap_or(usize::MAX) { p.hint { "The newest " (ROWS) " are shown; the CSV holds more." } }
    }
}

pub(crate) async fn csv(
    State(web): State<Web>,
    SignedIn { person, .. }: SignedIn,
    Query(wanted): Query<UsageQuery>,
) -> Result<Response, PageError> {
    let csv = web.app.readings_csv(&person.owner_id, wanted.recent()).await?;
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"taxon.csv\""),
    ];
    Ok((headers, csv).into_response())
}
