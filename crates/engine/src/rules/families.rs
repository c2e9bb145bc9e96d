//! Which canonical tokens are one asset on different chains, by the symbols under which `tokens/` lists them: a bridged version and the original
//! are one family.

use std::sync::Arc;

use alloy_primitives::Address;
use alloy_primitives::map::{AddressMap, Entry};

use super::fold_symbol;

/// What comes of an asset that crosses a bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crossing {
    Same,
    Another,
    /// At least one of them is not listed, so nothing is known.
    Unknown,
}

/// The family of each canonical token, on whichever chain.
#[derive(Debug, Default)]
pub struct Families(AddressMap<Option<Arc<str>>>);

impl Families {
    pub(super) fn insert(&mut self, token: Address, symbol: &str) {
        let family = family(symbol);
        match self.0.entry(token) {
            Entry::Vacant(entry) => {
                entry.insert(Some(family.into()));
            }
            // One address, two assets on two chains: it tells nothing.
            Entry::Occupied(mut entry) => {
                if entry.get().as_deref() != Some(family.as_str()) {
                    entry.insert(None);
                }
            }
        }
    }

    /// What a bridge says that it takes and gives; a zero address for what it gives is the same asset.
    pub fn crossing(&self, taken: Address, given: Address) -> Crossing {
        let family = |token: Address| self.0.get(&token)?.as_deref();
        match (family(taken), family(given)) {
            _ if given.is_zero() => Crossing::Same,
            (Some(taken), Some(given)) if taken == given => Crossing::Same,
            (Some(_), Some(_)) => Crossing::Another,
            _ => Crossing::Unknown,
        }
    }
}

/// `USDC.e` is bridged USDC, and a wrapper is its coin.
fn family(symbol: &str) -> String {
    let folded = fold_symbol(symbol);
    let bridged = folded.strip_suffix(".E").unwrap_or(&folded);
    match bridged {
        "WETH" => "ETH".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::address;

    use super::*;
    use crate::rules::Rules;

    #[test]
    fn bridged_versions_are_one_family_and_what_is_not_listed_tells_nothing() {
        let rules = Rules::embedded().expect("embedded packs load");
        let usdc = address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48");
        let on_avalanche = address!("A7D7079b0FEaD91F3e65f86E8915Cb59c1a4C664");
        let weth_on_arbitrum = address!("82aF49447D8a07e3bd95BD0d56f35241523fBab1");
        let crossing = |taken, given| rules.families.crossing(taken, given);
        assert_eq!(crossing(usdc, on_avalanche), Crossing::Same, "USDC and USDC.e");
        assert_eq!(crossing(usdc, weth_on_arbitrum), Crossing::Another);
        assert_eq!(crossing(usdc, Address::ZERO), Crossing::Same, "the bridge's own counterpart");
        assert_eq!(crossing(usdc, Address::repeat_byte(7)), Crossing::Unknown);
    }
}
