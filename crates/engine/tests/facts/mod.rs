//! A transaction on Ethereum with the given logs, traced, and nothing else to it.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes, U64, address};
use engine::evm::EvmFacts;
use engine::evm::json::Log;
use engine::{Chain, cases};

pub fn chain() -> Arc<Chain> {
    Arc::new(Chain {
        name: "Ethereum".to_owned(),
        chain_id: Some(1),
        native_symbol: "ETH".to_owned(),
        native_name: "Ether".to_owned(),
        native_log: Some(address!("0000000000000000000000000000000000001010")),
        ..cases::chain("ethereum", address!("C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"))
    })
}

pub fn of(from: Address, to: Address, logs: Vec<Log>) -> EvmFacts {
    let chain = chain();
    let mut facts = cases::plain(Chain::clone(&chain), from, to, logs);
    facts.transaction.input = Bytes::from_static(&[0xde, 0xad, 0xbe, 0xef]);
    facts.transaction.chain_id = Some(U64::ONE);
    facts
}
