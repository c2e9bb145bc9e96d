//! Try it: what it costs, and what costs nothing.

use super::browser::{Browser, proxied};
use super::{hash, until};
use crate::harness::demo_scenario;

const NOBODYS: &str = "0xabababababababababababababababababababababababababababababababab";

/// Asked for in every way in which a link or a picture on a stranger's page could ask.
async fn looks(browser: &mut Browser, hash: &str) {
    for query in
        ["", "?chain=demo", "?lp=non_taxable&wrap=disposal", "?wallet=0x70997970c51812dc3a010c7d01b50e0d17dc79c8"]
    {
        let request = browser.request(reqwest::Method::GET, &format!("/reading/{hash}{query}"));
        let request = request.header("sec-fetch-site", "cross-site").header("sec-fetch-dest", "image");
        let page = browser.send(request).await;
        assert!(
            page.status == 200 && page.has("action=\"/try\"") && page.has(&format!(">{hash}</textarea>")),
            "{}",
            page.text
        );
        assert!(!page.has("class=\"reading"), "it offers, and does not read");
    }
}

#[tokio::test]
async fn without_an_account_the_pool_of_the_address_is_spent_and_looking_is_free() {
    let taxon = proxied().with("TAXON_POOL_ANON", "2").start().await;
    let mut person = Browser::new(&taxon, "192.0.2.1");
    let mut neighbour = Browser::new(&taxon, "192.0.2.2");
    assert_eq!(person.left().await, "2 of 2");
    looks(&mut person, &hash("v2_swap_eth_in")).await;
    looks(&mut person, NOBODYS).await;
    assert_eq!(person.left().await, "2 of 2", "a link or a picture on a stranger's page costs nothing");

    let read = person.read(&hash("v2_swap_eth_in")).await;
    assert_eq!((read.status, read.location()), (303, format!("/reading/{}", hash("v2_swap_eth_in")).as_str()));
    assert_eq!(person.left().await, "1 of 2");
    let page = person.get(read.location()).await;
    assert!(page.status == 200 && page.has("class=\"reading") && page.has("swap"), "{}", page.text);
    // Again, by another policy and as another wallet: all of it is the same reading.
    assert_eq!(person.read(&hash("v2_swap_eth_in")).await.status, 303);
    assert_eq!(person.get(&format!("{}?lp=non_taxable&wrap=disposal", read.location())).await.status, 200);
    assert_eq!(person.read(&hash("plain_transfer")).await.status, 303, "a plain transfer gives its place back");
    assert_eq!(person.left().await, "1 of 2");

    let wrapped = person.read(&hash("weth_wrap")).await;
    assert_eq!(person.left().await, "0 of 2");
    let plain = person.get(wrapped.location()).await;
    let switched = person.get(&format!("{}?wrap=disposal", wrapped.location())).await;
    assert!(plain.has("Taxable: no") && switched.has("Taxable: yes"), "a switch is free, also when nothing is left");
    let refused = person.read(&hash("aave_supply")).await;
    assert!(refused.status == 402 && refused.has("pool of this period is exhausted") && refused.has("/sign-up"));
    assert!(refused.has(&hash("aave_supply")), "what was typed is still there");
    looks(&mut person, &hash("aave_supply")).await;
    assert_eq!((neighbour.left().await.as_str(), neighbour.read(&hash("aave_supply")).await.status), ("2 of 2", 303));
    looks(&mut person, &hash("aave_supply")).await;
    assert_eq!(taxon.quota(&taxon.key).await["used"], 0);
    taxon.setup.run(&["ledger", "check"]);
}

#[tokio::test]
async fn many_hashes_and_links_are_read_at_once() {
    let taxon = proxied().with("TAXON_POOL_ANON", "2").start().await;
    let mut person = Browser::new(&taxon, "192.0.2.1");
    let [swap, wrap, supply] = ["v2_swap_eth_in", "weth_wrap", "aave_supply"].map(hash);
    let pasted = format!("{swap},\r\n https://explorer.example/tx/{wrap}?a=b {swap}\n{supply}");
    let page = person.read(&pasted).await;
    assert!(page.status == 200 && page.has("<h1>3 transactions</h1>") && page.has("1 not read"), "{}", page.text);
    assert_eq!(person.left().await, "0 of 2", "a repeat is one");
    for hash in [&swap, &wrap] {
        assert!(page.has(&format!("href=\"/reading/{hash}?chain=demo\"")), "{}", page.text);
        assert!(person.get(&format!("/reading/{hash}?chain=demo")).await.has("class=\"reading"));
    }
    let link = person.read(&format!("https://explorer.example/tx/{wrap}")).await;
    assert_eq!((link.status, link.location()), (303, format!("/reading/{wrap}").as_str()), "one link is one reading");

    let wrong = person.read(&format!("{swap} <b>\u{202e}nothing</b>")).await;
    assert!(
        wrong.status == 400 && wrong.has("is neither the hash of a transaction nor a link to one"),
        "{}",
        wrong.text
    );
    assert!(wrong.has(&swap) && !wrong.has("<b>") && !wrong.has("\u{202e}"), "{}", wrong.text);
    let many: Vec<String> = (0..101).map(|number| format!("0x{number:064x}")).collect();
    let many = person.read(&many.join("\n")).await;
    assert!(many.status == 400 && many.has("At most 100 at a time, not 101"), "{}", many.text);
    taxon.setup.run(&["ledger", "check"]);
}

