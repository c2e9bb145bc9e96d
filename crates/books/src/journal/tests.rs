use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::formats::{Options, find};

/// Answers of the service: a swap of ETH for dUSD, and ETH and dUSD that are put into a pool.
fn recorded() -> [Value; 2] {
    let recorded: Value = serde_json::from_str(include_str!("../../../service/src/openapi/examples.json")).unwrap();
    [recorded["/v1/classify"]["response"].clone(), recorded["/v1/classify-batch"]["response"]["results"][0].clone()]
}

fn reading(value: Value) -> Classification {
    serde_json::from_value(value).unwrap()
}

const PRICES: &str = "time,asset,currency,price\n2026-01-01,ETH,USD,3000\n\
    2026-01-01,0x5fbdb2315678afecb367f032d93f642f64180aa3,USD,0.999\n";

fn prices() -> Prices {
    Prices::read(PRICES.as_bytes(), None).unwrap()
}

/// Amounts as integers of 10^-24, which holds every product below.
fn units(amount: &str) -> i128 {
    let (sign, amount) = amount.strip_prefix('-').map_or((1, amount), |amount| (-1, amount));
    let (whole, part) = amount.split_once('.').unwrap_or((amount, ""));
    sign * format!("{whole}{part:0<24}").parse::<i128>().unwrap()
}

#[test]
fn quantities_balance_for_each_asset_and_values_too() {
    let (chart, prices) = (Chart::embedded().unwrap(), prices());
    for value in recorded() {
        let row = reading(value);
        let lines = journal_lines(&row, Rules { chart: &chart, prices: Some(&prices) }).unwrap();
        let mut sums: BTreeMap<(Option<Account>, &str), i128> = BTreeMap::new();
        let mut values = 0;
        for line in &lines {
            *sums.entry((line.token_address, &line.symbol)).or_default() += units(&line.quantity);
            values += line.value.as_deref().map_or(0, units);
        }
        assert!(sums.len() >= 2 && sums.values().all(|sum| *sum == 0), "{sums:?}");
        assert_eq!(values, 0);
        assert_eq!(lines.len(), row.postings.as_ref().unwrap().len() * 2);
    }
}

#[test]
fn a_line_tells_account_quantity_value_and_the_prices_time() {
    let (chart, prices) = (Chart::embedded().unwrap(), prices());
    let [swap, _] = recorded();
    let row = reading(swap);
    let lines = journal_lines(&row, Rules { chart: &chart, prices: Some(&prices) }).unwrap();
    let hash = "0x4269acca4df0873843feda1b6ecc1aaececfe3e9b7284969c47bc3e73874a109";
    let expected = json!({
        "hash": hash, "chain": "demo", "wallet": "0x70997970c51812dc3a010c7d01b50e0d17dc79c8", "time": "2026-01-01T00:16:12Z",
        "account": "Assets:Wallets:Demo:0x70997970c51812dc3a010c7d01b50e0d17dc79c8", "account_code": "1000",
        "symbol": "ETH", "quantity": "-0.8", "value": "-2400", "currency": "USD", "price": "3000", "price_time": "2026-01-01T00:00:00Z",
        "entry": "dispose", "category": "swap", "step": null, "needs_review": false,
    });
    assert_eq!(serde_json::to_value(&lines[0]).unwrap(), expected);
    let told: Vec<[&str; 3]> = lines
        .iter()
        .map(|line| [line.account.split(':').next().unwrap(), &line.quantity, line.value.as_deref().unwrap()])
        .collect();
    let expected = [
        ["Assets", "-0.8", "-2400"],
        ["Equity", "0.8", "2400"],
        ["Equity", "-2386.455211", "-2384.068755789"],
        ["Assets", "2386.455211", "2384.068755789"],
        ["Assets", "-0.000541584", "-1.624752"],
        ["Expenses", "0.000541584", "1.624752"],
    ];
    assert_eq!(told, expected);
}

#[test]
fn what_has_no_price_says_so_and_what_has_no_value_needs_none() {
    let chart = Chart::embedded().unwrap();
    let [mut swap, _] = recorded();
    swap["postings"][1]["entry"] = json!("mirror");
    let row = reading(swap);
    let lines = journal_lines(&row, Rules { chart: &chart, prices: None }).unwrap();
    let unpriced: Vec<bool> = lines.iter().map(|line| line.unpriced).collect();
    assert_eq!(unpriced, [true, true, false, false, true, true]);
    assert!(lines.iter().all(|line| line.value.is_none() && line.currency.is_none() && line.price_time.is_none()));
    let prices = prices();
    let lines = journal_lines(&row, Rules { chart: &chart, prices: Some(&prices) }).unwrap();
    assert!(lines[2].value.is_none() && !lines[2].unpriced, "a debt token has no value, whatever its price");
}

