//! Facts as bytes, so that they can be kept and read again without a node: packed, then compressed.
//!
//! The format has no field names, so `FORMAT` counts up with every change of the facts' types; bytes of another format are
//! never read. Bytes may be damaged: what does not decode is as good as not there.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::Arc;

use alloy_primitives::Address;
use engine::evm::json::{Receipt, Transaction};
use engine::evm::{BalanceChange, Block, InternalValue, Token};
use engine::solana::Key;
use engine::{Chain, EvmFacts, SolanaFacts};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub const FORMAT: &str = "facts.1";
/// What has more bytes is not kept: it is read anew.
const KEPT_BYTES_MAX: usize = 16 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct Evm<T, R, I, B, N, A> {
    transaction: T,
    receipt: R,
    block: Option<Block>,
    internal: I,
    balances: B,
    tokens: N,
    also_on: A,
}

type OwnedEvm = Evm<
    Transaction,
    Receipt,
    InternalValue,
    BTreeMap<Address, BalanceChange>,
    BTreeMap<Address, Arc<Token>>,
    Vec<String>,
>;

#[derive(Serialize, Deserialize)]
struct Solana<T, N> {
    transaction: T,
    block: Option<Block>,
    tokens: N,
}

type OwnedSolana = Solana<engine::solana::json::Transaction, BTreeMap<Key, Arc<Token>>>;

pub(crate) fn encode_evm(facts: &EvmFacts) -> Option<Vec<u8>> {
    pack(&Evm {
        transaction: &facts.transaction,
        receipt: &facts.receipt,
        block: facts.block,
        internal: &facts.internal,
        balances: &facts.balances,
        tokens: &facts.tokens,
        also_on: &facts.also_on,
    })
}

pub(crate) fn decode_evm(chain: &Arc<Chain>, bytes: &[u8]) -> Option<EvmFacts> {
    let kept: OwnedEvm = unpack(bytes)?;
    Some(EvmFacts {
        chain: Arc::clone(chain),
        transaction: kept.transaction,
        receipt: kept.receipt,
        block: kept.block,
        internal: kept.internal,
        balances: kept.balances,
        tokens: kept.tokens,
        also_on: kept.also_on,
    })
}

pub(crate) fn encode_solana(facts: &SolanaFacts) -> Option<Vec<u8>> {
    pack(&Solana { transaction: &facts.transaction, block: facts.block, tokens: &facts.tokens })
}

pub(crate) fn decode_solana(chain: &Arc<Chain>, signature: [u8; 64], bytes: &[u8]) -> Option<SolanaFacts> {
    let kept: OwnedSolana = unpack(bytes)?;
    let is_same = kept.transaction.signatures.first() == Some(&signature);
    is_same.then(|| SolanaFacts {
        chain: Arc::clone(chain),
        signature,
        transaction: kept.transaction,
        block: kept.block,
        tokens: kept.tokens,
    })
}

fn pack<T: Serialize>(facts: &T) -> Option<Vec<u8>> {
    squeeze(&postcard::to_allocvec(facts).ok()?)
}

fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    postcard::from_bytes(&unsqueeze(bytes)?).ok()
}

/// Compressed; `None` for more bytes than are worth keeping.
pub fn squeeze(plain: &[u8]) -> Option<Vec<u8>> {
    if plain.len() > KEPT_BYTES_MAX {
        return None;
    }
    let mut encoder = DeflateEncoder::new(Vec::with_capacity(plain.len() / 2), Compression::fast());
    encoder.write_all(plain).ok()?;
    encoder.finish().ok()
}

/// What `squeeze` was given.
pub fn unsqueeze(bytes: &[u8]) -> Option<Vec<u8>> {
    let most = u64::try_from(KEPT_BYTES_MAX).ok()?;
    let mut plain = Vec::with_capacity(bytes.len().saturating_mul(3));
    DeflateDecoder::new(bytes).take(most).read_to_end(&mut plain).ok()?;
    Some(plain)
}
