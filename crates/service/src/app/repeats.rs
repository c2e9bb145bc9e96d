//! Cache of hashes that the ledger is known to hold, so that a repeat needs no ledger transaction. Rows of the current period are never
//! deleted, so an entry stays true until the period ends. In memory only.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use engine::TxHash;

use crate::store::{Payer, Resets};

/// Cached pairs of payer and hash, at some 24 bytes each; past it the cache is emptied.
const REPEATS_MAX: usize = 400_000;
/// This close to the end of a period the ledger is asked: with a shared database its clock decides, not ours.
const SLACK_MILLIS: i64 = 5 * MINUTE_MILLIS;
const MINUTE_MILLIS: i64 = 60_000;

#[derive(Debug, Default)]
pub(crate) struct Repeats {
    /// Two digests keyed with secrets of this process, so that nobody can construct a collision.
    digests: [RandomState; 2],
    known: Mutex<KnownRepeats>,
}

#[derive(Debug, Default)]
struct KnownRepeats {
    pairs: HashSet<(u64, u64)>,
    /// By kind of period.
    calendar: [Calendar; 2],
}

#[derive(Debug, Default)]
struct Calendar {
    /// The latest period that the ledger has answered with: a clock that was set back reopens none.
    latest: String,
    /// Whether that is the period of this minute, and safely so.
    is_now: bool,
    minute: i64,
}

impl Calendar {
    fn current(&mut self, resets: Resets, now: i64) -> Option<&str> {
        let minute = now.div_euclid(MINUTE_MILLIS);
        if self.minute != minute {
            self.minute = minute;
            let is_latest = |at: i64| resets.period(at) == self.latest;
            self.is_now = is_latest(now) && is_latest(now.saturating_add(SLACK_MILLIS));
        }
        self.is_now.then_some(self.latest.as_str())
    }

    fn hear(&mut self, period: &str) {
        if self.latest.as_str() < period {
            *self = Self { latest: period.to_owned(), is_now: false, minute: 0 };
        }
    }
}

impl Repeats {
    /// The period, when the ledger is known to hold every one of these hashes in it for this payer.
    pub(crate) fn all_known<'a>(&self, payer: &Payer, hashes: impl Iterator<Item = &'a TxHash>) -> Option<String> {
        self.all_known_at(jiff::Timestamp::now().as_millisecond(), payer, hashes)
    }

    fn all_known_at<'a>(
        &self,
        now: i64,
        payer: &Payer,
        mut hashes: impl Iterator<Item = &'a TxHash>,
    ) -> Option<String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let KnownRepeats { pairs, calendar } = &mut *known;
        let period = calendar.get_mut(place(payer.resets))?.current(payer.resets, now)?;
        hashes.all(|hash| pairs.contains(&self.digest(payer, period, hash))).then(|| period.to_owned())
    }

    /// Adds hashes that the ledger has just confirmed.
    pub(crate) fn learn(&self, payer: &Payer, period: &str, hashes: impl Iterator<Item = TxHash>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(calendar) = known.calendar.get_mut(place(payer.resets)) {
            calendar.hear(period);
        }
        for hash in hashes {
            if known.pairs.len() >= REPEATS_MAX {
                known.pairs.clear();
            }
            known.pairs.insert(self.digest(payer, period, &hash));
        }
    }

    fn digest(&self, payer: &Payer, period: &str, hash: &TxHash) -> (u64, u64) {
        let [one, other] = &self.digests;
        let pair = (&payer.id, period, hash);
        (one.hash_one(pair), other.hash_one(pair))
    }
}

fn place(resets: Resets) -> usize {
    match resets {
        Resets::Daily => 0,
        Resets::Monthly => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_known_in_its_period_and_for_its_payer_only() {
        let repeats = Repeats::default();
        let payer = |id: &str| Payer { id: id.to_owned(), resets: Resets::Monthly, limit: Some(1) };
        let hash = |digit: &str| TxHash::parse(&format!("0x{}", digit.repeat(64))).unwrap();
        let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_millisecond();
        let known = |when: &str, id: &str, digit: &str| {
            repeats.all_known_at(at(when), &payer(id), [hash(digit)].iter()).is_some()
        };
        let now = "2026-11-15T12:00:00Z";
        repeats.learn(&payer("a"), "2026-10", [hash("1")].into_iter());
        assert!(!known(now, "a", "1"), "of another period");
        repeats.learn(&payer("a"), "2026-11", [hash("1")].into_iter());
        assert!(known(now, "a", "1") && !known(now, "a", "2") && !known(now, "b", "1"));
        assert!(!known("2026-11-30T23:56:00Z", "a", "1"), "so near to the end the ledger is asked");
        assert!(!known("2026-12-01T00:00:00Z", "a", "1"), "the period is over");
        repeats.learn(&payer("b"), "2026-12", [].into_iter());
        assert!(!known(now, "a", "1"), "the ledger has gone on, so the clock was set back");
    }
}
