//! Recap's custom accounts. <https://help.recap.io/en/articles/2631702>

use super::pairs::{CARRIED, Labels, PairRow, REVIEW, Takes, Tool, income, marked, says};

pub(super) const TOOL: Tool = Tool {
    columns: &[
        "Type",
        "Date",
        "InOrBuyAmount",
        "InOrBuyCurrency",
        "OutOrSellAmount",
        "OutOrSellCurrency",
        "FeeAmount",
        "FeeCurrency",
        "Description",
        "ID",
    ],
    labels: Labels {
        trade: says("Trade"),
        trade_apart: [says("Purchase"), says("Deposit")],
        carried: None,
        carried_apart: [marked("Withdrawal", CARRIED), marked("Deposit", CARRIED)],
        income: |category| income(category, ["Airdrop", "Mining", "Income", "StakingReward", "Income"]),
        fee: says("Fee"),
        expense: says("Purchase"),
        moved: [says("Withdrawal"), says("Deposit")],
        locked: [says("Stake"), says("Unstake")],
        loan: [says("LoanPrincipalPayment"), says("LoanPrincipal")],
        open: [marked("Withdrawal", REVIEW), marked("Deposit", REVIEW)],
    },
    has_fees: true,
    kinds: None,
    takes: Takes::Every,
    cells,
};

fn cells(pair: &PairRow<'_>) -> Vec<String> {
    let amounts = [&pair.received, &pair.sent, &pair.fee].map(PairRow::pair).concat();
    let rest = [pair.description(), pair.hash()];
    [pair.label(), pair.year_first()].into_iter().chain(amounts).chain(rest).collect()
}
