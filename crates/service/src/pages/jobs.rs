//! Jobs: a whole table is uploaded, or what wallets did is looked up; it is read while the person does something else, and downloaded as the file of a ledger
//! or a tax tool.

mod preview;
mod rows;
mod status;
mod upload;
pub(crate) mod wallets;

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::extract::{PostedForm, PostedParts, SignedIn};
use super::frame::{PageError, notice, page, proof, sentence};
use super::parts::{harmless, time};
use super::sign_in::Nothing;
use crate::app::{JobList, JobState, JobStatus};
use crate::error::ApiError;
use crate::rest::jobs::{ResultsQuery, download, format};
use crate::web::Web;
pub(crate) use rows::{decide, rows};
use upload::UploadForm;
use wallets::WalletsForm;

/// Characters of a job's name that are shown: all of them.
const NAME_CHARS_MAX: usize = 200;
/// Characters of an error, which may quote the names of many columns.
const SAID_CHARS_MAX: usize = 1_500;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct ListQuery {
    /// The job after which the page begins.
    before: Option<String>,
}

pub(crate) async fn list(
    State(web): State<Web>,
    signed_in: SignedIn,
    Query(wanted): Query<ListQuery>,
) -> Result<Html<String>, PageError> {
    shown(&web, &signed_in, &wanted, &Forms::default(), None).await
}

/// What was typed.
#[derive(Debug, Default)]
struct Forms {
    upload: UploadForm,
    wallets: WalletsForm,
}

async fn shown(
    web: &Web,
    SignedIn { visitor, person }: &SignedIn,
    wanted: &ListQuery,
    forms: &Forms,
    said: Option<&ApiError>,
) -> Result<Html<String>, PageError> {
    let books = web.app.own_books(&person.owner_id).await?;
    let list = web.app.job_list(&person.owner_id, None, wanted.before.as_deref()).await?;
    let main = html! {
        h1 { "Jobs" }
        p { "Upload a table of transactions, or have those of wallets looked up. They are read in the background; what came of it is yours to download for your ledger or tax tool. "
            a href="/docs/jobs" { "How jobs work" } "; a " a href="/webhooks" { "webhook" } " tells you when one has ended." }
        @if let Some(error) = said {
            (notice("bad", &told(error)))
            p { "Nothing was started. What you typed is still here; a file must be chosen again." }
        }
        section aria-labelledby="by-table" {
            h2 id="by-table" { "A table" }
            (forms.upload.drawn(visitor, &web.app.reader.served_slugs(), &books))
        }
        section aria-labelledby="by-wallet" {
            h2 id="by-wallet" { "Wallets" }
            (forms.wallets.drawn(visitor, &web.app.reader.listing_slugs(), &books))
        }
        section aria-labelledby="all" {
            h2 id="all" { "Your jobs" }
            (drawn(&list, wanted.before.is_some()))
        }
    };
    Ok(page(visitor, "Jobs", main))
}

fn told(error: &ApiError) -> String {
    match error {
        // For people, who send no batches.
        ApiError::RateLimited { seconds } => format!("Too many tables are coming in. Wait {seconds} seconds."),
        other => harmless(&sentence(other), SAID_CHARS_MAX),
    }
}

fn drawn(list: &JobList, is_older: bool) -> Markup {
    html! {
        @if list.jobs.is_empty() { p { "Nothing here" @if !is_older { " yet" } "." } }
        ul.jobs { @for job in &list.jobs { li {
            p { (linked(job)) }
            p { (status::rows(job)) }
            p.hint { "Added " (time(&job.created_at)) }
        } } }
        @if is_older { p { a href="/jobs" { "The newest" } } }
        @if let Some(next) = &list.next { p { a href={ "/jobs?before=" (next) } { "Older jobs" } } }
    }
}

pub(super) fn linked(job: &JobStatus) -> Markup {
    html! { a href={ "/jobs/" (job.id) } { (name(job)) } " " (status::state(job.state)) }
}

