//! Admission: which keys are accepted, how often, and in which order a request is checked.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::crash::within_since;
use super::harness::{Answer, Setup, Taxon, demo_scenario, read};

const RATE: &str = "TAXON_RATE_PER_MINUTE";
const NOBODYS_KEY: &str = "txn_nobodys1_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

async fn limited_to(per_minute: &str) -> Taxon {
    Setup::demo().with(RATE, per_minute).start().await
}

/// The cheapest request that counts: its body is refused.
async fn knock(taxon: &Taxon, key: &str) -> Answer {
    taxon.post_as(key, "/v1/classify", &json!({})).await
}

async fn classify(taxon: &Taxon, name: &str) -> Answer {
    taxon.classify(&demo_scenario().named(name).hash).await
}

async fn status(taxon: &Taxon, key: Option<&str>, forwarded: &[&str]) -> Answer {
    let mut request = taxon.raw(Method::GET, "/quota-status");
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    for value in forwarded {
        request = request.header("x-forwarded-for", *value);
    }
    read(request.send().await.unwrap()).await
}

fn told(answer: &Answer) -> (u16, &str) {
    assert!(answer.body["error"]["message"].is_string(), "{}", answer.body);
    (answer.status, answer.code())
}

/// For how many seconds a caller has to wait who was refused for calling too often.
fn wait(answer: &Answer) -> u64 {
    assert_eq!(told(answer), (429, "rate_limited"));
    let seconds = answer.headers["retry-after"].parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    seconds
}

#[tokio::test]
async fn every_request_with_a_key_counts_whatever_becomes_of_it() {
    let taxon = Setup::demo().with(RATE, "5").with("TAXON_POOL_DEV", "1").start().await;
    assert_eq!(classify(&taxon, "v2_swap_eth_in").await.status, 200);
    assert_eq!(told(&classify(&taxon, "weth_wrap").await), (402, "quota_exceeded"));
    assert_eq!(told(&knock(&taxon, &taxon.key).await), (400, "invalid_request"));
    assert_eq!(told(&taxon.classify("0x1").await), (400, "invalid_hash"));
    let batch = taxon.post("/v1/classify-batch", &json!({ "hashes": [] })).await;
    assert_eq!(told(&batch), (400, "invalid_request"), "both calls share one window");
    wait(&classify(&taxon, "v2_swap_eth_in").await);
    wait(&knock(&taxon, &taxon.key).await);
}

#[tokio::test]
async fn sixty_requests_a_minute_are_the_default() {
    // Empty is unset.
    let taxon = limited_to("").await;
    for _ in 0..60 {
        assert_eq!(knock(&taxon, &taxon.key).await.status, 400);
    }
    wait(&knock(&taxon, &taxon.key).await);
}

#[tokio::test]
async fn a_crowd_gets_no_more_than_the_limit() {
    let taxon = limited_to("5").await;
    let answers = join_all((0..30).map(|_| knock(&taxon, &taxon.key))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 400).count(), 5);
    for refused in answers.iter().filter(|answer| answer.status != 400) {
        wait(refused);
    }
}

#[tokio::test]
async fn without_a_limit_nobody_is_refused() {
    let taxon = limited_to("0").await;
    let answers = join_all((0..100).map(|_| knock(&taxon, &taxon.key))).await;
    assert!(answers.iter().all(|answer| answer.status == 400));
    let answers = join_all((0..100).map(|_| knock(&taxon, NOBODYS_KEY))).await;
    assert!(answers.iter().all(|answer| answer.status == 401));
}

#[tokio::test]
async fn a_window_is_the_key_s_own_and_quota_status_has_another() {
    let taxon = limited_to("2").await;
    let second = taxon.setup.key("test@example.com", "dev", &[]);
    for key in [&taxon.key, &second] {
        for _ in 0..2 {
            assert_eq!(knock(&taxon, key).await.status, 400, "two keys of one owner have a window each");
        }
        wait(&knock(&taxon, key).await);
    }
    for caller in [Some(taxon.key.as_str()), Some(second.as_str()), None] {
        for _ in 0..2 {
            assert_eq!(status(&taxon, caller, &[]).await.status, 200, "per key, and per address without one");
        }
        wait(&status(&taxon, caller, &[]).await);
    }
    let third = taxon.setup.key("test@example.com", "dev", &[]);
    assert_eq!(status(&taxon, Some(&third), &[]).await.status, 200);
    assert_eq!(status(&taxon, Some(&third), &[]).await.status, 200);
    assert_eq!(knock(&taxon, &third).await.status, 400, "asking for the quota spends no call");
}

