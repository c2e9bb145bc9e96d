//! Every response carries `x-request-id`: the client's own when it is well formed, else a fresh one. One log line a request.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use tokio::time::Instant;

const HEADER: HeaderName = HeaderName::from_static("x-request-id");
const CLIENT_CHARS_MAX: usize = 64;

pub(super) async fn carry(request: Request, next: Next) -> Response {
    let id = client_id(&request).unwrap_or_else(fresh);
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let started = Instant::now();
    let mut response = next.run(request).await;
    let millis = started.elapsed().as_millis();
    let request_id = id.to_str().unwrap_or_default();
    tracing::info!(request_id, %method, path, status = response.status().as_u16(), millis, "request");
    response.headers_mut().insert(HEADER, id);
    response
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
