//! A contract that no pack lists, and a listed one of the same protocol that can be asked about it.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail loudly")]

mod written;

use engine::{Category, Classification, Question};
use serde_json::{Value, json};
use written::{BLOCK, said};

const WALLET: &str = "0x4444444444444444444444444444444444444444";
const GAUGE: &str = "0x5555555555555555555555555555555555555555";
const TOKEN: &str = "0x6666666666666666666666666666666666666666";
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
/// `Deposit(address indexed from, address indexed to, uint256 amount)`
const DEPOSIT: &str = "0x5548c837ab068cf56a2c2479df0882a4922fd203edb7517321831d95078c5f62";
/// Aerodrome's voter on Base, and its `isGauge(address)`.
const VOTER: &str = "0x16613524e02ad97edfef371bc883f2f5d6c480a5";
const IS_GAUGE: &str = "aa79979b";

fn word(address: &str) -> String {
    format!("0x{:0>64}", address.trim_start_matches("0x"))
}

/// What the voter says of the gauge at a block; nothing where the node refuses.
fn is_gauge(block: &str, answer: Option<&str>) -> Value {
    let data = format!("0x{IS_GAUGE}{}", word(GAUGE).trim_start_matches("0x"));
    said("eth_call", &json!([{ "to": VOTER, "data": data }, block]), answer.map(|answer| json!(answer)))
}

fn then() -> String {
    format!("{BLOCK:#x}")
}

fn yes() -> String {
    format!("0x{:064x}", 1)
}

fn no() -> String {
    format!("0x{:064x}", 0)
}

/// The wallet stakes 100 of a token, and nothing comes back for it.
async fn stake(answers: &[Value]) -> Classification {
    let amount = format!("0x{:064x}", 100);
    let moved =
        json!({ "address": TOKEN, "topics": [TRANSFER, word(WALLET), word(GAUGE)], "data": amount, "logIndex": "0x1" });
    let staked =
        json!({ "address": GAUGE, "topics": [DEPOSIT, word(WALLET), word(WALLET)], "data": amount, "logIndex": "0x2" });
    let question = Question { explain: true, ..Question::default() };
    let answer = written::read("base", (WALLET, GAUGE), &[moved, staked], answers.to_vec(), &question).await;
    answer.expect("the wallet sent it")
}

fn is_staked(answer: &Classification) -> bool {
    answer.category == Category::StakingDeposit && !answer.needs_review
}

#[tokio::test]
async fn what_a_listed_contract_vouches_for_is_read_as_if_it_were_listed() {
    let answer = stake(&[is_gauge(&then(), Some(&yes())), is_gauge("latest", Some(&yes()))]).await;
    assert!(is_staked(&answer), "{answer:?}");
    assert_eq!(answer.protocol.as_deref(), Some("Aerodrome"));
    let evidence = answer.evidence.expect("it was asked for");
    assert!(evidence.iter().any(|row| row.rule == "proof: aerodrome voter isGauge"), "{evidence:?}");
}

#[tokio::test]
async fn a_strangers_contract_is_not_believed() {
    for answers in [
        vec![is_gauge(&then(), Some(&no())), is_gauge("latest", Some(&no()))],
        // It was entered later: then it was not yet the protocol's.
        vec![is_gauge(&then(), Some(&no())), is_gauge("latest", Some(&yes()))],
        // There was no voter yet.
        vec![is_gauge(&then(), Some("0x")), is_gauge("latest", Some(&yes()))],
        // It reverts.
        vec![is_gauge(&then(), None), is_gauge("latest", None)],
        // Rubbish: neither yes nor no, too short, no hex.
        vec![is_gauge(&then(), Some(&format!("0x{:064x}", 2))), is_gauge("latest", None)],
        vec![is_gauge(&then(), Some("0x01")), is_gauge("latest", None)],
        vec![is_gauge(&then(), Some("yes")), is_gauge("latest", None)],
    ] {
        let answer = stake(&answers).await;
        assert!(answer.needs_review, "{answers:?}: {answer:?}");
        assert_eq!(answer.protocol, None, "{answers:?}");
        let evidence = answer.evidence.expect("it was asked for");
        assert!(!evidence.iter().any(|row| row.rule.starts_with("proof:")), "{evidence:?}");
    }
}

