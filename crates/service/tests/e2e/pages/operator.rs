//! Whoever operates the service: how one becomes it, and what one can do.

use std::time::Duration;

use serde_json::json;

use super::browser::{Browser, PAGE_BYTES_MAX, PASSWORD, link, proxied};
use super::hash;
use crate::crash::within;
use crate::harness::free_port;

/// The path of a link to become the operator. The service's own output, which is collected here, holds none.
fn printed(setup: &crate::harness::Setup) -> Option<String> {
    let text = std::fs::read_to_string(setup.data.path().join("printed.txt")).unwrap();
    assert!(!text.contains("/link/"), "{text}");
    let output = setup.output(&["accounts", "first-operator"]);
    assert_eq!(
        output.status.success(),
        text.lines().last().is_some_and(|line| line.contains("There is no operator yet"))
    );
    let path = String::from_utf8(output.stdout).unwrap().lines().last()?.to_owned();
    Some(path)
}

#[tokio::test]
async fn the_first_account_becomes_operator_by_a_link_that_works_once() {
    let setup = proxied().around("exec \"$@\" 2>printed.txt");
    let taxon = setup.start().await;
    let old = printed(&setup).unwrap();
    assert_eq!(taxon.stop().await, Some(0));
    let taxon = setup.start().await;
    let path = printed(&setup).unwrap();
    let mut person = Browser::new(&taxon, "192.0.2.1");
    assert_eq!(person.get(&old).await.status, 404, "a new link ends the older");
    for wrong in ["/link/0", "/link/", &path[..69], &format!("{path}0"), &path.to_uppercase().replace("/LINK", "/link")]
    {
        let page = person.get(wrong).await;
        assert_eq!(page.status, 404, "{wrong}");
    }
    assert!(person.get(&path).await.has("operates this service"));
    assert!(person.get(&path).await.has("type=\"email\""), "looking does not use it up");
    // A taken address needs its own password; one that nobody can sign in at is claimed.
    Browser::signed_in(&taxon, "192.0.2.2", "taken@example.com").await;
    let taken = person.submit(&path, &path, &[("email", "taken@example.com"), ("password", "not the password")]).await;
    assert!(taken.has("is wrong"), "{}", taken.text);
    let short = person.submit(&path, &path, &[("email", "op@example.com"), ("password", "short")]).await;
    assert!(short.has("at least 10"), "{}", short.text);
    let entered = person.submit(&path, &path, &[("email", "op@example.com"), ("password", PASSWORD)]).await;
    assert_eq!((entered.status, entered.location()), (303, "/account"));
    assert_eq!(person.get("/operator").await.status, 200);
    assert_eq!(person.get(&path).await.status, 404);
    let again = person.post(&path, &[("email", "taken@example.com"), ("password", PASSWORD)]).await;
    assert_eq!(again.status, 404);
    assert_eq!(taxon.stop().await, Some(0));
    let taxon = setup.start_on(free_port(), String::new()).await;
    assert_eq!(printed(&setup), None, "there is an operator");
    assert!(person.at(&taxon).is_signed_in().await, "a session outlives a start");
    // An owner's link makes nobody operator.
    let path = link(&setup, "c@example.com");
    let mut third = Browser::new(&taxon, "192.0.2.3");
    assert_eq!(third.submit(&path, &path, &[("email", "op@example.com"), ("password", PASSWORD)]).await.status, 303);
    assert_eq!(third.get("/operator").await.status, 404);
    let listed = setup.run(&["accounts", "list"]);
    let roles: Vec<(bool, bool)> = listed
        .lines()
        .filter(|line| line.contains('@'))
        .map(|line| (line.contains("op@"), line.contains("operator")))
        .collect();
    assert_eq!(roles, [(false, false), (true, true), (false, false)], "{listed}");
    assert_eq!(setup.output(&["accounts", "operator", "--yes", "nobody@example.com"]).status.code(), Some(1));
    assert_eq!(setup.output(&["accounts", "link", "nobody"]).status.code(), Some(2));
    setup.run(&["accounts", "operator", "--yes", "C@example.com"]);
    assert_eq!(third.get("/operator").await.status, 200);
}

