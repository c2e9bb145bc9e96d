//! Readers: what the words of a pack cannot say. A rule names one by `reader`, and it says what the rule's logs mean.

use super::trust::EmitterTrust;
use super::{amm, positions, protocol, vaults};
use crate::evm::json::Log;
use crate::evm::scene::EvmScene;
use crate::opinion::Opinion;
use crate::rules::Rules;
use crate::rules::compile::EventRule;

/// A log that a rule matches, whose conditions hold.
#[derive(Debug, Clone, Copy)]
pub struct Matched<'a> {
    /// Its place among the logs.
    pub position: usize,
    pub log: &'a Log,
    pub rule: &'a EventRule,
    pub trust: EmitterTrust,
}

type One = fn(&EvmScene<'_>, &Rules, &Matched<'_>) -> Vec<Opinion>;
type All = fn(&EvmScene<'_>, &Rules, &[Matched<'_>]) -> Vec<Opinion>;

#[derive(Debug)]
pub struct EventReader {
    /// What one log says.
    pub one: One,
    /// What all logs of the reader's rules say together.
    pub all: All,
    /// It reads another event of the same contract, which the rule must name in `beside`.
    pub needs_beside: bool,
}

/// By the name that packs use. Their joint opinions are asked for in this order.
pub static READERS: &[(&str, EventReader)] = &[
    // The emitter is a pool: what the wallet sent into pools and took out of them is a swap.
    ("amm", EventReader { one: |_, _, _| Vec::new(), all: amm::opinions, needs_beside: false }),
    // What a position paid out: principal as far as it was decreased, fees beyond.
    ("collected", EventReader { one: positions::split, all: |_, _, _| Vec::new(), needs_beside: true }),
    // An ERC-4626 vault: its assets may go straight on into another.
    ("vault", EventReader { one: plain, all: vaults::opinions, needs_beside: false }),
];

/// Where the reader of this name is in `READERS`, and what it is.
pub fn named(name: &str) -> Option<(usize, &'static EventReader)> {
    let found = READERS.iter().enumerate().find(|(_, (known, _))| *known == name);
    found.map(|(at, (_, reader))| (at, reader))
}

/// What the rule's own words say.
fn plain(scene: &EvmScene<'_>, rules: &Rules, matched: &Matched<'_>) -> Vec<Opinion> {
    protocol::opinion(scene, rules, matched).into_iter().collect()
}
