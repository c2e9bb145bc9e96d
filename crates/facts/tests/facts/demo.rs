//! The recorded demo chains, as a data engineer would fill rows from them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use engine::{Knowledge, Registry, Rules, Treatments};
use facts::RowText;
use serde_json::Value;
use serde_json::value::RawValue;

pub static CHAINS: LazyLock<Registry> = LazyLock::new(|| {
    let mut chains = Registry::embedded().unwrap();
    chains.add(include_str!("../../../../demo/chain.toml")).unwrap();
    chains
});

pub static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| {
    let chains = CHAINS.chains().iter().map(|chain| &**chain);
    Knowledge::new(Rules::embedded().unwrap(), Treatments::us().unwrap(), chains)
});

#[derive(serde::Deserialize)]
struct Exchange {
    method: String,
    params: Value,
    result: Option<Box<RawValue>>,
}

/// What nodes answered, by method and first parameter.
fn answers(tape: &str) -> BTreeMap<(String, String), String> {
    let exchanges = tape.lines().map(|line| serde_json::from_str::<Exchange>(line).unwrap());
    let answered = exchanges.filter_map(|exchange| {
        let about = exchange.params.get(0)?.as_str()?.to_owned();
        Some(((exchange.method, about), exchange.result?.get().to_owned()))
    });
    answered.collect()
}

/// Every transaction of both chains, in the nodes' own words.
pub fn rows() -> Vec<RowText> {
    let mut rows = Vec::new();
    let evm = answers(include_str!("../../../../demo/evm.jsonl"));
    for ((_, hash), transaction) in evm.iter().filter(|((method, _), _)| method == "eth_getTransactionByHash") {
        let said = |method: &str, about: &str| evm[&(method.to_owned(), about.to_owned())].clone();
        let parsed: Value = serde_json::from_str(transaction).unwrap();
        let number = parsed["blockNumber"].as_str().unwrap();
        let block: Value = serde_json::from_str(&said("eth_getBlockByNumber", number)).unwrap();
        let decimal = |text: &Value| u64::from_str_radix(text.as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
        rows.push(RowText {
            chain: "demo".to_owned(),
            hash: hash.clone(),
            wallet: None,
            block_number: Some(decimal(&parsed["blockNumber"])),
            block_time: i64::try_from(decimal(&block["timestamp"])).ok(),
            is_final: Some(true),
            transaction: transaction.clone(),
            receipt: Some(said("eth_getTransactionReceipt", hash)),
            internal: Some(said("debug_traceTransaction", hash)),
            known: None,
        });
    }
    let solana = answers(include_str!("../../../../demo/solana.jsonl"));
    for ((_, hash), transaction) in solana.iter().filter(|((method, _), _)| method == "getTransaction") {
        rows.push(RowText {
            chain: "demo-solana".to_owned(),
            hash: hash.clone(),
            wallet: None,
            block_number: None,
            block_time: None,
            is_final: None,
            transaction: transaction.clone(),
            receipt: None,
            internal: None,
            known: None,
        });
    }
    assert!(rows.len() > 80, "{}", rows.len());
    rows
}
