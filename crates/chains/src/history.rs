//! What an account did, as a source lists it: hashes of transactions, each once, within a period. What the source cannot show is said.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};

use engine::TxHash;

use crate::error::UpstreamError;
use crate::rpc::ExplorerFault;

/// Transactions of one account on one chain, as with a table of `taxon bulk`.
pub const HISTORY_HASHES_MAX: usize = 1_000_000;
/// Pages of one list. A list of as many transactions as are taken has half of them; token transfers are several a transaction.
pub const HISTORY_PAGES_MAX: usize = 2_000;

/// From one moment to another, both counted in, in Unix seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Period {
    pub from: Option<i64>,
    pub to: Option<i64>,
}

impl Period {
    /// What has no time is kept.
    pub(crate) fn has(self, time: Option<i64>) -> bool {
        !self.is_before(time) && !self.is_after(time)
    }

    /// Whether the time lies before the period.
    pub(crate) fn is_before(self, time: Option<i64>) -> bool {
        time.zip(self.from).is_some_and(|(time, from)| time < from)
    }

    pub(crate) fn is_after(self, time: Option<i64>) -> bool {
        time.zip(self.to).is_some_and(|(time, to)| time > to)
    }
}

/// What a source listed of an account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// In the order in which they were asked for.
    pub lists: Vec<ListCount>,
    /// What the source cannot show, each a sentence without its stop.
    pub unseen: Vec<String>,
}

/// One list of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListCount {
    /// What it lists, as a person says it.
    pub what: String,
    /// Transactions of the period that no earlier list has.
    pub new: usize,
}

/// Whoever takes the hashes, one after another.
pub type TakeHash<'a> = &'a mut (dyn FnMut(TxHash) + Send);

/// Why an account's transactions cannot be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    #[error("the chain is not served")]
    NotServed,
    /// The nodes of this family list no accounts, and no explorer is named.
    #[error("no explorer is named that lists what an account did")]
    NoExplorer,
    #[error("the address is of another family of chains")]
    OtherFamily,
    #[error("`{list}`: {}", fault_in_words(*fault))]
    Explorer { list: &'static str, fault: ExplorerFault },
    #[error("`{list}`: {error}")]
    Node { list: &'static str, error: UpstreamError },
    #[error("`{list}`: page {page} is the same as the one before it, so the list has no end")]
    Repeated { list: &'static str, page: usize },
    #[error("`{list}`: page {page} goes back to what was listed before, so it cannot be told what is missing")]
    Unordered { list: &'static str, page: usize },
    #[error("`{list}`: block {block} alone has more rows than the explorer lists at once")]
    CrowdedBlock { list: &'static str, block: u64 },
    #[error("`{list}`: what was listed of block {block} is gone when it is asked for again")]
    Vanished { list: &'static str, block: u64 },
    #[error("`{list}`: row {row} of page {page} has no readable `{field}`")]
    Row { list: &'static str, page: usize, row: usize, field: &'static str },
    #[error("`{list}`: more than {HISTORY_PAGES_MAX} pages; take a shorter period")]
    ManyPages { list: &'static str },
    #[error("more than {HISTORY_HASHES_MAX} transactions; take a shorter period")]
    ManyHashes,
    #[error("the account has more than {0} token accounts")]
    ManyAccounts(usize),
}

impl HistoryError {
    /// Whether the same question may be answered later.
    pub fn may_pass(self) -> bool {
        match self {
            Self::Explorer { fault, .. } => match fault {
                ExplorerFault::Unreachable
                | ExplorerFault::Timeout
                | ExplorerFault::Limited
                | ExplorerFault::Unreadable => true,
                ExplorerFault::InvalidAddress | ExplorerFault::Forbidden | ExplorerFault::UnknownAction => false,
            },
            // Blocks that were replaced while they were listed.
            Self::Node { .. } | Self::Unordered { .. } | Self::Vanished { .. } => true,
            Self::NotServed
            | Self::NoExplorer
            | Self::OtherFamily
            | Self::Repeated { .. }
            | Self::CrowdedBlock { .. }
            | Self::Row { .. }
            | Self::ManyPages { .. }
            | Self::ManyHashes
            | Self::ManyAccounts(_) => false,
        }
    }
}

fn fault_in_words(fault: ExplorerFault) -> &'static str {
    match fault {
        ExplorerFault::InvalidAddress => "the explorer's address is no http or https address",
        ExplorerFault::Unreachable => "the explorer does not answer",
        ExplorerFault::Timeout => "the explorer does not answer in time",
        ExplorerFault::Forbidden => "the explorer wants a key, or another one",
        ExplorerFault::Limited => "the explorer refuses for its rate limit",
        ExplorerFault::UnknownAction => "the explorer has no such list",
        ExplorerFault::Unreadable => "the explorer's answer is not in the form of Etherscan, or longer than is read",
    }
}

/// Hands on what was not handed on before.
pub(crate) struct Collector<'a> {
    /// Fingerprints of what was handed on, under keys that no source can know: a million hashes as they are would take four times the room.
    seen: BTreeSet<[u64; 2]>,
    keys: [RandomState; 2],
    take: TakeHash<'a>,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(take: TakeHash<'a>) -> Self {
        Self { seen: BTreeSet::new(), keys: [RandomState::new(), RandomState::new()], take }
    }

    /// How many were new: one or none.
    pub(crate) fn push(&mut self, hash: TxHash) -> Result<usize, HistoryError> {
        let fingerprint = self.keys.each_ref().map(|key| key.hash_one(hash));
        if self.seen.contains(&fingerprint) {
            return Ok(0);
        }
        if self.seen.len() >= HISTORY_HASHES_MAX {
            return Err(HistoryError::ManyHashes);
        }
        self.seen.insert(fingerprint);
        (self.take)(hash);
        Ok(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_counted_in_and_what_has_no_time_is_kept() {
        let period = Period { from: Some(10), to: Some(20) };
        let kept: Vec<i64> = (8..=22).filter(|time| period.has(Some(*time))).collect();
        assert_eq!(kept, (10..=20).collect::<Vec<i64>>());
        assert!(period.has(None) && Period::default().has(Some(0)));
    }
}
