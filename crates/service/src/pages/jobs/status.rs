//! One job: how far it is, what can be downloaded, and how its table was understood or what was found.

use books::asked::{Refusal, Understood};
use books::formats;
use maud::{Markup, html};

use super::{name, preview, transactions, wallets};
use crate::app::{JobState, JobStatus, PreviewRow};
use crate::pages::frame::sentence;
use crate::pages::parts::{badge, grouped, prose, text, time};
use crate::pages::visitor::Visitor;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// Below twice of a unit, the next smaller one is told: "90 s".
const UNITS: [(i64, &str); 3] = [(DAY, "days"), (HOUR, "h"), (MINUTE, "min")];

pub(super) fn has_ended(state: JobState) -> bool {
    match state {
        JobState::Listing | JobState::Ready | JobState::Open | JobState::Waiting => false,
        JobState::Finished | JobState::Cancelled | JobState::Failed => true,
    }
}

/// Whether anything of it was or will be read without its owner doing anything.
fn has_begun(state: JobState) -> bool {
    !matches!(state, JobState::Listing | JobState::Ready)
}

pub(super) fn state(state: JobState) -> Markup {
    let (tone, words) = match state {
        JobState::Listing => ("income", "Looking up"),
        JobState::Ready => ("needs_review", "Ready to start"),
        JobState::Open => ("income", "Being read"),
        JobState::Waiting => ("needs_review", "Waiting"),
        JobState::Finished => ("non_taxable", "Finished"),
        JobState::Cancelled => ("plain", "Cancelled"),
        JobState::Failed => ("alarm", "Failed"),
    };
    badge(tone, words)
}

/// What is looked up changes the whole page when it is found, so that all of it is fetched anew until then.
pub(super) fn drawn(visitor: &Visitor, job: &JobStatus, first: &[PreviewRow]) -> Markup {
    html! {
        p { a href="/jobs" { "All jobs" } @if let Some(book) = &job.book { " · " a href={ "/books/" (book) } { "Its book" } } }
        h1 { (name(job)) }
        div id="job" data-live[job.state == JobState::Listing] {
            (progress(job))
            @if job.state == JobState::Ready { (preview::drawn(visitor, job, first)) }
            @else if !has_ended(job.state) { noscript { p { a href={ "/jobs/" (job.id) } { "Look again how far it is" } } } }
            @if has_begun(job.state) {
                p { a href={ "/jobs/" (job.id) "/rows" } { "Results" } ": every row, to be filtered and decided." }
                (downloads(job))
            }
            (understood_of(job))
        }
    }
}

fn downloads(job: &JobStatus) -> Markup {
    html! {
        section aria-labelledby="files" {
            h2 id="files" { "Downloads" }
            p { "Oldest transaction first. Before the job has finished, a file holds what was read so far. What is for review keeps its mark in every format: "
                a href="/docs/formats" { "how" } "." }
            ul.downloads { @for format in formats::without_prices() { li {
                a href={ "/jobs/" (job.id) "/results?format=" (format.name) } download { (format.name) } span.hint { " " (format.about) }
            } } }
        }
    }
}

/// Of a table its columns, of wallets what was found; nothing as long as neither is known.
fn understood_of(job: &JobStatus) -> Markup {
    let table = || serde_json::from_value(job.table.clone()).unwrap_or_default();
    let found = || serde_json::from_value(job.table.clone()).unwrap_or_default();
    html! {
        @if job.table.get("columns").is_some() { (understood(&table())) }
        @else if job.table.get("wallets").is_some() { (wallets::found(&found())) }
    }
}

/// Where script runs, it fetches the page every two seconds and puts this part of it in the place of the old one, for as long as it is live.
fn progress(job: &JobStatus) -> Markup {
    html! {
        section.job id="progress" aria-label="Progress" data-live[has_begun(job.state) && !has_ended(job.state)] {
            p { (state(job.state)) }
            @if let Some(reason) = &job.reason { p.notice { (prose(&sentence(reason))) } }
            @match job.state {
                JobState::Listing => progress aria-label="Looking up" {},
                JobState::Ready => {},
                JobState::Open | JobState::Waiting | JobState::Finished | JobState::Cancelled | JobState::Failed => {
                    progress max=(job.rows.max(1)) value=(done(job)) aria-label="Rows done" { (percent(job)) " %" }
                },
            }
            p { (rows(job)) @if job.failed > 0 { " Rows that failed are in jsonl, each with its error." } }
            @if let Some(rate) = job.rows_per_second.filter(|rate| *rate > 0.0) {
                p { (rate) " rows a second" @if let Some(seconds) = job.seconds_left { ", about " (span(seconds)) " left" } "." }
            }
            dl.facts {
                dt { "Added" } dd { (time(&job.created_at)) }
                @if let Some(at) = &job.started_at { dt { "Begun" } dd { (time(at)) } }
                @if let Some(at) = &job.ended_at { dt { "Ended" } dd { (time(at)) } }
                dt { "Kept until" } dd { (time(&job.kept_until)) }
            }
            @if !has_ended(job.state) { p { a id="cancel" href={ "/jobs/" (job.id) "/cancel" } { "Cancel this job" } } }
        }
    }
}

