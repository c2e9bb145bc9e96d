//! Whole blocks of a real node: what is fetched of a block is what is fetched of each of its transactions, whichever calls the node offers.

use std::sync::Arc;

use chains::{Fetched, Forgetful, Registry, TokenMemory, Upstreams, live_node};
use engine::evm::InternalValue;
use engine::{Facts, TxHash};
use serde_json::{Value, json};

use super::harness::{Anvil, mainnet, rpc};
use super::hostile::{Proxy, unknown_method};

const BY_BLOCK: [&str; 3] = ["eth_getBlockReceipts", "debug_traceBlockByNumber", "trace_block"];
const CHAIN: &str = "[[chain]]\nslug = \"local\"\nname = \"Local\"\nfamily = \"evm\"\nchain_id = 31337\nnative_symbol = \"ETH\"\n\
                     native_name = \"Ether\"\nnative_decimals = 18\n";
pub const SENDERS: [&str; 3] = [
    "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
    "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
    "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc",
];
/// Hands on the coin that it is sent: `CALL(gas, 0x…aa, callvalue, 0, 0, 0, 0)`.
const PASSES_ON: &str = "0x60006000600060003473000000000000000000000000000000000000aaaa5af100";
const REVERTS: &str = "0x60006000fd";
const PASSING: &str = "0x00000000000000000000000000000000000b10c1";
const REVERTING: &str = "0x00000000000000000000000000000000000b10c2";

fn upstreams(url: &str) -> Upstreams {
    let mut registry = Registry::embedded().unwrap();
    registry.add(CHAIN).unwrap();
    let memory: Arc<dyn TokenMemory> = Arc::new(Forgetful);
    Upstreams::new([live_node(registry.find("local").unwrap(), &[url.to_owned()], None).unwrap()], &memory)
}

async fn alone(upstreams: &Upstreams, hash: TxHash) -> Fetched {
    upstreams.fetch(hash, Some("local")).await.unwrap()
}

/// A node that does not offer these calls.
async fn without(node: &str, methods: &'static [&'static str]) -> Proxy {
    let is_offered = |question: &Value| !methods.iter().any(|method| question["method"] == *method);
    Proxy::start(node, move |question, answer| if is_offered(question) { answer } else { unknown_method(&answer) })
        .await
}

/// One block with so many times three transactions of every kind; gives its number.
pub async fn crowded(anvil: &Anvil, rounds: usize) -> u64 {
    for (contract, code) in [(PASSING, PASSES_ON), (REVERTING, REVERTS)] {
        rpc(&anvil.url, "anvil_setCode", json!([contract, code])).await;
    }
    rpc(&anvil.url, "evm_setAutomine", json!([false])).await;
    let mut sent = 0;
    for round in 0..rounds {
        for from in SENDERS {
            let to = [PASSING, REVERTING, SENDERS[0], SENDERS[2]][(3 * sent + round) % 4];
            let mut transaction =
                json!({ "from": from, "to": to, "value": format!("{:#x}", 1_000 + sent), "gas": "0x186a0" });
            if sent % 7 == 6 {
                transaction = json!({ "from": from, "data": PASSES_ON, "gas": "0x186a0" });
            }
            rpc(&anvil.url, "eth_sendTransaction", json!([transaction])).await;
            sent += 1;
        }
    }
    rpc(&anvil.url, "evm_mine", json!([])).await;
    let latest = rpc(&anvil.url, "eth_getBlockByNumber", json!(["latest", false])).await;
    assert_eq!(latest["transactions"].as_array().unwrap().len(), sent);
    let number = latest["number"].as_str().unwrap();
    u64::from_str_radix(number.trim_start_matches("0x"), 16).unwrap()
}

#[tokio::test]
async fn a_crowded_block_is_told_as_its_transactions_are_one_by_one() {
    let anvil = Anvil::start(31_337).await;
    let number = crowded(&anvil, 8).await;
    let direct = upstreams(&anvil.url);
    let mut expected = Vec::new();
    for row in direct.block("local", number).await.unwrap() {
        expected.push((row.hash, alone(&direct, row.hash).await.encode().unwrap()));
    }
    assert_eq!(expected.len(), 24);
    let offers: [&'static [&'static str]; 5] = [&[], &BY_BLOCK[..1], &BY_BLOCK[1..2], &BY_BLOCK[1..], &BY_BLOCK];
    for missing in offers {
        let proxy = without(&anvil.url, missing).await;
        let upstreams = upstreams(&proxy.url);
        for round in 0..2 {
            proxy.requests();
            let block = upstreams.block("local", number).await.unwrap();
            let requests = proxy.requests();
            let mut passed = 0;
            for (row, (hash, bytes)) in block.iter().zip(&expected) {
                assert_eq!(row.hash, *hash, "in the order of the block");
                let fetched = row.fetched.as_ref().unwrap();
                assert_eq!(fetched.encode().as_ref(), Some(bytes), "{hash} without {missing:?}");
                let Facts::Evm(facts) = fetched.facts() else { panic!("an EVM chain") };
                passed += usize::from(
                    matches!(&facts.internal, InternalValue::Traced { transfers, .. } if !transfers.is_empty()),
                );
            }
            assert_eq!(block.len(), expected.len());
            assert!(passed > 3, "coin was passed on inside of some");
            if round == 1 {
                let are_singles_asked = missing.contains(&BY_BLOCK[0]) || missing.len() > 1;
                let most = if are_singles_asked { 2 } else { 1 };
                assert!(requests <= most, "{requests} requests without {missing:?}: what it lacks is remembered");
            }
        }
    }
    assert!(direct.block("local", number + 1).await.is_err(), "it is not there yet");
}

/// Real protocols, a transaction to a block.
#[tokio::test]
async fn every_block_of_the_scenario_is_told_as_its_transaction_is() {
    let (anvil, scenario) = mainnet().await;
    let upstreams = upstreams(&anvil.url);
    for done in scenario.transactions.iter().step_by(4) {
        let hash = TxHash::parse(&done.hash).unwrap();
        let alone = alone(&upstreams, hash).await;
        let block = upstreams.block("local", alone.facts().block().unwrap().number).await.unwrap();
        let row = block.iter().find(|row| row.hash == hash).unwrap();
        assert_eq!(row.fetched.as_ref().unwrap().encode(), alone.encode(), "{}", done.name);
    }
}
