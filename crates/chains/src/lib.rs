//! Upstream: which chain has a hash, what its nodes say of it, and how they fail. Nothing here knows about tax.

mod bounded;
pub mod error;
mod evm;
mod families;
mod family;
mod finality;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod history;
pub mod http;
pub mod kept;
pub mod memory;
pub mod probe;
pub mod resolve;
pub mod rpc;
mod solana;
pub mod tape;

pub use engine::registry::{self, Registry};
pub use error::{FetchError, UPSTREAM_CODES, UpstreamError};
pub use families::{live_node, tape_node};
pub use family::Completeness;
pub use history::{History, HistoryError, ListCount, Period};
pub use memory::{Forgetful, TokenMemory};
pub use resolve::{Fetched, FetchedOfBlock, Upstreams};
pub use rpc::{EXPLORER_PER_SECOND, ExplorerFault, Node, UNSUPPORTED_SECONDS_MAX};
pub use tape::{Recorder, Tape};
