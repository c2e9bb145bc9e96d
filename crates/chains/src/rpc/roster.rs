//! The endpoints of one chain, in the operator's order, and which of them is asked next: the first that is well, not pausing and not
//! full. One whose breaker is open is tested by a request of its own while others are well, and by the traffic when none is.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use engine::Chain;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use super::dialect::Dialect;
use super::head::{self, Heads};
use super::http::{Endpoint, EndpointFailure, HeadPiggyback, LARGE_ANSWERS_MAX, RpcCall, Sent};
use super::pace::{Admission, Pace};
use super::{InvalidEndpoint, meter};
use crate::error::{CallError, UpstreamError};

/// Endpoints of one chain; more are refused when the chain is set up.
const ENDPOINTS_MAX: usize = 64;
/// A test by a request of its own is given up after this long.
const TEST_SECONDS_MAX: u64 = 3;
/// How long a request waits for the outcome of another request's test, when there is no other endpoint to ask.
const TEST_WAIT_MILLIS_MAX: u64 = 300;
/// How long traces go in requests of their own after one of them was slow.
const TRACES_APART_SECONDS: u64 = 300;

#[derive(Debug)]
pub(super) struct Roster {
    chain: Arc<Chain>,
    dialect: &'static Dialect,
    endpoints: Vec<PacedEndpoint>,
    heads: Mutex<Heads>,
    traces_apart: Mutex<Option<Instant>>,
    /// Notified when a request ends: tasks that wait for a free slot check again.
    changed: Notify,
    undelivered: UndeliveredAnswers,
}

#[derive(Debug)]
struct PacedEndpoint {
    endpoint: Endpoint,
    pace: Mutex<Pace>,
}

/// A reference-counted token that is attached to each delivered answer and dropped when its caller resumes. A count above 1 means that
/// some caller has not resumed yet; most of them ask for more at once.
#[derive(Debug, Clone, Default)]
pub(super) struct UndeliveredAnswers(Arc<()>);

impl UndeliveredAnswers {
    pub(super) fn is_any(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

/// A set of a chain's endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Endpoints(u64);

impl Endpoints {
    pub(crate) fn all_but(one: usize) -> Self {
        Self(!Self::default().with(one).0)
    }

    pub(crate) fn with(self, one: usize) -> Self {
        let bit = u32::try_from(one).ok().and_then(|one| 1_u64.checked_shl(one));
        Self(self.0 | bit.unwrap_or(0))
    }

    pub(super) fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    pub(crate) fn has(self, one: usize) -> bool {
        self.with(one) == self
    }
}

/// Which endpoint to ask now.
#[derive(Debug)]
pub(super) enum Pick {
    Ticket(Ticket),
    /// None before this instant: the endpoints asked for a pause, or their rate needs one.
    Later(Instant, UpstreamError),
    /// All are full: retry when a request ends, or at this instant.
    Full(Option<Instant>),
    Testing(UpstreamError),
    Refused(UpstreamError),
}

impl Roster {
    pub(super) fn new(chain: Arc<Chain>, dialect: &'static Dialect, urls: &[String]) -> Result<Self, InvalidEndpoint> {
        if urls.len() > ENDPOINTS_MAX {
            return Err(InvalidEndpoint);
        }
        let large = Arc::new(Semaphore::new(LARGE_ANSWERS_MAX));
        let now = Instant::now();
        let paced = |url: &String| {
            let endpoint = Endpoint::new(Arc::clone(&chain), dialect, url, Arc::clone(&large))?;
            Ok(PacedEndpoint { endpoint, pace: Mutex::new(Pace::new(now)) })
        };
        let endpoints = urls.iter().map(paced).collect::<Result<Vec<_>, _>>()?;
        let heads = Mutex::new(Heads::new(endpoints.len()));
        Ok(Self {
            chain,
            dialect,
            endpoints,
            heads,
            traces_apart: Mutex::new(None),
            changed: Notify::new(),
            undelivered: UndeliveredAnswers::default(),
        })
    }

    pub(super) fn chain(&self) -> &Chain {
        &self.chain
    }

    pub(super) fn undelivered(&self) -> &UndeliveredAnswers {
        &self.undelivered
    }

    pub(super) fn count(&self) -> usize {
        self.endpoints.len()
    }

    pub(super) fn covers(&self, asked: Endpoints) -> bool {
        (0..self.endpoints.len()).all(|one| asked.has(one))
    }

    /// Calls that are best gathered for one request, as the endpoint takes them that is asked first.
    pub(super) fn batch_calls(&self) -> usize {
        let well = self.endpoints.iter().position(|paced| !lock(&paced.pace).is_open()).unwrap_or_default();
        self.endpoints.get(well).map_or(1, |paced| paced.endpoint.batch_calls(self.wants_head(well)))
    }

    fn wants_head(&self, at: usize) -> HeadPiggyback {
        match lock(&self.heads).of(at) {
            // Without a head, an answer that there is nothing could not be checked for lag.
            None => HeadPiggyback::Now,
            head if head::is_due(head, Instant::now()) => HeadPiggyback::IfRoom,
            Some(_) => HeadPiggyback::No,
        }
    }

    /// The failure to report at once: every breaker is open, and none is due for a test.
    pub(super) fn refusal(&self, avoid: Endpoints) -> Option<UpstreamError> {
        let avoid = self.soften(avoid);
        let now = Instant::now();
        let mut refusal = None;
        for (_, paced) in self.others(avoid) {
            match lock(&paced.pace).admission(now) {
                Admission::Open(error) => refusal = refusal.or(Some(error)),
                Admission::Ready | Admission::Test | Admission::Later(..) | Admission::Full | Admission::Testing(_) => {
                    return None;
                }
            }
        }
        refusal
    }

    /// The right to send one request, as soon as an endpoint may be asked.
    pub(super) async fn ticket(self: &Arc<Self>, avoid: Endpoints, deadline: Instant) -> Result<Ticket, UpstreamError> {
        let asked = Instant::now();
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let until = match self.pick(avoid) {
                Pick::Ticket(ticket) => return Ok(ticket),
                Pick::Refused(error) => return Err(error),
                Pick::Testing(error) => {
                    let until = asked + Duration::from_millis(TEST_WAIT_MILLIS_MAX);
                    if Instant::now() >= until {
                        return Err(error);
                    }
                    until
                }
                // No endpoint can be asked before the deadline, so fail now.
                Pick::Later(until, error) if until >= deadline => return Err(error),
                Pick::Later(until, _) => until,
                Pick::Full(until) => until.unwrap_or(deadline),
            };
            if Instant::now() >= deadline {
                return Err(UpstreamError::Timeout);
            }
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep_until(until.min(deadline)) => {}
            }
        }
    }

