//! Cryptio's custom template. <https://cryptio.support.site/article/how-to-import-transactions-using-the-custom-csv-template>
//!
//! It has no words for tax: what a row is stands in its note.

use super::pairs::{CARRIED, LOAN, LOCKED, Labels, MOVED, PairRow, REVIEW, Takes, Tool, income, marked, says};

const KINDS: [&str; 3] = ["withdraw", "deposit", "trade"];

pub(super) const TOOL: Tool = Tool {
    columns: &[
        "transactionDate",
        "orderType",
        "txhash",
        "incomingAsset",
        "incomingVolume",
        "incomingUnitRate",
        "incomingTransactionValue",
        "outgoingAsset",
        "outgoingVolume",
        "outgoingUnitRate",
        "outgoingTransactionValue",
        "feeAsset",
        "feeVolume",
        "feeUnitRate",
        "feeTransactionValue",
        "otherParties",
        "note",
    ],
    labels: Labels {
        trade: says(""),
        trade_apart: [says(""); 2],
        carried: Some(marked("", CARRIED)),
        carried_apart: [marked("", CARRIED); 2],
        income: |category| income(category, [""; 5]),
        fee: says(""),
        expense: says(""),
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
    let kind = pair.kind(KINDS);
    let amounts = [&pair.received, &pair.sent, &pair.fee].map(|amount| {
        let [asset, volume] = PairRow::turned(amount);
        [asset, volume, String::new(), String::new()]
    });
    let rest = [String::new(), pair.description()];
    [pair.year_first(), kind, pair.hash()].into_iter().chain(amounts.concat()).chain(rest).collect()
}
