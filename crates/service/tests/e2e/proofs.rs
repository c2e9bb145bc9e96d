//! Contracts that no pack lists, on a real chain: what a listed one of the same protocol says of them, whose code they run and where their makers put
//! them. A stranger's copy gains nothing but that its code is known.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::harness::{Anvil, Scenario, Taxon, chain_file, play_script};

/// What an operator adds: gauges known by the code that they run.
fn pack(scenario: &Scenario) -> String {
    let contract = |name: &str| scenario.contracts[name].clone();
    format!(
        r#"
name  = "Local gauges"
about = "Gauges that copy one contract, or follow one beacon."
links = ["https://example.org/a", "https://example.org/b"]

[contracts.gauge_code]
base = ["{}"]

[contracts.beacon]
base = ["{}"]

[[proof]]
of   = "gauge"
runs = "gauge_code"

[[proof]]
of      = "gauge"
runs    = "beacon"
proxies = ["{}"]

[[event]]
on        = "gauge"
signature = "Deposit(address indexed from, address indexed to, uint256 amount)"
means     = "staking_deposit"
who       = ["to"]
whose     = ["to"]
out       = ["@counterparty=amount"]
"#,
        contract("implementation"),
        contract("beacon"),
        contract("beacon_proxy_code")
    )
}

/// Serves the node as a chain with the contracts of Base, and with the operator's pack.
async fn served(anvil: &Anvil, scenario: &Scenario, folder: &TempDir) -> Taxon {
    let (file, packs) = (folder.path().join("chains.toml"), folder.path().join("packs"));
    let chains = [("local", 31_337, anvil.url.as_str())];
    std::fs::write(&file, chain_file(&chains, "base")).unwrap();
    std::fs::create_dir(&packs).unwrap();
    std::fs::write(packs.join("local-gauges.toml"), pack(scenario)).unwrap();
    let (file, packs) = (file.display().to_string(), packs.display().to_string());
    Taxon::start_with(&chains, &[("TAXON_CHAINS", &file), ("TAXON_RULES", &packs)]).await
}

/// Category, whether a person must look, whose protocol it is, and what proved it.
async fn read(taxon: &Taxon, scenario: &Scenario, name: &str) -> (String, bool, Option<String>, Vec<String>) {
    let request = json!({ "hash": scenario.named(name).hash, "explain": true });
    let answer = taxon.post("/v1/classify", &request).await.body;
    let rules = answer["evidence"].as_array().unwrap().iter().filter_map(|row| row["rule"].as_str());
    let proofs = rules.filter(|rule| rule.starts_with("proof:")).map(str::to_owned).collect();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let category = text(&answer["category"]).unwrap_or_else(|| panic!("{answer}"));
    (category, answer["needs_review"].as_bool().unwrap(), text(&answer["protocol"]), proofs)
}

#[tokio::test]
async fn contracts_that_no_list_names_prove_themselves() {
    let anvil = Anvil::start(31_337).await;
    let scenario = play_script(&anvil, "proofs.mjs").await;
    let folder = tempfile::tempdir().unwrap();
    let taxon = served(&anvil, &scenario, &folder).await;
    let (aerodrome, morpho, nobody): (_, _, Option<&str>) = (Some("Aerodrome"), Some("Morpho"), None);
    let voter = &["proof: aerodrome voter isGauge"][..];
    let factory = &["proof: morpho metamorpho_factory isMetaMorpho"][..];
    let code = &["proof: code of local-gauges gauge_code"][..];
    let beacon = &["proof: code of local-gauges beacon"][..];
    for (name, category, protocol, proofs) in [
        ("pair_swap", "swap", aerodrome, &[][..]),
        ("voters_stake", "staking_deposit", aerodrome, voter),
        ("voters_unstake", "staking_withdraw", aerodrome, voter),
        // A deposit against the vault's own new share needs no proof.
        ("factorys_vault_deposit", "vault_deposit", morpho, &[]),
        ("factorys_vault_withdraw", "vault_withdraw", morpho, factory),
    ] {
        let expected = (category.to_owned(), false, protocol.map(str::to_owned));
        let (category, needs_review, protocol, said) = read(&taxon, &scenario, name).await;
        assert_eq!((category, needs_review, protocol), expected, "{name}: {said:?}");
        assert_eq!(said, proofs, "{name}");
    }
    // Code proves what a contract does, neither a brand nor what stands in its storage: a stranger with that role, and a review that leans to it.
    for (name, proofs) in [("clone_stake", code), ("beacon_stake", beacon)] {
        let (category, needs_review, protocol, said) = read(&taxon, &scenario, name).await;
        assert_eq!(
            (category.as_str(), needs_review, protocol),
            ("staking_deposit", true, nobody.map(str::to_owned)),
            "{name}"
        );
        assert_eq!(said, proofs, "{name}");
    }
    for name in ["strangers_stake", "strangers_clone_stake", "strangers_beacon_stake"] {
        let (_, needs_review, protocol, proofs) = read(&taxon, &scenario, name).await;
        assert!(needs_review && protocol.is_none() && proofs.is_empty(), "{name}: {protocol:?} {proofs:?}");
    }
    // What a stranger's contract gives back is known by the token's own logs.
    for name in ["strangers_unstake", "strangers_vault_withdraw"] {
        let (_, _, _, proofs) = read(&taxon, &scenario, name).await;
        assert!(proofs.is_empty(), "{name}: {proofs:?}");
    }
}
