//! The release binary as a process of its own, on a folder that is gone afterwards.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::upstream::Upstream;

const START_SECONDS_MAX: u64 = 20;
const WAIT_MILLIS: u64 = 20;
/// More than any run can use up.
const POOL: &str = "100000000";

/// Under the build folder, so that it is the disk that is measured and not a folder in memory.
pub fn scratch() -> anyhow::Result<TempDir> {
    Ok(tempfile::tempdir_in(repository().join("target"))?)
}

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A swap of the demo chain.
pub fn demo_hash() -> anyhow::Result<String> {
    let scenario: Value = serde_json::from_str(include_str!("../../demo/scenario.json"))?;
    let rows = scenario.get("transactions").and_then(Value::as_array).context("transactions")?;
    let row = rows.iter().find(|row| row.get("name").is_some_and(|name| name == "v2_swap_eth_in")).context("a swap")?;
    Ok(row.get("hash").and_then(Value::as_str).context("its hash")?.to_owned())
}

/// How a service is started.
#[derive(Debug)]
pub struct Setup {
    folder: TempDir,
    environment: Vec<(String, String)>,
    demo: bool,
}

impl Setup {
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self { folder: scratch()?, environment: Vec::new(), demo: false })
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The demo chains from the recording inside the binary, without any upstream.
    pub fn demo(mut self) -> Self {
        self.demo = true;
        // A configured upstream keeps the public endpoints out; nobody asks it.
        self.with("TAXON_RPC_ETHEREUM", "http://127.0.0.1:9")
    }

    /// The demo chains from that upstream, beside others that know none of their transactions.
    pub fn upstream(mut self, upstream: &Upstream, others: &[&str]) -> Self {
        self = self.with("TAXON_CHAINS", &repository().join("demo/chain.toml").to_string_lossy());
        for slug in others.iter().chain(&["demo", "demo-solana"]) {
            let name = format!("TAXON_RPC_{}", slug.to_uppercase().replace('-', "_"));
            self = self.with(&name, &upstream.url(slug));
        }
        self
    }

    /// Keys of as many owners, each with a pool that does not run out.
    pub fn keys(&self, count: usize) -> anyhow::Result<Vec<String>> {
        let make = |number: usize| {
            let owner = format!("owner{number}@example.com");
            let mut command = self.command()?;
            command.args(["keys", "create", "--owner", &owner, "--tier", "enterprise", "--pool", POOL]);
            let made = String::from_utf8(command.stderr(Stdio::inherit()).output()?.stdout)?;
            Ok(made.lines().last().context("no key was made")?.to_owned())
        };
        (0..count).map(make).collect()
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn start(self) -> anyhow::Result<Service> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let listen = format!("127.0.0.1:{port}");
        let mut command = self.command()?;
        command.args(["serve", "--listen", &listen]).args(self.demo.then_some("--demo"));
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut service = Service { process, url: format!("http://{listen}"), setup: self };
        for _ in 0..START_SECONDS_MAX * 1_000 / WAIT_MILLIS {
            ensure!(service.process.try_wait()?.is_none(), "taxon ended while it started");
            if TcpStream::connect(&listen).is_ok() {
                return Ok(service);
            }
            std::thread::sleep(Duration::from_millis(WAIT_MILLIS));
        }
        bail!("taxon did not start");
    }

    /// Any command of the release binary, as the service would be started.
    pub fn command(&self) -> anyhow::Result<Command> {
        let binary = std::env::current_exe()?.with_file_name("taxon");
        ensure!(binary.exists(), "the release binary is missing: cargo build --release -p taxon");
        let mut command = Command::new(binary);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TAXON_") {
                command.env_remove(name);
            }
        }
        command.current_dir(self.folder.path()).env("TAXON_DATA_DIR", self.folder.path());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }
}

/// A running service; it ends with this value.
#[derive(Debug)]
pub struct Service {
    process: Child,
    pub url: String,
    setup: Setup,
}

impl Service {
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn folder(&self) -> &Path {
        self.setup.folder.path()
    }

    /// Bytes that the database takes on disk.
    pub fn database_bytes(&self) -> anyhow::Result<u64> {
        let mut bytes = 0u64;
        for entry in std::fs::read_dir(self.folder())? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with("taxon.db") {
                bytes = bytes.saturating_add(entry.metadata()?.len());
            }
        }
        Ok(bytes)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Whether it is gone already makes no difference.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A worker of a fleet; it ends with this value.
#[derive(Debug)]
pub struct Worker(Child);

impl Worker {
    pub fn start(setup: &Setup, batches: u8) -> anyhow::Result<Self> {
        let mut command = setup.command()?;
        command.args(["work", "--batches", &batches.to_string()]);
        Ok(Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Whether it is gone already makes no difference.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
