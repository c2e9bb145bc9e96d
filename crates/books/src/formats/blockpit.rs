//! Blockpit's manual import. <https://help.blockpit.io/hc/en-us/articles/360011882020>

use super::pairs::{CARRIED, LOAN, LOCKED, Labels, MOVED, PairRow, REVIEW, Takes, Tool, income, marked, says};

pub(super) const TOOL: Tool = Tool {
    columns: &[
        "Date (UTC)",
        "Integration Name",
        "Label",
        "Outgoing Asset",
        "Outgoing Amount",
        "Incoming Asset",
        "Incoming Amount",
        "Fee Asset (optional)",
        "Fee Amount (optional)",
        "Comment (optional)",
        "Trx. ID (optional)",
    ],
    labels: Labels {
        trade: says("Trade"),
        trade_apart: [says("Payment"), says("Deposit")],
        carried: Some(says("Token Migration")),
        carried_apart: [marked("Withdrawal", CARRIED), marked("Deposit", CARRIED)],
        income: |category| income(category, ["Airdrop", "Mining", "Interest", "Staking", "Income"]),
        fee: says("Fee"),
        expense: says("Payment"),
        moved: [marked("Withdrawal", MOVED), marked("Deposit", MOVED)],
        locked: [marked("Withdrawal", LOCKED), marked("Deposit", LOCKED)],
        loan: [marked("Withdrawal", LOAN), marked("Deposit", LOAN)],
        open: [marked("Withdrawal", REVIEW), marked("Deposit", REVIEW)],
    },
    has_fees: true,
    kinds: None,
    takes: Takes::Every,
    cells,
};

fn cells(pair: &PairRow<'_>) -> Vec<String> {
    let amounts = [&pair.sent, &pair.received, &pair.fee].map(PairRow::turned).concat();
    let rest = [pair.description(), pair.hash()];
    [pair.day_first(), pair.chain(), pair.label()].into_iter().chain(amounts).chain(rest).collect()
}
