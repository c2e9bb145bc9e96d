//! An explorer that the operator named: a second source for what passed inside a transaction, asked by hash in the form of Etherscan, which
//! Blockscout and others speak too. What it says is only passed on here; whether it is believed is decided where the receipt is known.

use std::time::Duration;

use alloy_primitives::{Address, B256};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use super::InvalidEndpoint;
use super::connection::{Connection, RequestFault};
use super::meter;
use crate::error::UpstreamError;

/// What a free key may ask.
pub const EXPLORER_PER_SECOND: u32 = 3;
/// For everything that is asked of one transaction, with the wait for its turn.
const SECONDS_MAX: u64 = 8;
/// Rows of one page; explorers allow more, but not all of them.
const PAGE_ROWS: usize = 1_000;
const PAGES_MAX: usize = 10;
const PAGE_BYTES_MAX: usize = 4 << 20;
/// Times that one page is asked for while the explorer says that it is too much.
const TRIES_MAX: usize = 3;
/// After which it is asked again.
const LIMITED_MILLIS: u64 = 1_000;

/// The address may hold a key, so it is never printed.
#[derive(Debug)]
pub(crate) struct Explorer {
    connection: Connection,
    /// Between two requests.
    pause: Duration,
    /// When the next request may be sent.
    next: Mutex<Instant>,
}

/// One row of `txlistinternal`. Numbers are decimal texts, and what is absent is an empty text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InternalRow {
    pub(crate) block_number: String,
    /// Only some say it.
    pub(crate) transaction_hash: Option<B256>,
    pub(crate) from: Address,
    #[serde(default)]
    pub(crate) to: String,
    #[serde(default)]
    pub(crate) contract_address: String,
    pub(crate) value: String,
    #[serde(rename = "type", default)]
    pub(crate) kind: String,
    /// Which kind of call, where `type` says only that it is one.
    #[serde(default)]
    pub(crate) call_type: String,
    #[serde(default)]
    pub(crate) is_error: String,
}

#[derive(Deserialize)]
struct ExplorerReply<'a> {
    status: String,
    message: String,
    /// Rows, or a text that says what is wrong.
    #[serde(borrow)]
    result: &'a RawValue,
}

/// Why an explorer lists nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplorerFault {
    InvalidAddress,
    Unreachable,
    /// It wants a key, or another one.
    Forbidden,
    Limited,
    /// Not in the form of Etherscan, or more than is read.
    Unreadable,
    Timeout,
}

impl From<RequestFault> for ExplorerFault {
    fn from(fault: RequestFault) -> Self {
        match fault {
            RequestFault::Timeout => Self::Timeout,
            RequestFault::RateLimited(_) => Self::Limited,
            RequestFault::Forbidden => Self::Forbidden,
            RequestFault::Unwritten | RequestFault::BrokeOff => Self::Unreadable,
            RequestFault::Unreachable | RequestFault::Failed(..) => Self::Unreachable,
        }
    }
}

impl From<InvalidEndpoint> for ExplorerFault {
    fn from(_: InvalidEndpoint) -> Self {
        Self::InvalidAddress
    }
}

impl From<ExplorerFault> for UpstreamError {
    fn from(fault: ExplorerFault) -> Self {
        match fault {
            ExplorerFault::Limited => Self::RateLimited,
            ExplorerFault::Timeout => Self::Timeout,
            ExplorerFault::Unreadable => Self::BadResponse("the explorer's answer"),
            ExplorerFault::InvalidAddress | ExplorerFault::Unreachable | ExplorerFault::Forbidden => Self::Unavailable,
        }
    }
}

impl Explorer {
    pub(crate) fn new(url: &str, per_second: u32) -> Result<Self, InvalidEndpoint> {
        let pause = Duration::from_secs(1).checked_div(per_second).ok_or(InvalidEndpoint)?;
        Ok(Self { connection: Connection::new(url)?, pause, next: Mutex::new(Instant::now()) })
    }

    /// Every row of the transaction.
    pub(crate) async fn internal_rows(&self, chain: &str, hash: B256) -> Result<Vec<InternalRow>, ExplorerFault> {
        let begun = Instant::now();
        let deadline = begun + Duration::from_secs(SECONDS_MAX);
        let listed = timeout_at(deadline, self.pages(hash)).await.unwrap_or(Err(ExplorerFault::Timeout));
        meter::request(chain, begun.elapsed(), listed.as_ref().err().map(|fault| UpstreamError::from(*fault)));
        listed
    }

