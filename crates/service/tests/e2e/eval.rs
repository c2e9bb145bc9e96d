//! `taxon eval` as a person runs it: a label file, the real binary, the demo chain, and what it prints.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Two right, one right with an NFT, one of another name, one wrong, one inexact, one on no chain.
const LAST_LINE: &str = "score n=7 answered=0.857 auto=0.571 review=0.000 wrong=1 miscat=1 exact=0.600 named=1.000 \
                         contract_broken=0 steps=0/0";

fn labels() -> Vec<Value> {
    let recorded: Value = serde_json::from_str(include_str!("../../../../demo/scenario.json")).unwrap();
    let hash = |name: &str| {
        let transactions = recorded["transactions"].as_array().unwrap();
        transactions.iter().find(|done| done["name"] == name).unwrap()["hash"].clone()
    };
    let at = |name: &str| recorded["addresses"][name].as_str().unwrap().to_owned();
    let friend = at("friend");
    vec![
        json!({ "hash": hash("v2_swap_eth_in"), "chain": "demo", "categories": ["swap"], "protocols": ["uniswap-v2"],
                "movements": { "native": "-800000000000000000", at("dusd"): "2386455211" } }),
        // The same transfer from the view of the other side.
        json!({ "hash": hash("plain_transfer"), "wallet": friend, "categories": ["transfer"],
                "movements": { "native": "250000000000000000" } }),
        json!({ "hash": hash("nft_transfer"), "wallet": friend, "wallet_given": false, "categories": ["nft_transfer"],
                "movements": { at("nft"): "-1" } }),
        json!({ "hash": hash("plain_transfer"), "categories": ["self_transfer"], "movements": null }),
        json!({ "hash": hash("weth_wrap"), "categories": ["swap"], "ignored": true }),
        json!({ "hash": hash("token_transfer"), "categories": ["transfer"], "movements": { at("dusd"): "-120500001" } }),
        json!({ "hash": format!("0x{}", "0".repeat(64)), "chain": "demo", "categories": ["swap"], "movements": {} }),
    ]
}

fn eval(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taxon"));
    command.env("TAXON_RPC_ETHEREUM", "http://127.0.0.1:9").env("TAXON_DATA_DIR", folder).env("TAXON_LOG", "error");
    command.arg("eval").args(arguments).current_dir(folder).output().unwrap()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn folder_with(labels: &[Value]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = labels.iter().map(|label| format!("{label}\n")).collect();
    std::fs::write(folder.path().join("labels.jsonl"), lines).unwrap();
    folder
}

#[test]
fn a_labelled_set_is_judged_and_compared_with_an_earlier_run() {
    let folder = folder_with(&labels());
    let first = printed(&eval(folder.path(), &["labels.jsonl", "--demo", "--chain", "demo", "--out", "old.json"]));
    assert_eq!(first.lines().last(), Some(LAST_LINE), "{first}");
    assert!(first.contains("wrap/non_taxable/"), "the wrong row is listed: {first}");

    let path = folder.path().join("old.json");
    let mut old: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(old["summary"], LAST_LINE);
    let verdicts: Vec<&str> = old["rows"].as_array().unwrap().iter().map(|r| r["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["auto", "auto", "auto", "miscat", "wrong", "auto", "error"]);
    let exact: Vec<&Value> = old["rows"].as_array().unwrap().iter().map(|row| &row["exact"]).collect();
    assert_eq!(
        exact,
        [&json!(true), &json!(true), &json!(true), &json!(null), &json!(null), &json!(false), &json!(false)]
    );

    // An earlier release that knew less of the swap, was right about the wrap, and less sure of the transfer.
    let swap = old["rows"][0].clone();
    for (at, field, value) in [
        (0, "verdict", json!("review")),
        (0, "category", json!("unclassified")),
        (0, "treatment", json!("needs_review")),
        (0, "confidence", json!(45)),
        (4, "verdict", json!("auto")),
        (4, "category", json!("swap")),
        (4, "treatment", json!("disposal")),
        (5, "confidence", json!(61)),
    ] {
        old["rows"][at][field] = value;
    }
    std::fs::write(&path, old.to_string()).unwrap();
    let second = printed(&eval(folder.path(), &["labels.jsonl", "--demo", "--chain", "demo", "--against", "old.json"]));
    let (hash, confidence) = (swap["hash"].as_str().unwrap(), &swap["confidence"]);
    let moved = format!("{hash}: unclassified/needs_review/45 → swap/disposal/{confidence} (better, review → auto)");
    assert!(second.contains(&moved), "{second}");
    assert!(second.contains("(worse, auto → wrong)"), "{second}");
    assert!(second.contains("moved=3 better=1 worse=1 sideways=1 new=0 gone=0"), "{second}");
    assert_eq!(second.lines().last(), Some(LAST_LINE));
}

#[test]
fn a_chain_chooses_the_lines_and_must_be_served() {
    let mut labels = labels();
    labels[1]["chain"] = json!("ethereum");
    let folder = folder_with(&labels);
    let chosen = printed(&eval(folder.path(), &["labels.jsonl", "--demo", "--chain", "demo"]));
    assert!(chosen.lines().last().unwrap().starts_with("score n=6 "), "{chosen}");
    let unknown = eval(folder.path(), &["labels.jsonl", "--demo", "--chain", "nowhere"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(unknown.stdout.is_empty() && String::from_utf8_lossy(&unknown.stderr).contains("`nowhere` is not served"));
}

#[test]
fn what_cannot_be_judged_is_refused() {
    let mut labels = labels();
    labels[2]["categories"] = json!(["minting"]);
    let folder = folder_with(&labels);
    std::fs::write(folder.path().join("empty.jsonl"), "\n").unwrap();
    for (arguments, code, reason) in [
        (["labels.jsonl", "--demo"].as_slice(), 1, "line 3: `minting` is no category"),
        (&["empty.jsonl", "--demo"], 1, "no line to judge"),
        (&["missing.jsonl", "--demo"], 1, "missing.jsonl cannot be read"),
        (&["empty.jsonl", "--demo", "--against", "labels.jsonl"], 1, "no report of `taxon eval`"),
        (&["labels.jsonl", "--worst", "many"], 2, "--worst"),
        (&[], 2, "CORPUS"),
    ] {
        let refused = eval(folder.path(), arguments);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(code), "{said}");
        assert!(said.contains(reason), "{said}");
    }
}
