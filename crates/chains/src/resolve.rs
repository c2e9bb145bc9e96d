//! Which chain has the hash. Absence is only ever said when it was shown: a chain that failed to answer is a failure.

use std::sync::Arc;

use alloy_primitives::B256;
use engine::evm::json::Transaction;
use engine::{Chain, Classification, EvmFacts, Family, Question, Rules, SolanaFacts, TxHash, WalletNotInTransaction};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::error::{FetchError, UpstreamError};
use crate::evm::{Early, EvmChain, Lookup};
use crate::kept;
use crate::solana::{self, SolanaChain};

/// The chains that this instance has an upstream for, in order of preference.
#[derive(Debug, Default)]
pub struct Upstreams {
    chains: Vec<Arc<EvmChain>>,
    solana: Vec<Arc<SolanaChain>>,
}

/// A transaction and the chain that has it. What a question needs beyond it is completed, and then the engine can read it.
#[derive(Debug, Clone)]
pub enum Fetched {
    Evm { chain: Arc<EvmChain>, facts: Arc<EvmFacts> },
    Solana { chain: Arc<SolanaChain>, facts: Arc<SolanaFacts> },
}

impl Fetched {
    pub fn chain(&self) -> &Arc<Chain> {
        match self {
            Self::Evm { chain, .. } => chain.chain(),
            Self::Solana { chain, .. } => chain.chain(),
        }
    }

    /// The same with everything that this question needs. It asks nothing where nothing is lacking.
    pub async fn complete(&self, question: &Question, rules: &Rules) -> Result<Self, FetchError> {
        match self {
            Self::Evm { chain, facts } => {
                let facts = chain.complete(Arc::clone(facts), question, rules).await;
                let facts = facts.map_err(|error| upstream(chain.chain(), error))?;
                Ok(Self::Evm { chain: Arc::clone(chain), facts })
            }
            Self::Solana { chain, facts } => {
                let facts = chain.complete(Arc::clone(facts), question, rules).await;
                Ok(Self::Solana { chain: Arc::clone(chain), facts })
            }
        }
    }

    /// The engine's reading of complete facts.
    pub fn classify(&self, question: &Question, rules: &Rules) -> Result<Classification, WalletNotInTransaction> {
        match self {
            Self::Evm { facts, .. } => engine::classify(facts, question, rules),
            Self::Solana { facts, .. } => engine::classify_solana(facts, question, rules),
        }
    }

    /// Whether these are the very same facts, and not only equal ones.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Evm { facts: one, .. }, Self::Evm { facts: other, .. }) => Arc::ptr_eq(one, other),
            (Self::Solana { facts: one, .. }, Self::Solana { facts: other, .. }) => Arc::ptr_eq(one, other),
            (Self::Evm { .. }, Self::Solana { .. }) | (Self::Solana { .. }, Self::Evm { .. }) => false,
        }
    }

    /// Whether the chain calls the block final, so that the facts cannot change any more.
    pub fn is_final(&self) -> bool {
        let block = match self {
            Self::Evm { facts, .. } => facts.block,
            Self::Solana { facts, .. } => facts.block,
        };
        block.is_some_and(|block| block.finalized)
    }

    /// Whether the nodes showed all that they can show; where not, a later question may learn more.
    pub fn is_whole(&self) -> bool {
        match self {
            Self::Evm { chain, facts } => chain.is_whole(facts),
            Self::Solana { facts, .. } => facts.transaction.effects.is_some() && !facts.transaction.is_unloaded,
        }
    }

    /// Whether no other chain can hold a transaction of this hash.
    pub fn is_unique(&self) -> bool {
        match self {
            Self::Evm { facts, .. } => !facts.transaction.is_replayable(),
            Self::Solana { .. } => true,
        }
    }

    /// As bytes that `Upstreams::decode` reads; `None` for facts too large to keep.
    pub fn encode(&self) -> Option<Vec<u8>> {
        match self {
            Self::Evm { facts, .. } => kept::encode_evm(facts),
            Self::Solana { facts, .. } => kept::encode_solana(facts),
        }
    }
}

