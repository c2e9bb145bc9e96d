//! Random interleavings of calls, crashes, late answers, revoked keys, months and clocks that jump, against a model of a few lines.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use taxon::store::{Billing, Grant, HOLD, LedgerFilter, NewKey, Payer, Posted, SettleOutcome, Turn, Turned};

use super::engines::{DAY, Engine, NOON, SECOND, engines, payer, reserve, settle};

const LIMIT: i64 = 3;
const CASES: u32 = 96;

#[derive(Debug, Clone)]
enum Step {
    Reserve {
        call: usize,
        hashes: BTreeSet<usize>,
    },
    /// Settles what the call was given, and asks for more.
    Settle {
        call: usize,
        outcomes: Vec<SettleOutcome>,
        more: BTreeSet<usize>,
    },
    /// From here on no call is admitted; calls in flight are still settled.
    Revoke,
    /// Seconds, which may be negative.
    Clock(i64),
}

/// What the ledger should be: entries, and holds with their end.
struct Model {
    limit: Option<i64>,
    entries: BTreeMap<(String, String), bool>,
    holds: BTreeMap<(String, String, String), i64>,
}

impl Model {
    fn has_place(&self, period: &str, hash: &str) -> bool {
        self.holds.keys().any(|(p, h, _)| p == period && h == hash)
    }

    fn is_full(&self, period: &str) -> bool {
        let billed = self.entries.iter().filter(|((p, _), billed)| p == period && **billed).count();
        let held: BTreeSet<&String> =
            self.holds.keys().filter(|(p, ..)| p == period).map(|(_, hash, _)| hash).collect();
        self.limit.is_some_and(|limit| i64::try_from(billed + held.len()).unwrap() >= limit)
    }

    fn period(&self, turn: &Turn, now: i64) -> String {
        let latest = self.entries.keys().map(|(period, _)| period.clone()).max().unwrap_or_default();
        turn.period.clone().unwrap_or_else(|| turn.payer.resets.period(now).max(latest))
    }

