//! What people do on mainnet, done on a local node with the real contracts, and how it is read.

use serde_json::Value;

use super::harness::{Taxon, mainnet};

/// Name of the transaction; category and treatment; what was sent and received; protocol.
const READINGS: &[(&str, &str, &str, &str)] = &[
    ("plain_transfer", "transfer non_taxable", "0.25 ETH ->", ""),
    ("plain_receipt", "transfer non_taxable", "-> 0.1 ETH", ""),
    ("token_transfer", "transfer non_taxable", "120.5 dUSD ->", ""),
    ("token_receipt", "transfer non_taxable", "-> 40000 dEUR", ""),
    ("approval", "approval non_taxable", "->", ""),
    ("revoke", "revoke non_taxable", "->", ""),
    ("weth_wrap", "wrap non_taxable", "6 ETH -> 6 WETH", ""),
    ("weth_unwrap", "unwrap non_taxable", "1.5 WETH -> 1.5 ETH", ""),
    ("v2_swap_tokens", "swap disposal", "dUSD -> dEUR", "Uniswap v2"),
    ("v2_swap_eth_in", "swap disposal", "ETH -> dUSD", "Uniswap v2"),
    ("v2_swap_eth_refund", "swap disposal", "ETH -> dUSD", "Uniswap v2"),
    ("v2_swap_eth_out", "swap disposal", "dUSD -> ETH", "Uniswap v2"),
    ("v2_liquidity_add", "liquidity_add disposal", "ETH dUSD -> UNI-V2", "Uniswap v2"),
    ("v2_liquidity_remove", "liquidity_remove disposal", "UNI-V2 -> ETH dUSD", "Uniswap v2"),
    ("v3_swap_tokens", "swap disposal", "dEUR -> dUSD", "Uniswap v3"),
    ("v3_swap_eth_in", "swap disposal", "ETH -> dUSD", "Uniswap v3"),
    ("v3_swap_eth_out", "swap disposal", "dEUR -> ETH", "Uniswap v3"),
    ("v3_liquidity_add", "liquidity_add disposal", "dEUR dUSD -> UNI-V3-POS", "Uniswap v3"),
    ("v3_liquidity_add_eth", "liquidity_add disposal", "ETH dUSD -> UNI-V3-POS", "Uniswap v3"),
    ("v3_liquidity_remove", "liquidity_remove disposal", "-> dEUR dUSD", "Uniswap v3"),
    ("v3_liquidity_remove_eth", "liquidity_remove disposal", "-> ETH dUSD", "Uniswap v3"),
    ("v3_collect_fees", "reward income", "-> dEUR dUSD", "Uniswap v3"),
    ("aave_supply", "collateral_supply non_taxable", "WETH -> aEthWETH", "Aave v3"),
    ("aave_borrow", "borrow non_taxable", "-> dUSD variableDebtEthdUSD", "Aave v3"),
    ("aave_repay", "repay non_taxable", "dUSD variableDebtEthdUSD ->", "Aave v3"),
    ("aave_withdraw", "collateral_withdraw non_taxable", "aEthWETH -> WETH", "Aave v3"),
    ("aave_flash_loan", "flash_loan non_taxable", "->", "Aave v3"),
    ("vault_deposit", "vault_deposit non_taxable", "dUSD -> dvUSD", ""),
    ("vault_withdraw", "vault_withdraw non_taxable", "dvUSD -> dUSD", ""),
    ("nft_transfer", "nft_transfer non_taxable", "DBADGE ->", ""),
    ("erc1155_transfer", "nft_transfer non_taxable", "UNKNOWN ->", ""),
    ("erc1155_batch_transfer", "nft_transfer non_taxable", "UNKNOWN UNKNOWN ->", ""),
    ("reverted", "failed_transaction non_taxable", "->", "Uniswap v2"),
    ("contract_deploy", "contract_deploy non_taxable", "->", ""),
    ("legacy_transfer", "transfer non_taxable", "0.03 ETH ->", ""),
    ("access_list_transfer", "transfer non_taxable", "0.04 ETH ->", ""),
    ("zero_value_call", "contract_call non_taxable", "->", ""),
];

/// Symbols, with the amount where the expectation states one.
fn legs(side: &Value, with_amount: bool) -> String {
    let text = |leg: &Value| {
        let symbol = leg["symbol"].as_str().unwrap();
        if with_amount { format!("{} {symbol}", leg["amount"].as_str().unwrap()) } else { symbol.to_owned() }
    };
    let mut legs: Vec<String> = side.as_array().unwrap().iter().map(text).collect();
    legs.sort();
    legs.join(" ")
}

