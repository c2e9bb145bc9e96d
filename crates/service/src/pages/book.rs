//! Books: what an owner keeps for a client or a name, and who else may see it.

mod settings;

use axum::extract::{Path, State};
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::extract::{LongForm, PostedForm, SignedIn};
use super::frame::{PageError, notice, page, proof, sentence};
use super::parts::{grouped, harmless};
use super::sign_in::Nothing;
use crate::accounts::Person;
use crate::app::{BOOK_NAME_CHARS_MAX, BookDraft};
use crate::error::ApiError;
use crate::store::BookRow;
use crate::web::Web;
use settings::draft;

/// Characters of an error, which may quote a chart of accounts.
const SAID_CHARS_MAX: usize = 1_500;

pub(super) fn name(book: &BookRow) -> Markup {
    html! { bdi.stranger { (harmless(&book.name, BOOK_NAME_CHARS_MAX)) } }
}

pub(crate) async fn list(State(web): State<Web>, signed_in: SignedIn) -> Result<Html<String>, PageError> {
    shown_list(&web, &signed_in, "", None).await
}

async fn shown_list(
    web: &Web,
    SignedIn { visitor, person }: &SignedIn,
    typed: &str,
    said: Option<&ApiError>,
) -> Result<Html<String>, PageError> {
    let books = web.app.books(&person.owner_id).await?;
    let main = html! {
        h1 { "Books" }
        p { "A book holds what belongs together: a client, or a name of your own. Its jobs are read with its wallets and its policy. "
            a href="/docs/books" { "How books work" } "." }
        @if let Some(error) = said { (notice("bad", &told(error))) }
        ul.jobs { @for book in &books { li {
            p { a href={ "/books/" (book.id) } { (name(book)) }
                @if book.owner_id != person.owner_id { " " span.hint { "shared with you" } }
                @else if book.is_first { " " span.hint { "for jobs that name no book" } } }
        } } }
        form.row method="post" action="/books" {
            (proof(visitor))
            label { "Name of a new book" input name="name" value=(harmless(typed, BOOK_NAME_CHARS_MAX)) maxlength=(BOOK_NAME_CHARS_MAX) required autocomplete="off"; }
            button { "Make it" }
        }
    };
    Ok(page(visitor, "Books", main))
}

fn told(error: &ApiError) -> String {
    harmless(&sentence(error), SAID_CHARS_MAX)
}

#[derive(Debug, Deserialize)]
pub(crate) struct NewBook {
    name: String,
}

pub(crate) async fn create(
    State(web): State<Web>,
    signed_in: SignedIn,
    PostedForm(form): PostedForm<NewBook>,
) -> Result<Response, PageError> {
    match web.app.create_book(&signed_in.person.owner_id, &form.name).await {
        Ok(id) => Ok(Redirect::to(&format!("/books/{id}")).into_response()),
        Err(error @ ApiError::InvalidRequest(_)) => {
            let page = shown_list(&web, &signed_in, &form.name, Some(&error)).await?;
            Ok((error.status(), page).into_response())
        }
        Err(error) => Err(error.into()),
    }
}

