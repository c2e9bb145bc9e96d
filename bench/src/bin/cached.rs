//! A classification that is in memory already, over HTTP with key check, rate window and ledger, beside a bare axum server that parses
//! a JSON body and answers with JSON.
//!
//! `cargo build --release -p taxon && cargo run --release -p taxon-bench --bin cached [--rounds N] [--seconds N]`. It needs `wrk` and
//! `curl` (Debian's packages).

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, ensure};
use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use clap::Parser;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use taxon_bench::figures::{Figures, median, number};
use taxon_bench::service::{Setup, demo_hash};
use taxon_bench::wrk;

const KEYS: usize = 100;
/// So high that nobody is refused; the window is counted all the same.
const RATE_PER_MINUTE: &str = "4000000000";
const RATIO_MIN: f64 = 0.5;

#[derive(Parser)]
struct Arguments {
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    #[arg(long, default_value_t = 2)]
    seconds: u64,
    /// Be the bare server: prints its address, reads the large answer from standard input
    #[arg(long)]
    bare: bool,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if arguments.bare {
        return tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(bare());
    }
    let setup = Setup::new()?.demo().with("TAXON_RATE_PER_MINUTE", RATE_PER_MINUTE);
    let keys = setup.keys(KEYS)?;
    let taxon = setup.start()?;
    let body = json!({ "hash": demo_hash()?, "chain": "demo" });
    let script = taxon.folder().join("post.lua");
    wrk::script(&script, &keys, &body)?;
    let url = format!("{}/v1/classify", taxon.url);
    let classification = classification(&url, keys.first().context("a key")?, &body)?;
    let bare = Bare::start(&classification)?;
    let urls = [format!("{}/small", bare.url), format!("{}/large", bare.url), url];
    for url in &urls {
        wrk::requests_per_second(&script, url, 1)?;
    }
    let mut rates: [Vec<f64>; 3] = Default::default();
    for _ in 0..arguments.rounds {
        // In turn, so that what else the machine does falls on all.
        for (url, rates) in urls.iter().zip(&mut rates) {
            rates.push(wrk::requests_per_second(&script, url, arguments.seconds)?);
        }
    }
    let [small, large, cached] = rates.map(median);
    let (rounds, seconds) = (arguments.rounds, arguments.seconds);
    println!("requests/s, {KEYS} keys of as many owners in turn, wrk -t1 -c64, {rounds} rounds of {seconds} s, median");
    println!("  bare axum, small JSON answer                  {small:>8.0}");
    println!("  bare axum, the same {:>5} bytes of JSON       {large:>8.0}", classification.len());
    println!("  POST /v1/classify, in memory                  {cached:>8.0}");
    println!(
        "  {:.2} of the small answer (goal: at least {RATIO_MIN}), {:.2} of the large",
        cached / small,
        cached / large
    );
    let mut figures = Figures::default();
    figures.add("cached_bare_small", small);
    figures.add("cached_bare_large", large);
    figures.add("cached_requests", cached);
    figures.add("cached_answer_bytes", number(classification.len()));
    figures.add("cached_ratio_large", cached / large);
    figures.add("cached_ratio", cached / small);
    figures.print();
    Ok(())
}

fn classification(url: &str, key: &str, body: &Value) -> anyhow::Result<String> {
    let mut curl = Command::new("curl");
    curl.args(["-s", "--fail-with-body", "-H", "content-type: application/json", "-d", &body.to_string()]);
    let said = wrk::told(curl.args(["-H", &format!("authorization: Bearer {key}"), url]))?;
    ensure!(said.contains("\"category\""), "no classification: {said}");
    Ok(said)
}

/// What a caller sends; only as much as parsing it takes.
#[derive(Deserialize)]
struct Asked {
    hash: String,
    chain: Option<String>,
}

#[derive(Serialize)]
struct Small {
    hash: String,
    chain: Option<String>,
    category: &'static str,
    taxable: bool,
}

/// The other server, in a process of its own as the service is.
struct Bare {
    process: Child,
    url: String,
}

impl Bare {
    fn start(answer: &str) -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut process = command.arg("--bare").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut input = process.stdin.take().context("standard input")?;
        input.write_all(answer.as_bytes())?;
        drop(input);
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("standard output")?).read_line(&mut line)?;
        Ok(Self { process, url: line.trim().to_owned() })
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn bare() -> anyhow::Result<()> {
    let large: Arc<Value> = Arc::new(serde_json::from_reader(std::io::stdin())?);
    let app = Router::new()
        .route("/small", post(small))
        .route("/large", post(|State(large): State<Arc<Value>>, Json(_): Json<Asked>| async move { Json(large) }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, app.with_state(large)).await?;
    Ok(())
}

async fn small(Json(asked): Json<Asked>) -> Json<Small> {
    Json(Small { hash: asked.hash, chain: asked.chain, category: "swap", taxable: true })
}
