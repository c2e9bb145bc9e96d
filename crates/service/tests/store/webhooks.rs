//! Webhooks: messages are written with what they tell of, go out in order and one at a time, and end.

use std::time::Duration;

use serde_json::{Value, json};
use taxon::store::{
    AttemptOutcome, DeliveryRow, DeliveryState, DueDelivery, EventKind, HistoryRow, SettleOutcome, Store, WebhookSecret,
};

use super::engines::{DAY, Engine, NOON, SECOND, engines, payer, reserve, settle};
use super::history::reading;
use super::jobs;

const HELD: Duration = Duration::from_secs(30);
const TRIED_FOR: Duration = Duration::from_secs(3 * 86_400);
const KEPT: Duration = Duration::from_secs(30 * 86_400);
const EVERYTHING: &str = "job.finished job.failed quota.low quota.exhausted verdict.moved";

pub async fn endpoint(store: &Store, owner: &str, id: &str, events: &str) {
    let secret = WebhookSecret(vec![7; 32]);
    assert!(store.create_endpoint(owner, id, "https://example.com/hook", events, &secret, 5).await.unwrap());
}

async fn owners(store: &Store) {
    for owner in ["a", "b"] {
        assert!(store.create_account(owner, &format!("{owner}@example.com"), "hash").await.unwrap());
    }
}

