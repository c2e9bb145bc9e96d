//! What the service tells a Prometheus about itself. Nothing is recorded unless `TAXON_METRICS_LISTEN` is set. The names stand in `table`;
//! the rest of the service calls the small functions here, which keep what they found, so that a cached answer pays for an atomic or two.

mod listener;
mod process;
mod table;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use ::metrics::{Counter, Gauge, Histogram, Unit};
use anyhow::Context;
use axum::http::Method;
use engine::Classification;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::app::Answer;
use crate::error::{self, ApiError, Met};
pub(crate) use listener::serve;
pub(crate) use table::{Kind, Row, TABLE};

/// The label of a request that no route took.
const NO_ROUTE: &str = "none";
/// A method that the service never takes.
const OTHER_METHOD: &str = "other";
const CACHES: [&str; 3] = ["verdicts", "facts", "tokens"];

static RECORDED: OnceLock<Recorded> = OnceLock::new();

/// What is looked up on every request, found once.
struct Recorded {
    text: PrometheusHandle,
    routes: RwLock<HashMap<Box<str>, Arc<Route>>>,
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

struct Route {
    name: Box<str>,
    duration: Histogram,
    /// By method and status.
    answers: RwLock<Vec<((&'static str, u16), Counter)>>,
}

/// Must come before anything is recorded: whatever asked for a counter earlier counts for nobody.
pub(crate) fn install() -> anyhow::Result<()> {
    let mut builder = PrometheusBuilder::new();
    for row in TABLE {
        if let Kind::Histogram(buckets) = row.kind {
            builder = builder.set_buckets_for_metric(Matcher::Full(row.name.to_owned()), buckets)?;
        }
    }
    let text = builder.install_recorder().context("metrics cannot be recorded")?;
    for row in TABLE {
        match row.kind {
            Kind::Counter => ::metrics::describe_counter!(row.name, Unit::Count, row.about),
            Kind::Gauge => ::metrics::describe_gauge!(row.name, Unit::Count, row.about),
            Kind::Histogram(_) => ::metrics::describe_histogram!(row.name, Unit::Count, row.about),
        }
    }
    let recorded = Recorded {
        text,
        routes: RwLock::default(),
        read: RwLock::default(),
        review: ::metrics::counter!(table::REVIEW),
        confidence: ::metrics::histogram!(table::SURE),
        turn: ::metrics::histogram!(table::TURN),
        turn_failures: ::metrics::counter!(table::TURN_FAILURES),
        turns_waiting: ::metrics::gauge!(table::TURNS_WAITING),
    };
    begin_at_nothing();
    // A second recorder is refused above.
    let _ = RECORDED.set(recorded);
    Ok(())
}

/// What can be counted is there from the start, so that a rate knows where it began.
fn begin_at_nothing() {
    for code in error::TABLE.iter().filter(|row| row.met != Met::Call).map(|row| row.code) {
        ::metrics::counter!(table::ITEM_ERRORS, "code" => code).absolute(0);
    }
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
        // It appears with its first sample or its first mention.
        let _ = ::metrics::histogram!("taxon_upstream_request_duration_seconds", "chain" => chain.clone());
    }
}

/// One answer. The route is the template that matched, never what the caller wrote.
pub(crate) fn request(method: &Method, route: Option<&str>, status: u16, took: Duration) {
    let Some(recorded) = RECORDED.get() else { return };
    let route = recorded.route(route.unwrap_or(NO_ROUTE));
    route.duration.record(took);
    route.answer(method_name(method), status).increment(1);
}

/// What a call came to, item by item.
pub(crate) fn items(answers: &[Answer]) {
    let Some(recorded) = RECORDED.get() else { return };
    for answer in answers {
        match answer {
            Ok(row) => recorded.classified(row),
            Err(error) => ::metrics::counter!(table::ITEM_ERRORS, "code" => error.item_code()).increment(1),
        }
    }
}

/// A call that failed as a whole.
pub(crate) fn items_refused(error: &ApiError, count: usize) {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    ::metrics::counter!(table::ITEM_ERRORS, "code" => error.item_code()).increment(count);
}

/// One turn at the ledger, from now until this is dropped.
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

impl Recorded {
    fn route(&self, name: &str) -> Arc<Route> {
        if let Some(route) = self.routes.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Arc::clone(route);
        }
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        let route = routes.entry(name.into()).or_insert_with(|| {
            let duration = ::metrics::histogram!(table::HTTP_SECONDS, "route" => name.to_owned());
            Arc::new(Route { name: name.into(), duration, answers: RwLock::default() })
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

impl Route {
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

fn method_name(method: &Method) -> &'static str {
    let known = ["GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"];
    known.into_iter().find(|name| *name == method.as_str()).unwrap_or(OTHER_METHOD)
}
