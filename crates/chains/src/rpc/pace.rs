//! How much one endpoint is asked, and whether at all: a window and a rate that grow slowly and are halved on trouble, a pause that
//! the endpoint asked for, and a breaker. No clock is read here: the time is passed in.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::UpstreamError;

/// Upper bound of the window: HTTP requests under way at once, per endpoint.
const WINDOW_REQUESTS_MAX: u32 = 16;
const WINDOW_REQUESTS_FIRST: u32 = 8;
/// A rate applies only after a rate limit was met, and is dropped once it has grown past this.
const RATE_PER_SECOND_MAX: u32 = 100;
/// Requests in a second that tell a rate by the first refusal. Fewer tell it by the second in a row: one request that was refused would
/// mean one request in two seconds, and the next transaction needs three.
const RATE_LEARNED_MIN: u32 = 4;
/// Pause after a rate limit that names no time of its own; it doubles while the limit is met in a row.
const PAUSE_MILLIS: u64 = 250;
const PAUSE_MILLIS_MAX: u64 = 4_000;
/// The longest pause that an endpoint may ask for.
pub(super) const RETRY_AFTER_SECONDS_MAX: u64 = 60;
/// Failures in a row that open the breaker.
const BREAKER_FAILURES_MAX: u32 = 3;
/// An open breaker is tested again after this long, when there is traffic. The house promises 2 s.
pub(super) const BREAKER_MILLIS: u64 = 1_500;

