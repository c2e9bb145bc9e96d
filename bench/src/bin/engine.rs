//! What a classification costs beside parsing the JSON that it is made of, over recorded transactions, in one run.
//!
//! `cargo run --release -p taxon-bench --bin engine [FILE.jsonl]`: without a file the demo chain's recording is measured. A file
//! holds one JSON object a line with `chain_id`, `transaction`, `receipt` and `internal` (a list of `from`, `to`, `value`).

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use chains::{Registry, Tape};
use engine::evm::json::{Receipt, Transaction};
use engine::evm::trace::{CallFrame, from_call_tracer};
use engine::evm::{EvmFacts, InternalValue, Token};
use engine::{Chain, Need, Question, Rules, classify, needs};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

/// Rounds over all transactions; the median is reported, since the machine is noisy.
const ROUNDS: usize = 41;

/// One transaction as a node sent it.
struct Raw {
    chain: Arc<Chain>,
    transaction: String,
    receipt: String,
    trace: String,
}

fn parse(raw: &Raw) -> anyhow::Result<EvmFacts> {
    let transaction: Transaction = serde_json::from_str(&raw.transaction)?;
    let receipt: Receipt = serde_json::from_str(&raw.receipt)?;
    let frame: CallFrame = serde_json::from_str(&raw.trace)?;
    let (transfers, failed) = from_call_tracer(&frame);
    Ok(EvmFacts {
        chain: Arc::clone(&raw.chain),
        transaction,
        receipt,
        block: None,
        internal: InternalValue::Traced { transfers, failed },
        balances: BTreeMap::new(),
        tokens: BTreeMap::new(),
        also_on: Vec::new(),
    })
}

fn demo() -> anyhow::Result<Vec<Raw>> {
    let mut registry = Registry::embedded()?;
    registry.add(include_str!("../../../demo/chain.toml"))?;
    let chain = registry.find("demo").context("the demo chain")?;
    let tape = Tape::read(include_str!("../../../demo/evm.jsonl"))?;
    let said = |method: &str, hash: &str| {
        let params = match method {
            "debug_traceTransaction" => json!([hash, { "tracer": "callTracer" }]),
            _ => json!([hash]),
        };
        tape.answer("demo", method, &params).map(|result| result.get().to_owned()).ok()
    };
    let hashes = tape.exchanges().filter(|exchange| exchange.method == "eth_getTransactionByHash");
    let hashes = hashes.filter_map(|exchange| exchange.params.get(0)?.as_str());
    let raw = |hash: &str| {
        Some(Raw {
            chain: Arc::clone(chain),
            transaction: said("eth_getTransactionByHash", hash)?,
            receipt: said("eth_getTransactionReceipt", hash)?,
            trace: said("debug_traceTransaction", hash)?,
        })
    };
    Ok(hashes.filter_map(raw).collect())
}

#[derive(Deserialize)]
struct Line {
    chain_id: u64,
    transaction: Box<RawValue>,
    receipt: Box<RawValue>,
    internal: Option<Vec<serde_json::Value>>,
}

/// The internal transfers become calls of a trace, as a node would have sent them.
fn from_file(path: &str) -> anyhow::Result<Vec<Raw>> {
    let registry = Registry::embedded()?;
    let mut found = Vec::new();
    for text in std::fs::read_to_string(path)?.lines() {
        let Ok(line) = serde_json::from_str::<Line>(text) else { continue };
        let Some(chain) = registry.find(&line.chain_id.to_string()) else { continue };
        let call = |transfer: &serde_json::Value| {
            let wei: u128 = transfer["value"].as_str().and_then(|text| text.parse().ok()).unwrap_or_default();
            json!({ "type": "CALL", "from": transfer["from"], "to": transfer["to"], "value": format!("{wei:#x}"), "input": "0x" })
        };
        let calls: Vec<serde_json::Value> = line.internal.iter().flatten().map(call).collect();
        found.push(Raw {
            chain: Arc::clone(chain),
            transaction: line.transaction.get().to_owned(),
            receipt: line.receipt.get().to_owned(),
            trace: json!({ "type": "CALL", "calls": calls }).to_string(),
        });
    }
    Ok(found)
}

/// Every token that the engine asks for has a name, so that the whole answer is written.
fn with_tokens(mut facts: EvmFacts, question: &Question, rules: &Rules) -> EvmFacts {
    let named = Token {
        symbol: Some("TOKEN".to_owned()),
        name: Some("Token".to_owned()),
        decimals: Some(18),
        is_erc721: false,
    };
    let named = Arc::new(named);
    for need in needs(&facts, question, rules) {
        if let Need::Token(token) = need {
            facts.tokens.insert(token, Arc::clone(&named));
        }
    }
    facts
}

fn timed(work: impl Fn()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[expect(clippy::print_stdout, reason = "the figures are the output")]
fn main() -> anyhow::Result<()> {
    let raw = match std::env::args().nth(1) {
        Some(path) => from_file(&path)?,
        None => demo()?,
    };
    let loading = Instant::now();
    let rules = Rules::embedded().map_err(|faults| anyhow::anyhow!("{faults:?}"))?;
    let loaded = loading.elapsed();
    let question = Question::default();
    let facts: Vec<EvmFacts> =
        raw.iter().filter_map(|raw| parse(raw).ok()).map(|facts| with_tokens(facts, &question, &rules)).collect();
    let (mut parsing, mut classifying, mut needing) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        parsing.push(timed(|| raw.iter().for_each(|raw| drop(black_box(parse(raw).ok())))));
        classifying.push(timed(|| {
            for facts in &facts {
                let answer = classify(black_box(facts), &question, &rules).ok();
                drop(black_box(serde_json::to_vec(&answer)));
            }
        }));
        needing.push(timed(|| facts.iter().for_each(|facts| drop(black_box(needs(facts, &question, &rules))))));
    }
    let per = |total: Duration| total.div_f64(f64_of(facts.len().max(1)));
    let (parsing, classifying, needing) = (median(parsing), median(classifying), median(needing));
    let bytes: usize = raw.iter().map(|raw| raw.transaction.len() + raw.receipt.len() + raw.trace.len()).sum();
    println!(
        "{} transactions, {} bytes of JSON each on average; {} packs",
        facts.len(),
        bytes / raw.len().max(1),
        rules.packs.len()
    );
    println!("rules loaded in      {loaded:>10.1?}");
    println!("parsing the JSON     {:>10.1?} per transaction", per(parsing));
    println!("telling what it needs{:>10.1?} per transaction", per(needing));
    println!("classification       {:>10.1?} per transaction, to the finished answer", per(classifying));
    println!("ratio classification / parsing = {:.2} (goal: at most 1.5)", classifying.div_duration_f64(parsing));
    Ok(())
}

fn f64_of(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}
