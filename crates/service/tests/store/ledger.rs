//! The ledger as a table: each line is a turn of a call, and what it gets.

use taxon::store::{HOLD, LedgerFilter, Payer, PoolUsage, Resets, SettleOutcome};

use super::engines::{DAY, Engine, NOON, SECOND, engines, payer, reserve, settle, told};

/// One line of a table: `at +SECONDS`, `CALL wants h1 h2`, or `CALL settles h1=billable h2=void wants h3`.
async fn line(engine: &Engine, payer: &Payer, text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    if let ["at", seconds] = words.as_slice() {
        engine.set_clock(NOON + seconds.parse::<i64>().unwrap() * SECOND);
        return String::new();
    }
    let cut = words.iter().position(|word| *word == "wants").unwrap_or(words.len());
    let wanted = words.get(cut + 1..).unwrap_or_default();
    let outcomes: Vec<(&str, SettleOutcome)> =
        words[1..cut].iter().filter(|word| **word != "settles").map(|w| outcome(w)).collect();
    let turn = match outcomes.is_empty() {
        true => reserve(payer, words[0], wanted),
        false => settle(payer, words[0], "2026-11", &outcomes, wanted),
    };
    told(&engine.store.turn(turn).await.unwrap())
}

fn outcome(word: &str) -> (&str, SettleOutcome) {
    let (hash, outcome) = word.split_once('=').unwrap();
    let outcome = match outcome {
        "billable" => SettleOutcome::Billable,
        "free" => SettleOutcome::Free,
        "void" => SettleOutcome::Void,
        other => panic!("{other}"),
    };
    (hash, outcome)
}

/// Runs a table of `turn → answer` on both engines, with a pool of `limit`.
async fn check(limit: Option<i64>, table: &str) {
    for engine in engines().await {
        let payer = payer("owner", limit);
        for row in table.lines().map(str::trim).filter(|row| !row.is_empty()) {
            let (turn, expected) = row.split_once('→').unwrap_or((row, ""));
            assert_eq!(line(&engine, &payer, turn).await, expected.trim(), "{}: {row}", engine.name);
        }
        assert_eq!(engine.store.imbalances().await.unwrap(), [], "{}", engine.name);
    }
}

#[tokio::test]
async fn a_hash_counts_once_and_repeats_are_free() {
    let table = "
        a wants h1 h2            → held held
        a settles h1=billable h2=free → billed free
        b wants h1 h2 h3         → repeat repeat held
        b settles h3=billable    → billed
        c wants h1 h2 h3         → repeat repeat repeat";
    check(Some(2), table).await;
}

#[tokio::test]
async fn places_are_never_more_than_the_limit() {
    let table = "
        a wants h1 h2 h3         → held held refused
        b wants h3               → refused
        a settles h1=billable h2=void → billed void
        b wants h3 h4            → held refused
        b settles h3=billable    → billed
        c wants h5               → refused
        c wants h1               → repeat";
    check(Some(2), table).await;
}

/// A free hash releases its reservation to the next in line, before any other call can take it.
#[tokio::test]
async fn a_place_given_back_goes_to_the_next_of_the_same_call() {
    let table = "
        a wants h1 h2 h3               → held refused refused
        b wants h4                     → refused
        a settles h1=free wants h2 h3  → free | held refused
        b wants h4                     → refused
        a settles h2=void wants h3     → void | held
        a settles h3=billable          → billed
        b wants h4                     → refused";
    check(Some(1), table).await;
}

/// A hash that was read without a reservation takes one in order, even if only to release it: a free hash needs one too.
#[tokio::test]
async fn the_rest_of_a_call_is_settled_in_order() {
    let table = "
        a wants h1 h2 h3 h4 h5 h6             → held refused refused refused refused refused
        a settles h1=free wants h2            → free | held
        a settles h2=free h3=void h4=billable h5=free h6=billable → free void billed refused refused
        b wants h7                            → refused";
    check(Some(1), table).await;
}

/// Two calls in flight for one hash share its reservation, and it is counted once, whichever settles first.
#[tokio::test]
async fn a_place_belongs_to_the_hash() {
    let table = "
        a wants h1               → held
        b wants h1 h2            → held refused
        a settles h1=void        → void
        c wants h2               → refused
        b settles h1=billable    → billed
        a wants h1               → repeat
        c wants h2               → refused";
    check(Some(1), table).await;
    let table = "
        a wants h1               → held
        b wants h1               → held
        a settles h1=billable    → billed
        b settles h1=billable    → repeat";
    check(Some(1), table).await;
}

