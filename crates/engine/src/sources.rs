//! The sources. Each looks at the scene and the rules and says what it thinks; none sees another's opinion.

pub mod amm;
pub mod call;
pub mod explain;
pub mod matched;
pub mod one_balance;
pub mod open;
pub mod positions;
pub mod protocol;
pub mod readers;
pub mod shape;
pub mod spam;
pub mod trust;
pub mod vaults;

use crate::category::Category;
use crate::evm::scene::EvmScene;
use crate::opinion::Opinion;
use crate::rules::Rules;

/// Opinions past this count are not weighed; a transaction that provokes more is reviewed.
pub const OPINIONS_MAX: usize = 512;

/// Capacity that is reserved: most transactions provoke fewer.
pub const OPINIONS_LIKELY: usize = 8;

/// What the sources said, and whether a bound kept them from looking at all of it.
#[derive(Debug, Clone, Default)]
pub struct Opinions {
    pub said: Vec<Opinion>,
    pub is_cut: bool,
    /// A rule matched whose outcome is decided in another transaction.
    pub is_unsettled: bool,
    /// Beside what a rule knows, the transaction moved something with somebody else.
    pub is_mixed: bool,
    /// Income that a log states went out again, so that no leg shows it.
    pub nets_income: bool,
}

pub fn opine(scene: &EvmScene<'_>, rules: &Rules) -> Opinions {
    let mut opinions = call::opinions(scene, rules);
    let of_packs = protocol::opinions(scene, rules);
    opinions.said.extend(of_packs.said);
    opinions.is_unsettled |= of_packs.is_unsettled;
    opinions.nets_income |= of_packs.nets_income;
    opinions.said.extend(spam::opinion(scene, rules));
    // A router that only wraps or unwraps logs no less than one that trades.
    if let Some(category) = shape::wrapped(scene) {
        let swaps = opinions.said.iter_mut().filter(|said| said.category == Category::Swap);
        swaps.for_each(|said| said.category = category);
    }
    opinions.said.extend(shape::opinion(scene));
    opinions.is_cut |= opinions.said.len() >= OPINIONS_MAX;
    opinions.said.iter_mut().for_each(|claim| open::raise(scene, rules, claim));
    opinions
}
