//! JSON-RPC to the nodes of one chain. Calls in flight at the same moment, from whichever request, share one HTTP request;
//! nodes fail over to one another; answers are matched by id and bounded in size.

mod http;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use engine::Chain;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::Instant;

use crate::error::{CallError, UpstreamError};
use crate::tape::{Recorder, Tape};
use http::Endpoint;

/// Calls in one HTTP request. Providers refuse much larger batches, and one slow trace holds up its whole batch.
const BATCH_CALLS_MAX: usize = 100;
/// How long it must be quiet before the calls gathered so far are sent.
pub(crate) const GATHER_MILLIS: u64 = 2;
/// No call waits longer than this for others to share its request with.
const GATHER_MILLIS_MAX: u64 = 12;
/// Calls that may wait to be sent, per chain; past it the caller is told at once.
const QUEUE_CALLS_MAX: usize = 20_000;
/// HTTP requests under way at once, per chain.
const REQUESTS_IN_FLIGHT_MAX: usize = 16;
/// A call is given up after this long, retries included.
const CALL_SECONDS_MAX: u64 = 20;
/// Times that a batch is sent in all, over all endpoints.
const ATTEMPTS_MAX: usize = 3;
/// Pause before an attempt at an endpoint that has failed already; jitter adds up to as much again.
const BACKOFF_MILLIS: u64 = 150;
/// Times that a call is asked again when a node refuses it and there is no way on without it.
const REFUSALS_MAX: usize = 3;

/// The nodes of one chain.
#[derive(Debug)]
pub struct Node {
    pub chain: Arc<Chain>,
    route: Route,
    recorder: Option<Arc<Recorder>>,
}

#[derive(Debug)]
enum Route {
    Live(mpsc::Sender<Pending>),
    Tape(Arc<Tape>),
}

#[derive(Debug)]
struct Pending {
    method: &'static str,
    params: Value,
    /// Which endpoint to begin with: a call that one node refused is asked of the next.
    turn: usize,
    reply: oneshot::Sender<Result<Box<RawValue>, CallError>>,
}

impl Node {
    /// Starts the task that gathers and sends. It ends when the node is dropped.
    pub fn live(chain: Arc<Chain>, urls: &[String], recorder: Option<Arc<Recorder>>) -> Result<Self, InvalidEndpoint> {
        let endpoints: Vec<Arc<Endpoint>> =
            urls.iter().map(|url| Endpoint::new(url).map(Arc::new)).collect::<Result<_, _>>()?;
        let (queue, waiting) = mpsc::channel(QUEUE_CALLS_MAX);
        tokio::spawn(gather(Arc::clone(&chain), endpoints, waiting));
        Ok(Self { chain, route: Route::Live(queue), recorder })
    }

    pub fn tape(chain: Arc<Chain>, tape: Arc<Tape>) -> Self {
        Self { chain, route: Route::Tape(tape), recorder: None }
    }

    /// One call; the node may refuse it.
    pub async fn call(&self, method: &'static str, params: Value) -> Result<Box<RawValue>, CallError> {
        self.call_from(0, method, params).await
    }

    /// A call that there is no way on without: a refusal is asked again, of the next endpoint.
    pub async fn demand(&self, method: &'static str, params: Value) -> Result<Box<RawValue>, UpstreamError> {
        let mut turn = 0;
        loop {
            match self.call_from(turn, method, params.clone()).await {
                Err(CallError::Refused) if turn < REFUSALS_MAX => turn = turn.saturating_add(1),
                Err(error) => return Err(error.fatal()),
                Ok(result) => return Ok(result),
            }
        }
    }

