//! What every interface over HTTP shares: the door (key, rate, address), request ids, the calls in flight; and the whole as one router.

mod client;
mod finished;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod gate;
mod request_id;

use std::ops::Deref;
use std::sync::Arc;
use std::task::Poll;

use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::response::IntoResponse;
use axum::{Router, middleware};
use ipnet::IpNet;
use tokio_util::task::TaskTracker;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::app::App;
use crate::config::Config;
use crate::error::ApiError;
use crate::{docs, logs, mcp, openapi, pages, rest};
pub(crate) use finished::Finished;
pub(crate) use gate::{Bearer, bearer};
pub(crate) use request_id::RequestId;

/// What a request may bring.
pub(crate) const BODY_BYTES_MAX: u64 = 1024 * 1024;
/// What agents and browsers say beside the body.
const AGENT_HEADERS: [&str; 4] = ["x-request-id", "mcp-protocol-version", "mcp-method", "mcp-name"];

/// What the handlers share. It is copied several times for each request, so it is one pointer.
#[derive(Debug, Clone)]
pub(crate) struct Web(Arc<Shared>);

impl Deref for Web {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) app: Arc<App>,
    trusted_proxies: Vec<IpNet>,
    /// Calls in flight, also those whose caller has gone: the service stops after them.
    calls: TaskTracker,
}

impl Web {
    pub(crate) fn new(app: Arc<App>, config: &Config) -> Self {
        let trusted_proxies = config.trusted_proxies.clone();
        Self(Arc::new(Shared { app, trusted_proxies, calls: TaskTracker::new() }))
    }

    /// A task of its own, so that what was reserved is settled even when the caller hangs up.
    pub(crate) async fn see_through<T, F>(&self, work: F) -> Result<T, ApiError>
    where
        F: Future<Output = Result<T, ApiError>> + Send + 'static,
        T: Send + 'static,
    {
        let mut work = Box::pin(work);
        // What is at hand needs no task: it is done before anybody can hang up.
        if let Poll::Ready(done) = futures_util::poll!(work.as_mut()) {
            return done;
        }
        self.calls.spawn(logs::carried(work)).await.map_err(|_| ApiError::Internal)?
    }

    pub(crate) fn calls_in_flight(&self) -> usize {
        self.calls.len()
    }

    /// Waits for the calls in flight. The ledger hears of each of them before it ends.
    pub(crate) async fn finished(&self) {
        self.calls.close();
        self.calls.wait().await;
    }
}

/// Everything on one listener; the agent interface only where it has none of its own.
pub(crate) fn router(web: Web, config: &Config) -> Router {
    let (keyed, keyed_api) = rest::keyed_routes().split_for_parts();
    let (open, mut api) = rest::open_routes().split_for_parts();
    api.merge(keyed_api);
    let mut router = keyed
        .route_layer(middleware::from_fn_with_state(web.clone(), gate::keyed))
        .merge(open)
        .merge(docs::router(&web.app.reader))
        .merge(pages::router(&web))
        .merge(openapi::router(&openapi::document(api, Some(&web.app.reader))));
    if config.mcp.listen.is_none() {
        router = router.merge(mcp::router(&web, config));
    }
    dressed(router, config).with_state(web)
}

/// The agent interface alone.
pub(crate) fn mcp_router(web: Web, config: &Config) -> Router {
    dressed(mcp::router(&web, config), config).with_state(web)
}

fn dressed(router: Router<Web>, config: &Config) -> Router<Web> {
    let router = router
        .fallback(|| async { ApiError::NotFound })
        .method_not_allowed_fallback(|| async { ApiError::MethodNotAllowed })
        .layer(CatchPanicLayer::custom(|_| ApiError::Internal.into_response()))
        .layer(CompressionLayer::new());
    let router = match cors(&config.cors_origins) {
        Some(cors) => router.layer(cors),
        None => router,
    };
    router.layer(middleware::from_fn(request_id::carry))
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
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([vec![header::AUTHORIZATION, header::CONTENT_TYPE, header::ACCEPT], named.into()].concat())
        .expose_headers([HeaderName::from_static("x-request-id"), header::RETRY_AFTER]);
    Some(cors)
}
