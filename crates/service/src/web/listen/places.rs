//! Who may hold how many connections. When all places are taken, the connection that has waited longest for a request gives way to the new
//! one: whoever sends a request at once is served, however many connections are held open without one.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ipnet::IpNet;
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

use crate::config::Config;
use crate::limits::counted_address;
use crate::metrics;

#[derive(Debug)]
pub(crate) struct Places {
    most: usize,
    per_address: usize,
    trusted_proxies: Vec<IpNet>,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    count: usize,
    by_address: HashMap<String, usize>,
    /// Connections without a request in flight; those that have waited longest come first.
    waiting: BTreeMap<u64, Waiting>,
    /// Numbers each wait.
    waits: u64,
}

#[derive(Debug)]
struct Waiting {
    address: Option<String>,
    evict: CancellationToken,
}

impl Places {
    pub(crate) fn new(config: &Config) -> Self {
        let unless_zero = |most: u32| usize::try_from(most).ok().filter(|most| *most > 0).unwrap_or(usize::MAX);
        // The other half is for the database, nodes and files.
        let descriptors = metrics::descriptors_max().and_then(|most| usize::try_from(most / 2).ok());
        let most = unless_zero(config.connections_max).min(descriptors.unwrap_or(usize::MAX));
        Self::bounded(most, unless_zero(config.connections_per_address_max), config.trusted_proxies.clone())
    }

    pub(super) fn bounded(most: usize, per_address: usize, trusted_proxies: Vec<IpNet>) -> Self {
        Self { most, per_address, trusted_proxies, taken: Mutex::default() }
    }

    /// A place for a connection from this peer; `None` where it has too many, or all are at work.
    pub(super) fn take(self: &Arc<Self>, peer: IpAddr) -> Option<Arc<Place>> {
        let peer = peer.to_canonical();
        // A trusted proxy carries everybody.
        let is_proxy = self.trusted_proxies.iter().any(|network| network.contains(&peer));
        let address = (!is_proxy).then(|| counted_address(peer));
        let mut taken = self.lock();
        let held = address.as_ref().and_then(|address| taken.by_address.get(address)).copied().unwrap_or_default();
        if held >= self.per_address || (taken.count >= self.most && !taken.evict_one()) {
            return None;
        }
        taken.count = taken.count.saturating_add(1);
        if let Some(address) = &address {
            taken.by_address.insert(address.clone(), held.saturating_add(1));
        }
        let evict = CancellationToken::new();
        let wait = taken.wait(address.clone(), evict.clone());
        drop(taken);
        let (wait, requests) = (AtomicU64::new(wait), AtomicU64::new(0));
        Some(Arc::new(Place {
            places: Arc::clone(self),
            address,
            evict,
            wait,
            requests,
            is_busy: AtomicBool::new(false),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    fn wait(&mut self, address: Option<String>, evict: CancellationToken) -> u64 {
        self.waits = self.waits.saturating_add(1);
        self.waiting.insert(self.waits, Waiting { address, evict });
        self.waits
    }

    /// False where every connection is at work.
    fn evict_one(&mut self) -> bool {
        let Some((_, evicted)) = self.waiting.pop_first() else { return false };
        evicted.evict.cancel();
        self.free(evicted.address.as_deref());
        true
    }

    fn free(&mut self, address: Option<&str>) {
        self.count = self.count.saturating_sub(1);
        let Some(address) = address else { return };
        if let Some(held) = self.by_address.get_mut(address) {
            *held = held.saturating_sub(1);
            if *held == 0 {
                self.by_address.remove(address);
            }
        }
    }
}

/// One connection's place, which is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    address: Option<String>,
    evict: CancellationToken,
    wait: AtomicU64,
    requests: AtomicU64,
    is_busy: AtomicBool,
}

impl Place {
    pub(super) fn evicted(&self) -> WaitForCancellationFuture<'_> {
        self.evict.cancelled()
    }

    /// How many requests came in whole so far.
    pub(super) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub(super) fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::Relaxed)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        // Whoever was evicted has lost its place already.
        if !self.evict.is_cancelled() {
            taken.waiting.remove(&self.wait.load(Ordering::Relaxed));
            taken.free(self.address.as_deref());
        }
    }
}

/// A request that is being answered. HTTP/1.1 has one at a time.
#[derive(Debug)]
pub(super) struct InFlight(Arc<Place>);

impl InFlight {
    pub(super) fn begin(place: Arc<Place>) -> Self {
        place.requests.fetch_add(1, Ordering::Relaxed);
        place.is_busy.store(true, Ordering::Relaxed);
        place.places.lock().waiting.remove(&place.wait.load(Ordering::Relaxed));
        Self(place)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let place = &self.0;
        place.is_busy.store(false, Ordering::Relaxed);
        let mut taken = place.places.lock();
        if !place.evict.is_cancelled() {
            place.wait.store(taken.wait(place.address.clone(), place.evict.clone()), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
impl Places {
    pub(super) fn count(&self) -> usize {
        self.lock().count
    }
}

#[cfg(test)]
impl Place {
    pub(super) fn is_evicted(&self) -> bool {
        self.evict.is_cancelled()
    }
}
