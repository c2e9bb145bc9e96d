//! Every response carries `x-request-id`: the client's own when it is well formed, else a fresh one. One log line a request.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use tokio::time::Instant;

use super::BODY_BYTES_MAX;

const HEADER: HeaderName = HeaderName::from_static("x-request-id");
const CLIENT_CHARS_MAX: usize = 64;
/// What a refused request may leave to be read and thrown away.
const UNREAD_BYTES_MAX: u64 = 4 * 1024;

/// As the ledger writes it down.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) String);

pub(super) async fn carry(mut request: Request, next: Next) -> Response {
    let id = client_id(&request).unwrap_or_else(fresh);
    request.extensions_mut().insert(RequestId(id.to_str().unwrap_or_default().to_owned()));
    let has_long_body = has_longer_body(&request, UNREAD_BYTES_MAX);
    let is_too_long = has_longer_body(&request, BODY_BYTES_MAX);
    let (method, path) = (request.method().clone(), logged(request.uri().path()).to_owned());
    let started = Instant::now();
    let mut response = next.run(request).await;
    let millis = started.elapsed().as_millis();
    let request_id = id.to_str().unwrap_or_default();
    tracing::info!(request_id, %method, path, status = response.status().as_u16(), millis, "request");
    response.headers_mut().insert(HEADER, id);
    // A request that is refused before its body was read leaves the rest of it on the connection, which then closes: the
    // client must know.
    let is_unread = [StatusCode::UNAUTHORIZED, StatusCode::METHOD_NOT_ALLOWED, StatusCode::TOO_MANY_REQUESTS]
        .contains(&response.status());
    if (has_long_body && is_unread) || is_too_long {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// A link works for whoever reads it, so it stands in no log.
fn logged(path: &str) -> &str {
    if path.starts_with("/link/") { "/link/…" } else { path }
}

/// Of more bytes, or of a length that is not told.
fn has_longer_body(request: &Request, bytes_max: u64) -> bool {
    let length =
        request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    length.map_or(request.headers().contains_key(header::TRANSFER_ENCODING), |length| length > bytes_max)
}

fn client_id(request: &Request) -> Option<HeaderValue> {
    let value = request.headers().get(HEADER)?;
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let fits = (1..=CLIENT_CHARS_MAX).contains(&value.len());
    (fits && value.as_bytes().iter().all(is_plain)).then(|| value.clone())
}

fn fresh() -> HeaderValue {
    HeaderValue::from_str(&format!("{:032x}", rand::random::<u128>())).unwrap_or(HeaderValue::from_static("unknown"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_stands_in_no_log() {
        assert_eq!(logged("/link/0123"), "/link/…");
        assert_eq!(logged("/v1/classify"), "/v1/classify");
    }
}
