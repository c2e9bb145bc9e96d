//! Which block each endpoint has reached. The question is added to requests every few seconds, so an idle chain is never asked. An
//! endpoint that is behind is not believed when it says that a transaction does not exist.

use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::Instant;

use super::dialect::Dialect;

/// How long a head is taken as current.
const HEAD_SECONDS_MAX: u64 = 5;
/// How long the head of one endpoint is compared with the others.
const REMEMBERED_SECONDS_MAX: u64 = 600;
/// Behind the other endpoints by more than this, in the chain's own time or in blocks, is behind.
const LAG_SECONDS_MAX: u64 = 30;
const LAG_BLOCKS_MAX: u64 = 64;
/// Slots take 0.4 s, and Solana's nodes tell a slot without its time.
const LAG_SLOTS_MAX: u64 = 75;
/// A head this near to the wall clock shows that the chain is alive.
const LIVE_SECONDS_MAX: u64 = 120;
/// A chain that was seen alive and whose head is older than this has stopped, or its node has.
const STALE_SECONDS_MAX: u64 = 900;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EndpointHead {
    pub(super) number: u64,
    /// Of the block, in Unix seconds.
    pub(super) time: Option<u64>,
    pub(super) seen: Instant,
}

/// Nodes are untrusted: what is not a head, or is from the future, is not kept.
pub(super) fn read(dialect: &Dialect, answer: &RawValue, clock: u64, now: Instant) -> Option<EndpointHead> {
    let (number, time) = (dialect.read_head)(answer)?;
    let is_past = time.is_none_or(|time| time <= clock.saturating_add(LAG_SECONDS_MAX));
    is_past.then_some(EndpointHead { number, time, seen: now })
}

pub(super) fn is_due(head: Option<EndpointHead>, now: Instant) -> bool {
    head.is_none_or(|head| now.duration_since(head.seen) >= Duration::from_secs(HEAD_SECONDS_MAX))
}

/// The heads of a chain's endpoints.
#[derive(Debug)]
pub(super) struct Heads {
    heads: Vec<Option<EndpointHead>>,
    /// Some endpoint's head was once as young as the wall clock. A recorded chain, or a local one whose time was set, never is, and
    /// its age says nothing.
    is_alive: bool,
}

impl Heads {
    pub(super) fn new(count: usize) -> Self {
        Self { heads: vec![None; count], is_alive: false }
    }

    pub(super) fn of(&self, endpoint: usize) -> Option<EndpointHead> {
        self.heads.get(endpoint).copied().flatten()
    }

    pub(super) fn keep(&mut self, endpoint: usize, head: EndpointHead, clock: u64) {
        self.is_alive |= head.time.is_some_and(|time| clock.saturating_sub(time) <= LIVE_SECONDS_MAX);
        if let Some(slot) = self.heads.get_mut(endpoint) {
            *slot = Some(head);
        }
    }

    /// Whether the endpoint is known to be behind; one whose head is unknown is not.
    pub(super) fn is_behind(&self, endpoint: usize, clock: u64, now: Instant) -> bool {
        let Some(own) = self.of(endpoint) else { return false };
        let is_stale = self.is_alive && own.time.is_some_and(|time| clock.saturating_sub(time) > STALE_SECONDS_MAX);
        let others = self.heads.iter().enumerate().filter(|(other, _)| *other != endpoint);
        let known = others.filter_map(|(_, head)| *head);
        let remembered = Duration::from_secs(REMEMBERED_SECONDS_MAX);
        is_stale || known.filter(|head| now.duration_since(head.seen) < remembered).any(|head| lags(own, head))
    }
}

