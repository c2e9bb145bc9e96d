//! One endpoint over HTTP: its address is a secret, its answers are bounded, its chain id is checked before it is believed.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use engine::Chain;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, TryStreamExt, stream};
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Client, StatusCode, Url};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::dialect::Dialect;
use super::wire::{Answers, Parsed, Request, parse};
use super::{BATCH_CALLS_MAX, InvalidEndpoint, meter};
use crate::error::{CallError, UpstreamError};

/// Bytes of one answer after decompression; a larger one is refused while it arrives.
pub(crate) const RPC_RESPONSE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Of what contracts and accounts hold.
pub(crate) const DATA_BYTES_MAX: usize = 16 * 1024 * 1024;
/// An answer larger than this waits for its turn, so that the answers of one chain that arrive at once stay bounded in sum:
/// this times the requests in flight, and `LARGE_ANSWERS_MAX` times the bound above.
const SMALL_RESPONSE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Large answers of one chain that are read at once.
pub(super) const LARGE_ANSWERS_MAX: usize = 2;
const CONNECT_SECONDS_MAX: u64 = 3;
const IDLE_SECONDS_MAX: u64 = 60;
/// Calls of our own that are added to a batch: chain id and head.
const PIGGYBACK_CALLS_MAX: usize = 2;
/// Parts of a batch that the endpoint wanted smaller, under way at once.
const PARTS_MAX: usize = 2;
/// Good batches after which an endpoint is offered larger ones again.
const GOOD_BATCHES_MAX: usize = 200;

/// One call that is larger than any answer may be is that call's failure, and says nothing about the endpoint.
pub(super) const TOO_LARGE: UpstreamError = UpstreamError::BadResponse("the answer is too large");

pub(super) type Call<'a> = (&'static str, &'a Value);

pub(super) struct Endpoint {
    chain: Arc<Chain>,
    dialect: &'static Dialect,
    url: Url,
    client: Client,
    chain_checked: AtomicBool,
    /// Learned from refusals: the batch size that this endpoint takes.
    batch_max: AtomicUsize,
    good_batches: AtomicUsize,
    large: Arc<Semaphore>,
}

/// The address may hold a credential, so it is never printed.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").finish_non_exhaustive()
    }
}

/// What an endpoint said to a batch.
#[derive(Debug)]
pub(super) struct Sent {
    /// In the order of the calls.
    pub(super) answers: Answers,
    pub(super) head: Option<Box<RawValue>>,
}

/// Whether the question for the head is added to a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadPiggyback {
    No,
    IfRoom,
    Now,
}

/// Why an endpoint said nothing usable, and how long it wants to be left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) error: UpstreamError,
    pub(super) wish: Option<Duration>,
}

impl From<UpstreamError> for Failure {
    fn from(error: UpstreamError) -> Self {
        Self { error, wish: None }
    }
}

impl Endpoint {
    pub(super) fn new(
        chain: Arc<Chain>,
        dialect: &'static Dialect,
        url: &str,
        large: Arc<Semaphore>,
    ) -> Result<Self, InvalidEndpoint> {
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
        let batch_max = AtomicUsize::new(BATCH_CALLS_MAX);
        let chain_checked = AtomicBool::new(false);
        Ok(Self { chain, dialect, url, client, chain_checked, batch_max, good_batches: AtomicUsize::new(0), large })
    }

    /// Calls that are best gathered for one request to this endpoint, with room for our own that are due.
    pub(super) fn batch_calls(&self, head: HeadPiggyback) -> usize {
        let own = usize::from(self.must_check_chain()).saturating_add(usize::from(head != HeadPiggyback::No));
        self.batch_max.load(Ordering::Relaxed).saturating_sub(own).max(1)
    }

    fn must_check_chain(&self) -> bool {
        self.dialect.chain_id_method.is_some() && !self.chain_checked.load(Ordering::Acquire)
    }

