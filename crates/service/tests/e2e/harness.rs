//! Starts the parts: anvil, the scenario on it, the service. Each test gets its own, on free ports, and they stop with it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::OnceCell;

const START_SECONDS_MAX: u64 = 90;
/// Fixed, so that two runs give the same hashes.
const GENESIS: &str = "1767225600";

/// A process that ends with the test, even with one that is killed: a shell beside it waits for our end of its input to close, and then
/// kills it.
pub struct Running {
    shell: Child,
    pid: String,
}

impl Running {
    pub fn start(command: &Command) -> Self {
        let mut shell = Command::new("sh");
        // The first line tells the process's own number, for whoever wants to kill it.
        shell
            .args(["-c", "\"$@\" >/dev/null & echo $!; cat; kill $!; wait $!", "sh"])
            .arg(command.get_program())
            .args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            shell.current_dir(folder);
        }
        let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut number = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut number).unwrap();
        Self { shell: child, pid: number.trim().to_owned() }
    }

    /// `STOP`, `CONT`, …
    pub fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([&format!("-{name}"), &self.pid]).status().unwrap().success());
    }

    pub fn kill(self) {
        assert!(self.kill_if_running(), "it ended by itself");
    }

    /// Whether it was there to be killed.
    pub fn kill_if_running(self) -> bool {
        Command::new("kill").args(["-9", &self.pid]).stderr(Stdio::null()).status().unwrap().success()
    }

    fn terminate(&self) {
        assert!(Command::new("kill").arg(&self.pid).status().unwrap().success());
    }

    /// Ends it in order, with SIGTERM, and tells its exit status.
    fn stop(mut self) -> Option<i32> {
        drop(self.shell.stdin.take());
        self.shell.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // What a test stopped with a signal and did not wake would be waited for without end.
        let _ = Command::new("kill").args(["-CONT", &self.pid]).stderr(Stdio::null()).status();
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Below the ports that the system hands out by itself, so that no connection takes it before the process does that it is for; and none twice, since
/// tests run side by side and that process may take seconds to start.
pub fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let port = rand::random_range(10_000..32_000);
        if GIVEN.lock().unwrap().insert(port) && TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

pub async fn wait_for(url: &str, probe: impl AsyncFn(&str) -> bool) {
    for _ in 0..START_SECONDS_MAX * 20 {
        if probe(url).await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{url} did not come up");
}

pub struct Anvil {
    pub url: String,
    _process: Running,
}

impl Anvil {
    pub async fn start(chain_id: u64) -> Self {
        let found = Command::new("node").arg("anvil.mjs").current_dir(root().join("tests/anvil")).output();
        let found = found.expect("node is needed: run ./test, which installs it");
        let binary = String::from_utf8(found.stdout).unwrap().trim().to_owned();
        assert!(!binary.is_empty(), "anvil is needed: run `npm ci` in tests/anvil, or ./test");
        let port = free_port();
        let mut command = Command::new(binary);
        command.args(["--port", &port.to_string(), "--chain-id", &chain_id.to_string()]);
        command.args(["--hardfork", "prague", "--timestamp", GENESIS, "--silent"]);
        let process = Running::start(&command);
        let url = format!("http://127.0.0.1:{port}");
        wait_for(&url, async |url| rpc_try(url, "eth_chainId", json!([])).await.is_some()).await;
        Self { url, _process: process }
    }
}

pub async fn rpc_try(url: &str, method: &str, params: Value) -> Option<Value> {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let answer: Value = client().post(url).json(&body).send().await.ok()?.json().await.ok()?;
    answer.get("result").cloned()
}

pub async fn rpc(url: &str, method: &str, params: Value) -> Value {
    rpc_try(url, method, params).await.unwrap_or_else(|| panic!("{method} failed"))
}

/// Sends a transaction, and waits until it is in a block: anvil answers before that. Gives its hash.
pub async fn send(url: &str, method: &str, params: Value) -> String {
    let hash = rpc(url, method, params).await.as_str().unwrap().to_owned();
    for _ in 0..200 {
        if !rpc(url, "eth_getTransactionReceipt", json!([hash])).await.is_null() {
            return hash;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{hash} was not mined");
}

#[derive(Debug, Clone, Deserialize)]
pub struct Done {
    pub name: String,
    pub hash: String,
    pub wallet: String,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Scenario {
    pub wallet: String,
    pub transactions: Vec<Done>,
    /// What a test needs to know of what was deployed.
    #[serde(default)]
    pub contracts: BTreeMap<String, String>,
}

impl Scenario {
    pub fn named(&self, name: &str) -> &Done {
        self.transactions.iter().find(|done| done.name == name).unwrap_or_else(|| panic!("no transaction {name}"))
    }
}

/// What `demo/scenario.json` lists: the transactions of the demo chain.
pub fn demo_scenario() -> Scenario {
    serde_json::from_str(include_str!("../../../../demo/scenario.json")).unwrap()
}

/// Real protocols deployed and used on the node.
pub async fn play(anvil: &Anvil) -> Scenario {
    play_script(anvil, "scenario.mjs").await
}

/// What a script of `tests/anvil` deploys and does.
pub async fn play_script(anvil: &Anvil, script: &'static str) -> Scenario {
    let url = anvil.url.clone();
    let output = tokio::task::spawn_blocking(move || {
        Command::new("node").args([script, &url]).current_dir(root().join("tests/anvil")).output().unwrap()
    });
    let output = output.await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// One chain with the whole scenario on it, shared by the tests that only read.
pub async fn mainnet() -> &'static (Anvil, Scenario) {
    static SHARED: OnceCell<(Anvil, Scenario)> = OnceCell::const_new();
    SHARED
        .get_or_init(|| async {
            // The shared runtime of one test ends with it, the node must not: it is started outside of any.
            let anvil = Anvil::start(31_337).await;
            let scenario = play(&anvil).await;
            (anvil, scenario)
        })
        .await
}

/// A service, or one instance of several. It stops with the test, and can be killed before.
pub struct Taxon {
    pub url: String,
    pub key: String,
    pub setup: Setup,
    client: reqwest::Client,
    process: Running,
}

/// What an instance starts with: instances that are made from one setup share its folder and its database.
#[derive(Clone)]
pub struct Setup {
    pub data: Arc<TempDir>,
    pub env: BTreeMap<String, String>,
    pub flags: Vec<String>,
    /// A line for `sh` that ends in `exec "$@"`: what surrounds the process of the service.
    pub around: Option<String>,
}

impl Setup {
    /// The demo chain alone: no node is needed, and every transaction of `demo/scenario.json` is there.
    pub fn demo() -> Self {
        let setup = Self {
            data: Arc::new(tempfile::tempdir().unwrap()),
            env: BTreeMap::new(),
            flags: Vec::new(),
            around: None,
        };
        // A configured upstream keeps the public endpoints out; nobody asks it.
        setup.with("TAXON_RPC_ETHEREUM", "http://127.0.0.1:9").flag("--demo")
    }

    /// Rate limits are off unless a test is about them.
    fn command(&self) -> Command {
        self.dressed(Command::new(env!("CARGO_BIN_EXE_taxon")))
    }

    fn dressed(&self, mut command: Command) -> Command {
        command.env("TAXON_RATE_PER_MINUTE", "0").env("TAXON_LOG", "error").env("TAXON_DATA_DIR", self.data.path());
        command.envs(&self.env).current_dir(self.data.path());
        command
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    pub fn flag(mut self, flag: &str) -> Self {
        self.flags.push(flag.to_owned());
        self
    }

    pub fn around(mut self, line: &str) -> Self {
        self.around = Some(line.to_owned());
        self
    }

    /// A command beside the service, on the same data: how it ended and what it said.
    pub fn output(&self, arguments: &[&str]) -> std::process::Output {
        self.command().args(arguments).output().unwrap()
    }

    /// A command that goes on beside the test, and ends with it.
    pub fn running(&self, arguments: &[&str]) -> Running {
        let mut command = self.command();
        command.args(arguments);
        Running::start(&command)
    }

    /// The same with a clock that the file moves while the command runs, such as by `+40d`.
    pub fn running_by_clock(&self, arguments: &[&str], clock: &Path) -> Running {
        let mut command = self.command();
        // The loader puts in where libraries are on this machine.
        command.env("LD_PRELOAD", "/usr/$LIB/faketime/libfaketimeMT.so.1");
        // The file is read again every second.
        command.env("FAKETIME_TIMESTAMP_FILE", clock).env("FAKETIME_CACHE_DURATION", "1");
        command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").args(arguments);
        Running::start(&command)
    }

    /// A command that succeeds: its standard output.
    pub fn run(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// A new key: `tier` as `--tier` takes it, and further flags.
    pub fn key(&self, owner: &str, tier: &str, more: &[&str]) -> String {
        let arguments = ["keys", "create", "--owner", owner, "--tier", tier];
        let printed = self.run(&[&arguments, more].concat());
        printed.lines().last().unwrap().to_owned()
    }

    pub async fn start(&self) -> Taxon {
        let key = self.key("test@example.com", "dev", &[]);
        self.start_on(free_port(), key).await
    }

    /// An instance for a key that is there already.
    pub async fn start_on(&self, port: u16, key: String) -> Taxon {
        let mut command = match &self.around {
            None => self.command(),
            Some(line) => {
                let mut shell = self.dressed(Command::new("sh"));
                shell.args(["-c", line, "sh", env!("CARGO_BIN_EXE_taxon")]);
                shell
            }
        };
        command.env("TAXON_LISTEN", format!("127.0.0.1:{port}")).arg("serve").args(&self.flags);
        let process = Running::start(&command);
        let url = format!("http://127.0.0.1:{port}");
        wait_for(&url, async |url| client().get(format!("{url}/healthz")).send().await.is_ok()).await;
        Taxon { url, key, setup: self.clone(), client: client(), process }
    }
}

/// A real PostgreSQL server of the test's own. It is removed with the test.
pub struct Postgres {
    folder: TempDir,
    pub url: String,
}

impl Postgres {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = Self::tool(folder.path(), "start");
        Self { folder, url }
    }

    fn tool(folder: &Path, what: &str) -> String {
        let mut command = Command::new(root().join("tools/postgres"));
        command.arg(what);
        if what == "start" {
            command.args(["--with", &std::process::id().to_string()]);
        }
        let output = command.arg(folder.join("postgres")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub fn stop(&self) {
        Self::tool(self.folder.path(), "stop");
    }

    /// As a power cut would.
    pub fn kill(&self) {
        Self::tool(self.folder.path(), "kill");
    }

    pub fn start_again(&self) {
        Self::tool(self.folder.path(), "start");
    }

    /// Stops every process of the server without a word to anybody, as a machine that hangs would; `CONT` wakes them.
    pub fn signal(&self, signal: &str) {
        let file = self.folder.path().join("postgres/data/postmaster.pid");
        let text = std::fs::read_to_string(file).unwrap();
        let server = text.lines().next().unwrap();
        let backends = Command::new("pkill").args([&format!("-{signal}"), "-P", server]).status().unwrap();
        let whole = Command::new("kill").args([&format!("-{signal}"), server]).status().unwrap();
        assert!(backends.success() && whole.success());
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        Self::tool(self.folder.path(), "remove");
    }
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
}

impl Answer {
    pub fn code(&self) -> &str {
        self.body["error"]["code"].as_str().unwrap_or_else(|| panic!("no error code in {}", self.body))
    }
}

/// Rows in the format of chains.toml: local nodes whose well-known contracts are deployed at the addresses of that chain.
pub fn chain_file(chains: &[(&str, u64, &str)], contracts_as: &str) -> String {
    let row = |(slug, id, _): &(&str, u64, &str)| {
        format!(
            "[[chain]]\nslug = \"{slug}\"\nname = \"{slug}\"\nfamily = \"evm\"\nchain_id = {id}\nnative_symbol = \"ETH\"\n\
             native_name = \"Ether\"\nnative_decimals = 18\ncontracts_as = \"{contracts_as}\"\n\
             wrapped_native = [\"0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2\"]\n\n"
        )
    };
    chains.iter().map(row).collect()
}

impl Taxon {
    /// Serves the given chains: slug, chain id, upstream address.
    pub async fn start(chains: &[(&str, u64, &str)]) -> Self {
        Self::start_with(chains, &[]).await
    }

    /// The same with further variables.
    pub async fn start_with(chains: &[(&str, u64, &str)], more: &[(&str, &str)]) -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut file = std::fs::File::create(data.path().join("chains.toml")).unwrap();
        file.write_all(chain_file(chains, "ethereum").as_bytes()).unwrap();
        let rpc = chains
            .iter()
            .map(|(slug, _, url)| (format!("TAXON_RPC_{}", slug.to_uppercase().replace('-', "_")), (*url).to_owned()));
        let file = data.path().join("chains.toml").display().to_string();
        let more = more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let env = rpc.chain([("TAXON_CHAINS".to_owned(), file)]).chain(more).collect();
        Setup { data: Arc::new(data), env, flags: Vec::new(), around: None }.start().await
    }

    /// Kills it at once, as `kill -9` does.
    pub fn kill(self) {
        self.process.kill();
    }

    pub fn pid(&self) -> &str {
        &self.process.pid
    }

    /// Tells it to stop in order.
    pub fn terminate(&self) {
        self.process.terminate();
    }

    /// Stops it in order, and tells its exit status.
    pub async fn stop(self) -> Option<i32> {
        tokio::task::spawn_blocking(move || self.process.stop()).await.unwrap()
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_as(&self.key, path, body).await
    }

    /// With another key than the instance's own.
    pub async fn post_as(&self, key: &str, path: &str, body: &Value) -> Answer {
        let request = self.client.post(format!("{}{path}", self.url)).bearer_auth(key).json(body);
        read(request.send().await.unwrap()).await
    }

    /// What `/quota-status` says to a key.
    pub async fn quota(&self, key: &str) -> Value {
        let request = self.raw(reqwest::Method::GET, "/quota-status").bearer_auth(key);
        read(request.send().await.unwrap()).await.body
    }

    pub async fn get(&self, path: &str) -> Answer {
        read(self.client.get(format!("{}{path}", self.url)).send().await.unwrap()).await
    }

    /// A request that is built by hand.
    pub fn raw(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    pub async fn classify(&self, hash: &str) -> Answer {
        self.post("/v1/classify", &json!({ "hash": hash })).await
    }
}

/// A client with its own connections.
pub fn client() -> reqwest::Client {
    chains::http::client_builder().build().unwrap()
}

pub async fn read(response: reqwest::Response) -> Answer {
    let status = response.status().as_u16();
    let text = |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
        (name.to_string(), value.to_str().unwrap_or_default().to_owned())
    };
    let headers = response.headers().iter().map(text).collect();
    let bytes = response.bytes().await.unwrap();
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::String(String::from_utf8_lossy(&bytes).into_owned()));
    Answer { status, headers, body }
}
