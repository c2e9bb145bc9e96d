//! Jobs that begin with wallets: who looks them up, what is written of them, and jobs that wait to be started.

use std::time::Duration;

use taxon::store::{NewJob, NewPart, Store};

use super::engines::{NOON, SECOND, engines};
use super::jobs::{HELD, counts, end, job, new_job, outcome, owners};
use super::webhooks::{endpoint, told};

fn part(asked: u8) -> NewPart {
    NewPart { row_count: 1, asked: vec![asked] }
}

/// A job whose wallets are to be looked up.
async fn listing(store: &Store, id: &str, owner: &str, starts: bool) {
    let job = NewJob { starts, ..new_job(store, id, owner).await };
    assert!(store.begin_listing(&job, 10).await.unwrap());
}

async fn held(store: &Store, holder: &str) -> Option<(String, i64)> {
    store.hold_listing(holder, HELD).await.unwrap().map(|held| (held.id, held.tries))
}

async fn state(store: &Store, owner: &str, id: &str) -> String {
    store.job(owner, id).await.unwrap().unwrap().state
}

#[tokio::test]
async fn a_lister_that_was_silent_writes_nothing_more_and_the_next_begins_anew() {
    for engine in engines().await {
        let (store, name) = (&engine.store, engine.name);
        owners(store).await;
        listing(store, "one", "a", true).await;
        assert_eq!(held(store, "first").await, Some(("one".to_owned(), 0)), "{name}");
        assert_eq!(held(store, "second").await, None, "it is held");
        assert!(store.add_listed("one", "first", 0, &[part(1), part(2)], 2).await.unwrap());
        engine.set_clock(NOON + 8 * SECOND);
        assert!(store.renew_listing("one", "first", HELD, 3).await.unwrap());
        let so_far = store.job("a", "one").await.unwrap().unwrap();
        assert_eq!((so_far.state.as_str(), so_far.row_count), ("listing", 3), "{name}");
        engine.set_clock(NOON + 17 * SECOND);
        assert_eq!(held(store, "second").await, None, "it was renewed");

        engine.set_clock(NOON + 18 * SECOND);
        assert_eq!(held(store, "second").await, Some(("one".to_owned(), 0)), "{name}");
        for late in [
            store.add_listed("one", "first", 2, &[part(3)], 3).await,
            store.renew_listing("one", "first", HELD, 9).await,
            store.clear_listing("one", "first").await,
            store.end_listing("one", "first", "{}", 3).await,
            store.fail_listing("one", "first", "late").await,
        ] {
            assert!(!late.unwrap(), "{name}: it comes too late");
        }
        store.retry_listing("one", "first", HELD, "late").await.unwrap();
        store.release_listing("one", "first").await.unwrap();
        assert_eq!(store.part_times("one", 0, 10).await.unwrap().len(), 2, "{name}");
        assert!(store.clear_listing("one", "second").await.unwrap());
        assert!(store.part_times("one", 0, 10).await.unwrap().is_empty(), "{name}: nothing of the first is left");
        assert!(store.hold_parts("worker", HELD, 9).await.unwrap().is_empty(), "nothing is read before all is found");
        assert!(store.add_listed("one", "second", 0, &[part(7)], 1).await.unwrap());
        assert!(store.end_listing("one", "second", "{\"count\":1}", 1).await.unwrap());
        assert!(!store.end_listing("one", "second", "{}", 1).await.unwrap(), "once");
        let open = store.job("a", "one").await.unwrap().unwrap();
        assert_eq!((open.state.as_str(), open.understood.as_str()), ("open", "{\"count\":1}"), "{name}");
        assert_eq!((counts(&open), open.reason), ((1, 0, 0, 0), None));
        assert_eq!(store.part_asked("one", 0).await.unwrap(), Some(vec![7]));
        assert_eq!(store.part_asked("one", 1).await.unwrap(), None);
        let parts = store.hold_parts("worker", HELD, 9).await.unwrap();
        assert!(end(store, &parts[0], "worker", &outcome(true)).await);
        assert_eq!(state(store, "a", "one").await, "finished");
    }
}

#[tokio::test]
async fn a_source_that_fails_is_tried_again_and_ends_the_job_at_last() {
    for engine in engines().await {
        let (store, name) = (&engine.store, engine.name);
        owners(store).await;
        endpoint(store, "a", "whe_a", "job.finished job.failed").await;
        listing(store, "one", "a", true).await;
        assert_eq!(held(store, "first").await, Some(("one".to_owned(), 0)));
        store.retry_listing("one", "first", Duration::from_secs(5), "no answer").await.unwrap();
        assert_eq!(held(store, "first").await, None, "{name}: it waits");
        assert_eq!(store.job("a", "one").await.unwrap().unwrap().reason.as_deref(), Some("no answer"));
        engine.set_clock(NOON + 5 * SECOND);
        assert_eq!(held(store, "first").await, Some(("one".to_owned(), 1)), "{name}");
        store.release_listing("one", "first").await.unwrap();
        assert_eq!(held(store, "second").await, Some(("one".to_owned(), 1)), "{name}: letting go is no try");
        assert!(store.fail_listing("one", "second", "for good").await.unwrap());
        assert!(!store.fail_listing("one", "second", "twice").await.unwrap());
        let failed = store.job("a", "one").await.unwrap().unwrap();
        assert_eq!((failed.state.as_str(), failed.reason.as_deref()), ("failed", Some("for good")));
        assert_eq!(failed.ended_at, Some(NOON + 5 * SECOND));

        // A wallet that did nothing has nothing to read.
        listing(store, "none", "a", false).await;
        assert_eq!(held(store, "first").await, Some(("none".to_owned(), 0)));
        assert!(store.end_listing("none", "first", "{}", 0).await.unwrap());
        let none = store.job("a", "none").await.unwrap().unwrap();
        assert_eq!((none.state.as_str(), none.ended_at), ("finished", Some(NOON + 5 * SECOND)), "{name}");
        let told = told(store, "whe_a").await;
        let told: Vec<(&str, &str)> =
            told.iter().map(|(kind, data)| (kind.as_str(), data["id"].as_str().unwrap())).collect();
        assert_eq!(told, [("job.failed", "one"), ("job.finished", "none")], "{name}");
    }
}

