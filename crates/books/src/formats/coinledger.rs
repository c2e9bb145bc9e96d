//! CoinLedger's universal template. <https://help.coinledger.io/en/articles/6028758>

use super::pairs::{CARRIED, LOAN, LOCKED, Labels, PairRow, REVIEW, Takes, Tool, income, marked, says};

pub(super) const TOOL: Tool = Tool {
    columns: &[
        "Date (UTC)",
        "Platform (Optional)",
        "Asset Sent",
        "Amount Sent",
        "Asset Received",
        "Amount Received",
        "Fee Currency (Optional)",
        "Fee Amount (Optional)",
        "Type",
        "Description (Optional)",
        "TxHash (Optional)",
    ],
    labels: Labels {
        trade: says("Trade"),
        trade_apart: [says("Merchant Payment"), says("Deposit")],
        carried: None,
        carried_apart: [marked("Withdrawal", CARRIED), marked("Deposit", CARRIED)],
        income: |category| income(category, ["Airdrop", "Mining", "Interest", "Staking", "Income"]),
        fee: says("Merchant Payment"),
        expense: says("Merchant Payment"),
        moved: [says("Withdrawal"), says("Deposit")],
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
    let rest = [pair.label(), pair.description(), pair.hash()];
    [pair.month_first(), pair.chain()].into_iter().chain(amounts).chain(rest).collect()
}