#[tokio::test]
async fn signed_in_the_account_pays_for_pages_and_keys_alike() {
    let taxon = proxied().with("TAXON_POOL_DEV", "3").with("TAXON_POOL_ANON", "1").start().await;
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", "a@example.com").await;
    let key = person.new_key("").await;
    assert_eq!(person.read(&hash("v2_swap_eth_in")).await.status, 303);
    assert_eq!((person.left().await.as_str(), taxon.quota(&key).await["used"].as_i64()), ("2 of 3", Some(1)));
    assert_eq!(Browser::new(&taxon, "192.0.2.1").left().await, "1 of 1", "the address's own pool is untouched");
    assert_eq!(
        taxon.post_as(&key, "/v1/classify", &serde_json::json!({ "hash": hash("weth_wrap") })).await.status,
        200
    );
    assert_eq!(person.left().await, "1 of 3");
    let page = person.get(&format!("/reading/{}", hash("weth_wrap"))).await;
    assert!(page.has("class=\"reading"), "what a key paid for is shown");
    looks(&mut person, NOBODYS).await;

    // Failures are pages, with the status of the interface, and cost nothing.
    let party = demo_scenario().wallet.to_lowercase();
    for (fields, status, said) in [
        (vec![("hash", NOBODYS)], 502, "ethereum"),
        (vec![("hash", NOBODYS), ("chain", "ethereum")], 502, "ethereum"),
        (vec![("hash", "0x1")], 400, "hash"),
        (vec![("hash", "")], 400, "hash"),
        (vec![("hash", NOBODYS), ("chain", "<b>nowhere</b>")], 400, "&lt;b&gt;nowhere"),
        (vec![("hash", NOBODYS), ("wallet", "me")], 400, "allet"),
    ] {
        let page = person.submit("/", "/try", &fields).await;
        assert_eq!(page.status, status, "{fields:?}: {}", page.text);
        assert!(
            page.has(said) && page.has("role=\"alert\"") && !page.has("class=\"reading"),
            "{fields:?}: {}",
            page.text
        );
    }
    let swap = hash("v2_swap_tokens");
    let absent = [("hash", swap.as_str()), ("wallet", "0x00000000000000000000000000000000000000aa"), ("chain", "demo")];
    let page = person.submit("/", "/try", &absent).await;
    assert!(page.status == 404 && page.has("neither sender, recipient nor party"), "{}", page.text);
    assert_eq!(person.left().await, "1 of 3", "none of it was counted");

    let fields = [("hash", swap.as_str()), ("wallet", party.as_str()), ("chain", "ethereum")];
    let page = person.submit("/", "/try", &fields).await;
    assert_eq!(page.status, 502, "the pinned chain did not answer: that is no reading");
    let page =
        person.submit("/", "/try", &[("hash", swap.as_str()), ("wallet", party.as_str()), ("chain", "31337")]).await;
    assert_eq!(page.status, 303, "{}", page.text);
    assert!(page.location().starts_with(&format!("/reading/{swap}?")) && page.location().contains(&party));
    assert!(person.get(page.location()).await.has("class=\"reading"));
    assert_eq!(person.left().await, "0 of 3");
    assert_eq!(person.read(&hash("aave_supply")).await.status, 402);
    let usage = until(&mut person, "/usage", |page| page.has("Requests refused in this time: 1.")).await;
    assert!(usage.has("<strong>3</strong> of 3 used"), "{}", usage.text);
}

#[tokio::test]
async fn a_page_that_reads_is_in_the_ledger_under_its_request_id() {
    let taxon = proxied().start().await;
    let mut stranger = Browser::new(&taxon, "192.0.2.1");
    let mut person = Browser::signed_in(&taxon, "192.0.2.2", "a@example.com").await;
    for (browser, name) in [(&mut stranger, "v2_swap_eth_in"), (&mut person, "weth_wrap")] {
        let read = browser.read(&hash(name)).await;
        assert_eq!(read.status, 303);
        let ledger = taxon.setup.run(&["ledger", "export"]);
        let rows: Vec<serde_json::Value> = ledger.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let row = rows.iter().find(|row| row["hash"] == hash(name)).unwrap();
        assert!(!read.header("x-request-id").is_empty());
        assert_eq!(row["request_id"], read.header("x-request-id"), "{row}");
    }
}

#[tokio::test]
async fn pages_are_limited_per_address_where_calls_are() {
    let taxon = proxied().with("TAXON_RATE_PER_MINUTE", "3").start().await;
    let mut person = Browser::new(&taxon, "192.0.2.1");
    for _ in 0..3 {
        assert_eq!(person.get(&format!("/reading/{NOBODYS}")).await.status, 200);
    }
    for page in [person.read(&hash("weth_wrap")).await, person.get(&format!("/reading/{NOBODYS}")).await] {
        assert!(page.status == 429 && !page.header("retry-after").is_empty(), "{}", page.text);
    }
    assert_eq!(person.left().await, "10 of 10");
    assert_eq!(Browser::new(&taxon, "192.0.2.2").read(&hash("weth_wrap")).await.status, 303);
}
