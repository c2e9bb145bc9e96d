//! An explorer that the operator named, asked in the form of Etherscan, which Blockscout and others speak too: a second source for what passed inside
//! a transaction, and the only one for what a wallet did. What it says is only passed on here; whether it is believed is decided where the receipt is
//! known.

pub(super) mod account;

use std::time::Duration;

use alloy_primitives::{Address, B256};
use serde::Deserialize;
use serde::de::DeserializeOwned;
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
/// What Blockscout says where it lists only what it has looked at so far, under status 2, at some instances under 0 (its issue 14276).
const UNPROCESSED: &str = "not yet been processed";

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

/// What an explorer lists.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listed<T> {
    pub(crate) rows: Vec<T>,
    /// Whether it has looked at everything.
    pub(crate) is_whole: bool,
}

/// Why an explorer lists nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplorerFault {
    InvalidAddress,
    Unreachable,
    /// It wants a key, or another one.
    Forbidden,
    Limited,
    /// It has no such list.
    UnknownAction,
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
            ExplorerFault::UnknownAction
            | ExplorerFault::InvalidAddress
            | ExplorerFault::Unreachable
            | ExplorerFault::Forbidden => Self::Unavailable,
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
            let told = self.ask(&query, PAGE_BYTES_MAX).await.and_then(|bytes| rows(&bytes));
            if told != Err(ExplorerFault::Limited) {
                return told;
            }
            self.rest(LIMITED_MILLIS).await;
        }
        Err(ExplorerFault::Limited)
    }

    /// The body of the answer, when it is this question's turn.
    async fn ask(&self, query: &[(&str, &str)], bytes_max: usize) -> Result<Vec<u8>, ExplorerFault> {
        let mut next = self.next.lock().await;
        tokio::time::sleep_until(*next).await;
        *next = Instant::now() + self.pause;
        drop(next);
        Ok(self.connection.get(query, bytes_max).await?)
    }

    /// Nothing is asked for so long.
    async fn rest(&self, millis: u64) {
        *self.next.lock().await = Instant::now() + Duration::from_millis(millis);
    }
}

pub(super) fn rows(bytes: &[u8]) -> Result<Vec<InternalRow>, ExplorerFault> {
    // What is not whole is no answer for one transaction.
    listed(bytes).and_then(|listed| if listed.is_whole { Ok(listed.rows) } else { Err(ExplorerFault::Unreadable) })
}

fn listed<T: DeserializeOwned>(bytes: &[u8]) -> Result<Listed<T>, ExplorerFault> {
    let reply: ExplorerReply<'_> = serde_json::from_slice(bytes).map_err(|_| ExplorerFault::Unreadable)?;
    let rows: Result<Vec<T>, _> = serde_json::from_str(reply.result.get());
    match (reply.status.as_str(), rows) {
        ("1", Ok(rows)) => Ok(Listed { rows, is_whole: true }),
        // Only that there is nothing counts: others say thus that they have not looked yet.
        ("0", Ok(rows)) if rows.is_empty() && reply.message.starts_with("No ") => Ok(Listed { rows, is_whole: true }),
        ("0" | "2", Ok(rows)) if reply.message.contains(UNPROCESSED) => Ok(Listed { rows, is_whole: false }),
        (_, Ok(_)) => Err(ExplorerFault::Unreadable),
        (_, Err(_)) => Err(refusal(&reply)),
    }
}

/// The texts that say no, as explorers write them: Etherscan in the result, Blockscout in the message.
fn refusal(reply: &ExplorerReply<'_>) -> ExplorerFault {
    let text = format!("{} {}", reply.message, reply.result.get()).to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if says(&["rate limit"]) {
        ExplorerFault::Limited
    } else if says(&["unknown action", "invalid action name"]) {
        ExplorerFault::UnknownAction
    } else if says(&["api key", "apikey", "free api access"]) {
        ExplorerFault::Forbidden
    } else if says(&["query timeout"]) {
        ExplorerFault::Timeout
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
        let unpaid = r#""Free API access is not supported for this chain""#;
        assert_eq!(said("0", "NOTOK", unpaid), Err(ExplorerFault::Forbidden));
        let unknown = r#""Error! Missing Or invalid Action name""#;
        assert_eq!(said("0", "NOTOK", unknown), Err(ExplorerFault::UnknownAction));
        assert_eq!(said("0", "Unknown action", "null"), Err(ExplorerFault::UnknownAction), "as Blockscout has it");
        let unprocessed = "Some internal transactions within this block range have not yet been processed";
        assert_eq!(said("2", unprocessed, &format!("[{ROW}]")), Err(ExplorerFault::Unreadable), "not whole");
        assert_eq!(said("1", "OK", r#"[{"from":7}]"#), Err(ExplorerFault::Unreadable));
        assert_eq!(rows(b"<html>"), Err(ExplorerFault::Unreadable));
    }
}
