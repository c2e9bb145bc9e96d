//! The pool: what counts, what is free, who shares it, and that it is never overshot. All of it over HTTP, and read back from the
//! books with the command line.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::crash::within;
use super::harness::{Answer, Setup, Taxon, demo_scenario, read};

const NOBODYS: &str = "0xabababababababababababababababababababababababababababababababab";

fn hash(name: &str) -> String {
    demo_scenario().named(name).hash.clone()
}

fn item(name: &str) -> Value {
    json!({ "hash": hash(name), "tx_id": name })
}

fn upper(hash: &str) -> String {
    hash.to_uppercase().replacen("0X", "0x", 1)
}

/// The demo chain and no other: what is not there is known to be nowhere.
fn demo_alone() -> Setup {
    let mut setup = Setup::demo().with("TAXON_RPC_DEMO", "http://127.0.0.1:9");
    setup.env.remove("TAXON_RPC_ETHEREUM");
    setup
}

/// A service, and a key whose pool is this small.
async fn pool_of(places: &str) -> (Taxon, String) {
    let taxon = demo_alone().start().await;
    let key = contracted(&taxon, "pool@example.com", places);
    (taxon, key)
}

fn contracted(taxon: &Taxon, owner: &str, places: &str) -> String {
    taxon.setup.key(owner, "enterprise", &["--pool", places])
}

async fn single(taxon: &Taxon, key: &str, hash: &str) -> Answer {
    taxon.post_as(key, "/v1/classify", &json!({ "hash": hash })).await
}

async fn batch(taxon: &Taxon, key: &str, items: &[Value]) -> Answer {
    taxon.post_as(key, "/v1/classify-batch", &json!({ "hashes": items })).await
}

/// Each row's error, or else its category, in input order.
async fn outcomes(taxon: &Taxon, key: &str, items: &[Value]) -> Vec<String> {
    let answer = batch(taxon, key, items).await;
    assert_eq!((answer.status, &answer.body["count"]), (200, &json!(items.len())), "{}", answer.body);
    let rows = answer.body["results"].as_array().unwrap();
    for (row, item) in rows.iter().zip(items) {
        assert_eq!((&row["hash"], &row["id"]), (&item["hash"], &item["tx_id"]), "in input order");
    }
    rows.iter().map(|row| row.get("error").unwrap_or(&row["category"]).as_str().unwrap().to_owned()).collect()
}

async fn verdict(taxon: &Taxon, key: &str, hash: &str) -> Answer {
    let request = taxon.raw(Method::GET, &format!("/quota-status?hash={hash}")).bearer_auth(key);
    read(request.send().await.unwrap()).await
}

async fn used(taxon: &Taxon, key: &str) -> Value {
    taxon.quota(key).await["used"].clone()
}

fn dev(used: i64, limit: i64) -> Value {
    json!({ "kind": "dev", "used": used, "limit": limit, "remaining": limit - used, "repeat": false,
            "exceeded": used >= limit, "resets": "monthly" })
}

fn dev_repeat(limit: i64) -> Value {
    json!({ "kind": "dev", "used": null, "limit": limit, "remaining": null, "repeat": true, "exceeded": false,
            "resets": "monthly" })
}

fn refusal(answer: &Answer) -> (u16, &str) {
    assert!(answer.body["error"]["message"].is_string(), "{}", answer.body);
    (answer.status, answer.code())
}

#[tokio::test]
async fn without_a_key_the_daily_pool_of_the_address_is_shown() {
    let taxon = Setup::demo().start().await;
    let expected = json!({ "kind": "anon", "used": 0, "limit": 10, "remaining": 10, "repeat": false, "exceeded": false,
                           "resets": "daily" });
    assert_eq!(taxon.get("/quota-status").await.body, expected);
    assert_eq!(taxon.get(&format!("/quota-status?hash={}", hash("weth_wrap"))).await.body, expected);
    assert_eq!(refusal(&taxon.get("/quota-status?hash=0x1").await), (400, "invalid_hash"));
}

#[tokio::test]
async fn an_operator_sets_the_free_pools() {
    let taxon = Setup::demo().with("TAXON_POOL_ANON", "4").with("TAXON_POOL_DEV", "3").start().await;
    assert_eq!(taxon.get("/quota-status").await.body["limit"], 4);
    assert_eq!(taxon.quota(&taxon.key).await, dev(0, 3));
    for (tier, pool) in [("pro", 25_000), ("platform", 120_000), ("enterprise", 250_000)] {
        let key = taxon.setup.key(&format!("{tier}@example.com"), tier, &[]);
        assert_eq!(taxon.quota(&key).await, dev(0, pool), "the paid tiers are what they are");
    }
}

