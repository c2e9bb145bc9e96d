//! EVM facts as bytes for the cache.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};
use engine::evm::code::Code;
use engine::evm::json::{EvmTransaction, Receipt};
use engine::evm::{BalanceChange, HoldingChange, InternalValue, VouchedAnswers};
use engine::{Block, Chain, EvmFacts, Token};
use serde::{Deserialize, Serialize};

use crate::kept::{pack, unpack};

/// The facts without their chain, and without chains that did not answer.
#[derive(Serialize, Deserialize)]
struct Kept<'a> {
    transaction: Cow<'a, EvmTransaction>,
    is_hash_computed: bool,
    receipt: Cow<'a, Receipt>,
    block: Option<Block>,
    internal: Cow<'a, InternalValue>,
    balances: Cow<'a, BTreeMap<Address, BalanceChange>>,
    tokens: Cow<'a, BTreeMap<Address, Arc<Token>>>,
    holdings: Cow<'a, BTreeMap<(Address, Address), HoldingChange>>,
    given: Cow<'a, BTreeMap<(Address, Address, Address), Option<U256>>>,
    vouched: Cow<'a, VouchedAnswers>,
    codes: Cow<'a, BTreeMap<Address, Option<Code>>>,
    also_on: Cow<'a, [String]>,
}

pub(super) fn encode(facts: &EvmFacts) -> Option<Vec<u8>> {
    let EvmFacts {
        chain: _,
        transaction,
        is_hash_computed,
        receipt,
        block,
        internal,
        balances,
        tokens,
        holdings,
        given,
        vouched,
        codes,
        also_on,
        unasked,
    } = facts;
    // Chains that did not answer now may answer later.
    if !unasked.is_empty() {
        return None;
    }
    pack(&Kept {
        transaction: Cow::Borrowed(transaction),
        is_hash_computed: *is_hash_computed,
        receipt: Cow::Borrowed(receipt),
        block: *block,
        internal: Cow::Borrowed(internal),
        balances: Cow::Borrowed(balances),
        tokens: Cow::Borrowed(tokens),
        holdings: Cow::Borrowed(holdings),
        given: Cow::Borrowed(given),
        vouched: Cow::Borrowed(vouched),
        codes: Cow::Borrowed(codes),
        also_on: Cow::Borrowed(also_on),
    })
}

pub(super) fn decode(chain: &Arc<Chain>, hash: B256, bytes: &[u8]) -> Option<EvmFacts> {
    let kept = unpack::<Kept<'static>>(bytes).filter(|kept| kept.transaction.hash == hash)?;
    Some(EvmFacts {
        chain: Arc::clone(chain),
        transaction: kept.transaction.into_owned(),
        is_hash_computed: kept.is_hash_computed,
        receipt: kept.receipt.into_owned(),
        block: kept.block,
        internal: kept.internal.into_owned(),
        balances: kept.balances.into_owned(),
        tokens: kept.tokens.into_owned(),
        holdings: kept.holdings.into_owned(),
        given: kept.given.into_owned(),
        vouched: kept.vouched.into_owned(),
        codes: kept.codes.into_owned(),
        also_on: kept.also_on.into_owned(),
        unasked: Vec::new(),
    })
}
