//! Prometheus metrics of the service. Nothing is recorded unless `TAXON_METRICS_LISTEN` is set. The names are in `table`; the rest of the
//! service calls the small functions here, which cache metric handles, so that a cached answer costs an atomic or two. It is the lowest
//! module: it knows neither the store nor an interface.

mod process;
mod table;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use ::metrics::{Counter, Gauge, Histogram, Unit};
use anyhow::Context;
use engine::Classification;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

pub(crate) use process::descriptors_max;
pub(crate) use table::{MetricKind, MetricRow, TABLE};

/// The label of a request that matched no route.
const NO_ROUTE: &str = "none";
/// The label of a method that no route accepts.
const OTHER_METHOD: &str = "other";
const WEBHOOK_OUTCOMES: [&str; 7] =
    ["delivered", "refused", "redirected", "gone", "timed_out", "unreachable", "forbidden"];
const FLEET_BATCHES: [&str; 4] = ["answered", "repeated", "returned", "poisoned"];
const FLEET_ROWS: [&str; 3] = ["answered", "dead", "rest"];
const CACHES: [&str; 3] = ["verdicts", "facts", "tokens"];

static RECORDED: OnceLock<MetricHandles> = OnceLock::new();

/// Handles that every request needs, looked up once.
struct MetricHandles {
    text: PrometheusHandle,
    routes: RwLock<HashMap<Box<str>, Arc<RouteMetrics>>>,
    /// By chain.
    read: RwLock<HashMap<Box<str>, Readings>>,
    review: Counter,
    confidence: Histogram,
    turn: Histogram,
    turn_failures: Counter,
    turns_waiting: Gauge,
}

/// By category and treatment.
type Readings = HashMap<(&'static str, &'static str), Counter>;