    /// What stood behind the address may be another node now.
    pub(super) fn forget_chain(&self) {
        self.chain_checked.store(false, Ordering::Release);
    }

    /// The first batch to an endpoint also asks for its chain id and its head. Calls were gathered with room for that only if they go to
    /// the endpoint that is asked first; to another, they go in two requests.
    pub(super) async fn send(
        &self,
        calls: &[Call<'_>],
        head: HeadPiggyback,
        deadline: Instant,
    ) -> Result<Sent, Failure> {
        let chain_id = self.dialect.chain_id_method.filter(|_| self.must_check_chain());
        let checks = chain_id.is_some();
        let asked = calls.len().saturating_add(usize::from(checks));
        let most = self.batch_max.load(Ordering::Relaxed);
        let asks_head = match head {
            HeadPiggyback::No => false,
            HeadPiggyback::IfRoom => asked < most,
            HeadPiggyback::Now => most > 1,
        };
        let no_params = Value::Array(Vec::new());
        let (head_method, head_params) = self.dialect.head;
        let head_params = head_params();
        let mut all: Vec<Call<'_>> = Vec::with_capacity(calls.len().saturating_add(PIGGYBACK_CALLS_MAX));
        all.extend(chain_id.map(|method| (method, &no_params)));
        all.extend(asks_head.then_some((head_method, &head_params)));
        all.extend_from_slice(calls);
        let mut answers = self.send_split(&all, deadline).await?;
        if checks {
            let id = answers.remove(0).map_err(CallError::fatal)?;
            if !is_chain_id(&id, self.chain.chain_id) {
                return Err(UpstreamError::Inconsistent("the node's chain id is not the configured one").into());
            }
            self.chain_checked.store(true, Ordering::Release);
        }
        let head = if asks_head { answers.remove(0).ok() } else { None };
        Ok(Sent { answers, head })
    }

    /// Halves a batch that the endpoint refuses as a batch, and remembers the size.
    fn send_split<'a>(&'a self, calls: &'a [Call<'a>], deadline: Instant) -> BoxFuture<'a, Result<Answers, Failure>> {
        Box::pin(async move {
            let most = self.batch_max.load(Ordering::Relaxed).max(1);
            if calls.len() > most {
                return self.send_parts(calls, most, PARTS_MAX, deadline).await;
            }
            let half = calls.len().div_ceil(2);
            match self.exchange(calls, deadline).await? {
                Parsed::Answers(answers) => {
                    self.offer_more();
                    Ok(answers)
                }
                Parsed::RefusedBatch if calls.len() > 1 => {
                    self.batch_max.fetch_min(half, Ordering::Relaxed);
                    self.send_parts(calls, half, PARTS_MAX, deadline).await
                }
                Parsed::RefusedBatch => Ok(vec![Err(CallError::Refused)]),
                Parsed::TooLarge if calls.len() > 1 => self.send_parts(calls, half, 1, deadline).await,
                // A small question is never answered at such length but by a node that floods everything.
                Parsed::TooLarge if bytes_max(self.dialect, calls) <= SMALL_RESPONSE_BYTES_MAX => Err(TOO_LARGE.into()),
                Parsed::TooLarge => Ok(vec![Err(CallError::Upstream(TOO_LARGE))]),
            }
        })
    }

    async fn send_parts(
        &self,
        calls: &[Call<'_>],
        size: usize,
        at_once: usize,
        deadline: Instant,
    ) -> Result<Answers, Failure> {
        let mut parts = Vec::new();
        for part in calls.chunks(size.max(1)) {
            parts.push(self.send_split(part, deadline));
        }
        let answers: Vec<Answers> = stream::iter(parts).buffered(at_once).try_collect().await?;
        Ok(answers.into_iter().flatten().collect())
    }

    /// A node that was too busy for a batch once is not held to small ones for good.
    fn offer_more(&self) {
        if self.good_batches.fetch_add(1, Ordering::Relaxed) >= GOOD_BATCHES_MAX {
            self.good_batches.store(0, Ordering::Relaxed);
            let most = self.batch_max.load(Ordering::Relaxed);
            let more = most.saturating_mul(2).min(BATCH_CALLS_MAX);
            self.batch_max.store(more, Ordering::Relaxed);
        }
    }

    /// One HTTP request.
    async fn exchange(&self, calls: &[Call<'_>], deadline: Instant) -> Result<Parsed, Failure> {
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
        let begun = Instant::now();
        let read = async { self.post(body, calls).await };
        let said = match tokio::time::timeout_at(deadline, read).await {
            Ok(said) => said,
            Err(_) => Err(UpstreamError::Timeout.into()),
        };
        meter::request(&self.chain.slug, begun.elapsed(), said.as_ref().err().map(|failure| failure.error));
        said
    }

    async fn post(&self, body: Vec<u8>, calls: &[Call<'_>]) -> Result<Parsed, Failure> {
        let most = bytes_max(self.dialect, calls);
        let sent = self.client.post(self.url.clone()).header(CONTENT_TYPE, "application/json").body(body).send().await;
        let mut response = sent.map_err(|error| network(&error))?;
        let wish = || retry_after(response.headers(), SystemTime::now());
        match response.status() {
            StatusCode::TOO_MANY_REQUESTS => return Err(Failure { error: UpstreamError::RateLimited, wish: wish() }),
            StatusCode::PAYLOAD_TOO_LARGE => return Ok(Parsed::RefusedBatch),
            // Some nodes put the JSON-RPC error object under a 4xx: its body says more than its status.
            status if status.is_server_error() => {
                return Err(Failure { error: UpstreamError::Unavailable, wish: wish() });
            }
            status if status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN => {
                return Err(UpstreamError::Unavailable.into());
            }
            _ => {}
        }
        let mut bytes = Vec::new();
        let mut turn = None;
        while let Some(chunk) = response.chunk().await.map_err(|error| network(&error))? {
            let size = bytes.len().saturating_add(chunk.len());
            if size > most {
                return Ok(Parsed::TooLarge);
            }
            if size > SMALL_RESPONSE_BYTES_MAX && turn.is_none() {
                // While it waits it reads nothing, so the sender waits too.
                turn = self.large.acquire().await.ok();
            }
            bytes.extend_from_slice(&chunk);
        }
        let parsed = parse(&bytes, calls.len());
        drop(turn);
        Ok(parsed?)
    }
}

/// Only logs, traces and data are large. A node that floods every question is found out by the small ones.
fn bytes_max(dialect: &Dialect, calls: &[Call<'_>]) -> usize {
    let most = |method: &str| dialect.large_answers.iter().find(|(large, _)| *large == method).map(|(_, bytes)| *bytes);
    let all = calls.iter().map(|(method, _)| most(method).unwrap_or(SMALL_RESPONSE_BYTES_MAX));
    all.fold(0, usize::saturating_add).min(RPC_RESPONSE_BYTES_MAX)
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

/// Seconds, or a date. A date that has passed is no wish.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse::<u64>() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(now).ok(),
    }
}

fn is_chain_id(answer: &RawValue, expected: Option<u64>) -> bool {
    let said: Option<alloy_primitives::U64> = serde_json::from_str(answer.get()).ok();
    said.map(|id| id.to::<u64>()) == expected
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
        let chain = crate::Registry::embedded().unwrap().find("ethereum").cloned().unwrap();
        let endpoint = Endpoint::new(
            chain,
            &crate::evm::dialect::DIALECT,
            "https://user:secret@example.com/key",
            Arc::new(Semaphore::new(1)),
        );
        let printed = format!("{:?}", endpoint.unwrap());
        assert!(!printed.contains("secret") && !printed.contains("example"), "{printed}");
    }
}
