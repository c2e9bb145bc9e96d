//! How much a worker has in hand, counted in transactions. Blocks are fetched while others are read: how many transactions one holds is known only then, so the
//! size of the block before is taken for its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use crate::app::BATCH_ITEMS_MAX;

/// What an empty block counts for: it is a message all the same.
const BLOCK_ITEMS_MIN: usize = 10;

#[derive(Debug)]
pub(super) struct Places {
    reading: Arc<Semaphore>,
    fetching: Arc<Semaphore>,
    /// What the last block counted for.
    of_block: AtomicUsize,
    /// The last message was a block.
    are_blocks: AtomicBool,
}

impl Places {
    pub(super) fn new(batches: usize) -> Self {
        let all = || Arc::new(Semaphore::new(batches.saturating_mul(BATCH_ITEMS_MAX)));
        Self {
            reading: all(),
            fetching: all(),
            of_block: AtomicUsize::new(BATCH_ITEMS_MAX),
            are_blocks: AtomicBool::new(false),
        }
    }

    /// Waits until there is room for a message such as the last one, and tells for how many there is.
    pub(super) async fn free(&self) -> Result<usize, AcquireError> {
        let (places, each) = self.of(self.are_blocks.load(Ordering::Relaxed));
        drop(places.acquire_many(count(each)).await?);
        Ok((places.available_permits() / each).max(1))
    }

    /// For a message that has come.
    pub(super) async fn take(&self, is_block: bool) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.are_blocks.store(is_block, Ordering::Relaxed);
        let (places, each) = self.of(is_block);
        Arc::clone(places).acquire_many_owned(count(each)).await
    }

    /// The block was fetched, and is read now: its place among those that are fetched is free.
    pub(super) async fn turn(&self, fetched: OwnedSemaphorePermit, transactions: usize) -> OwnedSemaphorePermit {
        let each = transactions.clamp(BLOCK_ITEMS_MIN, BATCH_ITEMS_MAX);
        self.of_block.store(each, Ordering::Relaxed);
        // Closed never: then it is read in the place that it has.
        Arc::clone(&self.reading).acquire_many_owned(count(each)).await.unwrap_or(fetched)
    }

    fn of(&self, is_block: bool) -> (&Arc<Semaphore>, usize) {
        if is_block {
            (&self.fetching, self.of_block.load(Ordering::Relaxed))
        } else {
            (&self.reading, BATCH_ITEMS_MAX)
        }
    }
}

fn count(transactions: usize) -> u32 {
    u32::try_from(transactions).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn small_blocks_are_fetched_many_at_a_time_and_beside_those_that_are_read() {
        let places = Places::new(2);
        assert_eq!(places.free().await.unwrap(), 2);
        let first = places.take(true).await.unwrap();
        assert_eq!(places.free().await.unwrap(), 1, "a block whose size nobody knows counts for a batch");
        let first = places.turn(first, 20).await;
        assert_eq!(places.free().await.unwrap(), 10, "the next ones are probably as small");
        let second = places.turn(places.take(true).await.unwrap(), 1_500).await;
        assert_eq!(places.free().await.unwrap(), 2, "and no block counts for more than a batch");
        assert_eq!(places.reading.available_permits(), 80);
        drop((first, second));
        assert_eq!((places.reading.available_permits(), places.fetching.available_permits()), (200, 200));
    }

    #[tokio::test]
    async fn batches_wait_for_those_that_are_read() {
        let places = Places::new(1);
        let batch = places.take(false).await.unwrap();
        assert!(futures_util::future::FutureExt::now_or_never(places.free()).is_none());
        drop(batch);
        assert_eq!(places.free().await.unwrap(), 1);
    }
}
