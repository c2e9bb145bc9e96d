//! One endpoint over HTTP: its address is a secret, its answers are bounded, its chain id is checked before it is believed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use engine::Chain;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::time::Instant;

pub(super) use super::connection::RpcCall;
use super::connection::{Bounds, Connection, RequestFault};
use super::dialect::Dialect;
use super::wire::{Answers, Parsed};
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
/// Calls of our own that are added to a batch: chain id and head.
const PIGGYBACK_CALLS_MAX: usize = 2;
/// Parts of a batch that the endpoint wanted smaller, under way at once.
const PARTS_MAX: usize = 2;
/// Good batches after which an endpoint is offered larger ones again.
const GOOD_BATCHES_MAX: usize = 200;

/// One call that is larger than any answer may be is that call's failure, and says nothing about the endpoint.
pub(super) const TOO_LARGE: UpstreamError = UpstreamError::BadResponse("the answer is too large");

#[derive(Debug)]
pub(super) struct Endpoint {
    chain: Arc<Chain>,
    dialect: &'static Dialect,
    connection: Connection,
    chain_checked: AtomicBool,
    /// Learned from refusals: the batch size that this endpoint takes.
    batch_max: AtomicUsize,
    good_batches: AtomicUsize,
    large: Arc<Semaphore>,
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
pub(super) struct EndpointFailure {
    pub(super) error: UpstreamError,
    pub(super) wish: Option<Duration>,
}

impl From<UpstreamError> for EndpointFailure {
    fn from(error: UpstreamError) -> Self {
        Self { error, wish: None }
    }
}

impl From<RequestFault> for EndpointFailure {
    fn from(fault: RequestFault) -> Self {
        let (error, wish) = match fault {
            RequestFault::Unwritten => (UpstreamError::BadResponse("the request could not be written"), None),
            RequestFault::Timeout => (UpstreamError::Timeout, None),
            RequestFault::BrokeOff => (UpstreamError::BadResponse("the answer broke off"), None),
            RequestFault::RateLimited(wish) => (UpstreamError::RateLimited, wish),
            RequestFault::Unreachable | RequestFault::Forbidden => (UpstreamError::Unavailable, None),
            RequestFault::Failed(_, wish) => (UpstreamError::Unavailable, wish),
        };
        Self { error, wish }
    }
}

impl Endpoint {
    pub(super) fn new(
        chain: Arc<Chain>,
        dialect: &'static Dialect,
        url: &str,
        large: Arc<Semaphore>,
    ) -> Result<Self, InvalidEndpoint> {
        let connection = Connection::new(url)?;
        let batch_max = AtomicUsize::new(BATCH_CALLS_MAX);
        let chain_checked = AtomicBool::new(false);
        Ok(Self { chain, dialect, connection, chain_checked, batch_max, good_batches: AtomicUsize::new(0), large })
    }

    /// Calls that are best gathered for one request to this endpoint, with room for our own that are due.
    pub(super) fn batch_calls(&self, head: HeadPiggyback) -> usize {
        let own = usize::from(self.must_check_chain()).saturating_add(usize::from(head != HeadPiggyback::No));
        self.batch_max.load(Ordering::Relaxed).saturating_sub(own).max(1)
    }

    fn must_check_chain(&self) -> bool {
        self.dialect.chain_id_method.is_some() && !self.chain_checked.load(Ordering::Acquire)
    }

    /// The address may lead to another node now.
    pub(super) fn forget_chain(&self) {
        self.chain_checked.store(false, Ordering::Release);
    }

    /// The first batch to an endpoint also asks for its chain id and its head. Calls were gathered with room for that only if they go to
    /// the endpoint that is asked first; to another, they go in two requests.
    pub(super) async fn send(
        &self,
        calls: &[RpcCall<'_>],
        head: HeadPiggyback,
        deadline: Instant,
    ) -> Result<Sent, EndpointFailure> {
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
        let mut all: Vec<RpcCall<'_>> = Vec::with_capacity(calls.len().saturating_add(PIGGYBACK_CALLS_MAX));
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
    fn send_split<'a>(
        &'a self,
        calls: &'a [RpcCall<'a>],
        deadline: Instant,
    ) -> BoxFuture<'a, Result<Answers, EndpointFailure>> {
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
                // Only a node that floods every answer sends this much for a small call.
                Parsed::TooLarge if bytes_max(self.dialect, calls) <= SMALL_RESPONSE_BYTES_MAX => Err(TOO_LARGE.into()),
                Parsed::TooLarge => Ok(vec![Err(CallError::Upstream(TOO_LARGE))]),
            }
        })
    }

    async fn send_parts(
        &self,
        calls: &[RpcCall<'_>],
        size: usize,
        at_once: usize,
        deadline: Instant,
    ) -> Result<Answers, EndpointFailure> {
        let mut parts = Vec::new();
        for part in calls.chunks(size.max(1)) {
            parts.push(self.send_split(part, deadline));
        }
        let answers: Vec<Answers> = stream::iter(parts).buffered(at_once).try_collect().await?;
        Ok(answers.into_iter().flatten().collect())
    }

    /// A node that was once too busy for a batch gets larger batches again.
    fn offer_more(&self) {
        if self.good_batches.fetch_add(1, Ordering::Relaxed) >= GOOD_BATCHES_MAX {
            self.good_batches.store(0, Ordering::Relaxed);
            let most = self.batch_max.load(Ordering::Relaxed);
            let more = most.saturating_mul(2).min(BATCH_CALLS_MAX);
            self.batch_max.store(more, Ordering::Relaxed);
        }
    }

    /// One HTTP request.
    async fn exchange(&self, calls: &[RpcCall<'_>], deadline: Instant) -> Result<Parsed, EndpointFailure> {
        let begun = Instant::now();
        let bytes_max = bytes_max(self.dialect, calls);
        let bounds = Bounds { bytes_max, large: Some((SMALL_RESPONSE_BYTES_MAX, &self.large)) };
        let said = match tokio::time::timeout_at(deadline, self.connection.post(calls, bounds)).await {
            Ok(Ok(reply)) => reply.parsed.map_err(EndpointFailure::from),
            Ok(Err(fault)) => Err(fault.into()),
            Err(_) => Err(UpstreamError::Timeout.into()),
        };
        meter::request(&self.chain.slug, begun.elapsed(), said.as_ref().err().map(|failure| failure.error));
        said
    }
}

/// Only logs, traces and data are large. A node that floods every answer is detected by the small ones.
fn bytes_max(dialect: &Dialect, calls: &[RpcCall<'_>]) -> usize {
    let most = |(method, params): &RpcCall<'_>| (dialect.large_answer)(method, params);
    let all = calls.iter().map(|call| most(call).unwrap_or(SMALL_RESPONSE_BYTES_MAX));
    all.fold(0, usize::saturating_add).min(RPC_RESPONSE_BYTES_MAX)
}

fn is_chain_id(answer: &RawValue, expected: Option<u64>) -> bool {
    let said: Option<alloy_primitives::U64> = serde_json::from_str(answer.get()).ok();
    said.map(|id| id.to::<u64>()) == expected
}
