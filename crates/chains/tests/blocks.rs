//! Whole blocks: what is read of a block is what is read of each of its transactions alone, whatever the nodes offer and however they lie. The
//! transactions are those that real nodes recorded for the demo, gathered in one block: nobody signs the number of a block.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail loudly")]

#[path = "blocks/evm.rs"]
mod evm;
#[path = "blocks/solana.rs"]
mod solana;

use std::collections::BTreeMap;
use std::sync::Arc;

use chains::{FetchError, Fetched, FetchedOfBlock, Forgetful, Registry, Tape, TokenMemory, Upstreams, tape_node};
use engine::TxHash;
use serde_json::{Value, json};

/// The exchanges of one of the demo's chains with its nodes.
fn recorded(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A chain that answers this.
fn chain(slug: &str, exchanges: &[Value]) -> Upstreams {
    let mut registry = Registry::embedded().unwrap();
    registry.add(include_str!("../../../demo/chain.toml")).unwrap();
    let tape: String = exchanges.iter().map(|exchange| format!("{exchange}\n")).collect();
    let memory: Arc<dyn TokenMemory> = Arc::new(Forgetful);
    Upstreams::new([tape_node(registry.find(slug).unwrap(), &Arc::new(Tape::read(&tape).unwrap()))], &memory)
}

fn said(slug: &str, method: &str, params: &Value, result: &Value) -> Value {
    json!({ "chain": slug, "method": method, "params": params, "result": result })
}

fn unsupported(slug: &str, method: &str, params: &Value) -> Value {
    json!({ "chain": slug, "method": method, "params": params, "unsupported": true })
}

/// Everything that was learned, as it is cached.
fn bytes(fetched: &Fetched) -> Vec<u8> {
    fetched.encode().unwrap()
}

async fn one_by_one(slug: &str, upstreams: &Upstreams, hashes: &[String]) -> Vec<(TxHash, Vec<u8>)> {
    let mut all = Vec::new();
    for hash in hashes {
        let hash = TxHash::parse(hash).unwrap();
        all.push((hash, bytes(&upstreams.fetch(hash, Some(slug)).await.unwrap())));
    }
    all
}

fn of_block(transactions: Vec<FetchedOfBlock>) -> Vec<(TxHash, Vec<u8>)> {
    transactions.into_iter().map(|one| (one.hash, bytes(&one.fetched.unwrap()))).collect()
}

fn code(error: &FetchError) -> &'static str {
    match error {
        FetchError::Upstream { error, .. } => error.code(),
        FetchError::NoBlock { .. } => "no_block",
        FetchError::NotFound { .. } | FetchError::NotDetected | FetchError::NotYetMined { .. } => "no_transaction",
    }
}

fn by_hash(rows: Vec<(TxHash, Vec<u8>)>) -> BTreeMap<String, Vec<u8>> {
    rows.into_iter().map(|(hash, bytes)| (hash.to_string(), bytes)).collect()
}
