//! What one endpoint does not offer, others may: traces in either format, and the names of Solana's assets.

use chains::probe::{FamilySeen, probe};
use chains::{Completeness, Fetched, Upstreams, live_node};
use engine::evm::InternalValue;
use engine::{Account, Facts, Knowledge, Missing, Need, Question, Read, TxHash};
use serde::Deserialize;
use serde_json::json;

use super::node::{FakeNode, Mined, chain, registry, upstreams};

const DEBUG: &str = "debug_traceTransaction";
const FLAT: &str = "trace_transaction";
const ASSETS: &str = "getAssetBatch";

fn hash(number: u64) -> String {
    format!("0x{number:064x}")
}

async fn fake(unsupported: &[&'static str]) -> FakeNode {
    let hashes: Vec<String> = (1..=9).map(hash).collect();
    let mined: Vec<(&str, Mined)> = hashes.iter().map(|hash| (hash.as_str(), Mined::at(900))).collect();
    let fake = FakeNode::with(&mined).await;
    fake.behave(|manners| manners.unsupported = unsupported.to_vec());
    fake
}

async fn fetch(upstreams: &Upstreams, number: u64) -> Fetched {
    upstreams.fetch(TxHash::parse(&hash(number)).unwrap(), Some("local")).await.unwrap()
}

fn is_traced(fetched: &Fetched) -> bool {
    let Facts::Evm(facts) = fetched.facts() else { return false };
    matches!(facts.internal, InternalValue::Traced { .. })
}

fn asked(fake: &FakeNode) -> [usize; 2] {
    let methods = fake.methods();
    [DEBUG, FLAT].map(|method| methods.iter().filter(|asked| *asked == method).count())
}

#[tokio::test]
async fn an_endpoint_that_cannot_trace_leaves_it_to_the_next() {
    let (first, second) = (fake(&[DEBUG, FLAT]).await, fake(&[]).await);
    let upstreams = chain(&[&first, &second]);
    let fetched = fetch(&upstreams, 1).await;
    assert!(is_traced(&fetched));
    assert_eq!(fetched.completeness(), Completeness::Whole);
    assert_eq!(asked(&first), [1, 1], "it said so once in each format");
    assert!(is_traced(&fetch(&upstreams, 2).await));
    assert_eq!((asked(&first), asked(&second)), ([0, 0], [2, 0]), "and is not asked again for a while");
}

#[tokio::test]
async fn each_endpoint_traces_in_its_own_format() {
    let (first, second) = (fake(&[DEBUG]).await, fake(&[FLAT]).await);
    let upstreams = chain(&[&first, &second]);
    for number in 1..=3 {
        assert!(is_traced(&fetch(&upstreams, number).await));
    }
    assert_eq!((asked(&first), asked(&second)), ([1, 3], [0, 0]), "the first serves in the format that it has");
    first.behave(|manners| manners.status = Some(503));
    assert!(is_traced(&fetch(&upstreams, 4).await), "the next in the other");
}

#[tokio::test]
async fn what_no_endpoint_can_trace_is_never_whole() {
    let both = (fake(&[DEBUG, FLAT]).await, fake(&[DEBUG, FLAT]).await);
    for fakes in [vec![&both.0], vec![&both.0, &both.1]] {
        let upstreams = chain(&fakes);
        for number in 1..=2 {
            let fetched = fetch(&upstreams, number).await;
            assert!(!is_traced(&fetched));
            assert_eq!(fetched.completeness(), Completeness::Unsupported);
        }
    }
}

/// Nodes say "not supported" of many things. Only what is said of the method counts against the endpoint.
#[tokio::test]
async fn a_refusal_of_one_transaction_turns_nothing_off() {
    let fake = fake(&[]).await;
    let upstreams = chain(&[&fake]);
    fake.behave(|manners| {
        manners.trace_error = Some(json!({ "code": -32000, "message": "transaction type not supported" }));
    });
    let fetched = fetch(&upstreams, 1).await;
    assert!(!is_traced(&fetched));
    assert_eq!(fetched.completeness(), Completeness::Partial, "a better moment would show more");
    fake.behave(|manners| manners.trace_error = None);
    assert!(is_traced(&fetch(&upstreams, 2).await));
}

#[tokio::test]
async fn the_probe_thinks_of_an_endpoint_as_the_traffic_does() {
    let fake = fake(&[]).await;
    let registry = registry(&["local"]);
    let chain = registry.find("local").unwrap();
    for (code, message) in [(-32601, "x"), (-32004, "x"), (-32000, "the method is not supported")] {
        fake.behave(|manners| manners.trace_error = Some(json!({ "code": code, "message": message })));
        let FamilySeen::Evm(seen) = probe(chain, &fake.url).await.unwrap().family else { panic!("an EVM chain") };
        assert!(!seen.debug_traces && !seen.parity_traces, "{code} {message}");
        let upstreams = upstreams([live_node(chain, std::slice::from_ref(&fake.url), None).unwrap()]);
        assert_eq!(fetch(&upstreams, 1).await.completeness(), Completeness::Unsupported, "{code} {message}");
    }
}

#[derive(Deserialize)]
struct Scenario {
    transactions: Vec<Done>,
}

#[derive(Deserialize)]
struct Done {
    name: String,
    hash: String,
}

#[tokio::test]
async fn an_endpoint_without_an_index_of_assets_leaves_it_to_the_next() {
    let (first, second) = (fake(&[ASSETS]).await, fake(&[]).await);
    let registry = registry(&[]);
    let urls = [first.url.clone(), second.url.clone()];
    let upstreams = upstreams([live_node(registry.find("solana").unwrap(), &urls, None).unwrap()]);
    let scenario: Scenario = serde_json::from_str(include_str!("../../../../demo/solana-scenario.json")).unwrap();
    let done = scenario.transactions.iter().find(|done| done.name == "spl_transfer").unwrap();
    let knowledge = Knowledge::embedded().unwrap();
    for round in 0..2 {
        let fetched = upstreams.fetch(TxHash::parse(&done.hash).unwrap(), None).await.unwrap();
        let read = engine::read(fetched.facts(), &Question::default(), &knowledge, Missing::Ask).unwrap();
        let Read::Needs(needs) = read else { panic!("a mint has no name yet") };
        assert!(matches!(needs.as_slice(), [Need::Token(Account::Solana(_))]), "{needs:?}");
        let fetched = fetched.answer(&needs).await.unwrap();
        let read = engine::read(fetched.facts(), &Question::default(), &knowledge, Missing::Ask).unwrap();
        let symbol = read.done().unwrap().assets.sent.first().map(|leg| leg.symbol.clone());
        assert_eq!(symbol.as_deref(), Some("NAMED"));
        let of_first = first.methods().iter().filter(|method| *method == ASSETS).count();
        assert_eq!(of_first, usize::from(round == 0), "it said once that it has none");
    }
}