#[tokio::test]
async fn a_hash_counts_once_and_what_is_free_never() {
    let taxon = Setup::demo().start().await;
    let (swap, transfer) = (hash("v2_swap_eth_in"), hash("plain_transfer"));
    assert_eq!(taxon.quota(&taxon.key).await, dev(0, 250));
    assert_eq!(verdict(&taxon, &taxon.key, &swap).await.body, dev(0, 250), "asking is free");
    for (sent, why) in [
        (swap.clone(), "a swap counts"),
        (transfer.clone(), "a plain transfer is free"),
        (swap.clone(), "a repeat is free"),
        (upper(&swap), "in whatever case it is written"),
    ] {
        assert_eq!(taxon.classify(&sent).await.status, 200);
        assert_eq!(taxon.quota(&taxon.key).await, dev(1, 250), "{why}");
    }
    let with_policy = json!({ "hash": swap, "chain": "demo", "policy": { "lp": "non_taxable" }, "explain": true });
    assert_eq!(taxon.post("/v1/classify", &with_policy).await.status, 200);
    assert_eq!(verdict(&taxon, &taxon.key, &swap).await.body, dev_repeat(250), "whatever it was asked with");
    assert_eq!(verdict(&taxon, &taxon.key, &upper(&swap)).await.body, dev_repeat(250));
    assert_eq!(verdict(&taxon, &taxon.key, &transfer).await.body, dev(1, 250), "classified, and not counted");
    for malformed in ["", "0x1", &swap[2..], "%00"] {
        assert_eq!(refusal(&verdict(&taxon, &taxon.key, malformed).await), (400, "invalid_hash"), "{malformed}");
    }
    assert_eq!(taxon.quota(&taxon.key).await, dev(1, 250), "no question was counted");
}

#[tokio::test]
async fn a_partner_has_no_counter() {
    let taxon = Setup::demo().start().await;
    let key = taxon.setup.key("partner@example.com", "partner", &[]);
    let swap = hash("v2_swap_eth_in");
    let said =
        |repeat: bool| json!({ "kind": "partner", "metered": "billing-rail", "repeat": repeat, "exceeded": false });
    assert_eq!(verdict(&taxon, &key, &swap).await.body, said(false));
    assert_eq!(single(&taxon, &key, &swap).await.status, 200);
    assert_eq!(verdict(&taxon, &key, &swap).await.body, said(true));
    assert_eq!(taxon.quota(&key).await, said(false));
}

#[tokio::test]
async fn a_key_that_is_not_valid_is_not_shown_the_anonymous_pool() {
    let taxon = Setup::demo().start().await;
    let revoked = taxon.setup.key("gone@example.com", "dev", &[]);
    taxon.setup.run(&["keys", "revoke", &revoked]);
    let forged = format!("Bearer {}{}", &taxon.key[..13], "A".repeat(32));
    let (revoked, basic) = (format!("Bearer {revoked}"), format!("Basic {}", taxon.key));
    for header in ["", "Bearer", "Bearer ", "Bearer nonsense", &forged, &revoked, &basic] {
        let request = taxon.raw(Method::GET, "/quota-status").header("authorization", header);
        let answer = read(request.send().await.unwrap()).await;
        assert_eq!(refusal(&answer), (401, "unauthorized"), "{header}");
    }
}

