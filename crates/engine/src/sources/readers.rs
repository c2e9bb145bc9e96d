//! Readers: what the words of a pack cannot say. A rule names one by `reader`, and it says what the rule's logs mean.

use super::trust::EmitterTrust;
use super::{amm, positions, protocol, vaults};
use crate::evm::json::Log;
use crate::evm::scene::EvmScene;
use crate::opinion::Opinion;
use crate::rules::Rules;
use crate::rules::compile::EventRule;
use crate::rules::reader::Reader;

/// A log that a rule matches, whose conditions hold.
#[derive(Debug, Clone, Copy)]
pub struct Matched<'a> {
    /// Its place among the logs.
    pub position: usize,
    pub log: &'a Log,
    pub rule: &'a EventRule,
    pub trust: EmitterTrust,
}

/// What one log says.
pub fn one(reader: Reader, scene: &EvmScene<'_>, rules: &Rules, matched: &Matched<'_>) -> Vec<Opinion> {
    match reader {
        Reader::Amm => Vec::new(),
        Reader::Collected => positions::split(scene, rules, matched),
        Reader::Vault => protocol::opinion(scene, rules, matched).into_iter().collect(),
    }
}

/// What all logs of the reader's rules say together.
pub fn all(reader: Reader, scene: &EvmScene<'_>, rules: &Rules, matched: &[Matched<'_>]) -> Vec<Opinion> {
    match reader {
        Reader::Amm => amm::opinions(scene, rules, matched),
        Reader::Collected => Vec::new(),
        Reader::Vault => vaults::opinions(scene, rules, matched),
    }
}
