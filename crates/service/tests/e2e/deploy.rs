//! What is deployed: the proxy's own configuration before two instances on one PostgreSQL, the image's commands, and a stop that
//! nobody notices.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::crash::books::{Books, caller, single};
use super::crash::{SlowNode, post_slowly, within};
use super::harness::{Postgres, Running, Setup, Taxon, free_port, read, root, wait_for};

const BUSY: Duration = Duration::from_secs(60);
const CALLERS: usize = 4;

fn file(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A real nginx with the configuration of `compose.yaml`, but for names and ports.
struct Proxy {
    url: String,
    folder: TempDir,
    _process: Running,
}

impl Proxy {
    async fn start(instances: [u16; 2]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let mut text = file("deploy/nginx.conf");
        for (from, to) in [
            ("taxon-1:8080", format!("127.0.0.1:{}", instances[0])),
            ("taxon-2:8080", format!("127.0.0.1:{}", instances[1])),
            ("listen 8080;", format!("listen {port};")),
            // First, because the folder itself may be below that path.
            ("/tmp/", format!("{}/", folder.path().display())),
            ("error_log stderr", format!("error_log {}/error.log", folder.path().display())),
        ] {
            assert!(text.contains(from), "deploy/nginx.conf has no {from}");
            text = text.replace(from, &to);
        }
        let config = folder.path().join("nginx.conf");
        std::fs::write(&config, text).unwrap();
        // Debian keeps it out of an ordinary user's PATH.
        let found = ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().find(|path| Path::new(path).exists());
        let mut command = Command::new(found.expect("nginx is needed: run ./test, which installs it"));
        // A test that root runs has a folder that nobody else may enter.
        command.arg("-c").arg(&config).args(["-g", "daemon off; user root;"]);
        let process = Running::start(&command);
        let url = format!("http://127.0.0.1:{port}");
        wait_for(&url, async |url| crate::harness::client().get(format!("{url}/healthz")).send().await.is_ok()).await;
        Self { url, folder, _process: process }
    }
}

/// Two instances that can be told apart: the second serves a chain more.
struct Pair {
    setups: [Setup; 2],
    ports: [u16; 2],
}

impl Pair {
    fn on(postgres: &Postgres, name: &str, value: &str) -> Self {
        let one = Setup::demo().with("TAXON_DATABASE_URL", &postgres.url).with("TAXON_TRUSTED_PROXIES", "127.0.0.1");
        let one = one.with(name, value);
        let two = one.clone().with("TAXON_RPC_BASE", "http://127.0.0.1:9");
        Self { setups: [one, two], ports: [free_port(), free_port()] }
    }

    async fn start(&self, at: usize) -> Taxon {
        self.setups[at].start_on(self.ports[at], String::new()).await
    }
}

/// How many chains whoever answers serves: it tells the instances apart.
async fn chains(client: &reqwest::Client, url: &str) -> usize {
    let answer = read(client.get(format!("{url}/chains")).send().await.unwrap()).await;
    assert_eq!(answer.status, 200);
    answer.body["chains"].as_array().unwrap().len()
}

/// Callers in an endless loop, who record every answer that is no plain success.
struct Traffic {
    answers: Arc<AtomicUsize>,
    faults: Arc<Mutex<Vec<String>>>,
    _callers: JoinSet<()>,
}

impl Traffic {
    fn start(url: &str, key: &str, hashes: &[String]) -> Self {
        let (answers, faults) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let mut callers = JoinSet::new();
        for lane in 0..CALLERS {
            let (url, key, hashes) = (url.to_owned(), key.to_owned(), hashes.to_vec());
            let (answers, faults) = (Arc::clone(&answers), Arc::clone(&faults));
            callers.spawn(async move {
                let client = crate::harness::client();
                for turn in lane.. {
                    let hash = &hashes[turn % hashes.len()];
                    let request = match turn % 3 {
                        0 => client.get(format!("{url}/categories")),
                        1 => client.get(format!("{url}/quota-status")).bearer_auth(&key),
                        _ => client.post(format!("{url}/v1/classify")).bearer_auth(&key).json(&single(hash)),
                    };
                    let answer = async { request.send().await?.error_for_status()?.bytes().await };
                    match answer.await {
                        Ok(_) => {
                            answers.fetch_add(1, Ordering::SeqCst);
                        }
                        Err(error) => faults.lock().unwrap().push(error.to_string()),
                    }
                }
            });
        }
        Self { answers, faults, _callers: callers }
    }

    async fn goes_on(&self) {
        let enough = self.answers.load(Ordering::SeqCst) + 60;
        within(BUSY, async || self.answers.load(Ordering::SeqCst) >= enough).await;
        let faults = self.faults.lock().unwrap();
        assert!(faults.is_empty(), "callers saw {faults:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_upgrade_is_seen_by_no_caller() {
    let postgres = Postgres::start();
    let pair = Pair::on(&postgres, "TAXON_POOL_ANON", "10");
    let mut instances = BTreeMap::from([(0, pair.start(0).await), (1, pair.start(1).await)]);
    let books = Books::open(&instances[&0]).await;
    let (owner, key) = caller(&pair.setups[0], "steady", 1_000);
    let proxy = Proxy::start(pair.ports).await;
    let client = crate::harness::client();
    let counts = [chains(&client, &instances[&0].url).await, chains(&client, &instances[&1].url).await];
    assert_ne!(counts[0], counts[1]);
    let is_served_by = async |at: usize| {
        within(BUSY, async || chains(&client, &proxy.url).await == counts[at]).await;
    };
    is_served_by(0).await;
    is_served_by(1).await;

    let traffic = Traffic::start(&proxy.url, &key, &books.billable);
    traffic.goes_on().await;
    for at in [0, 1] {
        let leaving = instances.remove(&at).unwrap();
        assert_eq!(leaving.stop().await, Some(0));
        traffic.goes_on().await;
        instances.insert(at, pair.start(at).await);
        is_served_by(at).await;
        traffic.goes_on().await;
    }
    drop(traffic);
    let paid = books.check(&pair.setups[0]);
    assert!(paid[&owner] > 0 && paid[&owner] <= books.billable.len(), "{paid:?}");
}

/// Whoever calls, whichever instance answers: one caller is one caller, and says nothing about who it is.
#[tokio::test]
async fn callers_are_told_apart_behind_the_proxy_and_share_what_is_theirs() {
    let postgres = Postgres::start();
    let pair = Pair::on(&postgres, "TAXON_RATE_PER_MINUTE", "6");
    let _instances = [pair.start(0).await, pair.start(1).await];
    let proxy = Proxy::start(pair.ports).await;
    let from = |address: &str| {
        let address: IpAddr = address.parse().unwrap();
        chains::http::client_builder().local_address(address).build().unwrap()
    };
    let ask = async |client: &reqwest::Client, key: Option<&str>, claim: &str| {
        let mut request = client.get(format!("{}/quota-status", proxy.url)).header("x-forwarded-for", claim);
        if let Some(key) = key {
            request = request.bearer_auth(key);
        }
        read(request.send().await.unwrap()).await.status
    };
    let (one, other) = (from("127.0.0.2"), from("127.0.0.3"));
    for turn in 0..6 {
        assert_eq!(ask(&one, None, &format!("203.0.113.{turn}")).await, 200);
    }
    assert_eq!(ask(&one, None, "203.0.113.77").await, 429, "what a caller claims to be does not count");
    assert_eq!(ask(&other, None, "127.0.0.2").await, 200, "and somebody else is somebody else");

    let (_, key) = caller(&pair.setups[0], "keyed", 10);
    for _ in 0..6 {
        assert_eq!(ask(&other, Some(&key), "").await, 200);
    }
    assert_eq!(ask(&one, Some(&key), "").await, 429, "both instances count in one window");
}

#[tokio::test]
async fn one_pool_is_spent_through_the_proxy() {
    let postgres = Postgres::start();
    let pair = Pair::on(&postgres, "TAXON_POOL_ANON", "10");
    let instances = [pair.start(0).await, pair.start(1).await];
    let books = Books::open(&instances[0]).await;
    let proxy = Proxy::start(pair.ports).await;
    let (owner, key) = caller(&pair.setups[0], "shared", 12);
    let client = crate::harness::client();
    let calls = books.billable.iter().take(30).map(async |hash| {
        let request = client.post(format!("{}/v1/classify", proxy.url)).bearer_auth(&key).json(&single(hash));
        let answer = read(request.send().await.unwrap()).await;
        books.hear(&owner, &answer);
        answer.status
    });
    let statuses = futures_util::future::join_all(calls).await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 12, "{statuses:?}");
    assert_eq!(books.check(&pair.setups[0])[&owner], 12);
    // As large as a body may be, and a byte more: the words are taxon's own.
    for (bytes, code) in [(1024 * 1024, "invalid_hash"), (1024 * 1024 + 1, "invalid_request")] {
        let empty = json!({ "hash": "" }).to_string().len();
        let body = json!({ "hash": "x".repeat(bytes - empty) }).to_string();
        let request = client.post(format!("{}/v1/classify", proxy.url)).bearer_auth(&key);
        let answer = read(request.header("content-type", "application/json").body(body).send().await.unwrap()).await;
        assert_eq!((answer.status, answer.code()), (400, code));
    }
}

/// A one-time link is a secret: no log has it, not even next to an error.
#[tokio::test]
async fn the_proxy_writes_no_link_down() {
    let proxy = Proxy::start([free_port(), free_port()]).await;
    for path in ["link/one-time-secret", "somewhere-else"] {
        assert_eq!(crate::harness::client().get(format!("{}/{path}", proxy.url)).send().await.unwrap().status(), 502);
    }
    let log = std::fs::read_to_string(proxy.folder.path().join("error.log")).unwrap();
    assert!(log.contains("somewhere-else") && !log.contains("one-time-secret"), "{log}");
}

/// On shutdown new calls are refused at once, so that a proxy goes to the next instance; calls in flight get their answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_closes_the_door_and_answers_whoever_is_inside() {
    let node = SlowNode::start(Duration::from_secs(3)).await;
    let setup = Setup::demo().with("TAXON_RPC_ETHEREUM", &node.url);
    let taxon = Arc::new(setup.start().await);
    let books = Books::open(&taxon).await;
    let (_, key) = caller(&setup, "inside", 5);
    let address = taxon.url.trim_start_matches("http://").to_owned();
    let mut idle = TcpStream::connect(&address).unwrap();
    idle.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: taxon\r\n\r\n").unwrap();
    let mut answer = [0; 4_096];
    let length = idle.read(&mut answer).unwrap();
    let text = String::from_utf8_lossy(&answer[..length]).to_lowercase();
    assert!(text.starts_with("http/1.1 200") && !text.contains("connection: close"), "{text}");

    let call = post_slowly(&taxon, &key, &books.billable[0]).await;
    node.is_asked_for(1).await;
    taxon.terminate();
    within(Duration::from_secs(2), async || TcpStream::connect(&address).is_err()).await;
    assert_eq!(idle.read(&mut answer).unwrap(), 0, "a connection without a request is closed");
    let answer = call.await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(Arc::into_inner(taxon).unwrap().stop().await, Some(0));
}

/// The value of an instruction, with its continued lines.
fn instruction(name: &str) -> String {
    let text = file("Dockerfile").replace("\\\n", " ");
    let found: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(&format!("{name} "))).collect();
    (*found.last().unwrap_or_else(|| panic!("the Dockerfile has no {name}"))).to_owned()
}