#[derive(Debug)]
pub(super) struct Pace {
    window: u32,
    in_flight: u32,
    /// Good answers since the window last grew.
    good: u32,
    /// Requests a second; none until a rate limit is met.
    rate: Option<u32>,
    /// With a rate: when the next request may start.
    next_start: Instant,
    /// Requests that began in the second that began at the instant.
    second: (Instant, u32),
    paused_until: Option<Instant>,
    pauses: u32,
    /// Failures of requests that were sent before this count as the one that was counted already.
    cut_at: Option<Instant>,
    answered_at: Option<Instant>,
    failures: u32,
    breaker: Breaker,
    last_failure: UpstreamError,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Breaker {
    Closed,
    Open {
        until: Instant,
    },
    /// One request is under way that decides.
    Testing,
}

/// Whether a request may start now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    Ready,
    /// The breaker is open, and it is time to try.
    Test,
    /// Not before this instant, as the endpoint asked or by its rate; with its last error.
    Later(Instant, UpstreamError),
    /// The window is full; a request that ends makes room.
    Full,
    Testing(UpstreamError),
    Open(UpstreamError),
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            window: WINDOW_REQUESTS_FIRST,
            in_flight: 0,
            good: 0,
            rate: None,
            next_start: now,
            second: (now, 0),
            paused_until: None,
            pauses: 0,
            cut_at: None,
            answered_at: None,
            failures: 0,
            breaker: Breaker::Closed,
            last_failure: UpstreamError::Unavailable,
        }
    }

    pub(super) fn admission(&self, now: Instant) -> Admission {
        match self.breaker {
            Breaker::Open { until } if until > now => return Admission::Open(self.last_failure),
            Breaker::Testing => return Admission::Testing(self.last_failure),
            Breaker::Open { .. } | Breaker::Closed => {}
        }
        let start = self.paused_until.unwrap_or(now).max(if self.rate.is_some() { self.next_start } else { now });
        if start > now {
            Admission::Later(start, self.last_failure)
        } else if self.breaker != Breaker::Closed {
            Admission::Test
        } else if self.in_flight >= self.window {
            Admission::Full
        } else {
            Admission::Ready
        }
    }

    /// Called by an admitted request before it is sent.
    pub(super) fn start(&mut self, now: Instant) {
        self.in_flight = self.in_flight.saturating_add(1);
        if let Breaker::Open { .. } = self.breaker {
            self.breaker = Breaker::Testing;
        }
        if now.duration_since(self.second.0) >= Duration::from_secs(1) {
            self.second = (now, 0);
        }
        self.second.1 = self.second.1.saturating_add(1);
        if let Some(rate) = self.rate {
            self.next_start = self.next_start.max(now) + Duration::from_secs(1) / rate.max(1);
        }
    }

    pub(super) fn good(&mut self, now: Instant) {
        self.end();
        self.failures = 0;
        self.pauses = 0;
        self.answered_at = Some(now);
        self.breaker = Breaker::Closed;
        self.good = self.good.saturating_add(1);
        if self.good >= self.window {
            self.good = 0;
            self.window = self.window.saturating_add(1).min(WINDOW_REQUESTS_MAX);
            self.rate = self.rate.map(|rate| rate.saturating_add(1)).filter(|rate| *rate <= RATE_PER_SECOND_MAX);
        }
    }

    /// The endpoint refused for its rate limit, as a whole or for some of the calls. That is not a failure: the breaker stays closed.
    pub(super) fn limited(&mut self, now: Instant, sent: Instant, wish: Option<Duration>) {
        self.end();
        self.settle_test(now);
        self.last_failure = UpstreamError::RateLimited;
        if self.is_new(sent) {
            self.cut(now);
            let met = self.rate.unwrap_or(self.second.1).min(RATE_PER_SECOND_MAX);
            if self.rate.is_some() || self.pauses > 0 || met >= RATE_LEARNED_MIN {
                self.rate = Some((met / 2).max(1));
            }
            self.pauses = self.pauses.saturating_add(1);
        }
        let doubled = PAUSE_MILLIS.saturating_mul(1 << self.pauses.saturating_sub(1).min(8));
        let own = Duration::from_millis(doubled.min(PAUSE_MILLIS_MAX));
        self.pause(now + wish.map_or(own, bounded));
    }

    pub(super) fn failed(&mut self, now: Instant, sent: Instant, error: UpstreamError, wish: Option<Duration>) {
        self.end();
        self.blame(now, sent, error, wish);
    }

    /// Another endpoint answered while this one kept silent: it is not asked first again until it has passed a test. Its request
    /// ends by itself.
    pub(super) fn stalled(&mut self, now: Instant, sent: Instant) {
        self.answered_at = None;
        self.blame(now, sent, UpstreamError::Timeout, None);
    }

    fn blame(&mut self, now: Instant, sent: Instant, error: UpstreamError, wish: Option<Duration>) {
        self.last_failure = error;
        if let Some(wish) = wish {
            self.pause(now + bounded(wish));
        }
        // An endpoint that answered other requests meanwhile is slow with this one, not down.
        let is_gone = error == UpstreamError::Timeout && self.answered_at.is_none_or(|at| at < sent);
        // A node of another chain is of no use, however often it is asked.
        let is_foreign = matches!(error, UpstreamError::Inconsistent(_));
        if self.breaker == Breaker::Testing || is_gone || is_foreign {
            self.failures = BREAKER_FAILURES_MAX;
        } else if self.is_new(sent) {
            self.failures = self.failures.saturating_add(1);
        }
        if self.is_new(sent) {
            self.cut(now);
        }
        if self.failures >= BREAKER_FAILURES_MAX {
            self.breaker = Breaker::Open { until: now + Duration::from_millis(BREAKER_MILLIS) };
        }
    }

    /// The request ended without telling anything about the endpoint.
    pub(super) fn told_nothing(&mut self, now: Instant) {
        self.end();
        self.settle_test(now);
    }

    pub(super) fn is_open(&self) -> bool {
        self.breaker != Breaker::Closed
    }

    fn end(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// A test that ended without a result is repeated at once.
    fn settle_test(&mut self, now: Instant) {
        if self.breaker == Breaker::Testing {
            self.breaker = Breaker::Open { until: now };
        }
    }

    fn pause(&mut self, until: Instant) {
        self.paused_until = self.paused_until.max(Some(until));
    }

    /// Requests that were under way together fail together; that is one failure, and not one each.
    fn is_new(&self, sent: Instant) -> bool {
        self.cut_at.is_none_or(|at| sent > at)
    }

    fn cut(&mut self, now: Instant) {
        self.window = (self.window / 2).max(1);
        self.good = 0;
        self.cut_at = Some(now);
    }
}

