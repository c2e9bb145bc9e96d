//! BittyTax 0.6, which reads thirteen columns by their place. <https://github.com/BittyTax/BittyTax>

use super::pairs::{CARRIED, LOAN, LOCKED, Labels, PairRow, REVIEW, Takes, Tool, income, marked, says};

pub(super) const TOOL: Tool = Tool {
    columns: &[
        "Type",
        "Buy Quantity",
        "Buy Asset",
        "Buy Value in GBP",
        "Sell Quantity",
        "Sell Asset",
        "Sell Value in GBP",
        "Fee Quantity",
        "Fee Asset",
        "Fee Value in GBP",
        "Wallet",
        "Timestamp",
        "Note",
    ],
    labels: Labels {
        trade: says("Trade"),
        trade_apart: [says("Withdrawal"), says("Deposit")],
        carried: None,
        carried_apart: [marked("Withdrawal", CARRIED), marked("Deposit", CARRIED)],
        income: |category| income(category, ["Income", "Mining", "Interest", "Staking", "Income"]),
        fee: says("Spend"),
        expense: says("Spend"),
        moved: [says("Withdrawal"), says("Deposit")],
        locked: [marked("Withdrawal", LOCKED), marked("Deposit", LOCKED)],
        loan: [marked("Loan-Repayment", LOAN), marked("Loan", LOAN)],
        open: [marked("Withdrawal", REVIEW), marked("Deposit", REVIEW)],
    },
    has_fees: true,
    kinds: None,
    takes: Takes::Every,
    cells,
};

fn cells(pair: &PairRow<'_>) -> Vec<String> {
    let amounts = [&pair.received, &pair.sent, &pair.fee].map(|amount| {
        let [quantity, asset] = PairRow::pair(amount);
        [quantity, asset, String::new()]
    });
    let wallet = format!("{} {}", pair.chain(), pair.wallet());
    let rest = [wallet, format!("{} UTC", pair.year_first()), pair.description_with_hash()];
    std::iter::once(pair.label()).chain(amounts.concat()).chain(rest).collect()
}
