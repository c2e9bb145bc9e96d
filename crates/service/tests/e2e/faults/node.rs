//! A node that answers from the demo recordings, byte for byte on a socket of its own, so that it can break any promise that a polite
//! server keeps. Each node serves the same transactions under hashes of its own, so that many of them are as many chains.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime};

use chains::Tape;
use chains::error::CallError;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use super::fault::Act;
use super::wire;
use crate::harness::{Scenario, demo_scenario, free_port};

/// The characters that end our own hashes: hexadecimal digits that are digits of base58 too.
const DIGITS: &[u8] = b"123456789abcdef";
/// Two for the chain, two for the use that a test makes of it.
const OWN_DIGITS: usize = 4;
/// Uses of a transaction that two digits can tell apart.
pub const USAGES_MAX: usize = DIGITS.len() * DIGITS.len();
/// The newest block of every node.
const HEAD: u64 = 400;
/// Under this name a transaction still has the part of its signature that is called `r`.
pub const SIGNED_R: &str = "signedR";
/// What every lie that holds text says: none of it may reach a caller.
pub const MARKER: &str = "upstream-words-7731";

/// A chain that a node serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub is_solana: bool,
    pub number: usize,
}

impl Place {
    pub fn slug(&self) -> String {
        format!("{}{}", if self.is_solana { "solana" } else { "evm" }, self.number)
    }

    pub fn chain_id(&self) -> u64 {
        910_000 + u64::try_from(self.number).unwrap()
    }

    /// Its row, as `demo/chain.toml` has it.
    pub fn row(&self) -> String {
        let rows = include_str!("../../../../../demo/chain.toml");
        let (evm, solana) = rows.split_at(rows.rfind("[[chain]]").unwrap());
        let (row, slug) = if self.is_solana { (solana, "demo-solana") } else { (evm, "demo") };
        row.replace(&format!("\"{slug}\""), &format!("\"{}\"", self.slug()))
            .replace("31337", &self.chain_id().to_string())
    }

    /// What this chain calls a recorded transaction, apart for each use.
    pub fn hash(&self, original: &str, usage: usize) -> String {
        let digits = [self.number / DIGITS.len(), self.number, usage / DIGITS.len(), usage];
        let own = digits.map(|digit| char::from(DIGITS[digit % DIGITS.len()]));
        format!("{}{}", stem(original), own.iter().collect::<String>())
    }

    fn is_own(&self, hash: &str) -> bool {
        let own = self.hash(hash, 0);
        let chain = own.len() - OWN_DIGITS..own.len() - 2;
        hash.get(chain.clone()) == own.get(chain)
    }
}

fn stem(hash: &str) -> &str {
    &hash[..hash.len() - OWN_DIGITS]
}

/// The transactions of both demo chains, by name.
pub fn recorded() -> &'static [Scenario; 2] {
    static RECORDED: OnceLock<[Scenario; 2]> = OnceLock::new();
    RECORDED.get_or_init(|| {
        let solana = include_str!("../../../../../demo/solana-scenario.json");
        [demo_scenario(), serde_json::from_str(solana).unwrap()]
    })
}

/// One call of a request, and how often this node was asked the same before.
pub struct Asked<'a> {
    pub method: &'a str,
    pub before: usize,
}

pub struct Node {
    pub url: String,
    pub place: Place,
    inside: Arc<Inside>,
    task: Mutex<AbortHandle>,
}

pub struct Inside {
    place: Place,
    act: Option<Act>,
    is_well: AtomicBool,
    /// Requests that got something else than an answer.
    put_off: AtomicUsize,
    /// Requests for anything but the address that the service was given.
    strays: AtomicUsize,
    asked: Mutex<BTreeMap<String, usize>>,
}