#[tokio::test]
async fn an_exhausted_pool_serves_what_it_can() {
    let (taxon, key) = pool_of("3").await;
    let names = ["v2_swap_eth_in", "weth_wrap", "v2_liquidity_add", "aave_supply", "v3_swap_tokens"];
    let items: Vec<Value> = names.into_iter().map(item).collect();
    let answer = batch(&taxon, &key, &items).await;
    assert_eq!((answer.status, &answer.body["count"]), (200, &json!(5)));
    for (at, name) in names.into_iter().enumerate() {
        let row = &answer.body["results"][at];
        if at < 3 {
            assert_eq!((&row["hash"], row.get("error")), (&json!(hash(name)), None));
            continue;
        }
        let refused = json!({ "api_version": "v1", "id": name, "error": "quota_exceeded", "hash": hash(name),
            "chain": null, "category": "unclassified", "treatment": "needs_review", "taxable": null, "confidence": 0,
            "needs_review": true, "ledger_action": "review", "protocol": null, "description": null,
            "review_note": row["review_note"], "grey_area": null, "engine": row["engine"],
            "assets": { "sent": [], "received": [], "gas": null } });
        assert_eq!(*row, refused, "an errored row has every field that is always present");
        assert!(row["review_note"].is_string() && row["engine"].is_string());
    }
    assert_eq!(taxon.quota(&key).await, dev(3, 3), "exceeded, and nothing remains");
    assert_eq!(refusal(&single(&taxon, &key, &hash(names[3])).await), (402, "quota_exceeded"));
    assert_eq!(single(&taxon, &key, &hash(names[0])).await.status, 200, "a repeat is served");
    assert_eq!(refusal(&batch(&taxon, &key, &items[3..]).await), (402, "quota_exceeded"), "nothing of it could be");
    let mixed = [items[3].clone(), items[1].clone()];
    assert_eq!(outcomes(&taxon, &key, &mixed).await, ["quota_exceeded", "wrap"]);
    assert_eq!(taxon.quota(&key).await, dev(3, 3));
}

#[tokio::test]
async fn the_free_give_their_place_to_the_next_of_their_batch() {
    let (taxon, key) = pool_of("1").await;
    let items = ["plain_transfer", "approval", "v2_swap_eth_in", "weth_wrap"].map(item);
    assert_eq!(outcomes(&taxon, &key, &items).await, ["transfer", "approval", "swap", "quota_exceeded"]);
    assert_eq!(taxon.quota(&key).await, dev(1, 1));
    let untried = single(&taxon, &key, &hash("legacy_transfer")).await;
    assert_eq!(refusal(&untried), (402, "quota_exceeded"), "whether it is free is known only after a look");
    assert_eq!(single(&taxon, &key, &hash("plain_transfer")).await.status, 200, "a free row can be repeated too");
    let items = [item("weth_wrap"), json!({ "hash": hash("weth_wrap"), "chain": "atlantis" })];
    assert_eq!(outcomes(&taxon, &key, &items).await, ["quota_exceeded", "unsupported_chain"], "not all is for quota");
}

#[tokio::test]
async fn what_fails_gives_its_place_back() {
    let (taxon, key) = pool_of("1").await;
    let swap = hash("v2_swap_eth_in");
    let unsupported = json!({ "hash": swap, "chain": "atlantis" });
    assert_eq!(outcomes(&taxon, &key, std::slice::from_ref(&unsupported)).await, ["unsupported_chain"]);
    assert_eq!(refusal(&single(&taxon, &key, NOBODYS).await), (404, "chain_not_detected"));
    assert_eq!(taxon.quota(&key).await, dev(0, 1));
    let strange = json!({ "hash": swap, "wallet": "0x00000000000000000000000000000000000000aa" });
    assert_eq!(outcomes(&taxon, &key, std::slice::from_ref(&strange)).await, ["wallet_not_in_transaction"]);
    assert_eq!(taxon.quota(&key).await, dev(0, 1));
    let items = [
        unsupported,
        json!({ "hash": NOBODYS }),
        json!({ "hash": NOBODYS.replace("ab", "cd"), "chain": "demo" }),
        item("reverted"),
        item("v3_swap_tokens"),
        item("weth_wrap"),
    ];
    let expected =
        ["unsupported_chain", "chain_not_detected", "tx_not_found", "failed_transaction", "swap", "quota_exceeded"];
    assert_eq!(outcomes(&taxon, &key, &items).await, expected);
    assert_eq!(taxon.quota(&key).await, dev(1, 1));
}

#[tokio::test]
async fn an_upstream_that_fails_costs_nothing() {
    let taxon = Setup::demo().start().await;
    let key = contracted(&taxon, "pool@example.com", "1");
    assert_eq!(refusal(&single(&taxon, &key, NOBODYS).await), (502, "upstream_unavailable"));
    let items = [json!({ "hash": NOBODYS }), item("v2_swap_eth_in")];
    assert_eq!(outcomes(&taxon, &key, &items).await, ["upstream_unavailable", "swap"]);
    assert_eq!(taxon.quota(&key).await, dev(1, 1));
}