/// The endpoint's messages in the order in which they were written: kind and data.
pub async fn told(store: &Store, endpoint: &str) -> Vec<(String, Value)> {
    let mut rows = store.deliveries(endpoint, None, 100).await.unwrap();
    rows.reverse();
    rows.into_iter()
        .map(|row| {
            let mut payload: Value = serde_json::from_str(&row.payload).unwrap();
            assert_eq!(payload["type"], row.kind.as_str());
            assert!(payload["timestamp"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok(), "{payload}");
            assert!(row.kind == "test" || (row.id.len() == 36 && row.id.starts_with("msg_")), "{}", row.id);
            (row.kind, payload["data"].take())
        })
        .collect()
}

async fn kinds(store: &Store, endpoint: &str) -> Vec<String> {
    told(store, endpoint).await.into_iter().map(|(kind, _)| kind).collect()
}

async fn hold(store: &Store) -> Option<DueDelivery> {
    store.hold_delivery("holder", HELD).await.unwrap()
}

fn failed(pause: Duration) -> AttemptOutcome {
    AttemptOutcome { status: Some(500), failure: Some("it answered 500".to_owned()), pause, is_gone: false }
}

async fn end(store: &Store, due: &DueDelivery, outcome: &AttemptOutcome) -> DeliveryState {
    store.end_delivery(due, "holder", outcome, TRIED_FOR).await.unwrap().unwrap()
}

async fn row(store: &Store, owner: &str, id: &str) -> DeliveryRow {
    store.delivery(owner, id).await.unwrap().unwrap()
}

async fn test_message(engine: &Engine, id: &str) {
    assert!(engine.store.announce_test("a", "whe_a", id).await.unwrap());
}

#[tokio::test]
async fn the_end_of_a_job_is_told_with_it_and_only_to_whoever_wants_it() {
    for engine in engines().await {
        let store = &engine.store;
        owners(store).await;
        endpoint(store, "a", "whe_a", EVERYTHING).await;
        endpoint(store, "a", "whe_quiet", "quota.low").await;
        endpoint(store, "b", "whe_b", EVERYTHING).await;
        for (id, parts) in [("one", 2), ("broken", 1), ("cancelled", 1)] {
            jobs::job(store, id, "a", parts).await;
        }
        assert!(store.end_job("broken", "failed", Some("its key was revoked")).await.unwrap());
        assert!(!store.end_job("broken", "failed", Some("again")).await.unwrap());
        assert!(store.end_job("cancelled", "cancelled", None).await.unwrap());
        let held = store.hold_parts("worker", jobs::HELD, 2).await.unwrap();
        assert!(jobs::end(store, &held[0], "worker", &jobs::outcome(true)).await);
        assert_eq!(kinds(store, "whe_a").await, ["job.failed"], "{}: not before the last part", engine.name);
        assert!(jobs::end(store, &held[1], "worker", &jobs::outcome(true)).await);
        assert!(!jobs::end(store, &held[1], "worker", &jobs::outcome(true)).await);
        let told = told(store, "whe_a").await;
        let noon = "2026-11-15T12:00:00Z";
        let data = |id: &str, state: &str, reason: Value, rows: i64, read: i64| {
            json!({
                "id": id, "name": "a table", "state": state, "reason": reason, "rows": rows, "read": read, "failed": 0, "needs_review": read,
                "created_at": noon, "ended_at": noon,
            })
        };
        let expected = [
            ("job.failed".to_owned(), data("broken", "failed", json!("its key was revoked"), 1, 0)),
            ("job.finished".to_owned(), data("one", "finished", Value::Null, 2, 2)),
        ];
        assert_eq!(told, expected, "{}", engine.name);
        assert!(kinds(store, "whe_quiet").await.is_empty() && kinds(store, "whe_b").await.is_empty());
    }
}

#[tokio::test]
async fn a_pool_that_runs_low_and_out_is_told_once_a_period_and_size() {
    for engine in engines().await {
        let store = &engine.store;
        owners(store).await;
        endpoint(store, "a", "whe_a", EVERYTHING).await;
        let turn = async |call: usize, count: usize, limit: i64| {
            let payer = payer("a", Some(limit));
            let hashes: Vec<String> = (0..count).map(|at| format!("{call}-{at}")).collect();
            let hashes: Vec<&str> = hashes.iter().map(String::as_str).collect();
            let call = call.to_string();
            let turned = store.turn(reserve(&payer, &call, &hashes)).await.unwrap();
            let outcomes: Vec<_> = hashes.iter().map(|hash| (*hash, SettleOutcome::Billable)).collect();
            store.turn(settle(&payer, &call, &turned.period, &outcomes, &[])).await.unwrap();
        };
        turn(1, 8, 10).await;
        assert!(kinds(store, "whe_a").await.is_empty(), "{}", engine.name);
        turn(2, 1, 10).await;
        assert_eq!(kinds(store, "whe_a").await, ["quota.low"], "{}", engine.name);
        turn(3, 2, 10).await;
        turn(4, 2, 10).await;
        let low = ("quota.low".to_owned(), json!({ "period": "2026-11", "pool": 10, "used": 9 }));
        let exhausted = ("quota.exhausted".to_owned(), json!({ "period": "2026-11", "pool": 10, "used": 9 }));
        assert_eq!(told(store, "whe_a").await, [low, exhausted], "{}: at the first refusal, once", engine.name);
        // A larger pool is used up anew.
        turn(5, 10, 20).await;
        let last = told(store, "whe_a").await.split_off(2);
        let both = |used: i64| {
            ["quota.low", "quota.exhausted"]
                .map(|kind| (kind.to_owned(), json!({ "period": "2026-11", "pool": 20, "used": used })))
        };
        assert_eq!(last, both(20), "{}", engine.name);
        engine.set_clock(NOON + 20 * DAY);
        turn(6, 20, 20).await;
        assert_eq!(kinds(store, "whe_a").await.len(), 6, "{}: a new period", engine.name);
        assert_eq!(store.imbalances().await.unwrap(), []);

        // Refused before anything was counted: nobody is told afterwards that it runs low.
        endpoint(store, "b", "whe_b", EVERYTHING).await;
        let small = payer("b", Some(2));
        let turned = store.turn(reserve(&small, "x", &["1", "2", "3"])).await.unwrap();
        let outcomes = [("1", SettleOutcome::Billable), ("2", SettleOutcome::Billable)];
        store.turn(settle(&small, "x", &turned.period, &outcomes, &[])).await.unwrap();
        let all = told(store, "whe_b").await;
        assert_eq!(all, [("quota.exhausted".to_owned(), json!({ "period": "2026-12", "pool": 2, "used": 0 }))]);
        let nobody = payer("anon:192.0.2.1", Some(0));
        store.turn(reserve(&nobody, "y", &["1"])).await.unwrap();
    }
}

#[tokio::test]
async fn a_verdict_that_moved_under_new_rules_is_told() {
    for engine in engines().await {
        let store = &engine.store;
        owners(store).await;
        assert!(!store.is_told_of_moves("a").await.unwrap());
        endpoint(store, "a", "whe_a", "verdict.moved").await;
        assert!(store.is_told_of_moves("a").await.unwrap());
        let before = reading("a", "0xab", "w", NOON);
        let unknown = HistoryRow { rules: String::new(), ..reading("a", "0xold", "w", NOON) };
        let other = reading("b", "0xab", "w", NOON);
        store.write_history(&[before.clone(), unknown.clone(), other.clone()], &[]).await.unwrap();
        let write = async |row: &HistoryRow| store.write_history(std::slice::from_ref(row), &[]).await.unwrap();
        // Asked with another policy; read the same by other rules; nobody knows by which rules it was read.
        let review = |row: &HistoryRow, rules: &str, at: i64| HistoryRow {
            category: "transfer",
            treatment: "needs_review",
            taxable: None,
            needs_review: true,
            rules: rules.to_owned(),
            at,
            ..row.clone()
        };
        write(&review(&before, "1+aa", NOON + 1)).await;
        write(&HistoryRow { at: NOON + 2, ..before.clone() }).await;
        write(&HistoryRow { at: NOON + 3, rules: "1+bb".to_owned(), confidence: 50, ..before.clone() }).await;
        write(&review(&unknown, "1+bb", NOON + 4)).await;
        write(&review(&other, "1+bb", NOON + 4)).await;
        assert!(kinds(store, "whe_a").await.is_empty(), "{}", engine.name);

        write(&review(&before, "1+cc", NOON + 5)).await;
        write(&review(&before, "1+cc", NOON + 6)).await;
        write(&HistoryRow { at: NOON + 4, rules: "1+dd".to_owned(), ..before.clone() }).await;
        let data = json!({
            "chain": "demo", "hash": "0xab", "wallet": "w",
            "before": { "category": "swap", "treatment": "disposal", "taxable": true, "needs_review": false, "engine": "1+bb" },
            "after": { "category": "transfer", "treatment": "needs_review", "taxable": null, "needs_review": true, "engine": "1+cc" },
        });
        assert_eq!(told(store, "whe_a").await, [("verdict.moved".to_owned(), data)], "{}", engine.name);
    }
}

#[tokio::test]
async fn one_message_at_a_time_goes_to_an_endpoint_and_another_instance_takes_over() {
    for engine in engines().await {
        let store = &engine.store;
        owners(store).await;
        endpoint(store, "a", "whe_a", "").await;
        endpoint(store, "b", "whe_b", "").await;
        test_message(&engine, "msg_1").await;
        test_message(&engine, "msg_2").await;
        assert!(store.announce_test("b", "whe_b", "msg_b").await.unwrap());
        assert!(!store.announce_test("b", "whe_a", "msg_x").await.unwrap(), "not to another's");
        let beside = engine.beside().await;
        let (first, second) = (hold(store).await.unwrap(), hold(&beside).await.unwrap());
        assert_eq!((first.id.as_str(), second.id.as_str()), ("msg_1", "msg_b"), "{}", engine.name);
        assert!(hold(store).await.is_none(), "the endpoint is held");
        assert_eq!(first.secrets, [WebhookSecret(vec![7; 32])]);
        assert!(
            !format!("{first:?} {:?}", store.endpoints("a").await.unwrap()).contains("https"),
            "and nothing is printed"
        );

        engine.set_clock(NOON + 31 * SECOND);
        let again = store.hold_delivery("another", HELD).await.unwrap().unwrap();
        assert_eq!(again.id, "msg_1", "of the first holder nothing is heard");
        let late = store.end_delivery(&first, "holder", &AttemptOutcome::default(), TRIED_FOR).await.unwrap();
        assert_eq!((late, row(store, "a", "msg_1").await.attempts), (None, 0));
        let done = store.end_delivery(&again, "another", &AttemptOutcome::default(), TRIED_FOR).await.unwrap();
        assert_eq!(done, Some(DeliveryState::Delivered));
        let first = row(store, "a", "msg_1").await;
        assert_eq!((first.state.as_str(), first.attempts, first.ended_at), ("delivered", 1, Some(NOON + 31 * SECOND)));
        let mut rest = vec![hold(store).await.unwrap().id, hold(store).await.unwrap().id];
        rest.sort();
        assert_eq!(rest, ["msg_2", "msg_b"], "{}", engine.name);
    }
}

#[tokio::test]
async fn many_at_once_hold_each_endpoint_once() {
    for engine in engines().await {
        owners(&engine.store).await;
        for number in 0..4 {
            let id = format!("whe_{number}");
            endpoint(&engine.store, "a", &id, "").await;
            for message in 0..3 {
                assert!(engine.store.announce_test("a", &id, &format!("msg_{number}_{message}")).await.unwrap());
            }
        }
        let beside = engine.beside().await;
        let holders = (0..12).map(|at| {
            let store = if at % 2 == 0 { &engine.store } else { &beside };
            async move { store.hold_delivery(&at.to_string(), HELD).await.unwrap().map(|due| due.endpoint_id) }
        });
        let mut held: Vec<String> = futures_util::future::join_all(holders).await.into_iter().flatten().collect();
        while let Some(due) = hold(&engine.store).await {
            held.push(due.endpoint_id);
        }
        held.sort();
        assert_eq!(held, ["whe_0", "whe_1", "whe_2", "whe_3"], "{}", engine.name);
    }
}

#[tokio::test]
async fn messages_about_the_same_keep_their_order_and_others_pass() {
    for engine in engines().await {
        let store = &engine.store;
        owners(store).await;
        endpoint(store, "a", "whe_a", EVERYTHING).await;
        let moved = async |hash: &str, at: i64, rules: &str, category: &'static str| {
            let row = HistoryRow { rules: rules.to_owned(), category, ..reading("a", hash, "w", NOON + at) };
            store.write_history(&[row], &[]).await.unwrap();
        };
        for hash in ["0x1", "0x2"] {
            moved(hash, 0, "1", "swap").await;
        }
        moved("0x1", 1, "2", "transfer").await;
        moved("0x1", 2, "3", "swap").await;
        moved("0x2", 3, "3", "transfer").await;
        let mut ids: Vec<String> =
            store.deliveries("whe_a", None, 9).await.unwrap().into_iter().map(|row| row.id).collect();
        ids.reverse();
        let first = hold(store).await.unwrap();
        assert_eq!((end(store, &first, &failed(HELD)).await, &first.id), (DeliveryState::Waiting, &ids[0]));
        let third = hold(store).await.unwrap();
        assert_eq!(third.id, ids[2], "{}: the second waits for the first, the third does not", engine.name);
        assert_eq!(end(store, &third, &AttemptOutcome::default()).await, DeliveryState::Delivered);
        assert!(hold(store).await.is_none());
        engine.set_clock(NOON + 30 * SECOND);
        let first = hold(store).await.unwrap();
        assert_eq!((&first.id, first.attempts), (&ids[0], 1));
        assert_eq!(end(store, &first, &AttemptOutcome::default()).await, DeliveryState::Delivered);
        assert_eq!(hold(store).await.unwrap().id, ids[1]);
    }
}

