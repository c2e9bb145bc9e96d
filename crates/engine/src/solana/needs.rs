//! What a question about a Solana transaction lacks: only names, since the node's answer holds all that moved.

use super::scene::SolanaScene;
use crate::asset::Account;
use crate::needs::{Need, unknown_tokens};

pub(crate) fn needs(scene: &SolanaScene<'_>) -> Vec<Need> {
    let facts = scene.facts;
    let accounts = || facts.transaction.effects.iter().flat_map(|effects| &effects.token_accounts);
    let is_known = |contract: &Account| match contract {
        // A mint that no token account of the transaction holds has no decimals here, and a name alone would not help.
        Account::Solana(mint) => facts.tokens.contains_key(mint) || !accounts().any(|account| account.mint == *mint),
        Account::Evm(_) => true,
    };
    unknown_tokens(scene.listed_legs(), is_known).collect()
}