#[tokio::test]
async fn one_of_an_owner_is_looked_up_at_a_time_and_all_of_them_count() {
    for engine in engines().await {
        let (store, name) = (&engine.store, engine.name);
        owners(store).await;
        listing(store, "first", "a", true).await;
        listing(store, "more", "a", true).await;
        listing(store, "other", "b", true).await;
        let taken = [held(store, "1").await, held(store, "2").await, held(store, "3").await];
        let taken: Vec<&str> = taken.iter().flatten().map(|(id, _)| id.as_str()).collect();
        assert_eq!(taken, ["first", "other"], "{name}");
        assert!(!store.begin_job(&new_job(store, "table", "a").await, 2).await.unwrap(), "they are not finished");
        let book = store.own_books("a", 1).await.unwrap().remove(0);
        assert_eq!(store.book_jobs(&book).await.unwrap(), (2, 2), "{name}");

        // Cancelled while it is looked up.
        assert!(store.add_listed("first", "1", 0, &[part(1)], 1).await.unwrap());
        assert!(store.end_job("first", "cancelled", None).await.unwrap());
        assert!(!store.renew_listing("first", "1", HELD, 1).await.unwrap(), "{name}: its lister hears of it");
        assert!(!store.add_listed("first", "1", 1, &[part(2)], 2).await.unwrap());
        assert_eq!(held(store, "1").await, Some(("more".to_owned(), 0)), "{name}: the next comes");

        // Erased while it is looked up.
        assert!(store.delete_account("a", "erased-a").await.unwrap());
        assert!(!store.add_listed("more", "1", 0, &[part(1)], 1).await.unwrap(), "{name}");
        assert!(store.job("a", "more").await.unwrap().is_none());
        assert!(store.part_times("first", 0, 10).await.unwrap().is_empty());
        assert_eq!(state(store, "b", "other").await, "listing", "{name}: another's goes on");
    }
}

#[tokio::test]
async fn a_job_that_waits_is_read_when_it_is_started() {
    for engine in engines().await {
        let (store, name) = (&engine.store, engine.name);
        owners(store).await;
        let waiting = NewJob { starts: false, ..new_job(store, "table", "a").await };
        assert!(store.begin_job(&waiting, 10).await.unwrap());
        assert!(!store.start_job("table").await.unwrap(), "{name}: it is not there yet");
        store.add_parts("table", 0, &[part(1)]).await.unwrap();
        assert!(store.open_job("table", "{}", 1).await.unwrap());
        assert_eq!(state(store, "a", "table").await, "ready", "{name}");
        assert!(store.hold_parts("worker", HELD, 9).await.unwrap().is_empty(), "{name}: nothing is read");
        assert!(!store.begin_job(&new_job(store, "more", "a").await, 1).await.unwrap(), "it is not finished");
        assert!(store.start_job("table").await.unwrap());
        assert!(!store.start_job("table").await.unwrap(), "starting twice changes nothing");
        assert_eq!(state(store, "a", "table").await, "open", "{name}");
        assert_eq!(store.hold_parts("worker", HELD, 9).await.unwrap().len(), 1);

        // Started while it is looked up: then it goes on by itself.
        for (id, is_started, comes_to) in [("patient", false, "ready"), ("eager", true, "open")] {
            listing(store, id, "a", false).await;
            assert_eq!(held(store, "first").await, Some((id.to_owned(), 0)));
            assert!(store.add_listed(id, "first", 0, &[part(1)], 1).await.unwrap());
            assert!(!is_started || store.start_job(id).await.unwrap());
            assert_eq!(state(store, "a", id).await, "listing");
            assert!(store.end_listing(id, "first", "{}", 1).await.unwrap());
            assert_eq!(state(store, "a", id).await, comes_to, "{name}");
        }
        assert!(store.end_job("patient", "cancelled", None).await.unwrap());
        assert!(!store.start_job("patient").await.unwrap(), "{name}: what has ended is not started");
        assert_eq!(state(store, "a", "patient").await, "cancelled");
        job(store, "usual", "b", 1).await;
        assert_eq!(state(store, "b", "usual").await, "open", "{name}");
    }
}
