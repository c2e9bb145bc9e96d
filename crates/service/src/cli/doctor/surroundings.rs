//! Checks of what surrounds the service: the database, the clock, and where it listens.

use std::net::SocketAddr;

use chains::ExplorerFault;
use chains::probe::explorer;
use engine::Family;
use serde_json::{Value, json};

use super::Todo;
use super::nodes::{ProbedNode, span};
use crate::app::{self, Demo};
use crate::config::Config;
use crate::store::{Database, POSTGRES_VERSION_MIN, inspect};

/// Periods, rate windows and the age of blocks depend on the clock.
const CLOCK_SECONDS_MAX: i64 = 5;
/// The ledger grows by some hundred bytes a classification, and a full disk refuses them all.
const FREE_BYTES_MIN: u64 = 1024 * 1024 * 1024;
const MEBIBYTE: u64 = 1024 * 1024;
/// A ledger transaction takes one round trip or more, and an answer waits for two transactions.
const DATABASE_MILLIS_MAX: u128 = 200;

pub(super) const HEADER: [&str; 4] = ["PART", "STATE", "WHAT IS THERE", "WHAT TO DO"];

pub(super) struct CheckedPart {
    name: &'static str,
    found: String,
    pub(super) todo: Todo,
}

impl CheckedPart {
    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        self.todo.rows(vec![self.name.to_owned(), self.todo.state().name().to_owned(), self.found.clone()])
    }

    pub(super) fn json(&self) -> Value {
        json!({ "part": self.name, "state": self.todo.state(), "found": self.found, "todo": self.todo.texts() })
    }
}

pub(super) async fn look(config: &Config, nodes: &[ProbedNode]) -> Vec<CheckedPart> {
    let (database, database_ahead_millis) = database(config).await;
    let parts =
        [database, clock(nodes, database_ahead_millis), listeners(config), proxies(config), upstreams(config, nodes)];
    parts.into_iter().chain(explorers(config).await).collect()
}

/// The database, and how far its clock is ahead of ours.
async fn database(config: &Config) -> (CheckedPart, Option<i64>) {
    let mut todo = Todo::default();
    let engine = match &config.database {
        Database::Sqlite(_) => "SQLite",
        Database::Postgres(_) => "PostgreSQL",
    };
    let seen = match inspect(&config.database).await {
        Ok(seen) => seen,
        Err(error) => {
            todo.broken(
                "Check TAXON_DATABASE_URL or TAXON_DATA_DIR, and that this user may read and write there.".to_owned(),
            );
            return (CheckedPart { name: "database", found: format!("{engine}: {error}"), todo }, None);
        }
    };
    let millis = seen.latency.as_millis();
    let mut found = match (seen.is_there, seen.version) {
        (false, _) => format!("{engine}, not there yet: the first start makes it"),
        (true, version) => format!("{engine}, version {version} of {}, {millis} ms", seen.known),
    };
    if seen.is_there && seen.version < seen.known {
        todo.weak("It is not up to date: run `taxon migrate`, or start the service, which does it.".to_owned());
    }
    if seen.version > seen.known {
        todo.broken("A newer taxon has written it: start that one again.".to_owned());
    }
    if seen.server.is_some_and(|version| version < POSTGRES_VERSION_MIN) {
        todo.broken("PostgreSQL 15 or later is needed: upgrade it.".to_owned());
    }
    if millis > DATABASE_MILLIS_MAX {
        todo.weak(
            "It is slow, and every answer waits for it twice: give it a faster disk, or move it nearer.".to_owned(),
        );
    }
    if let Some(free) = seen.free_bytes {
        found.push_str(&format!(", {} MiB free", free / MEBIBYTE));
        if free < FREE_BYTES_MIN {
            todo.broken("The disk is nearly full: make room, or set TAXON_DATA_DIR to another.".to_owned());
        }
    }
    (CheckedPart { name: "database", found, todo }, seen.clock_ahead_millis)
}

