//! Whose it is. Where the chain names somebody else as the owner of a position, as the sender on another chain or as the recipient there, the
//! wallet's part is a payment or a receipt between two people, and a person looks at it.

use crate::asset::Account;
use crate::category::{Category, Nature};
use crate::opinion::Opinion;
use crate::role::Role;
use crate::shares::LegSet;

/// What a wallet still has afterwards, here or on another chain.
fn is_position(category: Category) -> bool {
    category.meaning().nature == Nature::Keeping || category == Category::BridgeSwap
}

/// The opinions, with those that are of somebody else's position as transfers. One that names nobody is of whom another names that says the
/// same of the same legs.
pub fn between_people(mut opinions: Vec<Opinion>, own_wallets: &[Account]) -> Vec<Opinion> {
    if opinions.iter().all(|opinion| opinion.whose.is_none()) {
        return opinions;
    }
    let named: Vec<(Category, LegSet, Account)> = opinions
        .iter()
        .filter(|opinion| is_position(opinion.category))
        .filter_map(|opinion| Some((opinion.category, opinion.explains.legs(), opinion.whose?)))
        .filter(|(.., other)| !own_wallets.contains(other))
        .collect();
    for opinion in &mut opinions {
        let is_same = |(category, legs, _): &&(Category, LegSet, Account)| {
            *category == opinion.category && opinion.explains.legs().minus(*legs) != opinion.explains.legs()
        };
        opinion.whose = named.iter().find(is_same).map(|(.., other)| *other);
        if opinion.whose.is_some() {
            (opinion.category, opinion.role, opinion.may_exchange) = (Category::Transfer, Role::Principal, false);
        }
    }
    opinions
}
