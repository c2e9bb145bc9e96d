//! Jobs and their parts: who holds what, and what is written down.

use std::collections::BTreeSet;
use std::time::Duration;

use taxon::store::{BookSettings, EndedPart, HeldPart, JobRow, NewJob, NewPart, PartOutcome, Store};

use super::engines::{DAY, NOON, SECOND, engines};

pub const HELD: Duration = Duration::from_secs(10);

/// A job of the owner's first book, which bears the owner's name.
pub async fn new_job(store: &Store, id: &str, owner: &str) -> NewJob {
    let settings = BookSettings { name: "My books".to_owned(), ..BookSettings::default() };
    let book = store.first_book(owner, &format!("book-{owner}"), &settings).await.unwrap();
    NewJob {
        id: id.to_owned(),
        owner_id: owner.to_owned(),
        key_id: String::new(),
        book_id: book.map(|book| book.id).unwrap_or_default(),
        name: "a table".to_owned(),
        options: "{}".to_owned(),
        starts: true,
    }
}

/// A job of so many parts with one row each.
pub async fn job(store: &Store, id: &str, owner: &str, parts: u8) {
    assert!(store.begin_job(&new_job(store, id, owner).await, 10).await.unwrap());
    let parts: Vec<NewPart> = (0..parts).map(|number| NewPart { row_count: 1, asked: vec![number] }).collect();
    store.add_parts(id, 0, &parts).await.unwrap();
    assert!(store.open_job(id, "{}", i64::try_from(parts.len()).unwrap()).await.unwrap());
}

pub async fn owners(store: &Store) {
    for owner in ["a", "b"] {
        assert!(store.create_account(owner, &format!("{owner}@example.com"), "hash").await.unwrap());
    }
}

pub fn outcome(is_done: bool) -> PartOutcome {
    let counted = i64::from(is_done);
    PartOutcome { answers: vec![1], times: vec![2], is_done, read: counted, reviews: counted, ..PartOutcome::default() }
}

/// Whether what came of the part was written.
pub async fn end(store: &Store, part: &HeldPart, holder: &str, outcome: &PartOutcome) -> bool {
    let end = EndedPart { part: part.clone(), outcome: outcome.clone() };
    store.end_parts(&[end], holder).await.unwrap() == 1
}

pub fn counts(job: &JobRow) -> (i64, i64, i64, i64) {
    (job.row_count, job.read_count, job.failed_count, job.review_count)
}

fn numbers(parts: &[HeldPart]) -> Vec<(&str, i64)> {
    parts.iter().map(|part| (part.job_id.as_str(), part.number)).collect()
}

#[tokio::test]
async fn a_part_has_one_holder_and_is_written_down_once() {
    for engine in engines().await {
        let store = &engine.store;
        owners(store).await;
        job(store, "one", "a", 2).await;
        let first = store.hold_parts("first", HELD, 1).await.unwrap();
        let second = store.hold_parts("second", HELD, 1).await.unwrap();
        assert_eq!((numbers(&first), numbers(&second)), (vec![("one", 0)], vec![("one", 1)]), "{}", engine.name);
        assert!(store.hold_parts("third", HELD, 1).await.unwrap().is_empty());

        // The second goes on; of the first nothing is heard.
        engine.set_clock(NOON + 8 * SECOND);
        assert!(store.renew_part("one", 1, "second", HELD).await.unwrap());
        engine.set_clock(NOON + 11 * SECOND);
        let taken = store.hold_parts("third", HELD, 2).await.unwrap();
        assert_eq!(numbers(&taken), [("one", 0)]);
        assert!(!store.renew_part("one", 0, "first", HELD).await.unwrap());
        assert!(!end(store, &first[0], "first", &outcome(true)).await, "it brings it too late");
        assert_eq!(counts(&store.job("a", "one").await.unwrap().unwrap()), (2, 0, 0, 0), "and nothing was counted");

        assert!(end(store, &taken[0], "third", &outcome(true)).await);
        assert!(!end(store, &taken[0], "third", &outcome(true)).await, "nor twice");
        let half = store.job("a", "one").await.unwrap().unwrap();
        assert_eq!((half.state.as_str(), counts(&half)), ("open", (2, 1, 0, 1)));
        assert_eq!(store.rows_read_since("one", NOON).await.unwrap(), 1);
        assert!(end(store, &second[0], "second", &outcome(true)).await);
        let whole = store.job("a", "one").await.unwrap().unwrap();
        assert_eq!((whole.state.as_str(), counts(&whole)), ("finished", (2, 2, 0, 2)));
        assert_eq!((whole.started_at, whole.ended_at), (Some(NOON), Some(NOON + 11 * SECOND)));
        let times = store.part_times("one", 0, 10).await.unwrap();
        assert_eq!(
            times.iter().map(|part| (part.number, part.times.clone())).collect::<Vec<_>>(),
            [(0, Some(vec![2])), (1, Some(vec![2]))]
        );
        assert_eq!(store.part_answers("one", 1).await.unwrap(), Some(vec![1]));
        assert_eq!(store.part_answers("one", 2).await.unwrap(), None);
    }
}

