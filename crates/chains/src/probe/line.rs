//! Single HTTP requests to one endpoint, without repeats and without gathering.

use std::sync::OnceLock;
use std::time::Duration;

use reqwest::{Client, StatusCode, Url};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;

const CALL_SECONDS_MAX: u64 = 4;
const RESPONSE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// As JSON-RPC numbers a method that is not there.
const NO_SUCH_METHOD: i64 = -32_601;

/// Why nothing more is known of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    InvalidAddress,
    Unreachable,
    Timeout,
    RateLimited,
    /// It wants a credential, or another one.
    Forbidden,
    /// Another status that is no success.
    Status(u16),
    NotJsonRpc,
    /// It speaks JSON-RPC and refuses the simplest call.
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Head {
    /// Block or slot.
    pub number: u64,
    /// Seconds since it was made, by our clock; negative when our clock is behind.
    pub age_seconds: Option<i64>,
}

pub(crate) struct Line {
    client: Client,
    url: Url,
    deadline: Instant,
    clock_ahead: OnceLock<i64>,
}

/// What came instead of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    Unsupported,
    /// Another error object.
    Refused,
    Failed(Failure),
}

impl Refusal {
    pub(crate) fn failure(self) -> Failure {
        match self {
            Self::Unsupported | Self::Refused => Failure::Refused,
            Self::Failed(failure) => failure,
        }
    }
}

impl Line {
    pub(crate) fn new(url: &str, deadline: Instant) -> Result<Self, Failure> {
        let url = Url::parse(url).map_err(|_| Failure::InvalidAddress)?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(Failure::InvalidAddress);
        }
        let client = crate::http::client_builder()
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("taxon/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|_| Failure::InvalidAddress)?;
        Ok(Self { client, url, deadline, clock_ahead: OnceLock::new() })
    }

    pub(crate) fn clock_ahead(&self) -> Option<i64> {
        self.clock_ahead.get().copied()
    }

    pub(crate) async fn call(&self, method: &str, params: Value) -> Result<Value, Refusal> {
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": method, "params": params });
        let mut answer = self.post(&body).await.map_err(Refusal::Failed)?;
        if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
            let is_unknown = error.get("code").and_then(Value::as_i64) == Some(NO_SUCH_METHOD);
            return Err(if is_unknown { Refusal::Unsupported } else { Refusal::Refused });
        }
        answer.get_mut("result").map(Value::take).ok_or(Refusal::Failed(Failure::NotJsonRpc))
    }

    /// Whether that many calls in one request get that many results.
    pub(crate) async fn takes_batch(&self, method: &str, calls: usize) -> bool {
        let call = |id| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": [] });
        let body: Vec<Value> = (0..calls).map(call).collect();
        let answers = self.post(&Value::Array(body)).await.ok();
        let answers = answers.as_ref().and_then(Value::as_array);
        answers.is_some_and(|all| all.len() == calls && all.iter().all(|one| one.get("result").is_some()))
    }

    async fn post(&self, body: &Value) -> Result<Value, Failure> {
        let limit = self.deadline.min(Instant::now() + Duration::from_secs(CALL_SECONDS_MAX));
        match tokio::time::timeout_at(limit, self.exchange(body)).await {
            Ok(answer) => answer,
            Err(_) => Err(Failure::Timeout),
        }
    }

    async fn exchange(&self, body: &Value) -> Result<Value, Failure> {
        let sent = self.client.post(self.url.clone()).json(body).send().await;
        let mut response = sent.map_err(|_| Failure::Unreachable)?;
        let date = response.headers().get(reqwest::header::DATE).and_then(|date| date.to_str().ok());
        if let Some(there) = date.and_then(|date| jiff::fmt::rfc2822::parse(date).ok()) {
            // The first is the one that a busy node answers soonest.
            self.clock_ahead.get_or_init(|| there.timestamp().as_second().saturating_sub(now_seconds()));
        }
        match response.status() {
            StatusCode::TOO_MANY_REQUESTS => return Err(Failure::RateLimited),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Err(Failure::Forbidden),
            status if status.is_server_error() || status.is_redirection() || status == StatusCode::NOT_FOUND => {
                return Err(Failure::Status(status.as_u16()));
            }
            // Some nodes put the JSON-RPC error object under another 4xx.
            _ => {}
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|_| Failure::Unreachable)? {
            if bytes.len().saturating_add(chunk.len()) > RESPONSE_BYTES_MAX {
                return Err(Failure::NotJsonRpc);
            }
            bytes.extend_from_slice(&chunk);
        }
        serde_json::from_slice(&bytes).map_err(|_| Failure::NotJsonRpc)
    }
}

pub(crate) fn now_seconds() -> i64 {
    jiff::Timestamp::now().as_second()
}
