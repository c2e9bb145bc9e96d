//! What is known of a chain's contracts while one transaction is read: what packs list, and what was proved of others.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use alloy_primitives::Address;

use super::compile::{CallRule, RulePlace};
use super::{ChainRules, Holder, Standing};

/// Contracts that no pack lists in a role, with the packs that know them all the same.
pub type ProvedContracts = BTreeMap<Address, Vec<Holder>>;

#[derive(Debug, Clone)]
pub struct Known<'a> {
    listed: &'a ChainRules,
    proved: Option<Arc<ProvedContracts>>,
}

impl<'a> Known<'a> {
    pub fn new(listed: &'a ChainRules, proved: ProvedContracts) -> Self {
        Self { listed, proved: (!proved.is_empty()).then(|| Arc::new(proved)) }
    }

    /// Packs that list the contract, or that another contract vouches to, each with its role.
    pub fn holders(&self, contract: Address) -> &[Holder] {
        let proved = self.proved.as_ref().and_then(|proved| proved.get(&contract));
        proved.map_or_else(|| self.listed.holders(contract), Vec::as_slice)
    }

    /// Also as an exchange's wallet: a rule may name the role to which its pack's contracts pass something on.
    pub fn holds_role(&self, contract: Address, pack: usize, role: &str) -> bool {
        let mut holders = self.holders(contract).iter().chain(self.owners(contract));
        holders.any(|holder| holder.pack == pack && *holder.role == *role)
    }

    /// Whether the rule stands on a role that the contract has.
    pub fn is_place_of(&self, rule: &CallRule, contract: Address) -> bool {
        matches!(&rule.place, RulePlace::Role(role) if self.holds_role(contract, rule.pack, role))
    }

    /// Packs that list the contract and vouch for it.
    pub fn vouchers(&self, contract: Address) -> impl Iterator<Item = usize> {
        self.listed.holders(contract).iter().filter(|holder| !holder.is_quiet).map(|holder| holder.pack)
    }

    /// A canonical token, or a contract that a pack lists.
    pub fn is_on_list(&self, contract: Address) -> bool {
        self.is_canonical(contract) || self.is_listed(contract)
    }

    /// A token that several public lists name: no stranger wrote it for one transaction. It proves nothing else.
    pub fn is_widespread(&self, contract: Address) -> bool {
        self.listed.widespread.contains(contract)
    }

    /// Not where only another contract vouches for it.
    pub fn is_listed(&self, contract: Address) -> bool {
        !self.listed.holders(contract).is_empty()
    }

    /// The pack of a contract that none lists by itself: it was made by a listed factory for anybody, another contract vouches for it, or it runs a
    /// listed contract's code.
    pub fn open(&self, contract: Address) -> Option<usize> {
        open_pack(self.holders(contract))
    }

    /// Whether nothing is known of the contract but that it runs a listed one's code.
    pub fn is_copy(&self, contract: Address) -> bool {
        let holders = self.holders(contract);
        !holders.is_empty() && holders.iter().all(|holder| holder.standing == Standing::Copy)
    }
}

impl<'a> From<&'a ChainRules> for Known<'a> {
    fn from(listed: &'a ChainRules) -> Self {
        Self { listed, proved: None }
    }
}

impl Deref for Known<'_> {
    type Target = ChainRules;

    fn deref(&self) -> &ChainRules {
        self.listed
    }
}

/// The pack, where each of them only knows that anybody may have the contract made.
pub fn open_pack(holders: &[Holder]) -> Option<usize> {
    holders
        .first()
        .filter(|_| holders.iter().all(|holder| holder.standing != Standing::Listed))
        .map(|holder| holder.pack)
}
