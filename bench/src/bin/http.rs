//! What a call costs over HTTP: the agent interface beside REST, on the same batch of one transaction that is in memory already; and what a
//! page costs a person who waits for it.
//!
//! `cargo build --release -p taxon && cargo run --release -p taxon-bench --bin http [SECONDS]`. It needs `wrk` and `curl` (Debian's
//! packages).

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::json;
use taxon_bench::figures::{Figures, median, number};
use taxon_bench::service::{Service, Setup, demo_hash};
use taxon_bench::wrk::{self, told};

const SECONDS: u64 = 4;
const ROUNDS: usize = 3;
/// The agent interface costs at most so many times what REST costs.
const RATIO_MAX: f64 = 3.0;
const PAGE_MILLIS_MAX: f64 = 5.0;
const PAGE_BYTES_MAX: f64 = 60_000.0;
const PASSWORD: &str = "correct horse battery";

fn main() -> anyhow::Result<()> {
    let seconds = std::env::args().nth(1).map_or(Ok(SECONDS), |text| text.parse()).context("SECONDS is a number")?;
    let setup = Setup::new()?.demo().with("TAXON_RATE_PER_MINUTE", "0").with("TAXON_LOG", "error");
    let keys = setup.keys(1)?;
    let taxon = setup.start()?;
    let body = json!({ "hashes": [{ "hash": demo_hash()?, "chain": "demo" }] });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                       "params": { "name": "classify_batch", "arguments": body } });
    let paths = [("/v1/classify-batch", &body), ("/mcp", &call)];
    let script = taxon.folder().join("post.lua");
    let mut rates: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        // In turn, so that what else the machine does falls on both.
        for ((path, body), rates) in paths.iter().zip(&mut rates) {
            wrk::script(&script, &keys, body)?;
            rates.push(wrk::requests_per_second(&script, &format!("{}{path}", taxon.url), seconds)?);
        }
    }
    let [rest, mcp] = rates.map(median);
    let ratio = rest / mcp;
    println!(
        "a batch of one in memory, key, rate window and ledger included; wrk -t1 -c64, {ROUNDS} rounds of {seconds} s, median"
    );
    println!("  REST  POST /v1/classify-batch      {rest:>8.0} requests/s");
    println!(
        "  MCP   tools/call classify_batch    {mcp:>8.0} requests/s   {ratio:.2} times the cost (goal: at most {RATIO_MAX})"
    );
    println!("\npages, one reader at a time: median until the answer is there, and what is transferred compressed");
    let person = Person::sign_up(&taxon)?;
    let hash = demo_hash()?;
    person.post("/", "/try", &[("hash", &hash), ("chain", "demo")])?;
    let (mut slowest, mut largest) = (0.0f64, 0.0f64);
    let reading = format!("/reading/{hash}?chain=demo");
    let assets: usize =
        ["/assets/taxon.css", "/assets/copy.js"].iter().map(|path| person.size(path)).sum::<anyhow::Result<_>>()?;
    for path in
        ["/", "/sign-in", "/account", "/usage", "/review", &reading, "/docs", "/docs/categories", "/docs/protocols"]
    {
        let millis = median_millis(&format!("{}{path}", taxon.url), &person.cookie()?, seconds)?;
        let bytes = person.size(path)? + assets;
        println!("  {path:<24.24} {millis:>7.2} ms   {:>6.1} kB", number(bytes) / 1_000.0);
        (slowest, largest) = (slowest.max(millis), largest.max(number(bytes)));
    }
    println!("  goals: {PAGE_MILLIS_MAX} ms and {PAGE_BYTES_MAX} bytes with style and script");
    let mut figures = Figures::default();
    figures.add("http_rest_requests", rest);
    figures.add("http_mcp_ratio", ratio);
    figures.add("http_page_ms", slowest);
    figures.add("http_page_bytes", largest);
    figures.print();
    Ok(())
}

/// Somebody who is signed in.
struct Person {
    url: String,
    jar: PathBuf,
}

impl Person {
    fn sign_up(taxon: &Service) -> anyhow::Result<Self> {
        let person = Self { url: taxon.url.clone(), jar: taxon.folder().join("cookies") };
        let credentials = [("email", "bench@example.org"), ("password", PASSWORD)];
        person.post("/sign-up", "/sign-up", &credentials)?;
        person.post("/sign-in", "/sign-in", &credentials)?;
        ensure!(person.get("/account")?.contains("bench@example.org"), "signing in failed");
        Ok(person)
    }

    fn curl(&self, path: &str) -> Command {
        let mut curl = Command::new("curl");
        curl.args(["-s", "-b"]).arg(&self.jar).arg("-c").arg(&self.jar).arg(format!("{}{path}", self.url));
        curl
    }

    fn get(&self, path: &str) -> anyhow::Result<String> {
        told(&mut self.curl(path))
    }

    /// Fills in a form as it is on a page.
    fn post(&self, page: &str, path: &str, fields: &[(&str, &str)]) -> anyhow::Result<()> {
        let form = self.get(page)?;
        let proof = form.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        let mut curl = self.curl(path);
        curl.args(["--data-urlencode", &format!("csrf={}", proof.context("no form")?)]);
        for (name, value) in fields {
            curl.args(["--data-urlencode", &format!("{name}={value}")]);
        }
        told(&mut curl).map(drop)
    }

    /// As it is transferred.
    fn size(&self, path: &str) -> anyhow::Result<usize> {
        let mut curl = self.curl(path);
        curl.args(["-H", "accept-encoding: gzip", "-o", "/dev/null", "-w", "%{size_download}"]);
        Ok(told(&mut curl)?.trim().parse()?)
    }

    fn cookie(&self) -> anyhow::Result<String> {
        let jar = std::fs::read_to_string(&self.jar)?;
        let rows = jar.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let pairs = rows.filter_map(|row| Some(format!("{}={}", row.get(5)?, row.get(6)?)));
        Ok(pairs.collect::<Vec<_>>().join("; "))
    }
}

/// One connection, so that nobody waits for another.
fn median_millis(url: &str, cookie: &str, seconds: u64) -> anyhow::Result<f64> {
    let mut wrk = Command::new("wrk");
    wrk.args(["-t1", "-c1", "--latency", "-H", &format!("cookie: {cookie}"), "-d", &seconds.to_string()]);
    let said = told(wrk.arg(url))?;
    ensure!(!said.contains("Non-2xx"), "{url} was refused:\n{said}");
    let text = said.lines().find_map(|line| line.trim().strip_prefix("50%")).context("no figure")?.trim();
    let (number, scale) = match (text.strip_suffix("us"), text.strip_suffix("ms")) {
        (Some(micros), _) => (micros, 0.001),
        (None, Some(millis)) => (millis, 1.0),
        (None, None) => (text.trim_end_matches('s'), 1_000.0),
    };
    Ok(number.parse::<f64>()? * scale)
}
