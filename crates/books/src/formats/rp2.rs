//! RP2, by way of the three tables of dali-rp2's manual plugin.
//! <https://github.com/eprbell/dali-rp2/blob/main/docs/configuration_file.md#manual-section-csv>
//!
//! What is neither acquired nor disposed of is half a transfer: dali-rp2 joins it with the other half, which has the same id, or leaves the other end unknown
//! until a person completes it or recasts it by a hint; RP2 books neither before.

use super::pairs::{CARRIED, LOAN, LOCKED, Labels, PairRow, REVIEW, Takes, Tool, income, marked, says};

/// What dali-rp2 is to look up, or a person to fill in.
const UNKNOWN: &str = "__unknown";
const HOLDER: &str = "Owner";
const FEE: &str = "FEE";
/// Half a transfer that dali-rp2 joins with the other half. The table of transfers has no column for this word or the next: pages show them.
const MOVE: &str = "transfer";
/// Half a transfer whose other half has nobody to write it.
const HALF: &str = "half a transfer";

/// Rows of the other tables have no word here.
const ELSEWHERE: Labels = Labels {
    trade: says(""),
    trade_apart: [says(""); 2],
    carried: None,
    carried_apart: [says(""); 2],
    income: |_| "",
    fee: says(""),
    expense: says(""),
    moved: [says(""); 2],
    locked: [says(""); 2],
    loan: [says(""); 2],
    open: [says(""); 2],
};

pub(super) const IN: Tool = Tool {
    columns: &[
        "Unique ID",
        "Timestamp",
        "Asset",
        "Exchange",
        "Holder",
        "Transaction Type",
        "Spot Price",
        "Crypto In",
        "Crypto Fee",
        "Fiat In No Fee",
        "Fiat In With Fee",
        "Fiat Fee",
        "Notes",
    ],
    labels: Labels {
        trade: says("BUY"),
        trade_apart: [says(""), says("BUY")],
        income: |category| income(category, ["AIRDROP", "MINING", "INTEREST", "STAKING", "INCOME"]),
        ..ELSEWHERE
    },
    has_fees: false,
    kinds: None,
    takes: Takes::WithWord,
    cells: in_cells,
};

pub(super) const OUT: Tool = Tool {
    columns: &[
        "Unique ID",
        "Timestamp",
        "Asset",
        "Exchange",
        "Holder",
        "Transaction Type",
        "Spot Price",
        "Crypto Out No Fee",
        "Crypto Fee",
        "Crypto Out With Fee",
        "Fiat Out No Fee",
        "Fiat Fee",
        "Notes",
    ],
    labels: Labels {
        trade: says("SELL"),
        trade_apart: [says("SELL"), says("")],
        fee: says(FEE),
        expense: says("SELL"),
        ..ELSEWHERE
    },
    has_fees: false,
    kinds: None,
    takes: Takes::WithWord,
    cells: out_cells,
};

pub(super) const INTRA: Tool = Tool {
    columns: &[
        "Unique ID",
        "Timestamp",
        "Asset",
        "From Exchange",
        "From Holder",
        "To Exchange",
        "To Holder",
        "Spot Price",
        "Crypto Sent",
        "Crypto Received",
        "Notes",
    ],
    labels: Labels {
        carried_apart: [marked(HALF, CARRIED); 2],
        moved: [says(MOVE); 2],
        locked: [marked(HALF, LOCKED); 2],
        loan: [marked(HALF, LOAN); 2],
        open: [marked(HALF, REVIEW); 2],
        ..ELSEWHERE
    },
    has_fees: false,
    kinds: None,
    takes: Takes::WithWord,
    cells: intra_cells,
};

fn in_cells(pair: &PairRow<'_>) -> Vec<String> {
    let [amount, asset] = PairRow::pair(&pair.received);
    let worth = [UNKNOWN.to_owned(), amount].into_iter().chain([const { String::new() }; 4]);
    head(pair, "in", asset).into_iter().chain(worth).chain([pair.description()]).collect()
}