    /// One check. Endpoints to avoid are asked only when there are no others at all.
    pub(super) fn pick(self: &Arc<Self>, avoid: Endpoints) -> Pick {
        let avoid = self.soften(avoid);
        let now = Instant::now();
        let (mut ready, mut due) = (None, Vec::new());
        let (mut later, mut is_full) = (None::<(Instant, UpstreamError)>, false);
        let (mut testing, mut open) = (None, None);
        for (at, paced) in self.others(avoid) {
            let mut pace = lock(&paced.pace);
            match pace.admission(now) {
                Admission::Ready if ready.is_none() => {
                    pace.start(now);
                    ready = Some(Ticket::new(self, at, now));
                }
                Admission::Ready => {}
                Admission::Test => {
                    pace.start(now);
                    due.push(Ticket::new(self, at, now));
                }
                Admission::Later(at, error) => {
                    later = later.filter(|(earliest, _)| *earliest <= at).or(Some((at, error)));
                }
                Admission::Full => is_full = true,
                Admission::Testing(error) => testing = Some(error),
                Admission::Open(error) => open = open.or(Some(error)),
            }
        }
        let mut due = due.into_iter();
        let chosen = match ready {
            Some(ticket) => Some(ticket),
            None => due.next(),
        };
        due.for_each(|ticket| drop(tokio::spawn(test(ticket))));
        match (chosen, later, testing) {
            (Some(ticket), ..) => Pick::Ticket(ticket),
            (None, later, _) if is_full => Pick::Full(later.map(|(at, _)| at)),
            (None, Some((at, error)), _) => Pick::Later(at, error),
            (None, None, Some(error)) => Pick::Testing(error),
            (None, None, None) => Pick::Refused(open.unwrap_or(UpstreamError::Unavailable)),
        }
    }

    /// An endpoint did not answer while another did.
    pub(super) fn stalled(&self, at: usize, sent: Instant) {
        self.note(at, |pace, now| pace.stalled(now, sent));
    }

    pub(super) fn set_traces_apart(&self) {
        *lock(&self.traces_apart) = Some(Instant::now() + Duration::from_secs(TRACES_APART_SECONDS));
    }

    pub(super) fn are_traces_apart(&self) -> bool {
        lock(&self.traces_apart).is_some_and(|until| until > Instant::now())
    }

