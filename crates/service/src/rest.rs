//! The REST interface: a handler for each path, with its request and its answer.

pub(crate) mod body;
pub(crate) mod books;
pub(crate) mod jobs;
pub(crate) mod quota;

use axum::Json;
use axum::extract::State;
use engine::Classification;
use engine::classification::BatchResponse;

use crate::app::{AdmittedCall, BatchRequest, CategoryList, ChainList, JournalAnswer, JournalRequest, SingleRequest};
use crate::error::ApiError;
use crate::web::Web;
use body::{JsonAnswer, JsonBody};

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
pub(crate) async fn classify(
    State(web): State<Web>,
    call: AdmittedCall,
    JsonBody(request): JsonBody<SingleRequest>,
) -> Result<JsonAnswer, ApiError> {
    let row = web.app.classify(call, request.item()?).await?;
    JsonAnswer::written(|bytes| row.write_json(bytes))
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
pub(crate) async fn classify_batch(
    State(web): State<Web>,
    call: AdmittedCall,
    JsonBody(request): JsonBody<BatchRequest>,
) -> Result<JsonAnswer, ApiError> {
    let results = web.app.classify_batch(call, request.items()?).await?;
    JsonAnswer::written(|bytes| BatchResponse::of(results).write_json(bytes))
}

/// Journal lines for results that you have
///
/// By a chart of accounts and your prices. Counts as one request of the rate limit and is free of quota: nothing is classified. Each posting is two lines that
/// cancel, so quantities balance for each asset. Values come from your prices alone; where none fits, the line has no value and says so.
#[utoipa::path(
    post,
    path = "/v1/journal",
    tag = "Books",
    request_body = JournalRequest,
    responses((status = 200, description = "The lines, in the order of the results.", body = JournalAnswer)),
    security(("key" = [])),
)]
pub(crate) async fn journal(
    _: AdmittedCall,
    JsonBody(request): JsonBody<JournalRequest>,
) -> Result<JsonAnswer, ApiError> {
    let answer = request.lines()?;
    JsonAnswer::written(|bytes| serde_json::to_writer(bytes, &answer))
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
pub(crate) async fn chains(State(web): State<Web>) -> Json<ChainList> {
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
pub(crate) async fn categories(State(web): State<Web>) -> Json<CategoryList> {
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
pub(crate) async fn healthz() -> &'static str {
    "ok"
}

/// The ledger answers and takes writes
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "Health",
    responses(
        (status = 200, description = "`ready`", body = String),
        (status = 503, description = "Calls cannot be counted, and why: the ledger does not answer, or takes no writes.", body = String),
    ),
    security(()),
)]
pub(crate) async fn readyz(State(web): State<Web>) -> Result<&'static str, (axum::http::StatusCode, &'static str)> {
    let ready = web.app.ready().await;
    ready.map(|()| "ready").map_err(|why| (axum::http::StatusCode::SERVICE_UNAVAILABLE, why))
}
