//! Static files: rendered once at start and sent unchanged, with security headers.

use alloy_primitives::hex;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use sha2::{Digest, Sha256};

#[derive(Debug, Clone)]
pub(crate) struct StaticFile {
    kind: &'static str,
    /// The content security policy.
    policy: &'static str,
    body: Bytes,
    etag: String,
}

impl StaticFile {
    pub(crate) fn new(kind: &'static str, policy: &'static str, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        let digest = hex::encode(Sha256::digest(&body));
        // Weak, because a compressed answer has other bytes under the same tag.
        Self { kind, policy, body, etag: format!("W/\"{digest}\"") }
    }

    pub(crate) fn route<S: Clone + Send + Sync + 'static>(self) -> MethodRouter<S> {
        get(|headers: HeaderMap| async move { self.answer(&headers) })
    }

    pub(crate) fn answer(self, asked: &HeaderMap) -> Response {
        let known = asked.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
        let is_known = known.is_some_and(|tags| tags.split(',').any(|tag| tag.trim() == self.etag));
        let mut response = if is_known { StatusCode::NOT_MODIFIED.into_response() } else { self.body.into_response() };
        let headers = response.headers_mut();
        let fixed = [
            (header::CONTENT_TYPE, self.kind),
            (header::CONTENT_SECURITY_POLICY, self.policy),
            (header::CACHE_CONTROL, "no-cache"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
        ];
        for (name, value) in fixed {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers.extend(HeaderValue::from_str(&self.etag).ok().map(|etag| (header::ETAG, etag)));
        response
    }
}
