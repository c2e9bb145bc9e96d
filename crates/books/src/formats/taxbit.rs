//! Taxbit's standard transactions template. <https://taxbitsupport.zendesk.com/hc/en-us/articles/37946499727501>

use super::pairs::{CARRIED, LOAN, LOCKED, Labels, PairRow, REVIEW, Takes, Tool, income, marked, says};

pub(super) const TOOL: Tool = Tool {
    columns: &[
        "account_id",
        "transaction_id",
        "date_time",
        "transaction_type",
        "transaction_subtype",
        "received_quantity",
        "received_currency",
        "sent_quantity",
        "sent_currency",
        "fee_quantity",
        "fee_currency",
        "transaction_value_usd",
        "fee_value_usd",
        "counterparty_transaction_id",
        "disposition_method",
    ],
    // Type and subtype; only the type counts for tax.
    labels: Labels {
        trade: says("Trade"),
        trade_apart: [says("Expense"), says("Deposit")],
        carried: None,
        carried_apart: [marked("Withdraw", CARRIED), marked("Deposit", CARRIED)],
        income: |category| {
            const KINDS: [&str; 5] =
                ["Income Airdrop", "Income Other", "Income Interest-Crypto-Backed", "Income Reward", "Income Other"];
            income(category, KINDS)
        },
        fee: says("Expense"),
        expense: says("Expense"),
        moved: [says("Withdraw Blockchain"), says("Deposit Blockchain")],
        locked: [marked("Withdraw", LOCKED), marked("Deposit", LOCKED)],
        loan: [marked("Withdraw", LOAN), marked("Deposit", LOAN)],
        open: [marked("Withdraw", REVIEW), marked("Deposit", REVIEW)],
    },
    has_fees: true,
    kinds: None,
    takes: Takes::Every,
    cells,
};

/// There is no column for a description: the transaction's id carries the mark.
fn cells(pair: &PairRow<'_>) -> Vec<String> {
    let label = pair.label();
    let (kind, subtype) = label.split_once(' ').unwrap_or((label.as_str(), ""));
    let amounts = [&pair.received, &pair.sent, &pair.fee].map(PairRow::pair).concat();
    let what = [pair.wallet(), pair.marked_id(), pair.iso(), kind.to_owned(), subtype.to_owned()];
    what.into_iter().chain(amounts).chain([const { String::new() }; 4]).collect()
}
