//! What is not there, what is told in two ways, and chains that are slow while others are not.

use std::time::{Duration, Instant};

use chains::{FetchError, UpstreamError, Upstreams, live_node};
use engine::TxHash;

use super::node::{CHAIN_ID, Mined, Stand, chain, now, registry, upstreams};

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
    let stand = Stand::with(&[(HASH, Mined::at(900))]).await;
    let upstreams = chain(&[&stand]);
    assert_eq!(outcome(&upstreams).await, "found");
    assert_eq!(stand.requests(), 2);
}

#[tokio::test]
async fn one_node_that_has_nothing_is_asked_once() {
    let stand = Stand::with(&[]).await;
    let upstreams = chain(&[&stand]);
    assert_eq!(outcome(&upstreams).await, "tx_not_found");
    assert_eq!(stand.methods().iter().filter(|method| *method == "eth_getTransactionByHash").count(), 1);
}

#[tokio::test]
async fn what_one_endpoint_does_not_have_the_next_is_asked_for() {
    let (first, second) = (Stand::with(&[]).await, Stand::with(&[(HASH, Mined::at(900))]).await);
    assert_eq!(outcome(&chain(&[&first, &second])).await, "found");
    let empty = Stand::with(&[]).await;
    assert_eq!(outcome(&chain(&[&first, &empty])).await, "tx_not_found");
}

#[tokio::test]
async fn a_node_that_lags_is_not_believed() {
    let (behind, ahead) = (Stand::with(&[]).await, Stand::with(&[]).await);
    behind.behave(|manners| manners.head = (500, now() - 6_000));
    let upstreams = chain(&[&behind, &ahead]);
    assert_eq!(outcome(&upstreams).await, "tx_not_found", "the one that is ahead showed it");
    ahead.behave(|manners| manners.status = Some(503));
    assert_eq!(outcome(&upstreams).await, "upstream_unavailable", "only the one that lags was left to say so");
}

#[tokio::test]
async fn an_old_head_alone_is_no_lag() {
    let recorded = Stand::with(&[]).await;
    recorded.behave(|manners| manners.head = (500, 1_600_000_000));
    assert_eq!(outcome(&chain(&[&recorded])).await, "tx_not_found", "a recorded chain is old and whole");
}

#[tokio::test]
async fn a_live_node_that_stands_still_is_not_believed() {
    let stand = Stand::with(&[]).await;
    let upstreams = chain(&[&stand]);
    assert_eq!(outcome(&upstreams).await, "tx_not_found");
    stand.behave(|manners| manners.head = (1_000, now() - 3_600));
    tokio::time::sleep(Duration::from_millis(5_200)).await;
    assert_eq!(outcome(&upstreams).await, "upstream_unavailable");
}

#[tokio::test]
async fn a_reorganisation_between_two_calls_mends_itself() {
    let torn = Mined { receipt_branch: 2, header_branch: 2, ..Mined::at(900) };
    let whole = Mined { transaction_branch: 2, ..torn.clone() };
    let (first, second) = (Stand::with(&[(HASH, torn)]).await, Stand::with(&[(HASH, whole)]).await);
    assert_eq!(outcome(&chain(&[&first])).await, "upstream_inconsistent", "one that stays torn is not believed");
    assert_eq!(outcome(&chain(&[&first, &second])).await, "found");
}

#[tokio::test]
async fn endpoints_that_contradict_each_other_are_inconsistent() {
    let torn = Mined { header_branch: 2, ..Mined::at(900) };
    let (first, agreeing) = (Stand::with(&[(HASH, torn)]).await, Stand::with(&[(HASH, Mined::at(900))]).await);
    assert_eq!(outcome(&chain(&[&first, &agreeing])).await, "found", "the parts that could be read agree");
    let elsewhere = Mined { transaction_branch: 3, receipt_branch: 3, header_branch: 3, ..Mined::at(901) };
    let failed = Mined { status: 0, ..Mined::at(900) };
    for other in [elsewhere, failed] {
        let second = Stand::with(&[(HASH, other)]).await;
        assert_eq!(outcome(&chain(&[&first, &second])).await, "upstream_inconsistent");
    }
}

#[tokio::test]
async fn a_slow_trace_holds_up_nothing_else() {
    let stand = Stand::with(&[(HASH, Mined::at(900))]).await;
    stand.behave(|manners| manners.trace_delay = Duration::from_secs(600));
    let upstreams = chain(&[&stand]);
    let begun = Instant::now();
    assert_eq!(outcome(&upstreams).await, "found");
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    stand.methods();
    stand.requests();
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
    let fast = Stand::with(&[(HASH, Mined::at(900))]).await;
    let mut nodes = Vec::new();
    let mut slow = Vec::new();
    for (at, slug) in slugs.iter().enumerate() {
        let chain = registry.find(slug).unwrap();
        let url = if at == 0 {
            fast.url.clone()
        } else {
            let stand = Stand::with(&[]).await;
            stand.behave(|manners| {
                manners.chain_id = CHAIN_ID + at as u64;
                manners.delay = Duration::from_secs(600);
            });
            slow.push(stand);
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
    for stand in &slow {
        assert!(stand.requests() <= 16, "what nobody waits for is not sent without end");
    }
    let unknown = "0x00000000000000000000000000000000000000000000000000000000000000f2";
    let begun = Instant::now();
    let nowhere = upstreams.fetch(TxHash::parse(unknown).unwrap(), None).await.unwrap_err();
    assert_eq!(code(&nowhere), UpstreamError::Timeout.code());
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}
