//! Whole tables: what goes in, and what real ledgers say of what comes out. Run `tests/ledgers/install` once before (`./test` does).

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use books::chart::Chart;
use books::formats::{Options, find};
use engine::Classification;
use serde_json::Value;
use tempfile::TempDir;

use super::cli::{said, taxon};
use super::harness::{demo_scenario, root};

/// Rows of `demo/demo.csv`.
const DEMO_ROWS: usize = 85;

fn demo_table() -> String {
    root().join("demo/demo.csv").display().to_string()
}

/// Writes the demo chains in a format.
fn export(folder: &TempDir, format: &str, more: &[&str]) -> (PathBuf, Output) {
    let out = folder.path().join(format!("out.{format}"));
    let (table, path) = (demo_table(), out.display().to_string());
    let arguments = ["bulk", &table, "--demo", "--format", format, "--out", &path];
    let output = taxon(folder.path(), &[&arguments, more].concat());
    (out, output)
}

fn exported(folder: &TempDir, format: &str) -> PathBuf {
    let (out, output) = export(folder, format, &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    out
}

fn judged(program: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}; run tests/ledgers/install", program.display()));
    let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {told}", program.display());
    String::from_utf8(output.stdout).unwrap()
}

/// Amounts as integers of 10^-18; no token of the demo chains has more decimals.
fn units(amount: &str) -> i128 {
    const PLACES: usize = 18;
    let (sign, amount) = amount.strip_prefix('-').map_or((1, amount), |amount| (-1, amount));
    let (whole, part) = amount.split_once('.').unwrap_or((amount, ""));
    sign * format!("{whole}{part:0<PLACES$}").parse::<i128>().unwrap()
}

/// What each wallet gained and lost of each asset, from the whole readings; assets by both ends of their contract.
fn moved(jsonl: &Path) -> BTreeMap<(String, String), i128> {
    let mut moved = BTreeMap::new();
    for line in std::fs::read_to_string(jsonl).unwrap().lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let wallet = row["perspective"].as_str().unwrap().to_owned();
        let assets = &row["assets"];
        let sent = assets["sent"].as_array().unwrap().iter().map(|leg| (leg, -1));
        let received = assets["received"].as_array().unwrap().iter().map(|leg| (leg, 1));
        let gas = assets["gas"].as_object().map(|_| (&assets["gas"], -1));
        for (leg, sign) in sent.chain(received).chain(gas) {
            let asset = match leg["token_address"].as_str() {
                // Addresses of Solana are written otherwise in a ledger.
                Some(token) if token.starts_with("0x") => {
                    let id =
                        (leg["token_type"] == "erc1155").then(|| format!("-{}", leg["token_id"].as_str().unwrap()));
                    format!("{}{}{}", &token[2..10], &token[34..], id.unwrap_or_default()).to_uppercase()
                }
                Some(_) => continue,
                None => leg["symbol"].as_str().unwrap().to_owned(),
            };
            *moved.entry((wallet.clone(), asset)).or_default() += sign * units(leg["amount"].as_str().unwrap());
        }
    }
    moved.retain(|_, amount| *amount != 0);
    moved
}

#[test]
fn real_ledgers_accept_what_is_exported_and_balance_to_what_moved() {
    let folder = tempfile::tempdir().unwrap();
    let beancount = exported(&folder, "beancount");
    judged(&root().join("target/ledgers/venv/bin/bean-check"), &[beancount.to_str().unwrap()]);
    let journal = exported(&folder, "hledger");
    let journal = journal.to_str().unwrap();
    judged(Path::new("hledger"), &["-f", journal, "check", "--strict"]);
    let ledger = judged(Path::new("ledger"), &["-f", journal, "balance"]);
    assert_eq!(ledger.lines().last().map(str::trim), Some("0"), "{ledger}");
    let balances =
        judged(Path::new("hledger"), &["-f", journal, "balance", "Assets:Wallets", "--flat", "-N", "-O", "csv"]);
    let mut booked = BTreeMap::new();
    for record in csv::Reader::from_reader(balances.as_bytes()).records() {
        let record = record.unwrap();
        let wallet = record[0].rsplit(':').next().unwrap().to_owned();
        for amount in record[1].split(", ") {
            let (amount, commodity) = amount.split_once(' ').unwrap();
            let commodity = commodity.trim_matches('"');
            let asset = commodity.split_once('-').map_or(commodity, |(_, contract)| contract).to_owned();
            booked.insert((wallet.clone(), asset), units(amount));
        }
    }
    let moved = moved(&exported(&folder, "jsonl"));
    assert!(moved.len() > 20, "{moved:?}");
    for (key, amount) in &moved {
        assert_eq!(booked.get(key), Some(amount), "{key:?}");
    }
}

