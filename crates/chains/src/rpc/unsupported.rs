//! Which methods an endpoint does not offer, learned from its refusals. Endpoints differ and change: what one refused says nothing of
//! the others, and it is asked again after a while.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::roster::Endpoints;

/// How long an endpoint counts as not offering a method that it refused. What was read without the method, because no endpoint
/// offered it, is cached no longer than this either.
pub const UNSUPPORTED_SECONDS_MAX: u64 = 600;

/// When which endpoint refused which method. Methods are ours, so there are few.
#[derive(Debug, Default)]
pub(super) struct UnsupportedMethods {
    refused: BTreeMap<(&'static str, usize), Instant>,
}

impl UnsupportedMethods {
    pub(super) fn refused(&mut self, method: &'static str, endpoint: usize, now: Instant) {
        self.refused.insert((method, endpoint), now);
    }

    pub(super) fn answered(&mut self, method: &'static str, endpoint: usize) {
        self.refused.remove(&(method, endpoint));
    }

    /// The endpoints that do not offer the method, as far as is known now.
    pub(super) fn endpoints(&self, method: &'static str, now: Instant) -> Endpoints {
        let believed = Duration::from_secs(UNSUPPORTED_SECONDS_MAX);
        let of_method = self.refused.range((method, 0)..=(method, usize::MAX));
        let recent = of_method.filter(|(_, at)| now.duration_since(**at) < believed);
        recent.fold(Endpoints::default(), |endpoints, ((_, endpoint), _)| endpoints.with(*endpoint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_counts_for_one_endpoint_and_one_method_and_for_a_while() {
        let now = Instant::now();
        let mut methods = UnsupportedMethods::default();
        methods.refused("trace_transaction", 1, now);
        assert_eq!(methods.endpoints("trace_transaction", now), Endpoints::default().with(1));
        assert_eq!(methods.endpoints("debug_traceTransaction", now), Endpoints::default());
        let later = now + Duration::from_secs(UNSUPPORTED_SECONDS_MAX);
        assert_eq!(methods.endpoints("trace_transaction", later), Endpoints::default(), "it is asked again");
        methods.answered("trace_transaction", 1);
        assert_eq!(methods.endpoints("trace_transaction", now), Endpoints::default());
    }
}
