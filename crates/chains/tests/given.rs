//! A contract that nobody vouches for pays a token back: whether it is a return is read from the token's own transfers in earlier blocks.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail loudly")]

mod written;

use engine::{Category, Classification, Question};
use serde_json::{Value, json};
use written::{BLOCK, said};

const WALLET: &str = "0x4444444444444444444444444444444444444444";
const POOL: &str = "0x5555555555555555555555555555555555555555";
const TOKEN: &str = "0x6666666666666666666666666666666666666666";
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
/// `Withdrawn(address indexed user, uint256 amount)`, as many staking pools log it.
const WITHDRAWN: &str = "0x7084f5476618d8e60b11ef0d7d3f06914655adb8793e28ff7f018d4c76d505d5";

fn word(address: &str) -> String {
    format!("0x{:0>64}", address.trim_start_matches("0x"))
}

fn amount(number: u64) -> String {
    format!("0x{number:064x}")
}

fn transfer(from: &str, to: &str, number: u64) -> Value {
    json!({ "address": TOKEN, "topics": [TRANSFER, word(from), word(to)], "data": amount(number), "logIndex": "0x1" })
}

/// What the node says of the transfers between wallet and pool in these blocks; nothing where it refuses the range.
fn history(from: u64, to: u64, logs: Option<&[Value]>) -> Value {
    let parties = [word(WALLET), word(POOL)];
    let blocks = (format!("{from:#x}"), format!("{to:#x}"));
    let filter = json!([{ "address": TOKEN, "topics": [TRANSFER, parties, parties], "fromBlock": blocks.0, "toBlock": blocks.1 }]);
    said("eth_getLogs", &filter, logs.map(|logs| json!(logs)))
}

/// 100 units of the token come back from a pool that nobody lists.
async fn read(history: &[Value]) -> Classification {
    let withdrawn =
        json!({ "address": POOL, "topics": [WITHDRAWN, word(WALLET)], "data": amount(100), "logIndex": "0x2" });
    let logs = [transfer(POOL, WALLET, 100), withdrawn];
    let answer = written::read("ethereum", (WALLET, POOL), &logs, history.to_vec(), &Question::default()).await;
    answer.expect("the wallet sent it")
}

#[tokio::test]
async fn what_was_given_before_comes_back() {
    let given = [transfer(WALLET, POOL, 150), transfer(POOL, WALLET, 50)];
    let answer = read(&[history(0, BLOCK - 1, Some(&given))]).await;
    assert_eq!((answer.category, answer.needs_review), (Category::StakingWithdraw, false), "{answer:?}");
    assert!(answer.confidence <= 72, "nobody vouches for the pool");
}

#[tokio::test]
async fn a_range_that_a_node_refuses_is_asked_for_in_halves() {
    let late = [transfer(WALLET, POOL, 60)];
    let early = [transfer(WALLET, POOL, 40)];
    let halves = [
        history(0, BLOCK - 1, None),
        history(0, (BLOCK - 1) / 2, Some(&early)),
        history((BLOCK - 1) / 2 + 1, BLOCK - 1, Some(&late)),
    ];
    assert!(!read(&halves).await.needs_review);
}

#[tokio::test]
async fn without_the_proof_a_person_looks() {
    let too_little = [transfer(WALLET, POOL, 150), transfer(POOL, WALLET, 51)];
    for history in [vec![history(0, BLOCK - 1, Some(&too_little))], vec![history(0, BLOCK - 1, Some(&[]))], vec![]] {
        let answer = read(&history).await;
        assert!(answer.needs_review && answer.taxable.is_none(), "{history:?}: {answer:?}");
        assert_eq!(answer.category, Category::StakingWithdraw, "the leaning");
    }
}
