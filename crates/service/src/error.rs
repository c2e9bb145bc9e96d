//! Every error code of the interface, on this one page: code, status, sentence, and what the integrator does about it. The OpenAPI
//! document and the docs print `TABLE`.

use axum::http::StatusCode;
use chains::FetchError;
use engine::hash::InvalidHash;
use serde::Serialize;
use utoipa::ToSchema;

use crate::store::StoreError;

/// What is wrong with a request, in words, and which item of a batch it is about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub(crate) struct Invalid {
    words: String,
    item: Option<usize>,
}

impl Invalid {
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Self { words: words.into(), item: None }
    }

    pub(crate) fn of_item(self, item: Option<usize>) -> Self {
        Self { item, ..self }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ApiError {
    #[error(transparent)]
    InvalidRequest(Invalid),
    #[error(transparent)]
    InvalidHash(Invalid),
    #[error("a valid API key is needed: send it as `Authorization: Bearer <key>`")]
    Unauthorized,
    #[error(
        "the classification pool of this period is exhausted; repeats are still served, and /quota-status tells more"
    )]
    QuotaExceeded,
    #[error("too many requests: try again in {seconds} s, and prefer batches")]
    RateLimited { seconds: u64 },
    #[error("no such path")]
    NotFound,
    #[error("no job of this owner is called so")]
    JobNotFound,
    #[error("no book of this owner is called so")]
    BookNotFound,
    #[error("the path does not take this method")]
    MethodNotAllowed,
    #[error("the transaction was not found on `{pinned}`, nor on any other served chain")]
    TxNotFound { pinned: String },
    #[error("the hash was found on none of the served chains")]
    ChainNotDetected,
    #[error("the transaction is in the mempool of `{chain}` and not in a block yet")]
    TxNotYetMined { chain: String },
    #[error("`{chain}` has no block {number}, or not yet")]
    BlockNotFound { chain: String, number: u64 },
    #[error("the wallet is neither sender, recipient nor party to any movement or log of the transaction")]
    WalletNotInTransaction,
    /// Per item in a batch; the single call says `invalid_request`.
    #[error("the chain `{chain}` is not served here; served are: {served}")]
    UnsupportedChain { chain: String, served: String },
    #[error("`{chain}`: {reason}")]
    Upstream { chain: String, code: &'static str, reason: String },
    /// What a worker of the fleet said of an item.
    #[error("{reason}")]
    Told { code: &'static str, reason: String },
    #[error("something failed inside the service; try again shortly")]
    Internal,
    #[error("the ledger is out of reach; try again shortly")]
    LedgerAway,
}

impl ApiError {
    /// Stable, for machines; on the single call.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::InvalidRequest(_) | Self::UnsupportedChain { .. } => "invalid_request",
            Self::InvalidHash(_) => "invalid_hash",
            Self::Unauthorized => "unauthorized",
            Self::QuotaExceeded => "quota_exceeded",
            Self::RateLimited { .. } => "rate_limited",
            Self::NotFound | Self::JobNotFound | Self::BookNotFound | Self::BlockNotFound { .. } => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::TxNotFound { .. } => "tx_not_found",
            Self::ChainNotDetected => "chain_not_detected",
            Self::TxNotYetMined { .. } => "tx_not_yet_mined",
            Self::WalletNotInTransaction => "wallet_not_in_transaction",
            Self::Upstream { code, .. } | Self::Told { code, .. } => code,
            Self::Internal | Self::LedgerAway => "internal_error",
        }
    }

    /// An error of an item by its code; a code that is none of ours is an error of ours.
    pub(crate) fn told(code: &str, reason: &str) -> Self {
        let known = TABLE.iter().find(|row| row.code == code);
        known.map_or(Self::Internal, |row| Self::Told { code: row.code, reason: reason.to_owned() })
    }

    pub(crate) fn invalid_request(words: impl Into<String>) -> Self {
        Self::InvalidRequest(Invalid::new(words))
    }

    pub(crate) fn invalid_hash(error: &InvalidHash) -> Self {
        Self::InvalidHash(Invalid::new(error.to_string()))
    }

    /// Index in the batch of the item that it is about.
    pub(crate) fn item(&self) -> Option<usize> {
        match self {
            Self::InvalidRequest(invalid) | Self::InvalidHash(invalid) => invalid.item,
            _ => None,
        }
    }

    pub(crate) fn envelope(&self) -> ErrorEnvelope {
        ErrorEnvelope { error: ErrorBody { code: self.code(), message: self.to_string() } }
    }

    /// The same failure as the `error` of one item in a batch.
    pub(crate) fn item_code(&self) -> &'static str {
        match self {
            Self::UnsupportedChain { .. } => "unsupported_chain",
            other => other.code(),
        }
    }

    /// What the integrator does about it.
    pub(crate) fn action(&self) -> &'static str {
        TABLE.iter().find(|row| row.code == self.code()).map_or(RETRY, |row| row.action)
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::InvalidRequest(_) | Self::InvalidHash(_) | Self::UnsupportedChain { .. } => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::QuotaExceeded => StatusCode::PAYMENT_REQUIRED,
            Self::RateLimited { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::NotFound
            | Self::JobNotFound
            | Self::BookNotFound
            | Self::TxNotFound { .. }
            | Self::ChainNotDetected
            | Self::TxNotYetMined { .. }
            | Self::BlockNotFound { .. }
            | Self::WalletNotInTransaction => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Upstream { .. } => StatusCode::BAD_GATEWAY,
            Self::Told { code, .. } => {
                let row = TABLE.iter().find(|row| row.code == *code);
                row.and_then(|row| StatusCode::from_u16(row.status).ok()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }
            Self::Internal | Self::LedgerAway => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// What every error comes in.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorEnvelope {
    error: ErrorBody,
}

/// Which error, for machines and for people.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// Stable.
    #[schema(value_type = String)]
    code: &'static str,
    /// For people; it may change.
    message: String,
}

