//! `/v1/jobs`: a whole table at once, or all that wallets did, read while the caller does something else.

pub(crate) mod wallets;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{ConnectInfo, FromRequestParts, Path, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use books::formats::{self, Format};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::app::{AdmittedCall, JobList, JobRequest, JobStatus};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::schema;
use crate::web::Web;

const DEFAULT_FORMAT: &str = "csv";

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct JobQuery {
    /// The book that it belongs to, whose wallets and policy it is read with: an `id` of `GET /v1/books`. The first when absent.
    #[param(nullable = false)]
    book: Option<String>,
    /// What to call it; the name of the file, for instance.
    #[param(nullable = false)]
    name: Option<String>,
    /// The column that holds the hashes; found out when absent.
    #[param(nullable = false)]
    column: Option<String>,
    /// For rows that name no chain; found out when absent.
    #[param(nullable = false)]
    chain: Option<String>,
    /// For rows that name no wallet: read them as this address saw them.
    #[param(value_type = Option<schema::WalletText>, nullable = false)]
    wallet: Option<String>,
    /// Addresses with commas between them, beside those of the book; moves between them are `self_transfer`.
    #[param(nullable = false)]
    own_wallets: Option<String>,
    /// House positions, such as `lp:non_taxable,staking:defer`; the book's, where they say nothing.
    #[param(nullable = false)]
    policy: Option<String>,
    /// `false` keeps it `ready` until `POST /v1/jobs/{id}/start`, so that `table` can be looked at first.
    #[param(nullable = false)]
    start: Option<bool>,
}

impl From<JobQuery> for JobRequest {
    fn from(query: JobQuery) -> Self {
        let list = |text: Option<String>| -> Vec<String> {
            let text = text.unwrap_or_default();
            text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
        };
        let pair = |text: String| text.split_once(':').map(|(key, value)| (key.to_owned(), value.to_owned()));
        Self {
            book: query.book,
            name: query.name,
            column: query.column,
            chain: query.chain,
            wallet: query.wallet,
            own_wallets: list(query.own_wallets),
            policy: list(query.policy).into_iter().filter_map(pair).collect(),
            waits: query.start == Some(false),
        }
    }
}

/// Have a whole table classified
///
/// The body is a CSV, JSON Lines or Parquet file of up to 256 MiB and 1,000,000 rows, with a column of hashes or links; what the content type says
/// does not matter. Rows are counted like items of a batch. A table that cannot be understood is a 400 that says where.
#[utoipa::path(
    post,
    path = "/v1/jobs",
    operation_id = "create_job",
    tag = "Jobs",
    params(JobQuery),
    request_body(content = String, content_type = "application/octet-stream", description = "The table."),
    responses((status = 202, description = "The table was taken in, and is being read.", body = JobStatus)),
    security(("key" = [])),
)]
pub(crate) async fn create(
    State(web): State<Web>,
    call: AdmittedCall,
    asked: Result<Query<JobQuery>, QueryRejection>,
    request: Request,
) -> Result<(StatusCode, Json<JobStatus>), ApiError> {
    let Query(query) = asked.map_err(|error| ApiError::invalid_request(error.body_text()))?;
    let upload = web.app.take_upload(&call.caller().payer.id, request.into_body().into_data_stream()).await?;
    let status = web.app.take_job(&call, query.into(), upload).await?;
    Ok((StatusCode::ACCEPTED, Json(status)))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// The job after which the page begins: `next` of the page before.
    #[param(nullable = false)]
    before: Option<String>,
}

/// The caller's jobs
#[utoipa::path(
    get,
    path = "/v1/jobs",
    operation_id = "list_jobs",
    tag = "Jobs",
    params(ListQuery),
    responses((status = 200, description = "The newest first, 50 a page.", body = JobList)),
    security(("key" = [])),
)]
pub(crate) async fn list(
    State(web): State<Web>,
    JobAsker(caller): JobAsker,
    asked: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<JobList>, ApiError> {
    let Query(query) = asked.map_err(|error| ApiError::invalid_request(error.body_text()))?;
    Ok(Json(web.app.job_list(&caller.payer.id, None, query.before.as_deref()).await?))
}

/// Where a job stands
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}",
    operation_id = "job_status",
    tag = "Jobs",
    params(("id" = String, Path, description = "As `POST /v1/jobs` told it.")),
    responses((status = 200, description = "State, counts, rate and time left.", body = JobStatus)),
    security(("key" = [])),
)]
pub(crate) async fn status(
    State(web): State<Web>,
    JobAsker(caller): JobAsker,
    Path(id): Path<String>,
) -> Result<Json<JobStatus>, ApiError> {
    Ok(Json(web.app.job(&caller.payer.id, &id).await?))
}

