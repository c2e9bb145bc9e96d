//! Which chain has the hash: detection, pin, correction, absence, and absence that was not shown.

use serde_json::{Value, json};

use super::harness::{Anvil, Taxon, mainnet, rpc, send};

const UNKNOWN: &str = "0x00000000000000000000000000000000000000000000000000000000deadbeef";

async fn an_ether(anvil: &Anvil) -> Value {
    let accounts = rpc(&anvil.url, "eth_accounts", json!([])).await;
    json!([{ "from": accounts[0], "to": accounts[1], "value": "0xde0b6b3a7640000" }])
}

#[tokio::test]
async fn two_nodes_are_two_chains() {
    let (first, second) = (Anvil::start(901).await, Anvil::start(902).await);
    let taxon = Taxon::start(&[("first", 901, &first.url), ("second", 902, &second.url)]).await;
    let hash = send(&second.url, "eth_sendTransaction", an_ether(&second).await).await;

    let detected = taxon.classify(&hash).await;
    assert_eq!((detected.status, detected.body["chain"].as_str()), (200, Some("second")));
    assert_eq!(detected.body.get("chain_corrected"), None);

    let pinned = taxon.post("/v1/classify", &json!({ "hash": hash, "chain": "second" })).await;
    assert_eq!(pinned.body["category"], "transfer");
    assert_eq!(pinned.body["assets"]["sent"][0]["amount"], "1");

    let corrected = taxon.post("/v1/classify", &json!({ "hash": hash, "chain": "first" })).await;
    assert_eq!(corrected.body["chain"], "second");
    assert_eq!(corrected.body["chain_corrected"], json!({ "requested": "first", "detected": "second" }));

    let by_id = taxon.post("/v1/classify", &json!({ "hash": hash, "chain": "902" })).await;
    assert_eq!(by_id.body["chain"], "second", "a decimal chain id is answered with the slug");

    let nowhere = taxon.classify(UNKNOWN).await;
    assert_eq!((nowhere.status, nowhere.code()), (404, "chain_not_detected"));
    let not_there = taxon.post("/v1/classify", &json!({ "hash": UNKNOWN, "chain": "first" })).await;
    assert_eq!((not_there.status, not_there.code()), (404, "tx_not_found"));

    let chains = taxon.get("/chains").await;
    let slugs: Vec<&str> =
        chains.body["chains"].as_array().unwrap().iter().filter_map(|c| c["slug"].as_str()).collect();
    assert_eq!(slugs, ["first", "second"]);
}

#[tokio::test]
async fn a_transaction_in_the_mempool_is_not_yet_mined() {
    let anvil = Anvil::start(903).await;
    let taxon = Taxon::start(&[("local", 903, &anvil.url)]).await;
    rpc(&anvil.url, "evm_setAutomine", json!([false])).await;
    let hash = rpc(&anvil.url, "eth_sendTransaction", an_ether(&anvil).await).await;
    for body in [json!({ "hash": hash }), json!({ "hash": hash, "chain": "local" })] {
        let waiting = taxon.post("/v1/classify", &body).await;
        assert_eq!((waiting.status, waiting.code()), (404, "tx_not_yet_mined"));
    }
    rpc(&anvil.url, "evm_mine", json!([])).await;
    let mined = taxon.classify(hash.as_str().unwrap()).await;
    assert_eq!((mined.status, mined.body["category"].as_str()), (200, Some("transfer")));
}

#[tokio::test]
async fn a_node_that_is_down_is_never_an_absence() {
    let (anvil, scenario) = mainnet().await;
    let nobody = "http://127.0.0.1:9";
    let taxon = Taxon::start(&[("up", 31_337, &anvil.url), ("down", 904, nobody)]).await;
    let hash = &scenario.named("weth_wrap").hash;

    let found = taxon.classify(hash).await;
    assert_eq!(found.body["chain"], "up", "one dead chain does not hide another");

    let unshown = taxon.classify(UNKNOWN).await;
    assert_eq!((unshown.status, unshown.code()), (502, "upstream_unavailable"));

    let pinned = taxon.post("/v1/classify", &json!({ "hash": hash, "chain": "down" })).await;
    assert_eq!((pinned.status, pinned.code()), (502, "upstream_unavailable"));
    assert!(!pinned.body.to_string().contains("127.0.0.1"), "an upstream address never reaches a caller");
}

