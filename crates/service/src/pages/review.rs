//! The review queue: rows that a person must look at, and that person's reviews. A review is stored beside the engine's verdict and never
//! changes it.

use axum::extract::{Path, Query, State};
use axum::response::{Html, IntoResponse, Redirect, Response};
use engine::Treatments;
use engine::category::TABLE;
use maud::{Markup, html};
use serde::Deserialize;

use super::extract::{PostedForm, SignedIn};
use super::frame::{PageError, notice, page, proof};
use super::parts::{link_to_reading, prose, when};
use super::sign_in::account_sentence;
use super::visitor::Visitor;
use crate::accounts::{ReadingRow, Recent};
use crate::web::Web;

const ROWS: i64 = 25;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct ReviewQuery {
    #[serde(default)]
    done: String,
}

pub(crate) async fn queue(
    State(web): State<Web>,
    signed_in: SignedIn,
    Query(wanted): Query<ReviewQuery>,
) -> Result<Html<String>, PageError> {
    shown(&web, &signed_in, &wanted, None).await
}

async fn shown(
    web: &Web,
    SignedIn { visitor, person }: &SignedIn,
    wanted: &ReviewQuery,
    said: Option<&str>,
) -> Result<Html<String>, PageError> {
    let is_done = wanted.done == "yes";
    let filter = Recent { needs_review: Some(true), reviewed: Some(is_done), ..Recent::default() };
    let rows = web.app.accounts.recent(&person.owner_id, &filter, ROWS).await?;
    let open = web.app.accounts.unreviewed(person).await?;
    let main = html! {
        h1 { "Review" }
        p { "What taxon left to a person. Your own reading is kept beside its verdict, and goes into the CSV of " a href="/usage" { "Usage" } "." }
        @if let Some(said) = said { (notice("bad", said)) }
        p { strong { (open) } " open. " @if is_done { a href="/review" { "Show what is open" } } @else { a href="/review?done=yes" { "Show what is done" } } }
        @if rows.is_empty() {
            p { @if is_done { "Nothing has been reviewed yet." } @else { "Nothing waits for you." } }
        }
        @for row in &rows { (item(visitor, row, &web.app.reader.knowledge.treatments)) }
        @if rows.len() >= usize::try_from(ROWS).unwrap_or(usize::MAX) { p.hint { "The newest " (ROWS) " are shown." } }
    };
    Ok(page(visitor, "Review", main))
}

fn item(visitor: &Visitor, row: &ReadingRow, treatments: &Treatments) -> Markup {
    let chosen = row.review_category.as_deref();
    let comment = row.review_comment.as_deref().unwrap_or_default();
    html! {
        article.card {
            h2 { (link_to_reading(row)) }
            p.hint { (row.chain) " · " (when(row.at)) " · read as " code { (row.category) } ", confidence " (row.confidence) }
            @if let Some(note) = &row.note { p { (prose(note)) } }
            @if let (Some(category), Some(at)) = (chosen, row.reviewed_at) {
                p { "Reviewed " (when(at)) " as " code { (category) } @if !comment.is_empty() { ": " (comment) } }
            }
            form.stack method="post" action={ "/review/" (row.hash) } {
                (proof(visitor))
                input type="hidden" name="wallet" value=(row.wallet);
                label { "Your category" select name="category" required {
                    option value="" { "choose" }
                    @for known in TABLE { option value=(known.name) selected[chosen == Some(known.name)] { (known.name) ", " (treatments.row(known.category).treatment.name()) } }
                } }
                label { "Comment" textarea name="comment" maxlength="2000" rows="2" { (comment) } }
                button { @if chosen.is_some() { "Change" } @else { "Mark as reviewed" } }
            }
            @if chosen.is_some() {
                form method="post" action={ "/review/" (row.hash) "/reopen" } {
                    (proof(visitor))
                    input type="hidden" name="wallet" value=(row.wallet);
                    button.plain { "Open it again" }
                }
            }
        }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Marked {
    wallet: String,
    category: String,
    #[serde(default)]
    comment: String,
}

pub(crate) async fn mark(
    State(web): State<Web>,
    signed_in: SignedIn,
    Path(hash): Path<String>,
    PostedForm(form): PostedForm<Marked>,
) -> Result<Response, PageError> {
    match web.app.accounts.review(&signed_in.person, &hash, &form.wallet, &form.category, form.comment.trim()).await {
        Ok(true) => Ok(Redirect::to("/review").into_response()),
        Ok(false) => Err(PageError::NotFound),
        Err(error) => {
            let said = account_sentence(error)?;
            Ok(shown(&web, &signed_in, &ReviewQuery::default(), Some(&said)).await?.into_response())
        }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Reopened {
    wallet: String,
}

pub(crate) async fn reopen(
    State(web): State<Web>,
    SignedIn { person, .. }: SignedIn,
    Path(hash): Path<String>,
    PostedForm(form): PostedForm<Reopened>,
) -> Result<Redirect, PageError> {
    let is_own = web.app.accounts.unreview(&person, &hash, &form.wallet).await?;
    if is_own { Ok(Redirect::to("/review")) } else { Err(PageError::NotFound) }
}