#[test]
fn every_posting_is_a_row_that_a_spreadsheet_can_read() {
    let folder = tempfile::tempdir().unwrap();
    let table = exported(&folder, "csv");
    let mut reader = csv::Reader::from_path(&table).unwrap();
    let rows: Vec<BTreeMap<String, String>> = reader.deserialize().map(Result::unwrap).collect();
    let hashes: std::collections::BTreeSet<&str> = rows.iter().map(|row| row["hash"].as_str()).collect();
    assert_eq!(hashes.len(), DEMO_ROWS);
    for row in &rows {
        let is_open = row["entry"] == "open";
        assert!(!is_open || row["needs_review"] == "true" && row["taxable"].is_empty(), "{row:?}");
        assert!(row.values().all(|cell| !cell.starts_with(['=', '+', '@', '\t'])), "{row:?}");
        assert!(row.values().all(|cell| !cell.chars().any(char::is_control)), "{row:?}");
    }
    let swap = demo_scenario().named("v2_swap_eth_in").hash.clone();
    let entries: Vec<(&str, &str)> = rows
        .iter()
        .filter(|row| row["hash"] == swap)
        .map(|row| (row["entry"].as_str(), row["account"].as_str()))
        .collect();
    let expected = [("dispose", "Equity:Exchanged"), ("acquire", "Equity:Exchanged"), ("expense", "Expenses:Fees")];
    assert_eq!(entries, expected);
}

/// Prices of the coin and of the demo dollar for the day of the demo chain.
const PRICES: &str = "time,asset,currency,price\n2026-01-01,ETH,USD,2983.07\n2026-01-01,SOL,USD,150.5\n\
    2026-01-01,0x5fbdb2315678afecb367f032d93f642f64180aa3,USD,0.9995\n";

fn priced(folder: &TempDir) -> String {
    let path = folder.path().join("prices.csv");
    std::fs::write(&path, PRICES).unwrap();
    path.display().to_string()
}

#[test]
fn ledgers_balance_with_prices_and_tell_their_time() {
    let folder = tempfile::tempdir().unwrap();
    let prices = priced(&folder);
    let (beancount, output) = export(&folder, "beancount", &["--prices", &prices]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said(&output).contains(" have no price\n  no price  "), "{}", said(&output));
    judged(&root().join("target/ledgers/venv/bin/bean-check"), &[beancount.to_str().unwrap()]);
    let (journal, output) = export(&folder, "hledger", &["--prices", &prices]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let path = journal.to_str().unwrap();
    judged(Path::new("hledger"), &["-f", path, "check", "--strict"]);
    for (program, arguments) in [("hledger", &["balance", "-B"][..]), ("ledger", &["balance"][..])] {
        let balance = judged(Path::new(program), &[&["-f", path], arguments].concat());
        assert_eq!(balance.lines().last().map(str::trim), Some("0"), "{program}: {balance}");
    }
    for (file, line) in [
        (&beancount, "  -0.8 ETH @ 2983.07 USD\n    price-time: \"2026-01-01T00:00:00Z\"\n"),
        (&journal, "  -0.8 \"ETH\" @ 2983.07 \"USD\"  ; price-time: 2026-01-01T00:00:00Z\n"),
    ] {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.contains(line), "{}", file.display());
    }
}

/// Rows of a table, by their columns.
fn read_table(path: &Path) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_path(path).unwrap().deserialize().map(Result::unwrap).collect()
}