struct RouteMetrics {
    name: Box<str>,
    duration: Histogram,
    /// By method and status.
    answers: RwLock<Vec<((&'static str, u16), Counter)>>,
}

/// Must be called before anything is recorded: a counter handle taken earlier records nothing. The codes are those that a transaction can
/// fail with.
pub(crate) fn install(item_codes: impl Iterator<Item = &'static str>) -> anyhow::Result<()> {
    let mut builder = PrometheusBuilder::new();
    for row in TABLE {
        if let MetricKind::Histogram(buckets) = row.kind {
            builder = builder.set_buckets_for_metric(Matcher::Full(row.name.to_owned()), buckets)?;
        }
    }
    let text = builder.install_recorder().context("metrics cannot be recorded")?;
    for row in TABLE {
        match row.kind {
            MetricKind::Counter => ::metrics::describe_counter!(row.name, Unit::Count, row.about),
            MetricKind::Gauge => ::metrics::describe_gauge!(row.name, Unit::Count, row.about),
            MetricKind::Histogram(_) => ::metrics::describe_histogram!(row.name, Unit::Count, row.about),
        }
    }
    let recorded = MetricHandles {
        text,
        routes: RwLock::default(),
        read: RwLock::default(),
        review: ::metrics::counter!(table::REVIEW),
        confidence: ::metrics::histogram!(table::SURE),
        turn: ::metrics::histogram!(table::TURN),
        turn_failures: ::metrics::counter!(table::TURN_FAILURES),
        turns_waiting: ::metrics::gauge!(table::TURNS_WAITING),
    };
    register_at_zero(item_codes);
    // A second recorder is refused above.
    let _ = RECORDED.set(recorded);
    Ok(())
}

/// Registers at zero whatever can be counted, so that a rate is right from the first event.
fn register_at_zero(item_codes: impl Iterator<Item = &'static str>) {
    for code in item_codes {
        ::metrics::counter!(table::ITEM_ERRORS, "code" => code).absolute(0);
    }
    for outcome in WEBHOOK_OUTCOMES {
        ::metrics::counter!(table::WEBHOOK_ATTEMPTS, "outcome" => outcome).absolute(0);
    }
    ::metrics::counter!(table::WEBHOOKS_GIVEN_UP).absolute(0);
    for outcome in FLEET_BATCHES {
        ::metrics::counter!(table::FLEET_BATCHES, "outcome" => outcome).absolute(0);
    }
    for outcome in FLEET_ROWS {
        ::metrics::counter!(table::FLEET_ROWS, "outcome" => outcome).absolute(0);
    }
    let _ = ::metrics::histogram!(table::FLEET_SECONDS);
    ::metrics::gauge!(table::FLEET_IN_HAND).set(0.0);
    ::metrics::gauge!(table::FLEET_PENDING).set(0.0);
    ::metrics::counter!(table::FLEET_PUBLISH_WAITS).absolute(0);
    for cache in CACHES {
        ::metrics::counter!("taxon_cache_hits_total", "cache" => cache).absolute(0);
        ::metrics::counter!("taxon_cache_misses_total", "cache" => cache).absolute(0);
        ::metrics::gauge!("taxon_cache_bytes", "cache" => cache).set(0.0);
        ::metrics::gauge!("taxon_cache_entries", "cache" => cache).set(0.0);
    }
}

/// Which program this is, and which chains it serves.
pub(crate) fn describe(engine: &str, chains: &[String]) {
    let (version, rules) = engine.split_once('+').unwrap_or((engine, ""));
    ::metrics::gauge!(table::BUILD, "version" => version.to_owned(), "rules" => rules.to_owned()).set(1.0);
    for chain in chains {
        ::metrics::counter!("taxon_upstream_requests_total", "chain" => chain.clone(), "outcome" => "ok").absolute(0);
        ::metrics::gauge!("taxon_upstream_queue_calls", "chain" => chain.clone()).increment(0.0);
        ::metrics::gauge!("taxon_upstream_breakers_open", "chain" => chain.clone()).increment(0.0);
        // A metric is exported only after its first sample or registration.
        let _ = ::metrics::histogram!("taxon_upstream_request_duration_seconds", "chain" => chain.clone());
    }
}

/// One answer. The route is the template that matched, never what the caller wrote.
pub(crate) fn request(method: &str, route: Option<&str>, status: u16, took: Duration) {
    let Some(recorded) = RECORDED.get() else { return };
    let route = recorded.route(route.unwrap_or(NO_ROUTE));
    route.duration.record(took);
    route.answer(method_name(method), status).increment(1);
}

/// A transaction that was classified.
pub(crate) fn classified(row: &Classification) {
    if let Some(recorded) = RECORDED.get() {
        recorded.classified(row);
    }
}

/// Transactions that were not, and why.
pub(crate) fn items_failed(code: &'static str, count: usize) {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    ::metrics::counter!(table::ITEM_ERRORS, "code" => code).increment(count);
}

/// An attempt to deliver a webhook; the outcome is one of ours.
pub(crate) fn webhook_tried(outcome: &'static str) {
    ::metrics::counter!(table::WEBHOOK_ATTEMPTS, "outcome" => outcome).increment(1);
}

pub(crate) fn webhook_given_up() {
    ::metrics::counter!(table::WEBHOOKS_GIVEN_UP).increment(1);
}

/// A batch of a fleet that this worker no longer has; the outcome is one of ours.
pub(crate) fn fleet_batch(outcome: &'static str, took: Duration) {
    ::metrics::counter!(table::FLEET_BATCHES, "outcome" => outcome).increment(1);
    ::metrics::histogram!(table::FLEET_SECONDS).record(took);
}

/// Transactions of a batch.
pub(crate) fn fleet_rows(outcome: &'static str, count: usize) {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    ::metrics::counter!(table::FLEET_ROWS, "outcome" => outcome).increment(count);
}

/// One batch more in hand, or one less.
pub(crate) fn fleet_in_hand(change: f64) {
    ::metrics::gauge!(table::FLEET_IN_HAND).increment(change);
}

pub(crate) fn fleet_pending(count: u64) {
    ::metrics::gauge!(table::FLEET_PENDING).set(gauge_value(count));
}

/// A stream did not take a message at once.
pub(crate) fn fleet_publish_waited() {
    ::metrics::counter!(table::FLEET_PUBLISH_WAITS).increment(1);
}

/// Gauges that are measured at each scrape.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sampled {
    pub(crate) calls_in_flight: usize,
    pub(crate) history_waiting: usize,
    /// `None` without a billing rail, and when the database does not answer in time.
    pub(crate) outbox_waiting: Option<u64>,
    pub(crate) log_lines_lost: u64,
}

/// Everything, as Prometheus reads it.
pub(crate) fn text(sampled: Sampled) -> String {
    let count = |count: usize| gauge_value(u64::try_from(count).unwrap_or(u64::MAX));
    ::metrics::gauge!(table::CALLS).set(count(sampled.calls_in_flight));
    ::metrics::gauge!(table::HISTORY_WAITING).set(count(sampled.history_waiting));
    ::metrics::counter!(table::LOG_LOST).absolute(sampled.log_lines_lost);
    if let Some(waiting) = sampled.outbox_waiting {
        ::metrics::gauge!(table::OUTBOX_WAITING).set(gauge_value(waiting));
    }
    let recorded = RECORDED.get().map(|recorded| recorded.text.render()).unwrap_or_default();
    recorded + &process::text()
}

/// Samples of histograms are kept one by one until they are gathered.
pub(crate) fn gather() {
    if let Some(recorded) = RECORDED.get() {
        recorded.text.run_upkeep();
    }
}

/// A figure for a gauge, exact up to 2^53: far more bytes than a machine has.
pub(crate) fn gauge_value(count: u64) -> f64 {
    const PER_HIGH: f64 = 4_294_967_296.0;
    let half = |part: u64| f64::from(u32::try_from(part & u64::from(u32::MAX)).unwrap_or(u32::MAX));
    half(count >> 32) * PER_HIGH + half(count)
}

/// Times one ledger transaction, until this is dropped.
#[derive(Debug)]
pub(crate) struct Turning(Option<Instant>);

pub(crate) fn turning() -> Turning {
    let Some(recorded) = RECORDED.get() else { return Turning(None) };
    recorded.turns_waiting.increment(1.0);
    Turning(Some(Instant::now()))
}

impl Turning {
    pub(crate) fn failed(&self) {
        if let Some(recorded) = RECORDED.get() {
            recorded.turn_failures.increment(1);
        }
    }
}

impl Drop for Turning {
    fn drop(&mut self) {
        if let (Some(started), Some(recorded)) = (self.0, RECORDED.get()) {
            recorded.turns_waiting.decrement(1.0);
            recorded.turn.record(started.elapsed());
        }
    }
}

impl MetricHandles {
    fn route(&self, name: &str) -> Arc<RouteMetrics> {
        if let Some(route) = self.routes.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Arc::clone(route);
        }
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        let route = routes.entry(name.into()).or_insert_with(|| {
            let duration = ::metrics::histogram!(table::HTTP_SECONDS, "route" => name.to_owned());
            Arc::new(RouteMetrics { name: name.into(), duration, answers: RwLock::default() })
        });
        Arc::clone(route)
    }

