//! Summ (CryptoTaxCalculator), advanced custom CSV. <https://help.cryptotaxcalculator.io/en/articles/5777675>

use super::pairs::{Labels, PairRow, REVIEW, Takes, Tool, income, marked, says};

pub(super) const TOOL: Tool = Tool {
    columns: &[
        "Timestamp (UTC)",
        "Type",
        "Base Currency",
        "Base Amount",
        "Quote Currency (Optional)",
        "Quote Amount (Optional)",
        "Fee Currency (Optional)",
        "Fee Amount (Optional)",
        "From (Optional)",
        "To (Optional)",
        "Blockchain (Optional)",
        "ID (Optional)",
        "Description (Optional)",
        "Reference Price Per Unit (Optional)",
        "Reference Price Currency (Optional)",
    ],
    labels: Labels {
        trade: says("sell"),
        trade_apart: [says("sell"), says("buy")],
        carried: None,
        carried_apart: [says("swap-out"), says("swap-in")],
        income: |category| income(category, ["airdrop", "mining", "interest", "staking", "income"]),
        fee: says("fee"),
        expense: says("expense"),
        moved: [says("send"), says("receive")],
        locked: [says("staking-deposit"), says("staking-withdrawal")],
        loan: [says("loan-repayment"), says("loan")],
        open: [marked("send", REVIEW), marked("receive", REVIEW)],
    },
    has_fees: true,
    kinds: None,
    takes: Takes::Every,
    cells,
};

/// The base is what is sold; what comes in alone is the base too.
fn cells(pair: &PairRow<'_>) -> Vec<String> {
    let base = pair.sent.clone().or_else(|| pair.received.clone());
    let quote = pair.received.clone().filter(|_| pair.sent.is_some());
    let amounts = [&base, &quote, &pair.fee].map(PairRow::turned).concat();
    let (wallet, nobody) = (pair.wallet(), String::new());
    let ends = if pair.sent.is_some() { [wallet, nobody] } else { [nobody, wallet] };
    let rest = [pair.chain(), pair.hash(), pair.description(), String::new(), String::new()];
    [pair.year_first(), pair.label()].into_iter().chain(amounts).chain(ends).chain(rest).collect()
}