#[tokio::test]
async fn parts_that_end_together_are_counted_without_the_one_that_another_has() {
    for engine in engines().await {
        let store = &engine.store;
        owners(store).await;
        job(store, "one", "a", 3).await;
        let held = store.hold_parts("first", HELD, 3).await.unwrap();
        engine.set_clock(NOON + 11 * SECOND);
        let taken = store.hold_parts("second", HELD, 1).await.unwrap();
        let ends = |parts: &[HeldPart]| -> Vec<EndedPart> {
            parts.iter().map(|part| EndedPart { part: part.clone(), outcome: outcome(true) }).collect()
        };
        assert_eq!(store.end_parts(&ends(&held), "first").await.unwrap(), 2, "{}", engine.name);
        let most = store.job("a", "one").await.unwrap().unwrap();
        assert_eq!((most.state.as_str(), counts(&most)), ("open", (3, 2, 0, 2)));
        assert_eq!(store.end_parts(&ends(&taken), "second").await.unwrap(), 1);
        let whole = store.job("a", "one").await.unwrap().unwrap();
        assert_eq!((whole.state.as_str(), counts(&whole)), ("finished", (3, 3, 0, 3)));
        assert_eq!(store.end_parts(&[], "second").await.unwrap(), 0);
    }
}

#[tokio::test]
async fn what_is_left_of_a_part_comes_back_with_what_was_read() {
    for engine in engines().await {
        let store = &engine.store;
        owners(store).await;
        job(store, "one", "a", 1).await;
        let held = store.hold_parts("first", HELD, 1).await.unwrap();
        let later = PartOutcome { pause: Duration::from_secs(5), ..outcome(false) };
        assert!(end(store, &held[0], "first", &later).await);
        assert!(store.hold_parts("first", HELD, 1).await.unwrap().is_empty(), "it waits");
        engine.set_clock(NOON + 5 * SECOND);
        let again = store.hold_parts("first", HELD, 1).await.unwrap();
        let known = again.iter().map(|part| (part.asked.clone(), part.answers.clone(), part.times.clone(), part.tries));
        assert_eq!(known.collect::<Vec<_>>(), [(vec![0], Some(vec![1]), Some(vec![2]), 1)], "{}", engine.name);
        store.release_part(&again[0], "first", Duration::from_secs(1)).await.unwrap();
        engine.set_clock(NOON + 6 * SECOND);
        assert_eq!(store.hold_parts("first", HELD, 1).await.unwrap()[0].tries, 1, "letting go is no try");
    }
}