#[test]
fn every_posting_has_its_value_and_the_prices_time() {
    let folder = tempfile::tempdir().unwrap();
    let (out, _) = export(&folder, "csv", &["--prices", &priced(&folder), "--currency", "usd"]);
    let swap = demo_scenario().named("v2_swap_eth_in").hash.clone();
    let rows = read_table(&out);
    let told: Vec<[&str; 4]> = rows
        .iter()
        .filter(|row| row["hash"] == swap)
        .map(|row| ["value", "currency", "price", "price_time"].map(|column| row[column].as_str()))
        .collect();
    let day = "2026-01-01T00:00:00Z";
    let expected = [
        ["2386.456", "USD", "2983.07", day],
        ["2385.2619833945", "USD", "0.9995", day],
        ["1.61558298288", "USD", "2983.07", day],
    ];
    assert_eq!(told, expected);
    assert!(rows.iter().any(|row| row["entry"] == "acquire" && row["value"].is_empty() && row["currency"].is_empty()));
}

#[test]
fn bookkeeping_programs_get_whole_transactions_that_balance() {
    let folder = tempfile::tempdir().unwrap();
    let prices = priced(&folder);
    let cents = |amount: &str| amount.replace('.', "").parse::<i64>().unwrap_or(0);
    let told = |output: &Output| String::from_utf8(output.stderr.clone()).unwrap();
    let (out, output) = export(&folder, "quickbooks", &["--prices", &prices]);
    // Pool shares and other tokens have no price: the rest is written, and nothing is silent.
    assert_eq!(output.status.code(), Some(1));
    assert!(
        told(&output).contains("are left out for want of a price; add the prices, and say --resume"),
        "{}",
        told(&output)
    );
    assert!(said(&output).contains("  no price  UNI-V2 0x"), "{}", said(&output));
    let mut sums: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for row in read_table(&out) {
        let sum = sums.entry(row["Journal No"].clone()).or_default();
        *sum = (sum.0 + cents(&row["Debits"]), sum.1 + cents(&row["Credits"]));
        assert!(row["Journal No"].len() <= 21 && row["Debits"].is_empty() != row["Credits"].is_empty(), "{row:?}");
    }
    assert!(sums.len() > 15 && sums.values().all(|(debits, credits)| debits == credits), "{sums:?}");
    let number = demo_scenario().named("v2_liquidity_add").hash[2..18].to_owned();
    assert!(!sums.contains_key(&number), "a part of a transaction is never booked");

    let (out, _) = export(&folder, "xero", &["--prices", &prices]);
    let mut sums: BTreeMap<(String, String), i64> = BTreeMap::new();
    for row in read_table(&out) {
        assert!(row["*AccountCode"].parse::<u16>().is_ok() && row["*TaxRate"] == "Tax Exempt", "{row:?}");
        *sums.entry((row["*Narration"].clone(), row["*Date"].clone())).or_default() += cents(&row["*Amount"]);
    }
    assert!(sums.len() > 15 && sums.values().all(|sum| *sum == 0), "{sums:?}");
    assert!(sums.keys().any(|(narration, _)| narration.starts_with("REVIEW: ")), "{sums:?}");
}

#[test]
fn what_was_left_out_is_booked_once_its_price_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let prices = priced(&folder);
    let scenario = demo_scenario();
    let [table, out] = ["table.txt", "out.csv"].map(|name| folder.path().join(name));
    let hashes = ["v2_swap_eth_in", "v2_liquidity_add"].map(|name| scenario.named(name).hash.clone());
    std::fs::write(&table, hashes.join("\n")).unwrap();
    let (table, path) = (table.display().to_string(), out.display().to_string());
    let arguments = ["bulk", &table, "--demo", "--format", "xero", "--prices", &prices, "--out", &path];
    let output = taxon(folder.path(), &arguments);
    assert!(said(&output).contains("1 rows in ") && output.status.code() == Some(1), "{}", said(&output));
    assert_eq!(read_table(&out).len(), 6);
    let shares = "0x4d1c32e03be6cfef038d2e4ab2ae7ef74e509b64";
    std::fs::write(&prices, format!("{PRICES}2026-01-01T00:17:00+00:00,{shares},USD,100000000\n")).unwrap();
    let output = taxon(folder.path(), &[&arguments[..], &["--resume"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = read_table(&out);
    let is_shares = |row: &&BTreeMap<String, String>| {
        row["Description"].contains(" UNI-V2 at 100000000 USD of 2026-01-01T00:17:00Z, ")
    };
    let amounts: Vec<&str> = rows.iter().filter(is_shares).map(|row| row["*Amount"].as_str()).collect();
    assert_eq!((rows.len(), amounts), (14, vec!["-5493.62", "5493.62"]));
}

#[test]
fn prices_that_are_of_no_use_are_told_before_anything_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let prices = priced(&folder);
    let broken = folder.path().join("broken.csv").display().to_string();
    std::fs::write(&broken, "time,asset,currency,price\n2026-01-01,ETH,USD,\"2,983.07\"\n").unwrap();
    let chart = folder.path().join("chart.toml").display().to_string();
    std::fs::write(&chart, "wallet = { account = \"A\" }\n[[account]]\naccount = \"B\"\ncode = \"1\"\n").unwrap();
    for (format, arguments, complaint) in [
        ("quickbooks", vec![], "quickbooks is in a currency: it needs --prices FILE"),
        ("koinly", vec!["--prices", &prices], "koinly takes no prices"),
        ("csv", vec!["--prices", &broken], "row 2, column `price`: `2,983.07` is no plain decimal"),
        ("csv", vec!["--prices", &prices, "--currency", "EUR"], "there is no price in EUR"),
        (
            "xero",
            vec!["--prices", &prices, "--chart", &chart],
            "xero knows accounts by their codes, and the chart has none for A",
        ),
    ] {
        let (out, output) = export(&folder, format, &arguments);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains(complaint), "{told}");
        assert!(!out.exists(), "{format}");
    }
}

