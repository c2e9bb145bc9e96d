//! Absent transactions, contradicting answers, and chains that are slow while others are not.

use std::time::{Duration, Instant};

use chains::{FetchError, UpstreamError, Upstreams, live_node};
use engine::TxHash;

use super::node::{CHAIN_ID, FakeNode, Mined, chain, now, registry, upstreams};

const HASH: &str = "0x00000000000000000000000000000000000000000000000000000000000000f1";

fn hash() -> TxHash {
    TxHash::parse(HASH).unwrap()
}

fn code(error: &FetchError) -> &'static str {
    match error {
        FetchError::Upstream { error, .. } => error.code(),
        FetchError::NotFound { .. } => "tx_not_found",
        FetchError::NotDetected => "chain_not_detected",
        FetchError::NotYetMined { .. } => "tx_not_yet_mined",
        FetchError::NoBlock { .. } => "no_block",
    }
}

async fn outcome(upstreams: &Upstreams) -> &'static str {
    match upstreams.fetch(hash(), Some("local")).await {
        Ok(_) => "found",
        Err(error) => code(&error),
    }
}

#[tokio::test]
async fn a_cold_transaction_costs_two_requests() {
    let fake = FakeNode::with(&[(HASH, Mined::at(900))]).await;
    let upstreams = chain(&[&fake]);
    assert_eq!(outcome(&upstreams).await, "found");
    assert_eq!(fake.requests(), 2);
}

#[tokio::test]
async fn one_node_that_has_nothing_is_asked_once() {
    let fake = FakeNode::with(&[]).await;
    let upstreams = chain(&[&fake]);
    assert_eq!(outcome(&upstreams).await, "tx_not_found");
    assert_eq!(fake.methods().iter().filter(|method| *method == "eth_getTransactionByHash").count(), 1);
}

#[tokio::test]
async fn what_one_endpoint_does_not_have_the_next_is_asked_for() {
    let (first, second) = (FakeNode::with(&[]).await, FakeNode::with(&[(HASH, Mined::at(900))]).await);
    assert_eq!(outcome(&chain(&[&first, &second])).await, "found");
    let empty = FakeNode::with(&[]).await;
    assert_eq!(outcome(&chain(&[&first, &empty])).await, "tx_not_found");
}

#[tokio::test]
async fn a_node_that_lags_is_not_believed() {
    let (behind, ahead) = (FakeNode::with(&[]).await, FakeNode::with(&[]).await);
    behind.behave(|manners| manners.head = (500, now() - 6_000));
    let upstreams = chain(&[&behind, &ahead]);
    assert_eq!(outcome(&upstreams).await, "tx_not_found", "the one that is ahead showed it");
    ahead.behave(|manners| manners.status = Some(503));
    assert_eq!(outcome(&upstreams).await, "upstream_unavailable", "only the one that lags was left to say so");
}

#[tokio::test]
async fn an_old_head_alone_is_no_lag() {
    let recorded = FakeNode::with(&[]).await;
    recorded.behave(|manners| manners.head = (500, 1_600_000_000));
    assert_eq!(outcome(&chain(&[&recorded])).await, "tx_not_found", "a recorded chain is old and whole");
}

#[tokio::test]
async fn a_live_node_that_stands_still_is_not_believed() {
    let fake = FakeNode::with(&[]).await;
    let upstreams = chain(&[&fake]);
    assert_eq!(outcome(&upstreams).await, "tx_not_found");
    fake.behave(|manners| manners.head = (1_000, now() - 3_600));
    tokio::time::sleep(Duration::from_millis(5_200)).await;
    assert_eq!(outcome(&upstreams).await, "upstream_unavailable");
}

#[tokio::test]
async fn a_reorganisation_between_two_calls_mends_itself() {
    let torn = Mined { receipt_branch: 2, header_branch: 2, ..Mined::at(900) };
    let whole = Mined { transaction_branch: 2, ..torn.clone() };
    let (first, second) = (FakeNode::with(&[(HASH, torn)]).await, FakeNode::with(&[(HASH, whole)]).await);
    assert_eq!(outcome(&chain(&[&first])).await, "upstream_inconsistent", "one that stays torn is not believed");
    assert_eq!(outcome(&chain(&[&first, &second])).await, "found");
}

#[tokio::test]
async fn endpoints_that_contradict_each_other_are_inconsistent() {
    let torn = Mined { header_branch: 2, ..Mined::at(900) };
    let (first, agreeing) = (FakeNode::with(&[(HASH, torn)]).await, FakeNode::with(&[(HASH, Mined::at(900))]).await);
    assert_eq!(outcome(&chain(&[&first, &agreeing])).await, "found", "the parts that could be read agree");
    let elsewhere = Mined { transaction_branch: 3, receipt_branch: 3, header_branch: 3, ..Mined::at(901) };
    let failed = Mined { status: 0, ..Mined::at(900) };
    for other in [elsewhere, failed] {
        let second = FakeNode::with(&[(HASH, other)]).await;
        assert_eq!(outcome(&chain(&[&first, &second])).await, "upstream_inconsistent");
    }
}

#[tokio::test]
async fn a_slow_trace_holds_up_nothing_else() {
    let fake = FakeNode::with(&[(HASH, Mined::at(900))]).await;
    fake.behave(|manners| manners.trace_delay = Duration::from_secs(600));
    let upstreams = chain(&[&fake]);
    let begun = Instant::now();
    assert_eq!(outcome(&upstreams).await, "found");
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    fake.methods();
    fake.requests();
    let other = "0x00000000000000000000000000000000000000000000000000000000000000f2";
    let begun = Instant::now();
    let absent = upstreams.fetch(TxHash::parse(other).unwrap(), Some("local")).await;
    assert_eq!(code(&absent.unwrap_err()), "tx_not_found", "an absence does not wait for a trace");
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

/// The chain that has the hash, among others that hang.
#[tokio::test]
async fn detection_does_not_wait_for_slow_chains() {
    let slugs = ["local", "slow-one", "slow-two", "slow-three"];
    let registry = registry(&slugs);
    let fast = FakeNode::with(&[(HASH, Mined::at(900))]).await;
    let mut nodes = Vec::new();
    let mut slow = Vec::new();
    for (at, slug) in slugs.iter().enumerate() {
        let chain = registry.find(slug).unwrap();
        let url = if at == 0 {
            fast.url.clone()
        } else {
            let fake = FakeNode::with(&[]).await;
            fake.behave(|manners| {
                manners.chain_id = CHAIN_ID + at as u64;
                manners.delay = Duration::from_secs(600);
            });
            slow.push(fake);
            slow[slow.len() - 1].url.clone()
        };
        nodes.push(live_node(chain, &[url], None).unwrap());
    }
    let upstreams = upstreams(nodes);
    let begun = Instant::now();
    for _ in 0..20 {
        assert!(upstreams.fetch(hash(), None).await.is_ok());
    }
    assert!(begun.elapsed() < Duration::from_secs(7), "{:?}", begun.elapsed());
    for fake in &slow {
        assert!(fake.requests() <= 16, "what nobody waits for is not sent without end");
    }
    let unknown = "0x00000000000000000000000000000000000000000000000000000000000000f2";
    let begun = Instant::now();
    let nowhere = upstreams.fetch(TxHash::parse(unknown).unwrap(), None).await.unwrap_err();
    assert_eq!(code(&nowhere), UpstreamError::Timeout.code());
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}