#[tokio::test]
async fn jobs_take_turns_and_wait() {
    for engine in engines().await {
        let store = &engine.store;
        owners(store).await;
        job(store, "large", "a", 9).await;
        job(store, "small", "b", 1).await;
        let mut seen = BTreeSet::new();
        for at in 1..=2 {
            engine.set_clock(NOON + at);
            seen.extend(store.hold_parts("one", HELD, 1).await.unwrap().into_iter().map(|part| part.job_id));
        }
        assert_eq!(seen.len(), 2, "{}: neither waits for the other's end", engine.name);
        store.delay_job("large", Duration::from_secs(60), Some("no quota")).await.unwrap();
        assert!(store.hold_parts("one", HELD, 1).await.unwrap().is_empty());
        assert_eq!(store.job("a", "large").await.unwrap().unwrap().reason.as_deref(), Some("no quota"));
        engine.set_clock(NOON + 60 * SECOND + 2);
        let held = store.hold_parts("one", HELD, 1).await.unwrap();
        assert!(end(store, &held[0], "one", &outcome(true)).await);
        assert_eq!(store.job("a", "large").await.unwrap().unwrap().reason, None, "it goes on");
    }
}

#[tokio::test]
async fn a_job_is_its_owners_alone_and_ends_once() {
    for engine in engines().await {
        let store = &engine.store;
        owners(store).await;
        assert!(store.begin_job(&new_job(store, "coming", "a").await, 2).await.unwrap());
        assert!(store.job("a", "coming").await.unwrap().is_none(), "not before its table is there");
        job(store, "one", "a", 2).await;
        assert!(!store.begin_job(&new_job(store, "more", "a").await, 2).await.unwrap(), "as many as one may have");
        assert!(!store.begin_job(&new_job(store, "nobodys", "nobody").await, 2).await.unwrap());
        assert!(store.job("b", "one").await.unwrap().is_none());
        assert!(store.jobs("b", None, None, 10).await.unwrap().is_empty());
        let held = store.hold_parts("one", HELD, 1).await.unwrap();
        assert!(store.end_job("one", "cancelled", None).await.unwrap());
        assert!(!store.end_job("one", "cancelled", None).await.unwrap());
        assert!(store.hold_parts("one", HELD, 1).await.unwrap().is_empty(), "nothing more is read");
        assert!(end(store, &held[0], "one", &outcome(true)).await, "what was read meanwhile is kept");
        let ended = store.job("a", "one").await.unwrap().unwrap();
        assert_eq!((ended.state.as_str(), counts(&ended)), ("cancelled", (2, 1, 0, 1)), "{}", engine.name);
        engine.set_clock(NOON + SECOND);
        job(store, "two", "a", 1).await;
        let newest = store.jobs("a", None, None, 1).await.unwrap();
        let next = store.jobs("a", None, Some(&newest[0].cursor()), 1).await.unwrap();
        assert_eq!((newest[0].id.as_str(), next[0].id.as_str()), ("two", "one"));
    }
}

#[tokio::test]
async fn jobs_go_with_their_time_and_their_owner() {
    for engine in engines().await {
        let store = &engine.store;
        owners(store).await;
        job(store, "old", "a", 3).await;
        engine.set_clock(NOON + 20 * DAY);
        job(store, "new", "a", 3).await;
        job(store, "theirs", "b", 3).await;
        assert!(store.begin_job(&new_job(store, "cut-off", "a").await, 10).await.unwrap());
        store.add_parts("cut-off", 0, &[NewPart { row_count: 1, asked: Vec::new() }]).await.unwrap();
        engine.set_clock(NOON + 31 * DAY);
        let (month, hour) = (Duration::from_secs(30 * 86_400), Duration::from_secs(3_600));
        store.sweep_jobs(month, hour).await.unwrap();
        let left: Vec<String> = store.jobs("a", None, None, 10).await.unwrap().into_iter().map(|job| job.id).collect();
        assert_eq!(left, ["new"], "{}", engine.name);
        assert!(store.part_times("old", 0, 10).await.unwrap().is_empty());
        assert!(store.part_times("cut-off", 0, 10).await.unwrap().is_empty());
        assert!(!store.open_job("cut-off", "{}", 1).await.unwrap());
        assert!(store.delete_account("a", "erased-a").await.unwrap());
        assert!(store.job("a", "new").await.unwrap().is_none());
        assert!(store.part_times("new", 0, 10).await.unwrap().is_empty());
        assert_eq!(store.part_times("theirs", 0, 10).await.unwrap().len(), 3);
    }
}
