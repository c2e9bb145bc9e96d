//! Usage: the pool, and what was counted day by day. What was read is on the pages of readings, jobs and books.

use axum::extract::State;
use axum::response::Html;
use maud::{Markup, html};

use super::chart;
use super::extract::SignedIn;
use super::frame::{PageError, page};
use crate::accounts::Day;
use crate::app::{Asker, QuotaStatus};
use crate::web::Web;

const DAYS: u32 = 30;

pub(crate) async fn shown(
    State(web): State<Web>,
    SignedIn { visitor, person }: SignedIn,
) -> Result<Html<String>, PageError> {
    let asker = Asker::Keyed(web.app.signed_in(&person).await?);
    let status = web.app.quota_status(&asker, None).await?;
    let days = web.app.accounts.usage(&person.owner_id, DAYS).await?;
    let main = html! {
        h1 { "Usage" }
        (pool(&status))
        section aria-labelledby="days" {
            h2 id="days" { "The last " (DAYS) " days" }
            (chart::days(&days))
            p.legend { span.billable { "billable" } " " span.free { "free" } }
            (table(&days))
        }
        p { "What was read is under " a href="/readings" { "Readings" } ", " a href="/jobs" { "Jobs" } " and " a href="/books" { "Books" } "." }
    };
    Ok(page(&visitor, "Usage", main))
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
