//! The hash of a transaction, computed from what its sender signed. A node that changes the recipient, the amount or the calldata would have to
//! break the hash that the caller asked for.

use alloy_consensus::transaction::RlpEcdsaEncodableTx;
use alloy_consensus::{EthereumTxEnvelope, Signed, TxEip4844};
use alloy_primitives::{B256, Signature, U256};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// Fields that some chain signs beyond Ethereum's.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Foreign {
    fee_currency: Option<IgnoredAny>,
    gateway_fee: Option<IgnoredAny>,
    gateway_fee_recipient: Option<IgnoredAny>,
}

/// `None` where it cannot be computed: the type is a chain's own, a signed field or the signature is not given, or the chain itself made the
/// transaction and nobody signed it.
pub(super) fn hash(answer: &RawValue) -> Option<B256> {
    let foreign: Foreign = serde_json::from_str(answer.get()).ok()?;
    if foreign.fee_currency.is_some() || foreign.gateway_fee.is_some() || foreign.gateway_fee_recipient.is_some() {
        return None;
    }
    match serde_json::from_str::<EthereumTxEnvelope<TxEip4844>>(answer.get()).ok()? {
        // Chains write transactions of their own as legacy ones at no price.
        EthereumTxEnvelope::Legacy(signed) if signed.tx().gas_price == 0 => None,
        EthereumTxEnvelope::Legacy(signed) => computed(&signed),
        EthereumTxEnvelope::Eip2930(signed) => computed(&signed),
        EthereumTxEnvelope::Eip1559(signed) => computed(&signed),
        EthereumTxEnvelope::Eip4844(signed) => computed(&signed),
        EthereumTxEnvelope::Eip7702(signed) => computed(&signed),
    }
}

/// Not the hash that the node gave beside it.
fn computed<T: RlpEcdsaEncodableTx>(signed: &Signed<T>) -> Option<B256> {
    let signature: &Signature = signed.signature();
    let is_signed = signature.r() != U256::ZERO && signature.s() != U256::ZERO;
    is_signed.then(|| signed.tx().tx_hash(signature))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    /// Transactions of four types, as a real node gave them.
    fn recorded() -> Vec<Value> {
        let rows = include_str!("../../../../demo/evm.jsonl").lines();
        let rows = rows.map(|row| serde_json::from_str::<Value>(row).expect("the recording is JSON"));
        let transactions = rows.filter(|row| row["method"] == "eth_getTransactionByHash");
        transactions.map(|mut row| row["result"].take()).filter(Value::is_object).collect()
    }

    fn computed_of(transaction: &Value) -> Option<B256> {
        hash(&serde_json::value::to_raw_value(transaction).expect("JSON is written"))
    }

    #[test]
    fn every_recorded_transaction_has_the_hash_of_what_was_signed() {
        let mut kinds = BTreeSet::new();
        for transaction in recorded() {
            let told = transaction["hash"].as_str().and_then(|hash| hash.parse().ok());
            assert_eq!(computed_of(&transaction), told, "{transaction}");
            kinds.insert(transaction["type"].to_string());
        }
        assert!(kinds.len() >= 4, "{kinds:?}");
    }

    #[test]
    fn a_changed_field_shows_and_a_missing_signature_does_not_count() {
        let other = "0x00000000000000000000000000000000000000bb";
        let changes =
            [("to", other), ("value", "0xffff"), ("input", "0xdeadbeef"), ("nonce", "0xffff"), ("gas", "0xffff")];
        for transaction in recorded() {
            let told = computed_of(&transaction);
            for (field, value) in changes {
                let mut changed = transaction.clone();
                changed[field] = value.into();
                assert_ne!(computed_of(&changed), told, "{field} of {transaction}");
            }
            let mut unsigned = transaction.clone();
            (unsigned["r"], unsigned["s"]) = ("0x0".into(), "0x0".into());
            assert_eq!(computed_of(&unsigned), None);
            unsigned.as_object_mut().expect("it is an object").remove("r");
            assert_eq!(computed_of(&unsigned), None);
            let mut foreign = transaction.clone();
            foreign["feeCurrency"] = other.into();
            assert_eq!(computed_of(&foreign), None, "Celo signs more than this");
        }
    }
}
