//! Divly's CSV. <https://help.divly.com/en/articles/8238970-what-is-a-deposit-withdrawal-trade-and-transfer>
//!
//! Without a label Divly takes a deposit for a purchase and a withdrawal for a sale. Trades have no label.

use super::pairs::{CARRIED, LOAN, LOCKED, Labels, MOVED, PairRow, REVIEW, Takes, Tool, income, marked, says};

const KINDS: [&str; 3] = ["Withdrawal", "Deposit", "Trade"];

pub(super) const TOOL: Tool = Tool {
    columns: &[
        "date",
        "time (UTC)",
        "transaction_type",
        "label",
        "sent_amount",
        "sent_currency",
        "received_amount",
        "received_currency",
        "fee_amount",
        "fee_currency",
        "custom_description",
        "tx_hash",
    ],
    labels: Labels {
        trade: says(""),
        trade_apart: [says(""); 2],
        carried: None,
        carried_apart: [marked("", CARRIED); 2],
        income: |category| income(category, ["Airdrop", "Mining", "Interest Received", "Staking Reward", "Income"]),
        fee: says("Other Expense"),
        expense: says("Other Expense"),
        moved: [marked("", MOVED); 2],
        locked: [marked("", LOCKED); 2],
        loan: [marked("", LOAN); 2],
        open: [marked("", REVIEW); 2],
    },
    has_fees: true,
    kinds: Some(KINDS),
    takes: Takes::Every,
    cells,
};

fn cells(pair: &PairRow<'_>) -> Vec<String> {
    let what = [pair.kind(KINDS), pair.label()];
    let amounts = [&pair.sent, &pair.received, &pair.fee].map(PairRow::pair).concat();
    let rest = [pair.description(), pair.hash()];
    pair.date_and_time().into_iter().chain(what).chain(amounts).chain(rest).collect()
}
