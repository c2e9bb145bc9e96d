//! Tokens that move more than they log. One that spreads a part of each transfer over all its holders logs only the rest, and what left the wallet is
//! known to nobody who reads logs: a pool that counted more of it than the logs brought shows that, or a transfer of less than was asked for.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Selector, U256, b256};

use super::EvmFacts;
use super::calldata::Calldata;
use crate::allocate::dust;
use crate::asset::{Account, Asset, Movement};
use crate::rules::Known;

/// `Swap(address,uint256,uint256,uint256,uint256,address)` of Uniswap v2 and what follows it: its first two words are what came in.
const SWAP: B256 = b256!("d78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822");
/// `transfer(address,uint256)`
const TRANSFER: Selector = Selector::new([0xa9, 0x05, 0x9c, 0xbb]);

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

/// Whether the wallet asked the token to send more than was logged.
fn is_sent_short(facts: &EvmFacts, movements: &[Movement], wallet: Address, token: Address) -> bool {
    let transaction = &facts.transaction;
    if transaction.to != Some(token) || transaction.from != wallet {
        return false;
    }
    let Some(call) = Calldata::split(transaction.input.as_ref()).filter(|call| call.selector == TRANSFER) else {
        return false;
    };
    let asked = call.arguments.get(32..64).map(U256::from_be_slice).unwrap_or_default();
    let is_sent = |m: &&Movement| m.asset == Asset::Token(token.into()) && m.from == Account::from(wallet);
    let sent = movements.iter().filter(is_sent).fold(U256::ZERO, |sum, m| sum.saturating_add(m.amount));
    asked.saturating_sub(sent) > dust(asked)
}
