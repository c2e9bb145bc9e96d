//! From hashes to readings: finds the chain, fetches the facts, and asks the engine for the verdict. It knows nothing of keys or pools.

mod blocks;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chains::{FetchError, Fetched, Registry, UPSTREAM_CODES, Upstreams};
use engine::classification::ChainCorrected;
use engine::{Chain, Classification, Knowledge, Missing, NEED_ROUNDS_MAX, Question, Read, TxHash};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};

use super::Item;
use super::keeper::FactsKeeper;
use crate::cache::{Cache, CacheQuery, CachedFacts};
use crate::error::ApiError;
use crate::logs;

/// One transaction is given up after this long, whatever its upstreams do.
const ITEM_SECONDS_MAX: u64 = 10;
/// Size of the map of shared fetches from which on abandoned entries are evicted.
const FETCHES_SWEPT_AT: usize = 1_000;

#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) knowledge: Knowledge,
    pub(crate) registry: Registry,
    pub(crate) upstreams: Upstreams,
    pub(crate) cache: Arc<Cache>,
    /// Where the facts of what is read are kept for `taxon read`, if anywhere.
    pub(crate) keeper: Option<FactsKeeper>,
    fetches: Mutex<HashMap<Fetch, WeakShared<Fetching>>>,
}

/// An item whose chain was resolved; a name that no served chain has is an error before this.
#[derive(Debug, Clone)]
pub(super) struct Sought {
    pub(super) item: Item,
    pinned: Option<Arc<Chain>>,
}

impl Sought {
    fn slug(&self) -> Option<&str> {
        self.pinned.as_ref().map(|chain| chain.slug.as_str())
    }

    /// The item with its chain by the chain's own name.
    pub(super) fn pinned_item(&self) -> Item {
        Item { chain: self.slug().map(str::to_owned), ..self.item.clone() }
    }

    fn wanted(&self) -> CacheQuery<'_> {
        CacheQuery { hash: self.item.hash, pinned: self.slug(), question: &self.item.question }
    }
}

fn wanted(sought: &[(usize, Sought)]) -> Vec<CacheQuery<'_>> {
    sought.iter().map(|(_, sought)| sought.wanted()).collect()
}

/// A transaction, and the chain that it was asked for on.
type Fetch = (TxHash, Option<String>);
/// A fetch that several callers may wait for. Any waiter polls it, so it goes on when the caller who started it hangs up.
type Fetching = BoxFuture<'static, Result<Fetched, FetchError>>;

pub(crate) use blocks::{BlockReading, BlockRow};

pub(crate) type Answer = Result<Arc<Classification>, ApiError>;

impl Reader {
    pub(crate) fn new(knowledge: Knowledge, registry: Registry, upstreams: Upstreams, cache: Arc<Cache>) -> Self {
        Self { knowledge, registry, upstreams, cache, keeper: None, fetches: Mutex::default() }
    }

    /// The same, keeping the facts of every transaction that it reads, with the wallet that was asked for. Cached verdicts were read before.
    pub(crate) fn keeping(self, keeper: FactsKeeper) -> Self {
        Self { keeper: Some(keeper), ..self }
    }

    /// Resolves the chain that an item names, once; later steps use the result.
    pub(super) fn seek(&self, item: Item) -> Result<Sought, ApiError> {
        let pinned = item.chain.as_deref().map(|name| self.served(name)).transpose()?;
        Ok(Sought { item, pinned })
    }

    /// One answer per item, in input order: an item that fails fails alone. Cached verdicts do not wait for fetches.
    pub(super) async fn read(self: &Arc<Self>, items: Vec<Result<Sought, ApiError>>) -> Vec<Answer> {
        let mut answers: Vec<Answer> = vec![Err(ApiError::Internal); items.len()];
        let mut tell = |at: usize, answer: Answer| {
            if let Some(slot) = answers.get_mut(at) {
                *slot = answer;
            }
        };
        let mut sought = Vec::with_capacity(items.len());
        for (at, item) in items.into_iter().enumerate() {
            match item {
                Ok(item) => sought.push((at, item)),
                Err(error) => tell(at, Err(error)),
            }
        }
        let verdicts = self.cache.verdicts(&self.knowledge.engine, &wanted(&sought)).await;
        let mut missing = Vec::new();
        for ((at, sought), verdict) in sought.into_iter().zip(verdicts) {
            match verdict {
                Some(row) => tell(at, Ok(corrected(row, sought.slug()))),
                None => missing.push((at, sought)),
            }
        }
        let known = self.cache.facts(&wanted(&missing)).await;
        let mut running = Vec::with_capacity(missing.len());
        for ((at, sought), known) in missing.into_iter().zip(known) {
            let (hash, reader) = (sought.item.hash, Arc::clone(self));
            // Each in its own task, so that a panic fails one item only.
            let task = tokio::spawn(logs::carried(async move { reader.classify(&sought, known).await }));
            running.push((at, hash, task));
        }
        for (at, hash, task) in running {
            let done = task.await.unwrap_or_else(|fault| {
                tracing::error!(%hash, %fault, "classification failed");
                Err(ApiError::Internal)
            });
            tell(at, done);
        }
        answers
    }

