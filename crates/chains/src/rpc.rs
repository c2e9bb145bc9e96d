//! JSON-RPC to the nodes of one chain. Calls in flight at the same moment, from whichever request, share one HTTP request;
//! nodes fail over to one another; answers are matched by id and bounded in size.

pub(crate) mod connection;
mod delivery;
mod dialect;
mod explorer;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod head;
mod http;
mod meter;
mod pace;
mod roster;
mod unsupported;
pub(crate) mod wire;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::Chain;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::Instant;

use crate::error::{CallError, UpstreamError};
use crate::tape::{Recorder, Tape};
use delivery::{Answered, Moment, Pending, deliver, is_trace};
pub(crate) use dialect::Dialect;
pub(crate) use explorer::account::{PageQuery, Side};
pub use explorer::{EXPLORER_PER_SECOND, ExplorerFault};
pub(crate) use explorer::{Explorer, InternalRow, Listed};
pub(crate) use http::{DATA_BYTES_MAX, RPC_RESPONSE_BYTES_MAX};
pub(crate) use roster::Endpoints;
use roster::{Roster, UndeliveredAnswers};
pub use unsupported::UNSUPPORTED_SECONDS_MAX;
use unsupported::UnsupportedMethods;

/// Calls in one HTTP request, our own among them. Providers refuse batches of more than a hundred.
const BATCH_CALLS_MAX: usize = 100;
/// How long it must be quiet before the calls gathered so far are sent, and how often it is looked.
const GATHER_MILLIS: u64 = 2;
const GATHER_LOOK_MILLIS: u64 = 1;
/// Calls wait up to 12 ms for more calls to share their request with, and up to 50 ms while delivered answers have not been polled,
/// since their callers usually ask again: then the machine is busier than the nodes are.
const GATHER_MILLIS_MAX: u64 = 12;
const GATHER_UNDELIVERED_MILLIS_MAX: u64 = 50;
/// Calls that may wait to be sent, per chain; past it a call fails at once.
const QUEUE_CALLS_MAX: usize = 20_000;
/// Batches under way at once, per chain; and batches of traces alone, which may be slow without holding up the others.
const BATCHES_IN_FLIGHT_MAX: usize = 16;
const TRACE_BATCHES_IN_FLIGHT_MAX: usize = 8;
/// A call is given up after this long: waiting, retries and every endpoint included.
const CALL_SECONDS_MAX: u64 = 8;
/// A trace shows more than the rest does, but the rest can be read without it.
const TRACE_SECONDS_MAX: u64 = 5;
/// The traces of a whole block: a node runs hundreds of transactions for them.
const BLOCK_TRACES_SECONDS_MAX: u64 = 10;
/// Delivery tells every caller by its deadline what was wrong; only where it cannot, the caller gives up by itself, this much later.
const BACKSTOP_MILLIS: u64 = 500;
/// Times that a call is asked in all when nodes refuse it, cannot be read or say that there is nothing.
const TURNS_MAX: usize = 3;
/// Endpoints that must agree that there is nothing, where the chain has that many.
const ABSENCES_MAX: usize = 2;

/// The nodes of one chain.
#[derive(Debug)]
pub struct Node {
    pub chain: Arc<Chain>,
    dialect: &'static Dialect,
    transport: Transport,
    recorder: Option<Arc<Recorder>>,
    unsupported: Mutex<UnsupportedMethods>,
    /// Asked for what the nodes cannot tell.
    pub(crate) explorer: Option<Explorer>,
}

#[derive(Debug)]
enum Transport {
    Live(Live),
    Tape(Arc<Tape>),
}

#[derive(Debug)]
struct Live {
    roster: Arc<Roster>,
    rounds: Arc<OpenRounds>,
    queue: mpsc::Sender<Pending>,
    /// Used while traces are slow.
    traces: mpsc::Sender<Pending>,
}

/// How a call is sent: which endpoints it avoids, its deadline, and whether it waits for others.
#[derive(Debug, Clone, Copy)]
struct CallOptions {
    avoid: Endpoints,
    deadline: Instant,
    moment: Moment,
}