impl Upstreams {
    pub fn new(chains: Vec<EvmChain>, solana: Vec<SolanaChain>) -> Self {
        Self { chains: chains.into_iter().map(Arc::new).collect(), solana: solana.into_iter().map(Arc::new).collect() }
    }

    pub fn chains(&self) -> impl Iterator<Item = &Arc<Chain>> {
        let evm = self.chains.iter().map(|chain| chain.chain());
        evm.chain(self.solana.iter().map(|chain| chain.chain()))
    }

    pub fn serves(&self, slug: &str) -> bool {
        self.chains().any(|chain| chain.slug == slug)
    }

    /// Facts that were kept; `None` when they are of a chain that is not served, of another hash, or damaged.
    pub fn decode(&self, slug: &str, hash: TxHash, bytes: &[u8]) -> Option<Fetched> {
        match hash {
            TxHash::Evm(hash) => {
                let chain = self.chains.iter().find(|chain| chain.chain().slug == slug)?;
                let facts = kept::decode_evm(chain.chain(), bytes).filter(|facts| facts.transaction.hash == hash)?;
                Some(Fetched::Evm { chain: Arc::clone(chain), facts: Arc::new(facts) })
            }
            TxHash::Solana(signature) => {
                let chain = self.solana.iter().find(|chain| chain.chain().slug == slug)?;
                let facts = kept::decode_solana(chain.chain(), signature, bytes)?;
                Some(Fetched::Solana { chain: Arc::clone(chain), facts: Arc::new(facts) })
            }
        }
    }

    /// Finds the hash on the pinned chain first, else on every served chain of its family, and fetches what a node
    /// says of it.
    pub async fn fetch(&self, hash: TxHash, pinned: Option<&str>) -> Result<Fetched, FetchError> {
        let hash = match hash {
            TxHash::Evm(hash) => hash,
            TxHash::Solana(signature) => return self.fetch_solana(signature, pinned).await,
        };
        match pinned.and_then(|slug| self.chains.iter().find(|chain| chain.chain().slug == slug)) {
            Some(chain) => self.fetch_pinned(chain, hash).await,
            None => match self.detect(hash, None).await? {
                Some(fetched) => Ok(fetched),
                None => Err(pinned.map_or(FetchError::NotDetected, |p| FetchError::NotFound { pinned: p.to_owned() })),
            },
        }
    }

