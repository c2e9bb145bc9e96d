//! What must be reached, and what else is worth telling. Programs measure; the goals are only here.

/// The rule for a figure.
#[derive(Debug, Clone, Copy)]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
    Under(f64),
}

impl Bound {
    pub fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtMost(bound) => value <= bound,
            Self::AtLeast(bound) => value >= bound,
            Self::Under(bound) => value < bound,
        }
    }

    /// How much of what is allowed was used: 1 is the goal itself, less is better.
    pub fn share(self, value: f64) -> f64 {
        match self {
            Self::AtMost(bound) | Self::Under(bound) if bound > 0.0 => (value / bound).max(0.0),
            Self::AtMost(_) | Self::Under(_) => f64::from(u8::from(value > 0.0)) * 2.0,
            Self::AtLeast(bound) => bound / value.max(f64::MIN_POSITIVE),
        }
    }

    pub fn said(self, unit: &str) -> String {
        let (word, bound) = match self {
            Self::AtMost(0.0) => return "none".to_owned(),
            Self::AtMost(bound) => ("at most", bound),
            Self::AtLeast(bound) => ("at least", bound),
            Self::Under(bound) => ("under", bound),
        };
        let space = if unit.is_empty() { "" } else { " " };
        format!("{word} {bound}{space}{unit}")
    }
}

#[derive(Debug)]
pub struct Goal {
    /// As the program prints it; with `*` at its end, as many as begin so.
    pub figure: &'static str,
    pub what: &'static str,
    pub unit: &'static str,
    pub bound: Bound,
    pub command: &'static str,
}

/// Without a goal.
#[derive(Debug)]
pub struct Fact {
    pub figure: &'static str,
    pub what: &'static str,
    pub unit: &'static str,
    pub command: &'static str,
}

const fn goal(
    figure: &'static str,
    what: &'static str,
    unit: &'static str,
    bound: Bound,
    command: &'static str,
) -> Goal {
    Goal { figure, what, unit, bound, command }
}

const fn fact(figure: &'static str, what: &'static str, unit: &'static str, command: &'static str) -> Fact {
    Fact { figure, what, unit, command }
}

