//! The nodes: all are asked at once, and each answer is judged by what the service needs of a node.

use std::sync::Arc;

use anyhow::bail;
use chains::probe::{Depth, EndpointReport, Evm, Failure, FamilySeen, Solana, probe};
use engine::Chain;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::Todo;
use crate::app::{self, Demo};
use crate::config::Config;

/// A node whose head is older than this lags: the slowest chains make a block every few seconds.
const HEAD_AGE_SECONDS_MAX: i64 = 300;
/// Most of the time of a cold answer is spent waiting for nodes, over several round trips.
const LATENCY_MILLIS_MAX: u64 = 1_000;
/// Solana's main cluster, as `getGenesisHash` tells it.
const SOLANA_GENESIS: &str = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d";

pub(super) const HEADER: [&str; 10] =
    ["NODE", "STATE", "CHAIN ID", "HEAD", "AGE", "LATENCY", "HISTORY", "TRACES", "BATCHES", "WHAT TO DO"];

pub(super) struct ProbedNode {
    chain: Arc<Chain>,
    /// Its place in the order of preference, from 1.
    place: usize,
    pub(super) seen: Result<EndpointReport, Failure>,
    pub(super) todo: Todo,
}

pub(super) async fn look(config: &Config) -> anyhow::Result<Vec<ProbedNode>> {
    let registry = app::registry(config, Demo::Off)?;
    if let Some(slug) = config.rpc.keys().find(|slug| registry.find(slug).is_none()) {
        bail!("an upstream is configured for `{slug}`, which is no known chain");
    }
    let asked = registry.chains().iter().flat_map(|chain| {
        let urls = app::endpoints(config, &registry, chain).iter().enumerate();
        let has_explorer = app::explorer(config, &registry, chain).is_some();
        urls.map(move |(at, url)| look_at(chain, at.saturating_add(1), url, has_explorer))
    });
    Ok(join_all(asked).await)
}

async fn look_at(chain: &Arc<Chain>, place: usize, url: &str, has_explorer: bool) -> ProbedNode {
    let seen = probe(chain, url).await;
    let mut todo = Todo::default();
    match &seen {
        Ok(seen) => judge(chain, seen, has_explorer, &mut todo),
        Err(failure) => todo.broken(remedy(*failure, &variable(chain))),
    }
    ProbedNode { chain: Arc::clone(chain), place, seen, todo }
}

/// Where the operator names a chain's nodes.
fn variable(chain: &Chain) -> String {
    format!("TAXON_RPC_{}", chain.slug.to_uppercase().replace('-', "_"))
}

fn remedy(failure: Failure, variable: &str) -> String {
    match failure {
        Failure::InvalidAddress => format!("It is no http or https address: mend it in {variable}."),
        Failure::Unreachable => {
            format!("Nobody answers: check the address in {variable}, and that this machine can reach it.")
        }
        Failure::Timeout => {
            format!("It does not answer in time: wait for the provider, or name another in {variable}.")
        }
        Failure::RateLimited => {
            format!("It refuses for its rate limit: use a plan that allows more, or name a further node in {variable}.")
        }
        Failure::Forbidden => format!("It wants another credential: check the one in {variable}."),
        Failure::Status(status) => {
            format!("It answers with status {status}: check the path in {variable}, and ask the provider.")
        }
        Failure::NotJsonRpc => format!("What answers is no JSON-RPC node: check the path in {variable}."),
        Failure::Refused => {
            format!("It refuses the simplest call: check what the plan of the node in {variable} allows.")
        }
    }
}

fn judge(chain: &Chain, seen: &EndpointReport, has_explorer: bool, todo: &mut Todo) {
    let variable = variable(chain);
    match &seen.family {
        FamilySeen::Evm(evm) => judge_evm(chain, evm, has_explorer, todo),
        FamilySeen::Solana(solana) => judge_solana(chain, solana, &variable, todo),
    }
    match seen.head.map(|head| head.age_seconds) {
        Some(Some(age)) if age > HEAD_AGE_SECONDS_MAX => {
            todo.broken(format!("It is {} behind: wait until it has caught up, or name another first.", span(age)));
        }
        Some(_) => {}
        None => todo.broken(format!("It does not tell its newest block: name another in {variable}.")),
    }
    if seen.batch_calls == 1 {
        todo.weak(
            "It takes no batches, so every call is a request of its own: name one that takes them first.".to_owned(),
        );
    }
    if seen.latency_millis > LATENCY_MILLIS_MAX {
        todo.weak("It is slow: name one that is nearer or faster first.".to_owned());
    }
}