    async fn pages(&self, hash: B256) -> Result<Vec<InternalRow>, ExplorerFault> {
        let mut all: Vec<InternalRow> = Vec::new();
        for page in 1..=PAGES_MAX {
            let rows = self.page(hash, page).await?;
            // One that does not count pages gives the first again, or everything at once.
            if !rows.is_empty() && all.ends_with(&rows) {
                return Err(ExplorerFault::Unreadable);
            }
            let is_last = rows.len() != PAGE_ROWS;
            all.extend(rows);
            if is_last {
                return Ok(all);
            }
        }
        Err(ExplorerFault::Unreadable)
    }

    async fn page(&self, hash: B256, page: usize) -> Result<Vec<InternalRow>, ExplorerFault> {
        let (hash, page, offset) = (hash.to_string(), page.to_string(), PAGE_ROWS.to_string());
        let query = [
            ("module", "account"),
            ("action", "txlistinternal"),
            ("txhash", hash.as_str()),
            ("page", page.as_str()),
            ("offset", offset.as_str()),
            ("sort", "asc"),
        ];
        for _ in 0..TRIES_MAX {
            self.turn().await;
            let told = match self.connection.get(&query, PAGE_BYTES_MAX).await {
                Ok(bytes) => rows(&bytes),
                Err(fault) => Err(fault.into()),
            };
            if told != Err(ExplorerFault::Limited) {
                return told;
            }
            *self.next.lock().await = Instant::now() + Duration::from_millis(LIMITED_MILLIS);
        }
        Err(ExplorerFault::Limited)
    }

    async fn turn(&self) {
        let mut next = self.next.lock().await;
        tokio::time::sleep_until(*next).await;
        *next = Instant::now() + self.pause;
    }
}

pub(super) fn rows(bytes: &[u8]) -> Result<Vec<InternalRow>, ExplorerFault> {
    let reply: ExplorerReply<'_> = serde_json::from_slice(bytes).map_err(|_| ExplorerFault::Unreadable)?;
    let rows: Result<Vec<InternalRow>, _> = serde_json::from_str(reply.result.get());
    match (reply.status.as_str(), rows) {
        ("1", Ok(rows)) => Ok(rows),
        // Only that there is nothing counts: others say thus that they have not looked yet.
        ("0", Ok(rows)) if rows.is_empty() && reply.message.starts_with("No ") => Ok(rows),
        (_, Ok(_)) => Err(ExplorerFault::Unreadable),
        (_, Err(_)) => Err(refusal(reply.result.get())),
    }
}

/// The texts that say no, as explorers write them.
fn refusal(text: &str) -> ExplorerFault {
    let text = text.to_ascii_lowercase();
    if text.contains("rate limit") {
        ExplorerFault::Limited
    } else if text.contains("api key") || text.contains("apikey") {
        ExplorerFault::Forbidden
    } else {
        ExplorerFault::Unreadable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"{"blockNumber":"1743059","timeStamp":"1466489498","from":"0x2cac6e4b11d6b58f6d3c1c9d5fe8faa89f60e5a2",
        "to":"0x66a1c3eaf0f1ffc28d209c0763ed0ca614f3b002","value":"7106740000000000","contractAddress":"","input":"","type":"call",
        "gas":"2300","gasUsed":"0","isError":"0","errCode":""}"#;

    fn said(status: &str, message: &str, result: &str) -> Result<usize, ExplorerFault> {
        let reply = format!(r#"{{"status":"{status}","message":"{message}","result":{result}}}"#);
        rows(reply.as_bytes()).map(|rows| rows.len())
    }

    #[test]
    fn what_explorers_answer_is_told_apart() {
        assert_eq!(said("1", "OK", &format!("[{ROW}]")), Ok(1));
        assert_eq!(said("0", "No transactions found", "[]"), Ok(0));
        assert_eq!(said("0", "No internal transactions found", "[]"), Ok(0));
        assert_eq!(said("2", "Pending", "[]"), Err(ExplorerFault::Unreadable), "it has not looked yet");
        assert_eq!(said("0", "NOTOK", "[]"), Err(ExplorerFault::Unreadable));
        assert_eq!(
            said("0", "NOTOK", r#""Max calls per sec rate limit reached (3/sec)""#),
            Err(ExplorerFault::Limited)
        );
        assert_eq!(said("0", "NOTOK", r#""Invalid API Key""#), Err(ExplorerFault::Forbidden));
        assert_eq!(said("1", "OK", r#"[{"from":7}]"#), Err(ExplorerFault::Unreadable));
        assert_eq!(rows(b"<html>"), Err(ExplorerFault::Unreadable));
    }
}