    /// The same, as the rows of a batch: a failed item keeps its place and carries its error.
    pub(crate) async fn rows(self: &Arc<Self>, items: Vec<Item>) -> Vec<Arc<Classification>> {
        let named: Vec<(TxHash, Option<String>)> = items.iter().map(|item| (item.hash, item.tx_id.clone())).collect();
        let results = self.read(items.into_iter().map(|item| self.seek(item)).collect()).await;
        named.into_iter().zip(results).map(|((hash, id), result)| self.row(hash, id, result)).collect()
    }

    /// An answer as a row of a batch. A row without an `id` of its own shares the cached value instead of copying it.
    pub(super) fn row(&self, hash: TxHash, id: Option<String>, answer: Answer) -> Arc<Classification> {
        let mut row = answer.unwrap_or_else(|error| Arc::new(self.errored(hash, &error)));
        if id.is_some() {
            Arc::make_mut(&mut row).id = id;
        }
        row
    }

    async fn classify(self: &Arc<Self>, sought: &Sought, known: Option<Arc<CachedFacts>>) -> Answer {
        let answer = tokio::time::timeout(Duration::from_secs(ITEM_SECONDS_MAX), self.answer(sought, known));
        answer.await.unwrap_or_else(|_| Err(timed_out(sought.slug().unwrap_or("chain detection"))))
    }

    async fn answer(self: &Arc<Self>, sought: &Sought, known: Option<Arc<CachedFacts>>) -> Answer {
        let (pinned, Item { hash, question, .. }) = (sought.slug(), &sought.item);
        let known = known.and_then(|facts| facts.decode(*hash, &self.upstreams));
        let (fetched, is_new) = match known {
            Some(fetched) => (fetched, false),
            None => (self.fetch(*hash, pinned.map(str::to_owned)).await?, true),
        };
        let FinishedReading { fetched, has_learned, answer } = finish(fetched, question, &self.knowledge).await?;
        if is_new || has_learned {
            self.cache.keep_facts(*hash, pinned, &fetched);
        }
        let row = Arc::new(answer.ok_or(ApiError::WalletNotInTransaction)?);
        if let Some(keeper) = &self.keeper {
            keeper.keep(fetched.facts(), question.wallet).await;
        }
        self.cache.keep_verdict(*hash, pinned, question, &fetched, &row);
        Ok(corrected(row, pinned))
    }

    /// Concurrent fetches of one transaction are coalesced.
    fn fetch(self: &Arc<Self>, hash: TxHash, pinned: Option<String>) -> Shared<Fetching> {
        let mut fetches = self.fetches.lock().unwrap_or_else(PoisonError::into_inner);
        if fetches.len() >= FETCHES_SWEPT_AT {
            fetches.retain(|_, fetch| fetch.upgrade().is_some());
        }
        let wanted: Fetch = (hash, pinned);
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

    /// The chains on which wallets can be looked up, sorted.
    pub(crate) fn listing_slugs(&self) -> Vec<String> {
        let mut slugs: Vec<String> = self.upstreams.that_list_accounts().map(|chain| chain.slug.clone()).collect();
        slugs.sort();
        slugs
    }

    /// Sorted by slug.
    pub(crate) fn served_chains(&self) -> Vec<Arc<Chain>> {
        let mut chains: Vec<Arc<Chain>> = self.upstreams.chains().cloned().collect();
        chains.sort_by(|a, b| a.slug.cmp(&b.slug));
        chains
    }

    fn errored(&self, hash: TxHash, error: &ApiError) -> Classification {
        let engine = self.knowledge.engine.clone();
        Classification::failed(Some(hash.to_string()), error.item_code(), error.to_string(), engine)
    }
}

fn timed_out(chain: &str) -> ApiError {
    let reason = "the nodes did not answer in time".to_owned();
    ApiError::Upstream { chain: chain.to_owned(), code: "upstream_timeout", reason }
}

/// Facts with everything that a question needs, and the engine's answer to it.
pub(crate) struct FinishedReading {
    fetched: Fetched,
    /// Whether the nodes were asked for anything more.
    has_learned: bool,
    /// `None` when the wallet has no part in the transaction.
    pub(crate) answer: Option<Classification>,
}

/// Asks the engine; while it names needs, they are fetched from the chain's nodes and it is asked again. In the last round it answers with
/// what is there.
pub(crate) async fn finish(
    mut fetched: Fetched,
    question: &Question,
    knowledge: &Knowledge,
) -> Result<FinishedReading, FetchError> {
    let mut has_learned = false;
    let mut read = engine::read(fetched.facts(), question, knowledge, Missing::Ask);
    for round in 1..=NEED_ROUNDS_MAX {
        let Ok(Read::Needs(needs)) = &read else { break };
        fetched = fetched.answer(needs).await?;
        has_learned = true;
        let missing = if round == NEED_ROUNDS_MAX { Missing::Accept } else { Missing::Ask };
        read = engine::read(fetched.facts(), question, knowledge, missing);
    }
    Ok(FinishedReading { fetched, has_learned, answer: read.ok().and_then(Read::done) })
}

/// Whether the same question may be answered later.
pub(crate) fn may_pass(error: &str) -> bool {
    UPSTREAM_CODES.contains(&error)
        || error == ApiError::Internal.code()
        || error == ApiError::TxNotYetMined { chain: String::new() }.code()
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