#[tokio::test]
async fn wrong_keys_are_limited_by_address_and_valid_ones_are_not_in_their_way() {
    let taxon = limited_to("5").await;
    let forged = format!("{}{}", &taxon.key[..13], "A".repeat(32));
    for key in [NOBODYS_KEY, "nonsense", &forged, &forged] {
        assert_eq!(told(&knock(&taxon, key).await), (401, "unauthorized"));
    }
    assert_eq!(told(&status(&taxon, Some(&forged), &[]).await), (401, "unauthorized"), "wherever it is tried");
    wait(&knock(&taxon, NOBODYS_KEY).await);
    wait(&knock(&taxon, &forged).await);
    wait(&status(&taxon, Some(&forged), &[]).await);
    let none = taxon.raw(Method::POST, "/v1/classify").json(&json!({}));
    wait(&read(none.send().await.unwrap()).await);
    for _ in 0..5 {
        assert_eq!(knock(&taxon, &taxon.key).await.status, 400, "what was tried under its name is not the key's");
    }
    wait(&knock(&taxon, &taxon.key).await);
    assert_eq!(status(&taxon, None, &[]).await.status, 200, "nor the anonymous caller's");
}

#[tokio::test]
async fn the_wait_is_until_the_oldest_request_is_a_minute_old() {
    let taxon = limited_to("2").await;
    let first = Instant::now();
    knock(&taxon, &taxon.key).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    knock(&taxon, &taxon.key).await;
    let seconds = wait(&knock(&taxon, &taxon.key).await);
    assert!((59 - first.elapsed().as_secs()..=58).contains(&seconds), "{seconds}");
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert!(wait(&knock(&taxon, &taxon.key).await) < seconds, "a refused request does not prolong it");
}

#[tokio::test]
async fn a_trusted_proxy_tells_callers_apart() {
    let taxon = Setup::demo().with(RATE, "1").with("TAXON_TRUSTED_PROXIES", "127.0.0.1").start().await;
    let cases: [(&[&str], u16, &str); 12] = [
        (&["203.0.113.1"], 200, "the first of a caller"),
        (&["203.0.113.1"], 429, "its second"),
        (&["203.0.113.2"], 200, "another caller"),
        (&["9.9.9.9, 203.0.113.1"], 429, "what the caller itself wrote is not believed"),
        (&["203.0.113.3, 203.0.113.2, 127.0.0.1"], 429, "a trusted hop is passed over"),
        (&["9.9.9.9", "203.0.113.2"], 429, "several headers are one list"),
        (&["[203.0.113.4]:80, 203.0.113.2:4711"], 429, "a port is no part of an address"),
        (&["2001:db8:1:2::1"], 200, "an IPv6 caller"),
        (&["2001:db8:1:2:ffff::9"], 429, "owns its whole /64"),
        (&["2001:db8:1:3::1"], 200, "and no more"),
        (&["203.0.113.5, unknown"], 200, "past nonsense only the proxy is known"),
        (&[], 429, "and it was counted just now"),
    ];
    for (forwarded, expected, why) in cases {
        assert_eq!(status(&taxon, None, forwarded).await.status, expected, "{forwarded:?}: {why}");
    }
    for (forwarded, expected) in [("203.0.113.7", 401), ("203.0.113.7", 429), ("203.0.113.8", 401)] {
        assert_eq!(status(&taxon, Some(NOBODYS_KEY), &[forwarded]).await.status, expected, "wrong keys too");
    }
}

#[tokio::test]
async fn a_stranger_cannot_name_itself() {
    let taxon = limited_to("1").await;
    assert_eq!(status(&taxon, None, &["203.0.113.1"]).await.status, 200);
    wait(&status(&taxon, None, &["203.0.113.2"]).await);
    wait(&status(&taxon, None, &[]).await);
}

