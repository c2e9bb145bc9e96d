//! A node's answer to `getTransaction`, leniently: real ones leave out `slot`, `owner`, `loadedAddresses` or all of `meta`. Account
//! indexes are resolved here once; one that points past the end is kept as nobody.

use serde::de::{Deserializer, Error, IgnoredAny, Visitor};
use serde::{Deserialize, Serialize};

use super::Key;
use crate::base58;

/// Accounts of one transaction; an index is one byte.
pub const ACCOUNTS_MAX: usize = 256;
/// Characters of one instruction's data: the runtime lets a program hand on 10 KiB, and base58 takes up to 1.37 characters a byte. The time of
/// decoding grows with its square.
pub const DATA_CHARS_MAX: usize = 14_336;
/// Instructions, inner ones included. The runtime stops long before.
pub const INSTRUCTIONS_MAX: usize = 4_096;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the answer is not a transaction of this encoding")]
pub struct Malformed;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SolanaTransaction {
    pub slot: Option<u64>,
    /// Seconds since 1970, UTC.
    pub time: Option<i64>,
    #[serde(with = "signatures")]
    pub signatures: Vec<[u8; 64]>,
    /// Those named in the message, then those that lookup tables loaded.
    pub keys: Vec<Key>,
    /// So many of the first keys signed; the first pays the fee.
    pub signers: usize,
    /// In the order of execution.
    pub instructions: Vec<Instruction>,
    /// `None` where the node no longer knows what happened.
    pub effects: Option<Effects>,
    /// The message names accounts that the node did not give, of lookup tables above all.
    pub is_unloaded: bool,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Effects {
    pub failed: bool,
    pub fee: u64,
    /// Lamports of each key, before and after.
    pub lamports: Vec<(u64, u64)>,
    pub token_accounts: Vec<TokenAccount>,
}

impl SolanaTransaction {
    /// Whose coin or tokens changed, but for the fee: of a token account its owner, then accounts in their order.
    pub fn changed(&self) -> Vec<Key> {
        let Some(effects) = &self.effects else { return Vec::new() };
        let of_tokens = effects.token_accounts.iter().filter(|account| account.before != account.after);
        let owner = |account: &TokenAccount| account.after.or(account.before).and_then(|holding| holding.owner);
        let is_token = |key: &Key| effects.token_accounts.iter().any(|account| account.key == *key);
        let is_moved = |(at, (before, after)): (usize, &(u64, u64))| {
            let paid = if at == 0 { effects.fee } else { 0 };
            before.checked_sub(paid) != Some(*after)
        };
        let lamports = self.keys.iter().zip(effects.lamports.iter().enumerate());
        let of_coin = lamports.filter(|(key, change)| !is_token(key) && is_moved(*change)).map(|(key, _)| *key);
        of_tokens.filter_map(owner).chain(of_coin).collect()
    }
}

impl Effects {
    /// Nothing changed for anybody but the fee that the first account paid.
    pub fn is_only_fee(&self) -> bool {
        let Some(((before, after), others)) = self.lamports.split_first() else { return false };
        let is_kept = |account: &TokenAccount| account.before == account.after;
        before.checked_sub(self.fee) == Some(*after)
            && others.iter().all(|(before, after)| before == after)
            && self.token_accounts.iter().all(is_kept)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenAccount {
    pub key: Key,
    pub mint: Key,
    pub decimals: u8,
    /// What it held and whose it was, before and after: an account can be made, closed and handed over.
    pub before: Option<TokenHolding>,
    pub after: Option<TokenHolding>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenHolding {
    /// Old answers do not say.
    pub owner: Option<Key>,
    pub amount: u64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Instruction {
    pub program: Key,
    pub accounts: Vec<Key>,
    pub data: Vec<u8>,
    /// Position of the outer instruction.
    pub outer: usize,
    /// 1 for an outer instruction.
    pub depth: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    slot: Option<u64>,
    block_time: Option<i64>,
    meta: Option<Meta>,
    transaction: Envelope,
}

#[derive(Deserialize)]
struct Envelope {
    signatures: Vec<Signature>,
    message: Message,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    account_keys: Vec<Address>,
    header: MessageHeader,
    instructions: Vec<RawInstruction>,
    #[serde(default)]
    address_table_lookups: Option<Vec<IgnoredAny>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageHeader {
    num_required_signatures: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawInstruction {
    program_id_index: usize,
    accounts: Vec<usize>,
    data: Data,
    stack_height: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    err: Option<IgnoredAny>,
    #[serde(default)]
    fee: u64,
    #[serde(default)]
    pre_balances: Vec<u64>,
    #[serde(default)]
    post_balances: Vec<u64>,
    #[serde(default)]
    pre_token_balances: Option<Vec<TokenBalance>>,
    #[serde(default)]
    post_token_balances: Option<Vec<TokenBalance>>,
    #[serde(default)]
    inner_instructions: Option<Vec<Inner>>,
    #[serde(default)]
    loaded_addresses: Option<Loaded>,
}

#[derive(Deserialize)]
struct Inner {
    index: usize,
    instructions: Vec<RawInstruction>,
}

#[derive(Deserialize, Default)]
struct Loaded {
    #[serde(default)]
    writable: Vec<Address>,
    #[serde(default)]
    readonly: Vec<Address>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TokenBalance {
    account_index: usize,
    mint: Address,
    owner: Option<Address>,
    ui_token_amount: UiAmount,
}

#[derive(Deserialize)]
struct UiAmount {
    amount: Amount,
    decimals: u8,
}

// What is quoted is read where it stands: an answer has dozens of each.
struct Address(Key);
struct Signature([u8; 64]);
struct Data(Vec<u8>);
struct Amount(u64);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        quoted(deserializer, base58::read_address).map(Self)
    }
}

impl<'de> Deserialize<'de> for Signature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        quoted(deserializer, base58::read_signature).map(Self)
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |text: &str| if text.len() > DATA_CHARS_MAX { None } else { base58::read(text) };
        quoted(deserializer, read).map(Self)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        quoted(deserializer, |text| text.parse().ok()).map(Self)
    }
}

fn quoted<'de, D: Deserializer<'de>, T>(deserializer: D, read: fn(&str) -> Option<T>) -> Result<T, D::Error> {
    struct Quoted<T>(fn(&str) -> Option<T>);
    impl<T> Visitor<'_> for Quoted<T> {
        type Value = T;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("text")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            (self.0)(text).ok_or_else(|| E::custom(Malformed))
        }
    }
    deserializer.deserialize_str(Quoted(read))
}

impl SolanaTransaction {
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let answer: Answer = serde_json::from_str(text).map_err(|_| Malformed)?;
        let message = answer.transaction.message;
        let loaded = answer.meta.as_ref().and_then(|meta| meta.loaded_addresses.as_ref());
        let loaded = || loaded.into_iter().flat_map(|loaded| loaded.writable.iter().chain(&loaded.readonly));
        let is_unloaded = loaded().next().is_none()
            && message.address_table_lookups.as_ref().is_some_and(|lookups| !lookups.is_empty());
        let named = message.account_keys.iter().chain(loaded()).take(ACCOUNTS_MAX);
        let keys: Vec<Key> = named.map(|Address(key)| *key).collect();
        let effects = answer.meta.as_ref().map(|meta| effects(&keys, meta)).transpose()?;
        let mut outer = message.instructions;
        let mut inner = answer.meta.and_then(|meta| meta.inner_instructions).unwrap_or_default();
        Ok(Self {
            slot: answer.slot,
            time: answer.block_time,
            signatures: answer.transaction.signatures.into_iter().map(|Signature(bytes)| bytes).collect(),
            signers: message.header.num_required_signatures.min(keys.len()),
            is_unloaded: is_unloaded || points_past(&keys, &outer, &inner),
            instructions: instructions(&keys, &mut outer, &mut inner)?,
            effects,
            keys,
        })
    }

