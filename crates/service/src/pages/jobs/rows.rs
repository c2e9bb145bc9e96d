//! The results of a job as a table: filtered and paged by its address, and decided on like the review table, also where the rules needed nobody.

mod query;
mod table;

use axum::extract::{Path, Query, State};
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::html;

use super::SAID_CHARS_MAX;
use crate::error::ApiError;
use crate::pages::deciding;
use crate::pages::extract::{PostedForm, SignedIn};
use crate::pages::frame::{PageError, notice, page, sentence};
use crate::pages::parts::harmless;
use crate::web::Web;
use query::RowsQuery;

pub(crate) async fn rows(
    State(web): State<Web>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    Query(wanted): Query<RowsQuery>,
) -> Result<Html<String>, PageError> {
    drawn(&web, &signed_in, &id, &wanted, None, None).await
}

async fn drawn(
    web: &Web,
    SignedIn { visitor, person }: &SignedIn,
    id: &str,
    wanted: &RowsQuery,
    typed: Option<&ChosenRows>,
    said: Option<&ApiError>,
) -> Result<Html<String>, PageError> {
    let shown = web.app.job_page(&person.owner_id, id, &wanted.filter()).await?;
    let treatments = &web.app.reader.knowledge.treatments;
    let main = html! {
        @if let Some(error) = said { (notice("bad", &harmless(&sentence(error), SAID_CHARS_MAX))) }
        (table::drawn(visitor, &shown, wanted, typed, treatments))
    };
    Ok(page(visitor, "Results", main))
}

/// Rows by part and number.
type ChosenRows = deciding::ChosenRows<(i64, u8), RowsQuery>;

fn place(part: &str, at: &str) -> Option<(i64, u8)> {
    Some((part.parse().ok()?, at.parse().ok()?))
}

/// Decides the rows that were chosen or takes their decisions back, and leads back to the same page of the table.
pub(crate) async fn decide(
    State(web): State<Web>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    PostedForm(fields): PostedForm<Vec<(String, String)>>,
) -> Result<Response, PageError> {
    let chosen = ChosenRows::read(&fields, place).ok_or(PageError::Form)?;
    let owner_id = &signed_in.person.owner_id;
    let done = match chosen.what.as_str() {
        "decide" => web.app.decide_job_rows(owner_id, &id, &chosen.rows, &chosen.draft).await,
        "undo" => web.app.undo_job_rows(owner_id, &id, &chosen.rows).await,
        _ => return Err(PageError::Form),
    };
    match done {
        Ok(_) => Ok(Redirect::to(&chosen.wanted.path(&id)).into_response()),
        Err(error @ ApiError::InvalidRequest(_)) => {
            let page = drawn(&web, &signed_in, &id, &chosen.wanted, Some(&chosen), Some(&error)).await?;
            Ok((error.status(), page).into_response())
        }
        Err(error) => Err(error.into()),
    }
}
