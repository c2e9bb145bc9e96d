//! Signing in: cookies, sessions, what a stranger can learn, and how often one may try.

use std::time::Duration;

use super::browser::{Browser, PASSWORD, Page, link, proxied};
use crate::harness::{Setup, Taxon};

fn session_cookie(page: &Page) -> String {
    page.cookies().into_iter().find(|cookie| cookie.starts_with("taxon_session=")).unwrap().to_owned()
}

/// The words of a page without what is the browser's own.
fn words(page: &Page) -> (u16, String) {
    let mut parts = page.text.split("name=\"csrf\" value=\"");
    let first = parts.next().unwrap().to_owned();
    (page.status, first + &parts.map(|part| &part[64..]).collect::<String>())
}

#[tokio::test]
async fn cookies_are_kept_from_scripts_and_strangers_and_are_secure_behind_tls() {
    let taxon = proxied().start().await;
    let path = link(&taxon.setup, "a@example.com");
    let mut person = Browser::new(&taxon, "192.0.2.1");
    // Planted by a stranger: a session must be of our making.
    let planted = "f".repeat(64);
    person.cookies.insert("taxon_session".to_owned(), planted.clone());
    let entered = person.submit(&path, &path, &[("password", PASSWORD)]).await;
    let cookie = session_cookie(&entered);
    assert_ne!(person.cookies["taxon_session"], planted);
    assert_eq!(person.cookies["taxon_session"].len(), 64);
    for cookie in entered.cookies() {
        for part in ["; HttpOnly", "; SameSite=Lax", "; Path=/;"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        assert!(!cookie.contains("Secure") && !cookie.contains("Domain"), "{cookie}");
    }
    assert!(cookie.contains("Max-Age=2592000"), "{cookie}");
    let mut other = Browser::new(&taxon, "192.0.2.9");
    other.cookies.insert("taxon_session".to_owned(), planted);
    assert!(!other.is_signed_in().await);
    other.cookies = person.cookies.clone();
    let anew = person.post("/sign-in", &[("email", "a@example.com"), ("password", PASSWORD)]).await;
    assert_eq!((anew.status, person.is_signed_in().await), (303, true));
    assert!(!other.is_signed_in().await, "signing in anew ends what was there before");

    for (proxy, scheme, is_secure) in
        [("127.0.0.1", "https", true), ("127.0.0.1", "http", false), ("10.0.0.0/8", "https", false)]
    {
        let taxon = Setup::demo().with("TAXON_TRUSTED_PROXIES", proxy).start().await;
        let request = taxon.raw(reqwest::Method::GET, "/").header("x-forwarded-proto", scheme);
        let page = Browser::new(&taxon, "192.0.2.1").send(request).await;
        assert!(page.cookies()[0].starts_with("taxon_visit="), "{:?}", page.cookies());
        // Attributes come in any order.
        let has_secure = page.cookies()[0].split("; ").skip(1).any(|attribute| attribute == "Secure");
        assert_eq!(has_secure, is_secure, "{proxy} says {scheme}: {:?}", page.cookies());
    }
}

#[tokio::test]
async fn a_session_ends_when_it_is_told_to() {
    let taxon = proxied().start().await;
    let email = "a@example.com";
    let mut here = Browser::signed_in(&taxon, "192.0.2.1", email).await;
    let mut there = Browser::new(&taxon, "192.0.2.2");
    assert_eq!(there.sign_in(email, PASSWORD).await.location(), "/account");

    let stolen = here.cookies.clone();
    assert_eq!(here.submit("/account", "/sign-out", &[]).await.location(), "/");
    assert!(!here.cookies.contains_key("taxon_session"));
    here.cookies = stolen;
    assert!(!here.is_signed_in().await, "what was signed out is over, also for whoever kept the cookie");
    assert!(there.is_signed_in().await, "and nothing else");

    assert_eq!(here.sign_in(email, PASSWORD).await.status, 303);
    let stolen = there.cookies.clone();
    let new = [("old", PASSWORD), ("new", "another horse battery")];
    assert_eq!(there.submit("/account", "/account/password", &new).await.location(), "/account?done=password");
    assert!(there.is_signed_in().await && !here.is_signed_in().await, "whoever knows the new password stays");
    let mut thief = Browser::new(&taxon, "192.0.2.3");
    thief.cookies = stolen;
    assert!(!thief.is_signed_in().await, "the session before the change is over too");

    assert!(thief.sign_in(email, PASSWORD).await.has("is wrong"));
    assert_eq!(here.sign_in(email, "another horse battery").await.status, 303);
    assert_eq!(there.submit("/account", "/account/sign-out-everywhere", &[]).await.location(), "/");
    assert!(!here.is_signed_in().await && !there.is_signed_in().await);

    // A link that sets the password ends them as well, and works once.
    let path = link(&taxon.setup, email);
    assert_eq!(here.submit(&path, &path, &[("password", PASSWORD), ("email", "b@example.com")]).await.status, 303);
    assert!(here.get("/account").await.has("a@example.com"), "it sets the password of the one it was made for");
    assert_eq!(there.get(&path).await.status, 404);
    assert_eq!(there.post(&path, &[("password", "third horse battery")]).await.status, 404);
    let first = link(&taxon.setup, email);
    let second = link(&taxon.setup, email);
    assert_eq!(
        (there.get(&first).await.status, there.get(&second).await.status),
        (404, 200),
        "a newer link ends the older"
    );
}

#[tokio::test]
async fn nobody_learns_who_has_an_account() {
    let taxon = proxied().start().await;
    // The harness's own key made an owner without an account.
    let owned = "test@example.com";
    let mut person = Browser::new(&taxon, "192.0.2.1");
    let free = person.sign_up("A@Example.com", PASSWORD).await;
    let taken = person.sign_up("a@example.com", "another horse battery").await;
    let by_command_line = person.sign_up(owned, PASSWORD).await;
    assert!(free.has("Sign in with it"), "{}", free.text);
    assert_eq!(words(&free), words(&taken));
    assert_eq!(words(&free), words(&by_command_line));
    let names = |page: &Page| page.headers.keys().map(|name| name.as_str().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&free), names(&taken));

    let mut person = Browser::new(&taxon, "192.0.2.2");
    let unknown = person.sign_in("nobody@example.com", PASSWORD).await;
    let wrong = person.sign_in("a@example.com", "another horse battery").await;
    let without_account = person.sign_in(owned, PASSWORD).await;
    let no_address = person.sign_in("nobody", PASSWORD).await;
    let long = person.sign_in("a@example.com", &"x".repeat(300)).await;
    assert!(wrong.has("The e-mail or the password is wrong."), "{}", wrong.text);
    for page in [&unknown, &without_account, &no_address, &long] {
        assert_eq!(words(page), words(&wrong), "the second to sign up took nothing over, nor did the third");
    }
    assert_eq!(person.sign_in("a@example.com", PASSWORD).await.status, 303, "the first is who it is");
    assert_eq!(taxon.quota(&taxon.key).await["used"], 0, "the key of the command line's owner is still valid");

    let mut person = Browser::new(&taxon, "192.0.2.3");
    for (email, password, said) in [
        ("nobody", PASSWORD, "not an e-mail"),
        ("b@example.com", "short", "at least 10"),
        ("bcd@example.com", "bcd@example.com", "must not be the e-mail"),
    ] {
        let page = person.sign_up(email, password).await;
        assert!(page.has(said), "{}", page.text);
    }
}

