//! A row as the engine's facts, and facts as a row, by the family of their chain. Nothing is lost on the way there and back.

use std::sync::Arc;

use engine::{Account, Facts, Registry, TxHash};

use crate::error::{RowError, shown};
use crate::row::{Row, RowText};
use crate::{evm, solana};

impl Row<'_> {
    /// The facts, and whose view the row asks for.
    pub fn facts(&self, chains: &Registry) -> Result<(Facts, Option<Account>), RowError> {
        self.check_version()?;
        let name = self.chain.ok_or(RowError::Missing("chain"))?;
        let chain = chains.find(name).ok_or_else(|| RowError::UnknownChain(shown(name)))?;
        let hash = self.hash.ok_or(RowError::Missing("hash"))?;
        let hash = TxHash::parse(hash).map_err(|error| RowError::unreadable("hash", &error))?;
        if hash.family() != chain.family {
            return Err(RowError::Contradiction("the hash is none of this chain"));
        }
        let wallet = self.wallet.map(Account::parse).transpose();
        let wallet = wallet.map_err(|error| RowError::unreadable("wallet", &error))?;
        let facts = match hash {
            TxHash::Evm(hash) => Facts::from(evm::facts(self, Arc::clone(chain), hash)?),
            TxHash::Solana(signature) => Facts::from(solana::facts(self, Arc::clone(chain), signature)?),
        };
        Ok((facts, wallet))
    }
}

impl RowText {
    /// What the engine knows of a transaction, and whose view was asked for.
    pub fn of(facts: &Facts, wallet: Option<Account>) -> serde_json::Result<Self> {
        match facts {
            Facts::Evm(facts) => evm::row(facts, wallet),
            Facts::Solana(facts) => solana::row(facts, wallet),
        }
    }
}