/// Types that DuckDB sees in an export; every other column is text.
const TYPED: [(&str, &str); 8] = [
    ("time", "TIMESTAMP WITH TIME ZONE"),
    ("taxable", "BOOLEAN"),
    ("row_taxable", "BOOLEAN"),
    ("confidence", "INTEGER"),
    ("needs_review", "BOOLEAN"),
    ("price_time", "TIMESTAMP WITH TIME ZONE"),
    ("decided_at", "TIMESTAMP WITH TIME ZONE"),
    ("signed_at", "TIMESTAMP WITH TIME ZONE"),
];

fn duckdb(arguments: &[&str]) -> String {
    let script = root().join("tests/ledgers/parquet_by_duckdb.py").display().to_string();
    let python = root().join("target/ledgers/venv/bin/python");
    judged(&python, &[&[script.as_str()], arguments].concat())
}

#[test]
fn a_database_reads_the_same_from_parquet_as_a_spreadsheet_from_csv() {
    let folder = tempfile::tempdir().unwrap();
    let table = exported(&folder, "parquet");
    let read = duckdb(&["read", table.to_str().unwrap()]);
    let mut lines = read.lines();
    let columns: Vec<(String, String)> = serde_json::from_str(lines.next().unwrap()).unwrap();
    let mut spreadsheet = csv::Reader::from_path(exported(&folder, "csv")).unwrap();
    let titles: Vec<&str> = spreadsheet.headers().unwrap().iter().collect();
    assert_eq!(columns.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), titles);
    for (name, kind) in &columns {
        let expected = TYPED.iter().find(|(typed, _)| typed == name).map_or("VARCHAR", |(_, kind)| kind);
        assert_eq!(kind, expected, "{name}");
    }
    let rows: Vec<Vec<Option<String>>> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    let records: Vec<csv::StringRecord> = spreadsheet.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), records.len());
    for (row, record) in rows.iter().zip(&records) {
        for ((cell, written), (name, _)) in row.iter().zip(record).zip(&columns) {
            let expected = match name.as_str() {
                "time" => written.parse::<jiff::Timestamp>().unwrap().as_millisecond().to_string(),
                // Only a spreadsheet needs the quote before what looks like a formula.
                _ => written.strip_prefix('\'').unwrap_or(written).to_owned(),
            };
            assert_eq!(cell.as_deref().unwrap_or_default(), expected, "{name} of {record:?}");
        }
    }
}

#[test]
fn a_table_of_a_database_goes_in() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table.parquet").display().to_string();
    duckdb(&["write", &demo_table(), &table]);
    let out = folder.path().join("out.csv");
    let output = taxon(folder.path(), &["bulk", &table, "--demo", "--out", out.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said(&output).starts_with(&format!("{DEMO_ROWS} transactions, from column `hash`, chain from `chain`")));
    assert_eq!(std::fs::read(&out).unwrap(), std::fs::read(exported(&folder, "csv")).unwrap());
}