#[tokio::test]
async fn tiers_keys_and_sign_up_follow_the_operator_at_once() {
    let taxon = proxied().with("TAXON_POOL_DEV", "1").start().await;
    let mut operator = Browser::operator(&taxon, "192.0.2.1", "op@example.com").await;
    let mut owner = Browser::signed_in(&taxon, "192.0.2.2", "owner@example.com").await;
    let key = owner.new_key("").await;
    let page = operator.get("/operator").await;
    let row = page.text.split("<tr>").find(|row| row.contains("owner@example.com")).unwrap();
    let id = row.split_once("/operator/owners/").unwrap().1.split_once('/').unwrap().0.to_owned();
    let tier = format!("/operator/owners/{id}/tier");
    let revoke = format!("/operator/owners/{id}/revoke");

    let classify = async |name: &str| taxon.post_as(&key, "/v1/classify", &json!({ "hash": hash(name) })).await.status;
    assert_eq!((classify("v2_swap_eth_in").await, classify("weth_wrap").await), (200, 402));
    assert_eq!(owner.left().await, "0 of 1");
    for (name, pool, shown) in
        [("dev", "3", "2 of 3"), ("pro", "", "24999 of 25000"), ("enterprise", "0", "0 of 0"), ("dev", "2", "1 of 2")]
    {
        let set = operator.submit("/operator", &tier, &[("tier", name), ("pool", pool)]).await;
        assert_eq!(set.location(), "/operator", "{}", set.text);
        assert_eq!(owner.left().await, shown, "at once on the pages");
    }
    within(Duration::from_secs(1), async || classify("weth_wrap").await == 200).await;
    for (name, pool) in [("partner", ""), ("free", ""), ("dev", "-1"), ("dev", "1e9"), ("dev", "99999999999999999999")]
    {
        assert_eq!(operator.post(&tier, &[("tier", name), ("pool", pool)]).await.status, 400, "{name} {pool}");
    }
    assert_eq!(operator.submit("/operator", &revoke, &[]).await.location(), "/operator");
    within(Duration::from_secs(1), async || classify("weth_wrap").await == 401).await;
    assert!(owner.get("/account").await.has("revoked "));

    let mut stranger = Browser::new(&taxon, "192.0.2.3");
    assert_eq!(operator.submit("/operator", "/operator/sign-up", &[]).await.location(), "/operator");
    assert!(stranger.sign_up("new@example.com", PASSWORD).await.has("Sign-up is off"));
    assert!(stranger.get("/sign-up").await.has("Sign-up is off"));
    assert!(stranger.sign_in("new@example.com", PASSWORD).await.has("is wrong"));
    assert_eq!(stranger.sign_in("owner@example.com", PASSWORD).await.status, 303, "who has an account signs in");
    assert_eq!(operator.submit("/operator", "/operator/sign-up", &[]).await.location(), "/operator");
    let mut stranger = Browser::new(&taxon, "192.0.2.4");
    assert!(stranger.sign_up("new@example.com", PASSWORD).await.has("Sign in with it"));
}

#[tokio::test]
async fn many_owners_are_paged_and_their_addresses_are_strangers_text() {
    let taxon = proxied().start().await;
    let mut operator = Browser::operator(&taxon, "192.0.2.1", "op@example.com").await;
    let database = rusqlite::Connection::open(taxon.setup.data.path().join("taxon.db")).unwrap();
    let insert = "INSERT INTO owners (id, email, created_at) VALUES (?1, ?2, 0)";
    for at in 0..150 {
        // Ids in another order than addresses.
        database.execute(insert, (format!("id-{}", 999 - at), format!("many+{at:03}@example.com"))).unwrap();
    }
    let odd = "a<script>alert(1)</script>\u{202e}\u{200b}@example.com";
    let page = Browser::new(&taxon, "192.0.2.2").sign_up(odd, PASSWORD).await;
    assert!(page.has("Sign in with it"), "{}", page.text);
    let (mut path, mut found, mut pages) = ("/operator".to_owned(), Vec::new(), 0);
    loop {
        let page = operator.get(&path).await;
        assert_eq!(page.status, 200, "{}", page.text);
        assert!(!page.has("<script>") && !page.has("\u{202e}") && !page.has("\u{200b}"));
        let rows = page
            .text
            .split("<tr>")
            .skip(2)
            .map(|row| row.split_once("/operator/owners/").unwrap().1.split_once('/').unwrap().0.to_owned());
        found.extend(rows);
        pages += 1;
        let Some((rest, _)) = page.text.split_once("\">More</a>") else { break };
        path = rest.rsplit_once("href=\"").unwrap().1.replace("&amp;", "&");
        assert!(pages < 5, "it goes round in circles");
    }
    assert!(operator.transferred("/operator").await < PAGE_BYTES_MAX);
    let count = found.len();
    found.sort();
    found.dedup();
    assert_eq!((found.len(), count, pages), (153, 153, 2), "each owner once");
}