impl CallOptions {
    fn of(method: &str) -> Self {
        let seconds = match method {
            "debug_traceBlockByNumber" | "trace_block" => BLOCK_TRACES_SECONDS_MAX,
            method if is_trace(method) => TRACE_SECONDS_MAX,
            _ => CALL_SECONDS_MAX,
        };
        let deadline = Instant::now() + Duration::from_secs(seconds);
        Self { avoid: Endpoints::default(), deadline, moment: Moment::Gathering }
    }
}

/// Who is asked for a method that not every endpoint offers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer {
    /// The first that may offer it.
    pub(crate) endpoint: usize,
    avoid: Endpoints,
    without: Endpoints,
}

impl Offer {
    /// The same, but never sent to an endpoint that does not offer it, even if that takes a separate request.
    pub(crate) fn apart(self) -> Self {
        Self { avoid: self.avoid.and(self.without), ..self }
    }
}

/// An answer, and the index of the endpoint that gave it.
#[derive(Debug)]
pub(crate) struct AttributedAnswer<T> {
    pub(crate) value: T,
    pub(crate) by: usize,
}

impl Node {
    /// Starts the tasks that gather and send. They end when the node is dropped.
    pub(crate) fn live(
        chain: Arc<Chain>,
        dialect: &'static Dialect,
        urls: &[String],
        recorder: Option<Arc<Recorder>>,
    ) -> Result<Self, InvalidEndpoint> {
        let roster = Arc::new(Roster::new(Arc::clone(&chain), dialect, urls)?);
        let rounds = Arc::new(OpenRounds::default());
        let lane = |batches: usize| {
            let (queue, waiting) = mpsc::channel(QUEUE_CALLS_MAX);
            let slots = Arc::new(Semaphore::new(batches));
            tokio::spawn(gather(Arc::clone(&roster), Arc::clone(&rounds), slots, waiting));
            queue
        };
        let (queue, traces) = (lane(BATCHES_IN_FLIGHT_MAX), lane(TRACE_BATCHES_IN_FLIGHT_MAX));
        let transport = Transport::Live(Live { roster, rounds, queue, traces });
        Ok(Self { chain, dialect, transport, recorder, unsupported: Mutex::default(), explorer: None })
    }

    /// With an explorer in the form of Etherscan, asked so many times a second at most.
    pub fn with_explorer(self, url: &str, per_second: u32) -> Result<Self, InvalidEndpoint> {
        Ok(Self { explorer: Some(Explorer::new(url, per_second)?), ..self })
    }

    pub(crate) fn tape(chain: Arc<Chain>, dialect: &'static Dialect, tape: Arc<Tape>) -> Self {
        let transport = Transport::Tape(tape);
        Self { chain, dialect, transport, recorder: None, unsupported: Mutex::default(), explorer: None }
    }

    /// One call; the node may refuse it.
    pub async fn call(&self, method: &'static str, params: Value) -> Result<Box<RawValue>, CallError> {
        self.call_at(Moment::Gathering, method, params).await
    }

    /// The same without waiting for other calls, for a call that was gathered already.
    pub(crate) async fn call_gathered(&self, method: &'static str, params: Value) -> Result<Box<RawValue>, CallError> {
        self.call_at(Moment::Gathered, method, params).await
    }

    async fn call_at(&self, moment: Moment, method: &'static str, params: Value) -> Result<Box<RawValue>, CallError> {
        let first = CallOptions { moment, ..CallOptions::of(method) };
        let Answered { by, answer } = self.ask(first, method, &params).await;
        match (by, &answer) {
            // What is too large at one endpoint need not be at another.
            (Some(by), Err(CallError::Upstream(_))) if self.endpoints() > 1 => {
                self.call_elsewhere(Endpoints::default().with(by), method, params).await.answer
            }
            (_, _) => answer,
        }
    }

    /// The same, of other endpoints than those if there are any.
    pub(crate) async fn call_elsewhere(&self, avoid: Endpoints, method: &'static str, params: Value) -> Answered {
        self.ask(CallOptions { avoid, ..CallOptions::of(method) }, method, &params).await
    }