pub const GOALS: &[Goal] = &[
    goal(
        "cached_ratio",
        "cached classification over HTTP, requests/s beside a bare axum server",
        "×",
        Bound::AtLeast(0.5),
        "bench/run cached",
    ),
    goal(
        "cold_batch_ms",
        "100 cold transactions, 20 ms a round trip, slowest kind",
        "ms",
        Bound::AtMost(105.0),
        "bench/run cold",
    ),
    goal("load_errors", "100 keys at the full rate: errors", "", Bound::AtMost(0.0), "bench/run load"),
    goal("load_p99_ms", "100 keys at the full rate: p99 of a call of 100", "ms", Bound::Under(500.0), "bench/run load"),
    goal("load_idle_mib", "resident memory at idle", "MiB", Bound::Under(60.0), "bench/run load"),
    goal("load_peak_mib", "resident memory under that load, at most", "MiB", Bound::Under(250.0), "bench/run load"),
    goal("soak_errors", "the same for ten minutes: errors", "", Bound::AtMost(0.0), "bench/run soak"),
    goal("soak_p99_ms", "the same for ten minutes: p99", "ms", Bound::Under(500.0), "bench/run soak"),
    goal(
        "soak_peak_mib",
        "the same for ten minutes: resident memory, at most",
        "MiB",
        Bound::Under(250.0),
        "bench/run soak",
    ),
    goal(
        "soak_growth_percent",
        "the same for ten minutes: growth of memory",
        "%",
        Bound::AtMost(5.0),
        "bench/run soak",
    ),
    goal("engine_evm_ratio", "engine beside parsing its input, EVM", "×", Bound::AtMost(1.0), "bench/run engine"),
    goal("engine_solana_ratio", "engine beside parsing its input, Solana", "×", Bound::AtMost(1.0), "bench/run engine"),
    goal("engine_linear_*", "ten times as much to read", "×", Bound::AtMost(12.0), "bench/run engine"),
    goal("ledger_sqlite_pairs", "ledger on SQLite, single calls", "/s", Bound::AtLeast(2_000.0), "bench/run ledger"),
    goal(
        "ledger_sqlite_hashes",
        "ledger on SQLite, hashes in batches",
        "/s",
        Bound::AtLeast(20_000.0),
        "bench/run ledger",
    ),
    goal(
        "bulk_cached_ratio",
        "a job of 100,000 transactions beside the same calls, facts cached",
        "×",
        Bound::AtLeast(0.6),
        "bench/run bulk",
    ),
    goal(
        "fleet_direct_ratio",
        "one worker through NATS beside the same calls of a service, nothing cached",
        "×",
        Bound::AtLeast(0.75),
        "bench/run fleet",
    ),
    goal(
        "fleet_two_ratio",
        "two workers beside one on the same processors",
        "×",
        Bound::AtLeast(0.9),
        "bench/run fleet",
    ),
    goal(
        "blocks_ratio",
        "recorded blocks read whole beside their transactions one by one",
        "×",
        Bound::AtLeast(1.5),
        "bench/run fleet",
    ),
    goal(
        "blocks_requests",
        "HTTP requests for a transaction of a block that is read whole",
        "",
        Bound::AtMost(0.03),
        "bench/run fleet",
    ),
    goal("bulk_cold_ratio", "the same, new to the service", "×", Bound::AtLeast(0.7), "bench/run bulk"),
    goal("bulk_growth_mib", "memory over a job of a million rows", "MiB", Bound::AtMost(64.0), "bench/run bulk"),
    goal(
        "review_page_ms",
        "slowest page of the review table, 50,000 open rows",
        "ms",
        Bound::AtMost(300.0),
        "bench/run review",
    ),
    goal(
        "review_page_bytes",
        "the largest of them, uncompressed",
        "bytes",
        Bound::AtMost(80_000.0),
        "bench/run review",
    ),
    goal(
        "results_page_ms",
        "slowest page of the results of a job of 100,000 rows",
        "ms",
        Bound::AtMost(300.0),
        "bench/run review",
    ),
    goal(
        "results_page_bytes",
        "the largest of them, uncompressed",
        "bytes",
        Bound::AtMost(80_000.0),
        "bench/run review",
    ),
    goal(
        "read_rows_per_second",
        "verdicts out of recorded facts, on two processors",
        "rows/s",
        Bound::AtLeast(50_000.0),
        "bench/run read",
    ),
    goal(
        "read_parquet_percent",
        "share of Parquet in that time, in and out",
        "%",
        Bound::AtMost(25.0),
        "bench/run read",
    ),
    goal("http_mcp_ratio", "a call over MCP beside the same over REST", "×", Bound::AtMost(3.0), "bench/run http"),
    goal("http_page_ms", "slowest page", "ms", Bound::AtMost(5.0), "bench/run http"),
    goal("http_page_bytes", "largest page, compressed", "bytes", Bound::AtMost(60_000.0), "bench/run http"),
];