/// Where a code can occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Met {
    /// As the code of a whole call.
    Call,
    /// Of a call, and as the `error` of one item in a batch.
    CallAndItem,
    /// Only as the `error` of one item in a batch.
    Item,
}

/// One code as the docs print it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ErrorRow {
    pub(crate) code: &'static str,
    pub(crate) status: u16,
    pub(crate) met: Met,
    pub(crate) condition: &'static str,
    pub(crate) action: &'static str,
}

const fn row(code: &'static str, status: u16, met: Met, condition: &'static str, action: &'static str) -> ErrorRow {
    ErrorRow { code, status, met, condition, action }
}

const RETRY: &str = "Retry shortly, with growing pauses and jitter. Nothing was counted.";
const FIX: &str = "Fix the request. Do not retry unchanged.";

pub(crate) const TABLE: &[ErrorRow] = &[
    row(
        "invalid_request",
        400,
        Met::Call,
        "The body is no JSON object, over 1 MiB or of another content type; `hashes` is missing, empty or holds over 100 items; a field has \
         the wrong type; on the single call, the chain is unknown or not served (the message lists those that are); on `/v1/journal`, a \
         result is no classification (the message names its index), or the chart or a price is refused.",
        FIX,
    ),
    row(
        "invalid_hash",
        400,
        Met::Call,
        "A hash is neither `0x` and 64 hex digits nor a base58 Solana signature. In a batch the message names the index, as in `hashes[7]`.",
        "Fix the hash. Do not retry unchanged.",
    ),
    row(
        "unauthorized",
        401,
        Met::Call,
        "The API key is missing, malformed, unknown or revoked.",
        "Fix the header or the key. Do not retry unchanged.",
    ),
    row(
        "quota_exceeded",
        402,
        Met::CallAndItem,
        "The pool of the key's owner is exhausted for this period. Repeats of hashes that were classified in the period never trigger it.",
        "Look at `/quota-status`, wait for the reset or upgrade. Key on the 402 status.",
    ),
    row(
        "tx_not_found",
        404,
        Met::CallAndItem,
        "The hash is well formed, but neither the named chain nor any other served chain has it.",
        "Verify the hash, or leave out `chain`.",
    ),
    row(
        "chain_not_detected",
        404,
        Met::CallAndItem,
        "No chain was named, and every served chain of the hash's family answered that it does not have it.",
        "Verify the hash and the network; `/chains` lists what is served.",
    ),
    row(
        "tx_not_yet_mined",
        404,
        Met::CallAndItem,
        "The transaction is in the mempool and not in a block yet.",
        "Retry once it is in a block.",
    ),
    row(
        "wallet_not_in_transaction",
        404,
        Met::CallAndItem,
        "The `wallet` is neither sender, recipient nor party to any movement or log of the transaction.",
        "Verify the wallet, or leave it out to have the perspective found.",
    ),
    row(
        "unsupported_chain",
        400,
        Met::Item,
        "The item names a chain that is unknown or not served here. The single call says `invalid_request` instead.",
        "Use a slug of `/chains`, or leave out `chain`.",
    ),
    row(
        "not_found",
        404,
        Met::Call,
        "There is no such path, or no such job or book of the key's owner.",
        "Fix the path.",
    ),
    row(
        "method_not_allowed",
        405,
        Met::Call,
        "The path does not take this method; `Allow` names those that it takes.",
        "Fix the method.",
    ),
    row(
        "rate_limited",
        429,
        Met::Call,
        "Too many requests in the last 60 seconds: of the key, or, on `/quota-status` and for failed keys, of the address.",
        "Wait for the seconds of `Retry-After`, add jitter, and prefer batches.",
    ),
    row("internal_error", 500, Met::CallAndItem, "A fault inside the service, or its ledger is out of reach.", RETRY),
    row("upstream_timeout", 502, Met::CallAndItem, "A node did not answer in time.", RETRY),
    row("upstream_unavailable", 502, Met::CallAndItem, "A node could not be reached, or failed.", RETRY),
    row("upstream_rate_limited", 502, Met::CallAndItem, "A node refused for too many requests.", RETRY),
    row(
        "upstream_bad_response",
        502,
        Met::CallAndItem,
        "A node's answer was not JSON, not JSON-RPC, too large, or lacked fields.",
        RETRY,
    ),
    row(
        "upstream_inconsistent",
        502,
        Met::CallAndItem,
        "Transaction, receipt and block of a node contradict each other, or the node serves another chain.",
        "Retry shortly; when it stays, the operator must look at the node.",
    ),
    row(
        "tx_not_retrievable",
        502,
        Met::CallAndItem,
        "The transaction exists, but its receipt cannot be had.",
        "Retry shortly; when it stays, the node lacks the history.",
    ),
];