    /// Who may be asked for a method that not every endpoint offers; `None` when none does, as far as is known now.
    pub(crate) fn offer(&self, avoid: Endpoints, method: &'static str) -> Option<Offer> {
        let without = self.unsupported(|methods| methods.endpoints(method, Instant::now()));
        let all = 0..self.endpoints();
        let endpoint = all.clone().find(|endpoint| !avoid.has(*endpoint) && !without.has(*endpoint))?;
        let is_first = all.into_iter().find(|endpoint| !avoid.has(*endpoint)) == Some(endpoint);
        // Calls that avoid the same endpoints share a request. One that goes to the first endpoint anyway need not be sent apart for
        // the sake of others that do not offer the method.
        Some(Offer { endpoint, avoid: if is_first { avoid } else { avoid.and(without) }, without })
    }

    pub(crate) async fn call_offered(&self, offer: Offer, method: &'static str, params: Value) -> Answered {
        self.call_elsewhere(offer.avoid, method, params).await
    }

    fn unsupported<T>(&self, change: impl FnOnce(&mut UnsupportedMethods) -> T) -> T {
        change(&mut self.unsupported.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A call whose answer is required. `read` says what an answer means: a value, nothing, or that it cannot be believed.
    ///
    /// A refusal, and what cannot be believed, is asked of the next endpoint; so is "nothing", since a node may be behind. Nothing is
    /// the answer only when an endpoint said so that is not known to be behind, and none said otherwise.
    pub(crate) async fn call_required<T>(
        &self,
        avoid: Endpoints,
        method: &'static str,
        params: Value,
        mut read: impl FnMut(&RawValue) -> Result<Option<T>, UpstreamError>,
    ) -> Result<Option<AttributedAnswer<T>>, UpstreamError> {
        let options = CallOptions::of(method);
        let mut asked = avoid;
        let (mut absences, mut is_shown) = (0, false);
        let mut failure = None;
        for _ in 0..TURNS_MAX {
            let Answered { by, answer } = self.ask(CallOptions { avoid: asked, ..options }, method, &params).await;
            let by = match by {
                Some(by) => by,
                // Delivery has tried every endpoint by itself.
                None => {
                    failure = failure.or(answer.err().map(CallError::fatal));
                    break;
                }
            };
            asked = asked.with(by);
            match answer.map_err(CallError::fatal).and_then(|answer| read(&answer)) {
                Ok(Some(value)) => return Ok(Some(AttributedAnswer { value, by })),
                Ok(None) => {
                    absences = usize::saturating_add(absences, 1);
                    is_shown |= !self.is_behind(by);
                }
                Err(contradiction @ UpstreamError::Inconsistent(_)) => failure = Some(contradiction),
                Err(error) => failure = failure.or(Some(error)),
            }
            let is_alone = self.have_all_been_asked(asked);
            if absences > 0 && (is_alone || (is_shown && absences >= ABSENCES_MAX)) {
                break;
            }
            if is_alone {
                asked = avoid;
            }
        }
        match failure {
            Some(contradiction @ UpstreamError::Inconsistent(_)) => Err(contradiction),
            _ if is_shown => Ok(None),
            Some(error) => Err(error),
            None => Err(UpstreamError::Behind),
        }
    }

    /// Waits while more join, with the same bounds as calls; `count` tells how many have joined. Send with `call_gathered` afterwards: calls that were
    /// made meanwhile wait for that, as long as the round is held, to share its request.
    pub(crate) async fn let_others_join(&self, count: impl Fn() -> usize) -> Option<OpenRound> {
        let Transport::Live(live) = &self.transport else { return None };
        let round = OpenRound::new(&live.rounds);
        let mut patience = Patience::new(live.roster.undelivered(), None, Instant::now());
        let mut joined = count();
        while !patience.is_over(Instant::now()) {
            tokio::time::sleep(Duration::from_millis(GATHER_LOOK_MILLIS)).await;
            let before = std::mem::replace(&mut joined, count());
            if joined != before {
                patience.join(Instant::now());
            }
        }
        Some(round)
    }

    pub(crate) fn endpoints(&self) -> usize {
        match &self.transport {
            Transport::Live(live) => live.roster.count(),
            Transport::Tape(_) => 1,
        }
    }

    /// Whether it only plays back what was recorded.
    pub(crate) fn is_recorded(&self) -> bool {
        matches!(self.transport, Transport::Tape(_))
    }

    fn is_behind(&self, endpoint: usize) -> bool {
        match &self.transport {
            Transport::Live(live) => live.roster.is_behind(endpoint),
            Transport::Tape(_) => false,
        }
    }

    fn have_all_been_asked(&self, asked: Endpoints) -> bool {
        match &self.transport {
            Transport::Live(live) => live.roster.covers(asked),
            Transport::Tape(_) => asked.has(0),
        }
    }

    async fn ask(&self, options: CallOptions, method: &'static str, params: &Value) -> Answered {
        let answered = self.ask_route(options, method, params).await;
        if let Some(by) = answered.by {
            match answered.answer {
                Ok(_) => self.unsupported(|methods| methods.answered(method, by)),
                Err(CallError::Unsupported) => self.unsupported(|methods| methods.refused(method, by, Instant::now())),
                Err(CallError::Refused | CallError::Upstream(_)) => {}
            }
        }
        answered
    }

    async fn ask_route(&self, options: CallOptions, method: &'static str, params: &Value) -> Answered {
        let live = match &self.transport {
            Transport::Tape(tape) => {
                let answer = match tape.recorded(&self.chain.slug, method, params) {
                    Some(answer) => answer,
                    // A transaction that is not on the tape is not on the chain.
                    None if method == self.dialect.lookup_method => Ok(RawValue::NULL.to_owned()),
                    None => Err(CallError::Refused),
                };
                return Answered { by: Some(0), answer };
            }
            Transport::Live(live) => live,
        };
        let answered = live.ask(options, method, params).await;
        if let Some(recorder) = &self.recorder {
            recorder.record(&self.chain.slug, method, params, &answered.answer);
        }
        answered
    }
}

impl Live {
    async fn ask(&self, options: CallOptions, method: &'static str, params: &Value) -> Answered {
        let CallOptions { avoid, deadline, moment } = options;
        let failed = |error| Answered { by: None, answer: Err(CallError::Upstream(error)) };
        // A chain that is down fails the call at once, before it waits in the queue.
        if let Some(error) = self.roster.refusal(avoid) {
            return failed(error);
        }
        let (reply, answer) = oneshot::channel();
        let pending = Pending { method, params: params.clone(), avoid, deadline, moment, reply };
        let lane = if is_trace(method) && self.roster.are_traces_apart() { &self.traces } else { &self.queue };
        let slug = &self.roster.chain().slug;
        meter::queued(slug);
        if lane.try_send(pending).is_err() {
            meter::unqueued(slug);
            return failed(UpstreamError::Unavailable);
        }
        let backstop = deadline + Duration::from_millis(BACKSTOP_MILLIS);
        match tokio::time::timeout_at(backstop, answer).await {
            Ok(Ok((answered, _))) => answered,
            Ok(Err(_)) => failed(UpstreamError::Unavailable),
            Err(_) => failed(UpstreamError::Timeout),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an upstream address is not a valid http or https URL")]
pub struct InvalidEndpoint;

/// How long calls wait for others to share a request with: until no more come and every delivered answer was polled, within the bounds above.
#[derive(Debug)]
struct Patience<'a> {
    undelivered: &'a UndeliveredAnswers,
    /// Calls are about to be made that others may share a request with; nothing where those are waited for themselves.
    rounds: Option<&'a OpenRounds>,
    began: Instant,
    joined: Instant,
}

impl<'a> Patience<'a> {
    fn new(undelivered: &'a UndeliveredAnswers, rounds: Option<&'a OpenRounds>, now: Instant) -> Self {
        Self { undelivered, rounds, began: now, joined: now }
    }

    /// One more has joined. Others may follow, so the wait is extended, within the maximum.
    fn join(&mut self, now: Instant) -> Moment {
        self.joined = now;
        if self.is_over(now) { Moment::Gathered } else { Moment::Gathering }
    }

    fn is_over(&self, now: Instant) -> bool {
        let is_busy = self.undelivered.is_any();
        let is_awaited = self.rounds.is_some_and(OpenRounds::is_any);
        let is_quiet =
            !is_busy && !is_awaited && now.duration_since(self.joined) >= Duration::from_millis(GATHER_MILLIS);
        let most = if is_busy { GATHER_UNDELIVERED_MILLIS_MAX } else { GATHER_MILLIS_MAX };
        is_quiet || now.duration_since(self.began) >= Duration::from_millis(most)
    }
}

/// Rounds of calls that are being gathered, such as those for the metadata of tokens.
#[derive(Debug, Default)]
struct OpenRounds(AtomicUsize);

impl OpenRounds {
    fn is_any(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenRound(Arc<OpenRounds>);

impl OpenRound {
    fn new(rounds: &Arc<OpenRounds>) -> Self {
        rounds.0.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(rounds))
    }
}

impl Drop for OpenRound {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits for a first call, lets others join it while they keep coming, and sends them together.
async fn gather(
    roster: Arc<Roster>,
    rounds: Arc<OpenRounds>,
    slots: Arc<Semaphore>,
    mut waiting: mpsc::Receiver<Pending>,
) {
    while let Some(first) = waiting.recv().await {
        let most = roster.batch_calls();
        let mut patience = Patience::new(roster.undelivered(), Some(&rounds), Instant::now());
        let mut moment = first.moment;
        let mut batch = vec![first];
        while batch.len() < most {
            let next = match moment {
                // Calls that are in the queue already join the batch.
                Moment::Gathered => waiting.try_recv().ok(),
                Moment::Gathering => {
                    let look = Duration::from_millis(GATHER_LOOK_MILLIS);
                    match tokio::time::timeout(look, waiting.recv()).await {
                        Ok(next) => next,
                        Err(_) if patience.is_over(Instant::now()) => None,
                        Err(_) => continue,
                    }
                }
            };
            let Some(next) = next else { break };
            moment = moment.max(next.moment).max(patience.join(Instant::now()));
            batch.push(next);
        }
        dispatch(&roster, &slots, batch).await;
    }
}

async fn dispatch(roster: &Arc<Roster>, slots: &Arc<Semaphore>, batch: Vec<Pending>) {
    // Calls that avoid different endpoints cannot share a request: a retry avoids those that were asked before.
    let mut batches: BTreeMap<Endpoints, Vec<Pending>> = BTreeMap::new();
    for pending in batch {
        meter::unqueued(&roster.chain().slug);
        batches.entry(pending.avoid).or_default().push(pending);
    }
    for mut batch in batches.into_values() {
        // The caller may have been dropped: the first chain that had the hash won.
        batch.retain(|pending| !pending.reply.is_closed());
        if batch.is_empty() {
            continue;
        }
        let Ok(slot) = Arc::clone(slots).acquire_owned().await else { return };
        let roster = Arc::clone(roster);
        tokio::spawn(async move {
            deliver(&roster, batch).await;
            drop(slot);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_wait_for_quiet_and_for_undelivered_answers_but_never_for_long() {
        let (undelivered, began) = (UndeliveredAnswers::default(), Instant::now());
        let after = |micros: u64| began + Duration::from_micros(micros);
        let rounds = Arc::new(OpenRounds::default());
        let mut patience = Patience::new(&undelivered, Some(&rounds), began);
        assert!(!patience.is_over(after(1_900)) && patience.is_over(after(2_000)), "it is quiet");
        assert_eq!(patience.join(after(1_900)), Moment::Gathering);
        assert!(!patience.is_over(after(3_800)), "one more has come");
        for millis in 3..12 {
            assert_eq!(patience.join(after(millis * 1_000)), Moment::Gathering);
        }
        assert_eq!(patience.join(after(12_000)), Moment::Gathered, "they never stop coming");
        let answer = undelivered.clone();
        assert!(!patience.is_over(after(49_000)), "who has been answered may ask for more");
        assert_eq!(patience.join(after(50_000)), Moment::Gathered);
        drop(answer);
        assert!(patience.is_over(after(12_000)));
        let patience = Patience::new(&undelivered, Some(&rounds), began);
        let round = OpenRound::new(&rounds);
        assert!(!patience.is_over(after(11_000)), "a round is about to be sent");
        assert!(patience.is_over(after(12_000)), "and is not waited for any longer");
        drop(round);
        assert!(patience.is_over(after(2_000)));
    }
}
