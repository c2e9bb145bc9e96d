//! Where rows are read: here, or for jobs by a fleet, if there is one.

use std::fmt::Debug;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::reader::{Answer, Sought};
use super::{App, Item};

/// Reads rows on other machines.
pub(crate) trait RowReaders: Debug + Send + Sync {
    /// One answer per item, in input order; `None` where nobody answered in time.
    fn read(&self, items: Vec<Item>) -> BoxFuture<'_, Vec<Option<Answer>>>;
}

impl App {
    /// From now on the rows of jobs are read there.
    pub(crate) fn hand_jobs_to(&self, readers: Arc<dyn RowReaders>) {
        // Whoever came first stays.
        let _ = self.fleet.set(readers);
    }

    pub(super) fn has_fleet(&self) -> bool {
        self.fleet.get().is_some()
    }

    /// One answer per item. What the fleet does not answer is read here, so that a job ends also where no worker runs.
    pub(super) async fn read_rows(&self, items: Vec<Sought>, is_job: bool) -> Vec<Answer> {
        let Some(fleet) = self.fleet.get().filter(|_| is_job) else {
            return self.reader.read(items.into_iter().map(Ok).collect()).await;
        };
        let told = fleet.read(items.iter().map(Sought::pinned_item).collect()).await;
        let missing: Vec<_> =
            items.into_iter().zip(&told).filter(|(_, told)| told.is_none()).map(|(item, _)| Ok(item)).collect();
        let mut read = self.reader.read(missing).await.into_iter();
        told.into_iter()
            .map(|told| told.or_else(|| read.next()).unwrap_or(Err(crate::error::ApiError::Internal)))
            .collect()
    }
}
