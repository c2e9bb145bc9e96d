//! Kryptos's CSV, whose types are a deposit, a withdrawal and a trade. <https://github.com/hodgerpodger/staketaxcsv>
//!
//! Its labels decide on tax and have no column: the comment says which one to set. <https://github.com/Kryptoskatt/Kryptos-Standard-Docs>

use super::pairs::{CARRIED, LOAN, LOCKED, Labels, MOVED, PairRow, REVIEW, Takes, Tool, income, marked, says};

const KINDS: [&str; 3] = ["withdrawal", "deposit", "trade"];

pub(super) const TOOL: Tool = Tool {
    columns: &[
        "Date-Time",
        "Type",
        "Received Asset",
        "Received Amount",
        "Sent Asset",
        "Sent Amount",
        "Net Worth",
        "Base Currency",
        "Fee Asset",
        "Fee Amount",
        "Fee Net Worth",
        "Description",
        "Tx Hash",
        "Sent Asset Contract Address",
        "Received Asset Contract Address",
        "From Address",
        "To Address",
        "Comment",
    ],
    labels: Labels {
        trade: says("Swap"),
        trade_apart: [says("Expense"), says("Deposit")],
        carried: None,
        carried_apart: [marked("Withdrawal", CARRIED), marked("Deposit", CARRIED)],
        income: |category| income(category, ["Airdrops", "Mining", "Loan Interest", "Staking Rewards", "Income"]),
        fee: says("Fee"),
        expense: says("Expense"),
        moved: [marked("Withdrawal", MOVED), marked("Deposit", MOVED)],
        locked: [marked("Stake", LOCKED), marked("Unstake", LOCKED)],
        loan: [marked("Loan Payback", LOAN), marked("Borrow", LOAN)],
        open: [marked("Unknown", REVIEW); 2],
    },
    has_fees: true,
    kinds: Some(KINDS),
    takes: Takes::Every,
    cells,
};

fn cells(pair: &PairRow<'_>) -> Vec<String> {
    let [received, sent, fee] = [&pair.received, &pair.sent, &pair.fee].map(PairRow::turned);
    let [unknown_worth, unknown_base] = [String::new(), String::new()];
    let rest = [String::new(), pair.description(), pair.hash(), String::new(), String::new()];
    let wallet_of = |amount: &Option<_>| amount.as_ref().map(|_| pair.wallet()).unwrap_or_default();
    let ends = [wallet_of(&pair.sent), wallet_of(&pair.received)];
    let what = [pair.iso(), pair.kind(KINDS)];
    what.into_iter()
        .chain(received)
        .chain(sent)
        .chain([unknown_worth, unknown_base])
        .chain(fee)
        .chain(rest)
        .chain(ends)
        .chain([format!("Label: {}", pair.label())])
        .collect()
}
