//! Solana facts as bytes for the cache.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::solana::Key;
use engine::solana::json::SolanaTransaction;
use engine::{Block, Chain, SolanaFacts, Token};

use crate::kept::{pack, unpack};

/// Transaction, block, tokens.
type Kept = (SolanaTransaction, Option<Block>, BTreeMap<Key, Arc<Token>>);

pub(super) fn encode(facts: &SolanaFacts) -> Option<Vec<u8>> {
    let SolanaFacts { chain: _, signature: _, transaction, block, tokens } = facts;
    pack(&(transaction, block, tokens))
}

pub(super) fn decode(chain: &Arc<Chain>, signature: [u8; 64], bytes: &[u8]) -> Option<SolanaFacts> {
    let (transaction, block, tokens) = unpack::<Kept>(bytes)?;
    let is_same = transaction.signatures.first() == Some(&signature);
    is_same.then(|| SolanaFacts { chain: Arc::clone(chain), signature, transaction, block, tokens })
}