/// Formats of tax tools, with the columns that hold what was sold, what was bought, and what a person must be told.
const TOOLS: [(&str, &str, &str, &str); 16] = [
    ("awaken", "Sent Currency", "Received Currency", "Notes"),
    ("bitcointax", "Currency", "Symbol", "Memo"),
    ("bittytax", "Sell Asset", "Buy Asset", "Note"),
    ("blockpit", "Outgoing Asset", "Incoming Asset", "Comment (optional)"),
    ("coinledger", "Asset Sent", "Asset Received", "Description (Optional)"),
    ("coinpanda", "Sent Currency", "Received Currency", "Description"),
    ("cointracking", "Sell Currency", "Buy Currency", "Comment"),
    ("cryptio", "outgoingAsset", "incomingAsset", "note"),
    ("divly", "sent_currency", "received_currency", "custom_description"),
    ("koinly", "Sent Currency", "Received Currency", "Description"),
    ("kryptos", "Sent Asset", "Received Asset", "Description"),
    ("recap", "OutOrSellCurrency", "InOrBuyCurrency", "Description"),
    ("summ", "Base Currency", "Quote Currency (Optional)", "Description (Optional)"),
    ("taxbit", "sent_currency", "received_currency", "transaction_id"),
    ("tokentax", "SellCurrency", "BuyCurrency", "Comment"),
    ("zenledger", "Out Currency", "IN Currency", "Exchange(optional)"),
];

#[test]
fn every_tool_gets_the_trade_and_the_mark_of_a_review() {
    let folder = tempfile::tempdir().unwrap();
    let swap = demo_scenario().named("v2_swap_eth_in").hash.clone();
    // Read once: each start of the program takes a second.
    let readings = std::fs::read_to_string(exported(&folder, "jsonl")).unwrap();
    let options = Options {
        chart: Chart::embedded().unwrap(),
        coins: ["ETH", "SOL"].map(str::to_owned).into(),
        prices: None,
        scratch: || Ok(Box::new(Cursor::new(Vec::new()))),
    };
    for (format, sold, bought, told) in TOOLS {
        let mut table = Vec::new();
        let mut read = readings.lines().map(|line| Ok(serde_json::from_str::<Classification>(line)?.into()));
        find(format).unwrap().write(&mut read, &options, &mut table).unwrap();
        let rows: Vec<BTreeMap<String, String>> =
            csv::Reader::from_reader(table.as_slice()).deserialize().map(Result::unwrap).collect();
        let is_swap = |row: &&BTreeMap<String, String>| row.values().any(|cell| cell.contains(&swap));
        let trades: Vec<(&str, &str)> = rows
            .iter()
            .filter(is_swap)
            .map(|row| (row[sold].as_str(), row[bought].as_str()))
            .filter(|(sold, bought)| !sold.is_empty() && !bought.is_empty())
            .collect();
        assert_eq!(trades, [("ETH", "dUSD")], "{format}");
        assert!(rows.iter().any(|row| row[told].starts_with("REVIEW")), "{format}");
        // An imitation of a listed token never goes by its symbol.
        assert!(rows.iter().all(|row| row.values().all(|cell| !cell.contains('\u{202e}'))), "{format}");
    }
    read_by("bittytax", &folder, &[&exported(&folder, "bittytax")]);
}

/// What a tax tool makes of tables, by a script of `tests/ledgers`.
fn read_by(tool: &str, folder: &TempDir, tables: &[&Path]) -> String {
    let python = root().join("target/ledgers/venv/bin/python");
    // Settings and logs go where the tool runs.
    let output = Command::new(&python)
        .arg(root().join(format!("tests/ledgers/read_as_{tool}.py")))
        .args(tables)
        .env("HOME", folder.path())
        .current_dir(folder.path())
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}; run tests/ledgers/install", python.display()));
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// `2024-12-13T22:29:35Z` as `12/13/2024 22:29:35`.
fn month_first(time: &str) -> String {
    format!("{}/{}/{} {}", &time[5..7], &time[8..10], &time[..4], &time[11..19])
}

