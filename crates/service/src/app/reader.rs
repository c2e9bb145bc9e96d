//! From hashes to readings: which chain, what it says, and the engine's verdict. It knows nothing of keys or pools.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chains::{FetchError, Fetched, Registry, Upstreams};
use engine::category::{LedgerAction, Treatment};
use engine::classification::{API_VERSION, Assets, ChainCorrected};
use engine::opinion::Source;
use engine::{Category, Chain, Classification, Question, Rules, TxHash};
use tokio::sync::OnceCell;

use super::Item;
use crate::error::ApiError;

/// One transaction is given up after this long, whatever its upstreams do.
const ITEM_SECONDS_MAX: u64 = 30;

#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) rules: Rules,
    pub(crate) registry: Registry,
    pub(crate) upstreams: Upstreams,
}

/// A fetch that several items of one batch may wait for.
type SharedFetch = Arc<OnceCell<Result<Fetched, FetchError>>>;

impl Reader {
    /// One answer per item, in input order: an item that fails fails alone, and duplicates are fetched once.
    pub(crate) async fn read(self: &Arc<Self>, items: Vec<Item>) -> Vec<Result<Classification, ApiError>> {
        let mut fetches: BTreeMap<(TxHash, Option<String>), SharedFetch> = BTreeMap::new();
        let mut running = Vec::with_capacity(items.len());
        for item in items {
            let fetch = Arc::clone(fetches.entry((item.hash, item.chain.clone())).or_default());
            let (hash, reader) = (item.hash, Arc::clone(self));
            // A task of its own, so that a fault in one item stays in that item.
            running.push((hash, tokio::spawn(async move { reader.classify_item(item, fetch).await })));
        }
        let mut results = Vec::with_capacity(running.len());
        for (hash, task) in running {
            results.push(task.await.unwrap_or_else(|fault| {
                tracing::error!(%hash, %fault, "classification failed");
                Err(ApiError::Internal)
            }));
        }
        results
    }

    /// The same, as the rows of a batch: what failed stays in its place with its error.
    pub(crate) async fn rows(self: &Arc<Self>, items: Vec<Item>) -> Vec<Classification> {
        let named: Vec<(TxHash, Option<String>)> = items.iter().map(|item| (item.hash, item.tx_id.clone())).collect();
        let results = self.read(items).await;
        named.into_iter().zip(results).map(|((hash, id), result)| self.row(hash, id, result)).collect()
    }

    pub(crate) fn row(
        &self,
        hash: TxHash,
        id: Option<String>,
        result: Result<Classification, ApiError>,
    ) -> Classification {
        let mut row = result.unwrap_or_else(|error| self.errored(hash, &error));
        row.id = id;
        row
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
        let read = fetched.classify(question, &self.rules).await?;
        let mut result = read.map_err(|_| ApiError::WalletNotInTransaction)?;
        let detected = &fetched.chain().slug;
        if let Some(requested) = pinned.filter(|pinned| *pinned != detected.as_str()) {
            result.chain_corrected =
                Some(ChainCorrected { requested: requested.to_owned(), detected: detected.clone() });
        }
        Ok(result)
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
