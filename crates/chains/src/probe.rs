//! What one endpoint can do, asked directly. `rpc` hides what is looked for here: batches that are refused, calls that are repeated, how long
//! each takes, and whose clock is wrong. The report contains no part of an address.

pub(crate) mod line;

use std::time::Duration;

use alloy_primitives::B256;
use engine::Chain;
use serde::Serialize;
use serde_json::json;
use tokio::time::Instant;

pub use crate::evm::probe::{Depth, Evm};
use crate::families;
pub use crate::families::FamilySeen;
use crate::rpc::{EXPLORER_PER_SECOND, Explorer, ExplorerFault};
pub use crate::solana::probe::Solana;
use line::ProbeConnection;
pub use line::{Failure, ProbedHead};

/// A probe is over after this long; what was not answered by then counts as not answered.
pub const PROBE_SECONDS_MAX: u64 = 12;
/// Calls whose median is the latency.
const LATENCY_CALLS: usize = 5;
/// What a chain's calls are gathered into, and what is tried when that is refused.
const BATCH_CALLS: [usize; 3] = [100, 20, 5];

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EndpointReport {
    pub latency_millis: u64,
    /// How far its clock, in the `Date` of its answers, is ahead of ours.
    pub clock_ahead_seconds: Option<i64>,
    /// Calls that it takes in one HTTP request; 1 is no batches at all.
    pub batch_calls: usize,
    pub head: Option<ProbedHead>,
    #[serde(flatten)]
    pub family: FamilySeen,
}

/// Everything that can be asked of an endpoint without a credential of our own.
pub async fn probe(chain: &Chain, url: &str) -> Result<EndpointReport, Failure> {
    let line = ProbeConnection::new(url, Instant::now() + Duration::from_secs(PROBE_SECONDS_MAX))?;
    let family = families::of(chain.family);
    let latency_millis = latency(&line, family.timed_method).await?;
    let (batch_calls, (head, family)) = tokio::join!(batches(&line, family.timed_method), (family.probe)(&line));
    Ok(EndpointReport { latency_millis, clock_ahead_seconds: line.clock_ahead(), batch_calls, head, family })
}

/// Whether an explorer answers: of a transaction that does not exist it lists nothing.
pub async fn explorer(chain: &Chain, url: &str) -> Result<(), ExplorerFault> {
    let explorer = Explorer::new(url, EXPLORER_PER_SECOND)?;
    explorer.internal_rows(&chain.slug, B256::ZERO).await.map(drop)
}

/// One after the other. The first, which also opens the connection, decides whether the endpoint answers at all.
async fn latency(line: &ProbeConnection, method: &'static str) -> Result<u64, Failure> {
    let mut took = Vec::with_capacity(LATENCY_CALLS);
    for round in 0..LATENCY_CALLS {
        let started = Instant::now();
        match line.call(method, json!([])).await {
            Ok(_) => took.push(u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)),
            Err(refusal) if round == 0 => return Err(refusal.failure()),
            Err(_) => {}
        }
    }
    took.sort_unstable();
    Ok(took.get(took.len() / 2).copied().unwrap_or(u64::MAX))
}

async fn batches(line: &ProbeConnection, method: &'static str) -> usize {
    for calls in BATCH_CALLS {
        if line.takes_batch(method, calls).await {
            return calls;
        }
    }
    1
}