#[test]
fn cointracker_gets_no_row_that_would_need_a_mark() {
    let folder = tempfile::tempdir().unwrap();
    let table = exported(&folder, "cointracker");
    let rows: Vec<BTreeMap<String, String>> =
        csv::Reader::from_path(&table).unwrap().deserialize().map(Result::unwrap).collect();
    let readings: Vec<Value> = std::fs::read_to_string(exported(&folder, "jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    // No column holds the hash: the demo chains have one transaction a second at most.
    let of = |reading: &Value| -> Vec<[String; 3]> {
        let time = month_first(reading["block"]["timestamp"].as_str().unwrap());
        let cells =
            |row: &BTreeMap<String, String>| ["Sent Currency", "Received Currency", "Tag"].map(|it| row[it].clone());
        rows.iter().filter(|row| row["Date"] == time).map(cells).collect()
    };
    let named = |name: &str| {
        let hash = demo_scenario().named(name).hash.clone();
        of(readings.iter().find(|reading| reading["hash"] == hash).unwrap())
    };
    let gas = ["ETH", "", ""].map(str::to_owned);
    assert_eq!(named("v2_swap_eth_in"), [gas.clone(), ["ETH", "dUSD", ""].map(str::to_owned)]);
    for moved_or_carried in ["plain_transfer", "weth_wrap", "v2_liquidity_add"] {
        assert_eq!(named(moved_or_carried), std::slice::from_ref(&gas), "{moved_or_carried}");
    }
    let reviews: Vec<&Value> = readings.iter().filter(|reading| reading["needs_review"] == true).collect();
    assert!(!reviews.is_empty() && reviews.iter().all(|reading| of(reading).is_empty()), "{reviews:?}");
}

/// The three tables for RP2, as dali-rp2 reads them.
fn read_by_rp2(folder: &TempDir, table: &str) -> Vec<Value> {
    let tables = ["rp2-in", "rp2-out", "rp2-intra"].map(|format| {
        let out = folder.path().join(format!("{format}.csv"));
        let path = out.display().to_string();
        let output = taxon(folder.path(), &["bulk", table, "--demo", "--format", format, "--out", &path]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        out
    });
    let read = read_by("dali_rp2", folder, &tables.each_ref().map(PathBuf::as_path));
    read.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn rp2_gets_trades_and_leaves_what_is_not_decided_without_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let read = read_by_rp2(&folder, &demo_table());
    let swap = demo_scenario().named("v2_swap_eth_in").hash.trim_start_matches("0x").to_owned();
    let booked: Vec<[&str; 4]> = read
        .iter()
        .filter(|one| one["unique_id"].as_str().unwrap().starts_with(&swap))
        .map(|one| ["table", "transaction_type", "asset", "spot_price"].map(|field| one[field].as_str().unwrap()))
        .collect();
    let expected = [
        ["InTransaction", "Buy", "dUSD", "__unknown"],
        ["OutTransaction", "Fee", "ETH", "__unknown"],
        ["OutTransaction", "Sell", "ETH", "__unknown"],
    ];
    assert_eq!(booked, expected);
    let open: Vec<&Value> = read
        .iter()
        .filter(|one| one["table"] == "IntraTransaction" && one["notes"].as_str().unwrap().starts_with("REVIEW"))
        .collect();
    let has_no_end = |one: &&Value| one["from_exchange"] == "__unknown" || one["to_exchange"] == "__unknown";
    assert!(!open.is_empty() && open.iter().all(has_no_end), "{open:?}");
}

#[test]
fn rp2_gets_one_transfer_from_both_of_its_wallets() {
    let folder = tempfile::tempdir().unwrap();
    let transfer = demo_scenario().named("plain_transfer").hash.clone();
    let (sender, recipient) =
        ("0x70997970c51812dc3a010c7d01b50e0d17dc79c8", "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc");
    let table = folder.path().join("table.csv");
    let text = format!("hash,chain,wallet\n{transfer},demo,{sender}\n{transfer},demo,{recipient}\n");
    std::fs::write(&table, text).unwrap();
    let read = read_by_rp2(&folder, &table.display().to_string());
    let moved: Vec<[&str; 4]> = read
        .iter()
        .filter(|one| one["table"] == "IntraTransaction")
        .map(|one| {
            ["from_exchange", "to_exchange", "crypto_sent", "crypto_received"].map(|it| one[it].as_str().unwrap())
        })
        .collect();
    assert_eq!(moved, [[&format!("demo {sender}"), &format!("demo {recipient}"), "0.25", "0.25"]]);
}

#[test]
fn koinly_gets_trades_swaps_and_marks() {
    let folder = tempfile::tempdir().unwrap();
    let table = exported(&folder, "koinly");
    let rows: Vec<BTreeMap<String, String>> =
        csv::Reader::from_path(&table).unwrap().deserialize().map(Result::unwrap).collect();
    let of = |name: &str| -> Vec<&BTreeMap<String, String>> {
        let hash = demo_scenario().named(name).hash.clone();
        rows.iter().filter(|row| row["TxHash"] == hash).collect()
    };
    let cells = |row: &BTreeMap<String, String>| {
        ["Sent Currency", "Received Currency", "Fee Currency", "Label"].map(|column| row[column].clone())
    };
    assert_eq!(of("v2_swap_eth_in").iter().map(|row| cells(row)).collect::<Vec<_>>(), [["ETH", "dUSD", "ETH", ""]]);
    assert_eq!(of("weth_wrap").iter().map(|row| cells(row)).collect::<Vec<_>>(), [["ETH", "WETH", "ETH", "swap"]]);
    let several = of("v2_liquidity_add");
    let is_told = |row: &&BTreeMap<String, String>| row["Description"].starts_with("One of several assets");
    assert!(several.len() == 2 && several.iter().all(is_told), "{several:?}");
    let reviews: Vec<_> = rows.iter().filter(|row| row["Description"].starts_with("REVIEW")).collect();
    assert!(
        !reviews.is_empty() && reviews.iter().all(|row| row["Label"].is_empty() || row["Label"] == "cost"),
        "{reviews:?}"
    );
}

#[test]
fn a_run_that_stopped_goes_on_and_reads_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(exported(&folder, "csv")).unwrap();
    // One hash is on no chain: the others are written, and the run can be gone on with.
    let missing = format!("0x{}", "ab".repeat(32));
    let table = folder.path().join("table.csv");
    let text = std::fs::read_to_string(demo_table()).unwrap();
    std::fs::write(&table, format!("{text}{missing},demo\n")).unwrap();
    let out = folder.path().join("out.csv");
    let part = folder.path().join("out.csv.part");
    let (table, path) = (table.display().to_string(), out.display().to_string());
    let run = |more: &[&str]| taxon(folder.path(), &[&["bulk", &table, "--demo", "--out", &path], more].concat());
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains(&format!("not classified  {missing}  ")), "{}", said(&output));
    assert_eq!(std::fs::read(&out).unwrap(), whole);
    let kept = std::fs::read(&part).unwrap();
    // The machine went down in the middle of a line.
    let line_ends: Vec<usize> = kept.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    assert_eq!(line_ends.len(), DEMO_ROWS + 1);
    std::fs::write(&part, &kept[..line_ends[40] + 100]).unwrap();
    let complaint = |output: &Output| String::from_utf8(output.stderr.clone()).unwrap();
    let output = run(&[]);
    assert!(complaint(&output).contains("say --resume to go on with it"), "{}", complaint(&output));
    let output = run(&["--resume", "--policy", "lp=non_taxable"]);
    assert!(complaint(&output).contains("made with other rules or options"), "{}", complaint(&output));
    std::fs::write(&table, &text).unwrap();
    let output = run(&["--resume"]);
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(std::fs::read(&out).unwrap(), whole, "the same file as in one go");
    assert!(!part.exists());
}

#[test]
fn a_broken_table_is_refused_before_anything_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table.csv");
    let (path, out) = (table.display().to_string(), folder.path().join("out.csv").display().to_string());
    for (text, complaint) in [
        ("a,b\n1,2\n", "no column holds hashes of transactions; the columns are: a, b"),
        ("", "the file has no rows"),
        ("{\"hash\":\n", "row 1 is no line of a table"),
        ("PAR1\n", "the file begins as Parquet and cannot be read: it has no end"),
    ] {
        std::fs::write(&table, text).unwrap();
        let output = taxon(folder.path(), &["bulk", &path, "--demo", "--out", &out]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(told.contains(complaint), "{told}");
        assert!(!Path::new(&out).exists());
    }
    assert_eq!(taxon(folder.path(), &["bulk", &path, "--out", &out, "--format", "abacus"]).status.code(), Some(2));
}