impl Node {
    /// `None` is a node that does as it should.
    pub async fn start(place: Place, act: Option<Act>) -> Self {
        let address = format!("127.0.0.1:{}", free_port());
        let listener = TcpListener::bind(&address).await.unwrap();
        let url = format!("http://{address}");
        let inside = Arc::new(Inside {
            place,
            act,
            is_well: AtomicBool::new(act.is_none()),
            put_off: AtomicUsize::new(0),
            strays: AtomicUsize::new(0),
            asked: Mutex::default(),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&inside))).abort_handle();
        if matches!(act, Some(Act::Closed)) {
            task.abort();
        }
        Self { url, place, inside, task: Mutex::new(task) }
    }

    /// From now on it does as it should.
    pub async fn heal(&self) {
        self.inside.is_well.store(true, Ordering::SeqCst);
        if matches!(self.inside.act, Some(Act::Closed)) {
            let address = self.url.trim_start_matches("http://");
            let listener = TcpListener::bind(address).await.unwrap();
            *self.task.lock().unwrap() = tokio::spawn(accept(listener, Arc::clone(&self.inside))).abort_handle();
        }
    }

    /// Requests that followed a redirect.
    pub fn strays(&self) -> usize {
        self.inside.strays.load(Ordering::SeqCst)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.task.lock().unwrap().abort();
    }
}

async fn accept(listener: TcpListener, inside: Arc<Inside>) {
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        tokio::spawn(converse(socket, Arc::clone(&inside)));
    }
}

/// One connection, for as many requests as the other side sends.
async fn converse(mut socket: TcpStream, inside: Arc<Inside>) {
    let _ = socket.set_nodelay(true);
    let mut left = Vec::new();
    while let Some((head, body)) = request(&mut socket, &mut left).await {
        if !head.starts_with("post / ") {
            inside.strays.fetch_add(1, Ordering::SeqCst);
        }
        let is_batch = body.is_array();
        let calls = if let Value::Array(calls) = body { calls } else { vec![body] };
        let before: Vec<usize> = calls.iter().map(|call| inside.count(call)).collect();
        let members: Vec<String> = calls.iter().map(|call| inside.member(call)).collect();
        let act = inside.act.filter(|_| !inside.is_well.load(Ordering::SeqCst));
        let text = match act {
            Some(Act::Results(edit)) => {
                let mut members = values(&members);
                for ((call, before), member) in calls.iter().zip(before).zip(&mut members) {
                    if let Some(result) = member.get_mut("result") {
                        edit(&Asked { method: call["method"].as_str().unwrap(), before }, result);
                    }
                }
                if is_batch { Value::Array(members) } else { members.remove(0) }.to_string()
            }
            Some(Act::Members(edit)) => {
                let mut members = values(&members);
                edit(&mut members);
                // An error that names no call is a single object, also as the answer to a batch.
                let is_whole =
                    matches!(members.as_slice(), [one] if !is_batch || one["id"].is_null() && one.is_object());
                if is_whole { members.remove(0) } else { Value::Array(members) }.to_string()
            }
            Some(Act::Text(edit)) => edit(&together(&members, is_batch)),
            Some(Act::Closed | Act::Wire(_) | Act::Instead { .. }) | None => together(&members, is_batch),
        };
        let methods: Vec<&str> = calls.iter().filter_map(|call| call["method"].as_str()).collect();
        let said = match act {
            Some(Act::Wire(how)) => wire::misbehave(how, &mut socket, &text, &methods).await,
            Some(Act::Instead { status, headers, body, times }) if inside.told(times) => {
                socket.write_all(&wire::response(status, headers, body.as_bytes())).await
            }
            _ => socket.write_all(&wire::response("200 OK", "", text.as_bytes())).await,
        };
        if said.is_err() {
            return;
        }
    }
}

fn together(members: &[String], is_batch: bool) -> String {
    let all = members.join(",");
    if is_batch { format!("[{all}]") } else { all }
}

fn values(members: &[String]) -> Vec<Value> {
    members.iter().map(|member| serde_json::from_str(member).unwrap()).collect()
}