fn judge_evm(chain: &Chain, evm: &Evm, has_explorer: bool, todo: &mut Todo) {
    let variable = variable(chain);
    if evm.chain_id.is_none() || evm.chain_id != chain.chain_id {
        let other = evm.chain_id.map_or("no chain that it names".to_owned(), |id| format!("chain {id}"));
        let wanted = chain.chain_id.map_or(String::new(), |id| format!(" (chain {id})"));
        todo.broken(format!("It serves {other}: name a node of {}{wanted} in {variable}.", chain.name));
    }
    if let Some(kept) = shortest(evm, has_transactions) {
        todo.weak(format!(
            "It keeps {kept}: older transactions cannot be read. Name one with the whole history in {variable}."
        ));
    }
    let has_traces = evm.debug_traces || evm.parity_traces;
    if !has_traces {
        let inside = match (evm.simulates, has_explorer) {
            (true, _) => {
                "coin that contracts pass on is seen only where a second run (eth_simulateV1) does all that the receipt says"
            }
            (false, true) => "coin that contracts pass on is seen only by the explorer, where balances bear it out",
            (false, false) => "coin that contracts pass on is left to review",
        };
        todo.weak(format!(
            "It has no traces, so {inside}: name one with debug_traceTransaction or trace_transaction in {variable}."
        ));
    }
    // Without traces and historical balances, internal transfers cannot be seen.
    let explains = |depth: &Depth| depth.has_trace == Some(true) || depth.has_state;
    if has_traces && let Some(kept) = shortest(evm, explains) {
        todo.weak(format!("It has traces and balances of {kept} only: name an archive node for older transactions."));
    }
}

fn judge_solana(chain: &Chain, solana: &Solana, variable: &str, todo: &mut Todo) {
    if chain.slug == "solana" && solana.genesis.as_deref().is_some_and(|genesis| genesis != SOLANA_GENESIS) {
        todo.broken(format!("It serves another cluster: name a node of the main one in {variable}."));
    }
    if !solana.is_healthy {
        todo.broken("It calls itself unhealthy: wait until it has caught up, or name another first.".to_owned());
    }
    match solana.first_slot {
        Some(0 | 1) => {}
        Some(slot) => todo.weak(format!(
            "Its history begins at slot {slot}: older transactions cannot be read. Name one with the whole of it."
        )),
        None => {
            todo.weak("It does not tell how far back it goes: make sure that it keeps all transactions.".to_owned())
        }
    }
    if !solana.has_assets {
        todo.weak("It has no getAssetBatch, so some assets have no name: name one that has it.".to_owned());
    }
}

fn has_transactions(depth: &Depth) -> bool {
    depth.has_block && depth.has_receipt != Some(false)
}

/// How far back something goes, in words; `None` where it goes all the way.
fn shortest(evm: &Evm, has: impl Fn(&Depth) -> bool) -> Option<String> {
    let kept = evm.history.iter().take_while(|depth| has(depth));
    let count = kept.clone().count();
    (count < evm.history.len()).then(|| match kept.last() {
        Some(depth) => format!("about the last {} blocks", depth.blocks_behind),
        None => "only the newest blocks".to_owned(),
    })
}

impl ProbedNode {
    fn name(&self) -> String {
        format!("{} {}", self.chain.slug, self.place)
    }

    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let mut cells = vec![self.name(), self.todo.state().name().to_owned()];
        match &self.seen {
            Err(_) => cells.extend(std::iter::repeat_n(String::new(), HEADER.len().saturating_sub(3))),
            Ok(seen) => {
                let head = seen.head.map_or(String::new(), |head| head.number.to_string());
                let age = seen.head.and_then(|head| head.age_seconds).map_or(String::new(), age);
                let (id, history, traces) = family_cells(&seen.family);
                let batches = if seen.batch_calls > 1 { seen.batch_calls.to_string() } else { "no".to_owned() };
                cells.extend([id, head, age, format!("{} ms", seen.latency_millis), history, traces, batches]);
            }
        }
        self.todo.rows(cells)
    }

    pub(super) fn json(&self) -> Value {
        let (seen, failure) = match &self.seen {
            Ok(seen) => (Some(seen), None),
            Err(failure) => (None, Some(failure)),
        };
        json!({
            "chain": self.chain.slug,
            "node": self.place,
            "state": self.todo.state(),
            "failure": failure,
            "seen": seen,
            "todo": self.todo.texts(),
        })
    }
}

/// Chain id, history and traces.
fn family_cells(family: &FamilySeen) -> (String, String, String) {
    match family {
        FamilySeen::Evm(evm) => {
            let id = evm.chain_id.map_or(String::new(), |id| id.to_string());
            let back = |has: &dyn Fn(&Depth) -> bool| {
                let kept = evm.history.iter().take_while(|depth| has(depth));
                let is_all = kept.clone().count() == evm.history.len();
                if is_all { "all".to_owned() } else { kept.last().map_or(0, |depth| depth.blocks_behind).to_string() }
            };
            let history = format!("{}, state {}", back(&has_transactions), back(&|depth| depth.has_state));
            let traces = match (evm.debug_traces, evm.parity_traces) {
                (true, true) => "debug, trace",
                (true, false) => "debug",
                (false, true) => "trace",
                (false, false) if evm.simulates => "simulates",
                (false, false) => "no",
            };
            (id, history, traces.to_owned())
        }
        FamilySeen::Solana(solana) => {
            let history = match solana.first_slot {
                Some(0 | 1) => "all".to_owned(),
                Some(slot) => format!("from slot {slot}"),
                None => String::new(),
            };
            (String::new(), history, if solana.has_assets { "assets" } else { "no assets" }.to_owned())
        }
    }
}

/// How old a head is by the clock here, which may be behind the node's.
fn age(seconds: i64) -> String {
    if seconds < 0 { format!("{} ahead", span(seconds.saturating_neg())) } else { span(seconds) }
}

/// Seconds in the largest unit that tells enough.
pub(super) fn span(seconds: i64) -> String {
    match seconds {
        ..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        172_800.. => format!("{} days", seconds / 86_400),
    }
}
