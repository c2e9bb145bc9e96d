//! Every movement that the ledger shows: native value, internal value, tokens and NFTs. They decide every amount;
//! amounts in calldata are never trusted.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, U256, b256};

use super::erc20::{TRANSFER, transfer_of};
use super::json::{Log, word_address};
use super::{EvmFacts, InternalValue, fee};
use crate::asset::{Account, Asset, Movement, NftKind, Seen};
use crate::chain::{Chain, CoinLog};
use crate::rules::Known;
use crate::rules::compile::{Field, NftRule};

/// `Approval(address,address,uint256)`
pub const APPROVAL: B256 = b256!("8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925");
pub const TRANSFER_SINGLE: B256 = b256!("c3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62");
pub const TRANSFER_BATCH: B256 = b256!("4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb");
/// ERC-6909: `Transfer(address caller, address indexed sender, address indexed receiver, uint256 indexed id, uint256 amount)`
pub const TRANSFER_OF_ID: B256 = b256!("1b3d7edb2e9c0b0e7c525b20aaaef0f5940d2ed71663c7d39266ecafac728859");
pub const DEPOSIT: B256 = b256!("e1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c");
pub const WITHDRAWAL: B256 = b256!("7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65");
/// Polygon's own log of a native move: `LogTransfer(token, from, to, amount, …)`.
const LOG_TRANSFER: B256 = b256!("e6497e3ee548a3372136af2fcb0696db31fc6cf20260707645068bd3fe97f3c4");

/// Ids in one ERC-1155 batch; a log that claims more is not read.
const BATCH_IDS_MAX: usize = 10_000;

/// Transaction types whose value was minted by the chain itself out of a deposit on its parent.
const ARBITRUM_DEPOSIT: u64 = 0x64;

/// `known` tells which contracts log their tokens otherwise than the standards ask.
pub fn movements(facts: &EvmFacts, known: &Known<'_>) -> Vec<Movement> {
    let logs = &facts.receipt.logs;
    let mut found = native(facts);
    let mut native_unmatched = if facts.chain.native_log.is_some() { counted(&found) } else { BTreeMap::new() };
    let fee_logs = fee::token_fee(facts).map(|fee| fee.logs).unwrap_or_default();
    for (position, log) in logs.iter().enumerate() {
        let Some(topic0) = log.topic0().filter(|_| !fee_logs.contains(&position)) else { continue };
        if facts.chain.native_log == Some(log.address) {
            found.extend(native_logged(log, position, &facts.chain, &mut native_unmatched));
            continue;
        }
        if facts.chain.logs_coin(log.address) {
            continue;
        }
        if let Some(rule) = known.nfts(log.address) {
            found.extend(own_nft(rule, log, position, logs));
            continue;
        }
        match topic0 {
            TRANSFER => found.extend(transfer(log, position, facts)),
            TRANSFER_SINGLE => found.extend(erc1155_single(log, position)),
            TRANSFER_BATCH => erc1155_batch(log, position, &mut found),
            TRANSFER_OF_ID => found.extend(erc6909(log, position)),
            _ => {}
        }
    }
    for coin_log in &facts.chain.quirks.coin_logs {
        logged_again(facts, coin_log, &mut found);
    }
    let unlogged = unlogged(facts, known, &found);
    found.extend(unlogged);
    if known.has_pairs() {
        join_pairs(known, &mut found);
    }
    found
}

/// A token with several addresses is one asset: where two of them log the same movement, it is one.
fn join_pairs(known: &Known<'_>, found: &mut Vec<Movement>) {
    let same = |m: &Movement| match m.asset {
        Asset::Token(Account::Evm(token)) => known.same(token),
        _ => None,
    };
    if !found.iter().any(|m| same(m).is_some()) {
        return;
    }
    let mut logged: BTreeMap<(Asset, Account, Account, U256), usize> = BTreeMap::new();
    for m in found.iter().filter(|m| same(m).is_none()) {
        *logged.entry((m.asset, m.from, m.to, m.amount)).or_default() += 1;
    }
    found.retain(|m| {
        let Some(token) = same(m) else { return true };
        let twin = (Asset::Token(token.into()), m.from, m.to, m.amount);
        match logged.get_mut(&twin).filter(|count| **count > 0) {
            Some(count) => {
                *count -= 1;
                false
            }
            None => true,
        }
    });
}

fn movement(asset: Asset, from: Address, to: Address, amount: U256, seen: Seen) -> Movement {
    Movement { asset, from: from.into(), to: to.into(), amount, seen }
}

