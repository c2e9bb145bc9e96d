//! What a chain family must offer. Finding, fetching, caching and the RPC layer know families only through this shape.

use std::fmt::Debug;
use std::sync::Arc;

use engine::{Account, Chain, Facts, Need, TxHash};
use futures_util::future::BoxFuture;

use crate::error::UpstreamError;
use crate::history::{History, HistoryError, Period, TakeHash};

/// One chain that has an upstream.
pub(crate) trait ServedChain: Debug + Send + Sync {
    fn chain(&self) -> &Arc<Chain>;

    /// What the nodes say of a hash. An error is a failure to answer, never an absence.
    fn lookup(&self, hash: TxHash, effort: Effort) -> BoxFuture<'_, Result<Lookup<'_>, UpstreamError>>;

    /// The facts with what the engine lacked.
    fn answer<'a>(&'a self, facts: Facts, needs: &'a [Need]) -> BoxFuture<'a, Result<Facts, UpstreamError>>;

    fn completeness(&self, facts: &Facts) -> Completeness;

    /// What the nodes say of every transaction of a block, in its order, with few calls; `None` where there is no such block yet.
    fn block(&self, number: u64) -> BoxFuture<'_, Result<Option<Vec<BlockTransaction>>, UpstreamError>>;

    /// Whether there is a source that lists what an account did.
    fn lists_accounts(&self) -> bool;

    /// Hands on the transactions of an account in a period, each once, as pages come in.
    fn history<'a>(
        &'a self,
        account: Account,
        period: Period,
        take: TakeHash<'a>,
    ) -> BoxFuture<'a, Result<History, HistoryError>>;

    /// As bytes that `decode` reads; `None` for facts that are too large or may not be cached.
    fn encode(&self, facts: &Facts) -> Option<Vec<u8>>;

    /// `None` when the bytes are damaged or of another hash.
    fn decode(&self, hash: TxHash, bytes: &[u8]) -> Option<Facts>;

    /// Whether no other chain can hold a transaction of this hash.
    fn is_unique(&self, _: &Facts) -> bool {
        true
    }

    /// For families whose transactions may be on several chains: the facts with where else this one is.
    fn found_elsewhere(&self, facts: Facts, _: Elsewhere) -> Facts {
        facts
    }
}

/// Whether the nodes showed all that there is, which decides how long facts of a final block are cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// There is nothing more to learn: cached for good.
    Whole,
    /// No endpoint offers what would show more. One may later, so they are cached for as long as that is believed
    /// (`UNSUPPORTED_SECONDS_MAX`) and then fetched again.
    Unsupported,
    /// A later attempt may show more: cached for seconds.
    Partial,
}

/// How much is asked for at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// The caller named this chain, so it probably has the hash: everything in one request.
    Everything,
    /// One chain of many: first whether it has the hash.
    Presence,
}

pub(crate) enum Lookup<'a> {
    Absent,
    /// Known, but in no block yet.
    Pending,
    Found(FoundTransaction<'a>),
}

pub(crate) struct FoundTransaction<'a> {
    /// Whether no other chain can hold a transaction of this hash.
    pub(crate) is_unique: bool,
    /// What the nodes say of it. It may be partly fetched already, and costs nothing more until it is polled.
    pub(crate) facts: BoxFuture<'a, Result<Facts, UpstreamError>>,
}

/// One transaction of a block. One whose facts cannot be had fails alone.
#[derive(Debug)]
pub(crate) struct BlockTransaction {
    pub(crate) hash: TxHash,
    pub(crate) facts: Result<Facts, UpstreamError>,
}

/// Where else a transaction is that carries no chain id, and where that could not be asked.
#[derive(Debug, Default)]
pub(crate) struct Elsewhere {
    pub(crate) also_on: Vec<String>,
    pub(crate) unasked: Vec<String>,
}
