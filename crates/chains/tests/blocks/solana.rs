//! Blocks of Solana.

use chains::Upstreams;
use serde_json::{Value, json};

use super::{code, of_block, one_by_one, recorded, said, unsupported};

const SLUG: &str = "demo-solana";
const SLOT: u64 = 1_000;
const TIME: i64 = 1_700_000_000;

fn block_params(slot: u64, details: &str) -> Value {
    json!([slot, {
        "encoding": "json", "maxSupportedTransactionVersion": 0, "transactionDetails": details, "rewards": false,
        "commitment": "confirmed",
    }])
}

/// The recorded transactions in one slot, and what the node says of them one by one.
fn gathered() -> (Value, Vec<Value>) {
    let (mut transactions, mut singles) = (Vec::new(), Vec::new());
    for mut row in recorded(include_str!("../../../../demo/solana.jsonl")) {
        if row["method"] == "getTransaction" {
            let result = &mut row["result"];
            (result["slot"], result["blockTime"]) = (json!(SLOT), json!(TIME));
            let mut told = result.clone();
            for field in ["slot", "blockTime"] {
                told.as_object_mut().unwrap().remove(field);
            }
            transactions.push(told);
        }
        singles.push(row);
    }
    assert!(transactions.len() > 20);
    singles.push(said(SLUG, "getSlot", &json!([{ "commitment": "finalized" }]), &json!(SLOT + 500)));
    let block = json!({
        "blockhash": "4sGjMW1sUnHzSxGspuhpqLDx6wiyjNtZAMdL4VZHirAn", "previousBlockhash": "mfcyqEXB3DnHXki6KjjmZck6YjmZLvpAByy2fj4nh6B",
        "parentSlot": SLOT - 1, "blockTime": TIME, "blockHeight": 7, "transactions": transactions,
    });
    (block, singles)
}

fn upstreams(block: &Value, singles: &[Value]) -> Upstreams {
    let mut exchanges = singles.to_vec();
    exchanges.push(said(SLUG, "getBlock", &block_params(SLOT, "full"), block));
    super::chain(SLUG, &exchanges)
}

fn hashes(block: &Value) -> Vec<String> {
    let all = block["transactions"].as_array().unwrap().iter();
    all.map(|one| one["transaction"]["signatures"][0].as_str().unwrap().to_owned()).collect()
}

/// A validator's vote, or another instruction of the vote program.
fn of_vote_program(instruction: u8) -> Value {
    let data = bs58::encode([instruction, 0, 0, 0, 9, 9]).into_string();
    let signature = bs58::encode([instruction; 64]).into_string();
    let keys = [
        bs58::encode([7; 32]).into_string(),
        bs58::encode([8; 32]).into_string(),
        "Vote111111111111111111111111111111111111111".to_owned(),
    ];
    json!({
        "version": "legacy",
        "meta": { "err": null, "fee": 5000, "preBalances": [10_000, 5, 1], "postBalances": [5_000, 5, 1] },
        "transaction": {
            "signatures": [signature],
            "message": {
                "header": { "numRequiredSignatures": 1, "numReadonlySignedAccounts": 0, "numReadonlyUnsignedAccounts": 1 },
                "accountKeys": keys,
                "instructions": [{ "programIdIndex": 2, "accounts": [1, 0], "data": data }],
            },
        },
    })
}

#[tokio::test]
async fn a_block_tells_what_its_transactions_tell_one_by_one() {
    let (block, singles) = gathered();
    let alone = one_by_one(SLUG, &upstreams(&block, &singles), &hashes(&block)).await;
    let failed = block["transactions"].as_array().unwrap().iter().filter(|one| !one["meta"]["err"].is_null()).count();
    assert!(failed > 0, "failed ones are among them");
    let head = vec![singles.last().unwrap().clone()];
    assert_eq!(of_block(upstreams(&block, &head).block(SLUG, SLOT).await.unwrap()), alone, "and in its order");

    // One that cannot be read is looked up.
    let mut damaged = block.clone();
    damaged["transactions"][3]["meta"]["preBalances"] = json!([]);
    assert_eq!(of_block(upstreams(&damaged, &singles).block(SLUG, SLOT).await.unwrap()), alone);
    let rows = upstreams(&damaged, &head).block(SLUG, SLOT).await.unwrap();
    let failed: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].fetched.is_err()).collect();
    assert_eq!(failed, [3], "and fails alone");
}

