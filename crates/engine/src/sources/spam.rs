//! Unsolicited tokens and look-alike transfers. Only what the wallet did not ask for can be spam: a claim that it sent
//! itself never is. The words that lure are data, in the pack `spam`.

use alloy_primitives::Address;

use crate::asset::{Account, Asset};
use crate::category::Category;
use crate::evm::movements::TRANSFER;
use crate::evm::scene::{Outcome, Scene};
use crate::legs::{Direction, Leg};
use crate::opinion::{LegSet, Opinion, Role, Source, Strength};
use crate::rules::Rules;

pub fn opinion(scene: &Scene<'_>, rules: &Rules) -> Option<Opinion> {
    let is_passive = !scene.acts() && scene.facts.transaction.from != scene.perspective;
    if !is_passive || scene.outcome == Outcome::Failed {
        return None;
    }
    let comes_in = |leg: &Leg| leg.direction == Direction::In;
    let rule = if scene.legs.is_empty() {
        is_poisoned(scene).then_some("spam/zero-value")?
    } else if scene.legs.iter().all(|leg| comes_in(leg) && is_lure(scene, rules, leg)) {
        "spam/lure"
    } else if scene.legs.iter().all(|leg| comes_in(leg) && is_imitation(scene, leg)) {
        "spam/imitation"
    } else {
        return None;
    };
    Some(Opinion {
        source: Source::Protocol,
        rule: rule.into(),
        protocol: None,
        category: Category::Spam,
        strength: Strength::Standard,
        role: Role::Principal,
        at: None,
        explains: LegSet::all(scene.legs.len()),
        amounts: Vec::new(),
        escrowed: false,
    })
}

/// Address poisoning: a transfer of nothing in the wallet's name, so that a look-alike stands in its history. Where anything
/// really passed through the wallet, it is something else.
fn is_poisoned(scene: &Scene<'_>) -> bool {
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

fn is_lure(scene: &Scene<'_>, rules: &Rules, leg: &Leg) -> bool {
    let Some(contract) = token(leg) else { return false };
    let Some(said) = scene.facts.tokens.get(&contract) else { return false };
    let texts = said.symbol.iter().chain(&said.name);
    !scene.known.is_canonical(contract) && texts.into_iter().any(|text| rules.lures(text))
}

/// A token that calls itself what it is not.
fn is_imitation(scene: &Scene<'_>, leg: &Leg) -> bool {
    let Some(contract) = token(leg) else { return false };
    let symbol = scene.facts.tokens.get(&contract).and_then(|said| said.symbol.as_deref());
    symbol.is_some_and(|symbol| scene.known.symbol_collides(symbol, contract))
}

fn token(leg: &Leg) -> Option<Address> {
    match leg.asset {
        Asset::Native => None,
        Asset::Token(contract) | Asset::Nft { contract, .. } => contract.evm(),
    }
}
