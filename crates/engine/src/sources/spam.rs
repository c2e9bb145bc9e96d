//! Unsolicited tokens and look-alike transfers. Only what the wallet did not ask for can be spam: a claim that it sent
//! itself never is. The words that lure are data, in the pack `spam`.

use alloy_primitives::Address;

use crate::asset::Account;
use crate::category::Category;
use crate::evm::erc20::TRANSFER;
use crate::evm::scene::EvmScene;
use crate::legs::{Direction, Leg};
use crate::opinion::{Opinion, Source, Strength};
use crate::rules::Rules;
use crate::scene::{Outcome, Scene};
use crate::shares::Shares;

pub fn opinion(scene: &EvmScene<'_>, rules: &Rules) -> Option<Opinion> {
    let is_passive = !scene.acts && scene.facts.transaction.from != scene.perspective;
    if !is_passive || scene.outcome == Outcome::Failed {
        return None;
    }
    if scene.legs.is_empty() {
        return is_poisoned(scene).then(|| spam(scene, "spam/zero-value"));
    }
    unsolicited(scene, rules)
}

/// Nothing but tokens that lure or imitate, for a wallet that did not ask.
pub fn unsolicited(scene: &Scene<'_>, rules: &Rules) -> Option<Opinion> {
    let comes_in = |leg: &Leg| leg.direction == Direction::In;
    if scene.legs.is_empty() {
        None
    } else if scene.legs.iter().all(|leg| comes_in(leg) && is_lure(scene, rules, leg)) {
        Some(spam(scene, "spam/lure"))
    } else if scene.legs.iter().all(|leg| comes_in(leg) && is_imitation(scene, leg)) {
        Some(spam(scene, "spam/imitation"))
    } else {
        None
    }
}

fn spam(scene: &Scene<'_>, rule: &str) -> Opinion {
    Opinion::new(
        Source::Protocol,
        rule,
        Category::Spam,
        Strength::Standard,
        Shares::whole(scene.legs.iter().enumerate()),
    )
}

/// Address poisoning: a transfer of nothing in the wallet's name, so that a look-alike address is in its history. Where anything
/// really passed through the wallet, it is something else.
fn is_poisoned(scene: &EvmScene<'_>) -> bool {
    let wallet = Account::from(scene.perspective);
    if scene.movements.iter().any(|m| (m.from == wallet || m.to == wallet) && !m.amount.is_zero()) {
        return false;
    }
    let mine = |address: Option<Address>| address == Some(scene.perspective);
    scene.facts.receipt.logs.iter().any(|log| {
        log.topic0() == Some(TRANSFER)
            && log.topics.len() == 3
            && log.data_u256(0).is_some_and(|amount| amount.is_zero())
            && (mine(log.topic_address(1)) || mine(log.topic_address(2)))
    })
}

/// Whether the token lures or imitates.
pub fn is_bait(scene: &Scene<'_>, rules: &Rules, leg: &Leg) -> bool {
    is_lure(scene, rules, leg) || is_imitation(scene, leg)
}

fn is_lure(scene: &Scene<'_>, rules: &Rules, leg: &Leg) -> bool {
    let Some(contract) = leg.asset.contract() else { return false };
    let Some(said) = scene.ground.token(contract) else { return false };
    let texts = said.symbol.iter().chain(&said.name);
    !scene.is_listed(leg.asset) && texts.into_iter().any(|text| rules.lures(text))
}

/// A token that calls itself what it is not.
fn is_imitation(scene: &Scene<'_>, leg: &Leg) -> bool {
    let Some(contract) = leg.asset.contract() else { return false };
    let symbol = scene.ground.token(contract).and_then(|said| said.symbol.as_deref());
    !scene.is_listed(leg.asset) && symbol.is_some_and(|symbol| scene.ground.collides(symbol, contract))
}
