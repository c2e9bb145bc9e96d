//! The cache over HTTP: what was read once is not fetched again by the same process, after a restart, by another instance, or after a
//! change of rules. What is not final expires after seconds, and what no node could show in full after minutes.

use serde_json::{Value, json};

use super::harness::{Anvil, Postgres, Scenario, Setup, Taxon, free_port, mainnet, rpc, send, wait_for};
use super::hostile::{Proxy, is_look_inside, unknown_method};

/// A service on one chain whose node is counted.
async fn counted(anvil: &Anvil) -> (Proxy, Taxon) {
    let proxy = Proxy::start(&anvil.url, |_, answer| answer).await;
    let taxon = Taxon::start(&[("local", 31_337, &proxy.url)]).await;
    (proxy, taxon)
}

/// A swap whose block the chain calls final.
async fn settled(taxon: &Taxon, scenario: &Scenario) -> String {
    let hash = scenario.named("v2_swap_eth_in").hash.clone();
    let answer = taxon.classify(&hash).await.body;
    assert_eq!(answer["block"]["finalized"], true, "{answer}");
    hash
}

/// The same service, stopped in order and started again with further flags.
async fn restarted(taxon: Taxon, flags: &[&str]) -> Taxon {
    let (mut setup, key) = (taxon.setup.clone(), taxon.key.clone());
    assert_eq!(taxon.stop().await, Some(0));
    setup.flags.extend(flags.iter().map(|flag| (*flag).to_owned()));
    setup.start_on(free_port(), key).await
}

