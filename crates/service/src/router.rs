//! The table of contents: every path that is served, and what answers there.

use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::response::{IntoResponse, Redirect};
use axum::routing::{get, post};
use axum::{Router, middleware};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::cors::{AllowOrigin, CorsLayer};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::config::Config;
use crate::error::ApiError;
use crate::pages::{account, book, jobs, operator, readings, review, sign_in, try_it, usage, webhooks};
use crate::web::{self, Web};
use crate::{docs, mcp, openapi, pages, rest};

/// A form with a table: twice as much as a table may have, so that whoever sends a longer one is told.
const UPLOAD_BYTES_MAX: usize = 512 << 20;
/// Request headers that agents and browsers may send.
const AGENT_HEADERS: [&str; 4] = ["x-request-id", "mcp-protocol-version", "mcp-method", "mcp-name"];

/// Everything on one listener; the agent interface only where it has none of its own.
pub(crate) fn whole(web: Web, config: &Config) -> Router {
    let (keyed, keyed_api) = keyed_routes().split_for_parts();
    let (open, mut api) = open_routes().split_for_parts();
    api.merge(keyed_api);
    let mut router = keyed
        .route_layer(middleware::from_fn_with_state(web.clone(), web::keyed))
        .merge(open)
        .merge(page_routes(&web))
        // `/docs/…`, one for each file of `docs`, and the style sheet.
        .merge(docs::router(&web.app.reader))
        // `/openapi.json`, and `/docs/api` on it.
        .merge(openapi::router(&openapi::document(api, Some(&web.app.reader))));
    if config.mcp.listen.is_none() {
        router = router.merge(agent_routes(&web, config));
    }
    with_layers(router, config).with_state(web)
}

/// The agent interface alone.
pub(crate) fn agents(web: Web, config: &Config) -> Router {
    with_layers(agent_routes(&web, config), config).with_state(web)
}

/// For operators, on a listener of its own.
pub(crate) fn metrics(web: Web) -> Router {
    Router::new().route("/metrics", get(web::scrape)).with_state(web)
}

/// The metrics of a worker of a fleet, which has neither callers nor a database, and whether it is there.
pub(crate) fn worker_metrics() -> Router {
    Router::new().route("/metrics", get(web::scrape_worker)).route("/healthz", get(async || "ok\n"))
}

/// REST with a valid key and calls left. The OpenAPI document is made of this list and the next.
pub(crate) fn keyed_routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new()
        .routes(routes!(rest::classify))
        .routes(routes!(rest::classify_batch))
        .routes(routes!(rest::journal))
        .routes(routes!(rest::jobs::create))
        .routes(routes!(rest::jobs::wallets::create))
}

/// REST for anybody.
pub(crate) fn open_routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new()
        .routes(routes!(rest::quota::status))
        .routes(routes!(rest::books::list))
        .routes(routes!(rest::jobs::list))
        .routes(routes!(rest::jobs::status, rest::jobs::cancel))
        .routes(routes!(rest::jobs::start))
        .routes(routes!(rest::jobs::results))
        .routes(routes!(rest::chains))
        .routes(routes!(rest::categories))
        .routes(routes!(rest::healthz))
        .routes(routes!(rest::readyz))
}

fn agent_routes(web: &Web, config: &Config) -> Router<Web> {
    mcp::routes("/mcp", web, config)
}

