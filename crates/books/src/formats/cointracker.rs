//! CoinTracker's CSV. <https://support.cointracker.io/hc/en-us/articles/4413071299729>
//!
//! Its eight columns have no room for a description, and it takes what has no tag for a payment or for income. What would need a mark is left out.

use super::pairs::{CARRIED, LOAN, Labels, MOVED, PairRow, REVIEW, Takes, Tool, income, marked, says};

pub(super) const TOOL: Tool = Tool {
    columns: &[
        "Date",
        "Received Quantity",
        "Received Currency",
        "Sent Quantity",
        "Sent Currency",
        "Fee Amount",
        "Fee Currency",
        "Tag",
    ],
    labels: Labels {
        trade: says(""),
        trade_apart: [says(""); 2],
        carried: None,
        carried_apart: [marked("", CARRIED); 2],
        income: |category| income(category, ["airdrop", "mined", "interest", "staking", "payment"]),
        fee: says(""),
        expense: says(""),
        moved: [marked("", MOVED); 2],
        locked: [says("stake"), says("unstake")],
        loan: [marked("", LOAN); 2],
        open: [marked("", REVIEW); 2],
    },
    // Sent amounts include fees there, and the row that would carry it may be left out.
    has_fees: false,
    kinds: None,
    takes: Takes::WithoutMark,
    cells,
};

fn cells(pair: &PairRow<'_>) -> Vec<String> {
    let amounts = [&pair.received, &pair.sent, &pair.fee].map(PairRow::pair).concat();
    std::iter::once(pair.month_first()).chain(amounts).chain([pair.label()]).collect()
}
