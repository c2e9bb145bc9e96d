//! Coinpanda's generic file. <https://help.coinpanda.io/en/articles/3839231>

use std::io::{self, Write};

use super::pairs::{self, CARRIED, LOCKED, Labels, MOVED, PairRow, REVIEW, Tool, income, marked, says};
use super::{Options, Rows};

const TOOL: Tool = Tool {
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
    cells,
};

pub(super) fn write(rows: Rows<'_>, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    pairs::write(&TOOL, rows, options, out)
}

fn cells(pair: &PairRow<'_>) -> Vec<String> {
    let amounts = [&pair.sent, &pair.received, &pair.fee].map(PairRow::pair).concat();
    let rest = [String::new(), String::new(), pair.label(), pair.description(), pair.hash()];
    [pair.year_first(), pair.kind(["Send", "Receive", "Trade"])].into_iter().chain(amounts).chain(rest).collect()
}
