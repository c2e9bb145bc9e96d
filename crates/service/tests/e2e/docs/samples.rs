//! Runs the samples of a page in their order, in one folder, as a reader would who follows it. The info string of a block says what it is:
//!
//! | block | what is done |
//! |---|---|
//! | `sh` | run by bash; variables that it exports stay for the next |
//! | `sh serve` | started, and from then on the service of the page |
//! | `sh postgres` | a service on a real PostgreSQL: started, asked, stopped |
//! | `sh nats` | a real NATS server, started, and there for what follows |
//! | `sh admin` | needs root, a container engine or a cluster, so it is not run: `admin.rs` checks what it names |
//! | `python`, `ts` | run with the client of that language |
//! | `json output`, `text output` | what the sample before it printed |
//! | `json mcp`, `toml mcp` | an agent's configuration: its address and headers are used to call a tool |
//! | `toml config`, `toml chains`, `toml pack` | loaded by taxon |
//! | `text` | not code |
//!
//! Any other block fails the test, so that no sample slips through.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use serde_json::{Value, json};

use super::{admin, matching};
use crate::harness::{Postgres, Running, Setup, free_port, root, wait_for};

/// As the pages write the address of the service, of its metrics, of NATS, and of a database.
const ADDRESS: &str = "127.0.0.1:8080";
const METRICS: &str = "127.0.0.1:9464";
const NATS: &str = "127.0.0.1:4222";
const NATS_ARGUMENTS: &str = "--addr 127.0.0.1 --port 4222";
const DATABASE: &str = "postgres://taxon:secret@db.example.com/taxon";

#[derive(Debug, Clone)]
pub struct Block {
    /// File and line, for the message of a failure.
    place: String,
    info: String,
    pub text: String,
}

impl Block {
    pub fn is(&self, language: &str, word: &str) -> bool {
        self.info == format!("{language} {word}")
    }
}

/// The blocks of a page that are code.
pub fn blocks(page: &str, text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let line = text[..range.start].lines().count() + 1;
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.to_string(),
                    CodeBlockKind::Indented => "indented".to_owned(),
                };
                open = Some(Block { place: format!("{page}.md:{line}"), info, text: String::new() });
            }
            Event::Text(part) => open.iter_mut().for_each(|block| block.text.push_str(&part)),
            Event::End(TagEnd::CodeBlock) => blocks.extend(open.take().filter(|block| block.info != "text")),
            _ => {}
        }
    }
    blocks
}

pub async fn run(page: &str) {
    let file = root().join(format!("docs/{page}.md"));
    let text = std::fs::read_to_string(&file).unwrap();
    let mut desk = Desk::new();
    let blocks = blocks(page, &text);
    if blocks.first().is_none_or(|block| !block.is("sh", "serve")) {
        desk.serve("taxon serve --demo").await;
    }
    for (at, block) in blocks.iter().enumerate() {
        desk.take(block).await;
        if !blocks.iter().skip(at).take(2).any(|block| block.info.ends_with(" output")) {
            desk.look_over(block);
        }
    }
}

/// The session of one page's reader: a folder, a service, and what the last sample printed.
struct Desk {
    setup: Setup,
    port: u16,
    metrics_port: u16,
    nats_port: u16,
    env: BTreeMap<String, String>,
    service: Option<Running>,
    nats: Option<Running>,
    printed: String,
}