async fn refusals(
    taxon: &Taxon,
    tries: usize,
    email: impl Fn(usize) -> String,
    address: impl Fn(usize) -> String,
) -> Vec<Page> {
    let mut pages = Vec::new();
    for at in 0..tries {
        pages.push(Browser::new(taxon, &address(at)).sign_in(&email(at), "not the password").await);
    }
    pages
}

#[tokio::test]
async fn tries_at_passwords_and_sign_ups_are_limited_also_where_calls_are_not() {
    let taxon = proxied().with("TAXON_RATE_PER_MINUTE", "0").start().await;
    let told = |page: &Page| {
        assert_eq!(page.status, 429, "{}", page.text);
        assert!((1..=60).contains(&page.header("retry-after").parse::<u64>().unwrap()) && page.has("Too many tries"));
    };
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", "a@example.com").await;
    // One account from one address, whether there is such an account or not; its owner comes in from elsewhere.
    for (email, block) in [("a@example.com", 1), ("nobody@example.com", 2)] {
        let pages = refusals(&taxon, 6, |_| email.to_owned(), |_| format!("10.{block}.0.1")).await;
        assert!(pages.iter().take(5).all(|page| page.status != 429));
        told(&pages[5]);
    }
    told(&Browser::new(&taxon, "10.1.0.1").sign_in("A@example.com ", PASSWORD).await);
    assert_eq!(Browser::new(&taxon, "10.9.0.1").sign_in("A@example.com ", PASSWORD).await.status, 303);
    let change = [("old", "not the password"), ("new", "another password")];
    for _ in 0..5 {
        assert_ne!(person.submit("/account", "/account/password", &change).await.status, 429);
    }
    told(&person.submit("/account", "/account/password", &[("old", PASSWORD), ("new", "another password")]).await);
    told(&person.submit("/account/delete", "/account/delete", &[("password", PASSWORD)]).await);
    assert!(person.is_signed_in().await);
    // One address, at many accounts.
    let pages = refusals(&taxon, 11, |at| format!("b{at}@example.com"), |_| "10.3.0.1".to_owned()).await;
    assert!(pages.iter().take(10).all(|page| page.status != 429));
    told(&pages[10]);
    // Its neighbour is another; and what a stranger writes before the proxy's word does not count.
    let neighbour = Browser::new(&taxon, "10.3.0.2").sign_in("c@example.com", PASSWORD).await;
    assert!(neighbour.has("is wrong"));
    told(&Browser::new(&taxon, "203.0.113.5, 10.3.0.1").sign_in("c@example.com", PASSWORD).await);
    let mut many = Browser::new(&taxon, "10.4.0.1");
    for at in 0..5 {
        assert_eq!(many.sign_up(&format!("d{at}@example.com"), PASSWORD).await.status, 200);
    }
    told(&many.sign_up("d5@example.com", PASSWORD).await);
    assert_eq!(Browser::new(&taxon, "10.4.0.2").sign_up("d5@example.com", PASSWORD).await.status, 200);
}

#[tokio::test]
async fn secrets_that_sign_in_are_in_no_log() {
    let setup = proxied().with("TAXON_LOG", "info").around("exec \"$@\" >printed.txt 2>&1");
    let taxon = setup.start().await;
    let printed = || std::fs::read_to_string(setup.data.path().join("printed.txt")).unwrap();
    let path = setup.run(&["accounts", "first-operator"]).lines().last().unwrap().to_owned();
    let mut person = Browser::new(&taxon, "198.51.100.77");
    assert_eq!(person.get(&path).await.status, 200);
    assert_eq!(person.submit(&path, &path, &[("email", "op@example.com"), ("password", PASSWORD)]).await.status, 303);
    let key = person.new_key("mine").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let log = printed();
    assert!(log.contains("/account/keys"), "requests are logged: {log}");
    let secrets = [&path[6..], PASSWORD, &key, &person.cookies["taxon_session"], "op@example.com", "198.51.100.77"];
    for secret in secrets {
        assert!(!log.contains(secret), "{secret}");
    }
}