#[tokio::test]
async fn where_no_node_has_the_state_of_that_block_the_head_tells() {
    let answer = stake(&[is_gauge(&then(), None), is_gauge("latest", Some(&yes()))]).await;
    assert!(is_staked(&answer), "{answer:?}");
}

/// What Yearn's vaults of version 3.0.4 run, on every chain.
const VAULT_CODE: &str = "d8063123BBA3B480569244AE66BFE72B6c84b00d";
/// `Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares)`
const WITHDRAW: &str = "0xfbde797d201c681b91056529119e0b02407c7bb96a4a2c75c01fc9667232c8db";
const BEACON_SLOT: &str = "0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50";

/// The code of the vault before the block, and what stands in its beacon's slot; nothing where the node refuses.
fn code(code: Option<&str>) -> Vec<Value> {
    let before = format!("{:#x}", BLOCK - 1);
    let slot = said("eth_getStorageAt", &json!([GAUGE, BEACON_SLOT, before]), Some(json!(no())));
    vec![said("eth_getCode", &json!([GAUGE, before]), code.map(|code| json!(code))), slot]
}

fn minimal_proxy_to(target: &str) -> String {
    format!("0x363d3d373d3d3d363d73{target}5af43d82803e903d91602b57fd5bf3").to_lowercase()
}

/// The wallet burns 90 shares of a vault and gets 100 of a token for them.
async fn redeem(answers: &[Value]) -> Classification {
    let (assets, shares) = (format!("0x{:064x}", 100), format!("0x{:064x}", 90));
    let both = format!("{assets}{}", shares.trim_start_matches("0x"));
    let logs = [
        json!({ "address": GAUGE, "topics": [TRANSFER, word(WALLET), no()], "data": shares, "logIndex": "0x1" }),
        json!({ "address": TOKEN, "topics": [TRANSFER, word(GAUGE), word(WALLET)], "data": assets, "logIndex": "0x2" }),
        json!({ "address": GAUGE, "topics": [WITHDRAW, word(WALLET), word(WALLET), word(WALLET)], "data": both, "logIndex": "0x3" }),
    ];
    let question = Question { explain: true, ..Question::default() };
    let answer = written::read("base", (WALLET, GAUGE), &logs, answers.to_vec(), &question).await;
    answer.expect("the wallet sent it")
}

#[tokio::test]
async fn what_runs_a_listed_contracts_code_is_known_by_its_bytes_and_has_no_name() {
    let answer = redeem(&code(Some(&minimal_proxy_to(VAULT_CODE)))).await;
    // Nothing shows that the wallet gave it anything: whoever deployed it may have written shares into its storage.
    assert_eq!((answer.category, answer.needs_review), (Category::VaultWithdraw, true), "{answer:?}");
    assert_eq!(answer.protocol, None);
    let evidence = answer.evidence.expect("it was asked for");
    assert!(evidence.iter().any(|row| row.rule == "proof: code of yearn-v3 vault_code"), "{evidence:?}");
}

#[tokio::test]
async fn other_code_proves_nothing() {
    for bytes in [
        Some(minimal_proxy_to(TOKEN.trim_start_matches("0x"))),
        Some(format!("{}00", &minimal_proxy_to(VAULT_CODE)[..88])),
        // It destroyed itself, or was not there yet.
        Some("0x".to_owned()),
        Some("rubbish".to_owned()),
        // No node has the state of that block: what stands there now may be another contract.
        None,
    ] {
        let answer = redeem(&code(bytes.as_deref())).await;
        assert!(answer.needs_review, "{bytes:?}: {answer:?}");
        let evidence = answer.evidence.expect("it was asked for");
        assert!(!evidence.iter().any(|row| row.rule.starts_with("proof:")), "{evidence:?}");
    }
}
