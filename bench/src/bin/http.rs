//! What a call costs over HTTP: the agent interface beside REST, on the same batch of one transaction that is in memory already; and what a
//! page costs a person who waits for it.
//!
//! `cargo build --release -p taxon && cargo run --release -p taxon-bench --bin http [SECONDS]`. It needs `wrk` and `curl` (Debian's
//! packages).

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

const SECONDS: u64 = 4;
const ROUNDS: usize = 3;
/// The agent interface costs at most so many times what REST costs.
const RATIO_MAX: f64 = 3.0;
const START_SECONDS_MAX: u64 = 10;
const PAGE_MILLIS_MAX: f64 = 5.0;
const PAGE_BYTES_MAX: usize = 60_000;
const PASSWORD: &str = "correct horse battery";

fn main() -> anyhow::Result<()> {
    let seconds = std::env::args().nth(1).map_or(Ok(SECONDS), |text| text.parse()).context("SECONDS is a number")?;
    let folder = tempfile::tempdir_in(Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"))?;
    let taxon = Taxon::start(folder.path())?;
    let body = json!({ "hashes": [{ "hash": demo_hash()?, "chain": "demo" }] });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                       "params": { "name": "classify_batch", "arguments": body } });
    let paths = [("/v1/classify-batch", &body), ("/mcp", &call)];
    let mut figures: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        // In turn, so that what else the machine does falls on both.
        for ((path, body), figures) in paths.iter().zip(&mut figures) {
            figures.push(taxon.requests_per_second(path, body, seconds)?);
        }
    }
    let [rest, mcp] = figures.map(median);
    let ratio = rest / mcp;
    println!(
        "a batch of one in memory, key, rate window and ledger included; wrk -t1 -c64, {ROUNDS} rounds of {seconds} s, median"
    );
    println!("  REST  POST /v1/classify-batch      {rest:>8.0} requests/s");
    println!(
        "  MCP   tools/call classify_batch    {mcp:>8.0} requests/s   {ratio:.2} times the cost (goal: at most {RATIO_MAX})"
    );
    ensure!(ratio <= RATIO_MAX, "over {RATIO_MAX}");
    println!("\npages, one reader at a time: median until the answer is there, and what is transferred compressed");
    let person = Person::sign_up(&taxon)?;
    let hash = demo_hash()?;
    person.post("/", "/try", &[("hash", &hash), ("chain", "demo")])?;
    let reading = format!("/reading/{hash}?chain=demo");
    let assets: usize =
        ["/assets/taxon.css", "/assets/copy.js"].iter().map(|path| person.size(path)).sum::<anyhow::Result<_>>()?;
    for path in
        ["/", "/sign-in", "/account", "/usage", "/review", &reading, "/docs", "/docs/categories", "/docs/protocols"]
    {
        let millis = taxon.median_millis(path, &person.cookie()?, seconds)?;
        let bytes = person.size(path)? + assets;
        println!("  {path:<24.24} {millis:>7.2} ms   {:>6.1} kB", f64::from(u32::try_from(bytes)?) / 1_000.0);
        ensure!(millis <= PAGE_MILLIS_MAX, "{path} takes over {PAGE_MILLIS_MAX} ms");
        ensure!(bytes <= PAGE_BYTES_MAX, "{path} is over {PAGE_BYTES_MAX} bytes");
    }
    println!("  goals: {PAGE_MILLIS_MAX} ms and {PAGE_BYTES_MAX} bytes with style and script: met");
    Ok(())
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

fn demo_hash() -> anyhow::Result<String> {
    let scenario: Value = serde_json::from_str(include_str!("../../../demo/scenario.json"))?;
    let rows = scenario.get("transactions").and_then(Value::as_array).context("transactions")?;
    let row = rows.iter().find(|row| row.get("name").is_some_and(|name| name == "v2_swap_eth_in")).context("a swap")?;
    Ok(row.get("hash").and_then(Value::as_str).context("its hash")?.to_owned())
}

