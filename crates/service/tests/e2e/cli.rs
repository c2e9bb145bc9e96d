//! The command line: what it prints, and how it ends.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::harness::demo_scenario;

pub fn taxon(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_taxon"))
        .args(arguments)
        .env("TAXON_DATA_DIR", folder)
        .env("TAXON_RPC_ETHEREUM", "http://user:secret@127.0.0.1:9/credential")
        .env("TAXON_LOG", "error")
        .current_dir(folder)
        .output()
        .unwrap()
}

pub fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn demo_hash(name: &str) -> String {
    demo_scenario().named(name).hash.clone()
}

#[test]
fn a_reading_on_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let hash = demo_hash("v2_swap_eth_in");
    let table = taxon(folder.path(), &["classify", "--demo", "--chain", "demo", &hash]);
    assert_eq!(table.status.code(), Some(0));
    for line in ["swap", "disposal (taxable)", "Uniswap v2", "0.8 ETH", "2386.455211 dUSD", "not tax advice"] {
        assert!(said(&table).contains(line), "{line}: {}", said(&table));
    }
    let json =
        taxon(folder.path(), &["classify", "--demo", "--chain", "demo", "--json", "--policy", "lp=non_taxable", &hash]);
    let answer: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&answer["category"], &answer["chain"]), (&"swap".into(), &"demo".into()));
}

/// Token text comes from strangers: it never drives the terminal.
#[test]
fn hostile_token_text_is_shown_and_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["spam_airdrop", "usdc_imitation_receipt", "fake_transfer"] {
        let output = taxon(folder.path(), &["classify", "--demo", "--chain", "demo", &demo_hash(name)]);
        assert!(!said(&output).chars().any(|c| c.is_control() && c != '\n'), "{name}");
    }
}

/// What nobody has read yet is known and not asked: a hash without a chain goes to the same nodes as before.
#[test]
fn chains_are_listed_that_are_served_or_all_that_are_known() {
    let folder = tempfile::tempdir().unwrap();
    // Without a node of the operator's the public ones serve.
    let listed = |arguments: &[&str]| -> Vec<String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taxon"));
        let output = command.args(arguments).env("TAXON_DATA_DIR", folder.path()).current_dir(folder.path()).output();
        said(&output.unwrap()).lines().skip(1).map(str::to_owned).collect()
    };
    let (served, all) = (listed(&["chains"]), listed(&["chains", "--all"]));
    assert!(all.len() >= 86 && served.len() == 55, "{} of {}", served.len(), all.len());
    let is_arc = |row: &&String| row.split_whitespace().next() == Some("arc");
    assert!(!served.iter().any(|row| is_arc(&row)), "{served:?}");
    let arc = all.iter().find(is_arc).unwrap();
    assert!(arc.contains("not served") && arc.contains("documentation") && arc.contains("https://rpc."), "{arc}");
    assert_eq!(all.iter().filter(|row| row.contains("public endpoints")).count(), served.len());
    assert!(served.iter().all(|row| row.contains("public endpoints")));
}

