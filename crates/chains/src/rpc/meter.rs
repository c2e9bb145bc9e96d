//! What is counted of upstreams, by chain. Addresses are secrets, so no endpoint has a label.

use std::time::Duration;

use crate::error::UpstreamError;

/// One HTTP request has ended.
pub(super) fn request(chain: &str, took: Duration, failure: Option<UpstreamError>) {
    let outcome = failure.map_or("ok", |error| error.code());
    metrics::counter!("taxon_upstream_requests_total", "chain" => chain.to_owned(), "outcome" => outcome).increment(1);
    metrics::histogram!("taxon_upstream_request_duration_seconds", "chain" => chain.to_owned()).record(took);
}

/// Calls that wait to be sent.
pub(super) fn queued(chain: &str) {
    metrics::gauge!("taxon_upstream_queue_calls", "chain" => chain.to_owned()).increment(1.0);
}

pub(super) fn unqueued(chain: &str) {
    metrics::gauge!("taxon_upstream_queue_calls", "chain" => chain.to_owned()).decrement(1.0);
}

/// Endpoints that are not asked until they have passed a test.
pub(super) fn breaker_opened(chain: &str) {
    metrics::gauge!("taxon_upstream_breakers_open", "chain" => chain.to_owned()).increment(1.0);
}

pub(super) fn breaker_closed(chain: &str) {
    metrics::gauge!("taxon_upstream_breakers_open", "chain" => chain.to_owned()).decrement(1.0);
}
