//! Rate windows that instances share.

use std::time::Duration;

use super::engines::{NOON, SECOND, engines, postgres};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn the_embedded_engine_shares_nothing() {
    let engine = &engines().await[0];
    assert!(engine.store.hit("key:a", 1, MINUTE).await.is_none());
}

#[tokio::test]
async fn a_shared_window_slides_and_a_clock_set_back_frees_nobody() {
    let engine = postgres().await;
    let hit = async |at: i64| {
        engine.set_clock(NOON + at);
        let wait = engine.store.hit("key:a", 3, MINUTE).await.unwrap().unwrap();
        wait.map(|wait| i64::try_from(wait.as_millis()).unwrap())
    };
    assert_eq!([hit(0).await, hit(10 * SECOND).await, hit(59 * SECOND).await], [None; 3]);
    assert_eq!(hit(59 * SECOND).await, Some(SECOND));
    assert_eq!(hit(60 * SECOND).await, None, "the first has left; what was refused is not counted");
    let hour = 3_600 * SECOND;
    assert!(hit(60 * SECOND - hour).await.is_some(), "an hour back, the window is as full as before");
    assert!(hit(69 * SECOND - hour).await.is_some());
    assert_eq!(hit(70 * SECOND - hour).await, None, "and it slides on from there");
}

/// From two instances at once, exactly as many are let in as the window holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shared_window_holds_exactly_its_number() {
    let engine = postgres().await;
    let stores = [engine.store.clone(), engine.beside().await];
    let hits = (0..150).map(|number| {
        let store = stores[number % 2].clone();
        tokio::spawn(async move { store.hit("key:b", 60, MINUTE).await.unwrap().unwrap().is_none() })
    });
    let mut admitted = 0;
    for hit in hits.collect::<Vec<_>>() {
        admitted += usize::from(hit.await.unwrap());
    }
    assert_eq!(admitted, 60);
    engine.set_clock(NOON + 700 * SECOND);
    engine.store.sweep().await.unwrap();
    assert_eq!(engine.sql("DELETE FROM windows").await.unwrap(), 0, "windows that ran out are swept away");
}