#[tokio::test]
async fn one_hash_several_times_in_a_batch_is_one_place() {
    let (taxon, key) = pool_of("1").await;
    let swap = hash("v2_swap_eth_in");
    let again = json!({ "hash": swap, "chain": "demo", "tx_id": "again" });
    let items = [item("v2_swap_eth_in"), again, item("weth_wrap"), item("v2_swap_eth_in")];
    assert_eq!(outcomes(&taxon, &key, &items).await, ["swap", "swap", "quota_exceeded", "swap"]);
    assert_eq!(taxon.quota(&key).await, dev(1, 1));
    let wraps = [item("weth_wrap"), item("weth_wrap")];
    assert_eq!(refusal(&batch(&taxon, &key, &wraps).await), (402, "quota_exceeded"));
}

#[tokio::test]
async fn a_pool_belongs_to_the_owner_however_the_address_is_written() {
    let taxon = Setup::demo().start().await;
    let keys = ["Ann@Example.com", "ann@example.COM"].map(|owner| contracted(&taxon, owner, "2"));
    assert_eq!(single(&taxon, &keys[0], &hash("v2_swap_eth_in")).await.status, 200);
    assert_eq!(single(&taxon, &keys[1], &hash("v2_swap_eth_in")).await.status, 200);
    for key in &keys {
        assert_eq!(taxon.quota(key).await, dev(1, 2), "a repeat is one whichever key it came with");
    }
    assert_eq!(single(&taxon, &keys[1], &hash("weth_wrap")).await.status, 200);
    assert_eq!(refusal(&single(&taxon, &keys[0], &hash("weth_unwrap")).await), (402, "quota_exceeded"));
    assert_eq!(used(&taxon, &taxon.key).await, 0, "another owner's pool is another");
}

#[tokio::test]
async fn a_pool_that_became_smaller_is_exceeded_and_not_negative() {
    let (taxon, key) = pool_of("3").await;
    assert_eq!(outcomes(&taxon, &key, &["v2_swap_eth_in", "weth_wrap"].map(item)).await, ["swap", "wrap"]);
    let key = contracted(&taxon, "pool@example.com", "1");
    let mut expected = dev(2, 1);
    expected["remaining"] = json!(0);
    assert_eq!(taxon.quota(&key).await, expected);
    assert_eq!(refusal(&single(&taxon, &key, &hash("weth_unwrap")).await), (402, "quota_exceeded"));
    assert_eq!(single(&taxon, &key, &hash("weth_wrap")).await.status, 200);
}

#[tokio::test]
async fn exactly_the_billable_rows_count() {
    let taxon = Setup::demo().start().await;
    let categories = taxon.get("/categories").await.body["categories"].as_array().unwrap().clone();
    let billing = |name: &Value| &categories.iter().find(|row| row["category"] == *name).unwrap()["billing"];
    let names: Vec<String> = demo_scenario().transactions.into_iter().map(|done| done.name).collect();
    let items: Vec<Value> = names.iter().map(|name| item(name)).collect();
    let answer = batch(&taxon, &taxon.key, &items).await;
    let mut counted = BTreeMap::new();
    for row in answer.body["results"].as_array().unwrap() {
        assert!(row.get("error").is_none(), "{row}");
        let is_billable = row["needs_review"] == true || billing(&row["category"]) != "free";
        counted.insert(row["id"].as_str().unwrap(), is_billable);
        let said = verdict(&taxon, &taxon.key, row["hash"].as_str().unwrap()).await.body;
        assert_eq!(said["repeat"], is_billable, "{row}");
    }
    assert_eq!(used(&taxon, &taxon.key).await, counted.values().filter(|is_billable| **is_billable).count());
    for free in ["plain_transfer", "approval", "revoke", "reverted", "contract_deploy"] {
        assert!(!counted[free], "{free}");
    }
    for flagged in ["userop_bundle_of_two", "forged_swap"] {
        let row = &answer.body["results"][names.iter().position(|name| name == flagged).unwrap()];
        assert!(row["needs_review"] == true && counted[flagged], "a row for review counts, whatever its category");
    }
}

