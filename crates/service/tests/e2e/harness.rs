//! Starts the parts: anvil, the scenario on it, the service. Each test gets its own, on free ports, and they stop with it.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::OnceCell;

const START_SECONDS_MAX: u64 = 30;
/// Fixed, so that two runs give the same hashes.
const GENESIS: &str = "1767225600";

/// A process that ends with the test, even with one that is killed: a shell stands beside it and waits for our end of
/// its input to close.
pub struct Running(Child);

impl Running {
    fn start(command: &Command) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", "\"$@\" & cat; kill $!; wait $!", "sh"]).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            shell.current_dir(folder);
        }
        Self(shell.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

async fn wait_for(url: &str, probe: impl AsyncFn(&str) -> bool) {
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
    let answer: Value = reqwest::Client::new().post(url).json(&body).send().await.ok()?.json().await.ok()?;
    answer.get("result").cloned()
}

pub async fn rpc(url: &str, method: &str, params: Value) -> Value {
    rpc_try(url, method, params).await.unwrap_or_else(|| panic!("{method} failed"))
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
}

impl Scenario {
    pub fn named(&self, name: &str) -> &Done {
        self.transactions.iter().find(|done| done.name == name).unwrap_or_else(|| panic!("no transaction {name}"))
    }
}

/// Real protocols deployed and used on the node.
pub async fn play(anvil: &Anvil) -> Scenario {
    let url = anvil.url.clone();
    let output = tokio::task::spawn_blocking(move || {
        Command::new("node").args(["scenario.mjs", &url]).current_dir(root().join("tests/anvil")).output().unwrap()
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

pub struct Taxon {
    pub url: String,
    pub key: String,
    pub data: TempDir,
    client: reqwest::Client,
    _process: Running,
}

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

/// Rows in the format of chains.toml: local nodes whose well-known contracts stand at Ethereum's addresses.
fn chain_file(chains: &[(&str, u64, &str)]) -> String {
    let row = |(slug, id, _): &(&str, u64, &str)| {
        format!(
            "[[chain]]\nslug = \"{slug}\"\nname = \"{slug}\"\nfamily = \"evm\"\nchain_id = {id}\nnative_symbol = \"ETH\"\n\
             native_name = \"Ether\"\nnative_decimals = 18\ncontracts_as = \"ethereum\"\n\
             wrapped_native = [\"0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2\"]\n\n"
        )
    };
    chains.iter().map(row).collect()
}

impl Taxon {
    /// Serves the given chains: slug, chain id, upstream address.
    pub async fn start(chains: &[(&str, u64, &str)]) -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut file = std::fs::File::create(data.path().join("chains.toml")).unwrap();
        file.write_all(chain_file(chains).as_bytes()).unwrap();
        let rpc = chains
            .iter()
            .map(|(slug, _, url)| (format!("TAXON_RPC_{}", slug.to_uppercase().replace('-', "_")), (*url).to_owned()));
        let file = data.path().join("chains.toml").display().to_string();
        let env = rpc.chain([("TAXON_CHAINS".to_owned(), file)]).collect();
        Self::start_with(data, env, &[]).await
    }

    pub async fn start_with(data: TempDir, env: BTreeMap<String, String>, flags: &[&str]) -> Self {
        let port = free_port();
        let taxon = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_taxon"));
            command.envs(&env).env("TAXON_DATA_DIR", data.path()).env("TAXON_LISTEN", format!("127.0.0.1:{port}"));
            command.env("TAXON_LOG", "error").current_dir(data.path());
            command
        };
        let made = taxon().args(["keys", "create", "--owner", "test@example.com", "--tier", "dev"]).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let key = String::from_utf8(made.stdout).unwrap().lines().last().unwrap().to_owned();
        let process = Running::start(taxon().arg("serve").args(flags));
        let url = format!("http://127.0.0.1:{port}");
        wait_for(&url, async |url| reqwest::get(format!("{url}/healthz")).await.is_ok()).await;
        Self { url, key, data, client: reqwest::Client::new(), _process: process }
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        let request = self.client.post(format!("{}{path}", self.url)).bearer_auth(&self.key).json(body);
        read(request.send().await.unwrap()).await
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
