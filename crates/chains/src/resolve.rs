//! Which chain has the hash. A hash is reported absent only where every chain answered: a chain that failed to answer is a failure.

use std::sync::Arc;

use engine::{Account, Chain, Facts, Need, TxHash};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::error::{FetchError, UpstreamError};
use crate::families;
use crate::family::{BlockTransaction, Completeness, Effort, Elsewhere, FoundTransaction, Lookup, ServedChain};
use crate::history::{History, HistoryError, Period, TakeHash};
use crate::memory::TokenMemory;
use crate::rpc::Node;

/// The chains that this instance has an upstream for, in order of preference.
#[derive(Debug, Default)]
pub struct Upstreams {
    chains: Vec<Arc<dyn ServedChain>>,
}

/// One transaction of a block. One that cannot be fetched fails alone.
#[derive(Debug)]
pub struct FetchedOfBlock {
    pub hash: TxHash,
    pub fetched: Result<Fetched, FetchError>,
}

/// A transaction and the chain that has it. What the engine lacks to answer a question is asked of that chain.
#[derive(Debug, Clone)]
pub struct Fetched {
    chain: Arc<dyn ServedChain>,
    facts: Facts,
}

impl Fetched {
    pub fn chain(&self) -> &Arc<Chain> {
        self.chain.chain()
    }

    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The same with what the engine lacked.
    pub async fn answer(self, needs: &[Need]) -> Result<Self, FetchError> {
        let Self { chain, facts } = self;
        let facts = chain.answer(facts, needs).await.map_err(|error| upstream(chain.chain(), error))?;
        Ok(Self { chain, facts })
    }

    /// Whether the chain calls the block final, so that the facts cannot change any more.
    pub fn is_final(&self) -> bool {
        self.facts.block().is_some_and(|block| block.finalized)
    }

    /// Whether the nodes showed all that there is; where not, a later question may learn more.
    pub fn completeness(&self) -> Completeness {
        self.chain.completeness(&self.facts)
    }

    /// Whether no other chain can hold a transaction of this hash.
    pub fn is_unique(&self) -> bool {
        self.chain.is_unique(&self.facts)
    }

    /// As bytes that `Upstreams::decode` reads; `None` for facts too large to cache.
    pub fn encode(&self) -> Option<Vec<u8>> {
        self.chain.encode(&self.facts)
    }
}

impl Upstreams {
    pub fn new(nodes: impl IntoIterator<Item = Node>, memory: &Arc<dyn TokenMemory>) -> Self {
        Self { chains: nodes.into_iter().map(|node| families::open(node, Arc::clone(memory))).collect() }
    }

    pub fn chains(&self) -> impl Iterator<Item = &Arc<Chain>> {
        self.chains.iter().map(|chain| chain.chain())
    }

    pub fn serves(&self, slug: &str) -> bool {
        self.chains().any(|chain| chain.slug == slug)
    }

    /// The chains that have a source which lists what an account did.
    pub fn that_list_accounts(&self) -> impl Iterator<Item = &Arc<Chain>> {
        self.chains.iter().filter(|chain| chain.lists_accounts()).map(|chain| chain.chain())
    }

    /// Hands on the transactions of an account on one chain in a period, each once, as pages come in.
    pub async fn history(
        &self,
        slug: &str,
        account: Account,
        period: Period,
        take: TakeHash<'_>,
    ) -> Result<History, HistoryError> {
        let chain = self.chains.iter().find(|chain| chain.chain().slug == slug).ok_or(HistoryError::NotServed)?;
        chain.history(account, period, take).await
    }

    /// Cached facts; `None` when they are of a chain that is not served, of another hash, or damaged.
    pub fn decode(&self, slug: &str, hash: TxHash, bytes: &[u8]) -> Option<Fetched> {
        let chain = self.of_family(hash).find(|chain| chain.chain().slug == slug)?;
        Some(Fetched { chain: Arc::clone(chain), facts: chain.decode(hash, bytes)? })
    }