    /// Whether the endpoint is known to be behind, so that what it does not have may be there all the same.
    pub(super) fn is_behind(&self, at: usize) -> bool {
        lock(&self.heads).is_behind(at, clock(), Instant::now())
    }

    fn others(&self, avoid: Endpoints) -> impl Iterator<Item = (usize, &PacedEndpoint)> {
        self.endpoints.iter().enumerate().filter(move |(at, _)| !avoid.has(*at))
    }

    fn soften(&self, avoid: Endpoints) -> Endpoints {
        if self.covers(avoid) { Endpoints::default() } else { avoid }
    }

    /// Changes what is known of an endpoint, and wakes the tasks that wait for it.
    fn note(&self, at: usize, change: impl FnOnce(&mut Pace, Instant)) {
        let Some(paced) = self.endpoints.get(at) else { return };
        let (before, after) = {
            let mut pace = lock(&paced.pace);
            let before = pace.is_open();
            change(&mut pace, Instant::now());
            (before, pace.is_open())
        };
        match (before, after) {
            (false, true) => {
                paced.endpoint.forget_chain();
                meter::breaker_opened(&self.chain.slug);
                tracing::warn!(chain = %self.chain.slug, endpoint = at, "an upstream endpoint is set aside");
            }
            (true, false) => {
                meter::breaker_closed(&self.chain.slug);
                tracing::info!(chain = %self.chain.slug, endpoint = at, "an upstream endpoint is back");
            }
            (true, true) | (false, false) => {}
        }
        self.changed.notify_waiters();
    }
}

/// The right to send one request to one endpoint. What the request showed is noted when it ends; one that is given up shows nothing.
#[derive(Debug)]
pub(super) struct Ticket {
    roster: Arc<Roster>,
    at: usize,
    sent: Instant,
    is_settled: bool,
}

impl Ticket {
    fn new(roster: &Arc<Roster>, at: usize, sent: Instant) -> Self {
        Self { roster: Arc::clone(roster), at, sent, is_settled: false }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn sent(&self) -> Instant {
        self.sent
    }

    /// Sends the calls. Slow ones that fail for their own sake do not count against the endpoint.
    pub(super) async fn send(
        mut self,
        calls: &[RpcCall<'_>],
        are_slow: bool,
        deadline: Instant,
    ) -> Result<Sent, UpstreamError> {
        let roster = Arc::clone(&self.roster);
        let (at, sent) = (self.at, self.sent);
        let Some(paced) = roster.endpoints.get(at) else { return Err(UpstreamError::Unavailable) };
        let head = if are_slow { HeadPiggyback::No } else { roster.wants_head(at) };
        let answer = paced.endpoint.send(calls, head, deadline).await;
        self.is_settled = true;
        match &answer {
            Ok(said) => {
                roster.keep_head(at, said);
                if said.answers.iter().any(is_limited) {
                    roster.note(at, |pace, now| pace.limited(now, sent, None));
                } else {
                    roster.note(at, Pace::good);
                }
            }
            Err(EndpointFailure { error: UpstreamError::RateLimited, wish }) => {
                roster.note(at, |pace, now| pace.limited(now, sent, *wish));
            }
            Err(_) if are_slow => roster.note(at, Pace::told_nothing),
            Err(EndpointFailure { error, wish }) => roster.note(at, |pace, now| pace.failed(now, sent, *error, *wish)),
        }
        answer.map_err(|failure| failure.error)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.is_settled {
            self.roster.note(self.at, Pace::told_nothing);
        }
    }
}

impl Roster {
    fn keep_head(&self, at: usize, said: &Sent) {
        let Some(answer) = &said.head else { return };
        if let Some(head) = head::read(self.dialect, answer, clock(), Instant::now()) {
            lock(&self.heads).keep(at, head, clock());
        }
    }
}

/// Asks an endpoint for its head and, once its breaker had opened, for its chain id.
async fn test(ticket: Ticket) {
    let deadline = Instant::now() + Duration::from_secs(TEST_SECONDS_MAX);
    let (method, params) = ticket.roster.dialect.head;
    let outcome = ticket.send(&[(method, &params())], false, deadline).await;
    tracing::debug!(is_well = outcome.is_ok(), "an upstream endpoint was tested");
}

fn is_limited(answer: &Result<Box<serde_json::value::RawValue>, CallError>) -> bool {
    matches!(answer, Err(CallError::Upstream(UpstreamError::RateLimited)))
}

fn clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
