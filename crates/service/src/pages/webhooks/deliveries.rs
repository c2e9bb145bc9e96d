//! One message: what was sent, how it fared, and a button that sends it again.

use axum::extract::{Path, State};
use axum::response::{Html, Redirect};
use maud::{Markup, html};

use crate::pages::extract::{PostedForm, SignedIn};
use crate::pages::frame::{PageError, page, proof, sentence};
use crate::pages::parts::{badge, harmless, when};
use crate::pages::sign_in::Nothing;
use crate::store::{DeliveryRow, DeliveryState};
use crate::web::Web;

/// Characters of a message that are shown: more than any has.
const PAYLOAD_CHARS_MAX: usize = 10_000;

fn is(row: &DeliveryRow, state: DeliveryState) -> bool {
    row.state == state.name()
}

pub(super) fn state(row: &DeliveryRow) -> Markup {
    if is(row, DeliveryState::Delivered) {
        badge("non_taxable", "Delivered")
    } else if is(row, DeliveryState::Waiting) {
        badge("needs_review", "Waiting")
    } else {
        badge("alarm", "Given up")
    }
}

/// Of the last attempt.
pub(super) fn answer(row: &DeliveryRow) -> Markup {
    html! { @match (&row.failure, row.status) {
        (Some(failure), _) => (sentence(failure)),
        (None, Some(status)) => (status),
        (None, None) => span.quiet { "none yet" },
    } }
}

pub(super) fn next(row: &DeliveryRow) -> Markup {
    html! { @if is(row, DeliveryState::Waiting) { (when(row.due_at)) } @else { span.quiet { "none" } } }
}

pub(crate) async fn delivery(
    State(web): State<Web>,
    SignedIn { visitor, person }: SignedIn,
    Path(id): Path<String>,
) -> Result<Html<String>, PageError> {
    let row = web.app.webhook_delivery(&person.owner_id, &id).await?;
    let main = html! {
        p { a href={ "/webhooks/" (row.endpoint_id) } { "The webhook" } }
        h1 { "A message" }
        p { code { (row.kind) } " " (state(&row)) }
        dl.facts {
            dt { "Id" } dd { code { (row.id) } }
            dt { "Made" } dd { (when(row.created_at)) }
            dt { "Attempts" } dd { (row.attempts) }
            @if let Some(at) = row.tried_at { dt { "Last attempt" } dd { (when(at)) } }
            dt { "Last answer" } dd { (answer(&row)) }
            @if is(&row, DeliveryState::Waiting) { dt { "Next attempt" } dd { (next(&row)) } }
        }
        @if is(&row, DeliveryState::Waiting) { p { a href={ "/deliveries/" (row.id) } { "Look again how it fares" } } }
        section aria-labelledby="payload" {
            h2 id="payload" { "What is sent" }
            pre tabindex="0" { code { bdi.stranger { (harmless(&row.payload, PAYLOAD_CHARS_MAX)) } } }
        }
        form method="post" action={ "/deliveries/" (row.id) "/again" } {
            (proof(&visitor))
            button { "Send it again" }
        }
        p.hint { "It is sent under the same id, so that a receiver who has it can tell." }
    };
    Ok(page(&visitor, "A message", main))
}

pub(crate) async fn again(
    State(web): State<Web>,
    SignedIn { person, .. }: SignedIn,
    Path(id): Path<String>,
    PostedForm(Nothing {}): PostedForm<Nothing>,
) -> Result<Redirect, PageError> {
    web.app.redeliver_webhook(&person.owner_id, &id).await?;
    Ok(Redirect::to(&format!("/deliveries/{id}")))
}
