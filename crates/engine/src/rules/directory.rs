//! Addresses of one chain, and which packs list them as what.

use std::sync::Arc;

use alloy_primitives::Address;
use alloy_primitives::map::{AddressMap, Entry};

use super::Holder;
use super::filter::PrefixFilter;

/// Nearly every address has one holder, which it shares with the others of its role.
pub(super) type Holders = AddressMap<Arc<[Holder]>>;

#[derive(Debug, Default)]
pub(super) struct Directory {
    own: Holders,
    /// Of addresses that are the same on every chain, but for those that are in `own` too.
    everywhere: Arc<Holders>,
    /// Of both.
    known: PrefixFilter,
}

impl Directory {
    /// Nearly always `false` for what no pack lists.
    pub(super) fn may_hold(&self, address: Address) -> bool {
        self.known.may_hold(address.as_slice())
    }

    pub(super) fn holders(&self, address: Address) -> &[Holder] {
        if !self.may_hold(address) {
            return &[];
        }
        self.own.get(&address).or_else(|| self.everywhere.get(&address)).map_or(&[], |holders| &**holders)
    }

    pub(super) fn own(&self) -> &Holders {
        &self.own
    }

    pub(super) fn add(&mut self, address: Address, holders: &Arc<[Holder]>) {
        match self.own.entry(address) {
            Entry::Vacant(place) => {
                place.insert(Arc::clone(holders));
            }
            Entry::Occupied(mut known) => {
                let all = joined(known.get(), holders);
                known.insert(all);
            }
        }
    }

    /// Adds what stands on every chain, which all chains share.
    pub(super) fn include(&mut self, everywhere: &Arc<Holders>) {
        for (address, holders) in &mut self.own {
            if let Some(more) = everywhere.get(address) {
                *holders = joined(holders, more);
            }
        }
        self.everywhere = Arc::clone(everywhere);
    }

    /// Called once all packs are loaded.
    pub(super) fn index(&mut self) {
        let all = self.own.keys().chain(self.everywhere.keys());
        self.known = PrefixFilter::of(all.map(|address| address.as_slice()));
    }
}

fn joined(holders: &[Holder], more: &[Holder]) -> Arc<[Holder]> {
    holders.iter().chain(more).cloned().collect()
}