/// The transaction's own value, what the chain minted for a deposit, and what contracts passed on.
fn native(facts: &EvmFacts) -> Vec<Movement> {
    let (tx, internal) = (&facts.transaction, facts.internal.transfers());
    // Two of the chain's own, and what logs add.
    let mut found = Vec::with_capacity(internal.len().saturating_add(facts.receipt.logs.len()).saturating_add(2));
    if let Some(mint) = tx.mint.filter(|mint| !mint.is_zero()) {
        found.push(movement(Asset::Native, Address::ZERO, tx.from, mint, Seen::Value));
    }
    if let Some(to) = tx.to.or(facts.receipt.contract_address)
        && !tx.value.is_zero()
    {
        let from = if tx.kind() == ARBITRUM_DEPOSIT { Address::ZERO } else { tx.from };
        found.push(movement(Asset::Native, from, to, tx.value, Seen::Value));
    }
    let inside = internal.iter().enumerate();
    found.extend(inside.map(|(at, one)| movement(Asset::Native, one.from, one.to, one.value, Seen::Trace(at))));
    found
}

/// How often the same amount went from one account to another.
type Counted = BTreeMap<(Account, Account, U256), usize>;

fn counted(movements: &[Movement]) -> Counted {
    let mut counted = Counted::new();
    for m in movements {
        *counted.entry((m.from, m.to, m.amount)).or_default() += 1;
    }
    counted
}

/// A native move that is also in a log counts once; one that is only in a log counts too.
fn native_logged(log: &Log, position: usize, chain: &Chain, unmatched: &mut Counted) -> Option<Movement> {
    let (from, to) = match (log.topic0()?, log.topics.len()) {
        (TRANSFER, 3) => (log.topic_address(1)?, log.topic_address(2)?),
        (LOG_TRANSFER, 4) => (log.topic_address(2)?, log.topic_address(3)?),
        _ => return None,
    };
    let amount = log.data_u256(0).filter(|amount| !amount.is_zero())?;
    if chain.fee_collector.is_some_and(|collector| collector == from || collector == to) {
        return None;
    }
    let logged = movement(Asset::Native, from, to, amount, Seen::Log(position));
    match unmatched.get_mut(&(logged.from, logged.to, logged.amount)).filter(|count| **count > 0) {
        Some(count) => {
            *count -= 1;
            None
        }
        None => Some(logged),
    }
}

/// What a further contract logs of the coin, with other decimals: a move that is known already counts once, whatever of it those decimals cannot say.
fn logged_again(facts: &EvmFacts, coin_log: &CoinLog, found: &mut Vec<Movement>) {
    let Some(cut) = facts.chain.native_decimals.checked_sub(coin_log.decimals) else { return };
    let unit = U256::from(10_u8).pow(U256::from(cut));
    let mut known: Vec<Movement> = found.iter().filter(|m| m.asset == Asset::Native).copied().collect();
    for (position, log) in facts.receipt.logs.iter().enumerate().filter(|(_, log)| log.address == coin_log.address) {
        let Some((from, to, amount)) = transfer_of(log).filter(|(.., amount)| !amount.is_zero()) else { continue };
        let rounds = |account| facts.chain.quirks.rounding_account == Some(account);
        let Some(amount) = amount.checked_mul(unit).filter(|_| !rounds(from) && !rounds(to)) else { continue };
        let logged = movement(Asset::Native, from, to, amount, Seen::Log(position));
        let is_same = |m: &Movement| (m.from, m.to) == (logged.from, logged.to) && m.amount.abs_diff(amount) < unit;
        match known.iter().position(is_same) {
            Some(at) => {
                known.swap_remove(at);
            }
            None => found.push(logged),
        }
    }
}

/// The first log that says it moves something and cannot be read, where it may be about the wallet: what it moved is not known.
pub fn unreadable(facts: &EvmFacts, known: &Known<'_>, wallet: Address) -> Option<usize> {
    let is_own_kind = |log: &Log| facts.chain.logs_coin(log.address) || known.nfts(log.address).is_some();
    let mut logs = facts.receipt.logs.iter();
    logs.position(|log| !is_read(log) && !is_own_kind(log) && has_bytes(log, wallet))
}

/// Whether sender, receiver and amounts of a transfer's log are where a standard has them. Other logs are no transfers.
fn is_read(log: &Log) -> bool {
    let has_parties =
        |first: usize| log.topic_address(first).is_some() && log.topic_address(first.saturating_add(1)).is_some();
    match log.topic0() {
        Some(TRANSFER) => match (log.topics.len(), log.data.len()) {
            (4, 0) | (3, 32..) => has_parties(1),
            (1, 96) => log.data_address(0).is_some() && log.data_address(1).is_some(),
            _ => false,
        },
        Some(TRANSFER_SINGLE) => erc1155_parties(log).is_some() && log.data.len() >= 64,
        Some(TRANSFER_OF_ID) => log.topics.len() == 4 && has_parties(1) && log.data.len() >= 64,
        Some(TRANSFER_BATCH) => {
            let lengths = word_array(log, 0).zip(word_array(log, 1)).map(|(ids, amounts)| (ids.len(), amounts.len()));
            erc1155_parties(log).is_some() && lengths.is_some_and(|(ids, amounts)| ids == amounts)
        }
        _ => true,
    }
}

