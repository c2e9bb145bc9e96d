//! Sign up, sign in, sign out, and one-time links.

use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::extract::{Anyone, PostedForm};
use super::frame::{PageError, notice, page, proof};
use super::visitor::Visitor;
use crate::accounts::{AccountError, LinkKind, SecretToken};
use crate::web::Web;

#[derive(Deserialize)]
pub(crate) struct Credentials {
    #[serde(default)]
    email: String,
    password: String,
}

/// A form of an address and a password, with what was said to it the last time.
struct CredentialsForm<'a> {
    title: &'a str,
    action: &'a str,
    button: &'a str,
    /// A new password is remembered by the browser as such.
    is_new: bool,
    asks_email: bool,
    about: Markup,
    said: Option<String>,
}

impl CredentialsForm<'_> {
    fn page(&self, visitor: &Visitor) -> Html<String> {
        let kept = if self.is_new { "new-password" } else { "current-password" };
        let main = html! {
            h1 { (self.title) }
            (self.about)
            @if let Some(said) = &self.said { (notice("bad", said)) }
            form.stack method="post" action=(self.action) {
                (proof(visitor))
                @if self.asks_email {
                    label { "E-mail" input type="email" name="email" autocomplete="username" maxlength="254" required autofocus; }
                }
                label { "Password" input type="password" name="password" autocomplete=(kept) minlength=[self.is_new.then_some(10)] maxlength="256" required; }
                @if self.is_new { p.hint { "At least 10 characters. A few words that you remember do well." } }
                button { (self.button) }
            }
        };
        page(visitor, self.title, main)
    }
}

/// What a person can do about it; it never says which of address and password was wrong.
pub(crate) fn account_sentence(error: AccountError) -> Result<String, PageError> {
    match error {
        AccountError::Invalid(words) => Ok(words.to_owned()),
        AccountError::Wrong => Ok("The e-mail or the password is wrong.".to_owned()),
        AccountError::Closed => Ok("Sign-up is off on this service. Ask its operator for an account.".to_owned()),
        error @ (AccountError::TooMany { .. } | AccountError::Store(_)) => Err(error.into()),
    }
}

/// Signs in, and ends the session that this browser had before: its cookie is overwritten.
async fn entered(web: &Web, visitor: &Visitor, token: &SecretToken) -> Result<Response, PageError> {
    if visitor.person.is_some() {
        web.app.accounts.sign_out(visitor.token()).await?;
    }
    let mut response = Redirect::to("/account").into_response();
    response.headers_mut().append(header::SET_COOKIE, visitor.session_cookie(Some(token)));
    Ok(response)
}

fn sign_up_form(said: Option<String>) -> CredentialsForm<'static> {
    let about = html! {
        p { "An account holds your API keys, your pool and your review queue. The free tier needs no card. Have one already? " a href="/sign-in" { "Sign in" } "." }
    };
    CredentialsForm {
        title: "Sign up",
        action: "/sign-up",
        button: "Make the account",
        is_new: true,
        asks_email: true,
        about,
        said,
    }
}

fn sign_in_form(said: Option<String>, is_made: bool) -> CredentialsForm<'static> {
    let about = html! {
        @if is_made {
            (notice("good", "If nobody had that address yet, the account stands now. Sign in with it."))
        }
        p { "No account yet? " a href="/sign-up" { "Sign up" } "." }
    };
    CredentialsForm {
        title: "Sign in",
        action: "/sign-in",
        button: "Sign in",
        is_new: false,
        asks_email: true,
        about,
        said,
    }
}

pub(crate) async fn sign_up(State(web): State<Web>, Anyone(visitor): Anyone) -> Result<Html<String>, PageError> {
    let said =
        (!web.app.accounts.is_sign_up_open().await?).then(|| account_sentence(AccountError::Closed)).transpose()?;
    Ok(sign_up_form(said).page(&visitor))
}

pub(crate) async fn make(
    State(web): State<Web>,
    Anyone(visitor): Anyone,
    PostedForm(form): PostedForm<Credentials>,
) -> Result<Html<String>, PageError> {
    // The same page whether the address was free or taken: nobody learns who has an account.
    match web.app.accounts.sign_up(&visitor.address, &form.email, &form.password).await {
        Ok(()) => Ok(sign_in_form(None, true).page(&visitor)),
        Err(error) => Ok(sign_up_form(Some(account_sentence(error)?)).page(&visitor)),
    }
}

pub(crate) async fn sign_in(Anyone(visitor): Anyone) -> Response {
    if visitor.person.is_some() {
        return Redirect::to("/account").into_response();
    }
    sign_in_form(None, false).page(&visitor).into_response()
}

pub(crate) async fn enter(
    State(web): State<Web>,
    Anyone(visitor): Anyone,
    PostedForm(form): PostedForm<Credentials>,
) -> Result<Response, PageError> {
    match web.app.accounts.sign_in(&visitor.address, &form.email, &form.password).await {
        Ok(token) => entered(&web, &visitor, &token).await,
        Err(error) => Ok(sign_in_form(Some(account_sentence(error)?), false).page(&visitor).into_response()),
    }
}

#[derive(Deserialize)]
pub(crate) struct Nothing {}

pub(crate) async fn leave(
    State(web): State<Web>,
    Anyone(visitor): Anyone,
    PostedForm(Nothing {}): PostedForm<Nothing>,
) -> Result<Response, PageError> {
    web.app.accounts.sign_out(visitor.token()).await?;
    Ok(left(&visitor))
}

/// Signs out and redirects to the first page.
pub(crate) fn left(visitor: &Visitor) -> Response {
    let mut response = Redirect::to("/").into_response();
    response.headers_mut().append(header::SET_COOKIE, visitor.session_cookie(None));
    response
}

fn link_form(action: &str, asks_email: bool, said: Option<String>) -> CredentialsForm<'_> {
    let about = if asks_email {
        html! { p { "This link makes the account that operates this service. It works once." } }
    } else {
        html! { p { "This link sets the password of your account. It works once, and signs you out everywhere else." } }
    };
    CredentialsForm { title: "Your account", action, button: "Go on", is_new: true, asks_email, about, said }
}

/// Whether the form asks for an address: a password link already names its owner.
async fn asks_email(web: &Web, token: &str) -> Result<bool, PageError> {
    match web.app.accounts.link_kind(token).await? {
        Some(LinkKind::Operator) => Ok(true),
        Some(LinkKind::Password { .. }) => Ok(false),
        None => Err(PageError::NotFound),
    }
}

pub(crate) async fn link(
    State(web): State<Web>,
    Anyone(visitor): Anyone,
    Path(token): Path<String>,
) -> Result<Html<String>, PageError> {
    let asks_email = asks_email(&web, &token).await?;
    Ok(link_form(&format!("/link/{token}"), asks_email, None).page(&visitor))
}

pub(crate) async fn take(
    State(web): State<Web>,
    Anyone(visitor): Anyone,
    Path(token): Path<String>,
    PostedForm(form): PostedForm<Credentials>,
) -> Result<Response, PageError> {
    let asks_email = asks_email(&web, &token).await?;
    match web.app.accounts.take_link(&visitor.address, &token, &form.email, &form.password).await {
        Ok(session) => entered(&web, &visitor, &session).await,
        Err(error) => Ok(link_form(&format!("/link/{token}"), asks_email, Some(account_sentence(error)?))
            .page(&visitor)
            .into_response()),
    }
}
