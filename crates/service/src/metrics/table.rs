//! Every metric, on this one page: name, kind, labels and what it says. The docs print `TABLE`, and a test compares it with what is
//! exported. A label takes few values: routes, chains, categories and codes of ours, never anything that a caller wrote.

/// How a metric is told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum MetricKind {
    Counter,
    Gauge,
    /// With the upper bounds of its buckets.
    Histogram(&'static [f64]),
}

impl MetricKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct MetricRow {
    pub(crate) name: &'static str,
    pub(crate) kind: MetricKind,
    pub(crate) labels: &'static [&'static str],
    pub(crate) about: &'static str,
}

/// Seconds that a request takes, from a cached answer to a batch that waits for slow nodes.
const REQUEST_SECONDS: &[f64] =
    &[0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
/// Seconds of one ledger transaction: most of it is a flush to disk, or a round trip.
const TURN_SECONDS: &[f64] = &[0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];
const UPSTREAM_SECONDS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0];
/// Seconds of a batch of a fleet, from facts that are cached to nodes that are slow.
const BATCH_SECONDS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0];
/// The bands of confidence.
const CONFIDENCE: &[f64] = &[0.0, 60.0, 70.0, 80.0, 90.0, 95.0, 100.0];

pub(super) const HTTP_REQUESTS: &str = "taxon_http_requests_total";
pub(super) const HTTP_SECONDS: &str = "taxon_http_request_duration_seconds";
pub(super) const CALLS: &str = "taxon_calls_in_flight";
pub(super) const READ: &str = "taxon_classifications_total";
pub(super) const REVIEW: &str = "taxon_classifications_review_total";
pub(super) const SURE: &str = "taxon_classification_confidence";
pub(super) const ITEM_ERRORS: &str = "taxon_item_errors_total";
pub(super) const TURN: &str = "taxon_ledger_turn_duration_seconds";
pub(super) const TURN_FAILURES: &str = "taxon_ledger_failures_total";
pub(super) const TURNS_WAITING: &str = "taxon_ledger_waiting";
pub(super) const HISTORY_WAITING: &str = "taxon_history_waiting";
pub(super) const OUTBOX_WAITING: &str = "taxon_outbox_waiting";
pub(super) const WEBHOOK_ATTEMPTS: &str = "taxon_webhook_attempts_total";
pub(super) const WEBHOOKS_GIVEN_UP: &str = "taxon_webhooks_given_up_total";
pub(super) const LOG_LOST: &str = "taxon_log_lines_lost_total";
pub(super) const FLEET_BATCHES: &str = "taxon_fleet_batches_total";
pub(super) const FLEET_ROWS: &str = "taxon_fleet_rows_total";
pub(super) const FLEET_SECONDS: &str = "taxon_fleet_batch_seconds";
pub(super) const FLEET_IN_HAND: &str = "taxon_fleet_in_hand";
pub(super) const FLEET_PENDING: &str = "taxon_fleet_pending";
pub(super) const FLEET_PUBLISH_WAITS: &str = "taxon_fleet_publish_waits_total";
pub(super) const BUILD: &str = "taxon_build_info";
pub(super) const PROCESS_CPU: &str = "process_cpu_seconds_total";
pub(super) const PROCESS_MEMORY: &str = "process_resident_memory_bytes";
pub(super) const PROCESS_FILES: &str = "process_open_fds";
pub(super) const PROCESS_FILES_MAX: &str = "process_max_fds";
pub(super) const PROCESS_START: &str = "process_start_time_seconds";

