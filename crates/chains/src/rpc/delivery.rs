//! Delivery of one batch: sent to the next endpoint, hedged or retried at another when the first is silent or fails. Each caller gets its
//! answer as soon as there is one.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::http::{Sent, TOO_LARGE};
use super::roster::{Endpoints, Pick, Roster, Ticket, UndeliveredAnswers};
use super::wire::Answers;
use crate::error::{CallError, UpstreamError};

/// Times that a batch is sent in all because an endpoint failed.
const ATTEMPTS_MAX: u32 = 3;
/// Pause before an endpoint that has failed is asked again; jitter adds up to as much again.
const BACKOFF_MILLIS: u64 = 150;
/// A request that has had no answer for this long is sent to another endpoint too; the first answer counts.
pub(super) const HEDGE_MILLIS: u64 = 2_000;
/// When no other endpoint could be asked then, it is checked again after this long.
const HEDGE_AGAIN_MILLIS: u64 = 500;
/// Requests are given up this long before their callers' deadline, so that a silent endpoint is recorded and reported as a timeout.
const LAST_WORD_MILLIS: u64 = 50;

/// One call that waits for its answer.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) method: &'static str,
    pub(super) params: Value,
    /// Endpoints that have been asked before, and are asked again only when there are no others.
    pub(super) avoid: Endpoints,
    pub(super) deadline: Instant,
    pub(super) moment: Moment,
    pub(super) reply: oneshot::Sender<(Answered, UndeliveredAnswers)>,
}

/// When a call is sent: after others had time to join it, or at once because they have joined already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Moment {
    Gathering,
    Gathered,
}

/// An answer, and which endpoint gave it.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) by: Option<usize>,
    pub(crate) answer: Result<Box<RawValue>, CallError>,
}

/// Traces are slow: nodes run the transaction again for them.
pub(super) fn is_trace(method: &str) -> bool {
    method.contains("trace")
}

/// Calls without an answer yet, by their index in the batch.
#[derive(Debug)]
struct UnansweredCalls<'a> {
    waiting: Vec<Option<UnansweredCall>>,
    undelivered: &'a UndeliveredAnswers,
}

#[derive(Debug)]
struct UnansweredCall {
    reply: oneshot::Sender<(Answered, UndeliveredAnswers)>,
    deadline: Instant,
    is_trace: bool,
    /// What was wrong when it was asked last.
    failure: Option<UpstreamError>,
    /// An endpoint has refused it for its rate. When the time is then up, that is why, and not that the endpoint is silent.
    was_limited: bool,
}

impl UnansweredCall {
    /// A caller that was dropped needs no answer.
    fn tell(self, by: usize, answer: Result<Box<RawValue>, CallError>, undelivered: &UndeliveredAnswers) {
        let _ = self.reply.send((Answered { by: Some(by), answer }, undelivered.clone()));
    }

    fn has_failed(&mut self, error: UpstreamError) {
        self.failure = Some(error);
        self.was_limited |= error == UpstreamError::RateLimited;
    }

    /// What was wrong when it was asked last, or else this.
    fn fail(self, failure: UpstreamError, undelivered: &UndeliveredAnswers) {
        let error = match self.failure.unwrap_or(failure) {
            UpstreamError::Timeout if self.was_limited => UpstreamError::RateLimited,
            error => error,
        };
        let answer = Err(CallError::Upstream(error));
        let _ = self.reply.send((Answered { by: None, answer }, undelivered.clone()));
    }
}

