//! What the caller asks, beside the hash.

use crate::asset::Account;
use crate::policy::Policy;

/// Own wallets that one request may name.
pub const OWN_WALLETS_MAX: usize = 1_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Question {
    /// Sets the perspective; without it the transaction's sender is the perspective.
    pub wallet: Option<Account>,
    /// A move between these is a `self_transfer`.
    pub own_wallets: Vec<Account>,
    pub policy: Policy,
    pub explain: bool,
    /// A reading with less confidence than this is left to a person, also where it is above the engine's own threshold.
    pub review_below: Option<u8>,
}
