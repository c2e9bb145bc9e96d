//! For whoever operates the service: who has an account or a key, tiers and pools, and whether strangers may sign up.

use axum::extract::{Path, Query, State};
use axum::response::{Html, Redirect};
use clap::ValueEnum;
use maud::{Markup, html};
use serde::Deserialize;

use super::extract::{PostedForm, SignedIn};
use super::frame::{PageError, page, proof};
use super::parts::{day, harmless};
use super::sign_in::Nothing;
use super::visitor::Visitor;
use crate::accounts::{Operator, OwnerRow};
use crate::auth::Tier;
use crate::web::Web;

const ROWS: i64 = 100;
/// Characters of an e-mail address that are shown.
const ADDRESS_CHARS_MAX: usize = 254;

/// For anybody else there is no such page.
fn operator(signed_in: &SignedIn) -> Result<Operator, PageError> {
    signed_in.person.operator().ok_or(PageError::NotFound)
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct OperatorQuery {
    after: Option<String>,
}

pub(crate) async fn page_handler(
    State(web): State<Web>,
    signed_in: SignedIn,
    Query(wanted): Query<OperatorQuery>,
) -> Result<Html<String>, PageError> {
    let operator = operator(&signed_in)?;
    let visitor = &signed_in.visitor;
    let owners = web.app.accounts.owners(&operator, wanted.after.as_deref(), ROWS).await?;
    let is_open = web.app.accounts.is_sign_up_open().await?;
    let next = owners.last().filter(|_| owners.len() >= usize::try_from(ROWS).unwrap_or(usize::MAX));
    let main = html! {
        h1 { "Operator" }
        section aria-labelledby="sign-up" {
            h2 id="sign-up" { "Sign-up" }
            form.row method="post" action="/operator/sign-up" {
                (proof(visitor))
                input type="hidden" name="open" value=(if is_open { "no" } else { "yes" });
                span { "Sign-up is " strong { @if is_open { "on" } @else { "off" } } "." }
                button { @if is_open { "Switch it off" } @else { "Switch it on" } }
            }
        }
        section aria-labelledby="owners" {
            h2 id="owners" { "Owners" }
            div.wide { table {
                thead { tr { th { "Owner" } th { "Since" } th { "Used this month" } th { "Keys" } th { "Tier and pool" } th { span.offstage { "Revoke" } } } }
                tbody { @for owner in &owners { (row(visitor, owner)) } }
            } }
            @if let Some(last) = next {
                @let query = serde_urlencoded::to_string([("after", &last.email)]).unwrap_or_default();
                p { a href={ "/operator?" (query) } { "More" } }
            }
        }
    };
    Ok(page(visitor, "Operator", main))
}

/// Strangers choose their addresses, which are shown as strangers' text.
fn row(visitor: &Visitor, owner: &OwnerRow) -> Markup {
    let named = harmless(&owner.email, ADDRESS_CHARS_MAX);
    html! {
        tr {
            td { bdi.stranger { (named) } @if owner.is_operator { " (operator)" } @else if !owner.has_account { " (no account)" } @else if owner.is_unproved { " (not confirmed)" } }
            td { (day(owner.created_at)) }
            td { (owner.used) }
            td { (owner.keys) }
            td { @if owner.is_unproved {
                "Confirm the address first: " code { "taxon accounts link" }
            } @else {
                form.row method="post" action={ "/operator/owners/" (owner.id) "/tier" } {
                    (proof(visitor))
                    select name="tier" aria-label={ "Tier of " (named) } {
                        @for tier in pooled() { option value=(tier.name()) selected[owner.tier == tier.name()] { (tier.name()) } }
                    }
                    input name="pool" inputmode="numeric" pattern="[0-9]*" value=[owner.pool] placeholder="tier's own" aria-label={ "Pool of " (named) };
                    button.plain { "Set" }
                }
            } }
            td {
                form method="post" action={ "/operator/owners/" (owner.id) "/revoke" } {
                    (proof(visitor))
                    button.plain.danger disabled[owner.keys == 0] { "Revoke all keys" }
                }
            }
        }
    }
}

/// A partner is a kind of key, not of owner.
fn pooled() -> impl Iterator<Item = Tier> {
    Tier::value_variants().iter().copied().filter(|tier| *tier != Tier::Partner)
}

#[derive(Debug, Deserialize)]
pub(crate) struct SignUp {
    open: String,
}

pub(crate) async fn set_sign_up(
    State(web): State<Web>,
    signed_in: SignedIn,
    PostedForm(form): PostedForm<SignUp>,
) -> Result<Redirect, PageError> {
    web.app.accounts.set_sign_up(&operator(&signed_in)?, form.open == "yes").await?;
    Ok(Redirect::to("/operator"))
}

#[derive(Debug, Deserialize)]
pub(crate) struct NewTier {
    tier: String,
    #[serde(default)]
    pool: String,
}

pub(crate) async fn set_tier(
    State(web): State<Web>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    PostedForm(form): PostedForm<NewTier>,
) -> Result<Redirect, PageError> {
    let operator = operator(&signed_in)?;
    let tier = pooled().find(|tier| tier.name() == form.tier).ok_or(PageError::Form)?;
    let pool = match form.pool.trim() {
        "" => None,
        text => Some(text.parse::<u32>().map_err(|_| PageError::Form)?.into()),
    };
    let is_there = web.app.accounts.set_tier(&operator, &id, tier, pool).await?;
    if is_there { Ok(Redirect::to("/operator")) } else { Err(PageError::NotFound) }
}

pub(crate) async fn revoke(
    State(web): State<Web>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    PostedForm(Nothing {}): PostedForm<Nothing>,
) -> Result<Redirect, PageError> {
    web.app.accounts.revoke_all(&operator(&signed_in)?, &id).await?;
    Ok(Redirect::to("/operator"))
}
