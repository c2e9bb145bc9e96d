//! EVM facts as bytes for the cache.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};
use engine::evm::json::{EvmTransaction, Receipt};
use engine::evm::{BalanceChange, HoldingChange, InternalValue};
use engine::{Block, Chain, EvmFacts, Token};

use crate::kept::{pack, unpack};

/// Transaction, receipt, block, internal value, balances, tokens, holdings, what was given before, other chains that hold it.
type Kept = (
    EvmTransaction,
    Receipt,
    Option<Block>,
    InternalValue,
    BTreeMap<Address, BalanceChange>,
    BTreeMap<Address, Arc<Token>>,
    BTreeMap<(Address, Address), HoldingChange>,
    BTreeMap<(Address, Address, Address), Option<U256>>,
    Vec<String>,
);

pub(super) fn encode(facts: &EvmFacts) -> Option<Vec<u8>> {
    let EvmFacts {
        chain: _,
        transaction,
        receipt,
        block,
        internal,
        balances,
        tokens,
        holdings,
        given,
        also_on,
        unasked,
    } = facts;
    // Chains that did not answer now may answer later.
    if !unasked.is_empty() {
        return None;
    }
    pack(&(transaction, receipt, block, internal, balances, tokens, holdings, given, also_on))
}

pub(super) fn decode(chain: &Arc<Chain>, hash: B256, bytes: &[u8]) -> Option<EvmFacts> {
    let (transaction, receipt, block, internal, balances, tokens, holdings, given, also_on) = unpack::<Kept>(bytes)?;
    let (chain, unasked) = (Arc::clone(chain), Vec::new());
    let is_same = transaction.hash == hash;
    is_same.then_some(EvmFacts {
        chain,
        transaction,
        receipt,
        block,
        internal,
        balances,
        tokens,
        holdings,
        given,
        also_on,
        unasked,
    })
}
