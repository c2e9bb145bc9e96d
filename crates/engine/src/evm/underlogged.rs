//! Tokens that move more than they log. One that spreads a part of each transfer over all its holders logs only the rest, and what left the wallet is
//! known to nobody who reads logs: a pool that counted more of it than the logs brought shows that, or the calldata, which asks for just so much more.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, U256, b256};

use super::EvmFacts;
use super::calldata::{Calldata, TRANSFER_CALL};
use crate::allocate::dust;
use crate::asset::{Account, Asset, Movement};
use crate::rules::Known;

/// `Swap(address,uint256,uint256,uint256,uint256,address)` of Uniswap v2 and what follows it: its first two words are what came in.
const SWAP: B256 = b256!("d78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822");
/// Of less no part is told from another.
const TAXED_MIN: u64 = 1_000_000;
/// Units that may be lost when parts are rounded.
const ROUNDING: u64 = 3;
const PERCENT: u64 = 100;
/// No token that anybody buys takes more of what is sent.
const TAX_PERCENT_MAX: u64 = 30;
/// More calldata is not looked at.
const INPUT_BYTES_MAX: usize = 8 * 1024;
/// Where `transfer` is given how much.
const AMOUNT_BYTE: usize = 32;

/// A token of the wallet's that moved more than it logged. Canonical tokens log what they move.
pub fn underlogged(facts: &EvmFacts, known: &Known<'_>, movements: &[Movement], wallet: Address) -> Option<Address> {
    let given = |m: &&Movement| m.from == Account::from(wallet);
    let mut tokens: Vec<Address> = movements.iter().filter(given).filter_map(|m| fungible(m.asset)).collect();
    tokens.retain(|token| !known.is_canonical(*token));
    if tokens.is_empty() {
        return None;
    }
    tokens.sort_unstable();
    tokens.dedup();
    let counted = counted(facts);
    let mut brought: BTreeMap<(Address, Address), U256> = BTreeMap::new();
    for m in movements.iter().filter(|_| !counted.is_empty()) {
        let (Some(token), Some(pool)) = (fungible(m.asset), m.to.evm()) else { continue };
        if counted.contains_key(&pool) && tokens.binary_search(&token).is_ok() {
            let sum = brought.entry((token, pool)).or_default();
            *sum = sum.saturating_add(m.amount);
        }
    }
    let is_more = |(token, pool): &(Address, Address), brought: &U256| {
        let counted = counted.get(pool).filter(|counted| !counted.contains(brought))?;
        counted.iter().any(|counted| counted > brought).then_some(*token)
    };
    let of_pools = brought.iter().find_map(|(place, brought)| is_more(place, brought));
    of_pools.or_else(|| tokens.into_iter().find(|token| is_sent_short(facts, movements, wallet, *token)))
}

fn fungible(asset: Asset) -> Option<Address> {
    match asset {
        Asset::Token(token) => token.evm(),
        Asset::Native | Asset::Nft { .. } => None,
    }
}

/// What each pool says that came in, of its two tokens.
fn counted(facts: &EvmFacts) -> BTreeMap<Address, [U256; 2]> {
    let mut counted: BTreeMap<Address, [U256; 2]> = BTreeMap::new();
    for log in facts.contract_logs().filter(|log| log.topic0() == Some(SWAP)) {
        let (Some(first), Some(second)) = (log.data_u256(0), log.data_u256(1)) else { continue };
        let [one, other] = counted.entry(log.address).or_default();
        *one = one.saturating_add(first);
        *other = other.saturating_add(second);
    }
    counted
}

/// Whether the wallet asked for more to be sent than was logged: of the token itself, or of a router with a round part of it missing.
fn is_sent_short(facts: &EvmFacts, movements: &[Movement], wallet: Address, token: Address) -> bool {
    let transaction = &facts.transaction;
    if transaction.from != wallet {
        return false;
    }
    let is_sent = |m: &&Movement| m.asset == Asset::Token(token.into()) && m.from == Account::from(wallet);
    let sent = movements.iter().filter(is_sent).fold(U256::ZERO, |sum, m| sum.saturating_add(m.amount));
    if transaction.to != Some(token) {
        return asks_for_more(transaction.input.as_ref(), sent);
    }
    let Some(call) = Calldata::split(transaction.input.as_ref()).filter(|call| call.selector == TRANSFER_CALL) else {
        return false;
    };
    let asked = call.word_at(AMOUNT_BYTE).map(|word| U256::from_be_bytes(*word)).unwrap_or_default();
    asked.saturating_sub(sent) > dust(asked)
}

/// Whether a word of the calldata is an amount of which just so much is left after a tax: a whole number of percents, to the last unit.
fn asks_for_more(input: &[u8], sent: U256) -> bool {
    if sent < U256::from(TAXED_MIN) {
        return false;
    }
    let is_taxed = |asked: U256| {
        let left = |tax: u64| asked.saturating_mul(U256::from(PERCENT.saturating_sub(tax))) / U256::from(PERCENT);
        let is_near = asked > sent && asked < sent.saturating_mul(U256::from(2));
        is_near && (1..=TAX_PERCENT_MAX).any(|tax| left(tax).abs_diff(sent) <= U256::from(ROUNDING))
    };
    // Words of a call inside another lie four bytes further.
    let words = input.get(..INPUT_BYTES_MAX).unwrap_or(input).windows(32).step_by(4);
    words.filter(|word| word.starts_with(&[0; 8])).map(U256::from_be_slice).any(is_taxed)
}
