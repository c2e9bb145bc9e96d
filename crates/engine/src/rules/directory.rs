//! Addresses of one chain, and which packs list them as what.

use std::sync::{Arc, OnceLock};

use alloy_primitives::Address;
use alloy_primitives::map::{AddressMap, Entry};

use super::Holder;
use super::compile::Created;
use super::filter::PrefixFilter;

/// Nearly every address has one holder, which it shares with the others of its role.
pub(super) type Holders = AddressMap<Arc<[Holder]>>;

#[derive(Debug, Default)]
pub(super) struct Directory {
    own: Holders,
    /// Of addresses that are the same on every chain, but for those that are in `own` too.
    everywhere: Arc<Holders>,
    created: Vec<(Created, Holder)>,
    index: OnceLock<Index>,
}

/// Made when a chain is first asked about: the contracts that follow from factories are some 67,000, and to hash them all takes a third of what
/// loading the packs does.
#[derive(Debug)]
struct Index {
    /// Of what follows from a factory, with whoever lists it besides.
    made: Holders,
    /// Of every address.
    known: PrefixFilter,
}

impl Directory {
    /// Nearly always `false` for what no pack lists.
    pub(super) fn may_hold(&self, address: Address) -> bool {
        self.index().known.may_hold(address.as_slice())
    }

    pub(super) fn holders(&self, address: Address) -> &[Holder] {
        let Index { made, known } = self.index();
        if !known.may_hold(address.as_slice()) {
            return &[];
        }
        made.get(&address).map_or_else(|| self.listed(address), |holders| &**holders)
    }

    fn listed(&self, address: Address) -> &[Holder] {
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

    /// Adds what a factory made, as `add` does for each that the holder's pack does not list, and computes it later.
    pub(super) fn add_created(&mut self, created: Created, holder: Holder) {
        self.created.push((created, holder));
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

    /// Asked for once all packs are loaded.
    fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let mut made = Holders::default();
            for (created, holder) in &self.created {
                // What most of them share.
                let alone: Arc<[Holder]> = [holder.clone()].into();
                for address in created.addresses() {
                    let before = made.get(&address).map_or_else(|| self.listed(address), |holders| &**holders);
                    if before.is_empty() {
                        made.insert(address, Arc::clone(&alone));
                    } else if !before.iter().any(|other| other.pack == holder.pack) {
                        // In the order in which the packs are loaded.
                        let place = before.partition_point(|other| other.pack < holder.pack);
                        let (first, last) = before.split_at(place);
                        let all = first.iter().chain([holder]).chain(last).cloned().collect();
                        made.insert(address, all);
                    }
                }
            }
            let all = self.own.keys().chain(self.everywhere.keys()).chain(made.keys());
            let known = PrefixFilter::of(all.map(|address| address.as_slice()));
            Index { made, known }
        })
    }
}

fn joined(holders: &[Holder], more: &[Holder]) -> Arc<[Holder]> {
    holders.iter().chain(more).cloned().collect()
}
