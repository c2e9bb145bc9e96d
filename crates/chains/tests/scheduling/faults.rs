//! Endpoints that fail, stall, pause or flood.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chains::error::CallError;
use chains::{Node, UpstreamError};
use futures_util::future::join_all;
use serde_json::json;

use super::node::{FakeNode, node, node_at};

async fn ask(node: &Node) -> Result<(), CallError> {
    node.call("eth_gasPrice", json!([])).await.map(|_| ())
}

fn failed(error: UpstreamError) -> Result<(), CallError> {
    Err(CallError::Upstream(error))
}

#[tokio::test]
async fn endpoints_are_asked_in_the_operators_order() {
    let (first, second) = (FakeNode::with(&[]).await, FakeNode::with(&[]).await);
    let node = node(&[&first, &second]);
    for _ in 0..5 {
        assert_eq!(ask(&node).await, Ok(()));
    }
    assert_eq!((first.requests(), second.requests()), (5, 0));
    first.behave(|manners| manners.status = Some(503));
    for _ in 0..5 {
        assert_eq!(ask(&node).await, Ok(()), "the second serves while the first fails");
    }
    assert!(first.requests() <= 4, "a breaker keeps the traffic away");
    assert_eq!(second.requests(), 5);
}

#[tokio::test]
async fn a_hundred_calls_at_once_are_one_request() {
    let fake = FakeNode::with(&[]).await;
    let node = node(&[&fake]);
    assert_eq!(ask(&node).await, Ok(()), "with the chain's id and the head, which ride along once");
    assert_eq!(fake.requests(), 1);
    assert!(join_all((0..100).map(|_| ask(&node))).await.iter().all(Result::is_ok));
    assert_eq!(fake.requests(), 1);
}

#[tokio::test]
async fn retry_after_is_honoured_in_seconds_and_as_a_date() {
    let date = || httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_secs(4));
    for wish in [|| "2".to_owned(), date] {
        let fake = FakeNode::with(&[]).await;
        let node = node(&[&fake]);
        assert_eq!(ask(&node).await, Ok(()));
        fake.behave(|manners| {
            manners.status = Some(429);
            manners.retry_after = Some(wish());
        });
        let begun = Instant::now();
        let asked = ask(&node);
        let relent = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            assert_eq!(fake.requests(), 2, "it is left alone meanwhile");
            fake.behave(|manners| manners.status = None);
        };
        let (answer, ()) = tokio::join!(asked, relent);
        assert_eq!(answer, Ok(()), "asked again after the pause, within the deadline");
        assert!(begun.elapsed() >= Duration::from_millis(1_900), "{:?}", begun.elapsed());
        assert_eq!(fake.requests(), 1);
    }
}

