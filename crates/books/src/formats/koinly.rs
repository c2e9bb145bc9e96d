//! Koinly's universal template. <https://support.koinly.io/en/articles/9489976>
//!
//! Without a label Koinly takes what comes in for a purchase and what goes out for a sale.

use super::pairs::{CARRIED, LOAN, LOCKED, Labels, MOVED, PairRow, REVIEW, Takes, Tool, income, marked, says};
use crate::cell::tamed;

pub(super) const TOOL: Tool = Tool {
    columns: &[
        "Date",
        "Sent Amount",
        "Sent Currency",
        "Received Amount",
        "Received Currency",
        "Fee Amount",
        "Fee Currency",
        "Net Worth Amount",
        "Net Worth Currency",
        "Label",
        "Description",
        "TxHash",
    ],
    labels: Labels {
        trade: says(""),
        trade_apart: [says(""); 2],
        carried: Some(says("swap")),
        carried_apart: [marked("", CARRIED); 2],
        income: |category| income(category, ["airdrop", "mining", "lending interest", "reward", "income"]),
        fee: says("cost"),
        expense: says("cost"),
        moved: [marked("", MOVED); 2],
        locked: [marked("sent to pool", LOCKED), marked("received from pool", LOCKED)],
        loan: [marked("loan repayment", LOAN), marked("loan", LOAN)],
        open: [marked("", REVIEW); 2],
    },
    has_fees: true,
    kinds: None,
    takes: Takes::Every,
    cells,
};

fn cells(pair: &PairRow<'_>) -> Vec<String> {
    let minute: String = pair.year_first().chars().take("2024-12-13 22:29".len()).collect();
    let date = format!("{minute} UTC");
    let amounts = [&pair.sent, &pair.received, &pair.fee].map(PairRow::pair).concat();
    let rest = [String::new(), String::new(), pair.label(), pair.description(), tamed(pair.hash())];
    std::iter::once(date).chain(amounts).chain(rest).collect()
}
