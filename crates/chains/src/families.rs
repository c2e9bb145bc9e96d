//! The one list of families, and what is opened by it. Only this file knows them all.

use std::sync::Arc;

use engine::{Chain, Family};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Serialize;

use crate::family::ServedChain;
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