#[tokio::test]
async fn a_batch_answers_in_input_order_and_keeps_failures_in_their_place() {
    let (anvil, scenario) = mainnet().await;
    let taxon = Taxon::start(&[("local", 31_337, &anvil.url), ("down", 905, "http://127.0.0.1:9")]).await;
    let wrap = &scenario.named("weth_wrap").hash;
    let approval = &scenario.named("approval").hash;
    let batch = taxon
        .post(
            "/v1/classify-batch",
            &json!({ "hashes": [
                { "hash": wrap, "tx_id": "a" },
                { "hash": UNKNOWN, "tx_id": "b", "chain": "down" },
                { "hash": approval, "chain": "local" },
                { "hash": wrap, "tx_id": "d", "chain": "atlantis" },
                { "hash": wrap, "tx_id": "e", "chain": "local", "wallet": "0x00000000000000000000000000000000000000aa" },
                { "hash": wrap, "tx_id": "f" },
            ] }),
        )
        .await;
    assert_eq!((batch.status, batch.body["count"].as_u64()), (200, Some(6)));
    let rows = batch.body["results"].as_array().unwrap();
    let told: Vec<(Option<&str>, &str, Option<&str>)> =
        rows.iter().map(|row| (row["id"].as_str(), row["category"].as_str().unwrap(), row["error"].as_str())).collect();
    assert_eq!(
        told,
        [
            (Some("a"), "wrap", None),
            (Some("b"), "unclassified", Some("upstream_unavailable")),
            (None, "approval", None),
            (Some("d"), "unclassified", Some("unsupported_chain")),
            (Some("e"), "unclassified", Some("wallet_not_in_transaction")),
            (Some("f"), "wrap", None),
        ]
    );
    let failed = &rows[1];
    assert_eq!(failed["treatment"], "needs_review");
    assert!(failed["taxable"].is_null() && failed["needs_review"] == true && failed["confidence"] == 0);
    assert!(failed["review_note"].is_string() && failed["assets"]["sent"] == json!([]));
}

/// One ether from anvil's first account to its second, nonce 0, signed before EIP-155: it carries no chain id.
const UNPROTECTED: &str = "0xf86c8085012a05f2008252089470997970c51812dc3a010c7d01b50e0d17dc79c8880de0b6b3a7640000801ba0\
d720ad6657b2b5cb610b872aa9fba75fe3e931d9c0ad720ae843bdab4b578970a059a46c650d1fe94b5acd06ee87cbbe0a850d51bea7d5f902994a65f283dbedd6";

#[tokio::test]
async fn a_transaction_without_a_chain_id_may_be_on_several_chains() {
    let (first, second) = (Anvil::start(906).await, Anvil::start(907).await);
    let taxon = Taxon::start(&[("first", 906, &first.url), ("second", 907, &second.url)]).await;
    let hash = send(&second.url, "eth_sendRawTransaction", json!([UNPROTECTED])).await;
    let alone = taxon.classify(&hash).await.body;
    assert_eq!((&alone["chain"], &alone["needs_review"]), (&json!("second"), &json!(false)));

    send(&first.url, "eth_sendRawTransaction", json!([UNPROTECTED])).await;
    let both = taxon.classify(&hash).await.body;
    assert_eq!((&both["chain"], &both["taxable"]), (&json!("first"), &json!(null)), "the first in order serves");
    assert!(both["review_note"].as_str().unwrap().contains("also stands on: second"));
}

#[tokio::test]
async fn a_transaction_without_a_chain_id_is_for_review_while_a_chain_cannot_be_asked() {
    let anvil = Anvil::start(908).await;
    let taxon = Taxon::start(&[("up", 908, &anvil.url), ("down", 909, "http://127.0.0.1:9")]).await;
    let hash = send(&anvil.url, "eth_sendRawTransaction", json!([UNPROTECTED])).await;
    let found = taxon.classify(&hash).await.body;
    assert_eq!(
        (&found["chain"], &found["taxable"], &found["needs_review"]),
        (&json!("up"), &json!(null), &json!(true))
    );
    let note = found["review_note"].as_str().unwrap();
    assert!(note.contains("did not answer: down"), "{note}");
    let named = taxon.post("/v1/classify", &json!({ "hash": hash, "chain": "up" })).await.body;
    assert_eq!(
        (&named["chain"], &named["needs_review"]),
        (&json!("up"), &json!(false)),
        "whoever names the chain knows it"
    );
}

#[tokio::test]
async fn a_chain_fails_over_to_its_next_endpoint() {
    let (anvil, scenario) = mainnet().await;
    let endpoints = format!("http://127.0.0.1:9,{}", anvil.url);
    let taxon = Taxon::start(&[("local", 31_337, &endpoints)]).await;
    let answer = taxon.classify(&scenario.named("weth_wrap").hash).await;
    assert_eq!((answer.status, answer.body["category"].as_str()), (200, Some("wrap")));
}
