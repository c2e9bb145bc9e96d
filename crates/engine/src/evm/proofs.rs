//! Proofs that no coin moved inside a transaction beyond the value that it states, so that no trace is needed. Each is one small function
//! with its reason.

use alloy_primitives::{B256, U256};

use super::EvmFacts;
use super::erc20::TRANSFER;
use super::movements::APPROVAL;
use super::pools;
use crate::asset::Movement;
use crate::rules::compile::CallRule;
use crate::rules::{Known, Rules};

/// What a transaction costs before its calldata.
const BASE_GAS: usize = 21_000;
/// The cheapest way to move coin inside is a contract that destroys itself; a call with value costs more.
const CHEAPEST_MOVE_GAS: usize = 5_000;
/// Since EIP-3529, clearing storage gives back less than it costs, so gas used is never below what was done. It came with London, as did
/// transactions of this type; some chains took the type a while before, and the last of them had both by then.
const REFUNDS_SMALL_SINCE: i64 = 1_704_067_200;
const LONDON: u64 = 2;
/// Type of transactions that get gas back for authorisations.
const AUTHORISING: u64 = 4;

/// Calls of ERC-20 that move the token and nothing else: `transfer`, `transferFrom`, `approve`, `increaseAllowance`, `decreaseAllowance`.
const TOKEN_CALLS: [[u8; 4]; 5] = [
    [0xa9, 0x05, 0x9c, 0xbb],
    [0x23, 0xb8, 0x72, 0xdd],
    [0x09, 0x5e, 0xa7, 0xb3],
    [0x39, 0x50, 0x93, 0x51],
    [0xa4, 0x57, 0xc2, 0xd7],
];

/// Whether coin may have moved inside.
pub fn may_hide_coin(facts: &EvmFacts, rules: &Rules, known: &Known<'_>, movements: &[Movement]) -> bool {
    let quirks = &facts.chain.quirks;
    if quirks.logs_every_move || quirks.no_coin {
        return false;
    }
    if facts.has_coin_contract() {
        return true;
    }
    let is_proved = ran_no_code(facts)
        || is_too_cheap(facts)
        || is_token_call(facts, known)
        || is_kept(facts, rules, known, movements);
    !is_proved
}

/// Not a unit of gas was used beyond the calldata, by the prices before and since EIP-2028.
fn ran_no_code(facts: &EvmFacts) -> bool {
    let is_call = facts.transaction.to.is_some() && facts.transaction.kind() != AUTHORISING;
    let prices = [intrinsic(facts, 16), intrinsic(facts, 68)];
    is_call
        && counts_as_ethereum(facts)
        && facts.contract_logs().next().is_none()
        && prices.contains(&facts.receipt.gas_used)
}

/// Less gas was used beyond the calldata than moving coin costs. What EIP-7623 adds for calldata counts as used, so long calldata proves nothing.
fn is_too_cheap(facts: &EvmFacts) -> bool {
    let is_recent = facts.block.is_some_and(|block| block.timestamp >= REFUNDS_SMALL_SINCE);
    let is_call = facts.transaction.to.is_some() && facts.transaction.kind() == LONDON;
    let bound = intrinsic(facts, 16).saturating_add(U256::from(CHEAPEST_MOVE_GAS));
    // What the chain's own contracts do has a price of its own.
    let has_own = !facts.chain.quirks.coin_contracts.is_empty();
    is_recent && is_call && !has_own && counts_as_ethereum(facts) && facts.receipt.gas_used < bound
}

/// A token that is canonical, or that a pack lists, was called by the standard, and logged what the standard asks and nothing else.
fn is_token_call(facts: &EvmFacts, known: &Known<'_>) -> bool {
    let transaction = &facts.transaction;
    let Some(token) = transaction.to.filter(|_| transaction.value.is_zero()) else { return false };
    let is_listed = known.is_on_list(token);
    let is_standard = transaction.selector().is_some_and(|selector| TOKEN_CALLS.contains(&selector));
    let is_own = |topic0: B256| topic0 == TRANSFER || topic0 == APPROVAL;
    let mut logs = facts.contract_logs();
    is_listed && is_standard && logs.all(|log| log.address == token && log.topic0().is_some_and(is_own))
}

/// A listed contract was called for something in which its code pays nobody, and nobody logged but contracts that are known: listed ones, canonical
/// tokens, and pools that prove their factory.
fn is_kept(facts: &EvmFacts, rules: &Rules, known: &Known<'_>, movements: &[Movement]) -> bool {
    let (Some(called), Some(selector)) = (facts.transaction.to, facts.transaction.selector()) else { return false };
    let keeps = |rule: &CallRule| rule.keeps && known.is_listed(called) && known.is_place_of(rule, called);
    let is_known = |contract| known.is_on_list(contract) || pools::is_made(known, movements, contract);
    rules.calls(&selector.into()).iter().any(keeps) && facts.contract_logs().all(|log| is_known(log.address))
}

/// Chains with a ledger of their own for the coin count gas by their own rules.
fn counts_as_ethereum(facts: &EvmFacts) -> bool {
    facts.chain.fee_collector.is_none()
}

fn intrinsic(facts: &EvmFacts, price: usize) -> U256 {
    let input = &facts.transaction.input;
    let zeros = input.iter().filter(|byte| **byte == 0).count();
    let others = input.len().saturating_sub(zeros);
    let calldata = zeros.saturating_mul(4).saturating_add(others.saturating_mul(price));
    U256::from(BASE_GAS.saturating_add(calldata))
}