#[tokio::test]
async fn path_then_key_then_rate_then_body_then_quota() {
    let taxon = Setup::demo().with(RATE, "3").with("TAXON_POOL_DEV", "0").start().await;
    let ask = async |method: Method, path: &str, key: &str, body: Value| {
        read(taxon.raw(method, path).bearer_auth(key).json(&body).send().await.unwrap()).await
    };
    let misses = async |key: &str| {
        for _ in 0..4 {
            assert_eq!(told(&ask(Method::POST, "/v1/nothing", key, json!({})).await), (404, "not_found"));
            assert_eq!(told(&ask(Method::GET, "/v1/classify", key, json!({})).await), (405, "method_not_allowed"));
        }
    };
    misses(NOBODYS_KEY).await;
    misses(&taxon.key).await;
    assert_eq!(told(&knock(&taxon, NOBODYS_KEY).await), (401, "unauthorized"), "key before body; misses did not count");
    assert_eq!(told(&knock(&taxon, &taxon.key).await), (400, "invalid_request"), "body before quota");
    assert_eq!(told(&taxon.classify("0x1").await), (400, "invalid_hash"));
    let unknown = format!("0x{}", "ab".repeat(32));
    assert_eq!(told(&taxon.classify(&unknown).await), (402, "quota_exceeded"), "quota before the work");
    wait(&knock(&taxon, &taxon.key).await);
    wait(&taxon.classify("0x1").await);
    assert_eq!(told(&knock(&taxon, NOBODYS_KEY).await), (401, "unauthorized"), "key before rate");
    misses(&taxon.key).await;
}

#[tokio::test]
async fn a_revoked_key_is_refused_within_a_second_although_it_was_just_used() {
    let taxon = limited_to("0").await;
    assert_eq!(knock(&taxon, &taxon.key).await.status, 400);
    taxon.setup.run(&["keys", "revoke", &taxon.key]);
    let revoked = Instant::now();
    within_since(revoked, Duration::from_secs(1), async || knock(&taxon, &taxon.key).await.status == 401).await;
    assert_eq!(told(&status(&taxon, Some(&taxon.key), &[]).await), (401, "unauthorized"));
}

/// What the service says to an `Authorization` header of these very bytes; nothing, when it hangs up on them.
fn said_to(taxon: &Taxon, authorization: &[u8]) -> String {
    let mut stream = TcpStream::connect(taxon.url.trim_start_matches("http://")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let head = b"GET /quota-status HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: ";
    let mut answer = Vec::new();
    // It need not listen to the end.
    let _ = stream.write_all(&[head, authorization, b"\r\n\r\n"].concat());
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn hostile_keys_are_refused_and_nothing_breaks() {
    let taxon = limited_to("0").await;
    let huge = [b"Bearer ".as_slice(), &vec![b'x'; 10_000_000]].concat();
    let cases: [(&[u8], &[&str]); 4] = [
        (&huge, &["", "HTTP/1.1 431 ", "HTTP/1.1 401 ", "HTTP/1.1 400 "]),
        (b"Bearer \xff\xfe\x80", &["HTTP/1.1 401 "]),
        (b"Bearer txn_\0", &["HTTP/1.1 400 "]),
        ("Bearer txn_ключ".as_bytes(), &["HTTP/1.1 401 "]),
    ];
    for (header, answers) in cases {
        let said = said_to(&taxon, header);
        assert!(
            answers.iter().any(|answer| said.is_empty() == answer.is_empty() && said.starts_with(answer)),
            "{said}"
        );
        assert_eq!(status(&taxon, Some(&taxon.key), &[]).await.status, 200, "the service lives");
    }
}

/// What is refused before its body was read ends the connection, and says so: a client that keeps connections must not trip over it.
#[tokio::test]
async fn a_refusal_that_leaves_a_body_unread_says_that_it_hangs_up() {
    let taxon = Setup::demo().start().await;
    for (bytes, hangs_up) in [(1_000, false), (60_000, true), (2_000_000, true)] {
        let body = "x".repeat(bytes);
        let request = taxon.raw(Method::POST, "/v1/classify").bearer_auth(NOBODYS_KEY).body(body);
        let answer = read(request.send().await.unwrap()).await;
        assert_eq!(answer.status, 401);
        assert_eq!(answer.headers.get("connection").map(String::as_str), hangs_up.then_some("close"), "{bytes}");
        assert_eq!(taxon.get("/healthz").await.status, 200);
    }
}