fn words(list: &str) -> Vec<String> {
    serde_json::from_str(list.trim()).unwrap_or_else(|error| panic!("{list}: {error}"))
}

/// What the image starts, and how it is asked whether it is well, with the image's environment but for port and folder.
#[tokio::test]
async fn the_image_starts_and_knows_how_it_is() {
    let start = [words(&instruction("ENTRYPOINT")), words(&instruction("CMD"))].concat();
    let check = instruction("HEALTHCHECK");
    let check = words(check.split_once("CMD").unwrap().1);
    assert_eq!((start[0].as_str(), check[0].as_str()), ("taxon", "taxon"));
    let environment = instruction("ENV");
    let mut setup = Setup::demo();
    for pair in environment.split_whitespace() {
        let (name, value) = pair.split_once('=').unwrap();
        let value = if name == "TAXON_DATA_DIR" { setup.data.path().display().to_string() } else { value.to_owned() };
        setup = setup.with(name, &value);
    }
    let port = free_port();
    setup = setup.clone().with("TAXON_LISTEN", &setup.env["TAXON_LISTEN"].replace("8080", &port.to_string()));
    let check: Vec<&str> = check.iter().skip(1).map(String::as_str).collect();
    let health = |more: &[&str]| setup.output(&[check.as_slice(), more].concat()).status.code();
    assert_eq!(health(&[]), Some(1), "nobody is there yet");
    assert_eq!(start[1..], ["serve"]);
    let taxon = setup.start_on(port, String::new()).await;
    assert_eq!((health(&[]), health(&["--alive"])), (Some(0), Some(0)));
    assert_eq!(health(&["--url", &taxon.url]), Some(0));
    assert_eq!(taxon.stop().await, Some(0));
    assert_eq!((health(&[]), health(&["--alive"])), (Some(1), Some(1)));
}

