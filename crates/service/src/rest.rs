//! The REST interface. The router is the table of contents.

mod body;
mod client;
mod gate;
mod quota;
mod request_id;

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use engine::Classification;
use engine::category::TABLE;
use engine::classification::API_VERSION;
use ipnet::IpNet;
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::app::{App, BatchRequest, Call, SingleRequest};
use crate::config::Config;
use crate::docs;
use crate::error::ApiError;
use body::JsonBody;

pub(crate) const DISCLAIMER: &str = "Classifications are informational only and are not tax advice.";

/// What the handlers share.
#[derive(Debug, Clone)]
pub(crate) struct Rest {
    app: Arc<App>,
    trusted_proxies: Arc<[IpNet]>,
    /// Calls in flight, also those whose caller has gone: the service stops after them.
    calls: TaskTracker,
}

impl Rest {
    pub(crate) fn new(app: Arc<App>, config: &Config) -> Self {
        Self { app, trusted_proxies: config.trusted_proxies.clone().into(), calls: TaskTracker::new() }
    }

    /// Waits for the calls in flight. The ledger hears of each of them before it ends.
    pub(crate) async fn finished(&self) {
        self.calls.close();
        self.calls.wait().await;
    }
}

pub(crate) fn router(rest: Rest, cors_origins: &[String]) -> Router {
    let keyed = Router::new()
        .route("/v1/classify", post(classify))
        .route("/v1/classify-batch", post(classify_batch))
        .route_layer(middleware::from_fn_with_state(rest.clone(), gate::keyed));
    let open = Router::new()
        .route("/quota-status", get(quota::status))
        .route("/chains", get(chains))
        .route("/categories", get(categories))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz));
    keyed
        .merge(open)
        .merge(docs::router(&rest.app.reader))
        .fallback(|| async { ApiError::NotFound })
        .method_not_allowed_fallback(|| async { ApiError::MethodNotAllowed })
        .layer(CatchPanicLayer::custom(|_| ApiError::Internal.into_response()))
        .layer(CompressionLayer::new())
        .layer(cors(cors_origins))
        .layer(middleware::from_fn(request_id::carry))
        .with_state(rest)
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

/// A task of its own, so that what was reserved is settled even when the caller hangs up.
async fn see_through<T, F>(rest: &Rest, work: F) -> Result<T, ApiError>
where
    F: Future<Output = Result<T, ApiError>> + Send + 'static,
    T: Send + 'static,
{
    rest.calls.spawn(work).await.map_err(|_| ApiError::Internal)?
}

async fn classify(
    State(rest): State<Rest>,
    call: Call,
    JsonBody(request): JsonBody<SingleRequest>,
) -> Result<Json<Classification>, ApiError> {
    let item = request.item()?;
    let app = Arc::clone(&rest.app);
    see_through(&rest, async move { app.classify(&call, item).await }).await.map(Json)
}

#[derive(Serialize)]
struct BatchResponse {
    api_version: &'static str,
    count: usize,
    results: Vec<Classification>,
}

async fn classify_batch(
    State(rest): State<Rest>,
    call: Call,
    JsonBody(request): JsonBody<BatchRequest>,
) -> Result<Json<BatchResponse>, ApiError> {
    let items = request.items()?;
    let app = Arc::clone(&rest.app);
    let results = see_through(&rest, async move { app.classify_batch(&call, items).await }).await?;
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

async fn chains(State(rest): State<Rest>) -> Json<Value> {
    let rows: Vec<ChainRow> = rest
        .app
        .reader
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

async fn readyz(State(rest): State<Rest>) -> Result<&'static str, (axum::http::StatusCode, &'static str)> {
    if rest.app.store.answers().await {
        Ok("ready")
    } else {
        Err((axum::http::StatusCode::SERVICE_UNAVAILABLE, "the database does not answer"))
    }
}
