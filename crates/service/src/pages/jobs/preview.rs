//! Before a job is read: its first rows as they will be asked, how to correct what was guessed, and the button that starts it.

use maud::{Markup, html};

use crate::app::{JobStatus, PreviewRow};
use crate::pages::frame::proof;
use crate::pages::parts::{copyable, grouped, text};
use crate::pages::visitor::Visitor;

pub(super) fn drawn(visitor: &Visitor, job: &JobStatus, first: &[PreviewRow]) -> Markup {
    let unknown = html! { span.quiet { "found when it is read" } };
    html! {
        section aria-labelledby="first" {
            h2 id="first" { "What will be read" }
            div.wide role="region" tabindex="0" aria-labelledby="first" { table {
                thead { tr { th { "Transaction" } th { "Chain" } th { "As seen by" } } }
                tbody { @for row in first { tr {
                    td { (copyable(&row.hash, "transaction")) }
                    td { @match &row.chain { Some(chain) => (text(chain)), None => (unknown) } }
                    td { @match &row.wallet { Some(wallet) => (copyable(wallet, "wallet")), None => (unknown) } }
                } } }
            } }
            p.hint { "The first " (first.len()) " of " (grouped(&job.rows.to_string())) "." }
            (correction(job))
            form.row method="post" action={ "/jobs/" (job.id) "/start" } {
                (proof(visitor))
                button { "Start reading" }
            }
            p.hint { "Each transaction counts as one of your pool; repeats, plain transfers, approvals and spam are free. A job that is started can be cancelled." }
        }
    }
}

/// Of a table, whose columns were guessed.
fn correction(job: &JobStatus) -> Markup {
    let names = job.table.pointer("/columns/names").and_then(|names| names.as_array());
    let names: Vec<&str> = names.into_iter().flatten().filter_map(|name| name.as_str()).collect();
    html! {
        @if job.table.get("columns").is_some() {
            p { "Is it not what you meant? Cancel this job, and upload the table again with the name of the right column."
                @if !names.is_empty() {
                    " It has the columns "
                    @for (at, name) in names.iter().enumerate() { @if at > 0 { ", " } (text(name)) }
                    "."
                } }
        }
    }
}