    pub fn payer(&self) -> Option<Key> {
        self.keys.first().copied()
    }

    pub fn signed(&self) -> &[Key] {
        self.keys.get(..self.signers).unwrap_or_default()
    }
}

/// Whether some instruction names an account that is not there.
fn points_past(keys: &[Key], outer: &[RawInstruction], inner: &[Inner]) -> bool {
    let all = outer.iter().chain(inner.iter().flat_map(|inner| &inner.instructions));
    let mut places = all.flat_map(|raw| std::iter::once(&raw.program_id_index).chain(&raw.accounts));
    places.any(|place| *place >= keys.len())
}

/// Outer instructions, each followed by those that it called. Their data are moved out.
fn instructions(
    keys: &[Key],
    outer: &mut [RawInstruction],
    inner: &mut [Inner],
) -> Result<Vec<Instruction>, Malformed> {
    let mut found = Vec::with_capacity(outer.len());
    for (at, raw) in outer.iter_mut().enumerate() {
        found.push(instruction(keys, raw, at, 1));
        for raw in inner.iter_mut().filter(|inner| inner.index == at).flat_map(|inner| &mut inner.instructions) {
            let depth = raw.stack_height.unwrap_or(2).max(2);
            found.push(instruction(keys, raw, at, depth));
        }
        if found.len() > INSTRUCTIONS_MAX {
            return Err(Malformed);
        }
    }
    Ok(found)
}

fn instruction(keys: &[Key], raw: &mut RawInstruction, outer: usize, depth: usize) -> Instruction {
    let key = |at: &usize| keys.get(*at).copied().unwrap_or_default();
    Instruction {
        program: key(&raw.program_id_index),
        accounts: raw.accounts.iter().take(ACCOUNTS_MAX).map(key).collect(),
        data: std::mem::take(&mut raw.data.0),
        outer,
        depth,
    }
}

fn effects(keys: &[Key], meta: &Meta) -> Result<Effects, Malformed> {
    let before = meta.pre_balances.iter().copied();
    let lamports: Vec<(u64, u64)> = before.zip(meta.post_balances.iter().copied()).collect();
    if lamports.len() < keys.len() {
        return Err(Malformed);
    }
    let mut token_accounts: Vec<TokenAccount> = Vec::new();
    let sides = [(&meta.pre_token_balances, false), (&meta.post_token_balances, true)];
    for (balances, is_after) in sides {
        let balances = balances.as_deref().unwrap_or_default();
        // A token account has one balance.
        if balances.len() > ACCOUNTS_MAX {
            return Err(Malformed);
        }
        for balance in balances {
            let Some(key) = keys.get(balance.account_index).copied() else { continue };
            let Address(mint) = balance.mint;
            let owner = balance.owner.as_ref().map(|Address(key)| *key);
            let Amount(amount) = balance.ui_token_amount.amount;
            let known = token_accounts.iter().position(|account| account.key == key && account.mint == mint);
            let known = known.unwrap_or_else(|| {
                let decimals = balance.ui_token_amount.decimals;
                token_accounts.push(TokenAccount { key, mint, decimals, before: None, after: None });
                token_accounts.len().saturating_sub(1)
            });
            let Some(account) = token_accounts.get_mut(known) else { continue };
            *(if is_after { &mut account.after } else { &mut account.before }) = Some(TokenHolding { owner, amount });
        }
    }
    Ok(Effects { failed: meta.err.is_some(), fee: meta.fee, lamports, token_accounts })
}

/// Serde knows arrays up to 32; a signature is two of them.
mod signatures {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Halves = ([u8; 32], [u8; 32]);

    pub(super) fn serialize<S: Serializer>(all: &[[u8; 64]], serializer: S) -> Result<S::Ok, S::Error> {
        let halves = |whole: &[u8; 64]| -> Option<Halves> { Some((*whole.first_chunk()?, *whole.last_chunk()?)) };
        all.iter().filter_map(halves).collect::<Vec<Halves>>().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<[u8; 64]>, D::Error> {
        let whole = |(first, last): Halves| {
            let mut whole = [0; 64];
            for (slot, byte) in whole.iter_mut().zip(first.into_iter().chain(last)) {
                *slot = byte;
            }
            whole
        };
        Ok(Vec::<Halves>::deserialize(deserializer)?.into_iter().map(whole).collect())
    }
}
