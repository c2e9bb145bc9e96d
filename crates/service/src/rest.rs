//! The REST interface. The two route lists are the table of contents, and the OpenAPI document is made of them.

pub(crate) mod body;
mod quota;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use engine::Classification;
use engine::classification::API_VERSION;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::{BatchRequest, Call, CategoryList, ChainList, SingleRequest};
use crate::error::ApiError;
use crate::web::Web;
use body::{JsonAnswer, JsonBody};
pub(crate) use quota::QuotaUnavailable;

/// Behind the door: a key that stands, and calls left.
pub(crate) fn keyed_routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(classify)).routes(routes!(classify_batch))
}

pub(crate) fn open_routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new()
        .routes(routes!(quota::status))
        .routes(routes!(chains))
        .routes(routes!(categories))
        .routes(routes!(healthz))
        .routes(routes!(readyz))
}

/// Classify one transaction
///
/// A well-formed hash without a verdict is a 404, a node that fails a 502: neither is ever answered as a classification.
#[utoipa::path(
    post,
    path = "/v1/classify",
    tag = "Classify",
    request_body = SingleRequest,
    responses((status = 200, description = "How the transaction was read.", body = Classification)),
    security(("key" = [])),
)]
async fn classify(
    State(web): State<Web>,
    call: Call,
    JsonBody(request): JsonBody<SingleRequest>,
) -> Result<JsonAnswer<Arc<Classification>>, ApiError> {
    let item = request.item()?;
    let app = Arc::clone(&web.app);
    web.see_through(async move { app.classify(&call, item).await }).await.map(JsonAnswer)
}

/// One result per item, in input order.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BatchResponse {
    /// Always `v1`.
    #[schema(value_type = String, pattern = "^v1$")]
    api_version: &'static str,
    /// The number of results.
    count: usize,
    #[schema(value_type = Vec<Classification>)]
    results: Vec<Arc<Classification>>,
}

/// Classify up to 100 transactions
///
/// Counts as one request of the rate limit. An item that could not be classified stays in its place with `error`, and the call is a 200. One
/// malformed hash refuses the whole call, and the message names its index.
#[utoipa::path(
    post,
    path = "/v1/classify-batch",
    tag = "Classify",
    request_body = BatchRequest,
    responses((status = 200, description = "One result per item, in input order.", body = BatchResponse)),
    security(("key" = [])),
)]
async fn classify_batch(
    State(web): State<Web>,
    call: Call,
    JsonBody(request): JsonBody<BatchRequest>,
) -> Result<JsonAnswer<BatchResponse>, ApiError> {
    let items = request.items()?;
    let app = Arc::clone(&web.app);
    let results = web.see_through(async move { app.classify_batch(&call, items).await }).await?;
    Ok(JsonAnswer(BatchResponse { api_version: API_VERSION, count: results.len(), results }))
}

/// The chains that this instance serves
///
/// What is served, not what is known: only chains with an upstream.
#[utoipa::path(
    get,
    path = "/chains",
    tag = "Reference",
    responses((status = 200, description = "Sorted by slug.", body = ChainList)),
    security(()),
)]
async fn chains(State(web): State<Web>) -> Json<ChainList> {
    Json(web.app.reader.chain_list())
}

/// Every category
///
/// With its treatment, ledger action, price, basis and the other defensible side.
#[utoipa::path(
    get,
    path = "/categories",
    tag = "Reference",
    responses((status = 200, description = "The house table.", body = CategoryList)),
    security(()),
)]
async fn categories(State(web): State<Web>) -> Json<CategoryList> {
    Json(CategoryList::of(&web.app.reader.knowledge.treatments))
}

/// The process lives
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "Health",
    responses((status = 200, description = "`ok`", body = String)),
    security(()),
)]
async fn healthz() -> &'static str {
    "ok"
}

/// The ledger answers
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "Health",
    responses(
        (status = 200, description = "`ready`", body = String),
        (status = 503, description = "The ledger does not answer.", body = String),
    ),
    security(()),
)]
async fn readyz(State(web): State<Web>) -> Result<&'static str, (axum::http::StatusCode, &'static str)> {
    if web.app.store.answers().await {
        Ok("ready")
    } else {
        Err((axum::http::StatusCode::SERVICE_UNAVAILABLE, "the database does not answer"))
    }
}
