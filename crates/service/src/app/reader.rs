//! From hashes to readings: which chain, what it says, and the engine's verdict. It knows nothing of keys or pools.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chains::{FetchError, Fetched, Registry, Upstreams};
use engine::category::{LedgerAction, Treatment};
use engine::classification::{API_VERSION, Assets, ChainCorrected};
use engine::opinion::Source;
use engine::{Category, Chain, Classification, Rules, TxHash};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};

use super::Item;
use crate::cache::Cache;
use crate::error::ApiError;
use crate::logs;

/// One transaction is given up after this long, whatever its upstreams do.
const ITEM_SECONDS_MAX: u64 = 10;
/// Fetches that are remembered before those that nobody waits for any more are cleared away.
const FETCHES_SWEPT_AT: usize = 1_000;

#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) rules: Rules,
    pub(crate) registry: Registry,
    pub(crate) upstreams: Upstreams,
    pub(crate) cache: Arc<Cache>,
    fetches: Mutex<HashMap<Wanted, WeakShared<Fetching>>>,
}

/// A transaction, and the chain that it was asked for on.
type Wanted = (TxHash, Option<String>);
/// A fetch that several callers may wait for. Whoever still waits drives it, so none is lost with the one who began it.
type Fetching = BoxFuture<'static, Result<Fetched, FetchError>>;

pub(crate) type Answer = Result<Arc<Classification>, ApiError>;

impl Reader {
    pub(crate) fn new(rules: Rules, registry: Registry, upstreams: Upstreams, cache: Arc<Cache>) -> Self {
        Self { rules, registry, upstreams, cache, fetches: Mutex::default() }
    }

    /// One answer per item, in input order: an item that fails fails alone, and what is at hand waits for nothing.
    pub(crate) async fn read(self: &Arc<Self>, items: Vec<Item>) -> Vec<Answer> {
        let mut answers: Vec<Option<Answer>> = items.iter().map(|item| self.at_hand(item)).collect();
        let mut missing: Vec<(usize, Item)> =
            items.into_iter().enumerate().filter(|(at, _)| answers.get(*at).is_some_and(Option::is_none)).collect();
        if !missing.is_empty() {
            let asked = missing.iter().map(|(_, item)| (item.hash, self.pinned(item), &item.question));
            self.cache.fetch_verdicts(&self.rules.engine, asked).await;
            missing.retain(|(at, item)| match (answers.get_mut(*at), self.at_hand(item)) {
                (Some(slot), Some(answer)) => {
                    *slot = Some(answer);
                    false
                }
                _ => true,
            });
            let wanted: Vec<Wanted> = missing.iter().map(|(_, item)| (item.hash, self.pinned(item))).collect();
            self.cache.fetch_facts(&wanted, &self.upstreams).await;
        }
        let mut running = Vec::with_capacity(missing.len());
        for (at, item) in missing {
            let (hash, reader) = (item.hash, Arc::clone(self));
            // A task of its own, so that a fault in one item stays in that item.
            running.push((at, hash, tokio::spawn(logs::carried(async move { reader.classify_item(&item).await }))));
        }
        for (at, hash, task) in running {
            let answer = task.await.unwrap_or_else(|fault| {
                tracing::error!(%hash, %fault, "classification failed");
                Err(ApiError::Internal)
            });
            if let Some(slot) = answers.get_mut(at) {
                *slot = Some(answer);
            }
        }
        answers.into_iter().map(|answer| answer.unwrap_or(Err(ApiError::Internal))).collect()
    }

    /// The same, as the rows of a batch: what failed stays in its place with its error.
    pub(crate) async fn rows(self: &Arc<Self>, items: Vec<Item>) -> Vec<Classification> {
        let named: Vec<(TxHash, Option<String>)> = items.iter().map(|item| (item.hash, item.tx_id.clone())).collect();
        let results = self.read(items).await;
        named.into_iter().zip(results).map(|((hash, id), result)| self.row(hash, id, result)).collect()
    }

    /// An answer as a row of a batch.
    pub(super) fn row(&self, hash: TxHash, id: Option<String>, answer: Answer) -> Classification {
        let mut row = answer.map_or_else(|error| self.errored(hash, &error), Arc::unwrap_or_clone);
        row.id = id;
        row
    }

    /// What needs no waiting: a verdict that is in memory, or a chain that is not served.
    fn at_hand(&self, item: &Item) -> Option<Answer> {
        let pinned = match item.chain.as_deref().map(|name| self.served(name)).transpose() {
            Ok(pinned) => pinned,
            Err(error) => return Some(Err(error)),
        };
        let pinned = pinned.as_ref().map(|chain| chain.slug.as_str());
        self.cache.verdict(item.hash, pinned, &item.question).map(|row| Ok(corrected(row, pinned)))
    }