    fn classified(&self, row: &Classification) {
        let chain = row.chain.as_deref().unwrap_or_default();
        let reading = (row.category.name(), row.treatment.name());
        self.confidence.record(f64::from(row.confidence));
        if row.needs_review {
            self.review.increment(1);
        }
        let known = self.read.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(counter) = known.get(chain).and_then(|readings| readings.get(&reading)) {
            return counter.increment(1);
        }
        drop(known);
        let mut known = self.read.write().unwrap_or_else(PoisonError::into_inner);
        let counter = known.entry(chain.into()).or_default().entry(reading).or_insert_with(|| {
            let (category, treatment) = reading;
            ::metrics::counter!(table::READ, "chain" => chain.to_owned(), "category" => category, "treatment" => treatment)
        });
        counter.increment(1);
    }
}

impl RouteMetrics {
    fn answer(&self, method: &'static str, status: u16) -> Counter {
        let sought = (method, status);
        let known = self.answers.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, counter)) = known.iter().find(|(key, _)| *key == sought) {
            return counter.clone();
        }
        drop(known);
        let counter = ::metrics::counter!(
            table::HTTP_REQUESTS, "method" => method, "route" => self.name.to_string(), "status" => status.to_string()
        );
        self.answers.write().unwrap_or_else(PoisonError::into_inner).push((sought, counter.clone()));
        counter
    }
}

fn method_name(method: &str) -> &'static str {
    let known = ["GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"];
    known.into_iter().find(|name| *name == method).unwrap_or(OTHER_METHOD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_of_more_than_4_gib_is_told_as_large_as_it_is() {
        let told = [0, 1, u64::from(u32::MAX), 5 << 30, 1 << 53].map(gauge_value);
        assert_eq!(told, [0.0, 1.0, 4_294_967_295.0, 5_368_709_120.0, 9_007_199_254_740_992.0]);
    }
}
