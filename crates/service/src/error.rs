//! Every error code of the interface, on this one page: code, status, sentence.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chains::FetchError;
use serde_json::json;

use crate::store::StoreError;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ApiError {
    #[error("{0}")]
    InvalidRequest(String),
    #[error("{0}")]
    InvalidHash(String),
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
    #[error("the path does not take this method")]
    MethodNotAllowed,
    #[error("the transaction was not found on `{pinned}`, nor on any other served chain")]
    TxNotFound { pinned: String },
    #[error("the hash was found on none of the served chains")]
    ChainNotDetected,
    #[error("the transaction is in the mempool of `{chain}` and not in a block yet")]
    TxNotYetMined { chain: String },
    #[error("the wallet is neither sender, recipient nor party to any movement or log of the transaction")]
    WalletNotInTransaction,
    /// Per item in a batch; the single call says `invalid_request`.
    #[error("the chain `{chain}` is not served here; served are: {served}")]
    UnsupportedChain { chain: String, served: String },
    #[error("`{chain}`: {reason}")]
    Upstream { chain: String, code: &'static str, reason: String },
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
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::TxNotFound { .. } => "tx_not_found",
            Self::ChainNotDetected => "chain_not_detected",
            Self::TxNotYetMined { .. } => "tx_not_yet_mined",
            Self::WalletNotInTransaction => "wallet_not_in_transaction",
            Self::Upstream { code, .. } => code,
            Self::Internal | Self::LedgerAway => "internal_error",
        }
    }

    /// The same failure as the `error` of one item in a batch.
    pub(crate) fn item_code(&self) -> &'static str {
        match self {
            Self::UnsupportedChain { .. } => "unsupported_chain",
            other => other.code(),
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::InvalidRequest(_) | Self::InvalidHash(_) | Self::UnsupportedChain { .. } => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::QuotaExceeded => StatusCode::PAYMENT_REQUIRED,
            Self::RateLimited { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::NotFound
            | Self::TxNotFound { .. }
            | Self::ChainNotDetected
            | Self::TxNotYetMined { .. }
            | Self::WalletNotInTransaction => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Upstream { .. } => StatusCode::BAD_GATEWAY,
            Self::Internal | Self::LedgerAway => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = json!({ "error": { "code": self.code(), "message": self.to_string() } });
        let mut response = (self.status(), Json(body)).into_response();
        match self {
            Self::Unauthorized => {
                response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::RateLimited { seconds } => {
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            }
            _ => {}
        }
        response
    }
}

/// Logged here, once; the caller learns that it is no fault of the request.
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
            FetchError::Upstream { chain, error } => {
                Self::Upstream { chain, code: error.code(), reason: error.to_string() }
            }
        }
    }
}
