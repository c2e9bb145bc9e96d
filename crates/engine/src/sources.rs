//! The sources. Each looks at the scene and the rules and says what it thinks; none sees another's opinion.

pub mod amm;
pub mod call;
pub mod calldata;
pub mod explain;
pub mod pools;
pub mod positions;
pub mod protocol;
pub mod shape;
pub mod spam;

use crate::evm::scene::Scene;
use crate::opinion::Opinion;
use crate::rules::Rules;

/// Opinions past this count are not weighed; a transaction that provokes more is reviewed.
pub const OPINIONS_MAX: usize = 512;

pub fn opine(scene: &Scene<'_>, rules: &Rules) -> Vec<Opinion> {
    let mut opinions = protocol::opinions(scene, rules);
    opinions.extend(spam::opinion(scene, rules));
    opinions.extend(call::opinions(scene, rules));
    opinions.extend(shape::opinion(scene));
    opinions
}
