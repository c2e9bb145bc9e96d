//! The use cases. REST, the command line, and whatever comes later call only these; none has a path of its own to data.

mod counted;
mod quota;
mod reader;
mod request;
mod setup;
mod tables;

use std::sync::Arc;

use engine::{Classification, TxHash};

use crate::auth::{Auth, Caller};
use crate::error::ApiError;
use crate::limits::Limits;
use crate::store::{Payer, Resets, Store};
pub(crate) use counted::Call;
pub(crate) use quota::{Asker, QuotaStatus};
pub(crate) use reader::Reader;
pub(crate) use request::{BATCH_ITEMS_MAX, BatchRequest, Item, SingleRequest};
pub(crate) use setup::{Demo, open, reader, registry, rules, store};
pub(crate) use tables::{CategoryList, ChainList, DISCLAIMER, Known};

#[derive(Debug)]
pub(crate) struct App {
    pub(crate) reader: Arc<Reader>,
    pub(crate) store: Store,
    pub(crate) auth: Auth,
    pub(crate) limits: Limits,
    pub(crate) pool_anon: i64,
    /// Whether metered classifications become events.
    pub(crate) has_sink: bool,
}

impl App {
    /// One transaction, counted against the caller's pool.
    pub(crate) async fn classify(&self, call: &Call, item: Item) -> Result<Classification, ApiError> {
        if let Some(name) = &item.chain {
            self.reader.served(name)?;
        }
        let mut results = counted::read(self, call, vec![item]).await?;
        results.pop().unwrap_or(Err(ApiError::Internal))
    }

    /// One row per item, in input order; what failed stays in its place with its error.
    pub(crate) async fn classify_batch(&self, call: &Call, items: Vec<Item>) -> Result<Vec<Classification>, ApiError> {
        let named: Vec<(TxHash, Option<String>)> = items.iter().map(|item| (item.hash, item.tx_id.clone())).collect();
        let results = counted::read(self, call, items).await?;
        Ok(named.into_iter().zip(results).map(|((hash, id), result)| self.reader.row(hash, id, result)).collect())
    }

    /// Whoever calls without a key pays from a small daily pool of its address.
    pub(crate) fn anonymous(&self, address: &str) -> Caller {
        let payer = Payer { id: format!("anon:{address}"), resets: Resets::Daily, limit: Some(self.pool_anon) };
        Caller { key_id: String::new(), payer }
    }
}