/// Start a job that waits for it
///
/// One whose wallets are still looked up starts when all is found. Starting again, or a job that has ended, changes nothing.
#[utoipa::path(
    post,
    path = "/v1/jobs/{id}/start",
    operation_id = "start_job",
    tag = "Jobs",
    params(("id" = String, Path, description = "As `POST /v1/jobs` told it.")),
    responses((status = 200, description = "The job as it stands now.", body = JobStatus)),
    security(("key" = [])),
)]
pub(crate) async fn start(
    State(web): State<Web>,
    JobAsker(caller): JobAsker,
    Path(id): Path<String>,
) -> Result<Json<JobStatus>, ApiError> {
    Ok(Json(web.app.start_job(&caller.payer.id, &id).await?))
}

/// Cancel a job
///
/// Nothing more is looked up, read or counted; what was read stays. Cancelling again, or a job that has ended, changes nothing.
#[utoipa::path(
    delete,
    path = "/v1/jobs/{id}",
    operation_id = "cancel_job",
    tag = "Jobs",
    params(("id" = String, Path, description = "As `POST /v1/jobs` told it.")),
    responses((status = 200, description = "The job as it stands now.", body = JobStatus)),
    security(("key" = [])),
)]
pub(crate) async fn cancel(
    State(web): State<Web>,
    JobAsker(caller): JobAsker,
    Path(id): Path<String>,
) -> Result<Json<JobStatus>, ApiError> {
    Ok(Json(web.app.cancel_job(&caller.payer.id, &id).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ResultsQuery {
    /// One of the formats of `taxon bulk` that need no prices, such as `jsonl`, `koinly` or `beancount`; `csv` when absent.
    #[param(nullable = false)]
    pub(crate) format: Option<String>,
}

/// What came of a job, as a file
///
/// Oldest transaction first; of a job that is not finished, what was read so far. Rows that failed are in `jsonl` only, with their `error`.
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}/results",
    operation_id = "job_results",
    tag = "Jobs",
    params(("id" = String, Path, description = "As `POST /v1/jobs` told it."), ResultsQuery),
    responses((status = 200, description = "The file, as a stream.", body = String, content_type = "application/octet-stream")),
    security(("key" = [])),
)]
pub(crate) async fn results(
    State(web): State<Web>,
    JobAsker(caller): JobAsker,
    Path(id): Path<String>,
    asked: Result<Query<ResultsQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(query) = asked.map_err(|error| ApiError::invalid_request(error.body_text()))?;
    let format = format(query.format.as_deref())?;
    let stream = web.app.job_results(&caller.payer.id, &id, format).await?;
    Ok(download(&id, format, Body::from_stream(stream)))
}

/// The owner of the key. Counted like quota queries, so that looking at a job takes no call from those that classify.
pub(crate) struct JobAsker(pub(super) Arc<Caller>);

impl FromRequestParts<Web> for JobAsker {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, web: &Web) -> Result<Self, ApiError> {
        let caller = web.caller(&parts.headers, parts.extensions.get::<ConnectInfo<SocketAddr>>()).await?;
        web.app.admit_key_to_status(Arc::clone(&caller)).await?;
        Ok(Self(caller))
    }
}

pub(crate) fn format(name: Option<&str>) -> Result<&'static Format, ApiError> {
    let name = name.unwrap_or(DEFAULT_FORMAT);
    // A job has no prices.
    formats::without_prices().find(|format| format.name == name).ok_or_else(|| {
        let known: Vec<&str> = formats::without_prices().map(|format| format.name).collect();
        ApiError::invalid_request(format!("`format` is one of {}", known.join(", ")))
    })
}

/// Never shown in a browser: whatever a table or a chain put into it is data.
pub(crate) fn download(id: &str, format: &Format, body: Body) -> Response {
    let disposition = format!("attachment; filename=\"{id}.{}\"", format.extension());
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    response
}
