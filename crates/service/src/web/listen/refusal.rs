//! What hyper refuses before there is a request (a head that is too long or cannot be read), it answers with a bare status, and it has no hook for
//! another answer. On its way out that one is given the envelope and a request id like every other error.

use crate::app::RequestId;
use crate::error::ApiError;

/// Hyper's own answer: a status line, a length of nothing and the date.
const BARE_BYTES_MAX: usize = 256;

/// The answer in full, where the bytes are a bare refusal of hyper's. All of ours carry `x-request-id`.
pub(super) fn in_full(bytes: &[u8]) -> Option<Vec<u8>> {
    let is_candidate =
        bytes.len() <= BARE_BYTES_MAX && bytes.starts_with(b"HTTP/1.1 4") && bytes.ends_with(b"\r\n\r\n");
    let head = std::str::from_utf8(bytes).ok().filter(|_| is_candidate)?;
    let status = head.lines().next()?;
    let has = |header: &str| head.lines().any(|line| line.to_ascii_lowercase().starts_with(header));
    if has("x-request-id:") || !has("content-length: 0") {
        return None;
    }
    let error = ApiError::invalid_request(if status.contains("431") || status.contains("414") {
        "the head of a request has at most 64 KiB and 100 headers"
    } else {
        "this cannot be read as a request of HTTP/1.1"
    });
    let body = serde_json::to_string(&error.envelope()).ok()?;
    let id = RequestId::fresh();
    tracing::info!(request_id = id.text(), status, "a request was refused before it was read");
    Some(
        format!(
            "{status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\ncache-control: no-store\r\nx-request-id: {}\r\n\
             connection: close\r\n\r\n{body}",
            body.len(),
            id.text(),
        )
        .into_bytes(),
    )
}