/// The dashboard.
fn page_routes(web: &Web) -> Router<Web> {
    Router::new()
        .route("/", get(try_it::home))
        .route("/try", get(|| to("/")).post(try_it::read))
        .route("/reading/{hash}", get(try_it::reading))
        .route("/sign-up", get(sign_in::sign_up).post(sign_in::make))
        .route("/sign-in", get(sign_in::sign_in).post(sign_in::enter))
        .route("/sign-out", get(|| to("/")).post(sign_in::leave))
        .route("/link/{token}", get(sign_in::link).post(sign_in::take))
        .route("/account", get(account::settings))
        .route("/account/keys", get(|| to("/account")).post(account::create_key))
        .route("/account/keys/{id}/name", get(|| to("/account")).post(account::rename_key))
        .route("/account/keys/{id}/revoke", get(account::confirm_revoke).post(account::revoke_key))
        .route("/account/password", get(|| to("/account")).post(account::change_password))
        .route("/account/sign-out-everywhere", get(|| to("/account")).post(account::sign_out_everywhere))
        .route("/account/delete", get(account::confirm_delete).post(account::delete))
        .route("/jobs", get(jobs::list).post(jobs::create).layer(DefaultBodyLimit::max(UPLOAD_BYTES_MAX)))
        .route("/jobs/wallets", get(|| to("/jobs")).post(jobs::wallets::create))
        .route("/jobs/{id}", get(jobs::job))
        .route("/jobs/{id}/start", get(|| to("/jobs")).post(jobs::start))
        .route("/jobs/{id}/results", get(jobs::results))
        .route("/jobs/{id}/rows", get(jobs::rows).post(jobs::decide))
        .route("/jobs/{id}/cancel", get(jobs::confirm_cancel).post(jobs::cancel))
        .route("/webhooks", get(webhooks::list).post(webhooks::create))
        .route("/webhooks/{id}", get(webhooks::endpoint))
        .route("/webhooks/{id}/events", get(|| to("/webhooks")).post(webhooks::choose_events))
        .route("/webhooks/{id}/rotate", get(|| to("/webhooks")).post(webhooks::rotate))
        .route("/webhooks/{id}/enable", get(|| to("/webhooks")).post(webhooks::enable))
        .route("/webhooks/{id}/test", get(|| to("/webhooks")).post(webhooks::test))
        .route("/deliveries/{id}", get(webhooks::delivery))
        .route("/deliveries/{id}/again", get(|| to("/webhooks")).post(webhooks::again))
        .route("/webhooks/{id}/remove", get(webhooks::confirm_remove).post(webhooks::remove))
        .route("/usage", get(usage::shown))
        .route("/readings", get(readings::shown))
        .route("/readings.csv", get(readings::csv))
        .route("/review", get(review::queue))
        .route("/books", get(book::list).post(book::create))
        .route("/books/{id}", get(book::book).post(book::set))
        .route("/books/{id}/people", get(|| to("/books")).post(book::add_person))
        .route("/books/{id}/people/remove", get(|| to("/books")).post(book::remove_person))
        .route("/books/{id}/review", get(review::shown).post(review::change))
        .route("/books/{id}/rules", get(review::rules).post(review::make_rule))
        .route("/books/{id}/rules/remove", get(|| to("/books")).post(review::remove_rule))
        .route("/books/{id}/log", get(review::log))
        .route("/books/{id}/remove", get(book::confirm_remove).post(book::remove))
        .route("/operator", get(operator::page_handler))
        .route("/operator/sign-up", post(operator::set_sign_up))
        .route("/operator/owners/{id}/tier", post(operator::set_tier))
        .route("/operator/owners/{id}/revoke", post(operator::revoke))
        .layer(middleware::from_fn_with_state(web.clone(), pages::carry_visitor))
        .route("/assets/copy.js", pages::script().route())
}

/// A GET of a form's address redirects to the page that the form is on.
async fn to(page: &'static str) -> Redirect {
    Redirect::to(page)
}

fn with_layers(router: Router<Web>, config: &Config) -> Router<Web> {
    let router = router
        .fallback(|| async { ApiError::NotFound })
        .method_not_allowed_fallback(|| async { ApiError::MethodNotAllowed })
        .layer(CatchPanicLayer::custom(|_| ApiError::Internal.into_response()))
        .layer(CompressionLayer::new());
    let router = match cors(&config.cors_origins) {
        Some(cors) => router.layer(cors),
        None => router,
    };
    router.layer(middleware::from_fn(web::carry_request_id))
}

/// Off unless an operator allows origins by name.
fn cors(origins: &[String]) -> Option<CorsLayer> {
    let origins: Vec<HeaderValue> = origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect();
    if origins.is_empty() {
        return None;
    }
    let named = AGENT_HEADERS.map(HeaderName::from_static);
    let cors = CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers([vec![header::AUTHORIZATION, header::CONTENT_TYPE, header::ACCEPT], named.into()].concat())
        .expose_headers([HeaderName::from_static("x-request-id"), header::RETRY_AFTER]);
    Some(cors)
}
