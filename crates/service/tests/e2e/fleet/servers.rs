//! Real NATS servers with JetStream, one or a cluster of three, and a client that publishes what a feed would and what it would not.

use std::collections::BTreeSet;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use async_nats::jetstream::{self, context::Context};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Running, demo_scenario, free_port};

const CONFIG: &str = "nats.conf";

pub struct Server {
    pub url: String,
    port: u16,
    folder: TempDir,
    arguments: Vec<String>,
    process: Option<Running>,
}

impl Server {
    pub fn start() -> Self {
        let mut server = Self::prepared(free_port(), Vec::new());
        server.start_again();
        server
    }

    /// Three that know each other.
    pub fn cluster() -> [Self; 3] {
        let routes: [u16; 3] = std::array::from_fn(|_| free_port());
        let known: Vec<String> = routes.iter().map(|port| format!("nats-route://127.0.0.1:{port}")).collect();
        let mut servers = [0, 1, 2].map(|at| {
            let cluster = format!("nats://127.0.0.1:{}", routes[at]);
            let arguments = [
                "--cluster_name",
                "fleet",
                "--server_name",
                &format!("n{at}"),
                "--cluster",
                &cluster,
                "--routes",
                &known.join(","),
            ];
            Self::prepared(free_port(), arguments.map(str::to_owned).to_vec())
        });
        servers.iter_mut().for_each(Self::start_again);
        servers
    }

    fn prepared(port: u16, arguments: Vec<String>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // What is not said here follows from the free disk, and a small one then holds none of the streams that tests make.
        let config = format!("jetstream {{ store_dir: {:?}, max_file_store: 64GB }}", folder.path());
        std::fs::write(folder.path().join(CONFIG), config).unwrap();
        Self { url: format!("nats://127.0.0.1:{port}"), port, folder, arguments, process: None }
    }

    pub fn start_again(&mut self) {
        let mut command = Command::new("nats-server");
        // Debian keeps servers out of an ordinary user's PATH.
        command.env("PATH", format!("{}:/usr/sbin", std::env::var("PATH").unwrap()));
        command.args(["-a", "127.0.0.1", "-p", &self.port.to_string(), "-l", "/dev/null", "-c"]);
        command.arg(self.folder.path().join(CONFIG)).args(&self.arguments);
        self.process = Some(Running::start(&command));
        for _ in 0..200 {
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("nats-server does not start");
    }

    pub fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill();
        }
    }

    /// `STOP` is a network that goes silent, `CONT` one that comes back.
    pub fn signal(&self, name: &str) {
        self.process.as_ref().unwrap().signal(name);
    }

    pub async fn client(&self) -> Client {
        Client::connect(&self.url).await
    }
}

pub struct Client {
    context: Context,
}

impl Client {
    pub async fn connect(url: &str) -> Self {
        let options =
            async_nats::ConnectOptions::new().retry_on_initial_connect().ping_interval(Duration::from_secs(3));
        let addresses: Vec<async_nats::ServerAddr> = url.split(',').map(|url| url.parse().unwrap()).collect();
        let mut context = jetstream::new(options.connect(addresses).await.unwrap());
        context.set_timeout(Duration::from_secs(10));
        Self { context }
    }

    /// Until it is stored, without an id.
    pub async fn publish(&self, subject: &str, payload: Vec<u8>) {
        for _ in 0..60 {
            if let Ok(stored) = self.context.publish(subject.to_owned(), payload.clone().into()).await
                && stored.await.is_ok()
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        panic!("{subject} does not take a message");
    }

    /// So many rows of transactions of the demo chain, each with an id of its own, in batches of 100. The ids are told.
    pub async fn feed_rows(&self, from: usize, count: usize) -> BTreeSet<String> {
        let hashes: Vec<String> = demo_scenario().transactions.iter().map(|done| done.hash.clone()).collect();
        let numbers: Vec<usize> = (from..from + count).collect();
        let mut ids = BTreeSet::new();
        for batch in numbers.chunks(100) {
            let row = |number: &usize| {
                let hash = &hashes[number % hashes.len()];
                json!({ "hash": hash, "chain": "demo", "tx_id": format!("row {number}") })
            };
            let rows: Vec<Value> = batch.iter().map(row).collect();
            ids.extend(rows.iter().map(|row| row["tx_id"].as_str().unwrap().to_owned()));
            let request = json!({ "v": 1, "id": format!("rows.{}", batch[0]), "rows": rows });
            self.publish("taxon.requests.feed", request.to_string().into_bytes()).await;
        }
        ids
    }

    async fn info(&self, stream: &str) -> Option<jetstream::stream::Info> {
        Some(self.context.get_stream(stream).await.ok()?.cached_info().clone())
    }

    /// Messages of a stream; as many as there can be where nobody says.
    pub async fn count(&self, stream: &str) -> u64 {
        self.info(stream).await.map_or(u64::MAX, |info| info.state.messages)
    }

    pub async fn bytes(&self, stream: &str) -> u64 {
        self.info(stream).await.map_or(0, |info| info.state.bytes)
    }

    /// The oldest message of a stream.
    pub async fn first(&self, stream: &str) -> Value {
        let stream = self.context.get_stream(stream).await.unwrap();
        let at = stream.cached_info().state.first_sequence;
        serde_json::from_slice(&stream.get_raw_message(at).await.unwrap().payload).unwrap()
    }

    pub async fn limit(&self, stream: &str, bytes: i64) {
        let mut config = self.info(stream).await.unwrap().config;
        config.max_bytes = bytes;
        self.context.update_stream(config).await.unwrap();
    }

    /// Another server of the cluster leads the stream from now on.
    pub async fn move_leader(&self, stream: &str) {
        let _: Result<jetstream::response::Response<Value>, _> =
            self.context.request(format!("STREAM.LEADER.STEPDOWN.{stream}"), &json!({})).await;
    }
}

/// Lines of JSON in every file below a folder whose path there begins like this.
pub fn rows_below(folder: &Path, beginning: &str) -> Vec<Value> {
    let mut rows = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in next.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.strip_prefix(folder).unwrap().to_string_lossy().starts_with(beginning) {
                let text = std::fs::read_to_string(&path).unwrap();
                rows.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
            }
        }
    }
    rows
}
