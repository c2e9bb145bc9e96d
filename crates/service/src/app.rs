//! The use cases. REST, the command line, and whatever comes later call only these; none has a path of its own to data.

mod request;
mod setup;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chains::{FetchError, Fetched, Registry, Upstreams};
use engine::category::{LedgerAction, Treatment};
use engine::classification::{API_VERSION, Assets, ChainCorrected};
use engine::{Category, Chain, Classification, Question, Rules, TxHash, classify};
use tokio::sync::OnceCell;

use crate::error::ApiError;
use crate::keys::Keys;
pub(crate) use request::{BATCH_ITEMS_MAX, BatchRequest, Item, SingleRequest};
pub(crate) use setup::{Demo, keys as open_keys, open, registry, rules};

/// One transaction is given up after this long, whatever its upstreams do.
const ITEM_SECONDS_MAX: u64 = 30;

#[derive(Debug)]
pub(crate) struct App {
    pub(crate) rules: Rules,
    pub(crate) registry: Registry,
    pub(crate) upstreams: Upstreams,
    pub(crate) keys: Keys,
}

/// A fetch that several items of one batch may wait for.
type SharedFetch = Arc<OnceCell<Result<Fetched, FetchError>>>;

impl App {
    pub(crate) async fn classify(self: &Arc<Self>, item: Item) -> Result<Classification, ApiError> {
        self.classify_item(item, SharedFetch::default()).await
    }

    /// One result per item, in input order. An item that fails stays in its place with its error; duplicates are
    /// fetched once.
    pub(crate) async fn classify_batch(self: &Arc<Self>, items: Vec<Item>) -> Vec<Classification> {
        let mut fetches: BTreeMap<(TxHash, Option<String>), SharedFetch> = BTreeMap::new();
        let mut running = Vec::with_capacity(items.len());
        for item in items {
            let fetch = Arc::clone(fetches.entry((item.hash, item.chain.clone())).or_default());
            let (id, hash) = (item.tx_id.clone(), item.hash);
            let app = Arc::clone(self);
            // A task of its own, so that a fault in one item stays in that item.
            running.push((id, hash, tokio::spawn(async move { app.classify_item(item, fetch).await })));
        }
        let mut results = Vec::with_capacity(running.len());
        for (id, hash, task) in running {
            let outcome = task.await.unwrap_or_else(|fault| {
                tracing::error!(%hash, %fault, "classification failed");
                Err(ApiError::Internal)
            });
            let mut result = outcome.unwrap_or_else(|error| self.errored(hash, &error));
            result.id = id;
            results.push(result);
        }
        results
    }

    async fn classify_item(&self, item: Item, fetch: SharedFetch) -> Result<Classification, ApiError> {
        let pinned = item.chain.as_deref().map(|name| self.served(name)).transpose()?;
        let work = self.answer(item.hash, pinned.as_ref().map(|chain| chain.slug.as_str()), &item.question, &fetch);
        match tokio::time::timeout(Duration::from_secs(ITEM_SECONDS_MAX), work).await {
            Ok(answer) => answer,
            Err(_) => Err(ApiError::Upstream {
                chain: pinned.map_or_else(|| "chain detection".to_owned(), |chain| chain.slug.clone()),
                code: "upstream_timeout",
                reason: "the nodes did not answer in time".to_owned(),
            }),
        }
    }

    async fn answer(
        &self,
        hash: TxHash,
        pinned: Option<&str>,
        question: &Question,
        fetch: &SharedFetch,
    ) -> Result<Classification, ApiError> {
        let fetched = fetch.get_or_init(|| self.upstreams.fetch(hash, pinned)).await.clone()?;
        let facts = fetched.complete(question, &self.rules).await?;
        let mut result = classify(&facts, question, &self.rules).map_err(|_| ApiError::WalletNotInTransaction)?;
        let detected = &fetched.chain().slug;
        if let Some(requested) = pinned.filter(|pinned| *pinned != detected.as_str()) {
            result.chain_corrected =
                Some(ChainCorrected { requested: requested.to_owned(), detected: detected.clone() });
        }
        Ok(result)
    }

    fn served(&self, name: &str) -> Result<Arc<Chain>, ApiError> {
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
        }
    }
}
