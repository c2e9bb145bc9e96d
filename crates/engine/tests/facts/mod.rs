//! A transaction on Ethereum with the given logs, traced, and nothing else to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U64, U256, address};
use engine::evm::json::{Log, Receipt, Transaction};
use engine::evm::{EvmFacts, InternalValue};
use engine::{Chain, Family};

pub fn chain() -> Arc<Chain> {
    Arc::new(Chain {
        slug: "ethereum".to_owned(),
        name: "Ethereum".to_owned(),
        family: Family::Evm,
        chain_id: Some(1),
        aliases: Vec::new(),
        native_symbol: "ETH".to_owned(),
        native_name: "Ether".to_owned(),
        native_decimals: 18,
        wrapped_native: vec![address!("C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2")],
        multicall3: None,
        native_log: Some(address!("0000000000000000000000000000000000001010")),
        fee_collector: None,
        finality_depth: None,
        contracts_as: None,
        explorer: None,
        endpoints: Vec::new(),
    })
}

pub fn of(from: Address, to: Address, logs: Vec<Log>) -> EvmFacts {
    EvmFacts {
        chain: chain(),
        transaction: Transaction {
            hash: B256::ZERO,
            from,
            to: Some(to),
            value: U256::ZERO,
            input: Bytes::from_static(&[0xde, 0xad, 0xbe, 0xef]),
            kind: Some(U64::from(2)),
            chain_id: Some(U64::ONE),
            v: None,
            block_number: None,
            block_hash: None,
            gas: None,
            gas_price: None,
            mint: None,
        },
        receipt: Receipt {
            transaction_hash: B256::ZERO,
            block_hash: None,
            block_number: None,
            contract_address: None,
            gas_used: U256::ONE,
            effective_gas_price: Some(U256::ONE),
            status: Some(U64::ONE),
            logs,
            l1_fee: None,
            operator_fee_scalar: None,
            operator_fee_constant: None,
            blob_gas_used: None,
            blob_gas_price: None,
        },
        block: None,
        internal: InternalValue::Traced { transfers: Vec::new(), failed: false },
        balances: BTreeMap::new(),
        tokens: BTreeMap::new(),
        also_on: Vec::new(),
    }
}
