//! Readers: what the words of a pack cannot say. A rule names one by `reader`, and it says what the rule's logs mean.

use super::matched::{self, Matched};
use super::{amm, one_balance, positions, vaults};
use crate::evm::scene::EvmScene;
use crate::opinion::Opinion;
use crate::rules::Rules;
use crate::rules::reader::Reader;

/// What one log says.
pub fn one(reader: Reader, scene: &EvmScene<'_>, rules: &Rules, matched: &Matched<'_>) -> Vec<Opinion> {
    match reader {
        Reader::Amm => Vec::new(),
        Reader::Collected => positions::split(scene, rules, matched),
        Reader::OneBalance => one_balance::split(scene, rules, matched),
        Reader::Vault => matched::opinion(scene, rules, matched).into_iter().collect(),
    }
}

/// What all logs of the reader's rules say together.
pub fn all(reader: Reader, scene: &EvmScene<'_>, rules: &Rules, matched: &[Matched<'_>]) -> Vec<Opinion> {
    match reader {
        Reader::Amm => amm::opinions(scene, rules, matched),
        Reader::Collected | Reader::OneBalance => Vec::new(),
        Reader::Vault => vaults::opinions(scene, rules, matched),
    }
}
