//! One HTTP request to one address: JSON-RPC calls, shared by the traffic and `probe`, so that both judge a node alike, or a question to an explorer.

use std::fmt;
use std::time::{Duration, SystemTime};

use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, RETRY_AFTER};
use reqwest::{Client, StatusCode, Url};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::InvalidEndpoint;
use super::wire::{Parsed, Request, parse};
use crate::error::UpstreamError;

const CONNECT_SECONDS_MAX: u64 = 3;
const IDLE_SECONDS_MAX: u64 = 60;

pub(crate) type RpcCall<'a> = (&'static str, &'a Value);

pub(crate) struct Connection {
    url: Url,
    client: Client,
}

/// The address may hold a credential, so it is never printed.
impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

/// How much of an answer is read.
pub(crate) struct Bounds<'a> {
    pub(crate) bytes_max: usize,
    /// Bytes after which an answer waits for a permit before more of it is read.
    pub(crate) large: Option<(usize, &'a Semaphore)>,
}

/// What the node answered.
pub(crate) struct HttpReply {
    pub(crate) parsed: Result<Parsed, UpstreamError>,
    pub(crate) status: StatusCode,
    /// The node's clock.
    pub(crate) date: Option<SystemTime>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestFault {
    /// The request could not be written as JSON.
    Unwritten,
    Unreachable,
    Timeout,
    BrokeOff,
    RateLimited(Option<Duration>),
    /// It wants a credential, or another one.
    Forbidden,
    /// It reported a fault of its own, and how long it wants to be left alone.
    Failed(StatusCode, Option<Duration>),
}

impl Connection {
    pub(crate) fn new(url: &str) -> Result<Self, InvalidEndpoint> {
        let url = Url::parse(url).map_err(|_| InvalidEndpoint)?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(InvalidEndpoint);
        }
        let client = crate::http::client_builder()
            .connect_timeout(Duration::from_secs(CONNECT_SECONDS_MAX))
            .pool_idle_timeout(Duration::from_secs(IDLE_SECONDS_MAX))
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("taxon/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|_| InvalidEndpoint)?;
        Ok(Self { url, client })
    }

    /// One call is sent as an object, several as an array.
    pub(crate) async fn post(&self, calls: &[RpcCall<'_>], bounds: Bounds<'_>) -> Result<HttpReply, RequestFault> {
        let requests: Vec<Request<'_>> = calls
            .iter()
            .enumerate()
            .map(|(id, (method, params))| Request { jsonrpc: "2.0", id, method, params })
            .collect();
        let body = match requests.as_slice() {
            [one] => serde_json::to_vec(one),
            many => serde_json::to_vec(many),
        };
        let body = body.map_err(|_| RequestFault::Unwritten)?;
        let sent = self.client.post(self.url.clone()).header(CONTENT_TYPE, "application/json").body(body).send().await;
        let mut response = sent.map_err(|error| fault(&error))?;
        let status = response.status();
        let date = response.headers().get(DATE).and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
        if let Some(fault) = refused(status, response.headers()) {
            return Err(fault);
        }
        if status == StatusCode::PAYLOAD_TOO_LARGE {
            return Ok(HttpReply { parsed: Ok(Parsed::RefusedBatch), status, date });
        }
        let mut bytes = Vec::new();
        let mut turn = None;
        while let Some(chunk) = response.chunk().await.map_err(|error| fault(&error))? {
            let size = bytes.len().saturating_add(chunk.len());
            if size > bounds.bytes_max {
                return Ok(HttpReply { parsed: Ok(Parsed::TooLarge), status, date });
            }
            if let Some((small, large)) = bounds.large
                && size > small
                && turn.is_none()
            {
                // While it waits it reads nothing, so the sender waits too.
                turn = large.acquire().await.ok();
            }
            bytes.extend_from_slice(&chunk);
        }
        let parsed = parse(&bytes, calls.len());
        drop(turn);
        Ok(HttpReply { parsed, status, date })
    }

    /// The body of the answer to a question in the address, beside what the address holds already.
    pub(crate) async fn get(&self, query: &[(&str, &str)], bytes_max: usize) -> Result<Vec<u8>, RequestFault> {
        let mut url = self.url.clone();
        url.query_pairs_mut().extend_pairs(query);
        let mut response = self.client.get(url).send().await.map_err(|error| fault(&error))?;
        if let Some(fault) = refused(response.status(), response.headers()) {
            return Err(fault);
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| fault(&error))? {
            if bytes.len().saturating_add(chunk.len()) > bytes_max {
                return Err(RequestFault::BrokeOff);
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}

/// What a status says before the body does.
fn refused(status: StatusCode, headers: &HeaderMap) -> Option<RequestFault> {
    let wish = || retry_after(headers, SystemTime::now());
    match status {
        StatusCode::TOO_MANY_REQUESTS => Some(RequestFault::RateLimited(wish())),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Some(RequestFault::Forbidden),
        status if status.is_server_error() => Some(RequestFault::Failed(status, wish())),
        // Some nodes put the JSON-RPC error object under another 4xx: its body says more than its status.
        _ => None,
    }
}

/// The client's own error text names the address, so only its kind is kept.
fn fault(error: &reqwest::Error) -> RequestFault {
    if error.is_timeout() {
        RequestFault::Timeout
    } else if error.is_decode() || error.is_body() {
        RequestFault::BrokeOff
    } else {
        RequestFault::Unreachable
    }
}

/// Seconds, or a date. A date that has passed is ignored.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse::<u64>() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(now).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    #[test]
    fn retry_after_is_read_in_both_forms() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let wish = |text: &'static str| {
            retry_after(&HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(text))]), now)
        };
        assert_eq!(wish("7"), Some(Duration::from_secs(7)));
        assert_eq!(wish(" 0 "), Some(Duration::ZERO));
        assert_eq!(wish("Sun, 06 Nov 1994 08:50:07 GMT"), Some(Duration::from_secs(30)));
        for none in ["Sun, 06 Nov 1994 08:49:07 GMT", "soon", "-3", "1.5", ""] {
            assert_eq!(wish(none), None, "{none}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }

    #[test]
    fn an_address_is_never_printed() {
        let connection = Connection::new("https://user:secret@example.com/key").unwrap();
        let printed = format!("{connection:?}");
        assert!(!printed.contains("secret") && !printed.contains("example"), "{printed}");
    }
}
