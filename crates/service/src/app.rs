//! The use cases. REST, the command line, and whatever comes later call only these; none has a path of its own to data.

mod counted;
mod quota;
mod reader;
mod repeats;
mod request;
mod setup;
mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::{Classification, TxHash};

use crate::accounts::{Accounts, Person};
use crate::auth::{Auth, Caller};
use crate::error::ApiError;
use crate::history::History;
use crate::limits::Limits;
use crate::metrics;
use crate::store::{Payer, Store};
pub(crate) use counted::Call;
pub(crate) use quota::{Asker, QuotaStatus};
#[cfg(test)]
pub(crate) use reader::finish;
pub(crate) use reader::{Answer, Reader};
pub(crate) use repeats::Repeats;
pub(crate) use request::{BATCH_ITEMS_MAX, BatchRequest, Item, SingleRequest};
pub(crate) use setup::{Demo, endpoints, knowledge, make_folder, open, reader, registry, store};
pub(crate) use tables::{CategoryList, ChainList, DISCLAIMER, Known};

#[derive(Debug)]
pub(crate) struct App {
    pub(crate) reader: Arc<Reader>,
    pub(crate) store: Store,
    pub(crate) auth: Auth,
    pub(crate) limits: Arc<Limits>,
    pub(crate) accounts: Accounts,
    pub(crate) history: History,
    pub(crate) repeats: Repeats,
    pub(crate) pool_anon: i64,
    /// Whether metered classifications become events.
    pub(crate) has_sink: bool,
}

impl App {
    /// One transaction, counted against the caller's pool.
    pub(crate) async fn classify(&self, call: &Call, item: Item) -> Result<Arc<Classification>, ApiError> {
        if let Some(name) = &item.chain {
            self.reader.served(name)?;
        }
        let mut results = self.read(call, vec![item]).await?;
        results.pop().unwrap_or(Err(ApiError::Internal))
    }

    /// A transaction that the caller classified before in this period, free; `None` for any other.
    pub(crate) async fn classify_again(
        &self,
        call: &Call,
        item: Item,
    ) -> Result<Option<Arc<Classification>>, ApiError> {
        if let Some(name) = &item.chain {
            self.reader.served(name)?;
        }
        counted::again(self, call, item).await
    }

    /// One row per item, in input order; what failed stays in its place with its error.
    pub(crate) async fn classify_batch(
        &self,
        call: &Call,
        items: Vec<Item>,
    ) -> Result<Vec<Arc<Classification>>, ApiError> {
        let named: Vec<(TxHash, Option<String>)> = items.iter().map(|item| (item.hash, item.tx_id.clone())).collect();
        let results = self.read(call, items).await?;
        Ok(named.into_iter().zip(results).map(|((hash, id), result)| self.reader.row(hash, id, result)).collect())
    }

    /// Whoever is signed in pays from the same pool as its keys.
    pub(crate) async fn caller(&self, person: &Person) -> Result<Caller, ApiError> {
        let owner = self.accounts.owner(person).await?.ok_or(ApiError::Unauthorized)?;
        Ok(self.auth.owner_caller(&owner))
    }

    /// What was read, and what was refused for want of places, is remembered for its owner.
    async fn read(&self, call: &Call, items: Vec<Item>) -> Result<Vec<Answer>, ApiError> {
        let count = items.len();
        let results = counted::read(self, call, items).await;
        let payer = &call.caller.payer;
        let refused = match &results {
            Ok(results) => {
                metrics::items(results);
                log_failures(results);
                self.history.note(payer, results.iter().filter_map(|result| result.as_deref().ok()));
                results.iter().filter(|result| matches!(result, Err(ApiError::QuotaExceeded))).count()
            }
            Err(error) => {
                metrics::items_refused(error, count);
                if *error == ApiError::QuotaExceeded { count } else { 0 }
            }
        };
        self.history.refused(payer, ApiError::QuotaExceeded.code(), refused);
        results
    }

    /// Whoever calls without a key pays from a small daily pool of its address.
    pub(crate) fn anonymous(&self, address: &str) -> Caller {
        Caller { key_id: String::new(), payer: Payer::anonymous(address, self.pool_anon) }
    }
}

/// What nodes did to a call, once for each chain and code: the caller of a batch hears it item by item, and the operator in one line.
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
