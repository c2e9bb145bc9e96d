//! Two owners side by side: what is one's is not there for the other, on every route.

use super::browser::{Browser, proxied};
use super::{busy, routes, seen};

#[tokio::test]
async fn one_owner_never_sees_or_touches_what_is_anothers() {
    let taxon = proxied().start().await;
    let mut owner = Browser::signed_in(&taxon, "192.0.2.1", "owner@example.com").await;
    let mut names = busy(&taxon, &mut owner, "owner@example.com").await;
    let mut other = Browser::signed_in(&taxon, "192.0.2.2", "other@example.com").await;
    // The operator sees who there is, not what they read.
    let mut operator = Browser::operator(&taxon, "192.0.2.3", "operator@example.com").await;
    let listed = operator.get("/operator").await;
    let row = listed.text.split("<tr>").find(|row| row.contains("owner@example.com")).unwrap();
    names.owner_id = row.split_once("/operator/owners/").unwrap().1.split_once('/').unwrap().0.to_owned();
    let private = [
        names.key_id.as_str(),
        names.job_id.as_str(),
        names.webhook_id.as_str(),
        "hook-of-mine",
        names.book_id.as_str(),
        "the name of a key",
        "a table of mine",
        "mine alone",
        names.wallet.as_str(),
        "owner@example.com",
    ];

    let before = seen(&mut owner).await;
    for word in private {
        assert!(before.iter().any(|text| text.contains(word)), "the owner sees all of it: {word}");
    }
    for route in routes() {
        let path = names.path(&route);
        let is_named = route.path.contains('{') && !route.is_open();
        if route.is_page {
            let page = other.get(&path).await;
            let expected = match route.path {
                "/sign-in" | "/review" => 303,
                "/operator" => 404,
                _ if is_named => 404,
                _ => 200,
            };
            assert_eq!(page.status, expected, "{path}: {}", page.text);
            for word in private {
                assert!(!page.has(word), "{path} shows {word}");
            }
            if !["/", "/reading/{hash}"].contains(&route.path) {
                assert!(!page.has(&names.hash) && !page.has(&names.hash[..6]), "{path} shows what another read");
            }
        }
        if route.is_form && !["/try", "/jobs", "/sign-out", "/sign-in", "/link/{token}"].contains(&route.path) {
            let page = other.post(&path, &names.fields(&route)).await;
            if is_named || route.path.starts_with("/operator") {
                assert_eq!(page.status, 404, "{path}: {}", page.text);
            }
            assert!(private.iter().all(|word| !page.has(word)), "{path}");
            if route.path == "/account/sign-out-everywhere" {
                assert!(!other.is_signed_in().await);
                assert_eq!(other.sign_in("other@example.com", super::PASSWORD).await.status, 303);
            }
        }
        if path.starts_with("/readings") {
            let filtered = other.get(&format!("{path}?find={}", &names.hash[..20])).await;
            assert!(!filtered.has(&format!("/reading/{}", names.hash)) && !filtered.has("self_transfer"), "{path}");
        }
    }
    // The same transaction, read by both: each has a row, a pool and a review of its own.
    assert_eq!(other.read(&names.hash).await.status, 303);
    let table = other.get("/review").await.location().to_owned();
    super::until(&mut other, &table, |page| page.has(&names.hash)).await;
    assert!(!other.get(&format!("{table}?state=decided")).await.has(&names.hash), "the other has decided nothing");
    assert!(!other.get(&format!("/reading/{}", names.hash)).await.has("Decided as"));
    assert!(owner.get(&format!("/reading/{}", names.hash)).await.has("Decided as"));
    assert!(seen(&mut owner).await == before, "the owner sees what it saw");
    let usage = operator.get("/operator").await;
    assert!(!usage.has("mine alone") && !usage.has(&names.key_id) && !usage.has(&names.hash));
}
