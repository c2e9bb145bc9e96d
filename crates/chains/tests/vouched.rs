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
