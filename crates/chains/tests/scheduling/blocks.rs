//! What whole blocks cost: requests, and what is remembered of endpoints that lack a call.

use chains::{FetchError, Upstreams};
use engine::evm::InternalValue;
use engine::{EvmFacts, Facts};
use futures_util::future::join_all;

use super::node::{FakeNode, Mined, chain};

const RECEIPTS: &str = "eth_getBlockReceipts";
const TRACES: &str = "debug_traceBlockByNumber";
const FLAT: &str = "trace_block";
/// Transactions in each block of the fake chain.
const PER_BLOCK: u64 = 9;

/// A node with the blocks 900 to 907.
async fn fake(unsupported: &[&'static str]) -> FakeNode {
    let hashes: Vec<String> = (0..8 * PER_BLOCK).map(|number| format!("0x{number:064x}")).collect();
    let blocks = (900..908).flat_map(|block| [block; PER_BLOCK as usize]);
    let mined: Vec<(&str, Mined)> =
        hashes.iter().zip(blocks).map(|(hash, block)| (hash.as_str(), Mined::at(block))).collect();
    let fake = FakeNode::with(&mined).await;
    fake.behave(|manners| manners.unsupported = unsupported.to_vec());
    fake
}

async fn read(upstreams: &Upstreams, number: u64) {
    let rows = upstreams.block("local", number).await.unwrap();
    assert_eq!(rows.len() as u64, PER_BLOCK);
    for row in rows {
        let fetched = row.fetched.unwrap();
        let is_traced = |facts: &EvmFacts| matches!(facts.internal, InternalValue::Traced { .. });
        assert!(matches!(fetched.facts(), Facts::Evm(facts) if is_traced(facts)), "{fetched:?}");
        let block = fetched.facts().block();
        assert!(block.is_some_and(|block| block.number == number && block.finalized), "{block:?}");
    }
}

fn count(fake: &FakeNode, counted: &[&str]) -> Vec<usize> {
    let methods = fake.methods();
    counted.iter().map(|method| methods.iter().filter(|asked| asked == method).count()).collect()
}

#[tokio::test]
async fn a_block_takes_one_request_and_blocks_at_once_share_it() {
    let fake = fake(&[]).await;
    let upstreams = chain(&[&fake]);
    read(&upstreams, 900).await;
    assert_eq!(fake.requests(), 1, "{:?}", fake.methods());
    fake.methods();
    join_all((901..907).map(|number| read(&upstreams, number))).await;
    assert_eq!(fake.requests(), 1);
    assert_eq!(count(&fake, &[RECEIPTS, TRACES, "eth_getTransactionReceipt", "debug_traceTransaction"]), [6, 6, 0, 0]);
    let none = upstreams.block("local", 5_000).await.map(|rows| rows.len());
    assert_eq!(none, Err(FetchError::NoBlock { chain: "local".to_owned(), number: 5_000 }));
}

#[tokio::test]
async fn what_an_endpoint_lacks_is_asked_one_by_one_and_remembered() {
    for (without, singles) in
        [(vec![RECEIPTS], [9, 0]), (vec![TRACES, FLAT], [0, 9]), (vec![RECEIPTS, TRACES, FLAT], [9, 9])]
    {
        let fake = fake(&without).await;
        let upstreams = chain(&[&fake]);
        let methods = [RECEIPTS, TRACES, FLAT, "eth_getTransactionReceipt", "debug_traceTransaction"];
        let lacks = |method: &str| usize::from(without.contains(&method));
        read(&upstreams, 900).await;
        let first = count(&fake, &methods);
        assert_eq!(first, [1, 1, lacks(FLAT), singles[0], singles[1]], "{without:?}");
        read(&upstreams, 901).await;
        let second = count(&fake, &methods);
        assert_eq!(second, [1 - lacks(RECEIPTS), 1 - lacks(TRACES), 0, singles[0], singles[1]], "{without:?}");
    }
}

#[tokio::test]
async fn another_endpoint_has_what_the_first_lacks() {
    let (first, second) = (fake(&[RECEIPTS, TRACES, FLAT]).await, fake(&[]).await);
    let upstreams = chain(&[&first, &second]);
    for number in 900..903 {
        read(&upstreams, number).await;
    }
    assert_eq!(count(&first, &[RECEIPTS, TRACES, FLAT]), [1, 1, 1]);
    assert_eq!(count(&second, &[RECEIPTS, TRACES, "eth_getTransactionReceipt"]), [3, 3, 0]);
}

#[tokio::test]
async fn a_node_that_is_down_is_a_failure_and_no_empty_block() {
    let fake = fake(&[]).await;
    let upstreams = chain(&[&fake]);
    fake.behave(|manners| manners.status = Some(503));
    let error = upstreams.block("local", 900).await.map(|rows| rows.len()).unwrap_err();
    assert!(matches!(error, FetchError::Upstream { .. }), "{error:?}");
}