/// The codes that a transaction can fail with.
pub(crate) fn item_codes() -> impl Iterator<Item = &'static str> {
    TABLE.iter().filter(|row| row.met != Met::Call).map(|row| row.code)
}

/// One of each, as examples of what a caller sees.
pub(crate) fn samples() -> Vec<ApiError> {
    let chain = || "ethereum".to_owned();
    let upstream = |code| ApiError::Upstream { chain: chain(), code, reason: "a node failed".to_owned() };
    let invalid_hash = engine::TxHash::parse("0x").map_or_else(|error| error.to_string(), |hash| hash.to_string());
    let mut all = vec![
        ApiError::invalid_request("`hashes` takes 1 to 100 items, not 101"),
        ApiError::InvalidHash(Invalid::new(format!("hashes[7]: {invalid_hash}")).of_item(Some(7))),
        ApiError::Unauthorized,
        ApiError::QuotaExceeded,
        ApiError::RateLimited { seconds: 17 },
        ApiError::NotFound,
        ApiError::JobNotFound,
        ApiError::MethodNotAllowed,
        ApiError::TxNotFound { pinned: chain() },
        ApiError::ChainNotDetected,
        ApiError::TxNotYetMined { chain: chain() },
        ApiError::BlockNotFound { chain: chain(), number: 18_000_000 },
        ApiError::WalletNotInTransaction,
        ApiError::UnsupportedChain { chain: "atlantis".to_owned(), served: chain() },
        ApiError::Internal,
        ApiError::LedgerAway,
    ];
    all.extend(chains::UPSTREAM_CODES.map(upstream));
    all
}

/// Logged here, once; the caller only learns that the request was not at fault.
impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "the ledger is out of reach");
        Self::LedgerAway
    }
}

impl From<FetchError> for ApiError {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::NotFound { pinned } => Self::TxNotFound { pinned },
            FetchError::NotDetected => Self::ChainNotDetected,
            FetchError::NotYetMined { chain } => Self::TxNotYetMined { chain },
            FetchError::NoBlock { chain, number } => Self::BlockNotFound { chain, number },
            FetchError::Upstream { chain, error } => {
                Self::Upstream { chain, code: error.code(), reason: error.to_string() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_is_in_the_table_with_its_status() {
        let all = samples();
        let mut met: Vec<&str> = Vec::new();
        for error in all {
            for code in [error.code(), error.item_code()] {
                let row = TABLE.iter().find(|row| row.code == code).unwrap_or_else(|| panic!("no row for {code}"));
                assert_eq!(row.status, error.status().as_u16(), "{code}");
                met.push(code);
            }
        }
        for row in TABLE {
            assert!(met.contains(&row.code), "{} is no error", row.code);
        }
    }
}
