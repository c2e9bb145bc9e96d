//! Rows of EVM chains.

use std::sync::Arc;

use alloy_primitives::B256;
use engine::evm::json::{EvmTransaction, Receipt};
use engine::{Account, Chain, EvmFacts, TxHash};
use serde::de::DeserializeOwned;

use crate::error::RowError;
use crate::row::{Row, RowText, differ};
use crate::{internal, known};

pub(crate) fn facts(row: &Row<'_>, chain: Arc<Chain>, hash: B256) -> Result<EvmFacts, RowError> {
    let transaction: EvmTransaction = required("transaction", row.transaction)?;
    let receipt: Receipt = required("receipt", row.receipt)?;
    agree(&chain, hash, &transaction, &receipt)?;
    let number = transaction.block_number.or(receipt.block_number).map(|number| number.to::<u64>());
    let block = row.block((number, None))?;
    let internal = internal::read(row.internal, &chain, &transaction, &receipt)?;
    let known = known::Evm::read(row.known)?;
    let facts = EvmFacts {
        chain,
        transaction,
        is_hash_computed: known.hash_computed,
        receipt,
        block,
        internal,
        balances: known.balances.into_owned(),
        tokens: known::clipped(known.tokens.into_owned()),
        holdings: known.holdings.into_iter().map(known::HoldingRow::entry).collect(),
        given: known.given.into_iter().map(known::GivenRow::entry).collect(),
        vouched: known.vouched.into_iter().map(known::VouchedRow::entry).collect(),
        codes: known.codes.into_iter().map(|(contract, said)| (contract, said.map(known::CodeRow::code))).collect(),
        also_on: known.also_on.into_owned(),
        unasked: known.unasked.into_owned(),
    };
    Ok(facts)
}

pub(crate) fn row(facts: &EvmFacts, wallet: Option<Account>) -> serde_json::Result<RowText> {
    let hash = TxHash::Evm(facts.transaction.hash);
    Ok(RowText {
        transaction: serde_json::to_string(&facts.transaction)?,
        receipt: Some(serde_json::to_string(&facts.receipt)?),
        internal: internal::written(&facts.internal)?,
        known: known::Evm::of(facts).written()?,
        ..RowText::new(&facts.chain, hash, wallet, facts.block)
    })
}

fn required<T: DeserializeOwned>(column: &'static str, text: Option<&str>) -> Result<T, RowError> {
    let text = text.ok_or(RowError::Missing(column))?;
    serde_json::from_str(text).map_err(|error| RowError::unreadable(column, &error))
}

/// Parts that somebody joined by hand may be of different transactions, blocks or chains.
fn agree(chain: &Chain, hash: B256, transaction: &EvmTransaction, receipt: &Receipt) -> Result<(), RowError> {
    let id = transaction.chain_id.map(|id| id.to::<u64>()).filter(|id| *id != 0);
    let contradictions = [
        (transaction.hash != hash, "`transaction` is another one than `hash`"),
        (receipt.transaction_hash != hash, "`receipt` is of another transaction than `hash`"),
        (id.is_some() && id != chain.chain_id, "`transaction` carries the id of another chain"),
        (
            differ(receipt.block_hash, transaction.block_hash)
                || differ(receipt.block_number, transaction.block_number),
            "`transaction` and `receipt` are of different blocks",
        ),
    ];
    match contradictions.into_iter().find(|(is_so, _)| *is_so) {
        Some((_, what)) => Err(RowError::Contradiction(what)),
        None => Ok(()),
    }
}
