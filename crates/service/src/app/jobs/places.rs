//! How many tables come in, or results are taken away, at the same time: each holds a file or a thread for as long as its caller is slow.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::ApiError;

/// What a caller is told to wait who finds no place.
const WAIT_SECONDS: u64 = 5;

#[derive(Debug)]
pub(super) struct Places {
    most: usize,
    most_of_owner: usize,
    taken: Mutex<BTreeMap<String, usize>>,
}

/// It is free again with the end of this value.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    owner_id: String,
}

impl Places {
    pub(super) fn new(most: usize, most_of_owner: usize) -> Arc<Self> {
        Arc::new(Self { most, most_of_owner, taken: Mutex::default() })
    }

    pub(super) fn take(self: &Arc<Self>, owner_id: &str) -> Result<Place, ApiError> {
        let mut taken = self.lock();
        let own = taken.get(owner_id).copied().unwrap_or_default();
        if own >= self.most_of_owner || taken.values().sum::<usize>() >= self.most {
            return Err(ApiError::RateLimited { seconds: WAIT_SECONDS });
        }
        taken.insert(owner_id.to_owned(), own.saturating_add(1));
        Ok(Place { places: Arc::clone(self), owner_id: owner_id.to_owned() })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        if let Some(own) = taken.get_mut(&self.owner_id) {
            *own = own.saturating_sub(1);
        }
        taken.retain(|_, own| *own > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_all_places_and_each_is_free_again() {
        let places = Places::new(3, 2);
        let first = places.take("a").unwrap();
        let _second = places.take("a").unwrap();
        assert_eq!(places.take("a").unwrap_err(), ApiError::RateLimited { seconds: WAIT_SECONDS });
        let _others = places.take("b").unwrap();
        assert!(places.take("c").is_err(), "all are taken");
        drop(first);
        assert!(places.take("c").is_ok());
    }
}
