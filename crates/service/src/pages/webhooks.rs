//! Webhooks: where a person is told of events, with a secret that is shown once, a test, and what was sent.

mod deliveries;

use std::collections::BTreeMap;

use axum::extract::{Path, Query, State};
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::extract::{PostedForm, SignedIn};
use super::frame::{PageError, notice, page, proof, sentence};
use super::parts::{badge, harmless, when};
use super::sign_in::Nothing;
use super::visitor::Visitor;
use crate::app::{DeliveryList, ENDPOINTS_MAX, ShownSecret};
use crate::error::ApiError;
use crate::store::{EndpointRow, EventKind};
use crate::web::Web;
pub(crate) use deliveries::{again, delivery};

/// Characters of an address that are shown: all of them.
const URL_CHARS_MAX: usize = 2_000;

/// Names of fields to what they hold. Events are boxes of which a browser sends those that are ticked.
type Fields = BTreeMap<String, String>;

fn ticked(fields: &Fields) -> Vec<EventKind> {
    EventKind::CHOSEN.into_iter().filter(|kind| fields.contains_key(kind.name())).collect()
}

pub(crate) async fn list(State(web): State<Web>, signed_in: SignedIn) -> Result<Html<String>, PageError> {
    shown(&web, &signed_in, "", &EventKind::CHOSEN, None).await
}

async fn shown(
    web: &Web,
    SignedIn { visitor, person }: &SignedIn,
    url: &str,
    events: &[EventKind],
    said: Option<&ApiError>,
) -> Result<Html<String>, PageError> {
    let endpoints = web.app.webhooks(&person.owner_id).await?;
    let is_full = i64::try_from(endpoints.len()).is_ok_and(|count| count >= ENDPOINTS_MAX);
    let main = html! {
        h1 { "Webhooks" }
        p { "When something happens, a message is posted to an address of yours, signed with a secret that only you and this service know. "
            a href="/docs/webhooks" { "How webhooks work" } "." }
        @if let Some(error) = said { (notice("bad", &sentence(error))) }
        section aria-labelledby="add" {
            h2 id="add" { "Add a webhook" }
            @if is_full { p { "You have " (ENDPOINTS_MAX) " webhooks, which is as many as there may be. Remove one to add another." } }
            @else {
                form.stack method="post" action="/webhooks" {
                    (proof(visitor))
                    label { "Address that takes the messages" input name="url" type="url" value=(harmless(url, URL_CHARS_MAX)) maxlength=(URL_CHARS_MAX) placeholder="https://example.com/hooks/taxon" required autocomplete="off" spellcheck="false"; }
                    (boxes(|kind| events.contains(&kind)))
                    button { "Add webhook" }
                }
            }
        }
        section aria-labelledby="all" {
            h2 id="all" { "Your webhooks" }
            @if endpoints.is_empty() { p { "Nothing here yet." } }
            ul.jobs { @for endpoint in &endpoints { li {
                p { a href={ "/webhooks/" (endpoint.id) } { (address(endpoint)) } " " (state(endpoint)) }
                p.hint { (endpoint.events.replace(' ', ", ")) }
            } } }
        }
    };
    Ok(page(visitor, "Webhooks", main))
}

fn boxes(is_ticked: impl Fn(EventKind) -> bool) -> Markup {
    html! {
        @for kind in EventKind::CHOSEN {
            label.check { input type="checkbox" name=(kind.name()) value="yes" checked[is_ticked(kind)]; " " code { (kind.name()) } ": " (kind.about()) }
        }
    }
}

fn address(endpoint: &EndpointRow) -> Markup {
    html! { bdi.stranger { (harmless(&endpoint.url, URL_CHARS_MAX)) } }
}

fn state(endpoint: &EndpointRow) -> Markup {
    if endpoint.disabled_at.is_some() { badge("alarm", "Disabled") } else { badge("non_taxable", "Enabled") }
}