pub(crate) async fn book(
    State(web): State<Web>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Html<String>, PageError> {
    shown(&web, &signed_in, &id, None, None).await
}

/// With what was typed in the place of what is kept, where that was refused.
async fn shown(
    web: &Web,
    SignedIn { visitor, person }: &SignedIn,
    id: &str,
    typed: Option<&BookDraft>,
    said: Option<&ApiError>,
) -> Result<Html<String>, PageError> {
    let kept = web.app.book_page(&person.owner_id, id).await?;
    let counts = web.app.review_counts(&kept.book).await?;
    let is_own = is_own(&kept.book, person);
    let jobs = match is_own {
        true => Some(web.app.job_list(&person.owner_id, Some(&kept.book.id), None).await?),
        false => None,
    };
    let draft = typed.cloned().unwrap_or_else(|| BookDraft::of(&kept.book, &kept.wallets));
    let main = html! {
        p { a href="/books" { "All books" } }
        h1 { (name(&kept.book)) }
        @if let Some(error) = said {
            (notice("bad", &told(error)))
            p { "Nothing was changed." @if typed.is_some() { " What you typed is still here." } }
        }
        p { strong { (grouped(&counts.open.to_string())) } " rows wait for a person, " (grouped(&counts.waiting.to_string())) " for a signature; "
            (grouped(&counts.decided.to_string())) " are decided, and with " (grouped(&counts.disagreed.to_string())) " decisions the rules disagree. "
            a href={ "/books/" (kept.book.id) "/review" } { "Review" } " · " a href={ "/books/" (kept.book.id) "/rules" } { "Rules" }
            " · " a href={ "/books/" (kept.book.id) "/log" } { "Log" } }
        p { strong { (grouped(&kept.jobs.to_string())) } " jobs, " (grouped(&kept.unfinished.to_string())) " of them unfinished." }
        @if let Some(jobs) = &jobs {
            section aria-labelledby="jobs" {
                h2 id="jobs" { "Its jobs" }
                @if jobs.jobs.is_empty() { p { "None yet. " a href="/jobs" { "Upload a table" } "." } }
                ul.jobs { @for job in &jobs.jobs { li { p { (super::jobs::linked(job)) } } } }
                @if jobs.next.is_some() { p.hint { "The newest " (jobs.jobs.len()) " are shown; " a href="/jobs" { "all jobs" } "." } }
            }
            (settings::form(visitor, &kept.book, &draft))
            (settings::people(visitor, &kept.book, &kept.people))
            p { a href={ "/books/" (kept.book.id) "/remove" } { "Remove this book" } }
        } @else { (settings::facts(&kept)) }
    };
    Ok(page(visitor, "A book", main))
}

fn is_own(book: &BookRow, person: &Person) -> bool {
    book.owner_id == person.owner_id
}

pub(crate) async fn set(
    State(web): State<Web>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    LongForm(fields): LongForm<Vec<(String, String)>>,
) -> Result<Response, PageError> {
    let draft = draft(&fields).ok_or(PageError::Form)?;
    match web.app.set_book(&signed_in.person.owner_id, &id, &draft).await {
        Ok(()) => Ok(Redirect::to(&format!("/books/{id}")).into_response()),
        Err(error @ ApiError::InvalidRequest(_)) => {
            let page = shown(&web, &signed_in, &id, Some(&draft), Some(&error)).await?;
            Ok((error.status(), page).into_response())
        }
        Err(error) => Err(error.into()),
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct PersonForm {
    email: String,
}

pub(crate) async fn add_person(
    State(web): State<Web>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    PostedForm(form): PostedForm<PersonForm>,
) -> Result<Response, PageError> {
    match web.app.add_to_book(&signed_in.person.owner_id, &id, &form.email).await {
        Ok(()) => Ok(Redirect::to(&format!("/books/{id}")).into_response()),
        Err(error @ ApiError::InvalidRequest(_)) => {
            let page = shown(&web, &signed_in, &id, None, Some(&error)).await?;
            Ok((error.status(), page).into_response())
        }
        Err(error) => Err(error.into()),
    }
}

pub(crate) async fn remove_person(
    State(web): State<Web>,
    SignedIn { person, .. }: SignedIn,
    Path(id): Path<String>,
    PostedForm(form): PostedForm<PersonForm>,
) -> Result<Redirect, PageError> {
    web.app.take_from_book(&person.owner_id, &id, &form.email).await?;
    Ok(Redirect::to(&format!("/books/{id}")))
}

pub(crate) async fn confirm_remove(
    State(web): State<Web>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Html<String>, PageError> {
    let book = web.app.own_book(&signed_in.person.owner_id, &id).await?;
    Ok(removal(&signed_in, &book, None))
}

fn removal(SignedIn { visitor, .. }: &SignedIn, book: &BookRow, said: Option<&str>) -> Html<String> {
    let main = html! {
        h1 { "Remove a book" }
        @if let Some(said) = said { (notice("bad", said)) }
        p { (name(book)) " goes with its settings, its decisions, its jobs and their results. What was counted stays counted. This cannot be undone." }
        form.row method="post" action={ "/books/" (book.id) "/remove" } {
            (proof(visitor))
            button.danger { "Remove it" }
            a href={ "/books/" (book.id) } { "Keep it" }
        }
    };
    page(visitor, "Remove a book", main)
}

pub(crate) async fn remove(
    State(web): State<Web>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    PostedForm(Nothing {}): PostedForm<Nothing>,
) -> Result<Response, PageError> {
    let owner_id = &signed_in.person.owner_id;
    let book = web.app.own_book(owner_id, &id).await?;
    if web.app.remove_book(owner_id, &id).await? {
        return Ok(Redirect::to("/books").into_response());
    }
    let said = "A job of this book is not finished: wait for it, or cancel it first.";
    Ok(removal(&signed_in, &book, Some(said)).into_response())
}
