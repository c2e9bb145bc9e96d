//! What a wallet did, listed by explorers and nodes in this process: long lists, lists that overlap, and sources that repeat themselves, lie, limit or lack
//! a list. Whatever they do, a transaction is handed on once or the listing fails.

#![expect(clippy::unwrap_used, clippy::as_conversions, clippy::indexing_slicing, reason = "tests fail loudly")]

#[path = "history/evm.rs"]
mod evm;
#[path = "history/solana.rs"]
mod solana;

use std::collections::BTreeSet;

use chains::{History, HistoryError, Period, Upstreams};
use engine::{Account, TxHash};

/// What was handed on, in order, and how the listing ended.
struct Outcome {
    hashes: Vec<TxHash>,
    end: Result<History, HistoryError>,
}

impl Outcome {
    async fn of(upstreams: &Upstreams, slug: &str, wallet: &str, period: Period) -> Self {
        let mut hashes = Vec::new();
        let account = Account::parse(wallet).unwrap();
        let end = upstreams.history(slug, account, period, &mut |hash| hashes.push(hash)).await;
        assert_eq!(hashes.iter().collect::<BTreeSet<_>>().len(), hashes.len(), "each is handed on once");
        Self { hashes, end }
    }

    /// What each list found that no earlier one has.
    fn counts(&self) -> Vec<(String, usize)> {
        let history = self.end.as_ref().unwrap();
        history.lists.iter().map(|list| (list.what.clone(), list.new)).collect()
    }

    fn unseen(&self) -> String {
        self.end.as_ref().unwrap().unseen.join("; ")
    }

    fn error(&self) -> HistoryError {
        *self.end.as_ref().unwrap_err()
    }
}