/// A head that was seen later has advanced meanwhile, which is not lag: the time between the two sightings is allowed for.
fn lags(own: EndpointHead, other: EndpointHead) -> bool {
    let apart = other.seen.saturating_duration_since(own.seen);
    match (own.time, other.time) {
        (Some(own_time), Some(time)) => {
            let allowed = LAG_SECONDS_MAX.saturating_add(apart.as_secs());
            time.saturating_sub(own_time) > allowed
                || (apart < Duration::from_secs(HEAD_SECONDS_MAX)
                    && other.number.saturating_sub(own.number) > LAG_BLOCKS_MAX)
        }
        _ => {
            let moved = u64::try_from(apart.as_millis() / 400).unwrap_or(u64::MAX);
            other.number.saturating_sub(own.number) > LAG_SLOTS_MAX.saturating_add(moved)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{evm, solana};

    const CLOCK: u64 = 1_800_000_000;

    fn head(number: u64, time: u64, seen: Instant) -> EndpointHead {
        EndpointHead { number, time: Some(time), seen }
    }

    #[test]
    fn a_node_behind_the_others_is_behind_and_the_others_are_not() {
        let now = Instant::now();
        let mut heads = Heads::new(2);
        heads.keep(0, head(1_000, CLOCK - 600, now), CLOCK);
        assert!(!heads.is_behind(0, CLOCK, now), "nobody knows better");
        heads.keep(1, head(1_050, CLOCK - 5, now), CLOCK);
        assert!(heads.is_behind(0, CLOCK, now) && !heads.is_behind(1, CLOCK, now));
        heads.keep(0, head(1_049, CLOCK - 17, now), CLOCK);
        assert!(!heads.is_behind(0, CLOCK, now), "a block or two is the way blocks travel");
        assert!(!heads.is_behind(7, CLOCK, now));
    }

    #[test]
    fn blocks_that_came_between_two_looks_are_no_lag() {
        let now = Instant::now();
        let mut heads = Heads::new(2);
        heads.keep(0, head(1_000, CLOCK, now), CLOCK);
        let later = now + Duration::from_secs(100);
        heads.keep(1, head(1_400, CLOCK + 100, later), CLOCK + 100);
        assert!(!heads.is_behind(0, CLOCK + 100, later));
    }

    #[test]
    fn only_a_chain_that_was_alive_can_stand_still() {
        let now = Instant::now();
        let mut heads = Heads::new(1);
        heads.keep(0, head(1_000, CLOCK - 86_400, now), CLOCK);
        assert!(!heads.is_behind(0, CLOCK, now), "a recorded chain is old and whole");
        heads.keep(0, head(2_000, CLOCK, now), CLOCK);
        assert!(!heads.is_behind(0, CLOCK, now));
        assert!(heads.is_behind(0, CLOCK + STALE_SECONDS_MAX + 1, now));
    }

    #[test]
    fn slots_are_compared_by_number() {
        let now = Instant::now();
        let slot = |number| EndpointHead { number, time: None, seen: now };
        let mut heads = Heads::new(2);
        heads.keep(0, slot(10_000), CLOCK);
        heads.keep(1, slot(10_020), CLOCK);
        assert!(!heads.is_behind(0, CLOCK, now));
        heads.keep(1, slot(11_000), CLOCK);
        assert!(heads.is_behind(0, CLOCK, now));
    }

    #[test]
    fn nonsense_is_no_head() {
        let now = Instant::now();
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        for text in ["null", "[]", "\"0x1\"", r#"{"number":"0x1"}"#, r#"{"number":"0xzz","timestamp":"0x1"}"#] {
            assert_eq!(read(&evm::dialect::DIALECT, &raw(text), CLOCK, now), None, "{text}");
        }
        let future = format!(r#"{{"number":"0x1","timestamp":"{:#x}"}}"#, CLOCK + 3_600);
        assert_eq!(read(&evm::dialect::DIALECT, &raw(&future), CLOCK, now), None);
        assert_eq!(read(&solana::dialect::DIALECT, &raw("[]"), CLOCK, now), None);
        let good = format!(r#"{{"number":"0x10","timestamp":"{:#x}","hash":null}}"#, CLOCK);
        assert_eq!(read(&evm::dialect::DIALECT, &raw(&good), CLOCK, now), Some(head(16, CLOCK, now)));
    }
}
