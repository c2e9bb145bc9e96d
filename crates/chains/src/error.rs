//! How upstreams fail. Each failure has a stable code and a sentence without any address or credential in it.

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    #[error("the node did not answer in time")]
    Timeout,
    #[error("no node could be reached, or it reported a fault of its own")]
    Unavailable,
    #[error("the node that answered is behind the chain, so it cannot be said that there is nothing")]
    Behind,
    #[error("the node refused for its rate limit")]
    RateLimited,
    #[error("the node's answer could not be read: {0}")]
    BadResponse(&'static str),
    #[error("the node's answers contradict each other: {0}")]
    Inconsistent(&'static str),
    #[error("the transaction exists, but its receipt cannot be had")]
    NotRetrievable,
    #[error("no node offers `{0}`, without which whole blocks cannot be read")]
    NoBlocks(&'static str),
}

/// Every code of `UpstreamError`.
pub const UPSTREAM_CODES: [&str; 6] = [
    "upstream_timeout",
    "upstream_unavailable",
    "upstream_rate_limited",
    "upstream_bad_response",
    "upstream_inconsistent",
    "tx_not_retrievable",
];

impl UpstreamError {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Timeout => "upstream_timeout",
            Self::Unavailable | Self::Behind | Self::NoBlocks(_) => "upstream_unavailable",
            Self::RateLimited => "upstream_rate_limited",
            Self::BadResponse(_) => "upstream_bad_response",
            Self::Inconsistent(_) => "upstream_inconsistent",
            Self::NotRetrievable => "tx_not_retrievable",
        }
    }
}

/// One call's failure: the node's own error, or no usable answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallError {
    /// The node does not offer the method.
    Unsupported,
    /// The node answered with an error object. Its text is untrusted and goes no further.
    Refused,
    Upstream(UpstreamError),
}

impl CallError {
    /// What a refused call means when its answer is required.
    pub fn fatal(self) -> UpstreamError {
        match self {
            Self::Unsupported | Self::Refused => UpstreamError::Unavailable,
            Self::Upstream(error) => error,
        }
    }
}

/// Why a transaction could not be handed to the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchError {
    /// Absent on the pinned chain and on every other.
    NotFound {
        pinned: String,
    },
    /// On no served chain of the hash's family.
    NotDetected,
    NotYetMined {
        chain: String,
    },
    /// The chain has no block of this number, or not yet.
    NoBlock {
        chain: String,
        number: u64,
    },
    Upstream {
        chain: String,
        error: UpstreamError,
    },
}
