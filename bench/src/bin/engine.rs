//! What a classification costs beside parsing the JSON that it is made of, over recorded transactions, in one run; and whether that
//! cost grows with what a transaction holds and no faster. The last lines are for programs. A goal that is missed is no error here: the
//! report tells, and has the figure to tell it with.
//!
//! `cargo run --release -p taxon-bench --bin engine [FILE.jsonl]`: without a file the demo chain's recording is measured. A file
//! holds one JSON object a line with `chain_id`, `transaction`, `receipt` and `internal` (a list of `from`, `to`, `value`), or, for
//! Solana, with `chain` and the `result` of `getTransaction`.

#[path = "engine/linear.rs"]
mod linear;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use chains::{Registry, Tape};
use engine::evm::json::{EvmTransaction, Receipt};
use engine::evm::trace::{CallFrame, from_call_tracer};
use engine::evm::{EvmFacts, InternalValue};
use engine::solana::json::SolanaTransaction;
use engine::{Account, Chain, Facts, Knowledge, Missing, Need, Question, Read, SolanaFacts, Token, read};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use linear::Shape;

/// The service's own. On the system's allocator, which this program once had, the engine takes nearly twice as long (21 to 24 µs a
/// transaction against 12), and its ratio to parsing is another on each machine: 0.91 on one, 1.05 to 1.16 on others.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Rounds over all transactions; the median is reported, since the machine is noisy.
const ROUNDS: usize = 101;
/// The same over transactions of ten thousand logs.
const LARGE_ROUNDS: usize = 15;
/// Room for a usual classification.
const ANSWER_BYTES: usize = 4 * 1024;
/// Classification to parsing.
const RATIO_MAX: f64 = 1.0;
/// A transaction ten times as large to one.
const LINEAR_MAX: f64 = 12.0;

/// One transaction as a node sent it.
#[derive(Clone)]
struct Raw {
    chain: Arc<Chain>,
    transaction: String,
    receipt: String,
    trace: String,
}

