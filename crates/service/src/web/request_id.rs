//! Every response carries `x-request-id`: the client's own when it is well formed, else a fresh one. No cache keeps one. One log line a
//! request.

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use super::BODY_BYTES_MAX;
use crate::app::RequestId;
use crate::error::ApiError;
use crate::{logs, metrics};

const HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// Bytes of a refused request's body that are read and discarded.
const UNREAD_BYTES_MAX: u64 = 4 * 1024;
/// Headers of a request.
const HEADERS_MAX: usize = 100;

pub(crate) async fn carry(mut request: Request, next: Next) -> Response {
    let clients = client_id(&request);
    let is_ours = clients.is_none();
    let id = clients.unwrap_or_else(RequestId::fresh);
    let header = HeaderValue::from_str(id.text()).unwrap_or(HeaderValue::from_static("unknown"));
    request.extensions_mut().insert(id.clone());
    let has_long_body = has_longer_body(&request, UNREAD_BYTES_MAX);
    let is_too_long = has_longer_body(&request, BODY_BYTES_MAX);
    let mut response = logs::of_request(id.shared(), answer(request, next, is_ours)).await;
    response.headers_mut().insert(HEADER, header);
    // Most answers are somebody's. Only what has a tag, and so is the same for all, may be kept.
    if !response.headers().contains_key(header::ETAG) {
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    // A request that is refused before its body was read leaves the rest of it on the connection, which then closes: the
    // client must know.
    let is_unread = [StatusCode::UNAUTHORIZED, StatusCode::METHOD_NOT_ALLOWED, StatusCode::TOO_MANY_REQUESTS]
        .contains(&response.status());
    if (has_long_body && is_unread) || is_too_long {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Counted and logged under the template that matched: a path may hold a hash, a link or whatever a stranger writes.
async fn answer(request: Request, next: Next, is_ours: bool) -> Response {
    let (method, route) = (request.method().clone(), request.extensions().get::<MatchedPath>().cloned());
    let started = Instant::now();
    let response = if request.headers().len() > HEADERS_MAX {
        ApiError::invalid_request("a request has at most 100 headers").into_response()
    } else {
        next.run(request).await
    };
    let (took, status) = (started.elapsed(), response.status().as_u16());
    let route = route.as_ref().map(MatchedPath::as_str);
    metrics::request(method.as_str(), route, status, took);
    let (route, millis) = (route.unwrap_or("none"), u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    // A client's own id may hold anything within its alphabet.
    if is_ours {
        tracing::info!(target: logs::OURS, method = method.as_str(), route, status, millis, "request");
    } else {
        tracing::info!(method = method.as_str(), route, status, millis, "request");
    }
    response
}

/// Longer, or of unknown length.
fn has_longer_body(request: &Request, bytes_max: u64) -> bool {
    let length =
        request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    length.map_or(request.headers().contains_key(header::TRANSFER_ENCODING), |length| length > bytes_max)
}

fn client_id(request: &Request) -> Option<RequestId> {
    request.headers().get(HEADER)?.to_str().ok().and_then(RequestId::parse)
}
