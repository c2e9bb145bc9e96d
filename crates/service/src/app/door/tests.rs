//! Drives the entry of `app` without HTTP, as another kind of interface would: a caller and a request go in, an answer comes out.

use engine::{Question, TxHash};
use serde::Deserialize;
use tempfile::TempDir;

use super::*;
use crate::app::{self, Demo, Item, QuotaStatus};
use crate::auth::Tier;
use crate::error;
use crate::fuzzing::demo_config;
use crate::metrics::{self, Sampled};
use crate::store::{Entry, LedgerFilter, Recent};

const ADDRESS: &str = "192.0.2.7";

struct Service {
    app: Arc<App>,
    key: String,
    _folder: TempDir,
}

impl Service {
    async fn open(rate_per_minute: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = demo_config(&folder);
        config.rate_per_minute = rate_per_minute;
        let app = Arc::new(app::open(&config, Demo::On).await.unwrap());
        let key = crate::auth::create(&app.store, "a@example.com", Tier::Dev, "", None).await.unwrap().text;
        Self { app, key, _folder: folder }
    }

    async fn caller(&self) -> Arc<Caller> {
        self.app.identify(Presented::Key(&self.key), ADDRESS).await.unwrap()
    }

    async fn call(&self, id: &str) -> AdmittedCall {
        self.app.admit(self.caller().await, RequestId::parse(id).unwrap()).await.unwrap()
    }

    async fn ledger(&self) -> Vec<Entry> {
        self.app.store.entries(&LedgerFilter::default(), None).await.unwrap()
    }

    async fn used(&self) -> i64 {
        let asker = Asker::Keyed(self.caller().await);
        match self.app.quota_status(&asker, None).await.unwrap() {
            QuotaStatus::Pool(pool) => pool.used_now(),
            QuotaStatus::Partner(_) => panic!("the key has a pool"),
        }
    }
}

#[derive(Deserialize)]
struct Scenario {
    transactions: Vec<Transaction>,
}

#[derive(Deserialize)]
struct Transaction {
    name: String,
    hash: String,
}

/// A transaction of the demo chain.
fn item(name: &str) -> Item {
    let scenario: Scenario = serde_json::from_str(include_str!("../../../../../demo/scenario.json")).unwrap();
    let found = scenario.transactions.iter().find(|transaction| transaction.name == name).unwrap();
    let hash = TxHash::parse(&found.hash).unwrap();
    Item { hash, tx_id: None, chain: Some("demo".to_owned()), question: Question::default() }
}

fn swaps_counted() -> u64 {
    let sampled = Sampled { calls_in_flight: 0, history_waiting: 0, outbox_waiting: None, log_lines_lost: 0 };
    let text = metrics::text(sampled);
    let line = |line: &&str| line.starts_with("taxon_classifications_total{") && line.contains("category=\"swap\"");
    text.lines().find(line).and_then(|line| line.rsplit_once(' ')?.1.parse().ok()).unwrap_or_default()
}

#[tokio::test]
async fn a_call_is_counted_named_noted_and_measured() {
    metrics::install(error::item_codes()).unwrap();
    let service = Service::open(0).await;
    let call = service.call("my-own.id").await;
    let owner = call.caller().payer.id.clone();
    let before = swaps_counted();
    let row = service.app.classify(call, item("v2_swap_tokens")).await.unwrap();
    assert_eq!(row.category, engine::Category::Swap);
    assert_eq!(service.used().await, 1);
    let ledger = service.ledger().await;
    assert_eq!(ledger.len(), 1);
    assert_eq!((ledger[0].request_id.as_str(), ledger[0].billed.as_str()), ("my-own.id", "pool"));
    assert!(swaps_counted() > before);
    service.app.history.write().await.unwrap();
    let kept = service.app.store.readings(&owner, &Recent::default(), 10).await.unwrap();
    assert_eq!(kept.iter().map(|row| row.category.as_str()).collect::<Vec<_>>(), ["swap"]);
}

