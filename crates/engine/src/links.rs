//! Who is linked to whom by the flow of assets, the wallet left out: a router with its pools, a maker with nobody.

use crate::asset::{Account, Movement};

/// So many accounts are found sooner one after another than by a search in order.
const FEW_ACCOUNTS: usize = 16;

/// The accounts of a transaction in groups: two are in one group when assets passed between them, by whatever way.
#[derive(Debug, Clone, Default)]
pub struct Links {
    /// Sorted, where they are more than a few.
    accounts: Vec<Account>,
    groups: Vec<usize>,
}

impl Links {
    /// `is_hub` names contracts that everybody passes through, such as the wrapper of the native coin: they link nobody.
    pub fn of(movements: &[&Movement], wallet: Account, is_hub: impl Fn(Account) -> bool) -> Self {
        let ends = || movements.iter().copied().map(ends);
        let accounts = accounts(ends().flat_map(|(from, to)| [from, to]).flatten());
        let groups = (0..accounts.len()).collect();
        let mut links = Self { accounts, groups };
        let links_others = |account: &Account| *account != wallet && !is_hub(*account);
        for (from, to) in ends() {
            if let (Some(from), Some(to)) = (from.filter(links_others), to.filter(links_others)) {
                links.join(from, to);
            }
        }
        links
    }

    /// `None` for an account that no asset passed through.
    pub fn group(&self, account: Account) -> Option<usize> {
        let place = if self.accounts.len() <= FEW_ACCOUNTS {
            self.accounts.iter().position(|one| *one == account)
        } else {
            self.accounts.binary_search(&account).ok()
        };
        self.root(place?)
    }

    fn root(&self, mut at: usize) -> Option<usize> {
        // Groups point to smaller positions only, so this ends.
        loop {
            let next = *self.groups.get(at)?;
            if next == at {
                return Some(at);
            }
            at = next;
        }
    }

    fn join(&mut self, one: Account, other: Account) {
        let (Some(one), Some(other)) = (self.group(one), self.group(other)) else { return };
        if let Some(group) = self.groups.get_mut(one.max(other)) {
            *group = one.min(other);
        }
    }
}

/// Each account once: in the order of the movements while they are few, else sorted.
fn accounts(mut all: impl Iterator<Item = Account>) -> Vec<Account> {
    let mut found = Vec::with_capacity(FEW_ACCOUNTS.saturating_add(1));
    for account in all.by_ref() {
        if !found.contains(&account) {
            found.push(account);
        }
        if found.len() > FEW_ACCOUNTS {
            found.extend(all);
            found.sort_unstable();
            found.dedup();
            break;
        }
    }
    found
}

/// A mint or a burn is an act of the token's contract.
fn ends(m: &Movement) -> (Option<Account>, Option<Account>) {
    let end = |account: Account| if account.is_zero() { m.asset.contract() } else { Some(account) };
    (end(m.from), end(m.to))
}