/// Somebody signs up with another's address before its owner comes; then the operator sells that owner a key.
#[tokio::test]
async fn an_account_taken_before_its_owner_comes_is_worth_nothing() {
    let taxon = proxied().with("TAXON_POOL_DEV", "1").start().await;
    let mut stranger = Browser::new(&taxon, "192.0.2.66");
    assert!(stranger.sign_up("cfo@bigcorp.example", PASSWORD).await.has("Sign in with it"));
    assert_eq!(stranger.sign_in("cfo@bigcorp.example", PASSWORD).await.status, 303);
    let strange_key = stranger.new_key("mine").await;

    let printed = taxon.setup.run(&["keys", "create", "--owner", "cfo@bigcorp.example", "--tier", "pro"]);
    let key = printed.lines().last().unwrap().to_owned();
    let classify =
        async |key: &str, name: &str| taxon.post_as(key, "/v1/classify", &json!({ "hash": hash(name) })).await.status;
    assert_eq!((classify(&key, "v2_swap_eth_in").await, classify(&key, "weth_wrap").await), (200, 200));

    assert!(!stranger.is_signed_in().await);
    assert!(stranger.sign_in("cfo@bigcorp.example", PASSWORD).await.has("is wrong"));
    assert_eq!(stranger.get("/usage").await.location(), "/sign-in");
    stranger.post("/account/keys", &[("name", "on the paid pool")]).await;
    stranger.post(&format!("/account/keys/{}/revoke", &key[4..12]), &[]).await;
    stranger.sign_up("cfo@bigcorp.example", "another password").await;
    assert!(stranger.sign_in("cfo@bigcorp.example", "another password").await.has("is wrong"));
    assert_eq!(classify(&key, "weth_wrap").await, 200, "nothing was revoked");
    let keys = taxon.setup.run(&["keys", "list"]);
    assert_eq!(keys.lines().filter(|line| line.contains("cfo@bigcorp.example")).count(), 1, "{keys}");
    assert_eq!((classify(&strange_key, "v2_swap_eth_in").await, classify(&strange_key, "weth_wrap").await), (200, 402));

    let mut owner = Browser::signed_in(&taxon, "192.0.2.7", "cfo@bigcorp.example").await;
    assert_eq!(owner.left().await, "24998 of 25000");
    let account = owner.get("/account").await;
    assert!(account.has(&key[4..12]) && !account.has(&strange_key[4..12]));
    super::until(&mut owner, "/readings", |page| page.has(&hash("weth_wrap"))).await;
    assert!(printed.contains("never showed that it is theirs"), "{printed}");
}

#[tokio::test]
async fn whoever_only_signed_up_gets_neither_tier_nor_office() {
    let taxon = proxied().start().await;
    let mut operator = Browser::operator(&taxon, "192.0.2.1", "op@example.com").await;
    let mut person = Browser::new(&taxon, "192.0.2.2");
    person.sign_up("new@example.com", PASSWORD).await;
    assert_eq!(taxon.setup.output(&["accounts", "operator", "--yes", "new@example.com"]).status.code(), Some(1));
    let page = operator.get("/operator").await;
    let row = page.text.split("<tr>").find(|row| row.contains("new@example.com")).unwrap();
    assert!(row.contains("(not confirmed)") && !row.contains("/tier"));
    let id = row.split_once("/operator/owners/").unwrap().1.split_once('/').unwrap().0;
    assert_eq!(operator.post(&format!("/operator/owners/{id}/tier"), &[("tier", "pro")]).await.status, 404);
    let path = link(&taxon.setup, "new@example.com");
    assert_eq!(person.submit(&path, &path, &[("password", PASSWORD)]).await.status, 303);
    assert_eq!(operator.post(&format!("/operator/owners/{id}/tier"), &[("tier", "pro")]).await.status, 303);
}
