use engine::Classification;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::line::lines;

/// A swap of 0.8 ETH for 2386.455211 dUSD at 2026-01-01T00:16:12Z, as the service answered it.
fn swap() -> Value {
    let recorded: Value = serde_json::from_str(include_str!("../../../service/src/openapi/examples.json")).unwrap();
    recorded["/v1/classify"]["response"].clone()
}

const TOKEN: &str = "0x5FbDB2315678afecb367f032d93F642f64180aa3";

fn read(table: &str) -> Result<Prices, PriceError> {
    Prices::read(table.as_bytes(), None)
}

/// Value and time of the price for each posting of a reading.
fn values(reading: Value, table: &str) -> Vec<Option<(String, String)>> {
    let row: Classification = serde_json::from_value(reading).unwrap();
    let prices = read(table).unwrap();
    lines(&row).map(|line| prices.of(&line).map(|priced| (priced.value.text(), priced.time))).collect()
}

fn valued(value: &str, time: &str) -> Option<(String, String)> {
    Some((value.to_owned(), time.to_owned()))
}

#[test]
fn the_latest_price_before_the_transaction_is_taken_with_its_time() {
    let table = format!(
        "price,Asset,time,currency\n9,eth,2026-01-01T00:16:13Z,USD\n2990.5,ETH,2026-01-01 00:16:12,USD\n8,ETH,2025-12-31,USD\n\
         1.0001,{TOKEN},2026-01-01T01:00:00+01:00,usd\n"
    );
    let eth = "2026-01-01T00:16:12Z";
    let expected =
        [valued("2392.4", eth), valued("2386.6938565211", "2026-01-01T00:00:00Z"), valued("1.619606952", eth)];
    assert_eq!(values(swap(), &table), expected);
}

#[test]
fn a_price_holds_for_less_than_a_day_and_a_date_for_its_own() {
    let at = |time: &str| values(swap(), &format!("time,asset,currency,price\n{time},ETH,USD,3000\n")).remove(0);
    assert_eq!(at("2026-01-01"), valued("2400", "2026-01-01T00:00:00Z"));
    assert_eq!(at("2025-12-31T00:16:13Z"), valued("2400", "2025-12-31T00:16:13Z"));
    for too_old_or_late in ["2025-12-31", "2025-12-31T00:16:12Z", "2026-01-01T00:16:12.001Z", "2026-01-02"] {
        assert_eq!(at(too_old_or_late), None, "{too_old_or_late}");
    }
}

#[test]
fn a_price_for_the_chain_goes_before_one_for_all() {
    let table = "time,asset,chain,currency,price\n2026-01-01,ETH,,USD,3000\n2026-01-01,ETH,Demo,USD,2000\n2026-01-01,ETH,base,USD,1\n";
    assert_eq!(values(swap(), table)[0], valued("1600", "2026-01-01T00:00:00Z"));
}

#[test]
fn a_token_has_a_price_by_its_address_alone() {
    let table = "time,asset,currency,price\n2026-01-01,dUSD,USD,1\n";
    assert_eq!(values(swap(), table), [None, None, None]);
    let by_address = format!("time,asset,currency,price\n2026-01-01,{TOKEN},USD,2\n");
    let token = |change: fn(&mut Value)| {
        let mut reading = swap();
        change(&mut reading["assets"]["received"][0]);
        values(reading, &by_address).remove(1)
    };
    assert_eq!(token(|_| {}), valued("4772.910422", "2026-01-01T00:00:00Z"));
    assert_eq!(token(|leg| leg["decimals"] = Value::Null), None, "nobody knows how much it is");
    assert_eq!(token(|leg| leg["token_type"] = json!("erc721")), None, "not one price for all of a collection");
    let mut nft = swap();
    nft["assets"]["received"][0]["token_type"] = json!("erc721");
    nft["assets"]["received"][0]["token_id"] = json!("7");
    nft["postings"][1]["amount"] = json!("1");
    let by_id = format!("time,asset,currency,price\n2026-01-01,{TOKEN}/7,USD,500\n2026-01-01,{TOKEN}/8,USD,1\n");
    assert_eq!(values(nft, &by_id)[1], valued("500", "2026-01-01T00:00:00Z"));
}