#[tokio::test]
async fn the_books_can_be_read_back() {
    let taxon = Setup::demo().start().await;
    let key = taxon.setup.key("ann@example.com", "dev", &[]);
    for (name, id) in [("v2_swap_eth_in", "req.1"), ("plain_transfer", "req.2"), ("v2_swap_eth_in", "req.3")] {
        let request = taxon.raw(Method::POST, "/v1/classify").bearer_auth(&key).header("x-request-id", id);
        assert_eq!(request.json(&item(name)).send().await.unwrap().status(), 200);
    }
    taxon.classify(&hash("weth_wrap")).await;
    let export = || taxon.setup.run(&["ledger", "export", "--owner", "Ann@example.com"]);
    let printed = export();
    let rows: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected = [("v2_swap_eth_in", "req.1", "pool", "swap"), ("plain_transfer", "req.2", "free", "transfer")];
    assert_eq!(rows.len(), expected.len(), "a repeat writes nothing, and other owners are not shown: {printed}");
    for (row, (name, id, billed, category)) in rows.iter().zip(expected) {
        let at: jiff::Timestamp = row["at"].as_str().unwrap().parse().unwrap();
        assert!(jiff::Timestamp::now().duration_since(at).as_secs() < 10, "{at}");
        assert_eq!(
            *row,
            json!({ "owner": "ann@example.com", "payer": row["payer"], "hash": hash(name),
            "at": row["at"], "period": &row["at"].as_str().unwrap()[..7], "billed": billed, "category": category,
            "chain": "demo", "key_id": &key[4..12], "request_id": id })
        );
    }
    assert_eq!(taxon.setup.run(&["ledger", "check"]), "The books balance.\n");
    assert!(taxon.setup.run(&["purge", "--older-than", "0d", "--yes"]).contains("Deleted 0 ledger rows"));
    assert_eq!(export(), printed, "the rows of an open period stay");
    assert_eq!(used(&taxon, &key).await, 1);
}

fn listed(taxon: &Taxon, key: &str) -> String {
    let list = taxon.setup.run(&["keys", "list"]);
    list.lines().find(|line| line.contains(&key[4..12])).unwrap().to_owned()
}

#[tokio::test]
async fn keys_are_renamed_and_tell_when_they_were_used() {
    let taxon = Setup::demo().start().await;
    taxon.setup.run(&["keys", "rename", &taxon.key[4..12], "payroll"]);
    assert!(listed(&taxon, &taxon.key).contains(" payroll ") && listed(&taxon, &taxon.key).contains(" never "));
    taxon.quota(&taxon.key).await;
    within(Duration::from_secs(5), async || !listed(&taxon, &taxon.key).contains(" never ")).await;
}

#[tokio::test]
async fn a_crowd_does_not_overshoot_the_pool() {
    let taxon = Setup::demo().start().await;
    let keys = [(); 2].map(|()| contracted(&taxon, "crowd@example.com", "5"));
    let items: Vec<Value> = demo_scenario().transactions.iter().map(|done| item(&done.name)).collect();
    batch(&taxon, &taxon.key, &items).await;
    let ledger = taxon.setup.run(&["ledger", "export"]);
    let rows = ledger.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let billable: Vec<Value> =
        rows.filter(|row| row["billed"] == "pool").map(|row| row["hash"].clone()).take(40).collect();
    assert_eq!(billable.len(), 40);
    let calls = billable.iter().zip(keys.iter().cycle()).map(|(hash, key)| single(&taxon, key, hash.as_str().unwrap()));
    let mut statuses: Vec<u16> = join_all(calls).await.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [vec![200; 5], vec![402; 35]].concat());
    assert_eq!(taxon.quota(&keys[0]).await, dev(5, 5));
}

#[tokio::test]
async fn a_crowd_that_asks_for_one_hash_needs_one_place() {
    let (taxon, key) = pool_of("1").await;
    let swap = hash("v2_swap_eth_in");
    for answer in join_all((0..20).map(|_| single(&taxon, &key, &swap))).await {
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    assert_eq!(taxon.quota(&key).await, dev(1, 1));
}

#[tokio::test]
async fn owners_and_names_are_text_and_nothing_else() {
    let taxon = Setup::demo().start().await;
    let (owner, name) = ("');drop/**/table/**/keys;--@<b>x</b>", "'); DROP TABLE keys; --<script>");
    let key = taxon.setup.key(owner, "dev", &["--name", name]);
    assert!(listed(&taxon, &key).contains(owner) && listed(&taxon, &key).contains(name));
    assert_eq!(single(&taxon, &key, &hash("v2_swap_eth_in")).await.status, 200);
    let row: Value = serde_json::from_str(&taxon.setup.run(&["ledger", "export", "--owner", owner])).unwrap();
    assert_eq!(row["owner"], owner);
    assert_eq!(taxon.quota(&taxon.key).await, dev(0, 250), "the others' keys are valid");
}