#[test]
fn exit_codes_tell_failure_from_misuse() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&[&str], i32); 10] = [
        (&["migrate"], 0),
        (&["rules", "check"], 0),
        (&["rules", "show", "aave-v3"], 0),
        (&["chains"], 0),
        (&["chains", "--all"], 0),
        (&["rules", "show", "no-such-pack"], 1),
        (&["keys", "revoke", "nothere1"], 1),
        (&["classify", "0x1"], 2),
        (&["classify", "--policy", "lp=maybe", &format!("0x{}", "a".repeat(64))], 2),
        (&["frobnicate"], 2),
    ];
    for (arguments, code) in cases {
        assert_eq!(taxon(folder.path(), arguments).status.code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn keys_are_made_listed_and_revoked_and_shown_once() {
    let folder = tempfile::tempdir().unwrap();
    let made =
        taxon(folder.path(), &["keys", "create", "--owner", "a@example.com", "--tier", "pro", "--name", "ledger"]);
    let key = said(&made).lines().last().unwrap().to_owned();
    assert!(key.starts_with("txn_") && key.len() == 45, "{key}");
    let listed = said(&taxon(folder.path(), &["keys", "list"]));
    assert!(listed.contains("a@example.com") && listed.contains("ledger") && listed.contains(&key[4..12]));
    assert!(!listed.contains(&key[13..]), "a key is shown once");
    assert_eq!(taxon(folder.path(), &["keys", "revoke", &key]).status.code(), Some(0));
    assert!(said(&taxon(folder.path(), &["keys", "list"])).contains("revoked"));
}

#[test]
fn an_owner_gets_a_link_to_set_a_password() {
    let folder = tempfile::tempdir().unwrap();
    let link = |email: &str| taxon(folder.path(), &["accounts", "link", email]);
    let said_once = said(&link("a@example.com"));
    let token = said_once.lines().last().and_then(|path| path.strip_prefix("/link/")).unwrap().to_owned();
    assert!(token.len() == 64 && token.bytes().all(|byte| byte.is_ascii_hexdigit()), "{said_once}");
    assert!(!said(&link("a@example.com")).contains(&token), "each is another");
    assert_eq!(link("nobody").status.code(), Some(2));
    assert!(!said(&taxon(folder.path(), &["accounts", "list"])).contains("a@example.com"), "it is no account yet");
    assert_eq!(taxon(folder.path(), &["accounts", "operator", "--yes", "a@example.com"]).status.code(), Some(1));
}

#[test]
fn the_configuration_in_force_shows_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let printed = said(&taxon(folder.path(), &["config"]));
    assert!(printed.contains("rpc.ethereum") && printed.contains("redacted"), "{printed}");
    assert!(!printed.contains("secret") && !printed.contains("credential"));
}

#[test]
fn a_broken_pack_is_refused_with_its_file_and_reason() {
    let folder = tempfile::tempdir().unwrap();
    let packs = folder.path().join("packs");
    std::fs::create_dir(&packs).unwrap();
    let event = "[[event]]\non = \"anywhere\"\nwho = [\"a\"]\nmeans = \"swap\"\n";
    let broken = [
        ("[[event]]\non = \"anywhere\"\n".to_owned(), "mine.toml:3: missing field `signature`"),
        (format!("{event}signature = \"A(address\"\n"), "mine.toml:7: `A(address`: signature"),
        (format!("{event}signature = \"A(address a)\"\n"), "mine.toml:1: no case shows what it reads"),
    ];
    for (rows, complaint) in broken {
        std::fs::write(packs.join("mine.toml"), format!("name = \"Mine\"\nabout = \"x\"\n{rows}")).unwrap();
        let output = taxon(folder.path(), &["--rules", packs.to_str().unwrap(), "rules", "check"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(said.contains(complaint), "{said}");
    }
}

#[test]
fn a_pack_reads_as_documentation() {
    let folder = tempfile::tempdir().unwrap();
    let page = said(&taxon(folder.path(), &["rules", "show", "aave-v3"]));
    for part in [
        "# Aave v3",
        "## Where it stands",
        "0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2",
        "## What it says, and what that means for tax",
        "means  collateral_supply, non_taxable. ",
        "## Cases",
        "nothing: the pack is silent",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    let list = said(&taxon(folder.path(), &["rules", "list"]));
    assert!(list.contains("aave-v3") && list.contains(" packs, "), "{list}");
}

const ABI: &str = r#"{ "contractName": "Pool", "abi": [
  { "type": "function", "name": "supply", "stateMutability": "nonpayable", "outputs": [], "inputs": [
    { "name": "asset", "type": "address" }, { "name": "amount", "type": "uint256" },
    { "name": "onBehalfOf", "type": "address" }, { "name": "referralCode", "type": "uint16" }] },
  { "type": "function", "name": "frobnicate", "stateMutability": "nonpayable", "outputs": [], "inputs": [] },
  { "type": "function", "name": "paused", "stateMutability": "view", "outputs": [], "inputs": [] },
  { "type": "event", "name": "Transfer", "anonymous": false, "inputs": [
    { "name": "from", "type": "address", "indexed": true }, { "name": "to", "type": "address", "indexed": true },
    { "name": "value", "type": "uint256", "indexed": false }] }
] }"#;

#[test]
fn an_abi_is_divided_into_what_is_read_silent_and_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pool.json");
    let coverage = |text: &str, more: &[&str]| {
        std::fs::write(&file, text).unwrap();
        let arguments = ["rules", "coverage", "aave-v3", "--on", "pool", "--abi", file.to_str().unwrap()];
        taxon(folder.path(), &[&arguments, more].concat())
    };
    let page = said(&coverage(ABI, &[]));
    for part in [
        "pool: 2 read, 0 silent, 1 unknown",
        "read     supply(address,uint256,address,uint16)  (aave-markets)",
        "read     event Transfer(address,address,uint256)  (movements)",
        "unknown  frobnicate()",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    let row = said(&coverage(ABI, &["--toml"]));
    assert!(row.contains("[[surface]]") && row.contains("unknown = [\n  \"frobnicate()\",\n]"), "{row}");
    let idl = r#"{ "instructions": [{ "name": "depositLiquidity" }] }"#;
    assert!(said(&coverage(idl, &[])).contains("unknown  instruction deposit_liquidity"));
    for (text, complaint) in [("{", "is no JSON"), ("{}", "holds no ABI"), (r#"{"instructions": 7}"#, "is no IDL")] {
        let output = coverage(text, &[]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(said.contains(complaint), "{said}");
    }
}