#[tokio::test]
async fn votes_are_left_out_and_other_instructions_of_their_program_are_not() {
    let (mut block, singles) = gathered();
    let before = hashes(&block).len();
    let withdrawal = of_vote_program(3);
    for instruction in [2, 6, 8, 9, 12, 13, 14, 15] {
        block["transactions"].as_array_mut().unwrap().insert(0, of_vote_program(instruction));
    }
    block["transactions"].as_array_mut().unwrap().push(withdrawal.clone());
    let rows = upstreams(&block, &singles).block(SLUG, SLOT).await.unwrap();
    assert_eq!(rows.len(), before + 1);
    assert_eq!(rows[before].hash.to_string(), withdrawal["transaction"]["signatures"][0].as_str().unwrap());
}

#[tokio::test]
async fn a_block_that_cannot_be_read_is_none() {
    let (block, singles) = gathered();
    let mut twice = block.clone();
    let first = twice["transactions"][0].clone();
    twice["transactions"].as_array_mut().unwrap().push(first);
    let mut signatures = block.clone();
    signatures["transactions"] = json!(hashes(&block));
    for (what, told, expected) in [
        ("a transaction twice", twice, "upstream_inconsistent"),
        ("signatures only", signatures, "upstream_bad_response"),
        ("no block", json!(7), "upstream_bad_response"),
    ] {
        let error = upstreams(&told, &singles).block(SLUG, SLOT).await.map(|rows| rows.len()).unwrap_err();
        assert_eq!(code(&error), expected, "{what}: {error:?}");
    }
}

#[tokio::test]
async fn a_slot_without_a_block_is_told_from_one_that_no_node_has() {
    let (_, singles) = gathered();
    let range = json!([SLOT, SLOT + 64, { "commitment": "confirmed" }]);
    let listed = |slots: &[u64]| said(SLUG, "getBlocks", &range, &json!(slots));
    let next = |parent: u64| {
        let told = json!({ "parentSlot": parent, "blockTime": TIME });
        said(SLUG, "getBlock", &block_params(SLOT + 2, "none"), &told)
    };
    let head = |slot: u64| said(SLUG, "getSlot", &json!([{ "commitment": "finalized" }]), &json!(slot));
    for (what, answers, expected) in [
        ("skipped", vec![listed(&[SLOT + 2, SLOT + 3]), next(SLOT - 1)], "0"),
        ("the next follows it", vec![listed(&[SLOT + 2]), next(SLOT)], "upstream_unavailable"),
        ("listed", vec![listed(&[SLOT, SLOT + 2]), next(SLOT - 1)], "upstream_unavailable"),
        ("not yet", vec![listed(&[]), head(SLOT - 30)], "no_block"),
        ("pruned", vec![listed(&[])], "upstream_unavailable"),
        ("nobody knows", vec![], "upstream_unavailable"),
    ] {
        let told = [singles.clone(), answers].concat();
        let block = super::chain(SLUG, &told).block(SLUG, SLOT).await;
        let got = block.map_or_else(|error| code(&error).to_owned(), |rows| rows.len().to_string());
        assert_eq!(got, expected, "{what}");
    }
}

#[tokio::test]
async fn a_node_without_blocks_is_named_as_the_cause() {
    let (_, singles) = gathered();
    let none = unsupported(SLUG, "getBlock", &block_params(SLOT, "full"));
    let upstreams = super::chain(SLUG, &[singles, vec![none]].concat());
    for _ in 0..2 {
        let error = upstreams.block(SLUG, SLOT).await.map(|rows| rows.len()).unwrap_err();
        let chains::FetchError::Upstream { error, .. } = error else { panic!("{error:?}") };
        assert!(error.to_string().contains("`getBlock`"), "{error}");
    }
}
