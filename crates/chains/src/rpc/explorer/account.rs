//! What an explorer lists of one account, page by page, and which block was at a time. Lists of an account may be long, so one page is asked for with
//! more patience than what belongs to a single transaction.

use std::time::Duration;

use alloy_primitives::Address;
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout};

use super::{Explorer, ExplorerFault, ExplorerReply, Listed, PAGE_ROWS, listed, meter, refusal};
use crate::error::UpstreamError;

/// Rows carry what a transaction was called with, which may be kilobytes each.
const PAGE_BYTES_MAX: usize = 32 << 20;
const BLOCK_BYTES_MAX: usize = 64 << 10;
/// For one try, with the wait for its turn.
const TRY_SECONDS_MAX: u64 = 30;
/// Times that a page is asked for while the explorer says that it is too much, or does not answer.
const TRIES_MAX: u32 = 4;
/// After which it is asked again, twice as long after each further try.
const WAIT_MILLIS: u64 = 1_000;

/// A part of one list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageQuery {
    /// The explorer's name of the list.
    pub(crate) action: &'static str,
    pub(crate) account: Address,
    pub(crate) first_block: u64,
    pub(crate) last_block: Option<u64>,
    /// From one.
    pub(crate) page: usize,
}

/// On which side of a time a block is looked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Side {
    Before,
    After,
}

impl Explorer {
    /// The rows of one page, the oldest first, as the explorer wrote them.
    pub(crate) async fn page_of(
        &self,
        chain: &str,
        query: PageQuery,
    ) -> Result<Listed<Map<String, Value>>, ExplorerFault> {
        let PageQuery { action, account, first_block, last_block, page } = query;
        let (account, first_block) = (format!("{account:#x}"), first_block.to_string());
        let (last_block, page, offset) =
            (last_block.map(|block| block.to_string()), page.to_string(), PAGE_ROWS.to_string());
        let mut query = vec![
            ("module", "account"),
            ("action", action),
            ("address", account.as_str()),
            ("startblock", first_block.as_str()),
            ("page", page.as_str()),
            ("offset", offset.as_str()),
            ("sort", "asc"),
        ];
        query.extend(last_block.as_deref().map(|block| ("endblock", block)));
        self.ask_patiently(chain, &query, PAGE_BYTES_MAX, listed).await
    }

    /// The number of the block that is nearest to a time. `None` where the explorer does not tell, as of a time to come.
    pub(crate) async fn block_at(&self, chain: &str, seconds: i64, side: Side) -> Result<Option<u64>, ExplorerFault> {
        let seconds = seconds.to_string();
        let side = match side {
            Side::Before => "before",
            Side::After => "after",
        };
        let query =
            [("module", "block"), ("action", "getblocknobytime"), ("timestamp", seconds.as_str()), ("closest", side)];
        match self.ask_patiently(chain, &query, BLOCK_BYTES_MAX, block_number).await {
            Ok(number) => Ok(Some(number)),
            Err(ExplorerFault::UnknownAction | ExplorerFault::Unreadable) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    async fn ask_patiently<T>(
        &self,
        chain: &str,
        query: &[(&str, &str)],
        bytes_max: usize,
        read: fn(&[u8]) -> Result<T, ExplorerFault>,
    ) -> Result<T, ExplorerFault> {
        let mut tries = 0;
        loop {
            let begun = Instant::now();
            let asked = timeout(Duration::from_secs(TRY_SECONDS_MAX), self.ask(query, bytes_max)).await;
            let told = asked.unwrap_or(Err(ExplorerFault::Timeout)).and_then(|bytes| read(&bytes));
            let failure = told.as_ref().err().copied();
            meter::request(chain, begun.elapsed(), failure.map(UpstreamError::from));
            tries = u32::saturating_add(tries, 1);
            if tries == TRIES_MAX || !failure.is_some_and(may_pass) {
                return told;
            }
            self.rest(WAIT_MILLIS << tries.saturating_sub(1)).await;
        }
    }
}

/// Whether the same question may be answered later.
fn may_pass(fault: ExplorerFault) -> bool {
    match fault {
        ExplorerFault::Limited | ExplorerFault::Unreachable | ExplorerFault::Timeout => true,
        ExplorerFault::InvalidAddress
        | ExplorerFault::Forbidden
        | ExplorerFault::UnknownAction
        | ExplorerFault::Unreadable => false,
    }
}

fn block_number(bytes: &[u8]) -> Result<u64, ExplorerFault> {
    let reply: ExplorerReply<'_> = serde_json::from_slice(bytes).map_err(|_| ExplorerFault::Unreadable)?;
    let number: Result<String, _> = serde_json::from_str(reply.result.get());
    match (reply.status.as_str(), number.map(|text| text.parse())) {
        ("1", Ok(Ok(number))) => Ok(number),
        (_, _) => Err(refusal(&reply)),
    }
}