#[tokio::test]
async fn without_its_database_an_instance_lives_but_is_not_ready() {
    let postgres = Postgres::start();
    let setup = Setup::demo().with("TAXON_DATABASE_URL", &postgres.url);
    let taxon = setup.start_on(free_port(), String::new()).await;
    postgres.stop();
    let health = |more: &[&str]| setup.output(&[&["health", "--url", taxon.url.as_str()][..], more].concat());
    within(Duration::from_secs(20), async || health(&[]).status.code() == Some(1)).await;
    assert_eq!(health(&["--alive"]).status.code(), Some(0));
    let secret = setup.output(&["health", "--url", "http://user:hunter2@127.0.0.1:9"]);
    assert!(!String::from_utf8_lossy(&secret.stderr).contains("hunter2"));
}

/// What the build copies is there, and what it runs is what `./run` and the README tell.
#[test]
fn the_build_is_the_one_that_is_documented() {
    let text = file("Dockerfile").replace("\\\n", " ");
    for sources in text.lines().filter_map(|line| line.strip_prefix("COPY ")).filter(|line| !line.starts_with("--from"))
    {
        for source in sources.split_whitespace().rev().skip(1) {
            assert!(root().join(source).exists(), "{source}");
        }
    }
    let build = "cargo build --release --locked --package taxon";
    assert!(text.contains(build) && file("run").contains(build));
    let ignored = file(".dockerignore");
    for needed in
        ["crates", "bench", "chains.toml", "tokens", "protocols", "migrations", "demo", "docs", "CHANGELOG.md"]
    {
        assert!(root().join(needed).exists() && !ignored.lines().any(|line| line == needed), "{needed}");
    }
    for secret in ["deploy", "taxon.toml", "taxon-data", ".git"] {
        assert!(ignored.lines().any(|line| line == secret), "{secret} stays out of the image");
    }
    for page in ["README.md", "docs/self-hosting.md"] {
        for command in ["deploy/make-secrets", "docker compose up --build --detach --wait"] {
            assert!(file(page).contains(command) && file("compose.yaml").contains(command), "{page}: {command}");
        }
    }
}