#[tokio::test]
async fn a_message_is_given_up_after_three_days_and_can_be_sent_again() {
    for engine in engines().await {
        let store = &engine.store;
        owners(store).await;
        endpoint(store, "a", "whe_a", "").await;
        test_message(&engine, "msg_1").await;
        let mut at = NOON;
        let hours = Duration::from_secs(10 * 3_600);
        let mut attempts = 0;
        loop {
            let due = hold(store).await.unwrap();
            attempts += 1;
            if end(store, &due, &failed(hours)).await == DeliveryState::GivenUp {
                break;
            }
            at += 10 * 3_600 * SECOND;
            engine.set_clock(at);
        }
        assert_eq!(attempts, 8, "{}: the last one 70 hours later", engine.name);
        let given_up = row(store, "a", "msg_1").await;
        assert_eq!((given_up.state.as_str(), given_up.status, given_up.ended_at), ("given_up", Some(500), Some(at)));
        assert!(!store.redeliver("b", "msg_1").await.unwrap() && store.delivery("b", "msg_1").await.unwrap().is_none());
        assert!(store.redeliver("a", "msg_1").await.unwrap());
        let again = hold(store).await.unwrap();
        assert_eq!((again.id.as_str(), again.attempts), ("msg_1", 0), "under the same id");
        assert_eq!(end(store, &again, &failed(hours)).await, DeliveryState::Waiting, "and with three days anew");
    }
}

