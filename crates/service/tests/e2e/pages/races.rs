//! Everything at once: what may happen once happens once.

use futures_util::future::join_all;

use super::browser::{Browser, PASSWORD, link, proxied};
use super::hash;

#[tokio::test]
async fn a_link_an_address_and_the_last_place_are_given_once() {
    let taxon = proxied().with("TAXON_POOL_ANON", "1").start().await;
    // A link, taken by ten.
    let path = link(&taxon.setup, "a@example.com");
    let take = async |at: usize| {
        let mut browser = Browser::new(&taxon, &format!("10.0.0.{at}"));
        let page = browser.submit(&path, &path, &[("password", &format!("{PASSWORD}{at}"))]).await;
        (at, page.status == 303)
    };
    let taken: Vec<usize> =
        join_all((0..10).map(take)).await.into_iter().filter(|(_, is)| *is).map(|(at, _)| at).collect();
    assert_eq!(taken.len(), 1);
    let mut winner = Browser::new(&taxon, "10.0.1.1");
    assert_eq!(winner.sign_in("a@example.com", &format!("{PASSWORD}{}", taken[0])).await.status, 303);

    // An address, signed up by four.
    let sign_up = async |at: usize| {
        let mut browser = Browser::new(&taxon, &format!("10.0.2.{at}"));
        browser.sign_up("b@example.com", &format!("{PASSWORD}{at}")).await.status
    };
    assert!(join_all((0..4).map(sign_up)).await.iter().all(|status| *status == 200));
    let sign_in = async |at: usize| {
        let mut browser = Browser::new(&taxon, &format!("10.0.3.{at}"));
        browser.sign_in("b@example.com", &format!("{PASSWORD}{at}")).await.status == 303
    };
    assert_eq!(join_all((0..4).map(sign_in)).await.iter().filter(|is| **is).count(), 1);

    // Keys, past the most that may be valid at once.
    let csrf = winner.csrf().await;
    let key = async |_| winner.clone().send(winner.form("/account/keys", &csrf, &[])).await;
    let made = join_all((0..25).map(key)).await;
    assert_eq!(made.iter().filter(|page| page.has("id=\"new-key\"")).count(), 20);
    assert!(made.iter().all(|page| page.status == 200));
    assert_eq!(winner.get("/account").await.text.matches("/revoke\"").count(), 20);

    // The last classification of the day's pool.
    let names = ["v2_swap_eth_in", "weth_wrap", "aave_supply", "v2_swap_tokens", "v2_liquidity_add", "aave_borrow"];
    let read = async |name: &&str| Browser::new(&taxon, "10.0.4.1").read(&hash(name)).await.status;
    let mut statuses = join_all(names.iter().map(read)).await;
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 402, 402, 402, 402, 402]);
}

/// Viewing a page reserves no quota, not even for a moment, so concurrent readers are not refused for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn looking_takes_no_place_from_whoever_reads() {
    let taxon = proxied().with("TAXON_POOL_ANON", "1").start().await;
    let nobodys = format!("/reading/0x{}", "ab".repeat(32));
    for at in 0..4 {
        let address = format!("10.0.0.{at}");
        let mut reader = Browser::new(&taxon, &address);
        let csrf = reader.csrf().await;
        let swap = hash("v2_swap_eth_in");
        let form = reader.form("/try", &csrf, &[("hash", &swap)]);
        let looks = join_all((0..20).map(async |_| Browser::new(&taxon, &address).get(&nobodys).await.status));
        let (looks, read) = tokio::join!(looks, reader.send(form));
        assert!(looks.iter().all(|status| *status == 200));
        assert_eq!(read.status, 303, "round {at}: {}", read.text);
    }
}