fn transactions(count: i64) -> &'static str {
    if count == 1 { "transaction" } else { "transactions" }
}

fn name(job: &JobStatus) -> Markup {
    html! { bdi.stranger { (harmless(&job.name, NAME_CHARS_MAX)) } }
}

/// The table is taken in as by `POST /v1/jobs`; the account pays.
pub(crate) async fn create(
    State(web): State<Web>,
    signed_in: SignedIn,
    PostedParts(mut parts): PostedParts,
) -> Result<Response, PageError> {
    let SignedIn { visitor, person } = &signed_in;
    let call = web.app.admit(web.app.signed_in(person).await?, visitor.request_id.clone()).await?;
    let (form, upload) = UploadForm::read(&web, person, &mut parts).await?;
    let taken = match upload {
        Ok(upload) => web.app.take_job(&call, form.request(), upload).await,
        Err(error) => Err(error),
    };
    match taken {
        Ok(job) => Ok(Redirect::to(&format!("/jobs/{}", job.id)).into_response()),
        Err(error) => {
            let forms = Forms { upload: form, wallets: WalletsForm::default() };
            let page = shown(&web, &signed_in, &ListQuery::default(), &forms, Some(&error)).await?;
            Ok((error.status(), page).into_response())
        }
    }
}

pub(crate) async fn job(
    State(web): State<Web>,
    SignedIn { visitor, person }: SignedIn,
    Path(id): Path<String>,
) -> Result<Html<String>, PageError> {
    let job = web.app.job(&person.owner_id, &id).await?;
    let first =
        if job.state == JobState::Ready { web.app.job_preview(&person.owner_id, &id).await? } else { Vec::new() };
    Ok(page(&visitor, "A job", status::drawn(&visitor, &job, &first)))
}

/// What was understood has been seen: it is read.
pub(crate) async fn start(
    State(web): State<Web>,
    SignedIn { person, .. }: SignedIn,
    Path(id): Path<String>,
    PostedForm(Nothing {}): PostedForm<Nothing>,
) -> Result<Redirect, PageError> {
    let job = web.app.start_job(&person.owner_id, &id).await?;
    Ok(Redirect::to(&format!("/jobs/{}", job.id)))
}

/// With the session instead of a key.
pub(crate) async fn results(
    State(web): State<Web>,
    SignedIn { person, .. }: SignedIn,
    Path(id): Path<String>,
    Query(wanted): Query<ResultsQuery>,
) -> Result<Response, PageError> {
    let format = format(wanted.format.as_deref())?;
    let stream = web.app.job_results(&person.owner_id, &id, format).await?;
    Ok(download(&id, format, Body::from_stream(stream)))
}

pub(crate) async fn confirm_cancel(
    State(web): State<Web>,
    SignedIn { visitor, person }: SignedIn,
    Path(id): Path<String>,
) -> Result<Html<String>, PageError> {
    let job = web.app.job(&person.owner_id, &id).await?;
    let main = html! {
        h1 { "Cancel a job" }
        @if !status::has_ended(job.state) {
            p { "Nothing more of " (name(&job)) " is looked up, read or counted. What was read stays, and can be downloaded. A cancelled job cannot be continued." }
            form.row method="post" action={ "/jobs/" (job.id) "/cancel" } {
                (proof(&visitor))
                button.danger { "Cancel it" }
                a href={ "/jobs/" (job.id) } { "Let it go on" }
            }
        } @else {
            p { (name(&job)) " has ended: there is nothing to cancel. " a href={ "/jobs/" (job.id) } { "To the job" } }
        }
    };
    Ok(page(&visitor, "Cancel a job", main))
}

pub(crate) async fn cancel(
    State(web): State<Web>,
    SignedIn { person, .. }: SignedIn,
    Path(id): Path<String>,
    PostedForm(Nothing {}): PostedForm<Nothing>,
) -> Result<Redirect, PageError> {
    let job = web.app.cancel_job(&person.owner_id, &id).await?;
    Ok(Redirect::to(&format!("/jobs/{}", job.id)))
}