/// A fee is nothing but a fee.
fn out_cells(pair: &PairRow<'_>) -> Vec<String> {
    let [amount, asset] = PairRow::pair(&pair.sent);
    let nothing = "0".to_owned();
    let amounts = if pair.label() == FEE { [nothing, amount] } else { [amount, nothing] };
    let worth = std::iter::once(UNKNOWN.to_owned()).chain(amounts).chain([const { String::new() }; 3]);
    head(pair, "out", asset).into_iter().chain(worth).chain([pair.description()]).collect()
}

/// dali-rp2 takes an acquisition and a disposal of the same asset by the same id for a transfer: `side` keeps them apart.
fn head(pair: &PairRow<'_>, side: &str, asset: String) -> [String; 6] {
    [format!("{}-{side}", pair.id()), pair.iso(), asset, exchange(pair), HOLDER.to_owned(), pair.label()]
}

/// Halves are joined by the hash. Where one of many is meant, a person has to say which.
fn intra_cells(pair: &PairRow<'_>) -> Vec<String> {
    let is_joined = pair.label() == MOVE && !pair.is_one_of_many;
    let id = if is_joined { pair.hash() } else { pair.id() };
    let here = [exchange(pair), HOLDER.to_owned()];
    let elsewhere = [const { String::new() }; 2];
    let ([amount, asset], ends, is_out) = match &pair.sent {
        Some(_) => (PairRow::pair(&pair.sent), [here, elsewhere], true),
        None => (PairRow::pair(&pair.received), [elsewhere, here], false),
    };
    let amounts = if is_out { [amount, String::new()] } else { [String::new(), amount] };
    [id, pair.iso(), asset]
        .into_iter()
        .chain(ends.concat())
        .chain([UNKNOWN.to_owned()])
        .chain(amounts)
        .chain([pair.description()])
        .collect()
}

fn exchange(pair: &PairRow<'_>) -> String {
    format!("{} {}", pair.chain(), pair.wallet())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use engine::Classification;
    use serde_json::{Value, json};

    use crate::chart::Chart;
    use crate::formats::{Options, find};

    /// A reading in which ether went out so many times.
    fn sent_ether(times: usize) -> Classification {
        let leg = json!({ "symbol": "ETH", "amount": "1", "action": "transferred", "decimals": 18 });
        let posting = |index: usize| {
            json!({
                "side": "sent", "index": index, "amount": "1", "entry": "move_out", "category": "transfer",
                "treatment": "non_taxable", "taxable": false, "step": null,
            })
        };
        let postings: Vec<Value> = (0..times).map(posting).collect();
        let reading = json!({
            "api_version": "v1", "hash": "0xabc", "chain": "demo", "category": "transfer", "treatment": "non_taxable",
            "confidence": 72, "needs_review": false, "engine": "any", "postings": postings,
            "assets": { "sent": vec![leg; times], "received": [], "gas": null },
            "perspective": "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
        });
        serde_json::from_value(reading).unwrap()
    }

    fn ids(reading: Classification) -> Vec<String> {
        let options = Options {
            chart: Chart::embedded().unwrap(),
            coins: BTreeSet::new(),
            prices: None,
            scratch: || Ok(Box::new(std::io::Cursor::new(Vec::new()))),
        };
        let mut table = Vec::new();
        let rows = &mut std::iter::once(Ok(reading.into()));
        find("rp2-intra").unwrap().write(rows, &options, &mut table).unwrap();
        csv::Reader::from_reader(table.as_slice()).records().map(|row| row.unwrap()[0].to_owned()).collect()
    }

    /// dali-rp2 takes two rows with the same id and asset for the ends of one transfer.
    #[test]
    fn two_transfers_of_one_transaction_are_not_the_ends_of_one() {
        assert_eq!(ids(sent_ether(1)), ["0xabc"]);
        let wallet = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
        assert_eq!(ids(sent_ether(2)), [format!("0xabc-{wallet}-0"), format!("0xabc-{wallet}-1")]);
    }
}
