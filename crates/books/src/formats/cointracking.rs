//! CoinTracking's CSV import. <https://cointracking.freshdesk.com/en/support/solutions/articles/29000042783-transaction-types>
//!
//! Fees there are a part of the amounts, so that gas has a row of its own.

use super::pairs::{CARRIED, LOCKED, Labels, PairRow, REVIEW, Takes, Tool, income, marked, says};

pub(super) const TOOL: Tool = Tool {
    columns: &[
        "Type",
        "Buy Amount",
        "Buy Currency",
        "Sell Amount",
        "Sell Currency",
        "Fee",
        "Fee Currency",
        "Exchange",
        "Trade-Group",
        "Comment",
        "Date",
        "Tx-ID",
        "Buy Value in Account Currency",
        "Sell Value in Account Currency",
        "Liquidity pool",
    ],
    labels: Labels {
        trade: says("Trade"),
        trade_apart: [says("Spend"), says("Deposit")],
        carried: Some(says("Swap (non taxable)")),
        carried_apart: [marked("Withdrawal", CARRIED), marked("Deposit", CARRIED)],
        income: |category| income(category, ["Airdrop", "Mining", "Interest Income", "Staking", "Income"]),
        fee: says("Other Fee"),
        expense: says("Spend"),
        moved: [says("Withdrawal"), says("Deposit")],
        locked: [marked("Withdrawal", LOCKED), marked("Deposit", LOCKED)],
        loan: [says("Repay Loan"), says("Receive Loan")],
        open: [marked("Withdrawal", REVIEW), marked("Deposit", REVIEW)],
    },
    has_fees: false,
    kinds: None,
    takes: Takes::Every,
    cells,
};

fn cells(pair: &PairRow<'_>) -> Vec<String> {
    let amounts = [&pair.received, &pair.sent, &pair.fee].map(PairRow::pair).concat();
    // What has the same Tx-ID twice is taken for a repetition.
    let rest = [pair.chain(), String::new(), pair.description(), pair.year_first(), pair.id()];
    let empty = [String::new(), String::new(), String::new()];
    std::iter::once(pair.label()).chain(amounts).chain(rest).chain(empty).collect()
}
