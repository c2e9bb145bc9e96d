//! Single requests to one endpoint, without repeats and without gathering, over the connection that the traffic uses too.

use std::sync::OnceLock;
use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::error::{CallError, UpstreamError};
use crate::rpc::connection::{Bounds, Connection, HttpReply, RequestFault, RpcCall};
use crate::rpc::wire::{Answers, Parsed};

const CALL_SECONDS_MAX: u64 = 4;
const RESPONSE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Why nothing more is known of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    InvalidAddress,
    Unreachable,
    Timeout,
    RateLimited,
    /// It wants a credential, or another one.
    Forbidden,
    /// Another status outside 2xx.
    Status(u16),
    NotJsonRpc,
    /// It speaks JSON-RPC and refuses the simplest call.
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ProbedHead {
    /// Block or slot.
    pub number: u64,
    /// Seconds since it was made, by our clock; negative when our clock is behind.
    pub age_seconds: Option<i64>,
}

pub(crate) struct ProbeConnection {
    connection: Connection,
    deadline: Instant,
    clock_ahead: OnceLock<i64>,
}

/// What came instead of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallRefusal {
    Unsupported,
    /// Another error object.
    Refused,
    Failed(Failure),
}

impl CallRefusal {
    pub(crate) fn failure(self) -> Failure {
        match self {
            Self::Unsupported | Self::Refused => Failure::Refused,
            Self::Failed(failure) => failure,
        }
    }
}

impl From<CallError> for CallRefusal {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Unsupported => Self::Unsupported,
            CallError::Refused => Self::Refused,
            CallError::Upstream(error) => Self::Failed(error.into()),
        }
    }
}

impl From<UpstreamError> for Failure {
    fn from(error: UpstreamError) -> Self {
        match error {
            UpstreamError::RateLimited => Self::RateLimited,
            UpstreamError::Timeout => Self::Timeout,
            UpstreamError::Unavailable | UpstreamError::NoBlocks(_) => Self::Unreachable,
            UpstreamError::BadResponse(_)
            | UpstreamError::Inconsistent(_)
            | UpstreamError::Behind
            | UpstreamError::NotRetrievable => Self::NotJsonRpc,
        }
    }
}

impl From<RequestFault> for Failure {
    fn from(fault: RequestFault) -> Self {
        match fault {
            RequestFault::Unwritten => Self::NotJsonRpc,
            RequestFault::Unreachable | RequestFault::BrokeOff => Self::Unreachable,
            RequestFault::Timeout => Self::Timeout,
            RequestFault::RateLimited(_) => Self::RateLimited,
            RequestFault::Forbidden => Self::Forbidden,
            RequestFault::Failed(status, _) => Self::Status(status.as_u16()),
        }
    }
}

impl ProbeConnection {
    pub(crate) fn new(url: &str, deadline: Instant) -> Result<Self, Failure> {
        let connection = Connection::new(url).map_err(|_| Failure::InvalidAddress)?;
        Ok(Self { connection, deadline, clock_ahead: OnceLock::new() })
    }

    pub(crate) fn clock_ahead(&self) -> Option<i64> {
        self.clock_ahead.get().copied()
    }

    pub(crate) async fn call(&self, method: &'static str, params: Value) -> Result<Value, CallRefusal> {
        let answers = self.post(&[(method, &params)]).await.map_err(CallRefusal::Failed)?;
        let answer = answers.into_iter().flatten().next().ok_or(CallRefusal::Refused)?;
        serde_json::from_str(answer?.get()).map_err(|_| CallRefusal::Failed(Failure::NotJsonRpc))
    }

    /// Whether that many calls in one request get that many results.
    pub(crate) async fn takes_batch(&self, method: &'static str, calls: usize) -> bool {
        let no_params = json!([]);
        let batch: Vec<RpcCall<'_>> = vec![(method, &no_params); calls];
        matches!(self.post(&batch).await, Ok(Some(answers)) if answers.iter().all(Result::is_ok))
    }

    /// `None` when the endpoint refuses a request of this size.
    async fn post(&self, calls: &[RpcCall<'_>]) -> Result<Option<Answers>, Failure> {
        let limit = self.deadline.min(Instant::now() + Duration::from_secs(CALL_SECONDS_MAX));
        let bounds = Bounds { bytes_max: RESPONSE_BYTES_MAX, large: None };
        let said = tokio::time::timeout_at(limit, self.connection.post(calls, bounds)).await;
        let HttpReply { parsed, status, date } = said.map_err(|_| Failure::Timeout)??;
        if let Some(there) = date.and_then(|date| date.duration_since(UNIX_EPOCH).ok()) {
            let there = i64::try_from(there.as_secs()).unwrap_or(i64::MAX);
            // The first is the one that a busy node answers soonest.
            self.clock_ahead.get_or_init(|| there.saturating_sub(now_seconds()));
        }
        match parsed {
            Ok(Parsed::Answers(answers)) => Ok(Some(answers)),
            Ok(Parsed::RefusedBatch) => Ok(None),
            Ok(Parsed::TooLarge) => Err(Failure::NotJsonRpc),
            // An error page is not JSON-RPC, but its HTTP status tells the cause.
            Err(UpstreamError::BadResponse(_)) if !status.is_success() => Err(Failure::Status(status.as_u16())),
            Err(error) => Err(error.into()),
        }
    }
}

pub(crate) fn now_seconds() -> i64 {
    jiff::Timestamp::now().as_second()
}
