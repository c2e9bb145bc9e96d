//! Upstreams that stall, limit, lag, contradict or flood, against nodes in this process. What is bounded by time is bounded
//! generously: a busy machine is no fault.

#![expect(clippy::unwrap_used, clippy::as_conversions, clippy::indexing_slicing, reason = "tests fail loudly")]

#[path = "scheduling/node.rs"]
mod node;

#[path = "scheduling/blocks.rs"]
mod blocks;
#[path = "scheduling/faults.rs"]
mod faults;
#[path = "scheduling/finding.rs"]
mod finding;
#[path = "scheduling/offers.rs"]
mod offers;
