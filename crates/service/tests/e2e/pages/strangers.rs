//! Token text is a stranger's: markup, tricks of direction and megabytes are shown harmlessly wherever they may occur.

use serde_json::json;

use super::browser::{Browser, PAGE_BYTES_MAX, PASSWORD, link, proxied};
use super::until;
use crate::harness::{Taxon, mainnet};
use crate::hostile::Proxy;

/// As a contract answers with a string.
fn told(text: &str) -> String {
    let word = |value: usize| format!("{value:064x}");
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{}{}{hex}{}", word(32), word(text.len()), "00".repeat((32 - text.len() % 32) % 32))
}

#[tokio::test]
async fn hostile_token_names_are_harmless_on_every_page() {
    let (anvil, scenario) = mainnet().await;
    let tricks = "</title><script>alert(1)</script><img src=x onerror=alert(2)>\u{202e}\u{200b}\0\"'`=cmd|\u{301}\u{301}\u{301}\u{301}\u{301}";
    for symbol in [tricks.to_owned(), tricks.repeat(10_000)] {
        let answered = told(&symbol);
        let proxy = Proxy::start(&anvil.url, move |question, mut answer| {
            if let Some("0x95d89b41" | "0x06fdde03") = question["params"][0]["data"].as_str() {
                answer = json!({ "id": answer["id"], "result": answered });
            }
            answer
        })
        .await;
        let taxon = Taxon::start(&[("local", 31_337, &proxy.url)]).await;
        let mut person = Browser::new(&taxon, "");
        let path = link(&taxon.setup, "a@example.com");
        assert_eq!(person.submit(&path, &path, &[("password", PASSWORD)]).await.status, 303);
        let mut read = 0;
        for name in
            ["v2_swap_tokens", "token_transfer", "forged_swap", "spam_airdrop", "nft_mint", "userop_bundle_of_two"]
        {
            let page = person.read(&scenario.named(name).hash).await;
            assert_eq!(page.status, 303, "{name}: {}", page.text);
            let page = person.get(page.location()).await;
            assert!(page.has("class=\"reading"), "{name}");
            read += usize::from(page.has("alert(1)"));
            harmless(&page.text, name);
            let bytes = person.transferred(&format!("/reading/{}", scenario.named(name).hash)).await;
            assert!(bytes < PAGE_BYTES_MAX, "{name}: {bytes} bytes");
        }
        assert!(read >= 2, "the text was there to be shown");
        let table = person.get("/review").await.location().to_owned();
        let review = until(&mut person, &table, |page| page.has("name=\"row\" value=\"0x")).await;
        harmless(&review.text, "/review");
        let hashes = format!("{}\n{}\n", scenario.named("token_transfer").hash, scenario.named("v2_swap_tokens").hash);
        let job = person.submit("/jobs", "/jobs", &[("file", &hashes), ("chain", "local")]).await.location().to_owned();
        assert_eq!(person.submit(&job, &format!("{job}/start"), &[]).await.status, 303);
        until(&mut person, &job, |page| page.has(">Finished<")).await;
        let results = person.get(&format!("{job}/rows")).await;
        assert!(results.has("name=\"row\" value=\"0:1\""), "{}", results.text);
        harmless(&results.text, "the results of a job");
        harmless(&person.get("/readings").await.text, "/readings");
        assert_eq!(person.get("/readings.csv").await.status, 200);
    }
}

pub fn harmless(text: &str, what: &str) {
    for never in ["<script>", "<img", "\u{202e}", "\u{200b}", "\0"] {
        assert!(!text.contains(never), "{what} holds {never:?}");
    }
}

#[tokio::test]
async fn names_and_addresses_reorder_nothing_on_pages_and_terminals() {
    let taxon = proxied().start().await;
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", "a\u{202e}b@example.com").await;
    let key = person.new_key("ledger\u{202e}import\u{2066}").await;
    let revoke = format!("/account/keys/{}/revoke", &key[4..12]);
    let shown = |page: &str| {
        // The field that tells a password manager whose password it is holds the address as it is, and is not shown.
        let visible: String = page.lines().map(|line| line.replace("value=\"a\u{202e}b@example.com\"", "")).collect();
        assert!(visible.contains("ledger\u{fffd}import\u{fffd}"), "{page}");
        harmless(&visible.replace("<script src", ""), "a page");
    };
    shown(&person.get("/account").await.text);
    shown(&person.get(&revoke).await.text);
    assert_eq!(person.submit(&revoke, &revoke, &[]).await.status, 303);
    shown(&person.get("/account").await.text);
    shown(&taxon.setup.run(&["keys", "list"]));
    harmless(&taxon.setup.run(&["accounts", "list"]), "a list");
}
