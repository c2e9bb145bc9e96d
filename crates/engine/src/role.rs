//! The part that one claim, or one step, plays in a transaction.

use serde::{Deserialize, Serialize};

/// The part that a claim plays in a transaction of several steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = StepRole)]
pub enum Role {
    Principal,
    Fee,
    Interest,
    Reward,
    Refund,
    FlashBorrow,
    FlashRepay,
    BridgeOut,
    BridgeIn,
    Item,
}