fn parse(raw: &Raw) -> anyhow::Result<EvmFacts> {
    let transaction: EvmTransaction = serde_json::from_str(&raw.transaction)?;
    let receipt: Receipt = serde_json::from_str(&raw.receipt)?;
    let frame: CallFrame = serde_json::from_str(&raw.trace)?;
    let (transfers, failed) = from_call_tracer(&frame);
    Ok(EvmFacts {
        is_hash_computed: false,
        chain: Arc::clone(&raw.chain),
        transaction,
        receipt,
        block: None,
        internal: InternalValue::Traced { transfers, failed },
        holdings: BTreeMap::new(),
        given: BTreeMap::new(),
        vouched: BTreeMap::new(),
        codes: BTreeMap::new(),
        balances: BTreeMap::new(),
        tokens: BTreeMap::new(),
        also_on: Vec::new(),
        unasked: Vec::new(),
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
fn with_tokens(facts: EvmFacts, knowledge: &Knowledge) -> Facts {
    let named = Token {
        symbol: Some("TOKEN".to_owned()),
        name: Some("Token".to_owned()),
        decimals: Some(18),
        is_erc721: false,
    };
    let named = Arc::new(named);
    let mut facts = Arc::new(facts);
    while let Ok(Read::Needs(needs)) =
        read(&Facts::Evm(Arc::clone(&facts)), &Question::default(), knowledge, Missing::Ask)
    {
        let answered = Arc::make_mut(&mut facts);
        let before = (answered.tokens.len(), answered.given.len());
        for need in needs {
            match need {
                Need::Token(Account::Evm(token)) => {
                    answered.tokens.insert(token, Arc::clone(&named));
                }
                // No node could say.
                Need::Given { token: Account::Evm(token), giver: Account::Evm(giver), taker: Account::Evm(taker) } => {
                    answered.given.insert((token, giver, taker), None);
                }
                Need::Token(Account::Solana(_))
                | Need::Balance(_)
                | Need::Holding { .. }
                | Need::Given { .. }
                | Need::Vouched { .. }
                | Need::Code(_)
                | Need::InternalValue => {}
            }
        }
        // What is left is not answered here.
        if before == (answered.tokens.len(), answered.given.len()) {
            break;
        }
    }
    Facts::Evm(facts)
}

/// Answers to `getTransaction`, as a node sent them.
fn solana(path: Option<&str>) -> anyhow::Result<Vec<String>> {
    let text = path.map_or(Ok(include_str!("../../../demo/solana.jsonl").to_owned()), std::fs::read_to_string)?;
    let lines = text.lines().filter_map(|line| serde_json::from_str::<SolanaLine>(line).ok());
    let of_solana =
        lines.filter(|line| line.chain.contains("solana") && line.method.as_deref() != Some("getSignatureStatuses"));
    Ok(of_solana.map(|line| line.result.get().to_owned()).collect())
}

#[derive(Deserialize)]
struct SolanaLine {
    chain: String,
    method: Option<String>,
    result: Box<RawValue>,
}

fn solana_facts(raw: &[String]) -> anyhow::Result<Vec<SolanaFacts>> {
    let mut registry = Registry::embedded()?;
    registry.add(include_str!("../../../demo/chain.toml"))?;
    let chain = registry.find("demo-solana").context("the demo chain")?;
    let parsed = raw.iter().filter_map(|text| SolanaTransaction::parse(text).ok());
    let facts = parsed.map(|transaction| SolanaFacts {
        chain: Arc::clone(chain),
        signature: transaction.signatures.first().copied().unwrap_or([0; 64]),
        transaction,
        block: None,
        tokens: BTreeMap::new(),
    });
    Ok(facts.collect())
}

/// What is measured: from the facts to the bytes of the answer, whether anything is lacking included.
fn answer(facts: &Facts, knowledge: &Knowledge) {
    written(read(black_box(facts), &Question::default(), knowledge, Missing::Ask));
}

/// The same of facts whose tokens have no names.
fn answer_nameless(facts: &Facts, knowledge: &Knowledge) {
    written(read(black_box(facts), &Question::default(), knowledge, Missing::Accept));
}

/// As the service writes it.
fn written<E>(answer: Result<Read, E>) {
    let mut bytes = Vec::with_capacity(ANSWER_BYTES);
    if let Some(answer) = answer.ok().and_then(Read::done) {
        drop(black_box(answer.write_json(&mut bytes)));
    }
    black_box(bytes);
}

/// A figure, under the name by which programs know it, and what it may be at most.
struct Figure {
    name: String,
    value: f64,
    max: f64,
}

impl Figure {
    fn is_met(&self) -> bool {
        self.value <= self.max
    }

    fn goal(&self) -> String {
        format!("goal: at most {:.1}: {}", self.max, if self.is_met() { "met" } else { "missed" })
    }
}

fn main() -> anyhow::Result<()> {
    let path = std::env::args().nth(1);
    let loading = Instant::now();
    let knowledge = Knowledge::embedded().map_err(|faults| anyhow::anyhow!("{faults:?}"))?;
    say(&format!("{} packs, loaded in {:.1?}", knowledge.rules.packs.len(), loading.elapsed()));
    let raw = path.as_deref().map_or_else(demo, from_file)?;
    let raw_solana = solana(path.as_deref())?;
    let facts_solana = solana_facts(&raw_solana)?;
    let mut figures = vec![measure_evm(&raw, &knowledge), measure_solana(&raw_solana, &facts_solana, &knowledge)];
    if path.is_none() {
        say("\nten times as large");
        for shape in linear::evm(&raw)? {
            let parsed = |raw: &Raw| parse(raw).map(|facts| with_tokens(facts, &knowledge));
            let (small, large) = (parsed(&shape.small)?, parsed(&shape.large)?);
            let shape = Shape { name: shape.name, unit: shape.unit, size: shape.size, small, large };
            figures.push(measure_growth(&shape, |facts| answer(facts, &knowledge)));
        }
        for shape in linear::solana(&facts_solana)? {
            let Shape { name, unit, size, small, large } = shape;
            let shape = Shape { name, unit, size, small: Facts::from(small), large: Facts::from(large) };
            figures.push(measure_growth(&shape, |facts| answer_nameless(facts, &knowledge)));
        }
    }
    say("");
    for figure in &figures {
        say(&format!("{} {:.2}", figure.name, figure.value));
    }
    Ok(())
}

fn measure_evm(raw: &[Raw], knowledge: &Knowledge) -> Figure {
    let facts: Vec<Facts> =
        raw.iter().filter_map(|raw| parse(raw).ok()).map(|facts| with_tokens(facts, knowledge)).collect();
    let (mut parsing, mut classifying) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        parsing.push(timed(|| raw.iter().for_each(|raw| drop(black_box(parse(raw).ok())))));
        classifying.push(timed(|| facts.iter().for_each(|facts| answer(facts, knowledge))));
    }
    let bytes: usize = raw.iter().map(|raw| raw.transaction.len() + raw.receipt.len() + raw.trace.len()).sum();
    report("EVM", facts.len(), bytes, median(parsing), median(classifying))
}

fn measure_solana(raw: &[String], facts: &[SolanaFacts], knowledge: &Knowledge) -> Figure {
    let facts: Vec<Facts> = facts.iter().cloned().map(Facts::from).collect();
    let (mut parsing, mut classifying) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        parsing.push(timed(|| raw.iter().for_each(|text| drop(black_box(SolanaTransaction::parse(text).ok())))));
        classifying.push(timed(|| facts.iter().for_each(|facts| answer_nameless(facts, knowledge))));
    }
    let bytes: usize = raw.iter().map(String::len).sum();
    report("Solana", facts.len(), bytes, median(parsing), median(classifying))
}

fn report(family: &str, count: usize, bytes: usize, parsing: Duration, classifying: Duration) -> Figure {
    say(&format!("\n{family}: {count} transactions, {} bytes of JSON each on average", bytes / count.max(1)));
    say(&format!("parsing the JSON      {:>9.1?} per transaction", per(parsing, count)));
    say(&format!("classification        {:>9.1?} per transaction, to the finished answer", per(classifying, count)));
    let value = classifying.div_duration_f64(parsing);
    let figure = Figure { name: format!("engine_{}_ratio", family.to_lowercase()), value, max: RATIO_MAX };
    say(&format!("ratio classification / parsing = {value:.2} ({})", figure.goal()));
    figure
}

/// The two sizes take turns, so that both meet the same noise.
fn measure_growth<T>(shape: &Shape<T>, answer: impl Fn(&T)) -> Figure {
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for _ in 0..LARGE_ROUNDS {
        small.push(timed(|| answer(&shape.small)));
        large.push(timed(|| answer(&shape.large)));
    }
    let (small, large) = (median(small), median(large));
    let figure =
        Figure { name: format!("engine_linear_{}", shape.name), value: large.div_duration_f64(small), max: LINEAR_MAX };
    let Shape { name, unit, size, .. } = shape;
    let cost = format!("{name:<12} {size} {unit} {small:.1?}, {} {unit} {large:.1?}", size * linear::TIMES);
    say(&format!("{cost}, ratio {:.1} ({})", figure.value, figure.goal()));
    figure
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
fn say(line: &str) {
    println!("{line}");
}

fn per(total: Duration, count: usize) -> Duration {
    total.div_f64(f64_of(count.max(1)))
}

fn f64_of(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}
