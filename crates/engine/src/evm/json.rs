//! The fields of a node's answers that the engine reads, lenient where chains differ: everything else is skipped.

use alloy_primitives::{Address, B256, Bytes, U64, U256};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvmTransaction {
    pub hash: B256,
    pub from: Address,
    pub to: Option<Address>,
    #[serde(default)]
    pub value: U256,
    #[serde(default, alias = "data")]
    pub input: Bytes,
    #[serde(rename = "type")]
    pub kind: Option<U64>,
    pub chain_id: Option<U64>,
    pub v: Option<U256>,
    pub block_number: Option<U64>,
    pub block_hash: Option<B256>,
    pub gas: Option<U256>,
    pub gas_price: Option<U256>,
    /// OP stack deposits: native coin minted to the sender.
    pub mint: Option<U256>,
    /// Celo: the token that pays for gas, or the adapter of one.
    pub fee_currency: Option<Address>,
}

impl EvmTransaction {
    pub fn kind(&self) -> u64 {
        self.kind.map_or(0, |kind| kind.to::<u64>())
    }

    /// A legacy transaction signed without a chain id can be on several chains.
    pub fn is_replayable(&self) -> bool {
        let legacy_signature = self.v.is_some_and(|v| v == U256::from(27) || v == U256::from(28));
        self.kind() == 0 && self.chain_id.is_none() && legacy_signature
    }

    pub fn selector(&self) -> Option<[u8; 4]> {
        self.input.first_chunk().copied()
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    pub transaction_hash: B256,
    pub block_hash: Option<B256>,
    pub block_number: Option<U64>,
    pub contract_address: Option<Address>,
    #[serde(default)]
    pub gas_used: U256,
    pub effective_gas_price: Option<U256>,
    /// Absent before Byzantium.
    pub status: Option<U64>,
    #[serde(default)]
    pub logs: Vec<Log>,
    pub l1_fee: Option<U256>,
    pub operator_fee_scalar: Option<U256>,
    pub operator_fee_constant: Option<U256>,
    pub blob_gas_used: Option<U256>,
    pub blob_gas_price: Option<U256>,
    /// OP stack since Jovian, which also counts the operator fee otherwise, and states as blob gas what nobody pays for.
    pub da_footprint_gas_scalar: Option<U256>,
    /// Tempo: the token that paid for gas, and whose it was.
    pub fee_token: Option<Address>,
    pub fee_payer: Option<Address>,
    /// Morph: the number of the token that paid for gas; zero is the coin.
    #[serde(rename = "feeTokenID")]
    pub fee_token_id: Option<U256>,
}

impl Receipt {
    /// Gas as the chain charged it, where it charges for what was used.
    pub fn fee(&self, gas_price: Option<U256>) -> U256 {
        self.fee_of(self.gas_used, gas_price)
    }

    /// So much gas as the chain charges for it: execution, blobs, and on OP-stack chains the L1 data fee and the operator fee. A receipt from before
    /// London has no price, and the transaction's own counts.
    pub fn fee_of(&self, gas: U256, gas_price: Option<U256>) -> U256 {
        let price = self.effective_gas_price.or(gas_price).unwrap_or_default();
        gas.saturating_mul(price)
            .saturating_add(self.blob_fee())
            .saturating_add(self.l1_fee.unwrap_or_default())
            .saturating_add(self.operator_fee(gas))
    }

    pub fn tells_blob_fee(&self) -> bool {
        self.blob_gas_used.is_some() && self.blob_gas_price.is_some()
    }

    fn blob_fee(&self) -> U256 {
        match (self.blob_gas_used, self.blob_gas_price, self.da_footprint_gas_scalar) {
            (Some(used), Some(price), None) => used.saturating_mul(price),
            _ => U256::ZERO,
        }
    }

    fn operator_fee(&self, gas: U256) -> U256 {
        let constant = self.operator_fee_constant.unwrap_or_default();
        let Some(scalar) = self.operator_fee_scalar else { return constant };
        let scaled = scalar.saturating_mul(gas);
        let scaled = match self.da_footprint_gas_scalar {
            Some(_) => scaled.saturating_mul(U256::from(100_u8)),
            None => scaled / U256::from(1_000_000_u32),
        };
        scaled.saturating_add(constant)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Log {
    pub address: Address,
    pub topics: Vec<B256>,
    pub data: Bytes,
    pub log_index: Option<U64>,
}

impl Log {
    pub fn topic0(&self) -> Option<B256> {
        self.topics.first().copied()
    }

    /// The address in an indexed parameter, counted from 1; `None` when the word is no address.
    pub fn topic_address(&self, index: usize) -> Option<Address> {
        self.topics.get(index).and_then(|word| word_address(&word.0))
    }

    pub fn data_word(&self, index: usize) -> Option<&[u8; 32]> {
        let start = index.checked_mul(32)?;
        self.data.get(start..)?.first_chunk()
    }

    pub fn data_u256(&self, index: usize) -> Option<U256> {
        self.data_word(index).map(|word| U256::from_be_bytes(*word))
    }

    pub fn data_address(&self, index: usize) -> Option<Address> {
        self.data_word(index).and_then(word_address)
    }
}

/// A 32-byte word that holds an address has twelve zero bytes in front.
pub fn word_address(word: &[u8; 32]) -> Option<Address> {
    let (padding, address) = word.split_at(12);
    padding.iter().all(|byte| *byte == 0).then(|| Address::from_slice(address))
}
