//! Blocks through the streams: what a fleet reads of them is what REST says of each of their transactions.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::servers::{Server, rows_below};
use crate::blocks::{SENDERS, crowded};
use crate::harness::{Anvil, Setup, Taxon, mainnet, rpc};

/// What a lane holds: rows and dead letters.
fn drained(setup: &Setup, lane: &str) -> (Vec<Value>, Vec<Value>) {
    let folder = setup.data.path().join(lane);
    setup.run(&["drain", "--out", &folder.to_string_lossy(), "--format", "jsonl", "--lane", lane]);
    (rows_below(&folder, "chain="), rows_below(&folder, "dead"))
}

fn hash(row: &Value) -> String {
    row["hash"].as_str().unwrap().to_owned()
}

/// What REST says of each, by hash; nothing of those in which the wallet has no part.
async fn over_rest(taxon: &Taxon, chain: &str, hashes: &[String], wallet: Option<&str>) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for hashes in hashes.chunks(100) {
        let asked: Vec<Value> =
            hashes.iter().map(|hash| json!({ "hash": hash, "chain": chain, "wallet": wallet })).collect();
        let answer = taxon.post("/v1/classify-batch", &json!({ "hashes": asked })).await;
        let rows = answer.body["results"].as_array().unwrap().clone();
        all.extend(
            rows.into_iter().filter(|row| row["error"] != "wallet_not_in_transaction").map(|row| (hash(&row), row)),
        );
    }
    all
}

fn by_hash(rows: Vec<Value>) -> BTreeMap<String, Value> {
    let count = rows.len();
    let all: BTreeMap<String, Value> = rows.into_iter().map(|row| (hash(&row), row)).collect();
    assert_eq!(all.len(), count, "each once");
    all
}

/// Both ways say the same. A transaction that the node is too slow to trace in time is a review, this way or the other, also for a wallet that had no part
/// in it; most must have been in time.
fn assert_same(rows: Vec<Value>, expected: &BTreeMap<String, Value>, lane: &str) {
    let rows = by_hash(rows);
    let hashes: BTreeSet<&String> = rows.keys().chain(expected.keys()).collect();
    let both = hashes.iter().map(|hash| (rows.get(*hash), expected.get(*hash)));
    let differ: Vec<_> = both.filter(|(row, expected)| row != expected).collect();
    for (row, expected) in &differ {
        let is_review = |row: &Option<&Value>| row.is_some_and(|row| row["needs_review"] == true);
        assert!(is_review(row) || is_review(expected), "{lane}: {row:#?} and not {expected:#?}");
    }
    assert!(2 * differ.len() < hashes.len(), "{lane}: {} of {} rows differ", differ.len(), hashes.len());
}

async fn hashes_of(anvil: &Anvil, number: u64) -> Vec<String> {
    let block = rpc(&anvil.url, "eth_getBlockByNumber", json!([format!("{number:#x}"), false])).await;
    block["transactions"].as_array().unwrap().iter().map(|hash| hash.as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn blocks_give_what_rest_gives_of_their_transactions() {
    let server = Server::start();
    let anvil = Anvil::start(31_338).await;
    let number = crowded(&anvil, 45).await;
    let (main, _) = mainnet().await;
    let taxon = Taxon::start(&[("crowd", 31_338, &anvil.url), ("local", 31_337, &main.url)]).await;
    let setup = taxon.setup.clone().with("TAXON_NATS_URL", &server.url);
    setup.run(&["streams", "make"]);
    let feed = |range: &str, chain: &str, more: &[&str]| {
        setup.run(&[&["feed", "--chain", chain, "--blocks", range], more].concat())
    };

    // A block of more than one part; those of two wallets, of which one is nobody; and one that is not there.
    let (here, nobody) = (format!("{number}..{}", number + 1), format!("0x{:040x}", 0xdead));
    assert!(feed(&here, "crowd", &[]).starts_with("1 blocks of crowd to lane feed"));
    feed(&here, "crowd", &["--lane", "wallets", "--wallet", SENDERS[2], "--wallet", &nobody]);
    feed(&format!("{}..{}", number + 5, number + 6), "crowd", &["--lane", "absent"]);
    let latest = rpc(&main.url, "eth_blockNumber", json!([])).await;
    let latest = u64::from_str_radix(latest.as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
    feed(&format!("1..{}", latest + 1), "local", &["--lane", "scenario"]);
    // The same request from two publishers is one.
    let nats = server.client().await;
    for _ in 0..2 {
        let block = json!({ "chain": "crowd", "number": number });
        let request = json!({ "v": 1, "id": "twice", "block": block });
        nats.publish("taxon.requests.twice", request.to_string().into_bytes()).await;
    }
    setup.run(&["work", "--until-empty"]);

    let hashes = hashes_of(&anvil, number).await;
    assert_eq!(hashes.len(), 135);
    let expected = over_rest(&taxon, "crowd", &hashes, None).await;
    for lane in ["feed", "twice"] {
        let (rows, dead) = drained(&setup, lane);
        assert_eq!(dead, Vec::<Value>::new(), "{lane}");
        assert_same(rows, &expected, lane);
    }
    let (mut rows, dead) = drained(&setup, "wallets");
    // Of a transaction that the node is too slow to trace in time nobody can say that an account had no part in it: a review, and no row twice.
    rows.retain(|row| row["perspective"] != nobody || row["needs_review"] != true);
    let own = over_rest(&taxon, "crowd", &hashes, Some(SENDERS[2])).await;
    assert!(own.len() > 45 && own.len() < 135, "{}", own.len());
    assert_eq!(dead, Vec::<Value>::new());
    assert_same(rows, &own, "wallets");
    let (rows, dead) = drained(&setup, "absent");
    assert_eq!((rows.len(), dead.len()), (0, 1));
    assert_eq!((&dead[0]["code"], &dead[0]["block"]), (&json!("not_found"), &json!(number + 5)), "{dead:?}");

    let mut hashes = Vec::new();
    for number in 1..=latest {
        hashes.extend(hashes_of(main, number).await);
    }
    assert!(hashes.len() > 60);
    let (rows, dead) = drained(&setup, "scenario");
    assert_eq!(dead, Vec::<Value>::new());
    assert_same(rows, &over_rest(&taxon, "local", &hashes, None).await, "scenario");

    let again = feed(&here, "crowd", &[]);
    assert!(again.starts_with("0 blocks") && again.contains("--again"), "{again}");
    for wrong in ["7", "9..9", "9..7", "a..b", "-1..5"] {
        let refused = setup.output(&["feed", "--chain", "crowd", &format!("--blocks={wrong}")]);
        assert!(!refused.status.success(), "{wrong}");
    }
    assert!(!setup.output(&["feed", "--blocks", &here]).status.success(), "a chain is needed");
}