/// Whether the address is in the log at all, wherever it stands.
fn has_bytes(log: &Log, wallet: Address) -> bool {
    let is_there = |bytes: &[u8]| bytes.windows(wallet.len()).any(|window| window == wallet.as_slice());
    log.topics.iter().skip(1).any(|topic| is_there(topic.as_slice())) || is_there(&log.data)
}

/// ERC-20 and ERC-721 share the signature; the layout tells them apart. Older contracts index nothing.
fn transfer(log: &Log, position: usize, facts: &EvmFacts) -> Option<Movement> {
    let seen = Seen::Log(position);
    match (log.topics.len(), log.data.len()) {
        (4, 0) => {
            let id = U256::from_be_bytes(log.topics.get(3)?.0);
            let asset = nft(log.address, id, NftKind::Erc721);
            Some(movement(asset, log.topic_address(1)?, log.topic_address(2)?, U256::ONE, seen))
        }
        (3, 32..) => {
            unindexed(log.address, log.topic_address(1)?, log.topic_address(2)?, log.data_u256(0)?, seen, facts)
        }
        (1, 96) => unindexed(log.address, log.data_address(0)?, log.data_address(1)?, log.data_u256(2)?, seen, facts),
        _ => None,
    }
}

/// The last word is an amount or a token id: what the contract reports of its kind decides.
fn unindexed(token: Address, from: Address, to: Address, word: U256, seen: Seen, facts: &EvmFacts) -> Option<Movement> {
    let is_nft = facts.tokens.get(&token).is_some_and(|known| known.is_erc721 && known.decimals.is_none());
    if is_nft {
        return Some(movement(nft(token, word, NftKind::Erc721), from, to, U256::ONE, seen));
    }
    (!word.is_zero()).then(|| movement(Asset::Token(token.into()), from, to, word, seen))
}

fn nft(contract: Address, id: U256, kind: NftKind) -> Asset {
    Asset::Nft { contract: contract.into(), id, kind }
}

/// This log has sender and receiver; the next log of the same contract with an id tells which NFT.
fn own_nft(rule: &NftRule, log: &Log, position: usize, logs: &[Log]) -> Option<Movement> {
    if log.topic0() != Some(rule.moved.topic0) || !rule.moved.layout.fits(log) {
        return None;
    }
    let named = |other: &Log| {
        let mut events = rule.named.iter().filter(|(event, _)| other.topic0() == Some(event.topic0));
        let (_, id) = events.find(|(event, _)| event.layout.fits(other))?;
        id.in_log(other, 0).map(|word| U256::from_be_bytes(*word))
    };
    let id = logs.iter().skip(position).filter(|other| other.address == log.address).find_map(named)?;
    let party = |field: &Field| field.in_log(log, 0).and_then(word_address);
    Some(movement(
        nft(log.address, id, rule.kind),
        party(&rule.from)?,
        party(&rule.to)?,
        U256::ONE,
        Seen::Log(position),
    ))
}

fn erc1155_single(log: &Log, position: usize) -> Option<Movement> {
    let (from, to) = erc1155_parties(log)?;
    let amount = log.data_u256(1).filter(|amount| !amount.is_zero())?;
    Some(movement(nft(log.address, log.data_u256(0)?, NftKind::Erc1155), from, to, amount, Seen::Log(position)))
}

fn erc1155_batch(log: &Log, position: usize, found: &mut Vec<Movement>) {
    let (Some((from, to)), Some(ids), Some(amounts)) = (erc1155_parties(log), word_array(log, 0), word_array(log, 1))
    else {
        return;
    };
    if ids.len() != amounts.len() {
        return;
    }
    for (id, amount) in ids.into_iter().zip(amounts).filter(|(_, amount)| !amount.is_zero()) {
        found.push(movement(nft(log.address, id, NftKind::Erc1155), from, to, amount, Seen::Log(position)));
    }
}

/// Many tokens in one contract, each by its id and in amounts.
fn erc6909(log: &Log, position: usize) -> Option<Movement> {
    let (from, to) = (log.topic_address(1)?, log.topic_address(2)?);
    let id = U256::from_be_bytes(log.topics.get(3)?.0);
    let amount = log.data_u256(1).filter(|amount| !amount.is_zero())?;
    Some(movement(nft(log.address, id, NftKind::Erc6909), from, to, amount, Seen::Log(position)))
}