    /// Finds the hash on the pinned chain first, else on every served chain of its family, and fetches what a node says of it.
    ///
    /// When a pinned chain fails to answer, no other chain is searched: the hash may be on the pinned one.
    pub async fn fetch(&self, hash: TxHash, pinned: Option<&str>) -> Result<Fetched, FetchError> {
        let is_pinned = |chain: &&Arc<dyn ServedChain>| pinned == Some(chain.chain().slug.as_str());
        if let Some(chain) = self.of_family(hash).find(is_pinned) {
            match chain.lookup(hash, Effort::Everything).await.map_err(|error| upstream(chain.chain(), error))? {
                Lookup::Found(found) => return fetched(chain, found, Elsewhere::default()).await,
                Lookup::Pending => return Err(FetchError::NotYetMined { chain: chain.chain().slug.clone() }),
                Lookup::Absent => {}
            }
        }
        let others: Vec<_> = self.of_family(hash).filter(|chain| !is_pinned(chain)).collect();
        let absent = || pinned.map_or(FetchError::NotDetected, |slug| FetchError::NotFound { pinned: slug.to_owned() });
        detect(hash, &others).await?.ok_or_else(absent)
    }

    /// Every transaction of a block, in its order, as `fetch` gives each of them where it is pinned to this chain.
    pub async fn block(&self, slug: &str, number: u64) -> Result<Vec<FetchedOfBlock>, FetchError> {
        let none = || FetchError::NoBlock { chain: slug.to_owned(), number };
        let chain = self.chains.iter().find(|chain| chain.chain().slug == slug).ok_or_else(none)?;
        let failed = |error| upstream(chain.chain(), error);
        let transactions = chain.block(number).await.map_err(failed)?.ok_or_else(none)?;
        let fetched = |facts| Fetched { chain: Arc::clone(chain), facts };
        let all = transactions.into_iter().map(|BlockTransaction { hash, facts }| FetchedOfBlock {
            hash,
            fetched: facts.map(fetched).map_err(failed),
        });
        Ok(all.collect())
    }

    fn of_family(&self, hash: TxHash) -> impl Iterator<Item = &Arc<dyn ServedChain>> {
        self.chains.iter().filter(move |chain| chain.chain().family == hash.family())
    }
}

/// Asks every chain at once; the first that has the hash wins, and the rest are dropped. A transaction without a chain id may be
/// on several, so then all are awaited, the first in order serves, and chains that could not answer are named.
async fn detect(hash: TxHash, chains: &[&Arc<dyn ServedChain>]) -> Result<Option<Fetched>, FetchError> {
    let asked = chains.iter().enumerate();
    let mut answers: FuturesUnordered<_> = asked
        .map(|(order, chain)| async move { (order, *chain, chain.lookup(hash, Effort::Presence).await) })
        .collect();
    let mut holders: Vec<(usize, &Arc<dyn ServedChain>, FoundTransaction<'_>)> = Vec::new();
    let mut pending = None;
    let mut failure = None;
    let mut elsewhere = Elsewhere::default();
    while let Some((order, chain, lookup)) = answers.next().await {
        let slug = &chain.chain().slug;
        match lookup {
            Ok(Lookup::Found(found)) => {
                let is_unique = found.is_unique;
                holders.push((order, chain, found));
                if is_unique {
                    break;
                }
            }
            Ok(Lookup::Pending) => {
                pending = Some(slug.clone());
                elsewhere.also_on.push(slug.clone());
            }
            Ok(Lookup::Absent) => {}
            Err(error) => {
                failure = failure.or(Some(upstream(chain.chain(), error)));
                elsewhere.unasked.push(slug.clone());
            }
        }
    }
    drop(answers);
    holders.sort_by_key(|(order, ..)| *order);
    let mut holders = holders.into_iter();
    if let Some((_, chain, found)) = holders.next() {
        elsewhere.also_on.extend(holders.map(|(_, other, _)| other.chain().slug.clone()));
        let elsewhere = if found.is_unique { Elsewhere::default() } else { elsewhere.sorted() };
        return fetched(chain, found, elsewhere).await.map(Some);
    }
    match (pending, failure) {
        (Some(chain), _) => Err(FetchError::NotYetMined { chain }),
        (None, Some(failure)) => Err(failure),
        (None, None) => Ok(None),
    }
}

impl Elsewhere {
    fn sorted(mut self) -> Self {
        self.also_on.sort();
        self.unasked.sort();
        self
    }
}

async fn fetched(
    chain: &Arc<dyn ServedChain>,
    found: FoundTransaction<'_>,
    elsewhere: Elsewhere,
) -> Result<Fetched, FetchError> {
    let facts = found.facts.await.map_err(|error| upstream(chain.chain(), error))?;
    Ok(Fetched { chain: Arc::clone(chain), facts: chain.found_elsewhere(facts, elsewhere) })
}

fn upstream(chain: &Chain, error: UpstreamError) -> FetchError {
    FetchError::Upstream { chain: chain.slug.clone(), error }
}
