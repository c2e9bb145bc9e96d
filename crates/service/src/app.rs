//! The use cases. REST, agents, pages, the command line and whatever comes later call only these; no interface reads data in another way.

mod book;
mod counted;
mod door;
mod elsewhere;
mod export;
mod jobs;
mod journal;
mod keeper;
mod quota;
mod reader;
mod readiness;
mod repeats;
mod request;
mod review;
mod setup;
mod tables;
pub(crate) mod wallets;
mod webhooks;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use engine::{Classification, TxHash};
use tokio_util::task::TaskTracker;

use crate::accounts::Accounts;
use crate::auth::Auth;
use crate::error::ApiError;
use crate::history::History;
use crate::limits::Limits;
use crate::metrics;
use crate::store::Store;
use crate::webhooks::Reach;
pub(crate) use book::{BOOK_NAME_CHARS_MAX, BookDraft, BookPage, is_choice, jurisdictions};
pub(crate) use door::{AdmittedCall, Presented, RequestId};
pub(crate) use elsewhere::RowReaders;
pub(crate) use engine::DISCLAIMER;
pub(crate) use jobs::{
    FailedRow, JOB_WALLETS_MAX, JobList, JobPage, JobPageRow, JobRequest, JobRowAnswer, JobRowFilter, JobRowState,
    JobState, JobStatus, Jobs, PreviewRow, RowPlace, Upload, WalletsRequest, scratch, work,
};
pub(crate) use journal::{JournalAnswer, JournalRequest};
pub(crate) use quota::{Asker, QuotaStatus};
use reader::Sought;
#[cfg(test)]
pub(crate) use reader::finish;
pub(crate) use reader::{Answer, BlockReading, BlockRow, Reader, may_pass};
use readiness::Readiness;
pub(crate) use repeats::Repeats;
pub(crate) use request::{BATCH_ITEMS_MAX, BatchRequest, Item, SingleRequest};
use review::KEYS_MAX;
pub(crate) use review::{COMMENT_BYTES_MAX, DecisionDraft, LikePreview, LogPage, ReviewPage, TREATMENTS};
pub(crate) use setup::{
    Demo, endpoints, explorer, explorer_variable, keeping_reader, knowledge, known, make_folder, open, reader,
    registry, store,
};
pub(crate) use tables::{CategoryList, ChainList, KnownAddress, coin_symbols, explorer_hosts};
pub(crate) use webhooks::{DeliveryList, ENDPOINTS_MAX, ShownSecret};

#[derive(Debug)]
pub(crate) struct App {
    pub(crate) reader: Arc<Reader>,
    pub(crate) store: Store,
    pub(crate) auth: Auth,
    pub(crate) limits: Arc<Limits>,
    pub(crate) accounts: Accounts,
    pub(crate) history: History,
    pub(crate) repeats: Repeats,
    jobs: Jobs,
    fleet: OnceLock<Arc<dyn RowReaders>>,
    readiness: Readiness,
    pub(crate) pool_anon: i64,
    /// Whether metered classifications are written as events.
    pub(crate) has_sink: bool,
    /// Where webhooks may lead.
    pub(crate) reach: Reach,
    /// Calls in flight, also those whose caller has gone: shutdown waits for them.
    calls: TaskTracker,
}

impl App {
    /// The reason where calls cannot be counted.
    pub(crate) async fn ready(&self) -> Result<(), &'static str> {
        self.readiness.check(&self.store).await
    }

    /// One transaction, counted against the caller's pool.
    pub(crate) async fn classify(self: &Arc<Self>, call: AdmittedCall, item: Item) -> Answer {
        let (app, request_id, sought) = (Arc::clone(self), call.request_id().clone(), self.reader.seek(item)?);
        let work = async move {
            let mut results = app.read(&call, vec![Ok(sought)]).await?;
            results.pop().unwrap_or(Err(ApiError::Internal))
        };
        self.finish(&request_id, work).await
    }

    /// A transaction that the caller classified before in this period, free; `None` for any other.
    pub(crate) async fn classify_again(
        self: &Arc<Self>,
        call: AdmittedCall,
        item: Item,
    ) -> Result<Option<Arc<Classification>>, ApiError> {
        let (app, request_id, sought) = (Arc::clone(self), call.request_id().clone(), self.reader.seek(item)?);
        self.finish(&request_id, async move { counted::again(&app, &call, sought).await }).await
    }

    /// One row per item, in input order; a failed item keeps its place and carries its error.
    pub(crate) async fn classify_batch(
        self: &Arc<Self>,
        call: AdmittedCall,
        items: Vec<Item>,
    ) -> Result<Vec<Arc<Classification>>, ApiError> {
        let named: Vec<(TxHash, Option<String>)> = items.iter().map(|item| (item.hash, item.tx_id.clone())).collect();
        let sought = items.into_iter().map(|item| self.reader.seek(item)).collect();
        let (app, request_id) = (Arc::clone(self), call.request_id().clone());
        let results = self.finish(&request_id, async move { app.read(&call, sought).await }).await?;
        Ok(named.into_iter().zip(results).map(|((hash, id), result)| self.reader.row(hash, id, result)).collect())
    }

    /// Readings, and refusals because the pool is empty, are counted and recorded in the owner's history.
    async fn read(&self, call: &AdmittedCall, items: Vec<Result<Sought, ApiError>>) -> Result<Vec<Answer>, ApiError> {
        let count = items.len();
        let results = counted::read(self, call, items).await;
        let payer = &call.caller().payer;
        let refused = match &results {
            Ok(results) => {
                count_items(results);
                log_failures(results);
                // A job has its own pages; what it read is kept here too where a later reading is to be compared with it.
                if !call.is_job() || self.store.is_told_of_moves(&payer.id).await.unwrap_or(true) {
                    let rows = results.iter().filter_map(|result| result.as_deref().ok());
                    self.history.note(payer, rows, call.is_job());
                }
                results.iter().filter(|result| matches!(result, Err(ApiError::QuotaExceeded))).count()
            }
            Err(error) => {
                metrics::items_failed(error.item_code(), count);
                if *error == ApiError::QuotaExceeded { count } else { 0 }
            }
        };
        self.history.refused(payer, ApiError::QuotaExceeded.code(), refused);
        results
    }
}

/// Whether it can be the id of anything in the store. PostgreSQL refuses a text with a NUL in it, which would be an error of the store.
fn is_id(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn count_items(results: &[Answer]) {
    for result in results {
        match result {
            Ok(row) => metrics::classified(row),
            Err(error) => metrics::items_failed(error.item_code(), 1),
        }
    }
}

/// Logs upstream failures of a call once per chain and code: the caller of a batch sees them per item, the operator in one line.
fn log_failures(results: &[Answer]) {
    let mut failures: BTreeMap<(&str, &'static str), usize> = BTreeMap::new();
    for result in results {
        if let Err(ApiError::Upstream { chain, code, .. }) = result {
            *failures.entry((chain, code)).or_default() += 1;
        }
    }
    for ((chain, code), items) in failures {
        tracing::warn!(chain, code, items, "nodes failed a call");
    }
}
