//! `/v1/books`: which books the caller's jobs may belong to.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::jobs::JobAsker;
use crate::error::ApiError;
use crate::web::Web;

/// A book of the caller.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BookName {
    /// For `book` of `POST /v1/jobs`.
    id: String,
    /// As its owner called it.
    name: String,
}

/// The caller's own books.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BookList {
    /// The first is the one that jobs belong to which name none.
    books: Vec<BookName>,
}

/// The caller's books
///
/// Their settings are in the dashboard. What others share with the caller is not listed, since jobs belong to books of one's own.
#[utoipa::path(
    get,
    path = "/v1/books",
    operation_id = "list_books",
    tag = "Books",
    responses((status = 200, description = "Id and name of each.", body = BookList)),
    security(("key" = [])),
)]
pub(crate) async fn list(State(web): State<Web>, JobAsker(caller): JobAsker) -> Result<Json<BookList>, ApiError> {
    let books = web.app.own_books(&caller.payer.id).await?;
    Ok(Json(BookList { books: books.into_iter().map(|book| BookName { id: book.id, name: book.name }).collect() }))
}
