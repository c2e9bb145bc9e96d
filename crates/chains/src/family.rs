//! What a chain family must offer, and the one list of families. Finding, fetching, caching and the RPC layer know families only
//! through this shape.

use std::fmt::Debug;
use std::sync::Arc;

use engine::{Chain, Facts, Family, Need, TxHash};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Serialize;

use crate::error::UpstreamError;
use crate::memory::TokenMemory;
use crate::probe::line::{ProbeConnection, ProbedHead};
use crate::rpc::{Dialect, InvalidEndpoint, Node};
use crate::tape::{Recorder, Tape};
use crate::{evm, solana};

/// Looks at one endpoint: its head, and what only this family has.
type Probe = for<'a> fn(&'a ProbeConnection) -> BoxFuture<'a, (Option<ProbedHead>, FamilySeen)>;

/// One family: how its nodes are spoken to, how a chain of it is opened, and what is asked of one endpoint alone.
pub(crate) struct ChainFamily {
    dialect: &'static Dialect,
    open: fn(Node, Arc<dyn TokenMemory>) -> Arc<dyn ServedChain>,
    pub(crate) probe: Probe,
    /// A cheap call without parameters, whose answers are timed and batched.
    pub(crate) timed_method: &'static str,
}

/// What a probe found that only this family has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FamilySeen {
    Evm(evm::probe::Evm),
    Solana(solana::probe::Solana),
}

/// The list: a new family is one arm here, one of `FamilySeen`, and a folder.
pub(crate) fn of(family: Family) -> ChainFamily {
    match family {
        Family::Evm => ChainFamily {
            dialect: &evm::dialect::DIALECT,
            open: |node, memory| Arc::new(evm::EvmChain::new(node, memory)),
            probe: |line| evm::probe::look(line).map(|(head, seen)| (head, FamilySeen::Evm(seen))).boxed(),
            timed_method: "eth_blockNumber",
        },
        Family::Solana => ChainFamily {
            dialect: &solana::dialect::DIALECT,
            open: |node, memory| Arc::new(solana::SolanaChain::new(node, memory)),
            probe: |line| solana::probe::look(line).map(|(head, seen)| (head, FamilySeen::Solana(seen))).boxed(),
            timed_method: "getSlot",
        },
    }
}

/// A chain's nodes behind these addresses.
pub fn live_node(
    chain: &Arc<Chain>,
    urls: &[String],
    recorder: Option<Arc<Recorder>>,
) -> Result<Node, InvalidEndpoint> {
    Node::live(Arc::clone(chain), of(chain.family).dialect, urls, recorder)
}

/// A chain as it was recorded.
pub fn tape_node(chain: &Arc<Chain>, tape: &Arc<Tape>) -> Node {
    Node::tape(Arc::clone(chain), of(chain.family).dialect, Arc::clone(tape))
}

pub(crate) fn open(node: Node, memory: Arc<dyn TokenMemory>) -> Arc<dyn ServedChain> {
    (of(node.chain.family).open)(node, memory)
}

/// One chain that has an upstream.
pub(crate) trait ServedChain: Debug + Send + Sync {
    fn chain(&self) -> &Arc<Chain>;

    /// What the nodes say of a hash. An error is a failure to answer, never an absence.
    fn lookup(&self, hash: TxHash, effort: Effort) -> BoxFuture<'_, Result<Lookup<'_>, UpstreamError>>;

    /// The facts with what the engine lacked.
    fn answer<'a>(&'a self, facts: Facts, needs: &'a [Need]) -> BoxFuture<'a, Result<Facts, UpstreamError>>;

    fn completeness(&self, facts: &Facts) -> Completeness;

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

/// Where else a transaction is that carries no chain id, and where that could not be asked.
#[derive(Debug, Default)]
pub(crate) struct Elsewhere {
    pub(crate) also_on: Vec<String>,
    pub(crate) unasked: Vec<String>,
}