impl UnansweredCalls<'_> {
    /// The indexes of calls that still wait. Callers that were dropped are removed (the first chain that had the hash won); callers past
    /// their deadline are told so.
    fn open(&mut self) -> Vec<usize> {
        let now = Instant::now();
        let mut open = Vec::new();
        for (place, slot) in self.waiting.iter_mut().enumerate() {
            let Some(waiting) = slot.take_if(|waiting| waiting.reply.is_closed() || waiting.deadline <= now) else {
                open.extend(slot.as_ref().map(|_| place));
                continue;
            };
            waiting.fail(UpstreamError::Timeout, self.undelivered);
        }
        open
    }

    fn is_trace(&self, place: usize) -> bool {
        self.waiting.get(place).and_then(Option::as_ref).is_some_and(|waiting| waiting.is_trace)
    }

    fn earliest_deadline(&self) -> Option<Instant> {
        self.waiting.iter().flatten().map(|waiting| waiting.deadline).min()
    }

    /// Delivers the answers. Calls that failed upstream keep waiting, to be retried.
    fn hand_out(&mut self, by: usize, places: &[usize], answers: Answers) {
        for (place, answer) in places.iter().zip(answers) {
            let Some(slot) = self.waiting.get_mut(*place) else { continue };
            let again = match &answer {
                Err(CallError::Upstream(error)) if *error != TOO_LARGE => Some(*error),
                Ok(_) | Err(_) => None,
            };
            match (again, slot.as_mut()) {
                (Some(error), Some(waiting)) => waiting.has_failed(error),
                (Some(_), None) => {}
                (None, _) => {
                    if let Some(waiting) = slot.take() {
                        waiting.tell(by, answer, self.undelivered);
                    }
                }
            }
        }
    }

    /// The failure to report if their deadline passes before an answer.
    fn note(&mut self, error: UpstreamError) {
        for waiting in self.waiting.iter_mut().flatten() {
            waiting.has_failed(error);
        }
    }

    fn is_limited(&self) -> bool {
        self.waiting.iter().flatten().any(|waiting| waiting.failure == Some(UpstreamError::RateLimited))
    }

    fn forget_failures(&mut self) {
        for waiting in self.waiting.iter_mut().flatten() {
            waiting.failure = None;
        }
    }

    fn give_up(self, failure: UpstreamError) {
        for waiting in self.waiting.into_iter().flatten() {
            waiting.fail(failure, self.undelivered);
        }
    }
}

/// Sends a batch until every caller has an answer, the attempts are used up or the time is.
pub(super) async fn deliver(roster: &Arc<Roster>, batch: Vec<Pending>) {
    let Some(latest) = batch.iter().map(|pending| pending.deadline).max() else { return };
    let deadline = latest.checked_sub(Duration::from_millis(LAST_WORD_MILLIS)).unwrap_or(latest);
    let avoid = batch.first().map(|pending| pending.avoid).unwrap_or_default();
    let mut calls = Vec::with_capacity(batch.len());
    let mut unanswered =
        UnansweredCalls { waiting: Vec::with_capacity(batch.len()), undelivered: roster.undelivered() };
    for Pending { method, params, deadline, reply, .. } in batch {
        calls.push((method, params));
        let call = UnansweredCall { reply, deadline, is_trace: is_trace(method), failure: None, was_limited: false };
        unanswered.waiting.push(Some(call));
    }
    let mut tried = Endpoints::default();
    let mut attempts = 0;
    let mut failure = None;
    while !unanswered.open().is_empty() {
        let ticket = match next_ticket(roster, avoid, tried, attempts, deadline).await {
            Ok(ticket) => ticket,
            Err(error) => {
                failure = failure.or(Some(error));
                break;
            }
        };
        let at = ticket.at();
        tried = tried.with(at);
        let race = Race { roster, calls: &calls, avoid: avoid.and(tried), deadline };
        let outcome = race.run(ticket, &mut unanswered).await;
        match outcome {
            Ok(()) => {}
            Err(error) => {
                failure = Some(error);
                unanswered.note(error);
            }
        }
        // A rate limit costs time, and time is bounded; anything else costs an attempt.
        let is_limited = outcome == Err(UpstreamError::RateLimited) || unanswered.is_limited();
        attempts = if is_limited { attempts } else { attempts.saturating_add(1) };
        // An answer that is too large would be too large again.
        let is_flooded = outcome == Err(TOO_LARGE) && roster.covers(avoid.and(tried));
        if attempts >= ATTEMPTS_MAX || is_flooded || Instant::now() >= deadline {
            break;
        }
    }
    let left = unanswered.open().len();
    if left > 0 {
        let failure = failure.unwrap_or(UpstreamError::Unavailable);
        tracing::warn!(chain = %roster.chain().slug, calls = left, code = failure.code(), "upstream gave no answer");
        unanswered.give_up(failure);
    }
}

/// An endpoint that was not tried yet, if one may be asked now; else the first that may be asked, after a pause.
async fn next_ticket(
    roster: &Arc<Roster>,
    avoid: Endpoints,
    tried: Endpoints,
    attempts: u32,
    deadline: Instant,
) -> Result<Ticket, UpstreamError> {
    if tried == Endpoints::default() {
        return roster.ticket(avoid, deadline).await;
    }
    if !roster.covers(avoid.and(tried))
        && let Pick::Ticket(ticket) = roster.pick(avoid.and(tried))
    {
        return Ok(ticket);
    }
    if attempts > 0 {
        let step = u64::from(attempts).saturating_mul(BACKOFF_MILLIS);
        let jitter = rand::random_range(0..=BACKOFF_MILLIS);
        tokio::time::sleep(Duration::from_millis(step.saturating_add(jitter))).await;
    }
    roster.ticket(avoid, deadline).await
}