    /// The pinned chain first, then the others of its family at once, by the same rules as above.
    async fn fetch_solana(&self, signature: [u8; 64], pinned: Option<&str>) -> Result<Fetched, FetchError> {
        let is_pinned = |chain: &&Arc<SolanaChain>| pinned == Some(chain.chain().slug.as_str());
        if let Some(chain) = self.solana.iter().find(is_pinned) {
            let looked = chain.lookup(signature).await.map_err(|error| upstream(chain.chain(), error))?;
            if let Some(found) = landed(chain, looked)? {
                return Ok(found);
            }
        }
        let others = self.solana.iter().filter(|chain| !is_pinned(chain));
        let mut answers: FuturesUnordered<_> =
            others.map(|chain| async move { (chain, chain.lookup(signature).await) }).collect();
        let mut failure = None;
        while let Some((chain, looked)) = answers.next().await {
            match looked.map_err(|error| upstream(chain.chain(), error)).and_then(|looked| landed(chain, looked)) {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => {}
                Err(pending @ FetchError::NotYetMined { .. }) => failure = Some(pending),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        let absent =
            || pinned.map_or(FetchError::NotDetected, |pinned| FetchError::NotFound { pinned: pinned.to_owned() });
        Err(failure.unwrap_or_else(absent))
    }

    /// A chain that failed to answer is not corrected: that would rest on an absence not shown.
    async fn fetch_pinned(&self, chain: &Arc<EvmChain>, hash: B256) -> Result<Fetched, FetchError> {
        let (lookup, early) = chain.lookup_whole(hash).await.map_err(|error| upstream(chain.chain(), error))?;
        match (lookup, early) {
            (Lookup::Mined(transaction), Some(early)) => facts(chain, *transaction, early, Elsewhere::default()).await,
            (Lookup::Pending, _) => Err(FetchError::NotYetMined { chain: chain.chain().slug.clone() }),
            (Lookup::Absent | Lookup::Mined(_), _) => {
                let pinned = chain.chain().slug.clone();
                self.detect(hash, Some(&pinned)).await?.ok_or(FetchError::NotFound { pinned })
            }
        }
    }

    /// Asks every chain at once; the first that has the hash wins, and the rest are dropped. A transaction without a
    /// chain id may stand on several, so then all are awaited, the first in order serves, and who could not answer is named.
    async fn detect(&self, hash: B256, except: Option<&str>) -> Result<Option<Fetched>, FetchError> {
        let asked = self.chains.iter().enumerate().filter(|(_, chain)| {
            chain.chain().family == Family::Evm && except.is_none_or(|slug| chain.chain().slug != slug)
        });
        let mut answers: FuturesUnordered<_> =
            asked.map(|(order, chain)| async move { (order, chain, chain.lookup(hash).await) }).collect();
        let mut found: Vec<(usize, &Arc<EvmChain>, Transaction)> = Vec::new();
        let mut pending = None;
        let mut failure = None;
        let mut elsewhere = Elsewhere::default();
        while let Some((order, chain, lookup)) = answers.next().await {
            match lookup {
                Ok(Lookup::Mined(transaction)) => {
                    let is_unique = !transaction.is_replayable();
                    found.push((order, chain, *transaction));
                    if is_unique {
                        break;
                    }
                }
                Ok(Lookup::Pending) => {
                    pending = Some(chain.chain().slug.clone());
                    elsewhere.also_on.push(chain.chain().slug.clone());
                }
                Ok(Lookup::Absent) => {}
                Err(error) => {
                    failure = failure.or(Some(upstream(chain.chain(), error)));
                    elsewhere.unasked.push(chain.chain().slug.clone());
                }
            }
        }
        drop(answers);
        found.sort_by_key(|(order, ..)| *order);
        let mut found = found.into_iter();
        if let Some((_, chain, transaction)) = found.next() {
            elsewhere.also_on.extend(found.map(|(_, other, _)| other.chain().slug.clone()));
            let elsewhere = if transaction.is_replayable() { elsewhere.sorted() } else { Elsewhere::default() };
            return facts(chain, transaction, chain.early(hash), elsewhere).await.map(Some);
        }
        match (pending, failure) {
            (Some(chain), _) => Err(FetchError::NotYetMined { chain }),
            (None, Some(failure)) => Err(failure),
            (None, None) => Ok(None),
        }
    }
}

/// Where else a transaction stands that carries no chain id, and where that could not be asked.
#[derive(Debug, Default)]
struct Elsewhere {
    also_on: Vec<String>,
    unasked: Vec<String>,
}

impl Elsewhere {
    fn sorted(mut self) -> Self {
        self.also_on.sort();
        self.unasked.sort();
        self
    }
}

async fn facts(
    chain: &Arc<EvmChain>,
    transaction: Transaction,
    early: impl Future<Output = Early>,
    elsewhere: Elsewhere,
) -> Result<Fetched, FetchError> {
    let mut facts = chain.facts(transaction, early).await.map_err(|error| upstream(chain.chain(), error))?;
    (facts.also_on, facts.unasked) = (elsewhere.also_on, elsewhere.unasked);
    Ok(Fetched::Evm { chain: Arc::clone(chain), facts: Arc::new(facts) })
}

fn landed(chain: &Arc<SolanaChain>, looked: solana::Lookup) -> Result<Option<Fetched>, FetchError> {
    match looked {
        solana::Lookup::Landed(facts) => {
            Ok(Some(Fetched::Solana { chain: Arc::clone(chain), facts: Arc::new(*facts) }))
        }
        solana::Lookup::Pending => Err(FetchError::NotYetMined { chain: chain.chain().slug.clone() }),
        solana::Lookup::Absent => Ok(None),
    }
}

fn upstream(chain: &Chain, error: UpstreamError) -> FetchError {
    FetchError::Upstream { chain: chain.slug.clone(), error }
}
