//! Coinpanda's generic file. <https://help.coinpanda.io/en/articles/3839231>

use super::pairs::{CARRIED, LOCKED, Labels, MOVED, PairRow, REVIEW, Takes, Tool, income, marked, says};

const KINDS: [&str; 3] = ["Send", "Receive", "Trade"];

pub(super) const TOOL: Tool = Tool {
    columns: &[
        "Timestamp (UTC)",
        "Type",
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
        carried: None,
        carried_apart: [marked("", CARRIED); 2],
        income: |category| income(category, ["Airdrop", "Mining", "Income", "Staking", "Income"]),
        fee: says("Cost"),
        expense: says("Cost"),
        moved: [marked("", MOVED); 2],
        locked: [marked("", LOCKED); 2],
        loan: [says("Repay Loan"), says("Receive Loan")],
        open: [marked("", REVIEW); 2],
    },
    has_fees: true,
    kinds: Some(KINDS),
    takes: Takes::Every,
    cells,
};

fn cells(pair: &PairRow<'_>) -> Vec<String> {
    let amounts = [&pair.sent, &pair.received, &pair.fee].map(PairRow::pair).concat();
    let rest = [String::new(), String::new(), pair.label(), pair.description(), pair.hash()];
    [pair.year_first(), pair.kind(KINDS)].into_iter().chain(amounts).chain(rest).collect()
}