#[tokio::test]
async fn a_pause_past_the_deadline_is_told_at_once_and_others_are_asked_meanwhile() {
    let (first, second) = (FakeNode::with(&[]).await, FakeNode::with(&[]).await);
    first.behave(|manners| {
        manners.status = Some(429);
        manners.retry_after = Some("30".to_owned());
    });
    let alone = node(&[&first]);
    let begun = Instant::now();
    for _ in 0..20 {
        assert_eq!(ask(&alone).await, failed(UpstreamError::RateLimited));
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(first.requests(), 1, "asked once, then left alone");

    let both = node(&[&first, &second]);
    for _ in 0..20 {
        assert_eq!(ask(&both).await, Ok(()));
    }
    assert_eq!((first.requests(), second.requests()), (1, 20));
}

#[tokio::test]
async fn members_that_were_rate_limited_are_asked_again() {
    let fake = FakeNode::with(&[]).await;
    let node = node(&[&fake]);
    assert_eq!(ask(&node).await, Ok(()));
    fake.requests();
    fake.behave(|manners| manners.limited_members = 7);
    let answers = join_all((0..20).map(|_| ask(&node))).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(fake.methods().iter().filter(|method| *method == "eth_gasPrice").count(), 1 + 20 + 7);
}

#[tokio::test]
async fn a_breaker_opens_and_is_tested_within_two_seconds() {
    let fake = FakeNode::with(&[]).await;
    let node = node(&[&fake]);
    fake.behave(|manners| manners.status = Some(502));
    assert_eq!(ask(&node).await, failed(UpstreamError::Unavailable));
    let opened = Instant::now();
    fake.requests();
    for _ in 0..50 {
        assert_eq!(ask(&node).await, failed(UpstreamError::Unavailable));
    }
    if opened.elapsed() < Duration::from_secs(1) {
        assert_eq!(fake.requests(), 0, "a chain that is down costs nothing");
    }
    fake.behave(|manners| manners.status = None);
    tokio::time::sleep(Duration::from_secs(2).saturating_sub(opened.elapsed())).await;
    assert_eq!(ask(&node).await, Ok(()), "two seconds later the traffic itself is the test");
}

#[tokio::test]
async fn a_stalling_endpoint_costs_one_caller_seconds_and_the_next_nothing() {
    let (first, second) = (FakeNode::with(&[]).await, FakeNode::with(&[]).await);
    let node = node(&[&first, &second]);
    assert_eq!(ask(&node).await, Ok(()));
    first.behave(|manners| manners.delay = Duration::from_secs(600));
    let begun = Instant::now();
    assert_eq!(ask(&node).await, Ok(()));
    let once = begun.elapsed();
    assert!(once >= Duration::from_millis(1_900) && once < Duration::from_secs(6), "{once:?}");
    second.requests();
    for _ in 0..40 {
        let begun = Instant::now();
        assert_eq!(ask(&node).await, Ok(()));
        assert!(begun.elapsed() < Duration::from_millis(1_800), "{:?}", begun.elapsed());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(second.requests(), 40, "tests of the first run beside the traffic, never instead of it");
    first.behave(|manners| manners.delay = Duration::ZERO);
    for _ in 0..100 {
        assert_eq!(ask(&node).await, Ok(()));
        if first.methods().iter().any(|method| method == "eth_gasPrice") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("an endpoint that is well again was not asked first");
}

#[tokio::test]
async fn a_chain_that_hangs_is_a_timeout_in_eight_seconds_and_then_at_once() {
    let fake = FakeNode::with(&[]).await;
    fake.behave(|manners| manners.delay = Duration::from_secs(600));
    let node = node(&[&fake]);
    let begun = Instant::now();
    assert_eq!(ask(&node).await, failed(UpstreamError::Timeout));
    let once = begun.elapsed();
    assert!(once > Duration::from_secs(7) && once < Duration::from_secs(10), "{once:?}");
    let begun = Instant::now();
    assert_eq!(ask(&node).await, failed(UpstreamError::Timeout));
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_node_of_another_chain_is_not_used_and_the_chain_is() {
    let (first, second) = (FakeNode::with(&[]).await, FakeNode::with(&[]).await);
    first.behave(|manners| manners.chain_id = 1);
    let both = node(&[&first, &second]);
    for _ in 0..10 {
        assert_eq!(ask(&both).await, Ok(()));
    }
    // On a slow machine the first is tried once more meanwhile, beside the traffic.
    assert_eq!(second.requests(), 10);
    assert!((1..=3).contains(&first.requests()), "{}", first.requests());
    let alone = node(&[&first]);
    assert!(matches!(ask(&alone).await, Err(CallError::Upstream(UpstreamError::Inconsistent(_)))));
}

#[tokio::test]
async fn a_dead_address_fails_over() {
    let fake = FakeNode::with(&[]).await;
    let node = node_at(&["http://127.0.0.1:9".to_owned(), fake.url.clone()]);
    for _ in 0..5 {
        assert_eq!(ask(&node).await, Ok(()));
    }
    assert_eq!(fake.requests(), 5);
}

/// A few kilobytes on the wire, far past the bound when unpacked.
fn bomb() -> Arc<Vec<u8>> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let zeros = vec![b' '; 1024 * 1024];
    for _ in 0..68 {
        packer.write_all(&zeros).unwrap();
    }
    Arc::new(packer.finish().unwrap())
}

/// Bytes of memory that this process holds.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn bombs_are_refused_while_they_arrive_and_bounded_in_sum() {
    let fake = FakeNode::with(&[]).await;
    let node = node(&[&fake]);
    assert_eq!(ask(&node).await, Ok(()));
    let packed = bomb();
    fake.behave(|manners| manners.packed = Some(packed));
    // Apart in time, so that they share no request.
    let asked = (0..16_u64).map(|turn| {
        let node = &node;
        async move {
            tokio::time::sleep(Duration::from_millis(turn * 40)).await;
            ask(node).await
        }
    });
    for answer in join_all(asked).await {
        assert!(matches!(answer, Err(CallError::Upstream(_))), "{answer:?}");
    }
    if cfg!(target_os = "linux") {
        let most = 600 * 1024 * 1024;
        assert!(resident() < most, "{} bytes at the peak", resident());
    }
}