/// Those that the operator named, by their chains.
async fn explorers(config: &Config) -> Option<CheckedPart> {
    let registry = app::registry(config, Demo::Off).ok().filter(|_| !config.explorers.is_empty())?;
    let mut todo = Todo::default();
    for (slug, url) in &config.explorers {
        let variable = app::explorer_variable(slug);
        let Some(chain) = registry.find(slug) else {
            todo.broken(format!("`{slug}` is no known chain: mend the name of {variable}."));
            continue;
        };
        if chain.family != Family::Evm {
            todo.broken(format!("{} needs no explorer: remove {variable}.", chain.name));
            continue;
        }
        let Err(fault) = explorer(chain, url).await else { continue };
        let what = match fault {
            ExplorerFault::InvalidAddress => "is no http or https address: mend it in",
            ExplorerFault::Unreachable => "does not answer: check the address in",
            ExplorerFault::Timeout => "does not answer in time: wait for it, or name another in",
            ExplorerFault::Forbidden => "wants a key, or another one: check the address in",
            ExplorerFault::Limited => {
                "refuses for its rate limit: set TAXON_EXPLORERS_PER_SECOND lower, or use another key in"
            }
            ExplorerFault::UnknownAction | ExplorerFault::Unreadable => {
                "does not answer in the form of Etherscan: check the path in"
            }
        };
        todo.broken(format!("The explorer of {} {what} {variable}.", chain.name));
    }
    let chains: Vec<&str> = config.explorers.keys().map(String::as_str).collect();
    Some(CheckedPart { name: "explorers", found: chains.join(", "), todo })
}

/// It cannot be known whose clock is wrong, only that ours differs from the database's and from most nodes'.
fn clock(nodes: &[ProbedNode], database_ahead_millis: Option<i64>) -> CheckedPart {
    let seen = || nodes.iter().filter_map(|node| node.seen.as_ref().ok());
    let mut ahead: Vec<i64> = seen().filter_map(|seen| seen.clock_ahead_seconds).collect();
    ahead.sort_unstable();
    let by_nodes = ahead.get(ahead.len() / 2).copied();
    // A head from the future means that our clock is behind: no node makes a block early by more than a moment.
    let by_heads = seen().filter_map(|seen| seen.head?.age_seconds).min().filter(|age| *age < 0).map(|age| -age);
    let by_database = database_ahead_millis.map(|millis| millis / 1000);
    let told = [("the nodes' clocks", by_nodes), ("the database's clock", by_database), ("the newest block", by_heads)];
    let mut todo = Todo::default();
    let mut found = Vec::new();
    for (whose, ahead) in told {
        let Some(ahead) = ahead else { continue };
        let side = if ahead > 0 { "behind" } else { "ahead of" };
        let apart = ahead.saturating_abs();
        found.push(if apart <= 1 { format!("with {whose}") } else { format!("{} {side} {whose}", span(apart)) });
        if apart > CLOCK_SECONDS_MAX {
            todo.broken(format!("It is {} {side} {whose}: let NTP keep the time here and there.", span(apart)));
        }
    }
    if found.is_empty() {
        found.push("nothing to hold it against".to_owned());
    }
    CheckedPart { name: "clock", found: found.join(", "), todo }
}

fn listeners(config: &Config) -> CheckedPart {
    let own = [("agents", "with the rest", config.mcp.listen), ("metrics", "none", config.metrics_listen)];
    let mut found = vec![config.listen.to_string()];
    let mut todo = Todo::default();
    let mut taken: Vec<SocketAddr> = vec![config.listen];
    for (name, otherwise, listen) in own {
        found.push(format!("{name} {}", listen.map_or(otherwise.to_owned(), |listen| listen.to_string())));
        let Some(listen) = listen else { continue };
        if taken.iter().any(|other| other.port() != 0 && *other == listen) {
            todo.broken(format!("Two listeners share {listen}: give each its own port."));
        }
        taken.push(listen);
    }
    CheckedPart { name: "listen", found: found.join(", "), todo }
}

fn proxies(config: &Config) -> CheckedPart {
    let mut todo = Todo::default();
    if config.trusted_proxies.iter().any(|network| network.prefix_len() == 0) {
        todo.broken(
            "Everybody is trusted to name any address: name only your proxies in TAXON_TRUSTED_PROXIES.".to_owned(),
        );
    }
    let all: Vec<String> = config.trusted_proxies.iter().map(ToString::to_string).collect();
    let found =
        if all.is_empty() { "none: callers have the address of their connection".to_owned() } else { all.join(", ") };
    CheckedPart { name: "proxies", found, todo }
}

fn upstreams(config: &Config, nodes: &[ProbedNode]) -> CheckedPart {
    let mut todo = Todo::default();
    if nodes.is_empty() {
        todo.broken("No chain is served: set TAXON_RPC_<SLUG> for at least one.".to_owned());
    }
    let whose = if config.rpc.is_empty() { "public ones, shared and slow" } else { "configured" };
    CheckedPart { name: "nodes", found: format!("{}, {whose}", nodes.len()), todo }
}
