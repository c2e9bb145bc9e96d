//! One endpoint over HTTP: its address is a secret, its answers are bounded, its chain id is checked before it is believed.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use engine::{Chain, Family};
use futures_util::future::BoxFuture;
use reqwest::{Client, StatusCode, Url};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::wire::{Answers, Parsed, Request, parse};
use super::{BATCH_CALLS_MAX, InvalidEndpoint};
use crate::error::{CallError, UpstreamError};

/// Bytes of one answer after decompression; a larger one is refused while it arrives.
const RPC_RESPONSE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// One HTTP request is given up after this long.
const ATTEMPT_SECONDS_MAX: u64 = 8;
const CONNECT_SECONDS_MAX: u64 = 4;
const IDLE_SECONDS_MAX: u64 = 60;

pub(super) struct Endpoint {
    url: Url,
    client: Client,
    chain_checked: AtomicBool,
    /// Learned from refusals: the batch size that this endpoint takes.
    batch_max: AtomicUsize,
}

/// The address may hold a credential, so it is never printed.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").finish_non_exhaustive()
    }
}

impl Endpoint {
    pub(super) fn new(url: &str) -> Result<Self, InvalidEndpoint> {
        let url = Url::parse(url).map_err(|_| InvalidEndpoint)?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(InvalidEndpoint);
        }
        let client = Client::builder()
            .connect_timeout(Duration::from_secs(CONNECT_SECONDS_MAX))
            .pool_idle_timeout(Duration::from_secs(IDLE_SECONDS_MAX))
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("taxon/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|_| InvalidEndpoint)?;
        let batch_max = AtomicUsize::new(BATCH_CALLS_MAX);
        Ok(Self { url, client, chain_checked: AtomicBool::new(false), batch_max })
    }

    /// Answers in the order of the calls. The first batch to an endpoint also asks for its chain id.
    pub(super) async fn send(
        &self,
        chain: &Chain,
        calls: &[(&'static str, &Value)],
        deadline: Instant,
    ) -> Result<Answers, UpstreamError> {
        let check = chain.family == Family::Evm && !self.chain_checked.load(Ordering::Acquire);
        if !check {
            return self.send_split(calls, deadline).await;
        }
        let no_params = Value::Array(Vec::new());
        let mut with_id: Vec<(&'static str, &Value)> = Vec::with_capacity(calls.len().saturating_add(1));
        with_id.push(("eth_chainId", &no_params));
        with_id.extend_from_slice(calls);
        let mut answers = self.send_split(&with_id, deadline).await?;
        let id = answers.remove(0).map_err(CallError::fatal)?;
        if !is_chain_id(&id, chain.chain_id) {
            return Err(UpstreamError::Inconsistent("the node's chain id is not the configured one"));
        }
        self.chain_checked.store(true, Ordering::Release);
        Ok(answers)
    }

    /// Halves a batch that the endpoint refuses as a batch, and remembers the size.
    fn send_split<'a>(
        &'a self,
        calls: &'a [(&'static str, &'a Value)],
        deadline: Instant,
    ) -> BoxFuture<'a, Result<Answers, UpstreamError>> {
        Box::pin(async move {
            let most = self.batch_max.load(Ordering::Relaxed).max(1);
            // One more than the usual, for the chain id that rides along once.
            if calls.len() > most.saturating_add(1) {
                let (head, tail) = calls.split_at(calls.len() / 2);
                let mut answers = self.send_split(head, deadline).await?;
                answers.extend(self.send_split(tail, deadline).await?);
                return Ok(answers);
            }
            match self.exchange(calls, deadline).await? {
                Parsed::Answers(answers) => Ok(answers),
                Parsed::RefusedBatch => {
                    self.batch_max.store((calls.len() / 2).saturating_sub(1).max(1), Ordering::Relaxed);
                    let (head, tail) = calls.split_at(calls.len() / 2);
                    let mut answers = self.send_split(head, deadline).await?;
                    answers.extend(self.send_split(tail, deadline).await?);
                    Ok(answers)
                }
            }
        })
    }

    async fn exchange(&self, calls: &[(&'static str, &Value)], deadline: Instant) -> Result<Parsed, UpstreamError> {
        let requests: Vec<Request<'_>> = calls
            .iter()
            .enumerate()
            .map(|(id, (method, params))| Request { jsonrpc: "2.0", id, method, params })
            .collect();
        let body = match requests.as_slice() {
            [one] => serde_json::to_vec(one),
            many => serde_json::to_vec(many),
        }
        .map_err(|_| UpstreamError::BadResponse("the request could not be written"))?;
        let limit = deadline.min(Instant::now() + Duration::from_secs(ATTEMPT_SECONDS_MAX));
        match tokio::time::timeout_at(limit, self.post(body)).await {
            Ok(Ok(bytes)) => parse(&bytes, calls.len()),
            Ok(Err(Post::Failed(error))) => Err(error),
            Ok(Err(Post::TooLarge)) if calls.len() > 1 => Ok(Parsed::RefusedBatch),
            Ok(Err(Post::TooLarge)) => Err(UpstreamError::BadResponse("the answer is too large")),
            Err(_) => Err(UpstreamError::Timeout),
        }
    }

    async fn post(&self, body: Vec<u8>) -> Result<Vec<u8>, Post> {
        let sent = self
            .client
            .post(self.url.clone())
            .header(reqwest::header::CONTENT_TYPE, "application/json")
            .body(body)
            .send()
            .await;
        let mut response = sent.map_err(|error| Post::Failed(network(&error)))?;
        match response.status() {
            StatusCode::TOO_MANY_REQUESTS => return Err(Post::Failed(UpstreamError::RateLimited)),
            StatusCode::PAYLOAD_TOO_LARGE => return Err(Post::TooLarge),
            // Some nodes put the JSON-RPC error object under a 4xx: its body says more than its status.
            status if status.is_server_error() => return Err(Post::Failed(UpstreamError::Unavailable)),
            status if status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN => {
                return Err(Post::Failed(UpstreamError::Unavailable));
            }
            _ => {}
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| Post::Failed(network(&error)))? {
            if bytes.len().saturating_add(chunk.len()) > RPC_RESPONSE_BYTES_MAX {
                return Err(Post::TooLarge);
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}

enum Post {
    TooLarge,
    Failed(UpstreamError),
}

/// The client's own error text names the address, so only its kind is kept.
fn network(error: &reqwest::Error) -> UpstreamError {
    if error.is_timeout() {
        UpstreamError::Timeout
    } else if error.is_decode() || error.is_body() {
        UpstreamError::BadResponse("the answer broke off")
    } else {
        UpstreamError::Unavailable
    }
}

fn is_chain_id(answer: &RawValue, expected: Option<u64>) -> bool {
    let said: Option<alloy_primitives::U64> = serde_json::from_str(answer.get()).ok();
    said.map(|id| id.to::<u64>()) == expected
}