fn told(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().context("wrk and curl are needed: apt-get install wrk curl")?;
    Ok(String::from_utf8(output.stdout)?)
}

/// Somebody who is signed in.
struct Person {
    url: String,
    jar: PathBuf,
}

impl Person {
    fn sign_up(taxon: &Taxon) -> anyhow::Result<Self> {
        let person = Self { url: taxon.url.clone(), jar: taxon.folder.join("cookies") };
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

    /// Fills in a form as it stands on a page.
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

/// The release binary on the demo chains, without limits.
struct Taxon {
    process: Child,
    url: String,
    key: String,
    folder: PathBuf,
}

impl Taxon {
    fn start(folder: &Path) -> anyhow::Result<Self> {
        let binary = std::env::current_exe()?.with_file_name("taxon");
        ensure!(binary.exists(), "{} is missing: cargo build --release -p taxon", binary.display());
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let command = || {
            let mut command = Command::new(&binary);
            command.current_dir(folder).env("TAXON_DATA_DIR", folder).env("TAXON_RATE_PER_MINUTE", "0");
            // A configured upstream keeps the public endpoints out; nobody asks it.
            command.env("TAXON_LOG", "error").env("TAXON_RPC_ETHEREUM", "http://127.0.0.1:9");
            command
        };
        let made = command().args(["keys", "create", "--owner", "bench@example.com", "--tier", "pro"]).output()?;
        let made = String::from_utf8(made.stdout)?;
        let key = made.lines().last().context("no key was made")?.to_owned();
        let listen = format!("127.0.0.1:{port}");
        let process = command().args(["serve", "--demo", "--listen", &listen]).stdout(Stdio::null()).spawn()?;
        let taxon = Self { process, url: format!("http://{listen}"), key, folder: folder.to_owned() };
        for _ in 0..START_SECONDS_MAX * 20 {
            if TcpStream::connect(&listen).is_ok() {
                return Ok(taxon);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!("taxon did not start");
    }

    /// One connection, so that nobody waits for another.
    fn median_millis(&self, path: &str, cookie: &str, seconds: u64) -> anyhow::Result<f64> {
        let mut wrk = Command::new("wrk");
        wrk.args(["-t1", "-c1", "--latency", "-H", &format!("cookie: {cookie}"), "-d", &seconds.to_string()]);
        let said = told(wrk.arg(format!("{}{path}", self.url)))?;
        ensure!(!said.contains("Non-2xx"), "{path} was refused:\n{said}");
        let text = said.lines().find_map(|line| line.trim().strip_prefix("50%")).context("no figure")?.trim();
        let (number, scale) = match (text.strip_suffix("us"), text.strip_suffix("ms")) {
            (Some(micros), _) => (micros, 0.001),
            (None, Some(millis)) => (millis, 1.0),
            (None, None) => (text.trim_end_matches('s'), 1_000.0),
        };
        Ok(number.parse::<f64>()? * scale)
    }

    fn requests_per_second(&self, path: &str, body: &Value, seconds: u64) -> anyhow::Result<f64> {
        let script = self.folder.join("post.lua");
        // Lua's long brackets take JSON as it is.
        let text = format!(
            "wrk.method = \"POST\"\nwrk.body = [==[{body}]==]\nwrk.headers[\"content-type\"] = \"application/json\"\n\
             wrk.headers[\"authorization\"] = \"Bearer {}\"\n",
            self.key
        );
        std::fs::write(&script, text)?;
        let mut wrk = Command::new("wrk");
        wrk.args(["-t1", "-c64", "-d", &seconds.to_string(), "-s"]).arg(&script).arg(format!("{}{path}", self.url));
        let said = told(&mut wrk)?;
        ensure!(!said.contains("Non-2xx"), "{path} was refused:\n{said}");
        let line = said.lines().find_map(|line| line.trim().strip_prefix("Requests/sec:")).context("no figure")?;
        Ok(line.trim().parse()?)
    }
}

impl Drop for Taxon {
    fn drop(&mut self) {
        // Whether it is gone already makes no difference.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
