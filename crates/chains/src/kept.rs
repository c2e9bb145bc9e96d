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
use serde::Serialize;
use serde::de::DeserializeOwned;

pub const FORMAT: &str = "facts.1";
/// What has more bytes is not kept: it is read anew.
const KEPT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Transaction, receipt, block, internal value, balances, tokens, other chains that hold it.
type KeptEvm = (
    Transaction,
    Receipt,
    Option<Block>,
    InternalValue,
    BTreeMap<Address, BalanceChange>,
    BTreeMap<Address, Arc<Token>>,
    Vec<String>,
);

/// Transaction, block, tokens.
type KeptSolana = (engine::solana::json::Transaction, Option<Block>, BTreeMap<Key, Arc<Token>>);

pub(crate) fn encode_evm(facts: &EvmFacts) -> Option<Vec<u8>> {
    let EvmFacts { chain: _, transaction, receipt, block, internal, balances, tokens, also_on } = facts;
    pack(&(transaction, receipt, block, internal, balances, tokens, also_on))
}

pub(crate) fn decode_evm(chain: &Arc<Chain>, bytes: &[u8]) -> Option<EvmFacts> {
    let (transaction, receipt, block, internal, balances, tokens, also_on) = unpack::<KeptEvm>(bytes)?;
    Some(EvmFacts { chain: Arc::clone(chain), transaction, receipt, block, internal, balances, tokens, also_on })
}

pub(crate) fn encode_solana(facts: &SolanaFacts) -> Option<Vec<u8>> {
    let SolanaFacts { chain: _, signature: _, transaction, block, tokens } = facts;
    pack(&(transaction, block, tokens))
}

pub(crate) fn decode_solana(chain: &Arc<Chain>, signature: [u8; 64], bytes: &[u8]) -> Option<SolanaFacts> {
    let (transaction, block, tokens) = unpack::<KeptSolana>(bytes)?;
    let is_same = transaction.signatures.first() == Some(&signature);
    is_same.then(|| SolanaFacts { chain: Arc::clone(chain), signature, transaction, block, tokens })
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
