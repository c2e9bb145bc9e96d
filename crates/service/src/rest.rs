//! The REST interface. The router is the table of contents.

mod body;
mod request_id;

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use engine::Classification;
use engine::category::TABLE;
use engine::classification::API_VERSION;
use serde::Serialize;
use serde_json::{Value, json};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::app::{App, BatchRequest, SingleRequest};
use crate::error::ApiError;
use body::JsonBody;

pub(crate) const DISCLAIMER: &str = "Classifications are informational only and are not tax advice.";

pub(crate) fn router(app: Arc<App>, cors_origins: &[String]) -> Router {
    let keyed = Router::new()
        .route("/v1/classify", post(classify))
        .route("/v1/classify-batch", post(classify_batch))
        .route_layer(middleware::from_fn_with_state(Arc::clone(&app), key_required));
    let open = Router::new()
        .route("/chains", get(chains))
        .route("/categories", get(categories))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz));
    keyed
        .merge(open)
        .fallback(|| async { ApiError::NotFound })
        .method_not_allowed_fallback(|| async { ApiError::MethodNotAllowed })
        .layer(CatchPanicLayer::custom(|_| ApiError::Internal.into_response()))
        .layer(CompressionLayer::new())
        .layer(cors(cors_origins))
        .layer(middleware::from_fn(request_id::carry))
        .with_state(app)
}

/// Off unless an operator allows origins by name.
fn cors(origins: &[String]) -> CorsLayer {
    let origins: Vec<HeaderValue> = origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect();
    if origins.is_empty() {
        return CorsLayer::new();
    }
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([header::AUTHORIZATION, header::CONTENT_TYPE, HeaderName::from_static("x-request-id")])
        .expose_headers([HeaderName::from_static("x-request-id"), header::RETRY_AFTER])
}

async fn key_required(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    request: axum::extract::Request,
    next: middleware::Next,
) -> Result<axum::response::Response, ApiError> {
    let presented = bearer(&headers).ok_or(ApiError::Unauthorized)?;
    match app.keys.stands(presented).await {
        Ok(true) => Ok(next.run(request).await),
        Ok(false) => Err(ApiError::Unauthorized),
        Err(error) => {
            tracing::error!(%error, "the key could not be checked");
            Err(ApiError::Internal)
        }
    }
}

/// Exactly one `Authorization` header of the scheme `Bearer`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let one = all.next().filter(|_| all.next().is_none())?;
    let (scheme, key) = one.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(key.trim())
}

async fn classify(
    State(app): State<Arc<App>>,
    JsonBody(request): JsonBody<SingleRequest>,
) -> Result<Json<Classification>, ApiError> {
    let item = request.item()?;
    // A task of its own, so that the work is not lost halfway when the caller hangs up.
    let task = tokio::spawn(async move { app.classify(item).await });
    task.await.map_err(|_| ApiError::Internal)?.map(Json)
}

#[derive(Serialize)]
struct BatchResponse {
    api_version: &'static str,
    count: usize,
    results: Vec<Classification>,
}

async fn classify_batch(
    State(app): State<Arc<App>>,
    JsonBody(request): JsonBody<BatchRequest>,
) -> Result<Json<BatchResponse>, ApiError> {
    let results = app.classify_batch(request.items()?).await;
    Ok(Json(BatchResponse { api_version: API_VERSION, count: results.len(), results }))
}

#[derive(Serialize)]
struct ChainRow {
    slug: String,
    name: String,
    family: engine::Family,
    chain_id: Option<u64>,
    native_symbol: String,
    native_decimals: u8,
    explorer: Option<String>,
}

async fn chains(State(app): State<Arc<App>>) -> Json<Value> {
    let rows: Vec<ChainRow> = app
        .served_chains()
        .into_iter()
        .map(|chain| ChainRow {
            slug: chain.slug.clone(),
            name: chain.name.clone(),
            family: chain.family,
            chain_id: chain.chain_id,
            native_symbol: chain.native_symbol.clone(),
            native_decimals: chain.native_decimals,
            explorer: chain.explorer.clone(),
        })
        .collect();
    Json(json!({ "chains": rows }))
}

async fn categories() -> Json<Value> {
    Json(json!({ "categories": TABLE, "notice": DISCLAIMER }))
}

async fn healthz() -> &'static str {
    "ok"
}

async fn readyz(State(app): State<Arc<App>>) -> Result<&'static str, (axum::http::StatusCode, &'static str)> {
    if app.keys.answers().await {
        Ok("ready")
    } else {
        Err((axum::http::StatusCode::SERVICE_UNAVAILABLE, "the database does not answer"))
    }
}