/// A call that never settles loses its reservations within a minute. One that settles late is answered only if quota is left.
#[tokio::test]
async fn a_crash_frees_its_places_within_a_minute() {
    assert!(HOLD.as_secs() < 60);
    let table = "
        a wants h1               → held
        at 44
        b wants h2               → refused
        at 46
        b wants h2               → held
        a settles h1=billable    → refused
        b settles h2=billable    → billed
        a settles h1=billable    → refused
        c wants h1               → refused";
    check(Some(1), table).await;
    let table = "
        a wants h1               → held
        at 46
        a settles h1=billable    → billed
        b wants h1               → repeat";
    check(Some(1), table).await;
}

/// Settling twice, as after an answer that was lost on the way, does no harm.
#[tokio::test]
async fn a_turn_may_be_done_twice() {
    let table = "
        a wants h1               → held
        a wants h1               → held
        a settles h1=billable    → billed
        a settles h1=billable    → repeat
        b wants h2               → held
        b settles h2=void        → void
        b settles h2=void        → void";
    check(Some(3), table).await;
}

#[tokio::test]
async fn metered_callers_are_never_refused() {
    let table = "
        a wants h1 h2 h3         → held held held
        a settles h1=billable h2=free h3=void → billed free void
        b wants h1 h2 h3         → repeat repeat held";
    check(None, table).await;
}

#[tokio::test]
async fn a_pool_of_nothing_refuses_everything() {
    check(Some(0), "a wants h1 → refused").await;
}

/// A clock that jumps backwards never reopens a period; a call that began before midnight settles in its own.
#[tokio::test]
async fn periods_follow_the_calendar_and_never_go_back() {
    for engine in engines().await {
        let payer = payer("owner", Some(1));
        let wants = async |call: &str, hash: &str| {
            let turned = engine.store.turn(reserve(&payer, call, &[hash])).await.unwrap();
            (told(&turned), turned.period)
        };
        let bill = async |call: &str, period: &str, hash: &str| {
            let turn = settle(&payer, call, period, &[(hash, SettleOutcome::Billable)], &[]);
            told(&engine.store.turn(turn).await.unwrap())
        };
        assert_eq!(wants("a", "h1").await, ("held".to_owned(), "2026-11".to_owned()));
        engine.set_clock(NOON + 16 * DAY);
        assert_eq!(wants("b", "h1").await, ("held".to_owned(), "2026-12".to_owned()), "a new month, a new pool");
        assert_eq!(bill("a", "2026-11", "h1").await, "billed", "the old call settles in the old month");
        assert_eq!(bill("b", "2026-12", "h1").await, "billed");
        engine.set_clock(NOON);
        assert_eq!(wants("c", "h2").await, ("refused".to_owned(), "2026-12".to_owned()), "{}", engine.name);
        let pool_usage = engine.store.pool_usage(&payer, Some("h1")).await.unwrap();
        assert_eq!(pool_usage, PoolUsage { used: 1, is_counted: true });
    }
}

#[tokio::test]
async fn anonymous_pools_last_a_day() {
    for engine in engines().await {
        let payer = Payer { resets: Resets::Daily, ..payer("anon:192.0.2.1", Some(1)) };
        let first = engine.store.turn(reserve(&payer, "a", &["h1"])).await.unwrap();
        assert_eq!(first.period, "2026-11-15");
        engine.store.turn(settle(&payer, "a", &first.period, &[("h1", SettleOutcome::Billable)], &[])).await.unwrap();
        assert_eq!(told(&engine.store.turn(reserve(&payer, "b", &["h2"])).await.unwrap()), "refused");
        engine.set_clock(NOON + DAY);
        assert_eq!(told(&engine.store.turn(reserve(&payer, "c", &["h2"])).await.unwrap()), "held", "{}", engine.name);
        assert_eq!(engine.store.pool_usage(&payer, None).await.unwrap().used, 0);
    }
}

/// Many callers at once, on two connections to one database: exactly as many are billed as the pool holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_calls_never_overshoot() {
    for engine in engines().await {
        let stores = [engine.store.clone(), engine.beside().await];
        let payer = payer("owner", Some(120));
        let calls = (0..200).map(|number| {
            let (store, payer) = (stores[number % 2].clone(), payer.clone());
            tokio::spawn(async move {
                let (call, hash) = (format!("call{number}"), format!("h{number}"));
                let turned = store.turn(reserve(&payer, &call, &[&hash])).await.unwrap();
                if told(&turned) == "refused" {
                    return 0;
                }
                let done = settle(&payer, &call, &turned.period, &[(&hash, SettleOutcome::Billable)], &[]);
                usize::from(told(&store.turn(done).await.unwrap()) == "billed")
            })
        });
        let mut billed = 0;
        for call in calls.collect::<Vec<_>>() {
            billed += call.await.unwrap();
        }
        assert_eq!(billed, 120, "{}", engine.name);
        assert_eq!(engine.store.pool_usage(&payer, None).await.unwrap().used, 120);
        assert_eq!(engine.store.entries(&LedgerFilter::default(), None).await.unwrap().len(), 120);
    }
}
