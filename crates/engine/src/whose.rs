//! Whose it is. Where the chain names somebody else as the owner of a position or of what it earned, as the sender on another chain or as the
//! recipient there, the wallet's part is a payment or a receipt between two people, and a person looks at it.

use crate::asset::Account;
use crate::category::Category;
use crate::opinion::Opinion;
use crate::role::Role;
use crate::shares::LegSet;

/// The opinions, with those that are of what is somebody else's as transfers. One that names nobody is of whom another names that says the
/// same of the same legs, or of none.
pub fn between_people(mut opinions: Vec<Opinion>, own_wallets: &[Account]) -> Vec<Opinion> {
    if opinions.iter().all(|opinion| opinion.whose.is_none()) {
        return opinions;
    }
    let named: Vec<(Category, LegSet, Account)> = opinions
        .iter()
        .filter_map(|opinion| Some((opinion.category, opinion.explains.legs(), opinion.whose?)))
        .filter(|(.., other)| !own_wallets.contains(other))
        .collect();
    for opinion in &mut opinions {
        let explained = opinion.explains.legs();
        // A claim without legs speaks for every claim of its category.
        let is_same = |(category, legs, _): &&(Category, LegSet, Account)| {
            *category == opinion.category && (legs.is_empty() || explained.minus(*legs) != explained)
        };
        opinion.whose = named.iter().find(is_same).map(|(.., other)| *other);
        if opinion.whose.is_some() {
            (opinion.category, opinion.role, opinion.may_exchange) = (Category::Transfer, Role::Principal, false);
        }
    }
    opinions
}