    /// The slug of the chain that the item names.
    fn pinned(&self, item: &Item) -> Option<String> {
        item.chain.as_deref().and_then(|name| self.registry.find(name)).map(|chain| chain.slug.clone())
    }

    async fn classify_item(self: &Arc<Self>, item: &Item) -> Answer {
        let pinned = self.pinned(item);
        match tokio::time::timeout(Duration::from_secs(ITEM_SECONDS_MAX), self.answer(item, pinned.clone())).await {
            Ok(answer) => answer,
            Err(_) => Err(ApiError::Upstream {
                chain: pinned.unwrap_or_else(|| "chain detection".to_owned()),
                code: "upstream_timeout",
                reason: "the nodes did not answer in time".to_owned(),
            }),
        }
    }

    async fn answer(self: &Arc<Self>, item: &Item, pinned: Option<String>) -> Answer {
        let pin = pinned.as_deref();
        let known = self.cache.facts(item.hash, pin, &self.upstreams);
        let (fetched, is_new) = match known {
            Some(fetched) => (fetched, false),
            None => (self.fetch(item.hash, pinned.clone()).await?, true),
        };
        let complete = fetched.complete(&item.question, &self.rules).await?;
        if is_new || !complete.is_same(&fetched) {
            self.cache.keep_facts(item.hash, pin, &complete);
        }
        let read = complete.classify(&item.question, &self.rules);
        let row = Arc::new(read.map_err(|_| ApiError::WalletNotInTransaction)?);
        self.cache.keep_verdict(item.hash, pin, &item.question, &complete, &row);
        Ok(corrected(row, pin))
    }

    /// Callers who want the same transaction at the same moment share one fetch.
    fn fetch(self: &Arc<Self>, hash: TxHash, pinned: Option<String>) -> Shared<Fetching> {
        let mut fetches = self.fetches.lock().unwrap_or_else(PoisonError::into_inner);
        if fetches.len() >= FETCHES_SWEPT_AT {
            fetches.retain(|_, fetch| fetch.upgrade().is_some());
        }
        let wanted: Wanted = (hash, pinned);
        if let Some(fetch) = fetches.get(&wanted).and_then(WeakShared::upgrade) {
            return fetch;
        }
        let (reader, asked) = (Arc::clone(self), wanted.clone());
        let fetch = async move {
            let fetched = reader.upstreams.fetch(asked.0, asked.1.as_deref()).await;
            reader.fetches.lock().unwrap_or_else(PoisonError::into_inner).remove(&asked);
            fetched
        };
        let fetch = fetch.boxed().shared();
        fetches.extend(fetch.downgrade().map(|weak| (wanted, weak)));
        fetch
    }

    pub(super) fn served(&self, name: &str) -> Result<Arc<Chain>, ApiError> {
        let known = self.registry.find(name).filter(|chain| self.upstreams.serves(&chain.slug));
        known.cloned().ok_or_else(|| ApiError::UnsupportedChain {
            chain: name.chars().filter(|c| !c.is_control()).take(64).collect(),
            served: self.served_slugs().join(", "),
        })
    }

    pub(crate) fn served_slugs(&self) -> Vec<String> {
        self.served_chains().into_iter().map(|chain| chain.slug.clone()).collect()
    }

    /// Sorted by slug.
    pub(crate) fn served_chains(&self) -> Vec<Arc<Chain>> {
        let mut chains: Vec<Arc<Chain>> = self.upstreams.chains().cloned().collect();
        chains.sort_by(|a, b| a.slug.cmp(&b.slug));
        chains
    }

    /// An item that was not classified still has every field that is always present.
    fn errored(&self, hash: TxHash, error: &ApiError) -> Classification {
        Classification {
            api_version: API_VERSION,
            id: None,
            error: Some(error.item_code()),
            hash: Some(hash.to_string()),
            chain: None,
            category: Category::Unclassified,
            treatment: Treatment::NeedsReview,
            taxable: None,
            confidence: 0,
            needs_review: true,
            ledger_action: Some(LedgerAction::Review),
            protocol: None,
            description: None,
            review_note: Some(error.to_string()),
            grey_area: None,
            assets: Assets::default(),
            chain_corrected: None,
            perspective: None,
            block: None,
            parent: None,
            legs: None,
            memo: None,
            engine: self.rules.engine.clone(),
            evidence: None,
            source: Source::None,
        }
    }
}

/// Says so where the transaction is on another chain than the one that was asked for.
fn corrected(row: Arc<Classification>, pinned: Option<&str>) -> Arc<Classification> {
    match (pinned, row.chain.as_deref()) {
        (Some(requested), Some(detected)) if requested != detected => {
            let detected = detected.to_owned();
            let mut row = Arc::unwrap_or_clone(row);
            row.chain_corrected = Some(ChainCorrected { requested: requested.to_owned(), detected });
            Arc::new(row)
        }
        _ => row,
    }
}
