//! Proofs that no coin moved inside a transaction beyond the value that it states, so that no trace is needed. Each is one small function
//! with its reason.

use alloy_primitives::{B256, U256};

use super::EvmFacts;
use super::calldata::TRANSFER_CALL;
use super::coin;
use super::erc20::TRANSFER;
use super::json::Log;
use super::movements::APPROVAL;
use super::pools;
use crate::asset::{Account, Movement, Seen};
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
/// When calldata became cheaper (EIP-2028) on Ethereum. Every chain that began before it took this up later.
const CALLDATA_CHEAP_SINCE: i64 = 1_575_764_709;
/// A few weeks before the first chain let a plain account run code (EIP-7702).
const ACCOUNTS_RUN_SINCE: i64 = 1_738_368_000;

/// Calls of ERC-20 that move the token and nothing else: `transfer`, `transferFrom`, `approve`, `increaseAllowance`, `decreaseAllowance`.
const TOKEN_CALLS: [[u8; 4]; 5] = [
    TRANSFER_CALL.0,
    [0x23, 0xb8, 0x72, 0xdd],
    [0x09, 0x5e, 0xa7, 0xb3],
    [0x39, 0x50, 0x93, 0x51],
    [0xa4, 0x57, 0xc2, 0xd7],
];

/// What is proved of the coin that moved inside.
#[derive(Debug)]
pub struct Inside {
    pub coin: Vec<Movement>,
    /// Whether it rests on what the contracts are known for, and on no count of gas: a balance can tell otherwise.
    pub may_err: bool,
}

/// What coin moved inside beyond the value, where that is proved without a trace; `None` where more may have.
pub fn coin_inside(facts: &EvmFacts, rules: &Rules, known: &Known<'_>, movements: &[Movement]) -> Option<Inside> {
    let inside = proved(facts, rules, known, movements)?;
    if !inside.may_err {
        return Some(inside);
    }
    // Explorers may leave things out, but what they list went somewhere.
    let is_told = |m: &Movement| {
        !matches!(m.seen, Seen::Trace(_)) || is_inner(facts, m) || inside.coin.iter().any(|coin| is_same(m, coin))
    };
    movements.iter().all(is_told).then_some(inside)
}

fn proved(facts: &EvmFacts, rules: &Rules, known: &Known<'_>, movements: &[Movement]) -> Option<Inside> {
    let quirks = &facts.chain.quirks;
    let nothing = |may_err| Some(Inside { coin: Vec::new(), may_err });
    if quirks.logs_every_move || quirks.no_coin {
        return nothing(false);
    }
    if facts.has_coin_contract() {
        return None;
    }
    if ran_no_code(facts) || is_too_cheap(facts) {
        return nothing(false);
    }
    // Where tokens run whatever gets them, nothing is known of who ran.
    let is_in_time = |until: i64| facts.block.is_none_or(|block| block.timestamp < until);
    if quirks.tokens_call_until.is_some_and(is_in_time) {
        return None;
    }
    if is_token_call(facts, known) {
        return nothing(true);
    }
    // Whoever else runs would have logged.
    let is_alone = || facts.contract_logs().all(|log| is_known(known, movements, log));
    let mut coin = coin::paid(facts, rules, known).filter(|_| is_alone())?;
    // Some chains log coin themselves.
    coin.retain(|coin| !movements.iter().any(|m| matches!(m.seen, Seen::Log(_)) && is_same(m, coin)));
    Some(Inside { coin, may_err: true })
}

fn is_same(one: &Movement, other: &Movement) -> bool {
    (one.asset, one.from, one.to, one.amount) == (other.asset, other.from, other.to, other.amount)
}

/// Between the called contract and the wrapped coin's, which proofs leave out.
fn is_inner(facts: &EvmFacts, m: &Movement) -> bool {
    let is_wrapper = |account: Account| account.evm().is_some_and(|account| facts.chain.is_wrapped_native(account));
    let called = facts.transaction.to.map(Account::from);
    is_wrapper(m.from) && Some(m.to) == called || Some(m.from) == called && is_wrapper(m.to)
}

/// Whether a plain account may run code when it is paid.
pub fn accounts_may_run(facts: &EvmFacts) -> bool {
    facts.block.is_none_or(|block| block.timestamp >= ACCOUNTS_RUN_SINCE)
}

/// Not a unit of gas was used beyond the calldata, by the price of the day.
fn ran_no_code(facts: &EvmFacts) -> bool {
    let is_call = facts.transaction.to.is_some() && facts.transaction.kind() != AUTHORISING;
    let is_early = facts.block.is_some_and(|block| block.timestamp < CALLDATA_CHEAP_SINCE);
    let price = if is_early { 68 } else { 16 };
    is_call
        && counts_as_ethereum(facts)
        && facts.contract_logs().next().is_none()
        && facts.receipt.gas_used == intrinsic(facts, price)
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

/// A token that is no stranger's was called by the standard, and logged what the standard asks and nothing else.
fn is_token_call(facts: &EvmFacts, known: &Known<'_>) -> bool {
    let transaction = &facts.transaction;
    let Some(token) = transaction.to.filter(|_| transaction.value.is_zero()) else { return false };
    let is_listed = known.is_on_list(token) || known.is_widespread(token);
    let is_standard = transaction.selector().is_some_and(|selector| TOKEN_CALLS.contains(&selector));
    let mut logs = facts.contract_logs().peekable();
    is_listed && is_standard && logs.peek().is_some() && logs.all(|log| log.address == token && is_of_standard(log))
}

/// Whether whoever logged this is known: a listed contract, a canonical token, a pool that proves its factory, or a widespread token that logs what
/// the standard asks and nothing else.
pub fn is_known(known: &Known<'_>, movements: &[Movement], log: &Log) -> bool {
    known.is_on_list(log.address)
        || known.is_widespread(log.address) && is_of_standard(log)
        || pools::is_made(known, movements, log.address)
}

fn is_of_standard(log: &Log) -> bool {
    log.topic0().is_some_and(|topic0: B256| topic0 == TRANSFER || topic0 == APPROVAL)
}

/// Chains with a ledger of their own for the coin count gas by their own rules, and of some it was only read how they count.
fn counts_as_ethereum(facts: &EvmFacts) -> bool {
    facts.chain.fee_collector.is_none() && !facts.chain.documented_only
}

fn intrinsic(facts: &EvmFacts, price: usize) -> U256 {
    let input = &facts.transaction.input;
    let zeros = input.iter().filter(|byte| **byte == 0).count();
    let others = input.len().saturating_sub(zeros);
    let calldata = zeros.saturating_mul(4).saturating_add(others.saturating_mul(price));
    U256::from(BASE_GAS.saturating_add(calldata))
}