#[tokio::test]
async fn whoever_calls_too_often_is_refused_and_that_is_noted() {
    let service = Service::open(2).await;
    let caller = service.caller().await;
    for _ in 0..2 {
        service.app.admit(Arc::clone(&caller), RequestId::fresh()).await.unwrap();
    }
    let refused = service.app.admit(Arc::clone(&caller), RequestId::fresh()).await;
    assert!(matches!(refused, Err(ApiError::RateLimited { seconds: 1..=60 })), "{refused:?}");
    service.app.history.write().await.unwrap();
    assert_eq!(service.app.store.usage(&caller.payer.id, 1).await.unwrap()[0].refused, 1);
    // The quota may still be queried, which is counted apart.
    service.app.admit_to_status(Presented::Key(&service.key), ADDRESS).await.unwrap();
}

#[tokio::test]
async fn keys_cannot_be_guessed() {
    let service = Service::open(2).await;
    let guess = format!("{}x", &service.key[..service.key.len() - 1]);
    for presented in [Presented::Key(&guess), Presented::Nothing] {
        assert_eq!(service.app.identify(presented, ADDRESS).await.unwrap_err(), ApiError::Unauthorized);
    }
    let refused = service.app.identify(Presented::Malformed, ADDRESS).await.unwrap_err();
    assert!(matches!(refused, ApiError::RateLimited { .. }), "{refused}");
    assert!(service.app.identify(Presented::Key(&service.key), ADDRESS).await.is_ok(), "a valid key is not held up");
    let status = service.app.admit_to_status(Presented::Malformed, "192.0.2.8").await;
    assert_eq!(status.unwrap_err(), ApiError::Unauthorized, "the anonymous pool is not shown for it");
}

#[tokio::test]
async fn a_caller_who_hangs_up_still_pays() {
    let service = Service::open(0).await;
    let mut work = Box::pin(service.app.classify(service.call("gone").await, item("v2_swap_tokens")));
    assert!(futures_util::poll!(work.as_mut()).is_pending(), "the ledger is asked first");
    assert_eq!(service.app.calls_in_flight(), 1);
    drop(work);
    service.app.finished().await;
    assert_eq!((service.app.calls_in_flight(), service.used().await), (0, 1));
    let ledger = service.ledger().await;
    assert_eq!((ledger.len(), ledger[0].request_id.as_str()), (1, "gone"));
}

/// A confidence floor of the caller adds reviews. It changes neither the price nor what others read.
#[tokio::test]
async fn a_floor_is_part_of_the_question() {
    let service = Service::open(0).await;
    let plain = item("approval");
    let floored = Item { question: Question { review_below: Some(70), ..Question::default() }, ..plain.clone() };
    let owner = service.caller().await.payer.id.clone();
    // Each is asked twice, so that the second answer comes from the cache.
    for (item, needs_review) in [(&plain, false), (&floored, true), (&plain, false), (&floored, true)] {
        let row = service.app.classify(service.call("floor").await, item.clone()).await.unwrap();
        assert_eq!((row.confidence, row.needs_review), (64, needs_review));
        assert_eq!(row.taxable, if needs_review { None } else { Some(false) });
        assert_eq!(row.review_note.is_some(), needs_review);
    }
    assert_eq!(service.used().await, 0, "an approval is free on every interface");
    assert!(service.ledger().await.iter().all(|row| row.billed == "free"));
    service.app.history.write().await.unwrap();
    let read = service.app.store.readings(&owner, &Recent::default(), 10).await.unwrap();
    assert_eq!(read.iter().filter(|row| row.needs_review).count(), 1, "it waits for a person");
}

#[test]
fn a_request_id_is_plain_and_short() {
    for good in ["a", "A.b_c-9", &"x".repeat(64), RequestId::fresh().text()] {
        assert_eq!(RequestId::parse(good).unwrap().text(), good);
    }
    for bad in ["", "a b", "a\n", "é", &"x".repeat(65)] {
        assert!(RequestId::parse(bad).is_none(), "{bad:?}");
    }
}