#[tokio::test]
async fn an_endpoint_that_is_gone_is_left_alone_until_its_owner_enables_it() {
    for engine in engines().await {
        let store = &engine.store;
        owners(store).await;
        endpoint(store, "a", "whe_a", EVERYTHING).await;
        test_message(&engine, "msg_1").await;
        test_message(&engine, "msg_2").await;
        let due = hold(store).await.unwrap();
        let gone = AttemptOutcome { status: Some(410), is_gone: true, ..failed(HELD) };
        assert_eq!(end(store, &due, &gone).await, DeliveryState::GivenUp);
        let disabled = store.endpoint("a", "whe_a").await.unwrap().unwrap();
        assert_eq!((disabled.disabled_at, disabled.disabled_reason.as_deref()), (Some(NOON), Some("it answered 500")));
        jobs::job(store, "job", "a", 1).await;
        assert!(store.end_job("job", "failed", None).await.unwrap());
        assert!(hold(store).await.is_none());
        assert_eq!(kinds(store, "whe_a").await, ["test", "test"], "{}: nothing is written to it", engine.name);
        assert!(
            !store.enable_endpoint("b", "whe_a").await.unwrap() && store.enable_endpoint("a", "whe_a").await.unwrap()
        );
        assert_eq!(hold(store).await.unwrap().id, "msg_2", "what waited goes on");
    }
}