const fn counter(name: &'static str, labels: &'static [&'static str], about: &'static str) -> MetricRow {
    MetricRow { name, kind: MetricKind::Counter, labels, about }
}

const fn gauge(name: &'static str, labels: &'static [&'static str], about: &'static str) -> MetricRow {
    MetricRow { name, kind: MetricKind::Gauge, labels, about }
}

const fn histogram(
    name: &'static str,
    labels: &'static [&'static str],
    buckets: &'static [f64],
    about: &'static str,
) -> MetricRow {
    MetricRow { name, kind: MetricKind::Histogram(buckets), labels, about }
}

/// In the order in which a reader asks: callers, verdicts, ledger, nodes, caches, the process.
pub(crate) const TABLE: &[MetricRow] = &[
    counter(
        HTTP_REQUESTS,
        &["method", "route", "status"],
        "Answered requests; route none is a path that is not there.",
    ),
    histogram(HTTP_SECONDS, &["route"], REQUEST_SECONDS, "Seconds from a request to its answer."),
    gauge(CALLS, &[], "Calls under way, also those whose caller has gone."),
    counter(READ, &["chain", "category", "treatment"], "Transactions that were classified."),
    counter(REVIEW, &[], "Classified transactions that are flagged for review."),
    histogram(SURE, &[], CONFIDENCE, "Confidence of classified transactions, 0 to 100."),
    counter(ITEM_ERRORS, &["code"], "Transactions that were not classified, by error code."),
    histogram(TURN, &[], TURN_SECONDS, "Seconds of one turn at the ledger, its wait included."),
    counter(TURN_FAILURES, &[], "Turns at the ledger that failed."),
    gauge(TURNS_WAITING, &[], "Turns at the ledger that have not come to their end."),
    gauge(HISTORY_WAITING, &[], "Readings that wait to be written for the dashboard."),
    gauge(OUTBOX_WAITING, &[], "Events that wait for the billing rail, of all instances; only with a sink."),
    counter(
        WEBHOOK_ATTEMPTS,
        &["outcome"],
        "Attempts to deliver a webhook; outcome is delivered, refused, redirected, gone, timed_out, unreachable or forbidden.",
    ),
    counter(WEBHOOKS_GIVEN_UP, &[], "Webhooks that were given up after three days or because their receiver is gone."),
    counter(
        "taxon_upstream_requests_total",
        &["chain", "outcome"],
        "HTTP requests to nodes; outcome is ok or an error code.",
    ),
    histogram(
        "taxon_upstream_request_duration_seconds",
        &["chain"],
        UPSTREAM_SECONDS,
        "Seconds of one HTTP request to a node.",
    ),
    gauge("taxon_upstream_queue_calls", &["chain"], "Calls that wait to be sent to a node."),
    gauge("taxon_upstream_breakers_open", &["chain"], "Nodes that are left alone for now because they failed."),
    counter("taxon_cache_hits_total", &["cache"], "What was found in a cache."),
    counter("taxon_cache_misses_total", &["cache"], "What was looked for in a cache and not found."),
    gauge("taxon_cache_bytes", &["cache"], "Bytes that a cache holds in memory."),
    gauge("taxon_cache_entries", &["cache"], "Entries that a cache holds in memory."),
    counter(
        FLEET_BATCHES,
        &["outcome"],
        "Batches of a fleet that this worker had; outcome is answered, repeated, returned or poisoned.",
    ),
    counter(
        FLEET_ROWS,
        &["outcome"],
        "Transactions of those batches; outcome is answered, dead or rest, which follow later.",
    ),
    histogram(FLEET_SECONDS, &[], BATCH_SECONDS, "Seconds that a worker has a batch."),
    gauge(FLEET_IN_HAND, &[], "Batches that this worker has now."),
    gauge(FLEET_PENDING, &[], "Batches that waited in the stream when this worker took its last one."),
    counter(FLEET_PUBLISH_WAITS, &[], "Messages that a stream did not take at once: it is full, or away."),
    counter(LOG_LOST, &[], "Log lines that were thrown away because standard error did not take them."),
    gauge(BUILD, &["version", "rules"], "Always 1: the version and the digest of the rules."),
    counter(PROCESS_CPU, &[], "Seconds of processor time that the process has used."),
    gauge(PROCESS_MEMORY, &[], "Bytes of memory that are resident."),
    gauge(PROCESS_FILES, &[], "Open files and connections."),
    gauge(PROCESS_FILES_MAX, &[], "Most open files and connections that the system allows."),
    gauge(PROCESS_START, &[], "When the process began, in seconds since 1970."),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Prometheus' conventions: base units, `_total` on counters and on nothing else, names of ours under one prefix.
    #[test]
    fn names_follow_the_conventions() {
        let mut names: Vec<&str> = TABLE.iter().map(|row| row.name).collect();
        for row in TABLE {
            let is_plain = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(row.name.chars().all(is_plain), "{}", row.name);
            assert!(row.name.starts_with("taxon_") || row.name.starts_with("process_"), "{}", row.name);
            assert_eq!(row.name.ends_with("_total"), row.kind == MetricKind::Counter, "{}", row.name);
            assert!(!["_ms", "_millis", "_kb", "_percent"].iter().any(|unit| row.name.contains(unit)), "{}", row.name);
            assert!(row.about.ends_with('.') && !row.about.contains('|'), "{}", row.name);
            if let MetricKind::Histogram(buckets) = row.kind {
                assert!(buckets.is_sorted() && !buckets.is_empty(), "{}", row.name);
            }
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TABLE.len(), "each is listed once");
    }
}
