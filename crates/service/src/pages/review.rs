//! The review table of a book: rows that a person must look at, and what people decided. A decision is kept beside the engine's verdict and never
//! changes it. The whole table is one form, and every filter and order an address: nothing here needs script.

mod log;
mod query;
mod rules;
mod table;

use axum::extract::{Path, Query, State};
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::html;

use super::deciding::ChosenRows;
use super::extract::{PostedForm, SignedIn};
use super::frame::{PageError, notice, page, sentence};
use super::parts::harmless;
use crate::error::ApiError;
use crate::store::RowKey;
use crate::web::Web;
pub(crate) use log::log;
use query::ReviewQuery;
pub(crate) use rules::{make_rule, remove_rule, rules};

/// Characters of an error.
const SAID_CHARS_MAX: usize = 500;

/// To the queue of the first book with an open row.
pub(crate) async fn queue(State(web): State<Web>, SignedIn { person, .. }: SignedIn) -> Result<Redirect, PageError> {
    let book = web.app.book_to_review(&person.owner_id).await?;
    Ok(Redirect::to(&format!("/books/{}/review", book.id)))
}

pub(crate) async fn shown(
    State(web): State<Web>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    Query(wanted): Query<ReviewQuery>,
) -> Result<Html<String>, PageError> {
    drawn(&web, &signed_in, &id, &wanted, None, None).await
}

async fn drawn(
    web: &Web,
    SignedIn { visitor, person }: &SignedIn,
    id: &str,
    wanted: &ReviewQuery,
    typed: Option<&PostedRows>,
    said: Option<&ApiError>,
) -> Result<Html<String>, PageError> {
    let shown = web.app.review_page(&person.owner_id, id, &wanted.filter()).await?;
    let treatments = &web.app.reader.knowledge.treatments;
    let main = html! {
        @if let Some(error) = said { (notice("bad", &harmless(&sentence(error), SAID_CHARS_MAX))) }
        (table::drawn(visitor, &person.owner_id, &shown, wanted, typed, treatments))
    };
    Ok(page(visitor, "Review", main))
}

type PostedRows = ChosenRows<RowKey, ReviewQuery>;

fn key(hash: &str, wallet: &str) -> Option<RowKey> {
    Some(RowKey { hash: hash.to_owned(), wallet: wallet.to_owned() })
}

/// Decides, undoes or signs the rows that were chosen, and leads back to the same page of the table.
pub(crate) async fn change(
    State(web): State<Web>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    PostedForm(fields): PostedForm<Vec<(String, String)>>,
) -> Result<Response, PageError> {
    let posted = PostedRows::read(&fields, key).ok_or(PageError::Form)?;
    let person_id = &signed_in.person.owner_id;
    let PostedRows { rows: keys, draft, .. } = &posted;
    let done = match posted.what.as_str() {
        "decide" => web.app.decide(person_id, &id, keys, draft).await,
        "undo" => web.app.undo_decisions(person_id, &id, keys).await,
        "sign" => web.app.sign_decisions(person_id, &id, keys).await,
        "like" => match web.app.preview_like(person_id, &id, keys, draft).await {
            Ok(preview) => return Ok(rules::preview(&signed_in, &preview, &posted).into_response()),
            Err(error) => Err(error),
        },
        _ => return Err(PageError::Form),
    };
    match done {
        Ok(_) => Ok(Redirect::to(&posted.wanted.path(&id)).into_response()),
        Err(error @ ApiError::InvalidRequest(_)) => {
            let page = drawn(&web, &signed_in, &id, &posted.wanted, Some(&posted), Some(&error)).await?;
            Ok((error.status(), page).into_response())
        }
        Err(error) => Err(error.into()),
    }
}
