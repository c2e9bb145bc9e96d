//! What an account did on an EVM chain. Nodes do not index accounts, so an explorer is asked for its five lists of one.
//!
//! Explorers list at most 10,000 rows of one question (`page` times `offset`), so after that the question is asked anew from the last block on. How many rows a
//! page has at most differs, so a list ends with an empty page, never with a short one.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use alloy_primitives::Address;
use engine::{Family, TxHash};
use serde_json::{Map, Value};

use super::EvmChain;
use crate::history::{Collector, HISTORY_PAGES_MAX, History, HistoryError, ListCount, Period, TakeHash};
use crate::rpc::{Explorer, ExplorerFault, Listed, PageQuery, Side};

/// Of one question: ten times a thousand rows is what Etherscan lists.
const WINDOW_PAGES_MAX: usize = 10;
/// A field of every row that grows with the chain.
const CONFIRMATIONS: &str = "confirmations";
/// What no list shows.
const UNLISTED: &str = "coin that validators and miners were paid without a transaction, and tokens of other standards than ERC-20, ERC-721 and ERC-1155 \
                        where nothing else of the transaction names the wallet";

/// One list of an explorer.
struct List {
    /// Its `action`.
    name: &'static str,
    what: &'static str,
}

/// One that lacks it is no explorer.
const REQUIRED: &str = "txlist";

const LISTS: [List; 5] = [
    List { name: REQUIRED, what: "transactions" },
    List { name: "txlistinternal", what: "internal transfers" },
    List { name: "tokentx", what: "token transfers" },
    List { name: "tokennfttx", what: "NFT transfers" },
    List { name: "token1155tx", what: "ERC-1155 transfers" },
];

/// What is asked of every list.
struct AccountQuery<'a> {
    chain: &'a str,
    explorer: &'a Explorer,
    account: Address,
    period: Period,
    first_block: u64,
    last_block: Option<u64>,
}

/// What came of one list.
struct ReadList {
    /// Transactions that no earlier list has.
    new: usize,
    /// Whether the explorer has looked at everything.
    is_whole: bool,
    /// The last block that was listed.
    reached: u64,
    /// Whether what follows is past the period.
    is_over: bool,
}

/// A row that was checked.
struct Row {
    hash: TxHash,
    block: u64,
    time: Option<i64>,
}

impl EvmChain {
    pub(super) async fn listed(
        &self,
        account: Address,
        period: Period,
        take: TakeHash<'_>,
    ) -> Result<History, HistoryError> {
        let explorer = self.node.explorer.as_ref().ok_or(HistoryError::NoExplorer)?;
        let chain = self.node.chain.slug.as_str();
        // One block more on either side: rows are told apart by their own time.
        let first_block = block_at(explorer, chain, period.from, Side::Before).await?.unwrap_or_default();
        let last_block = block_at(explorer, chain, period.to, Side::After).await?;
        let query = AccountQuery { chain, explorer, account, period, first_block, last_block };
        let mut collector = Collector::new(take);
        let mut history = History { unseen: vec![UNLISTED.to_owned()], ..History::default() };
        for List { name, what } in LISTS {
            match query.read(name, &mut collector).await? {
                Some(ReadList { new, is_whole, .. }) => {
                    history.lists.push(ListCount { what: what.to_owned(), new });
                    if !is_whole {
                        history.unseen.push(format!("{what} that the explorer has not looked at yet"));
                    }
                }
                None => history.unseen.push(format!("{what}: the explorer has no such list (`{name}`)")),
            }
        }
        Ok(history)
    }
}

async fn block_at(
    explorer: &Explorer,
    chain: &str,
    time: Option<i64>,
    side: Side,
) -> Result<Option<u64>, HistoryError> {
    let Some(time) = time else { return Ok(None) };
    let told = explorer.block_at(chain, time, side).await;
    told.map_err(|fault| HistoryError::Explorer { list: "getblocknobytime", fault })
}

impl AccountQuery<'_> {
    /// Window after window, each from the block on where the one before it ended. Rows of that block are listed twice and handed on once.
    /// `None` where the explorer has no such list.
    async fn read(&self, list: &'static str, collector: &mut Collector<'_>) -> Result<Option<ReadList>, HistoryError> {
        let mut read = ReadList { new: 0, is_whole: true, reached: 0, is_over: false };
        let mut first_block = self.first_block;
        for window in 0..HISTORY_PAGES_MAX / WINDOW_PAGES_MAX {
            let mut previous = Vec::new();
            for page in 1..=WINDOW_PAGES_MAX {
                let query =
                    PageQuery { action: list, account: self.account, first_block, last_block: self.last_block, page };
                let Listed { rows, is_whole } = match self.explorer.page_of(self.chain, query).await {
                    Ok(listed) => listed,
                    Err(ExplorerFault::UnknownAction) if list != REQUIRED && window == 0 && page == 1 => {
                        return Ok(None);
                    }
                    Err(fault) => return Err(HistoryError::Explorer { list, fault }),
                };
                read.is_whole &= is_whole;
                if rows.is_empty() && window > 0 && page == 1 {
                    return Err(HistoryError::Vanished { list, block: first_block });
                }
                let fingerprints: Vec<u64> = rows.iter().map(fingerprint).collect();
                if !rows.is_empty() && previous == fingerprints {
                    return Err(HistoryError::Repeated { list, page });
                }
                previous = fingerprints;
                self.take(&rows, (list, page), &mut read, collector)?;
                if rows.is_empty() || read.is_over {
                    return Ok(Some(read));
                }
            }
            if read.reached <= first_block {
                return Err(HistoryError::CrowdedBlock { list, block: first_block });
            }
            first_block = read.reached;
        }
        Err(HistoryError::ManyPages { list })
    }

    fn take(
        &self,
        rows: &[Map<String, Value>],
        (list, page): (&'static str, usize),
        read: &mut ReadList,
        collector: &mut Collector<'_>,
    ) -> Result<(), HistoryError> {
        for (at, row) in rows.iter().enumerate() {
            let unreadable = |field| HistoryError::Row { list, page, row: at.saturating_add(1), field };
            let Row { hash, block, time } = parse(row).map_err(unreadable)?;
            if block < read.reached {
                return Err(HistoryError::Unordered { list, page });
            }
            read.reached = block;
            if self.period.is_after(time) {
                read.is_over = true;
                return Ok(());
            }
            if self.period.has(time) {
                read.new = read.new.saturating_add(collector.push(hash)?);
            }
        }
        Ok(())
    }
}

/// The same for two rows that say the same.
fn fingerprint(row: &Map<String, Value>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (field, value) in row.iter().filter(|(field, _)| *field != CONFIRMATIONS) {
        (field, value.to_string()).hash(&mut hasher);
    }
    hasher.finish()
}

/// What a row says, or the field that cannot be read.
fn parse(row: &Map<String, Value>) -> Result<Row, &'static str> {
    let text = |field: &str| row.get(field).and_then(Value::as_str);
    // Blockscout has another name for it in its internal transfers.
    let hash = text("hash").or_else(|| text("transactionHash")).and_then(|hash| TxHash::parse(hash).ok());
    let hash = hash.filter(|hash| hash.family() == Family::Evm).ok_or("hash")?;
    let block = text("blockNumber").and_then(digits).ok_or("blockNumber")?;
    let time = match text("timeStamp") {
        // Blockscout leaves it empty where it does not know.
        Some("") => None,
        said => Some(said.and_then(digits).and_then(|time| i64::try_from(time).ok()).ok_or("timeStamp")?),
    };
    Ok(Row { hash, block, time })
}

/// Digits alone: a number's own parser takes a sign too.
fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
