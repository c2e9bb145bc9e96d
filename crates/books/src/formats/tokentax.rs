//! TokenTax's manual report. <https://help.tokentax.co/en/articles/1707630>

use super::pairs::{CARRIED, LOAN, LOCKED, Labels, PairRow, REVIEW, Takes, Tool, income, marked, says};

pub(super) const TOOL: Tool = Tool {
    columns: &[
        "Type",
        "BuyAmount",
        "BuyCurrency",
        "SellAmount",
        "SellCurrency",
        "FeeAmount",
        "FeeCurrency",
        "Exchange",
        "Group",
        "Comment",
        "Date",
    ],
    labels: Labels {
        trade: says("Trade"),
        trade_apart: [says("Spend"), says("Deposit")],
        carried: None,
        carried_apart: [marked("Withdrawal", CARRIED), marked("Deposit", CARRIED)],
        income: |category| income(category, ["Airdrop", "Mining", "Income", "Staking", "Income"]),
        fee: says("Spend"),
        expense: says("Spend"),
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
    let amounts = [&pair.received, &pair.sent, &pair.fee].map(PairRow::pair).concat();
    let rest = [pair.chain(), String::new(), pair.description_with_hash(), pair.month_first()];
    std::iter::once(pair.label()).chain(amounts).chain(rest).collect()
}
