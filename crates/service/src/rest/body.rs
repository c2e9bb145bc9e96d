//! JSON in and out. A body has the right content type, a bounded size, is an object, and its fields have the right types. Anything
//! else is `invalid_request`, with the reason.

use axum::body::to_bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;

use crate::error::ApiError;
use crate::web::BODY_BYTES_MAX;

/// Room for a usual classification.
const ANSWER_BYTES: usize = 4 * 1024;

pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let invalid = |why: &str| ApiError::invalid_request(why);
        let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let essence = content_type.and_then(|text| text.split(';').next()).map(str::trim);
        if !essence.is_some_and(|essence| essence.eq_ignore_ascii_case("application/json")) {
            return Err(invalid("the content type must be application/json"));
        }
        let bytes = to_bytes(request.into_body(), usize::try_from(BODY_BYTES_MAX).unwrap_or(usize::MAX))
            .await
            .map_err(|_| invalid("the body is over 1 MiB, or broke off"))?;
        parse(&bytes).map(Self)
    }
}

/// What the bytes of a body say.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let invalid = |why: &str| ApiError::invalid_request(why);
    // Serde reads a struct from an array too; the interface takes objects only.
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(invalid("the body must be a JSON object"));
    }
    // Serde does not validate the text of a field that it skips.
    let text = std::str::from_utf8(bytes).map_err(|_| invalid("the body is not UTF-8"))?;
    if let Ok(parsed) = serde_json::from_str(text) {
        return Ok(parsed);
    }
    // Parsed again while tracking the path of the error, which costs more.
    let mut reader = serde_json::Deserializer::from_str(text);
    let parsed = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| invalid(&format!("the body is not as expected: {error}")))?;
    reader.end().map_err(|_| invalid("the body goes on after its object"))?;
    Ok(parsed)
}

/// An answer as JSON, written in one go.
pub(crate) struct JsonAnswer(Vec<u8>);

impl JsonAnswer {
    pub(crate) fn written(write: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>) -> Result<Self, ApiError> {
        let mut bytes = Vec::with_capacity(ANSWER_BYTES);
        write(&mut bytes).map_err(|_| ApiError::Internal)?;
        Ok(Self(bytes))
    }
}

impl IntoResponse for JsonAnswer {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], self.0).into_response()
    }
}