    async fn call_from(&self, turn: usize, method: &'static str, params: Value) -> Result<Box<RawValue>, CallError> {
        let queue = match &self.route {
            Route::Tape(tape) => return tape.answer(&self.chain.slug, method, &params),
            Route::Live(queue) => queue,
        };
        let (reply, answer) = oneshot::channel();
        let pending = Pending { method, params: params.clone(), turn, reply };
        queue.try_send(pending).map_err(|_| CallError::Upstream(UpstreamError::Unavailable))?;
        let answer = match tokio::time::timeout(Duration::from_secs(CALL_SECONDS_MAX), answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(CallError::Upstream(UpstreamError::Unavailable)),
            Err(_) => Err(CallError::Upstream(UpstreamError::Timeout)),
        };
        if let Some(recorder) = &self.recorder {
            recorder.record(&self.chain.slug, method, &params, &answer);
        }
        answer
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an upstream address is not a valid http or https URL")]
pub struct InvalidEndpoint;

/// Waits for a first call, lets others join it while they keep coming, and sends them together.
async fn gather(chain: Arc<Chain>, endpoints: Vec<Arc<Endpoint>>, mut waiting: mpsc::Receiver<Pending>) {
    let slots = Arc::new(Semaphore::new(REQUESTS_IN_FLIGHT_MAX));
    let endpoints = Arc::new(endpoints);
    while let Some(first) = waiting.recv().await {
        let latest = Instant::now() + Duration::from_millis(GATHER_MILLIS_MAX);
        let mut batch = vec![first];
        while batch.len() < BATCH_CALLS_MAX {
            let quiet = latest.min(Instant::now() + Duration::from_millis(GATHER_MILLIS));
            match tokio::time::timeout_at(quiet, waiting.recv()).await {
                Ok(Some(next)) => batch.push(next),
                Ok(None) | Err(_) => break,
            }
        }
        dispatch(&chain, &endpoints, &slots, batch).await;
    }
}

async fn dispatch(
    chain: &Arc<Chain>,
    endpoints: &Arc<Vec<Arc<Endpoint>>>,
    slots: &Arc<Semaphore>,
    mut batch: Vec<Pending>,
) {
    // Whoever asked may have gone: the first chain that had the hash won.
    batch.retain(|pending| !pending.reply.is_closed());
    if batch.is_empty() {
        return;
    }
    let Ok(slot) = Arc::clone(slots).acquire_owned().await else { return };
    let (chain, endpoints) = (Arc::clone(chain), Arc::clone(endpoints));
    tokio::spawn(async move {
        deliver(&chain, &endpoints, batch).await;
        drop(slot);
    });
}

/// Sends a batch, moving on to the next endpoint when one fails, and hands each caller its answer.
async fn deliver(chain: &Chain, endpoints: &[Arc<Endpoint>], batch: Vec<Pending>) {
    let deadline = Instant::now() + Duration::from_secs(CALL_SECONDS_MAX);
    let turn = batch.iter().map(|pending| pending.turn).max().unwrap_or(0);
    let mut failure = UpstreamError::Unavailable;
    for attempt in 0..ATTEMPTS_MAX.max(endpoints.len()) {
        let at = attempt.saturating_add(turn) % endpoints.len().max(1);
        let Some(endpoint) = endpoints.get(at) else { break };
        if attempt >= endpoints.len() {
            tokio::time::sleep(backoff(attempt)).await;
        }
        let calls: Vec<(&'static str, &Value)> =
            batch.iter().map(|pending| (pending.method, &pending.params)).collect();
        match endpoint.send(chain, &calls, deadline).await {
            Ok(answers) => {
                for (pending, answer) in batch.into_iter().zip(answers) {
                    // A caller that has gone needs no answer.
                    let _ = pending.reply.send(answer);
                }
                return;
            }
            Err(error) => {
                tracing::debug!(chain = %chain.slug, attempt, code = error.code(), "upstream attempt failed");
                failure = error;
            }
        }
        if !failure.is_retryable() || Instant::now() >= deadline {
            break;
        }
    }
    tracing::warn!(chain = %chain.slug, calls = batch.len(), code = failure.code(), "upstream gave no answer");
    for pending in batch {
        let _ = pending.reply.send(Err(CallError::Upstream(failure)));
    }
}

fn backoff(attempt: usize) -> Duration {
    let step = u64::try_from(attempt).unwrap_or(1).saturating_mul(BACKOFF_MILLIS);
    let jitter = rand::random_range(0..=BACKOFF_MILLIS);
    Duration::from_millis(step.saturating_add(jitter))
}