/// One attempt of a delivery: a request and, when it takes too long, a second one (a hedge) at the same time.
struct Race<'a> {
    roster: &'a Arc<Roster>,
    calls: &'a [(&'static str, Value)],
    /// Not to be asked for the hedge.
    avoid: Endpoints,
    deadline: Instant,
}

struct RequestResult {
    at: usize,
    places: Vec<usize>,
    outcome: Result<Sent, UpstreamError>,
}

impl Race<'_> {
    /// Ends when everybody has an answer or no request is under way. An error when no request brought any answer.
    async fn run(&self, first: Ticket, unanswered: &mut UnansweredCalls<'_>) -> Result<(), UpstreamError> {
        let (first_at, first_sent) = (first.at(), first.sent());
        let places = unanswered.open();
        unanswered.forget_failures();
        let mut hedge_at = first_sent + Duration::from_millis(HEDGE_MILLIS);
        let mut is_hedged = places.iter().all(|place| unanswered.is_trace(*place));
        let mut is_first_under_way = true;
        let mut result = Err(UpstreamError::Unavailable);
        let mut requests = FuturesUnordered::new();
        requests.push(self.request(first, places));
        loop {
            let wake = unanswered.earliest_deadline().unwrap_or(self.deadline);
            tokio::select! {
                biased;
                ended = requests.next() => match ended {
                    None => return result,
                    Some(RequestResult { at, places, outcome }) => {
                        is_first_under_way &= at != first_at;
                        match outcome {
                            Ok(sent) => {
                                unanswered.hand_out(at, &places, sent.answers);
                                result = Ok(());
                            }
                            Err(error) if result.is_err() => result = Err(error),
                            Err(_) => {}
                        }
                    }
                },
                () = tokio::time::sleep_until(hedge_at), if !is_hedged => {
                    let hedges = self.hedges(first_at, unanswered);
                    // Others may be free a little later.
                    is_hedged = !hedges.is_empty() || self.roster.covers(self.avoid);
                    hedge_at = Instant::now() + Duration::from_millis(HEDGE_AGAIN_MILLIS);
                    for (ticket, places) in hedges {
                        requests.push(self.request(ticket, places));
                    }
                }
                // Callers have different deadlines; nothing waits for those that were dropped.
                () = tokio::time::sleep_until(wake) => {}
            }
            let open = unanswered.open();
            let are_plain_answered = open.iter().all(|place| unanswered.is_trace(*place));
            if are_plain_answered && is_first_under_way && result.is_ok() {
                is_first_under_way = false;
                self.roster.stalled(first_at, first_sent);
            }
            if open.is_empty() {
                return Ok(());
            }
        }
    }

    async fn request(&self, ticket: Ticket, places: Vec<usize>) -> RequestResult {
        let calls: Vec<(&'static str, &Value)> = places
            .iter()
            .filter_map(|place| self.calls.get(*place))
            .map(|(method, params)| (*method, params))
            .collect();
        let are_slow = calls.iter().all(|(method, _)| is_trace(method));
        let at = ticket.at();
        RequestResult { at, places, outcome: ticket.send(&calls, are_slow, self.deadline).await }
    }

    /// The hedges of a slow request: to another endpoint everything, with traces in a request of their own; without another endpoint,
    /// and where traces may be the slow part, the rest without them.
    fn hedges(&self, first_at: usize, unanswered: &mut UnansweredCalls<'_>) -> Vec<(Ticket, Vec<usize>)> {
        let (traces, plain): (Vec<usize>, Vec<usize>) =
            unanswered.open().into_iter().partition(|place| unanswered.is_trace(*place));
        if !traces.is_empty() {
            self.roster.set_traces_apart();
        }
        let pick = |avoid: Endpoints| match self.roster.pick(avoid) {
            Pick::Ticket(ticket) => Some(ticket),
            Pick::Later(..) | Pick::Full(_) | Pick::Testing(_) | Pick::Refused(_) => None,
        };
        let other = if self.roster.covers(self.avoid) { None } else { pick(self.avoid) };
        let mut hedges = Vec::new();
        match other {
            Some(ticket) => {
                let same = Endpoints::all_but(ticket.at());
                hedges.push((ticket, plain));
                if !traces.is_empty() {
                    hedges.extend(pick(same).map(|ticket| (ticket, traces)));
                }
            }
            None if !traces.is_empty() && !plain.is_empty() => {
                hedges.extend(pick(Endpoints::all_but(first_at)).map(|ticket| (ticket, plain)));
            }
            None => {}
        }
        hedges
    }
}
