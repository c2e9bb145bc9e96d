//! What is known of one transaction, on whichever family of chains. The shell fills it; the engine only reads it.

use std::sync::Arc;

use crate::block::Block;
use crate::chain::Chain;
use crate::evm::EvmFacts;
use crate::solana::SolanaFacts;

/// Shared, so that several questions about one transaction copy nothing.
#[derive(Debug, Clone)]
pub enum Facts {
    Evm(Arc<EvmFacts>),
    Solana(Arc<SolanaFacts>),
}

impl Facts {
    pub fn chain(&self) -> &Arc<Chain> {
        match self {
            Self::Evm(facts) => &facts.chain,
            Self::Solana(facts) => &facts.chain,
        }
    }

    pub fn block(&self) -> Option<Block> {
        match self {
            Self::Evm(facts) => facts.block,
            Self::Solana(facts) => facts.block,
        }
    }
}

impl From<EvmFacts> for Facts {
    fn from(facts: EvmFacts) -> Self {
        Self::Evm(Arc::new(facts))
    }
}

impl From<SolanaFacts> for Facts {
    fn from(facts: SolanaFacts) -> Self {
        Self::Solana(Arc::new(facts))
    }
}