impl Desk {
    fn new() -> Self {
        let setup = Setup::demo();
        let (port, key) = (free_port(), setup.key("test@example.com", "dev", &[]));
        let programs = Path::new(env!("CARGO_BIN_EXE_taxon")).parent().unwrap();
        // Debian keeps servers out of an ordinary user's PATH.
        let path = format!("{}:{}:/usr/sbin", programs.display(), std::env::var("PATH").unwrap());
        let env = [
            ("PATH", path),
            ("TAXON_DATA_DIR", setup.data.path().display().to_string()),
            ("TAXON_KEY", key),
            ("TAXON_LISTEN", format!("127.0.0.1:{port}")),
            ("TAXON_LOG", "error".to_owned()),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value)).into_iter().chain(setup.env.clone()).collect();
        let (metrics_port, nats_port) = (free_port(), free_port());
        Self { setup, port, metrics_port, nats_port, env, service: None, nats: None, printed: String::new() }
    }

    async fn take(&mut self, block: &Block) {
        let text = block.text.replace(ADDRESS, &format!("127.0.0.1:{}", self.port));
        let text = text.replace(METRICS, &format!("127.0.0.1:{}", self.metrics_port));
        let text = text.replace(NATS, &format!("127.0.0.1:{}", self.nats_port));
        match block.info.as_str() {
            "sh" => self.shell(block, &text).await,
            "sh serve" => self.serve(&text).await,
            "sh postgres" => self.on_postgres(block, &text).await,
            "sh nats" => self.start_nats(block, &text).await,
            "sh admin" => admin::check(&block.place, &block.text),
            "python" => self.python(block, &text).await,
            "ts" => self.typescript(block, &text).await,
            "json output" => {
                let real: Value = serde_json::from_str(&self.printed).unwrap_or_else(|error| {
                    panic!("{}: the sample printed no JSON ({error}): {}", block.place, self.printed)
                });
                let shown: Value =
                    serde_json::from_str(&block.text).unwrap_or_else(|error| panic!("{}: {error}", block.place));
                let faults = matching::json(&shown, &real, "answer");
                assert!(faults.is_empty(), "{}: {}\n{}", block.place, faults.join("\n"), self.printed);
            }
            "text output" => {
                assert!(
                    matching::text(&block.text, &self.printed),
                    "{}: the sample printed\n{}",
                    block.place,
                    self.printed
                );
            }
            "json mcp" => self.call_tool(block, agent_of_json(block, &text)).await,
            "toml mcp" => self.call_tool(block, agent_of_toml(block, &text)).await,
            "toml config" => self.load(block, "taxon.toml", &["--config", "taxon.toml", "config"]).await,
            "toml chains" => self.load(block, "mine.toml", &["--chains", "mine.toml", "chains"]).await,
            "toml pack" => self.load(block, "packs/mine.toml", &["--rules", "packs", "rules", "check"]).await,
            other => panic!("{}: a block `{other}` is none that this test knows how to execute", block.place),
        }
    }

    /// A call that was refused ends well for curl, so a sample whose output the page does not show is looked over.
    fn look_over(&self, block: &Block) {
        let answer: Value = serde_json::from_str(&self.printed).unwrap_or_default();
        let is_refused = answer.get("error").is_some() || answer["result"]["isError"] == true;
        assert!(!is_refused, "{}: {answer}", block.place);
    }

    fn file(&self, name: &str) -> PathBuf {
        self.setup.data.path().join(name)
    }

    /// What a program printed. The samples wait for a service, so the test must not block meanwhile.
    async fn output(&mut self, block: &Block, mut command: Command) {
        command.envs(&self.env).current_dir(self.setup.data.path());
        let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap();
        let output = output.unwrap_or_else(|error| panic!("{}: {error}", block.place));
        self.printed = String::from_utf8(output.stdout).unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {}\n{}{said}", block.place, output.status, self.printed);
    }

    /// Variables that a sample exports are there for the next, as in the reader's terminal.
    async fn shell(&mut self, block: &Block, text: &str) {
        let script = format!("if [ -f .exported ]; then . ./.exported; fi\n{text}\nexport -p > .exported\n");
        let mut bash = Command::new("bash");
        bash.args(["-euo", "pipefail", "-c", &script]);
        self.output(block, bash).await;
    }

    /// One command, perhaps with variables before it.
    async fn serve(&mut self, line: &str) {
        self.service = None;
        self.service = Some(self.start(line, self.port).await);
    }

    async fn start(&self, line: &str, port: u16) -> Running {
        let mut command = Command::new("bash");
        command.args(["-c", &format!("exec env {}", line.trim())]);
        command.envs(&self.env).env("TAXON_LISTEN", format!("127.0.0.1:{port}")).current_dir(self.setup.data.path());
        let running = Running::start(&command);
        let url = format!("http://127.0.0.1:{port}/readyz");
        wait_for(&url, async |url| {
            crate::harness::client().get(url).send().await.is_ok_and(|answer| answer.status() == 200)
        })
        .await;
        running
    }

    async fn on_postgres(&self, block: &Block, text: &str) {
        assert!(text.contains(DATABASE), "{}: {DATABASE} stands for the database", block.place);
        let postgres = tokio::task::spawn_blocking(|| Arc::new(Postgres::start())).await.unwrap();
        let running = self.start(&text.replace(DATABASE, &postgres.url), free_port()).await;
        drop(running);
    }

    async fn start_nats(&mut self, block: &Block, text: &str) {
        assert!(text.contains(NATS_ARGUMENTS), "{}: {NATS_ARGUMENTS} says where it listens", block.place);
        let line = text.replace(NATS_ARGUMENTS, &format!("--addr 127.0.0.1 --port {}", self.nats_port));
        let mut command = Command::new("bash");
        command
            .args(["-c", &format!("exec {} 2>/dev/null", line.trim())])
            .envs(&self.env)
            .current_dir(self.setup.data.path());
        self.nats = Some(Running::start(&command));
        wait_for(&format!("127.0.0.1:{}", self.nats_port), async |address| {
            tokio::net::TcpStream::connect(address).await.is_ok()
        })
        .await;
    }

    async fn python(&mut self, block: &Block, text: &str) {
        let python = root().join("target/clients/python/venv/bin/python");
        assert!(python.exists(), "{}: the Python client is not installed: run ./test", block.place);
        std::fs::write(self.file("sample.py"), text).unwrap();
        let mut command = Command::new(python);
        command.arg("sample.py");
        self.output(block, command).await;
    }

    /// Checked by the compiler as in a project that has the client installed, then run.
    async fn typescript(&mut self, block: &Block, text: &str) {
        let client = root().join("clients/typescript").canonicalize().unwrap_or_default();
        let is_built = client.join("dist/index.js").exists() && client.join("node_modules/.bin/tsc").exists();
        assert!(is_built, "{}: the TypeScript client is not built: run ./test", block.place);
        let modules = self.file("node_modules");
        if !modules.exists() {
            std::fs::create_dir(&modules).unwrap();
            std::os::unix::fs::symlink(&client, modules.join("taxon-client")).unwrap();
            std::os::unix::fs::symlink(client.join("node_modules/@types"), modules.join("@types")).unwrap();
            std::fs::write(self.file("package.json"), "{\"type\":\"module\"}").unwrap();
        }
        std::fs::write(self.file("sample.ts"), text).unwrap();
        let mut compiler = Command::new(client.join("node_modules/.bin/tsc"));
        compiler.args(["sample.ts", "--strict", "--module", "nodenext", "--target", "es2022", "--types", "node"]);
        self.output(block, compiler).await;
        let mut node = Command::new("node");
        node.arg("sample.js");
        self.output(block, node).await;
    }

    async fn load(&mut self, block: &Block, name: &str, arguments: &[&str]) {
        let file = self.file(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &block.text).unwrap();
        let mut taxon = Command::new("taxon");
        taxon.args(arguments);
        self.output(block, taxon).await;
        std::fs::remove_file(file).unwrap();
    }

    /// An agent's configuration is right when its address and headers list the tools and may call one.
    async fn call_tool(&self, block: &Block, agent: Agent) {
        let key = &self.env["TAXON_KEY"];
        let ask = async |method: &str, params: Value| -> Value {
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            let mut request = crate::harness::client().post(&agent.url).json(&body);
            request = request.header("accept", "application/json, text/event-stream");
            for (name, value) in &agent.headers {
                request = request.header(name, value.replace(KEY, key));
            }
            let answer = request.send().await.unwrap();
            assert_eq!(answer.status(), 200, "{}: {method}", block.place);
            answer.json().await.unwrap()
        };
        let listed = ask("tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{}: {listed}", block.place));
        assert!(tools.iter().any(|tool| tool["name"] == "classify_batch"), "{}: {listed}", block.place);
        let called = ask("tools/call", json!({ "name": "quota_status", "arguments": {} })).await;
        assert_eq!(called["result"]["structuredContent"]["kind"], "dev", "{}: {called}", block.place);
    }
}

