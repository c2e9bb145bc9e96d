//! The HTTP frame of a message: plain `curl` is accepted, and an invalid message gets the JSON-RPC error that says why.

use std::sync::{Arc, OnceLock};

use axum::Json;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::web::BODY_BYTES_MAX;

const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;
const INVALID_PARAMS: i64 = -32_602;
/// What the transport asks every client to take; the answer is JSON either way.
const ACCEPTED: &str = "application/json, text/event-stream";
/// The transport's own words in a refusal.
const WORDS_BYTES_MAX: usize = 4 * 1024;

/// What HTTP should say of a call, beside its JSON.
#[derive(Debug, Default)]
pub(super) struct HttpRefusal {
    status: OnceLock<StatusCode>,
    seconds: OnceLock<u64>,
}

impl HttpRefusal {
    /// Refused before a tool ran: the HTTP status says so too.
    pub(super) fn refuse(&self, error: &ApiError) {
        // Only the first counts, and there is one call per request.
        let _ = self.status.set(error.status());
        self.delay(error);
    }

    /// Past the rate limit: how long to wait.
    pub(super) fn delay(&self, error: &ApiError) {
        if let ApiError::RateLimited { seconds } = error {
            let _ = self.seconds.set(*seconds);
        }
    }

    fn mark(&self, response: &mut Response) {
        if let Some(status) = self.status.get() {
            *response.status_mut() = *status;
        }
        if self.status.get() == Some(&StatusCode::UNAUTHORIZED) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.seconds.get() {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(*seconds));
        }
    }
}

pub(super) async fn carry(request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return in_words(next.run(request).await).await;
    }
    if !is_json(request.headers()) {
        let message = "the content type must be application/json";
        return error(StatusCode::UNSUPPORTED_MEDIA_TYPE, INVALID_REQUEST, message, Value::Null);
    }
    let (mut parts, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, usize::try_from(BODY_BYTES_MAX).unwrap_or(usize::MAX)).await else {
        let message = "the body is over 1 MiB, or broke off";
        return error(StatusCode::PAYLOAD_TOO_LARGE, INVALID_REQUEST, message, Value::Null);
    };
    let refusal = Arc::new(HttpRefusal::default());
    parts.headers.insert(header::ACCEPT, HeaderValue::from_static(ACCEPTED));
    // In the spelling that the transport expects, whatever the case of the client's.
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    parts.extensions.insert(Arc::clone(&refusal));
    let mut response = next.run(Request::from_parts(parts, Body::from(bytes.clone()))).await;
    refusal.mark(&mut response);
    match (response.status(), fault(&response, &bytes)) {
        (_, Some((code, message, id))) => error(StatusCode::BAD_REQUEST, code, &message, id),
        // A well-formed message whose parameters are not what the method takes.
        (StatusCode::UNSUPPORTED_MEDIA_TYPE, None) => {
            let id = serde_json::from_slice::<Value>(&bytes).ok().and_then(|message| message.get("id").cloned());
            let message = "the params are not what this method takes";
            error(StatusCode::BAD_REQUEST, INVALID_PARAMS, message, id.unwrap_or_default())
        }
        (_, None) => in_words(response).await,
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

/// What is wrong with the frame of a message that was not read, or was read as one that wants no answer.
fn fault(response: &Response, bytes: &Bytes) -> Option<(i64, String, Value)> {
    let looked_at = [StatusCode::UNSUPPORTED_MEDIA_TYPE, StatusCode::ACCEPTED, StatusCode::BAD_REQUEST];
    if !looked_at.contains(&response.status()) {
        return None;
    }
    let invalid = |message: &str, id| Some((INVALID_REQUEST, message.to_owned(), id));
    let message: Value = match serde_json::from_slice(bytes) {
        Ok(message) => message,
        Err(why) => return Some((PARSE_ERROR, format!("not JSON: {why}"), Value::Null)),
    };
    let Value::Object(fields) = message else {
        return invalid("a message is one JSON object; batches are not taken", Value::Null);
    };
    let id = match fields.get("id") {
        None => Value::Null,
        Some(id @ Value::String(_)) => id.clone(),
        Some(id @ Value::Number(number)) if number.is_i64() => id.clone(),
        Some(_) => return invalid("`id` is a string or an integer", Value::Null),
    };
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("`jsonrpc` must be \"2.0\"", id);
    }
    if !fields.get("method").is_some_and(Value::is_string) {
        return invalid("`method` must be a string", id);
    }
    match fields.get("params") {
        Some(params) if !params.is_object() => Some((INVALID_PARAMS, "`params` must be an object".to_owned(), id)),
        _ => None,
    }
}

/// A refusal of the transport, which speaks plain text, as JSON-RPC.
async fn in_words(response: Response) -> Response {
    let is_json = is_json(response.headers());
    if is_json || !(response.status().is_client_error() || response.status().is_server_error()) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let words = to_bytes(body, WORDS_BYTES_MAX).await.unwrap_or_default();
    let mut told = error(parts.status, INVALID_REQUEST, &String::from_utf8_lossy(&words), Value::Null);
    if let Some(allow) = parts.headers.get(header::ALLOW) {
        told.headers_mut().insert(header::ALLOW, allow.clone());
    }
    told
}

fn error(status: StatusCode, code: i64, message: &str, id: Value) -> Response {
    let body = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } });
    (status, Json(body)).into_response()
}
