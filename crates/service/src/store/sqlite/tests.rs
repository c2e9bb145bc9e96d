use std::time::Instant;

use super::*;

/// Long enough for what must happen, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(20);

async fn opened() -> (tempfile::TempDir, std::path::PathBuf, Sqlite) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("taxon.db");
    let store = Sqlite::open(&path, Clock::System).await.unwrap();
    (folder, path, store)
}

#[tokio::test]
async fn writers_wait_for_one_another_and_come_in_their_order() {
    let (_folder, _, store) = opened().await;
    let first = store.begin().await.unwrap();
    let (ended, mut order) = tokio::sync::mpsc::unbounded_channel();
    for number in 0..4 {
        let (store, ended) = (store.clone(), ended.clone());
        let waiting = tokio::spawn(async move {
            let writing = store.begin().await.unwrap();
            ended.send(number).unwrap();
            writing.commit().await.unwrap();
        });
        // It is in the queue before the next one comes.
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!waiting.is_finished());
    }
    assert!(order.try_recv().is_err(), "somebody wrote beside the first");
    // One that is dropped without a commit releases the gate all the same.
    drop(first);
    for number in 0..4 {
        assert_eq!(tokio::time::timeout(PATIENCE, order.recv()).await, Ok(Some(number)));
    }
}

#[tokio::test]
async fn a_long_log_is_moved_into_the_database_and_begins_anew() {
    let (_folder, path, store) = opened().await;
    let log_bytes = || std::fs::metadata(path.with_extension("db-wal")).unwrap().len();
    let fill = async |rows: u32| {
        let mut writing = store.begin().await.unwrap();
        for _ in 0..rows {
            sqlx::query("INSERT INTO filled VALUES (zeroblob(1000000))").execute(&mut *writing).await.unwrap();
        }
        writing.commit().await.unwrap();
    };
    sqlx::query("CREATE TABLE filled (bytes BLOB)").execute(store.pool()).await.unwrap();
    fill(8).await;
    assert!(log_bytes() > 8_000_000);
    let began = Instant::now();
    while std::fs::metadata(&path).unwrap().len() < 8_000_000 {
        assert!(began.elapsed() < PATIENCE, "nobody moved the log");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // It may be moving the last pages still.
    while log_bytes() > u64::from(LOG_BYTES) {
        assert!(began.elapsed() < PATIENCE, "the log never began anew: {} bytes", log_bytes());
        fill(1).await;
    }
}
