//! Events for the billing rail: written with the ledger's rows, in order, and kept until they are delivered.

use std::time::Duration;

use taxon::store::{SettleOutcome, Store};

use super::engines::{NOON, SECOND, engines, payer, settle};

async fn due(store: &Store) -> Vec<String> {
    store.due().await.unwrap().into_iter().map(|(payer, _)| payer).collect()
}

async fn waiting(store: &Store, payer: &str) -> Vec<String> {
    store.events(payer).await.unwrap().into_iter().map(|event| event.entry.hash).collect()
}

#[tokio::test]
async fn each_metered_row_is_one_event_in_order() {
    for engine in engines().await {
        let store = &engine.store;
        for owner in ["p1", "p2"] {
            let metered = payer(owner, None);
            let first = [
                ("h2", SettleOutcome::Billable),
                ("h1", SettleOutcome::Billable),
                ("f1", SettleOutcome::Free),
                ("v1", SettleOutcome::Void),
            ];
            store.turn(settle(&metered, "a", "2026-11", &first, &[])).await.unwrap();
            store
                .turn(settle(
                    &metered,
                    "b",
                    "2026-11",
                    &[("h0", SettleOutcome::Billable), ("h1", SettleOutcome::Billable)],
                    &[],
                ))
                .await
                .unwrap();
        }
        let pooled = payer("dev", Some(5));
        store.turn(settle(&pooled, "a", "2026-11", &[("h1", SettleOutcome::Billable)], &[])).await.unwrap();
        assert_eq!(due(store).await, ["p1", "p2"], "{}", engine.name);
        assert_eq!(waiting(store, "p1").await, ["h2", "h1", "h0"]);
        let second = store.events("p1").await.unwrap()[1].seq;
        store.delivered("p1", second).await.unwrap();
        assert_eq!(waiting(store, "p1").await, ["h0"]);
        assert_eq!(waiting(store, "p2").await.len(), 3, "one owner's delivery is not another's");
    }
}

#[tokio::test]
async fn without_a_sink_nothing_waits() {
    for engine in engines().await {
        let mut turn = settle(&payer("p1", None), "a", "2026-11", &[("h1", SettleOutcome::Billable)], &[]);
        turn.has_sink = false;
        engine.store.turn(turn).await.unwrap();
        assert!(due(&engine.store).await.is_empty() && engine.store.waiting().await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_failure_puts_one_owner_off() {
    for engine in engines().await {
        let store = &engine.store;
        for owner in ["p1", "p2"] {
            let turn = settle(&payer(owner, None), "a", "2026-11", &[("h1", SettleOutcome::Billable)], &[]);
            store.turn(turn).await.unwrap();
        }
        store.delay("p1", Duration::from_secs(8), "the sink answered 500").await.unwrap();
        store.delay("p1", Duration::from_secs(16), "the sink answered 503").await.unwrap();
        assert_eq!(due(store).await, ["p2"]);
        let row = &store.waiting().await.unwrap()[0];
        assert_eq!((row.failures, row.retry_at, row.waiting), (2, Some(NOON + 16 * SECOND), 1), "{}", engine.name);
        assert_eq!(row.reason.as_deref(), Some("the sink answered 503"));
        engine.set_clock(NOON + 16 * SECOND);
        assert_eq!(store.due().await.unwrap(), [("p1".to_owned(), 2), ("p2".to_owned(), 0)]);
    }
}

#[tokio::test]
async fn one_instance_at_a_time_delivers() {
    for engine in engines().await {
        let span = Duration::from_secs(15);
        let (one, other) = (&engine.store, engine.beside().await);
        assert!(one.lease("meter", "one", span).await.unwrap());
        assert!(!other.lease("meter", "other", span).await.unwrap());
        engine.set_clock(NOON + 10 * SECOND);
        assert!(one.lease("meter", "one", span).await.unwrap(), "whoever has it may renew it");
        engine.set_clock(NOON + 20 * SECOND);
        assert!(!other.lease("meter", "other", span).await.unwrap());
        engine.set_clock(NOON + 25 * SECOND);
        assert!(other.lease("meter", "other", span).await.unwrap(), "{}: silence gives it away", engine.name);
    }
}