pub const FACTS: &[Fact] = &[
    fact("cached_bare_small", "bare axum server, small JSON answer", "requests/s", "bench/run cached"),
    fact("cached_bare_large", "bare axum server, a classification's JSON", "requests/s", "bench/run cached"),
    fact("cached_requests", "cached classification with key, window and ledger", "requests/s", "bench/run cached"),
    fact("cold_evm_pinned_cold_ms", "100 cold EVM transactions, chain named, tokens unknown", "ms", "bench/run cold"),
    fact("cold_evm_pinned_warm_ms", "100 cold EVM transactions, chain named, tokens known", "ms", "bench/run cold"),
    fact(
        "cold_evm_found_cold_ms",
        "100 cold EVM transactions, chain found among 9, tokens unknown",
        "ms",
        "bench/run cold",
    ),
    fact(
        "cold_evm_found_warm_ms",
        "100 cold EVM transactions, chain found among 9, tokens known",
        "ms",
        "bench/run cold",
    ),
    fact(
        "cold_solana_pinned_cold_ms",
        "100 cold Solana transactions, chain named, mints unknown",
        "ms",
        "bench/run cold",
    ),
    fact(
        "cold_solana_pinned_warm_ms",
        "100 cold Solana transactions, chain named, mints known",
        "ms",
        "bench/run cold",
    ),
    fact("cold_evm_pinned_warm_requests", "HTTP requests upstream for 100 cold EVM transactions", "", "bench/run cold"),
    fact("cold_evm_pinned_per_second", "cold EVM throughput, 16 callers", "transactions/s", "bench/run cold"),
    fact("cold_solana_pinned_per_second", "cold Solana throughput, 16 callers", "transactions/s", "bench/run cold"),
    fact("load_calls_per_second", "100 keys at the full rate: calls of 100", "/s", "bench/run load"),
    fact("load_p50_ms", "100 keys at the full rate: median of a call", "ms", "bench/run load"),
    fact("load_max_ms", "100 keys at the full rate: slowest call", "ms", "bench/run load"),
    fact("load_cpu_service", "processors used by the service", "", "bench/run load"),
    fact("load_cpu_generator", "processors used by the load generator", "", "bench/run load"),
    fact("ledger_postgres_pairs", "ledger on PostgreSQL, single calls", "/s", "bench/run ledger"),
    fact("ledger_postgres_hashes", "ledger on PostgreSQL, hashes in batches", "/s", "bench/run ledger"),
    fact("capacity_cached_cpu_seconds", "a million cached transactions: processor time", "s", "bench/run capacity"),
    fact("capacity_cold_cpu_seconds", "a million cold transactions: processor time", "s", "bench/run capacity"),
    fact("capacity_cold_upstream_requests", "a million cold transactions: requests upstream", "", "bench/run capacity"),
    fact("capacity_sqlite_ledger_mb", "a million new transactions in the ledger on SQLite", "MB", "bench/run capacity"),
    fact(
        "capacity_postgres_ledger_mb",
        "a million new transactions in the ledger on PostgreSQL",
        "MB",
        "bench/run capacity",
    ),
    fact(
        "read_raw_rows_per_second",
        "verdicts out of facts in the nodes' own JSON, on two processors",
        "rows/s",
        "bench/run read",
    ),
    fact("read_raw_parquet_percent", "share of Parquet in that time, in and out", "%", "bench/run read"),
    fact("read_parse_us", "one row of facts to what the engine reads, one thread", "µs", "bench/run read"),
    fact("read_engine_us", "the engine on one row, one thread", "µs", "bench/run read"),
    fact(
        "capacity_sqlite_1_keys",
        "keys at the full rate on one instance, SQLite, simulated",
        "",
        "bench/run capacity",
    ),
    fact(
        "capacity_postgresql_1_keys",
        "keys at the full rate on one instance, PostgreSQL, simulated",
        "",
        "bench/run capacity",
    ),
    fact(
        "capacity_postgresql_4_keys",
        "keys at the full rate on four instances, PostgreSQL, simulated",
        "",
        "bench/run capacity",
    ),
    fact(
        "capacity_fleet_workers",
        "10^9 cold transactions a month: workers with two cores at 70 %",
        "",
        "bench/run capacity",
    ),
    fact(
        "capacity_fleet_requests_per_second",
        "10^9 cold transactions a month: HTTP requests to nodes",
        "/s",
        "bench/run capacity",
    ),
    fact(
        "capacity_fleet_calls_per_second",
        "10^9 cold transactions a month: calls in them",
        "/s",
        "bench/run capacity",
    ),
    fact(
        "capacity_fleet_gb_per_day",
        "10^9 cold transactions a month: into the streams of each server, unpacked",
        "GB/day",
        "bench/run capacity",
    ),
];