#[tokio::test]
async fn both_secrets_sign_until_the_overlap_is_over() {
    for engine in engines().await {
        let store = &engine.store;
        owners(store).await;
        endpoint(store, "a", "whe_a", "").await;
        let new = WebhookSecret(vec![8; 32]);
        let day = Duration::from_secs(86_400);
        assert!(!store.rotate_secret("b", "whe_a", &new, day).await.unwrap());
        assert!(store.rotate_secret("a", "whe_a", &new, day).await.unwrap());
        test_message(&engine, "msg_1").await;
        let due = hold(store).await.unwrap();
        assert_eq!(due.secrets, [new.clone(), WebhookSecret(vec![7; 32])], "{}", engine.name);
        end(store, &due, &AttemptOutcome::default()).await;
        engine.set_clock(NOON + DAY);
        test_message(&engine, "msg_2").await;
        assert_eq!(hold(store).await.unwrap().secrets, [new]);
        store.sweep_webhooks(KEPT, TRIED_FOR).await.unwrap();
        assert_eq!(store.endpoint("a", "whe_a").await.unwrap().unwrap().old_secret_until, None);
    }
}

#[tokio::test]
async fn messages_go_with_their_time_their_endpoint_and_their_owner() {
    for engine in engines().await {
        let store = &engine.store;
        owners(store).await;
        for (owner, id) in [("a", "whe_a"), ("a", "whe_a2"), ("b", "whe_b")] {
            endpoint(store, owner, id, EVERYTHING).await;
        }
        let secret = WebhookSecret(Vec::new());
        assert!(!store.create_endpoint("a", "whe_more", "x", "", &secret, 2).await.unwrap(), "as many as one may have");
        assert!(!store.create_endpoint("nobody", "whe_more", "x", "", &secret, 2).await.unwrap());
        for (id, owner, endpoint) in [("msg_1", "a", "whe_a"), ("msg_2", "a", "whe_a2"), ("msg_b", "b", "whe_b")] {
            assert!(store.announce_test(owner, endpoint, id).await.unwrap());
        }
        while let Some(due) = hold(store).await {
            let outcome = if due.id == "msg_b" { failed(Duration::from_secs(1)) } else { AttemptOutcome::default() };
            end(store, &due, &outcome).await;
        }
        engine.set_clock(NOON + 4 * DAY);
        test_message(&engine, "msg_3").await;
        store.sweep_webhooks(KEPT, TRIED_FOR).await.unwrap();
        assert_eq!(row(store, "b", "msg_b").await.state, "given_up", "{}", engine.name);
        engine.set_clock(NOON + 31 * DAY);
        store.sweep_webhooks(KEPT, TRIED_FOR).await.unwrap();
        assert!(
            store.delivery("a", "msg_1").await.unwrap().is_none()
                && store.delivery("b", "msg_b").await.unwrap().is_none()
        );
        assert_eq!(row(store, "a", "msg_3").await.state, "waiting", "what nobody has tried is tried once");

        assert!(!store.remove_endpoint("b", "whe_a").await.unwrap());
        assert!(
            store.remove_endpoint("a", "whe_a").await.unwrap() && !store.remove_endpoint("a", "whe_a").await.unwrap()
        );
        assert!(store.delivery("a", "msg_3").await.unwrap().is_none());
        assert!(store.announce_test("a", "whe_a2", "msg_4").await.unwrap());
        assert!(store.delete_account("a", "erased-a").await.unwrap());
        assert!(
            store.endpoints("a").await.unwrap().is_empty()
                && store.deliveries("whe_a2", None, 9).await.unwrap().is_empty()
        );
        assert_eq!(store.endpoints("b").await.unwrap().len(), 1);
        assert!(!store.create_endpoint("a", "whe_new", "x", "", &secret, 5).await.unwrap(), "who has left gets none");
        assert_eq!(EventKind::CHOSEN.map(EventKind::name).join(" "), EVERYTHING);
    }
}