/// The head and the body of the next request; `None` when the other side has gone.
async fn request(socket: &mut TcpStream, left: &mut Vec<u8>) -> Option<(String, Value)> {
    loop {
        if let Some(end) = left.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&left[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"))?;
            let body = end + 4..end + 4 + length.trim().parse::<usize>().unwrap();
            if left.len() >= body.end {
                let value = serde_json::from_slice(&left[body.clone()]).unwrap();
                left.drain(..body.end);
                return Some((head, value));
            }
        }
        if socket.read_buf(left).await.ok()? == 0 {
            return None;
        }
    }
}

impl Inside {
    fn told(&self, times: usize) -> bool {
        self.put_off.fetch_add(1, Ordering::SeqCst) < times
    }

    /// How often the same was asked before.
    fn count(&self, call: &Value) -> usize {
        let key = format!("{}{}", call["method"], call["params"]);
        let mut asked = self.asked.lock().unwrap();
        let before = asked.entry(key).or_default();
        *before += 1;
        *before - 1
    }

    /// As text: most of it passes through unread.
    fn member(&self, call: &Value) -> String {
        let id = &call["id"];
        match self.answer(call["method"].as_str().unwrap(), &call["params"]) {
            Ok(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
            Err(error) => {
                let code = if error == CallError::Unsupported { -32_601 } else { -32_000 };
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": MARKER } }).to_string()
            }
        }
    }

    fn answer(&self, method: &str, params: &Value) -> Result<String, CallError> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
        match (method, params[0].as_str()) {
            ("eth_chainId", _) => return Ok(format!("\"{:#x}\"", self.place.chain_id())),
            ("eth_blockNumber", _) => return Ok(format!("\"{HEAD:#x}\"")),
            ("eth_syncing", _) => return Ok("false".to_owned()),
            ("getSlot" | "getBlockHeight", _) => return Ok(HEAD.to_string()),
            ("getHealth", _) => return Ok("\"ok\"".to_owned()),
            ("eth_getBlockByNumber", Some("latest" | "safe" | "finalized")) => {
                let hash = format!("0x{HEAD:064x}");
                let (number, timestamp) = (format!("{HEAD:#x}"), format!("{now:#x}"));
                return Ok(json!({ "hash": hash, "number": number, "timestamp": timestamp }).to_string());
            }
            _ => {}
        }
        let (scenario, slug) = if self.place.is_solana { (1, "demo-solana") } else { (0, "demo") };
        let asked = params[0].as_str().or_else(|| params[0][0].as_str());
        let known = asked.filter(|asked| asked.len() > 64).and_then(|asked| {
            let transactions = &recorded()[scenario].transactions;
            let done = transactions.iter().find(|done| self.place.is_own(asked) && stem(&done.hash) == stem(asked))?;
            Some((asked, done.hash.as_str()))
        });
        let Some((own, original)) = known else {
            return match (method, tape().answer(slug, method, params)) {
                ("getSignatureStatuses", _) => Ok(json!({ "context": { "slot": HEAD }, "value": [null] }).to_string()),
                // A transaction that is not on the tape is not on the chain.
                ("eth_getTransactionByHash" | "getTransaction", Err(_)) => Ok("null".to_owned()),
                (_, answer) => Ok(answer?.get().to_owned()),
            };
        };
        let params: Value = serde_json::from_str(&params.to_string().replace(own, original)).unwrap();
        let said = tape().answer(slug, method, &params)?.get().replace(original, own);
        // Its own hash is not the hash of what was signed, so the signature is left out.
        let said = said.replace("\"r\":", &format!("\"{SIGNED_R}\":"));
        Ok(said.replace("\"chainId\":\"0x7a69\"", &format!("\"chainId\":\"{:#x}\"", self.place.chain_id())))
    }
}

fn tape() -> &'static Tape {
    static TAPE: OnceLock<Tape> = OnceLock::new();
    TAPE.get_or_init(|| {
        let text =
            concat!(include_str!("../../../../../demo/evm.jsonl"), include_str!("../../../../../demo/solana.jsonl"));
        Tape::read(text).unwrap()
    })
}