fn erc1155_parties(log: &Log) -> Option<(Address, Address)> {
    (log.topics.len() == 4).then_some((log.topic_address(2)?, log.topic_address(3)?))
}

/// A dynamic `uint256[]` whose offset is in head word `head`.
fn word_array(log: &Log, head: usize) -> Option<Vec<U256>> {
    let offset = usize::try_from(log.data_u256(head)?).ok().filter(|offset| offset % 32 == 0)? / 32;
    let length = usize::try_from(log.data_u256(offset)?).ok().filter(|length| *length <= BATCH_IDS_MAX)?;
    (1..=length).map(|at| log.data_u256(offset.checked_add(at)?)).collect()
}

/// Mints and burns that are logged otherwise than by a Transfer, and by one too in some contracts: each is added only where there is no matching
/// Transfer.
fn unlogged(facts: &EvmFacts, known: &Known<'_>, found: &[Movement]) -> Vec<Movement> {
    let logs = facts.receipt.logs.iter().enumerate();
    let made: Vec<(usize, &Log, Made)> =
        logs.filter_map(|(position, log)| Some((position, log, made(facts, known, log)?))).collect();
    let mut transfers: BTreeMap<(Address, Address, Address, U256), usize> = BTreeMap::new();
    for m in found.iter().filter(|m| !made.is_empty() && matches!(m.seen, Seen::Log(_))) {
        if let (Asset::Token(token), Some(from), Some(to)) = (m.asset, m.from.evm(), m.to.evm())
            && let Some(token) = token.evm()
        {
            *transfers.entry((token, from, to, m.amount)).or_default() += 1;
        }
    }
    let mut added = Vec::new();
    for (position, log, Made { holder, amount, is_mint }) in made {
        let (from, to) = if is_mint { (Address::ZERO, holder) } else { (holder, Address::ZERO) };
        if let Some(count) = transfers.get_mut(&(log.address, from, to, amount)).filter(|count| **count > 0) {
            *count -= 1;
        } else {
            added.push(movement(Asset::Token(log.address.into()), from, to, amount, Seen::Log(position)));
        }
        if log.topic0() == Some(WITHDRAWAL) && !is_told(facts) {
            // WETH9 pays out to the account it burns from, so its log also shows the native coin.
            added.push(movement(Asset::Native, log.address, holder, amount, Seen::Log(position)));
        }
    }
    added
}

/// What a token minted for its holder, or burned.
struct Made {
    holder: Address,
    amount: U256,
    is_mint: bool,
}

/// Wrapping and unwrapping, which WETH9 logs as `Deposit` and `Withdrawal`, and tokens of which a pack says how they log it. Only listed ones count:
/// staking contracts log the same `Deposit` and mint nothing.
fn made(facts: &EvmFacts, known: &Known<'_>, log: &Log) -> Option<Made> {
    let topic0 = log.topic0()?;
    let (holder, amount, is_mint) = match topic0 {
        TRANSFER => return None,
        DEPOSIT | WITHDRAWAL if log.topics.len() == 2 && facts.chain.is_wrapped_native(log.address) => {
            let amount = log.data_u256(0).filter(|_| log.data.len() == 32)?;
            (log.topic_address(1)?, amount, topic0 == DEPOSIT)
        }
        _ => {
            let rule = known.supply(log.address)?;
            let is_mint = rule.minted.event.topic0 == topic0;
            let changed = if is_mint { &rule.minted } else { &rule.burned };
            let is_read = changed.event.topic0 == topic0 && changed.event.layout.fits(log);
            let word = |field: &Field| field.in_log(log, 0).filter(|_| is_read);
            let (holder, amount) =
                (word_address(word(&changed.holder)?)?, U256::from_be_bytes(*word(&changed.amount)?));
            let (from, to) = if is_mint { (Address::ZERO, holder) } else { (holder, Address::ZERO) };
            // Another version of it may log both.
            let is_same = |other: &Log| {
                let parties = (other.topic_address(1), other.topic_address(2));
                parties == (Some(from), Some(to)) && other.data_u256(0) == Some(amount)
            };
            let mut transfers =
                facts.contract_logs().filter(|other| other.address == log.address && other.topic0() == Some(TRANSFER));
            if transfers.any(is_same) {
                return None;
            }
            (holder, amount, is_mint)
        }
    };
    (!amount.is_zero()).then_some(Made { holder, amount, is_mint })
}

/// Whether what passed inside is among the movements.
fn is_told(facts: &EvmFacts) -> bool {
    matches!(facts.internal, InternalValue::Traced { .. } | InternalValue::Listed { .. })
}
