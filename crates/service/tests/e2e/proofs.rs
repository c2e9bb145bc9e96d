//! Contracts that no pack lists, on a real chain: a listed one of the same protocol is asked about them, and a stranger's copy of the same code gains nothing.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::harness::{Anvil, Taxon, chain_file, play_script};

const PROOF: &str = "proof: aerodrome voter isGauge";

/// Serves the node as a chain with the contracts of Base.
async fn served(anvil: &Anvil, folder: &TempDir) -> Taxon {
    let file = folder.path().join("chains.toml");
    let chains = [("local", 31_337, anvil.url.as_str())];
    std::fs::write(&file, chain_file(&chains, "base")).unwrap();
    Taxon::start_with(&chains, &[("TAXON_CHAINS", &file.display().to_string())]).await
}

async fn explained(taxon: &Taxon, hash: &str) -> Value {
    taxon.post("/v1/classify", &json!({ "hash": hash, "explain": true })).await.body
}

fn is_proved(answer: &Value) -> bool {
    answer["evidence"].as_array().unwrap().iter().any(|row| row["rule"] == PROOF)
}

#[tokio::test]
async fn a_listed_contract_is_asked_about_one_that_is_not() {
    let anvil = Anvil::start(31_337).await;
    let scenario = play_script(&anvil, "proofs.mjs").await;
    let folder = tempfile::tempdir().unwrap();
    let taxon = served(&anvil, &folder).await;
    for (name, category) in [("voters_stake", "staking_deposit"), ("voters_unstake", "staking_withdraw")] {
        let answer = explained(&taxon, &scenario.named(name).hash).await;
        assert_eq!((&answer["category"], &answer["needs_review"]), (&json!(category), &json!(false)), "{answer}");
        assert_eq!(answer["protocol"], "Aerodrome", "{answer}");
        assert!(is_proved(&answer), "{answer}");
    }
    let answer = explained(&taxon, &scenario.named("strangers_stake").hash).await;
    assert_eq!((&answer["needs_review"], &answer["taxable"]), (&json!(true), &Value::Null), "{answer}");
    assert!(answer["protocol"].is_null() && !is_proved(&answer), "{answer}");
    // What the stranger's copy gives back is known by the token's own logs, and it has no name.
    let answer = explained(&taxon, &scenario.named("strangers_unstake").hash).await;
    assert!(answer["protocol"].is_null() && !is_proved(&answer), "{answer}");
}
