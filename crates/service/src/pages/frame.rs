//! What surrounds every page of the dashboard, and the page that says what went wrong.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};

use super::visitor::Visitor;
use crate::accounts::AccountError;
use crate::app::DISCLAIMER;
use crate::error::ApiError;
use crate::store::StoreError;

pub(crate) fn page(visitor: &Visitor, title: &str, main: Markup) -> Html<String> {
    Html(framed(Some(visitor), title, &main).into_string())
}

fn framed(visitor: Option<&Visitor>, title: &str, main: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · taxon" }
                link rel="stylesheet" href="/assets/taxon.css";
                link rel="icon" href="data:,";
                script src="/assets/copy.js" defer {}
            }
            body.app {
                a.skip href="#content" { "Skip to the content" }
                header.top {
                    a.brand href="/" { "taxon" }
                    nav.main aria-label="Main" { (navigation(visitor)) }
                }
                main.page id="content" { (main) }
                footer { p { strong { (DISCLAIMER) } } }
            }
        }
    }
}

fn navigation(visitor: Option<&Visitor>) -> Markup {
    let person = visitor.and_then(|visitor| visitor.person.as_ref());
    html! {
        ul {
            li { a href="/" { "Try it" } }
            @if let Some(person) = person {
                li { a href="/jobs" { "Jobs" } }
                li { a href="/books" { "Books" } }
                li { a href="/readings" { "Readings" } }
                li { a href="/review" { "Review" } }
                li { a href="/usage" { "Usage" } }
                li { a href="/account" { "Account" } }
                @if person.is_operator { li { a href="/operator" { "Operator" } } }
            }
            li { a href="/docs" { "Docs" } }
            @match (visitor, person) {
                (Some(visitor), Some(_)) => li {
                    form method="post" action="/sign-out" { (proof(visitor)) button.plain { "Sign out" } }
                },
                _ => {
                    li { a href="/sign-in" { "Sign in" } }
                    li { a href="/sign-up" { "Sign up" } }
                }
            }
        }
    }
}

/// Part of every form: the CSRF proof.
pub(crate) fn proof(visitor: &Visitor) -> Markup {
    html! { input type="hidden" name="csrf" value=(visitor.csrf()); }
}

/// The message of the last submission, above the form.
pub(crate) fn notice(kind: &str, words: &str) -> Markup {
    html! { p.notice.(kind) role="alert" { (words) } }
}

/// A page that could not be made.
#[derive(Debug)]
pub(crate) enum PageError {
    /// Not a form of ours, or not this person's to do.
    Forbidden,
    /// A form that is too long or lacks a field.
    Form,
    /// A path or query that is no text, or lacks a part.
    Address,
    NotFound,
    Api(ApiError),
}

impl From<ApiError> for PageError {
    fn from(error: ApiError) -> Self {
        Self::Api(error)
    }
}

impl From<StoreError> for PageError {
    fn from(error: StoreError) -> Self {
        Self::Api(error.into())
    }
}

/// Errors that a form can show are shown in the form; the rest become a page.
impl From<AccountError> for PageError {
    fn from(error: AccountError) -> Self {
        match error {
            AccountError::Store(error) => error.into(),
            AccountError::TooMany { seconds } => Self::Api(ApiError::RateLimited { seconds }),
            AccountError::Invalid(_) | AccountError::Wrong | AccountError::Closed => Self::Form,
        }
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let (status, words) = match &self {
            Self::Forbidden => (
                StatusCode::FORBIDDEN,
                "This form has expired or is not yours. Go back, load the page again and retry.".to_owned(),
            ),
            Self::Form => (StatusCode::BAD_REQUEST, "The form could not be read.".to_owned()),
            Self::Address => (StatusCode::BAD_REQUEST, "The address of the page could not be read.".to_owned()),
            Self::NotFound => (StatusCode::NOT_FOUND, "There is no such page.".to_owned()),
            // For people, who send no batches.
            Self::Api(error @ ApiError::RateLimited { seconds }) => {
                (error.status(), format!("Too many tries. Wait {seconds} seconds."))
            }
            Self::Api(error) => (error.status(), sentence(error)),
        };
        let fault = PageFault(words);
        let mut response = (status, fault.page(None)).into_response();
        // The middleware that knows the visitor renders the page again, with that person's navigation.
        response.extensions_mut().insert(fault);
        if let Self::Api(ApiError::RateLimited { seconds }) = self {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// What a page that could not be made says.
#[derive(Debug, Clone)]
pub(crate) struct PageFault(String);

impl PageFault {
    pub(crate) fn page(&self, visitor: Option<&Visitor>) -> Html<String> {
        let main = html! { h1 { "That did not work" } p { (self.0) } p { a href="/" { "To the first page" } } };
        Html(framed(visitor, "That did not work", &main).into_string())
    }
}

/// An error or a reason of the interface, as a sentence.
pub(crate) fn sentence(words: &impl std::fmt::Display) -> String {
    let text = words.to_string();
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str().trim_end_matches('.'))
}