pub(super) fn rows(job: &JobStatus) -> Markup {
    html! { @match job.state {
        JobState::Listing => { strong { (count(job.rows)) } " " (transactions(job.rows)) " found so far." },
        JobState::Ready => { strong { (count(job.rows)) } " " (transactions(job.rows)) "; none is read before you start it." },
        JobState::Finished if job.rows == 0 => { "No transactions were found, so there was nothing to read." },
        _ => (rows_done(job)),
    } }
}

fn rows_done(job: &JobStatus) -> Markup {
    html! {
        strong { (count(done(job))) " of " (count(job.rows)) } " rows done (" (percent(job)) " %): "
        (count(job.read)) " read, " (count(job.needs_review)) " of them for review; " (count(job.failed)) " failed."
    }
}

fn done(job: &JobStatus) -> i64 {
    job.read.saturating_add(job.failed)
}

fn percent(job: &JobStatus) -> i64 {
    done(job).saturating_mul(100).checked_div(job.rows).unwrap_or_default()
}

/// Names of columns and cells are the table's own, and shown as strangers' text.
fn understood(table: &Understood) -> Markup {
    let columns = &table.columns;
    let or_none =
        |column: &Option<String>| html! { @match column { Some(name) => (text(name)), None => span.quiet { "none" } } };
    let counts = [
        ("Transactions", table.count),
        ("Repeated", table.repeated),
        ("Without a hash", table.empty),
        ("Wallets unread", table.unread_wallets),
        ("Refused", table.refused_count),
    ];
    html! {
        section aria-labelledby="table" {
            h2 id="table" { "How the table was understood" }
            dl.facts {
                dt { "Hashes from" } dd { (text(&columns.hash)) }
                dt { "Chain from" } dd { (or_none(&columns.chain)) }
                dt { "Wallet from" } dd { (or_none(&columns.wallet)) }
                @if let Some(separator) = columns.separator {
                    dt { "Separator" } dd { (separated(separator)) }
                    dt { "Header" } dd { @if columns.has_header { "yes" } @else { "none: columns go by their numbers" } }
                }
                @for (name, rows) in counts { dt { (name) } dd { (grouped(&rows.to_string())) } }
            }
            (refused(&table.refused, table.refused_count))
        }
    }
}

fn refused(rows: &[Refusal], count: usize) -> Markup {
    html! {
        @if !rows.is_empty() {
            h3 { "Rows that were refused" }
            div.wide { table {
                thead { tr { th { "Row" } th { "Column" } th { "What" } } }
                tbody { @for row in rows { tr { td { (row.row) } td { (text(&row.column)) } td { bdi.stranger { (prose(&row.what)) } } } } }
            } }
            @if rows.len() < count { p.hint { "The first " (rows.len()) " of " (grouped(&count.to_string())) " are shown." } }
        }
    }
}

fn separated(separator: char) -> &'static str {
    match separator {
        ',' => "comma",
        ';' => "semicolon",
        '\t' => "tab",
        '|' => "bar",
        _ => "another",
    }
}

fn count(rows: i64) -> String {
    grouped(&rows.to_string())
}

fn span(seconds: i64) -> String {
    let unit = UNITS.iter().find(|(length, _)| seconds >= length.saturating_mul(2));
    unit.map_or_else(|| format!("{seconds} s"), |(length, name)| format!("{} {name}", seconds.div_euclid(*length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_told_in_whole_units() {
        let told =
            [(1, "1 s"), (119, "119 s"), (120, "2 min"), (7_199, "119 min"), (7_200, "2 h"), (172_800, "2 days")];
        for (seconds, words) in told {
            assert_eq!(span(seconds), words);
        }
    }
}
