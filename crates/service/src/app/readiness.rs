//! Whether calls can be counted: the database answers and takes a write. A full disk or a read-only replica answers only.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::store::Store;

/// How long a result is kept, so that whoever asks often writes seldom.
const KEPT: Duration = Duration::from_secs(1);
/// Less than `taxon health` waits.
const PROBE_SECONDS_MAX: u64 = 3;
/// The row that is written.
const PROBE: &str = "readiness";
/// Size of the row: more pages than a call writes. On a full disk a small row may still find room where a call does not.
const PROBE_BYTES: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Readiness {
    last: Mutex<Option<(Instant, Result<(), &'static str>)>>,
}

impl Readiness {
    /// The reason where calls cannot be counted.
    pub(crate) async fn check(&self, store: &Store) -> Result<(), &'static str> {
        // Held while the database is asked, so that concurrent callers share one probe.
        let mut last = self.last.lock().await;
        if let Some((at, result)) = *last
            && at.elapsed() < KEPT
        {
            return result;
        }
        let result = timeout(Duration::from_secs(PROBE_SECONDS_MAX), probe(store)).await;
        let result = result.unwrap_or(Err("the database does not answer in time"));
        *last = Some((Instant::now(), result));
        result
    }
}

async fn probe(store: &Store) -> Result<(), &'static str> {
    if !store.answers().await {
        return Err("the database does not answer");
    }
    match store.lease(PROBE, &"x".repeat(PROBE_BYTES), KEPT).await {
        Ok(_) => Ok(()),
        Err(_) => Err("the database takes no writes"),
    }
}
