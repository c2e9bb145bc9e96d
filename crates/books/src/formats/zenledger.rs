//! ZenLedger's custom CSV. <https://support.zenledger.io/en/articles/7972857>

use super::pairs::{CARRIED, LOAN, LOCKED, Labels, PAID, PairRow, REVIEW, Takes, Tool, income, marked, says};

pub(super) const TOOL: Tool = Tool {
    columns: &[
        "Timestamp",
        "Type",
        "IN Amount",
        "IN Currency",
        "Out Amount",
        "Out Currency",
        "Fee Amount",
        "Fee Currency",
        "Exchange(optional)",
        "US Based",
        "Txid",
    ],
    labels: Labels {
        trade: says("trade"),
        trade_apart: [says("send"), says("receive")],
        carried: None,
        carried_apart: [marked("send", CARRIED), marked("receive", CARRIED)],
        income: |category| income(category, ["airdrop", "mined", "interest received", "staking reward", "misc reward"]),
        fee: says("fee"),
        expense: marked("send", PAID),
        moved: [says("send"), says("receive")],
        locked: [marked("send", LOCKED), marked("receive", LOCKED)],
        loan: [marked("send", LOAN), marked("receive", LOAN)],
        open: [marked("send", REVIEW), marked("receive", REVIEW)],
    },
    has_fees: true,
    kinds: None,
    takes: Takes::Every,
    cells,
};

/// There is no column for a description: the name of the exchange carries the mark.
fn cells(pair: &PairRow<'_>) -> Vec<String> {
    let amounts = [&pair.received, &pair.sent, &pair.fee].map(PairRow::pair).concat();
    let rest = [pair.marked_chain(), String::new(), pair.hash()];
    [pair.year_first(), pair.label()].into_iter().chain(amounts).chain(rest).collect()
}