/// What an agent's configuration comes to. In the headers `KEY` is where the agent puts the key.
struct Agent {
    url: String,
    headers: BTreeMap<String, String>,
}

const KEY: &str = "<the key>";

fn agent_of_json(block: &Block, text: &str) -> Agent {
    let config: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{}: {error}", block.place));
    let place = &block.place;
    let server = ["mcpServers", "servers"].iter().map(|name| &config[name]["taxon"]).find(|server| server.is_object());
    let server = server.unwrap_or_else(|| panic!("{place}: no server is called taxon"));
    let mut text_of =
        BTreeMap::from([("TAXON_KEY".to_owned(), KEY.to_owned()), ("env:TAXON_KEY".to_owned(), KEY.to_owned())]);
    for input in config["inputs"].as_array().into_iter().flatten() {
        text_of.insert(format!("input:{}", input["id"].as_str().unwrap()), KEY.to_owned());
    }
    for (name, value) in server["env"].as_object().into_iter().flatten() {
        text_of.insert(name.clone(), value.as_str().unwrap().replace("YOUR_KEY", KEY));
    }
    let filled = |text: &str| {
        let filled =
            text_of.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${{{name}}}"), value));
        assert!(!filled.contains("${"), "{place}: {text} names something that is not set");
        filled
    };
    if let Some(url) = server["url"].as_str() {
        let headers = server["headers"].as_object().unwrap().iter();
        let headers = headers.map(|(name, value)| (name.clone(), filled(value.as_str().unwrap()))).collect();
        return Agent { url: url.to_owned(), headers };
    }
    // The bridge: its arguments are the address and the headers.
    let arguments: Vec<&str> =
        server["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap()).collect();
    let url = arguments.iter().find(|argument| argument.starts_with("http")).unwrap();
    let after = arguments.iter().skip_while(|argument| **argument != "--header").nth(1).unwrap();
    let (name, value) = after.split_once(':').unwrap();
    Agent { url: (*url).to_owned(), headers: BTreeMap::from([(name.to_owned(), filled(value.trim()))]) }
}

fn agent_of_toml(block: &Block, text: &str) -> Agent {
    let config: toml::Table = toml::from_str(text).unwrap_or_else(|error| panic!("{}: {error}", block.place));
    let server = &config["mcp_servers"]["taxon"];
    assert_eq!(server["bearer_token_env_var"].as_str(), Some("TAXON_KEY"), "{}", block.place);
    let headers = BTreeMap::from([("Authorization".to_owned(), format!("Bearer {KEY}"))]);
    Agent { url: server["url"].as_str().unwrap().to_owned(), headers }
}
