//! Bitcoin.Tax, which finds columns by their names. <https://bitcointaxes.zendesk.com/hc/en-us/articles/360009111074>
//!
//! It keeps no wallets and has no action for what is neither traded, earned nor spent: such rows are left out.

use super::pairs::{CARRIED, LOAN, Labels, PairRow, Takes, Tool, income, marked, says};

pub(super) const TOOL: Tool = Tool {
    columns: &[
        "Date",
        "Action",
        "Account",
        "Symbol",
        "Volume",
        "Currency",
        "Total",
        "Fee",
        "FeeCurrency",
        "Memo",
        "TxHash",
    ],
    labels: Labels {
        trade: says("BUY"),
        trade_apart: [says("SELL"), says("BUY")],
        carried: Some(marked("BUY", CARRIED)),
        carried_apart: [says(""); 2],
        income: |category| income(category, ["INCOME", "MINING", "INCOME", "INCOME", "INCOME"]),
        fee: says("SPEND"),
        expense: says("SPEND"),
        moved: [says(""); 2],
        locked: [says(""); 2],
        loan: [says(""), marked("BORROW", LOAN)],
        open: [says(""); 2],
    },
    // The row that would carry it may be left out.
    has_fees: false,
    kinds: None,
    takes: Takes::WithWord,
    cells,
};

/// A trade buys what comes in, and what goes out is its total; everything else has no total and is taken at the market's price.
fn cells(pair: &PairRow<'_>) -> Vec<String> {
    let symbol = pair.received.clone().or_else(|| pair.sent.clone());
    let total = pair.sent.clone().filter(|_| pair.received.is_some());
    let amounts = [&symbol, &total, &pair.fee];
    let [symbol, total, [fee_currency, fee]] = amounts.map(PairRow::turned);
    let rest = [fee, fee_currency, pair.description(), pair.hash()];
    [format!("{} +0000", pair.year_first()), pair.label(), pair.wallet()]
        .into_iter()
        .chain(symbol)
        .chain(total)
        .chain(rest)
        .collect()
}