    fn turn(&mut self, turn: &Turn, now: i64) -> Turned {
        let period = self.period(turn, now);
        let hold = i64::try_from(HOLD.as_millis()).unwrap();
        self.holds.retain(|(p, ..), until| *p != period || (*until > now && *until <= now + 2 * hold));
        let (mut posted, mut granted) = (Vec::new(), Vec::new());
        for row in &turn.settled {
            let key = (period.clone(), row.hash.clone());
            posted.push(match row.outcome {
                SettleOutcome::Billable | SettleOutcome::Free if self.entries.contains_key(&key) => Posted::Repeat,
                _ if !self.has_place(&period, &row.hash) && self.is_full(&period) => Posted::Refused,
                SettleOutcome::Void => {
                    self.holds.remove(&(period.clone(), row.hash.clone(), turn.call_id.clone()));
                    Posted::Void
                }
                outcome => {
                    self.holds.retain(|(p, h, _), _| (p, h) != (&period, &row.hash));
                    self.entries.insert(key, outcome == SettleOutcome::Billable);
                    if outcome == SettleOutcome::Billable { Posted::Billed } else { Posted::Free }
                }
            });
        }
        for hash in &turn.wanted {
            granted.push(if self.entries.contains_key(&(period.clone(), hash.clone())) {
                Grant::Repeat
            } else if self.has_place(&period, hash) || !self.is_full(&period) {
                if self.limit.is_some() {
                    self.holds.insert((period.clone(), hash.clone(), turn.call_id.clone()), now + hold);
                }
                Grant::Held
            } else {
                Grant::Refused
            });
        }
        Turned { period, posted, granted }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let hashes = || proptest::collection::btree_set(0usize..6, 1..4);
    let outcome =
        prop_oneof![3 => Just(SettleOutcome::Billable), 1 => Just(SettleOutcome::Free), 1 => Just(SettleOutcome::Void)];
    let clock = prop_oneof![
        4 => 0i64..30,
        2 => 30i64..60,
        1 => Just(31 * DAY / SECOND),
        1 => -90i64..0,
        1 => Just(-31 * DAY / SECOND),
    ];
    let more = proptest::collection::btree_set(0usize..6, 0..3);
    let step = prop_oneof![
        12 => (0usize..4, hashes()).prop_map(|(call, hashes)| Step::Reserve { call, hashes }),
        12 => (0usize..4, proptest::collection::vec(outcome, 6), more)
            .prop_map(|(call, outcomes, more)| Step::Settle { call, outcomes, more }),
        6 => clock.prop_map(Step::Clock),
        1 => Just(Step::Revoke),
    ];
    proptest::collection::vec(step, 20..60)
}

fn key(id: &str) -> NewKey {
    let billing = Billing::Pool { tier: "enterprise".to_owned(), contracted: Some(LIMIT) };
    let (id, email, owner_id) = (id.to_owned(), format!("{id}@example.com"), id.to_owned());
    NewKey { hash: id.clone().into_bytes(), id, email, name: String::new(), owner_id, billing }
}

/// What a call was given and has not settled yet.
#[derive(Default, Clone)]
struct Open {
    period: String,
    hashes: Vec<String>,
}

async fn follow(engine: &Engine, payer: &Payer, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut model = Model { limit: payer.limit, entries: BTreeMap::new(), holds: BTreeMap::new() };
    let mut open: BTreeMap<usize, Open> = BTreeMap::new();
    let mut now = NOON;
    let mut is_revoked = false;
    engine.set_clock(now);
    engine.store.create_key(&key(&payer.id)).await.unwrap();
    for step in steps {
        let (call, turn) = match step {
            Step::Clock(seconds) => {
                now += seconds * SECOND;
                engine.set_clock(now);
                continue;
            }
            Step::Revoke => {
                prop_assert!(engine.store.revoke_key(&payer.id).await.unwrap());
                is_revoked = true;
                continue;
            }
            Step::Reserve { .. } if is_revoked => {
                prop_assert!(engine.store.key(&payer.id).await.unwrap().unwrap().revoked_at.is_some());
                continue;
            }
            Step::Reserve { call, hashes } => {
                // A call that begins anew has crashed before: what it held stays until it expires.
                let names: Vec<String> = hashes.iter().map(|hash| format!("h{hash}")).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                open.remove(call);
                (*call, reserve(payer, &format!("call{call}"), &names))
            }
            Step::Settle { call, outcomes, more } => {
                let Some(begun) = open.get(call).filter(|begun| !begun.hashes.is_empty()) else { continue };
                let settled: Vec<(&str, SettleOutcome)> =
                    begun.hashes.iter().map(String::as_str).zip(outcomes.iter().copied()).collect();
                let more: Vec<String> = more.iter().map(|hash| format!("h{hash}")).collect();
                let more: Vec<&str> = more
                    .iter()
                    .map(String::as_str)
                    .filter(|hash| !begun.hashes.iter().any(|one| one == hash))
                    .collect();
                (*call, settle(payer, &format!("call{call}"), &begun.period, &settled, &more))
            }
        };
        let expected = model.turn(&turn, now);
        let turned = engine.store.turn(turn.clone()).await.unwrap();
        prop_assert_eq!(&turned, &expected, "{}: {:?} at {}", engine.name, &turn, now);
        let held = turn.wanted.iter().zip(&turned.granted).filter(|(_, grant)| **grant == Grant::Held);
        open.insert(call, Open { period: turned.period, hashes: held.map(|(hash, _)| hash.clone()).collect() });
        let billed = model.entries.iter().filter(|(_, billed)| **billed);
        let latest = model.period(&reserve(payer, "", &[]), now);
        let used = if payer.limit.is_none() { 0 } else { billed.filter(|((period, _), _)| *period == latest).count() };
        let pool_usage = engine.store.pool_usage(payer, None).await.unwrap();
        prop_assert_eq!(pool_usage.used, i64::try_from(used).unwrap());
        prop_assert!(pool_usage.used <= LIMIT);
    }
    let rows = engine.store.entries(&LedgerFilter::default(), None).await.unwrap();
    let rows: BTreeMap<(String, String), bool> = rows
        .into_iter()
        .filter(|row| row.payer == payer.id)
        .map(|row| ((row.period, row.hash), row.billed != "free"))
        .collect();
    prop_assert_eq!(rows, model.entries);
    Ok(())
}

#[test]
fn both_engines_follow_the_model() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for engine in runtime.block_on(engines()) {
        let number = std::sync::atomic::AtomicUsize::new(0);
        let mut runner = TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
        let limits = prop_oneof![4 => Just(Some(LIMIT)), 1 => Just(None)];
        let done = runner.run(&(limits, steps()), |(limit, steps)| {
            let case = number.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let payer = payer(&format!("owner{case}"), limit);
            runtime.block_on(follow(&engine, &payer, &steps))
        });
        done.unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(runtime.block_on(engine.store.imbalances()).unwrap(), []);
        runtime.block_on(async { drop(engine) });
    }
}
