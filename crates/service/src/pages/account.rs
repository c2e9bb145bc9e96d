//! Account settings: API keys, password, sessions, and the end of an account.

use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::extract::{PostedForm, SignedIn};
use super::frame::{PageError, notice, page, proof};
use super::parts::{day, harmless, when};
use super::sign_in::{Nothing, account_sentence, left};
use super::visitor::Visitor;
use crate::auth::KeyError;
use crate::store::Key;
use crate::web::Web;

/// A swap on the demo chain.
const SAMPLE: &str = "0x4269acca4df0873843feda1b6ecc1aaececfe3e9b7284969c47bc3e73874a109";

/// Characters of an e-mail address, and of a key's name, that are shown: all of them.
const ADDRESS_CHARS_MAX: usize = 254;
const NAME_CHARS_MAX: usize = 200;

/// What was said to the last form.
#[derive(Default)]
struct Said {
    /// A key, shown this once.
    key: Option<String>,
    good: Option<&'static str>,
    bad: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct SettingsQuery {
    #[serde(default)]
    done: String,
}

pub(crate) async fn settings(
    State(web): State<Web>,
    signed_in: SignedIn,
    Query(SettingsQuery { done }): Query<SettingsQuery>,
) -> Result<Html<String>, PageError> {
    let good = (done == "password").then_some("The password is changed, and every other session has ended.");
    shown(&web, &signed_in, Said { good, ..Said::default() }).await
}

async fn shown(web: &Web, signed_in: &SignedIn, said: Said) -> Result<Html<String>, PageError> {
    let SignedIn { visitor, person } = signed_in;
    let keys = web.app.accounts.keys(person).await?;
    let main = html! {
        h1 { "Account settings" }
        p { "Signed in as " strong { bdi.stranger { (harmless(&person.email, ADDRESS_CHARS_MAX)) } } @if person.is_operator { ", who operates this service" } "." }
        @if let Some(words) = said.good { (notice("good", words)) }
        @if let Some(words) = &said.bad { (notice("bad", words)) }
        section aria-labelledby="keys" {
            h2 id="keys" { "API keys" }
            @if let Some(key) = &said.key { (fresh(visitor, key, web.app.reader.served_slugs().iter().any(|slug| slug == "demo"))) }
            form.row method="post" action="/account/keys" {
                (proof(visitor))
                label { "Name of a new key" input name="name" maxlength="200" placeholder="ledger import" autocomplete="off"; }
                button { "Create key" }
            }
            (key_table(visitor, &keys))
            p.hint { "One key works for the API and for agents. Send it as " code { "Authorization: Bearer <key>" } ". " a href="/docs/quickstart" { "Quickstart" } "." }
        }
        section aria-labelledby="webhooks" {
            h2 id="webhooks" { "Webhooks" }
            p { a href="/webhooks" { "Your webhooks" } ": be told when a job has ended, the pool runs low, or a verdict has moved." }
        }
        section aria-labelledby="password" {
            h2 id="password" { "Password" }
            form.stack method="post" action="/account/password" {
                (proof(visitor))
                // Tells a password manager whose password this is.
                input type="hidden" name="username" autocomplete="username" value=(person.email);
                label { "Password now" input type="password" name="old" autocomplete="current-password" maxlength="256" required; }
                label { "New password" input type="password" name="new" autocomplete="new-password" minlength="10" maxlength="256" required; }
                button { "Change password" }
            }
        }
        section aria-labelledby="sessions" {
            h2 id="sessions" { "Sessions" }
            form method="post" action="/account/sign-out-everywhere" {
                (proof(visitor))
                button { "Sign out everywhere" }
            }
        }
        section aria-labelledby="end" {
            h2 id="end" { "Delete the account" }
            p { a href="/account/delete" { "Delete this account" } ": keys stop working, and your address, names and review notes are erased." }
        }
    };
    Ok(page(visitor, "Account settings", main))
}

fn fresh(visitor: &Visitor, key: &str, has_demo: bool) -> Markup {
    let call = format!(
        "curl -s {}/v1/classify -H 'authorization: Bearer {key}' -H 'content-type: application/json' \\\n  -d '{{\"hash\":\"{}\"}}'",
        visitor.origin(),
        if has_demo { SAMPLE } else { "0x…" }
    );
    html! {
        div.notice.good role="alert" {
            p { "This is the key. It is shown this once and stored nowhere: copy it now." }
            p { code id="new-key" { (key) } " " button type="button" data-copy=(key) { "Copy" } }
            p { "A first call with it:" }
            pre tabindex="0" { code { (call) } }
        }
    }
}

fn key_table(visitor: &Visitor, keys: &[Key]) -> Markup {
    if keys.is_empty() {
        return html! { p { "You have no key yet." } };
    }
    html! {
        div.wide { table {
            thead { tr { th { "Name" } th { "Key" } th { "Created" } th { "Last used" } th { span.offstage { "Revoke" } } } }
            tbody { @for key in keys { tr {
                td {
                    @if key.revoked_at.is_some() { bdi.stranger { (harmless(&key.name, NAME_CHARS_MAX)) } } @else {
                        form.row method="post" action={ "/account/keys/" (key.id) "/name" } {
                            (proof(visitor))
                            input name="name" value=(harmless(&key.name, NAME_CHARS_MAX)) maxlength="200" autocomplete="off" aria-label={ "Name of key " (key.id) };
                            button.plain { "Rename" }
                        }
                    }
                }
                td { code { "txn_" (key.id) "_…" } }
                td { (day(key.created_at)) }
                td { @if let Some(at) = key.last_used_at { (when(at.saturating_mul(1_000))) } @else { "never" } }
                td { @match key.revoked_at {
                    Some(at) => { "revoked " (day(at)) }
                    None => a href={ "/account/keys/" (key.id) "/revoke" } { "Revoke" },
                } }
            } } }
        } }
    }
}

#[derive(Deserialize)]
pub(crate) struct KeyNameForm {
    #[serde(default)]
    name: String,
}

pub(crate) async fn create_key(
    State(web): State<Web>,
    signed_in: SignedIn,
    PostedForm(form): PostedForm<KeyNameForm>,
) -> Result<Html<String>, PageError> {
    let said = match web.app.accounts.create_key(&signed_in.person, form.name.trim()).await {
        Ok(key) => Said { key: Some(key), ..Said::default() },
        Err(error) => Said { bad: Some(key_sentence(error)?), ..Said::default() },
    };
    shown(&web, &signed_in, said).await
}

fn key_sentence(error: KeyError) -> Result<String, PageError> {
    match error {
        KeyError::Store(error) => Err(error.into()),
        other => Ok(format!("That did not work: {other}.")),
    }
}

pub(crate) async fn rename_key(
    State(web): State<Web>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    PostedForm(form): PostedForm<KeyNameForm>,
) -> Result<Response, PageError> {
    match web.app.accounts.rename_key(&signed_in.person, &id, form.name.trim()).await {
        Ok(true) => Ok(Redirect::to("/account").into_response()),
        Ok(false) => Err(PageError::NotFound),
        Err(error) => {
            let said = Said { bad: Some(key_sentence(error)?), ..Said::default() };
            Ok(shown(&web, &signed_in, said).await?.into_response())
        }
    }
}

pub(crate) async fn confirm_revoke(
    State(web): State<Web>,
    SignedIn { visitor, person }: SignedIn,
    Path(id): Path<String>,
) -> Result<Html<String>, PageError> {
    let keys = web.app.accounts.keys(&person).await?;
    let key = keys.iter().find(|key| key.id == id && key.revoked_at.is_none()).ok_or(PageError::NotFound)?;
    let main = html! {
        h1 { "Revoke a key" }
        p { "The key " code { "txn_" (key.id) "_…" } @if !key.name.is_empty() { " (" bdi.stranger { (harmless(&key.name, NAME_CHARS_MAX)) } ")" } " stops working within a second, for good." }
        form.row method="post" action={ "/account/keys/" (key.id) "/revoke" } {
            (proof(&visitor))
            button.danger { "Revoke it" }
            a href="/account" { "Keep it" }
        }
    };
    Ok(page(&visitor, "Revoke a key", main))
}

pub(crate) async fn revoke_key(
    State(web): State<Web>,
    SignedIn { person, .. }: SignedIn,
    Path(id): Path<String>,
    PostedForm(Nothing {}): PostedForm<Nothing>,
) -> Result<Redirect, PageError> {
    if web.app.accounts.revoke_key(&person, &id).await? {
        Ok(Redirect::to("/account"))
    } else {
        Err(PageError::NotFound)
    }
}

#[derive(Deserialize)]
pub(crate) struct PasswordsForm {
    old: String,
    new: String,
}

pub(crate) async fn change_password(
    State(web): State<Web>,
    signed_in: SignedIn,
    PostedForm(form): PostedForm<PasswordsForm>,
) -> Result<Response, PageError> {
    let SignedIn { visitor, person } = &signed_in;
    match web.app.accounts.change_password(&visitor.address, person, &form.old, &form.new).await {
        Ok(token) => {
            let mut response = Redirect::to("/account?done=password").into_response();
            response.headers_mut().append(header::SET_COOKIE, visitor.session_cookie(Some(&token)));
            Ok(response)
        }
        Err(error) => {
            let said = Said { bad: Some(account_sentence(error)?), ..Said::default() };
            Ok(shown(&web, &signed_in, said).await?.into_response())
        }
    }
}

pub(crate) async fn sign_out_everywhere(
    State(web): State<Web>,
    SignedIn { visitor, person }: SignedIn,
    PostedForm(Nothing {}): PostedForm<Nothing>,
) -> Result<Response, PageError> {
    web.app.accounts.sign_out_everywhere(&person).await?;
    Ok(left(&visitor))
}

fn delete_form(visitor: &Visitor, said: Option<&str>) -> Html<String> {
    let main = html! {
        h1 { "Delete the account" }
        ul {
            li { "Every key stops working." }
            li { "Your e-mail address, the names of your keys, your books, jobs, decisions and webhooks are erased. What you decided in books of others stays there, without your address." }
            li { "What was counted stays in the ledger under a random number, without your address." }
        }
        p { "This cannot be undone." }
        @if let Some(said) = said { (notice("bad", said)) }
        form.stack method="post" action="/account/delete" {
            (proof(visitor))
            label { "Password" input type="password" name="password" autocomplete="current-password" maxlength="256" required; }
            button.danger { "Delete my account" }
            a href="/account" { "Keep it" }
        }
    };
    page(visitor, "Delete the account", main)
}

pub(crate) async fn confirm_delete(SignedIn { visitor, .. }: SignedIn) -> Html<String> {
    delete_form(&visitor, None)
}

#[derive(Deserialize)]
pub(crate) struct PasswordForm {
    password: String,
}

pub(crate) async fn delete(
    State(web): State<Web>,
    SignedIn { visitor, person }: SignedIn,
    PostedForm(form): PostedForm<PasswordForm>,
) -> Result<Response, PageError> {
    match web.app.accounts.delete(&visitor.address, &person, &form.password).await {
        Ok(()) => Ok(left(&visitor)),
        Err(error) => Ok(delete_form(&visitor, Some(&account_sentence(error)?)).into_response()),
    }
}