pub(crate) async fn create(
    State(web): State<Web>,
    signed_in: SignedIn,
    PostedForm(fields): PostedForm<Fields>,
) -> Result<Response, PageError> {
    let url = fields.get("url").ok_or(PageError::Form)?.trim();
    let events = ticked(&fields);
    match web.app.create_webhook(&signed_in.person.owner_id, url, &events).await {
        Ok(secret) => Ok(one(&web, &signed_in, &secret.endpoint_id, None, Some(&secret)).await?.into_response()),
        Err(error @ ApiError::InvalidRequest(_)) => {
            let page = shown(&web, &signed_in, url, &events, Some(&error)).await?;
            Ok((error.status(), page).into_response())
        }
        Err(error) => Err(error.into()),
    }
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct DeliveriesQuery {
    /// The number before which the page of messages begins.
    before: Option<String>,
}

pub(crate) async fn endpoint(
    State(web): State<Web>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    Query(wanted): Query<DeliveriesQuery>,
) -> Result<Html<String>, PageError> {
    let before = wanted.before.map(|text| text.parse()).transpose().map_err(|_| PageError::NotFound)?;
    one(&web, &signed_in, &id, before, None).await
}

/// One webhook; with its secret, where it was made just now.
async fn one(
    web: &Web,
    SignedIn { visitor, person }: &SignedIn,
    id: &str,
    before: Option<i64>,
    secret: Option<&ShownSecret>,
) -> Result<Html<String>, PageError> {
    let endpoint = web.app.webhook(&person.owner_id, id).await?;
    let list = web.app.webhook_deliveries(id, before).await?;
    let main = html! {
        p { a href="/webhooks" { "All webhooks" } }
        h1 { "A webhook" }
        p { (address(&endpoint)) " " (state(&endpoint)) }
        @if let Some(secret) = secret { (fresh(secret)) }
        (disabled(visitor, &endpoint))
        section aria-labelledby="deliveries" {
            h2 id="deliveries" { "Messages" }
            form method="post" action={ "/webhooks/" (endpoint.id) "/test" } { (proof(visitor)) button { "Send a test event" } }
            (sent(&endpoint, &list, before.is_some()))
        }
        section aria-labelledby="events" {
            h2 id="events" { "Events" }
            form.stack method="post" action={ "/webhooks/" (endpoint.id) "/events" } {
                (proof(visitor))
                (boxes(|kind| endpoint.wants(kind)))
                button { "Save events" }
            }
        }
        section aria-labelledby="secret" {
            h2 id="secret" { "Secret" }
            @if let Some(until) = endpoint.old_secret_until { p { "The secret before this one signs too until " (when(until)) "." } }
            p { "A new secret is shown once. For 24 hours messages carry a signature of the old one too, so that you can change over without losing any." }
            form method="post" action={ "/webhooks/" (endpoint.id) "/rotate" } { (proof(visitor)) button { "Make a new secret" } }
        }
        section aria-labelledby="end" {
            h2 id="end" { "Remove" }
            p { a href={ "/webhooks/" (endpoint.id) "/remove" } { "Remove this webhook" } ", with everything that was sent to it." }
        }
    };
    Ok(page(visitor, "A webhook", main))
}

fn fresh(secret: &ShownSecret) -> Markup {
    html! {
        div.notice.good role="alert" {
            p { "This is the secret. It is shown this once: copy it now, and give it to what verifies the messages." }
            p { code id="new-secret" { (secret.text) } " " button type="button" data-copy=(secret.text) { "Copy" } }
        }
    }
}

fn disabled(visitor: &Visitor, endpoint: &EndpointRow) -> Markup {
    html! { @if let Some(at) = endpoint.disabled_at {
        div.notice.bad {
            p { "Nothing is sent to this webhook since " (when(at)) @if let Some(reason) = &endpoint.disabled_reason { ": " (reason) } "." }
            form method="post" action={ "/webhooks/" (endpoint.id) "/enable" } { (proof(visitor)) button { "Enable it again" } }
        }
    } }
}

fn sent(endpoint: &EndpointRow, list: &DeliveryList, is_older: bool) -> Markup {
    html! {
        @if list.deliveries.is_empty() { p { "Nothing was sent" @if !is_older { " yet" } "." } }
        @else {
            div.wide { table {
                thead { tr { th { "When" } th { "Event" } th { "State" } th { "Attempts" } th { "Last answer" } th { "Next attempt" } } }
                tbody { @for row in &list.deliveries { tr {
                    td { (when(row.created_at)) }
                    td { a href={ "/deliveries/" (row.id) } { (row.kind) } }
                    td { (deliveries::state(row)) }
                    td { (row.attempts) }
                    td { (deliveries::answer(row)) }
                    td { (deliveries::next(row)) }
                } } }
            } }
        }
        @if is_older { p { a href={ "/webhooks/" (endpoint.id) } { "The newest" } } }
        @if let Some(next) = list.next { p { a href={ "/webhooks/" (endpoint.id) "?before=" (next) } { "Older messages" } } }
        p.hint { "Messages are kept for 30 days." }
    }
}

fn to(id: &str) -> Redirect {
    Redirect::to(&format!("/webhooks/{id}"))
}

pub(crate) async fn choose_events(
    State(web): State<Web>,
    SignedIn { person, .. }: SignedIn,
    Path(id): Path<String>,
    PostedForm(fields): PostedForm<Fields>,
) -> Result<Redirect, PageError> {
    web.app.choose_webhook_events(&person.owner_id, &id, &ticked(&fields)).await?;
    Ok(to(&id))
}

pub(crate) async fn rotate(
    State(web): State<Web>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    PostedForm(Nothing {}): PostedForm<Nothing>,
) -> Result<Html<String>, PageError> {
    let secret = web.app.rotate_webhook_secret(&signed_in.person.owner_id, &id).await?;
    one(&web, &signed_in, &id, None, Some(&secret)).await
}

pub(crate) async fn enable(
    State(web): State<Web>,
    SignedIn { person, .. }: SignedIn,
    Path(id): Path<String>,
    PostedForm(Nothing {}): PostedForm<Nothing>,
) -> Result<Redirect, PageError> {
    web.app.enable_webhook(&person.owner_id, &id).await?;
    Ok(to(&id))
}

pub(crate) async fn test(
    State(web): State<Web>,
    SignedIn { person, .. }: SignedIn,
    Path(id): Path<String>,
    PostedForm(Nothing {}): PostedForm<Nothing>,
) -> Result<Redirect, PageError> {
    let message = web.app.test_webhook(&person.owner_id, &id).await?;
    Ok(Redirect::to(&format!("/deliveries/{message}")))
}

pub(crate) async fn confirm_remove(
    State(web): State<Web>,
    SignedIn { visitor, person }: SignedIn,
    Path(id): Path<String>,
) -> Result<Html<String>, PageError> {
    let endpoint = web.app.webhook(&person.owner_id, &id).await?;
    let main = html! {
        h1 { "Remove a webhook" }
        p { "Nothing more is sent to " (address(&endpoint)) ". What was sent, and what still waits, is deleted." }
        form.row method="post" action={ "/webhooks/" (endpoint.id) "/remove" } {
            (proof(&visitor))
            button.danger { "Remove it" }
            a href={ "/webhooks/" (endpoint.id) } { "Keep it" }
        }
    };
    Ok(page(&visitor, "Remove a webhook", main))
}

pub(crate) async fn remove(
    State(web): State<Web>,
    SignedIn { person, .. }: SignedIn,
    Path(id): Path<String>,
    PostedForm(Nothing {}): PostedForm<Nothing>,
) -> Result<Redirect, PageError> {
    web.app.remove_webhook(&person.owner_id, &id).await?;
    Ok(Redirect::to("/webhooks"))
}