#[test]
fn what_cannot_be_read_is_told_with_row_and_column() {
    let head = "time,asset,currency,price\n";
    for (rows, told) in [
        (
            "2026-01-01,ETH,USD,3000\n1 January,ETH,USD,1\n",
            "row 3, column `time`: `1 January` is no time or date of ISO 8601",
        ),
        ("2026-01-01,,USD,1\n", "row 2, column `asset`: `` is no coin's symbol or token's address"),
        ("2026-01-01,0x12,USD,1\n", "row 2, column `asset`: `0x12` is no coin's symbol or token's address"),
        ("2026-01-01,ETH,dollars,1\n", "row 2, column `currency`: `dollars` is no code of three letters"),
        ("2026-01-01,ETH,USD,\"3,000.5\"\n", "row 2, column `price`: `3,000.5` is no plain decimal, such as 3120.55"),
        ("2026-01-01,ETH,USD,-1\n", "row 2, column `price`: `-1` is no plain decimal, such as 3120.55"),
        ("2026-01-01,ETH,USD\n", "row 2, column `price`: `` is no plain decimal, such as 3120.55"),
        (
            "2026-01-01,ETH,USD,1\n2026-01-01,BTC,EUR,1\n",
            "row 3, column `currency`: EUR after USD: choose one of them as the currency",
        ),
        (
            "2026-01-01,ETH,USD,1\n2026-01-01T00:00:00Z,eth,USD,2\n",
            "row 3, column `price`: row 2 has another price of the same asset and time",
        ),
        ("", "there are no prices"),
    ] {
        assert_eq!(read(&format!("{head}{rows}")).expect_err("it is refused").to_string(), told);
    }
    assert_eq!(read("time,asset,price\n").expect_err("it is refused"), PriceError::NoColumn("currency"));
    assert!(read(&format!("{head}2026-01-01,ETH,USD,1\n2026-01-01,ETH,USD,1.0\n")).is_ok(), "said twice");
}

#[test]
fn one_currency_of_several_is_chosen() {
    let table = "time,asset,currency,price\n2026-01-01,ETH,USD,3000\n2026-01-01,ETH,eur,2600\n";
    let chosen = |currency| Prices::read(table.as_bytes(), Some(currency));
    let row: Classification = serde_json::from_value(swap()).unwrap();
    let euros = chosen("EUR").unwrap();
    assert_eq!(
        (euros.currency(), euros.of(&lines(&row).next().unwrap()).unwrap().value.text()),
        ("EUR", "2080".to_owned())
    );
    assert_eq!(chosen("GBP").expect_err("it is refused"), PriceError::NoneInCurrency("GBP".to_owned()));
}

#[test]
fn a_spreadsheets_table_is_read_and_one_without_bounds_is_not() {
    let text = "time,asset,currency,price\r\n\"2026-01-01\", ETH ,USD,3000\r\n";
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    for bytes in [format!("\u{feff}{text}").into_bytes(), utf16] {
        assert!(Prices::read(bytes.as_slice(), None).is_ok());
    }
    let endless = std::io::repeat(b'x');
    assert_eq!(Prices::read(endless, None).expect_err("it is refused"), PriceError::TooLong);
}

proptest! {
    #[test]
    fn no_bytes_bring_it_down(bytes in proptest::collection::vec(any::<u8>(), 0..400), cells in "[0-9a-zTZ:,.+\\-\n/ ]{0,200}") {
        let _ = Prices::read(bytes.as_slice(), None);
        let _ = read(&format!("time,asset,currency,price\n{cells}"));
    }
}