#[tokio::test]
async fn what_is_final_is_read_from_its_nodes_once() {
    let (anvil, scenario) = mainnet().await;
    let (proxy, taxon) = counted(anvil).await;
    let hash = settled(&taxon, scenario).await;
    assert!(proxy.requests() > 0);
    let ask = async |taxon: &Taxon, more: Value| {
        let mut body = json!({ "hash": hash });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = taxon.post("/v1/classify", &body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body
    };
    let first = ask(&taxon, json!({})).await;
    assert_eq!(ask(&taxon, json!({ "chain": "local" })).await, first, "a pin to the right chain changes nothing");
    let explained = ask(&taxon, json!({ "explain": true })).await;
    assert!(explained["evidence"].as_array().unwrap().len() > 1);
    ask(&taxon, json!({ "policy": { "lp": "non_taxable" } })).await;
    assert_eq!(proxy.requests(), 0, "other questions to the same facts ask nobody");

    let taxon = restarted(taxon, &[]).await;
    assert_eq!(ask(&taxon, json!({})).await, first, "the same bytes after a restart");
    assert_eq!(ask(&taxon, json!({ "explain": true })).await, explained);
    assert_eq!(proxy.requests(), 0, "and nobody was asked");

    let shown = taxon.setup.run(&["cache", "show"]);
    for kind in ["verdicts", "facts", "tokens"] {
        assert!(shown.lines().any(|line| line.contains(kind) && line.contains("local")), "{shown}");
    }

    let rules = taxon.setup.data.path().join("rules");
    std::fs::create_dir(&rules).unwrap();
    std::fs::write(rules.join("mine.toml"), PACK).unwrap();
    let taxon = restarted(taxon, &["--rules", rules.to_str().unwrap()]).await;
    let other = ask(&taxon, json!({})).await;
    assert_ne!(other["engine"], first["engine"], "other rules");
    assert_eq!((&other["category"], &other["assets"]), (&first["category"], &first["assets"]));
    assert_eq!(proxy.requests(), 0, "a changed pack reads the kept facts");
}

const PACK: &str = r#"
name  = "My exchange"
about = "Deposit address of an exchange that only we use."
links = ["https://exchange.example.com/addresses", "https://registry.example.org/my-exchange"]

[contracts.deposit]
ethereum = ["0x1234567890123456789012345678901234567890"]

[[transfer]]
with  = "deposit"
way   = "out"
means = "cex_deposit"

[[case]]
about = "Ether sent to the exchange: a move, not a payment."
chain = "ethereum"
moves = ["wallet > deposit: 1000 native"]
reads = "cex_deposit"

[[case]]
about  = "Ether sent to somebody else."
chain  = "ethereum"
moves  = ["wallet > other: 1000 native"]
silent = true
"#;

#[tokio::test]
async fn what_memory_has_no_room_for_comes_from_the_disk() {
    let (anvil, scenario) = mainnet().await;
    let (proxy, taxon) = counted(anvil).await;
    let hash = settled(&taxon, scenario).await;
    let first = taxon.classify(&hash).await.body;
    let (setup, key) = (taxon.setup.clone().with("TAXON_CACHE_MEMORY_MIB", "0"), taxon.key.clone());
    assert_eq!(taxon.stop().await, Some(0));
    let taxon = setup.start_on(free_port(), key).await;
    proxy.requests();
    for body in [json!({ "hash": hash }), json!({ "hash": hash, "chain": "local" })] {
        assert_eq!(taxon.post("/v1/classify", &body).await.body, first, "the verdict");
    }
    let body = json!({ "hash": hash, "policy": { "lp": "non_taxable" } });
    assert_eq!(taxon.post("/v1/classify", &body).await.body["assets"], first["assets"], "from the facts");
    assert_eq!(proxy.requests(), 0);
}

#[tokio::test]
async fn clearing_reaches_a_running_service() {
    let (anvil, scenario) = mainnet().await;
    let (proxy, taxon) = counted(anvil).await;
    let hash = settled(&taxon, scenario).await;
    let nothing = taxon.setup.run(&["cache", "clear", "--chain", "ethereum"]);
    assert_eq!(nothing, "0 rows are forgotten.\n");
    wait_for("rows on disk", async |_| taxon.setup.run(&["cache", "show", "--json"]).lines().count() == 3).await;
    let cleared = taxon.setup.run(&["cache", "clear"]);
    assert!(cleared.ends_with("rows are forgotten.\n") && !cleared.starts_with("0 "), "{cleared}");
    assert_eq!(taxon.setup.run(&["cache", "show"]), "Nothing is kept.\n");
    proxy.requests();
    wait_for("the service to ask again", async |_| {
        assert_eq!(taxon.classify(&hash).await.status, 200);
        proxy.requests() > 0
    })
    .await;
}

#[tokio::test]
async fn callers_at_the_same_moment_share_one_fetch() {
    let (anvil, scenario) = mainnet().await;
    let (proxy, taxon) = counted(anvil).await;
    let body = json!({ "hash": scenario.named("plain_transfer").hash, "chain": "local" });
    let calls = (0..30).map(|_| taxon.post("/v1/classify", &body));
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    let requests = proxy.requests();
    assert!(requests <= 4, "{requests} requests for one transaction");
}

#[tokio::test]
async fn what_is_not_final_is_read_anew_and_a_reorganisation_is_seen() {
    let anvil = Anvil::start(31_337).await;
    let (proxy, taxon) = counted(&anvil).await;
    let accounts = rpc(&anvil.url, "eth_accounts", json!([])).await;
    let sent = json!([{ "from": accounts[0], "to": accounts[1], "value": "0x1" }]);
    let hash = send(&anvil.url, "eth_sendTransaction", sent).await;
    let first = taxon.classify(&hash).await.body;
    assert_eq!((&first["category"], &first["block"]["finalized"]), (&json!("transfer"), &json!(false)), "{first}");
    assert!(!taxon.setup.run(&["cache", "show", "--json"]).contains("facts"), "nothing of it is kept for good");
    proxy.requests();
    wait_for("the facts to be read anew", async |_| {
        assert_eq!(taxon.classify(&hash).await.status, 200);
        proxy.requests() > 0
    })
    .await;
    // The block goes, and its transaction with it.
    rpc(&anvil.url, "anvil_reorg", json!([1, []])).await;
    wait_for("the transaction to be gone", async |_| taxon.classify(&hash).await.status == 404).await;
}

/// A node with traces may be added later, so facts without a trace are not cached for good.
#[tokio::test]
async fn what_no_endpoint_can_trace_is_kept_for_a_while_and_not_for_good() {
    let (anvil, scenario) = mainnet().await;
    let proxy = Proxy::start(
        &anvil.url,
        |question, answer| {
            if is_look_inside(question) { unknown_method(&answer) } else { answer }
        },
    )
    .await;
    let taxon = Taxon::start(&[("local", 31_337, &proxy.url)]).await;
    let hash = settled(&taxon, scenario).await;
    let first = taxon.classify(&hash).await.body;
    proxy.requests();
    assert_eq!(taxon.classify(&hash).await.body, first);
    let explained = taxon.post("/v1/classify", &json!({ "hash": hash, "explain": true })).await;
    assert_eq!((explained.status, proxy.requests()), (200, 0), "verdict and facts are in memory");
    let taxon = restarted(taxon, &[]).await;
    let shown = taxon.setup.run(&["cache", "show", "--json"]);
    assert!(!shown.contains("facts") && !shown.contains("verdicts"), "{shown}");
    assert_eq!(taxon.classify(&hash).await.body, first);
    assert!(proxy.requests() > 0, "it is asked again");
}

#[tokio::test]
async fn instances_on_one_database_share_what_was_read() {
    let (anvil, scenario) = mainnet().await;
    let postgres = Postgres::start();
    let proxy = Proxy::start(&anvil.url, |_, answer| answer).await;
    let taxon = Taxon::start(&[("local", 31_337, &proxy.url)]).await;
    let setup = Setup { data: taxon.setup.data.clone(), ..taxon.setup.clone() };
    let setup = setup.with("TAXON_DATABASE_URL", &postgres.url);
    drop(taxon);
    let one = setup.start().await;
    let hash = settled(&one, scenario).await;
    let first = one.classify(&hash).await.body;
    wait_for("rows in the database", async |_| setup.run(&["cache", "show", "--json"]).lines().count() == 3).await;
    let other = setup.start_on(free_port(), one.key.clone()).await;
    proxy.requests();
    assert_eq!(other.classify(&hash).await.body, first);
    assert_eq!(proxy.requests(), 0);
    setup.run(&["cache", "clear", "--only", "facts"]);
    let explained = other.post("/v1/classify", &json!({ "hash": hash, "explain": true })).await;
    assert_eq!(explained.status, 200);
}
