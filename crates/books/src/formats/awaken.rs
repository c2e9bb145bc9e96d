//! Awaken's CSV. <https://help.awaken.tax/en/articles/10422149-how-to-format-your-csv-for-awaken-tax>
//!
//! Without a tag Awaken decides by itself what a row is.

use super::pairs::{CARRIED, Labels, PairRow, REVIEW, Takes, Tool, income, marked, says};

pub(super) const TOOL: Tool = Tool {
    columns: &[
        "Date",
        "Received Quantity",
        "Received Currency",
        "Received Fiat Amount",
        "Sent Quantity",
        "Sent Currency",
        "Sent Fiat Amount",
        "Fee Amount",
        "Fee Currency",
        "Transaction Hash",
        "Notes",
        "Tag",
    ],
    labels: Labels {
        trade: says("swap"),
        trade_apart: [says("coin_sell"), says("coin_buy")],
        carried: Some(marked("non_taxable", CARRIED)),
        carried_apart: [marked("non_taxable", CARRIED); 2],
        income: |category| income(category, ["airdrop", "mining_income", "income", "claim_rewards", "income"]),
        fee: says("payment"),
        expense: says("payment"),
        moved: [says("internal_transfer"); 2],
        // What comes back from `staking` is income as far as Awaken does not know of the deposit.
        locked: [says("lend"), says("withdraw")],
        loan: [says("repay"), says("borrow")],
        open: [marked("save_for_later", REVIEW); 2],
    },
    has_fees: true,
    kinds: None,
    takes: Takes::Every,
    cells,
};

fn cells(pair: &PairRow<'_>) -> Vec<String> {
    let [received, sent] = [&pair.received, &pair.sent].map(|amount| {
        let [quantity, currency] = PairRow::pair(amount);
        [quantity, currency, String::new()]
    });
    let rest = [pair.hash(), pair.description(), pair.label()];
    let amounts = received.into_iter().chain(sent).chain(PairRow::pair(&pair.fee));
    std::iter::once(pair.month_first()).chain(amounts).chain(rest).collect()
}