#[test]
fn secrets_are_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let secrets = folder.path().join("secrets");
    let make = || assert!(Command::new(root().join("deploy/make-secrets")).arg(&secrets).status().unwrap().success());
    let told =
        || ["database_url", "postgres_password"].map(|name| std::fs::read_to_string(secrets.join(name)).unwrap());
    make();
    let [url, password] = told();
    assert_eq!(password.len(), 48);
    assert_eq!(url, format!("postgres://taxon:{password}@postgres/taxon"));
    make();
    assert_eq!(told(), [url, password]);
    let compose = file("compose.yaml");
    for name in ["database_url", "postgres_password"] {
        assert!(compose.contains(&format!("file: deploy/secrets/{name}")));
    }
}

/// Certificates of a fleet: made once, and each only for what it is for.
#[test]
fn certificates_of_a_fleet_are_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let secrets = folder.path().join("secrets");
    let make = || {
        assert!(Command::new(root().join("deploy/fleet/make-secrets")).arg(&secrets).status().unwrap().success());
        let files = std::fs::read_dir(&secrets).unwrap().map(|file| file.unwrap().path());
        files.map(|file| (file.clone(), std::fs::read(file).unwrap())).collect::<BTreeMap<_, _>>()
    };
    let made = make();
    // Two authorities, two certificates for each of three servers, and five users, with their keys.
    assert_eq!(made.len(), 2 * (2 + 6 + 5));
    assert_eq!(make(), made);
    let renewed = secrets.join("worker.crt");
    std::fs::remove_file(&renewed).unwrap();
    let again = make();
    assert_ne!(again[&renewed], made[&renewed]);
    assert_eq!(again.iter().filter(|(file, bytes)| made[*file] != **bytes).count(), 1, "its key stays too");
    let is_ignored = file(".gitignore").lines().any(|line| line == "/deploy/fleet/secrets/");
    assert!(is_ignored, "secrets are never committed");
}
