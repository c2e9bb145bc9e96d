//! Addresses of one chain, and which packs list them as what.

use std::sync::Arc;

use alloy_primitives::Address;
use alloy_primitives::map::AddressMap;

use super::Holder;
use super::filter::PrefixFilter;

#[derive(Debug, Default)]
pub(super) struct Directory {
    pub(super) own: AddressMap<Vec<Holder>>,
    /// Of addresses that are the same on every chain, but for those that are in `own` too.
    everywhere: Arc<AddressMap<Vec<Holder>>>,
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
        self.own.get(&address).or_else(|| self.everywhere.get(&address)).map_or(&[], Vec::as_slice)
    }

    /// Adds what stands on every chain, which all chains share.
    pub(super) fn include(&mut self, everywhere: &Arc<AddressMap<Vec<Holder>>>) {
        for (address, holders) in &mut self.own {
            holders.extend(everywhere.get(address).into_iter().flatten().cloned());
        }
        self.everywhere = Arc::clone(everywhere);
    }

    /// Called once all packs are loaded.
    pub(super) fn index(&mut self) {
        let all = self.own.keys().chain(self.everywhere.keys());
        self.known = PrefixFilter::of(all.map(|address| address.as_slice()));
    }
}