#[test]
fn what_cannot_be_booked_is_refused() {
    let fault = |change: fn(&mut Value)| {
        let [mut swap, _] = recorded();
        change(&mut swap);
        check(&reading(swap)).err()
    };
    assert_eq!(fault(|_| {}), None);
    assert_eq!(fault(|row| row["postings"][2]["index"] = json!(9)), None, "gas has one leg");
    assert_eq!(fault(|row| row["postings"][1]["index"] = json!(9)), Some(JournalError::NoLeg(1)));
    assert_eq!(fault(|row| row["postings"][0]["amount"] = json!("-1")), Some(JournalError::NoAmount(0)));
    assert_eq!(fault(|row| row["postings"] = Value::Null), Some(JournalError::NoPostings));
    assert_eq!(fault(|row| row["protocol"] = json!("x".repeat(321))), Some(JournalError::TooLong("protocol")));
    assert_eq!(
        fault(|row| row["assets"]["sent"][0]["symbol"] = json!("x".repeat(321))),
        Some(JournalError::TooLong("symbol"))
    );
}

/// The table of a format, without its header.
fn table(format: &str, readings: Vec<Value>, prices: &str) -> Vec<Vec<String>> {
    let prices = Prices::read(prices.as_bytes(), None).unwrap();
    let options = Options {
        chart: Chart::embedded().unwrap(),
        coins: Default::default(),
        prices: Some(prices),
        scratch: || Ok(Box::new(std::io::Cursor::new(Vec::new()))),
    };
    let mut out = Vec::new();
    let mut rows = readings.into_iter().map(|value| Ok(reading(value).into()));
    find(format).unwrap().write(&mut rows, &options, &mut out).unwrap();
    let records = csv::Reader::from_reader(out.as_slice()).into_records();
    records.map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect()
}

const WALLET: &str = "Assets:Wallets:Demo:0x70997970c51812dc3a010c7d01b50e0d17dc79c8";

#[test]
fn quickbooks_gets_debits_and_credits_that_are_equal() {
    let [swap, _] = recorded();
    let rows = table("quickbooks", vec![swap.clone(), swap.clone()], PRICES);
    let told: Vec<[&str; 4]> =
        rows.iter().take(6).map(|row| [&row[0], &row[2], &row[4], &row[5]].map(String::as_str)).collect();
    let number = "4269acca4df08738";
    let expected = [
        [number, WALLET, "", "2400.00"],
        [number, "Equity:Exchanged", "2400.00", ""],
        [number, "Equity:Exchanged", "", "2384.07"],
        [number, WALLET, "2384.07", ""],
        [number, WALLET, "", "1.62"],
        [number, "Expenses:Fees", "1.62", ""],
    ];
    assert_eq!(told, expected);
    assert_eq!(rows[0][1], "01/01/2026");
    assert_eq!(rows[0][3], "0.8 ETH at 3000 USD of 2026-01-01T00:00:00Z, dispose, swap");
    assert_eq!((rows.len(), rows[6][0].as_str()), (12, "4269acca4df08738-2"), "another view of it is another journal");
    let mut review = swap;
    review["needs_review"] = json!(true);
    assert!(table("quickbooks", vec![review], PRICES).iter().all(|row| row[3].starts_with("REVIEW, not decided: ")));
}

#[test]
fn xero_gets_codes_and_signed_amounts() {
    let [swap, pool] = recorded();
    let rows = table("xero", vec![swap, pool], PRICES);
    let told: Vec<[&str; 4]> =
        rows.iter().map(|row| [&row[1], &row[3], &row[4], &row[5]].map(String::as_str)).collect();
    let date = "01 Jan 2026";
    let expected = [
        [date, "1000", "Tax Exempt", "-2400.00"],
        [date, "3100", "Tax Exempt", "2400.00"],
        [date, "3100", "Tax Exempt", "-2384.07"],
        [date, "1000", "Tax Exempt", "2384.07"],
        [date, "1000", "Tax Exempt", "-1.62"],
        [date, "5100", "Tax Exempt", "1.62"],
    ];
    // Nobody gave a price of the pool's shares, so nothing of that transaction is booked.
    assert_eq!(told, expected);
    let narration = "swap 0x4269acca4df0873843feda1b6ecc1aaececfe3e9b7284969c47bc3e73874a109 of 0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
    assert!(rows.iter().all(|row| row[0] == narration));
}

#[test]
fn a_currency_without_cents_is_booked_without() {
    let [swap, _] = recorded();
    let prices = PRICES.replace("USD", "JPY");
    let amounts: Vec<String> = table("xero", vec![swap], &prices).into_iter().map(|row| row[5].clone()).collect();
    assert_eq!(amounts, ["-2400", "2400", "-2384", "2384", "-2", "2"]);
}