#[tokio::test]
async fn what_people_do_on_mainnet() {
    let (anvil, scenario) = mainnet().await;
    let taxon = Taxon::start(&[("local", 31_337, &anvil.url)]).await;
    let mut told = Vec::new();
    for (name, reading, moved, protocol) in READINGS {
        let done = scenario.named(name);
        let body = serde_json::json!({ "hash": done.hash, "wallet": done.wallet, "explain": true });
        let answer = taxon.post("/v1/classify", &body).await;
        assert_eq!(answer.status, 200, "{name}: {}", answer.body);
        let got = &answer.body;
        let with_amount = moved.contains(|c: char| c.is_ascii_digit()) && !moved.contains("UNI-V");
        let (sent, received) =
            (legs(&got["assets"]["sent"], with_amount), legs(&got["assets"]["received"], with_amount));
        let text = |key: &str| got[key].as_str().unwrap_or_default().to_owned();
        let got_line = format!(
            "{name}: {} {}; {}; {}",
            text("category"),
            text("treatment"),
            format!("{sent} -> {received}").trim(),
            text("protocol")
        );
        let want_line = format!("{name}: {reading}; {moved}; {protocol}");
        if got_line != want_line || got["needs_review"] == true {
            told.push(format!("want {want_line}\n got {got_line} {} {}", got["review_note"], got["evidence"]));
        }
    }
    assert!(told.is_empty(), "{}", told.join("\n"));
}

#[tokio::test]
async fn gas_is_paid_by_the_sender_and_by_nobody_else() {
    let (anvil, scenario) = mainnet().await;
    let taxon = Taxon::start(&[("local", 31_337, &anvil.url)]).await;
    let sent = taxon.classify(&scenario.named("plain_transfer").hash).await;
    assert_eq!(sent.body["assets"]["gas"]["action"], "paid_gas");
    assert_eq!(sent.body["perspective"], scenario.wallet.to_lowercase());
    assert_eq!(sent.body["block"]["timestamp"].as_str().map(str::len), Some("2026-01-01T00:00:00Z".len()));
    let done = scenario.named("plain_receipt");
    let body = serde_json::json!({ "hash": done.hash, "wallet": done.wallet });
    let received = taxon.post("/v1/classify", &body).await;
    assert!(received.body["assets"]["gas"].is_null());
}

#[tokio::test]
async fn policy_flips_the_position_and_keeps_the_other_in_sight() {
    let (anvil, scenario) = mainnet().await;
    let taxon = Taxon::start(&[("local", 31_337, &anvil.url)]).await;
    let hash = &scenario.named("v2_liquidity_add").hash;
    let plain = taxon.classify(hash).await.body;
    let empty = serde_json::json!({ "hash": hash, "policy": { "lp": "nonsense", "colour": "red" } });
    assert_eq!(taxon.post("/v1/classify", &empty).await.body, plain, "what is not known is ignored");
    let flip = serde_json::json!({ "hash": hash, "policy": { "lp": "non_taxable" } });
    let flipped = taxon.post("/v1/classify", &flip).await.body;
    assert_eq!((&plain["treatment"], &plain["taxable"]), (&"disposal".into(), &true.into()));
    assert_eq!((&flipped["treatment"], &flipped["taxable"]), (&"non_taxable".into(), &false.into()));
    assert_eq!((&flipped["category"], &flipped["confidence"]), (&plain["category"], &plain["confidence"]));
    assert_eq!(flipped["ledger_action"], "carry_basis");
    assert_eq!(flipped["grey_area"]["alternate"]["treatment"], "disposal");
    assert_eq!(plain["grey_area"]["alternate"]["treatment"], "non_taxable");
}

#[tokio::test]
async fn own_wallets_make_a_move_a_self_transfer() {
    let (anvil, scenario) = mainnet().await;
    let taxon = Taxon::start(&[("local", 31_337, &anvil.url)]).await;
    let hash = &scenario.named("plain_transfer").hash;
    let foreign = taxon.classify(hash).await.body;
    assert_eq!(foreign["grey_area"]["alternate"]["treatment"], "disposal");
    let own = serde_json::json!({ "hash": hash, "own_wallets": [foreign["assets"]["sent"][0]["to"]] });
    let moved = taxon.post("/v1/classify", &own).await.body;
    assert_eq!((&moved["category"], &moved["grey_area"]), (&"self_transfer".into(), &Value::Null));
}
