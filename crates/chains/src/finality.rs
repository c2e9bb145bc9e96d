//! The last final block of a chain, shared by everybody who asks within a few seconds.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long a finalized head is taken as current.
const HEAD_SECONDS_MAX: u64 = 5;
/// How long a reading waits for it; a block whose finality is not known is not final.
const HEAD_PATIENCE_SECONDS_MAX: u64 = 3;

#[derive(Debug, Default)]
pub(crate) struct FinalizedHead {
    known: Mutex<Option<(Instant, Option<u64>)>>,
}

impl FinalizedHead {
    /// A few seconds old at most; `None` when the nodes do not say.
    pub(crate) async fn get(&self, ask: impl Future<Output = Option<u64>>) -> Option<u64> {
        // Coalesced: one caller asks, the others wait for its answer.
        let mut known = self.known.lock().await;
        if let Some((at, number)) = *known
            && at.elapsed() < Duration::from_secs(HEAD_SECONDS_MAX)
        {
            return number;
        }
        let patience = Duration::from_secs(HEAD_PATIENCE_SECONDS_MAX);
        let number = tokio::time::timeout(patience, ask).await.ok().flatten();
        *known = Some((Instant::now(), number));
        number
    }
}