fn bounded(wish: Duration) -> Duration {
    wish.min(Duration::from_secs(RETRY_AFTER_SECONDS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(start: Instant, millis: u64) -> Instant {
        start + Duration::from_millis(millis)
    }

    #[test]
    fn the_window_grows_by_one_and_is_halved_once_for_failures_that_came_together() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        for _ in 0..200 {
            pace.start(start);
            pace.good(start);
        }
        assert_eq!(pace.window, WINDOW_REQUESTS_MAX);
        for _ in 0..WINDOW_REQUESTS_MAX {
            assert_eq!(pace.admission(start), Admission::Ready);
            pace.start(start);
        }
        assert_eq!(pace.admission(start), Admission::Full);
        for _ in 0..WINDOW_REQUESTS_MAX {
            pace.failed(after(start, 5), start, UpstreamError::Unavailable, None);
        }
        assert_eq!((pace.window, pace.in_flight), (WINDOW_REQUESTS_MAX / 2, 0));
        assert!(!pace.is_open(), "one fault that hit all of them is no row of faults");
    }

    #[test]
    fn the_breaker_opens_after_a_row_of_failures_and_lets_one_test_through() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        for at in [0, 10, 20] {
            assert_eq!(pace.admission(after(start, at)), Admission::Ready);
            pace.start(after(start, at));
            pace.failed(after(start, at + 1), after(start, at), UpstreamError::Unavailable, None);
        }
        assert_eq!(pace.admission(after(start, 22)), Admission::Open(UpstreamError::Unavailable));
        let due = after(start, 21 + BREAKER_MILLIS);
        assert_eq!(pace.admission(due), Admission::Test);
        pace.start(due);
        assert_eq!(pace.admission(due), Admission::Testing(UpstreamError::Unavailable));
        pace.failed(due, due, UpstreamError::Timeout, None);
        assert_eq!(pace.admission(due), Admission::Open(UpstreamError::Timeout), "one failed test is enough");
        let again = after(due, BREAKER_MILLIS);
        pace.start(again);
        pace.good(again);
        assert_eq!(pace.admission(again), Admission::Ready);
        const { assert!(BREAKER_MILLIS < 2_000) };
    }

    #[test]
    fn a_timeout_opens_at_once_unless_others_were_answered_meanwhile() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        pace.start(start);
        pace.start(start);
        pace.good(after(start, 100));
        pace.failed(after(start, 8_000), start, UpstreamError::Timeout, None);
        assert!(!pace.is_open());
        pace.start(after(start, 8_000));
        pace.failed(after(start, 16_000), after(start, 8_000), UpstreamError::Timeout, None);
        assert!(pace.is_open());
    }

    #[test]
    fn pauses_are_as_long_as_asked_for_and_bounded() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        pace.start(start);
        pace.limited(start, start, Some(Duration::from_secs(3)));
        assert_eq!(
            pace.admission(after(start, 2_999)),
            Admission::Later(after(start, 3_000), UpstreamError::RateLimited)
        );
        assert!(!pace.is_open());
        pace.limited(start, start, Some(Duration::from_secs(86_400)));
        let most = after(start, RETRY_AFTER_SECONDS_MAX * 1_000);
        assert_eq!(pace.admission(start), Admission::Later(most, UpstreamError::RateLimited));
    }

    #[test]
    fn one_refusal_of_few_requests_is_a_pause_and_a_second_in_a_row_is_a_rate() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        pace.start(start);
        pace.limited(start, start, None);
        let resumed = after(start, PAUSE_MILLIS);
        for at in 0..2 {
            assert_eq!(
                pace.admission(after(resumed, at)),
                Admission::Ready,
                "a transaction's requests follow each other"
            );
            pace.start(after(resumed, at));
        }
        pace.limited(after(resumed, 2), after(resumed, 1), None);
        assert_eq!(pace.rate, Some(1));
    }

    #[test]
    fn a_rate_limit_halves_the_rate_that_met_it_and_good_answers_raise_it() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        for _ in 0..8 {
            pace.start(start);
        }
        pace.limited(start, start, None);
        assert_eq!(pace.rate, Some(4));
        for _ in 0..7 {
            pace.limited(start, start, None);
        }
        assert_eq!(pace.rate, Some(4), "eight refusals of one moment are one");
        let later = after(start, 1_000);
        assert_eq!(pace.admission(later), Admission::Ready);
        pace.start(later);
        let next = Admission::Later(after(later, 250), UpstreamError::RateLimited);
        assert_eq!(pace.admission(later), next, "four a second");
        pace.good(later);
        for at in 0..3_000 {
            let at = after(later, at * 300);
            pace.start(at);
            pace.good(at);
        }
        assert_eq!(pace.rate, None, "the limit is forgotten when it is no longer met");
    }
}
