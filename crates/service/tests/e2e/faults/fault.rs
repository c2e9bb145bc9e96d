//! The ways in which a node misbehaves: what each does in words, what the caller must see, and how soon.

use serde_json::{Value, json};

use super::node::{Asked, MARKER, SIGNED_R};
use super::wire::Wire;

#[derive(Debug, Clone, Copy)]
pub enum Act {
    /// Nobody listens.
    Closed,
    Wire(Wire),
    /// The first so many requests get this instead of an answer.
    Instead {
        status: &'static str,
        headers: &'static str,
        body: &'static str,
        times: usize,
    },
    /// The whole body, edited as text.
    Text(fn(&str) -> String),
    /// The members of a batch, or the one answer.
    Members(fn(&mut Vec<Value>)),
    /// What the node says to one call.
    Results(fn(&Asked<'_>, &mut Value)),
}

/// What the caller is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sees {
    /// What a healthy node's transaction gives, field by field.
    Right,
    /// The same category, treatment and movements; the node alone knows how tokens are called.
    RightButNames,
    Review,
    Code(&'static str),
}

impl Sees {
    pub fn words(self) -> String {
        match self {
            Self::Right => "the right answer".to_owned(),
            Self::RightButNames => "the right reading, with token names as the node tells them".to_owned(),
            Self::Review => "`needs_review`, with a note".to_owned(),
            Self::Code(code) => format!("`{code}`"),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Fault {
    pub name: &'static str,
    pub does: &'static str,
    pub act: Act,
    pub sees: Sees,
    /// The same on a Solana chain; what is wrong with an answer's content has no counterpart there.
    pub on_solana: Option<Sees>,
    /// With a second endpoint that is well.
    pub beside_a_good_one: Sees,
    /// The promise, in seconds; the test allows three times as much.
    pub seconds: u64,
    pub is_work: bool,
    pub is_pausing: bool,
    pub is_hidden: bool,
}

/// Every attempt fails at once: all of them, with their pauses.
const SOON: u64 = 3;
/// The node hangs: the whole call is given up.
const DEADLINE: u64 = 10;
const ALWAYS: usize = usize::MAX;

const TIMEOUT: Sees = Sees::Code("upstream_timeout");
const UNAVAILABLE: Sees = Sees::Code("upstream_unavailable");
const RATE_LIMITED: Sees = Sees::Code("upstream_rate_limited");
const BAD_RESPONSE: Sees = Sees::Code("upstream_bad_response");
const INCONSISTENT: Sees = Sees::Code("upstream_inconsistent");
const NOT_RETRIEVABLE: Sees = Sees::Code("tx_not_retrievable");

const fn fault(name: &'static str, does: &'static str, act: Act, sees: Sees, seconds: u64) -> Fault {
    let on_solana = match act {
        Act::Results(_) => None,
        _ => Some(sees),
    };
    Fault {
        name,
        does,
        act,
        sees,
        on_solana,
        beside_a_good_one: Sees::Right,
        seconds,
        is_work: false,
        is_pausing: false,
        is_hidden: false,
    }
}

const fn wire(name: &'static str, does: &'static str, how: Wire, sees: Sees, seconds: u64) -> Fault {
    fault(name, does, Act::Wire(how), sees, seconds)
}

/// Another status or body than an answer, each time.
const fn instead(
    name: &'static str,
    does: &'static str,
    [status, headers, body]: [&'static str; 3],
    sees: Sees,
) -> Fault {
    fault(name, does, Act::Instead { status, headers, body, times: ALWAYS }, sees, SOON)
}

const fn text(name: &'static str, does: &'static str, edit: fn(&str) -> String) -> Fault {
    fault(name, does, Act::Text(edit), BAD_RESPONSE, SOON)
}

const fn members(name: &'static str, does: &'static str, edit: fn(&mut Vec<Value>), sees: Sees) -> Fault {
    fault(name, does, Act::Members(edit), sees, SOON)
}

const fn results(name: &'static str, does: &'static str, edit: fn(&Asked<'_>, &mut Value), sees: Sees) -> Fault {
    fault(name, does, Act::Results(edit), sees, SOON)
}

impl Fault {
    const fn on_solana(mut self, sees: Option<Sees>) -> Self {
        self.on_solana = sees;
        self
    }

    const fn beside_a_good_one(mut self, sees: Sees) -> Self {
        self.beside_a_good_one = sees;
        self
    }

    const fn within(mut self, seconds: u64) -> Self {
        self.seconds = seconds;
        self
    }

    /// It is work for the machine too, so it is tried when nothing else is.
    const fn is_work(mut self) -> Self {
        self.is_work = true;
        self
    }

    /// The node asked to be left alone for longer than a test waits.
    const fn is_pausing(mut self) -> Self {
        self.is_pausing = true;
        self
    }

    /// Nothing shows it but another endpoint.
    const fn is_hidden(mut self) -> Self {
        self.is_hidden = true;
        self
    }
}

const HTML: &str = "<html><h1>Bad gateway</h1>upstream-words-7731</html>";
const BUSY: &str = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32005,\"message\":\"upstream-words-7731\"}}";
const REFUSAL: &str =
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,\"message\":\"upstream-words-7731\"}}";

#[rustfmt::skip]
pub const FAULTS: &[Fault] = &[
    // The connection.
    fault("closed port", "nobody listens", Act::Closed, UNAVAILABLE, SOON),
    wire("reset", "resets the connection after the request", Wire::Reset, UNAVAILABLE, SOON),
    wire("reset in the body", "resets the connection half way through the answer", Wire::ResetInBody, BAD_RESPONSE, SOON),
    wire("silence", "takes the request and never answers", Wire::Silence, TIMEOUT, DEADLINE),
    wire("stall", "stops half way through the answer and keeps the connection", Wire::Stall, TIMEOUT, DEADLINE),
    wire("slow drip", "answers two bytes a second", Wire::Drip, TIMEOUT, DEADLINE),
    wire("slow", "takes most of a second for every answer", Wire::Slow, Sees::Right, DEADLINE),
    wire("TLS on a plain port", "answers plain HTTP with a TLS alert", Wire::Tls, UNAVAILABLE, SOON),
    wire("chunks broken off", "closes in the middle of a chunk", Wire::ChunkedBrokenOff, BAD_RESPONSE, SOON),
    wire("length too long", "promises more bytes than it sends", Wire::LengthTooLong, BAD_RESPONSE, SOON),
    wire("flood of headers", "sends a million header lines", Wire::HeaderFlood, UNAVAILABLE, SOON).is_work(),
    wire("endless header line", "sends a header line of 64 MiB", Wire::HeaderLine, UNAVAILABLE, SOON).is_work(),
    wire("gzip bomb", "sends a mebibyte that unpacks to a gibibyte", Wire::GzipBomb, BAD_RESPONSE, DEADLINE).is_work(),
    wire("gzip of nothing", "says gzip and sends plain text", Wire::GzipOfNothing, BAD_RESPONSE, SOON),
    wire("endless body", "sends an answer that never ends, as fast as it is taken", Wire::Endless, BAD_RESPONSE, DEADLINE).is_work(),
    wire("not UTF-8", "puts a stray byte into the answer", Wire::NotUtf8, BAD_RESPONSE, SOON),
    // Statuses.
    instead("error page", "answers 502 with HTML", ["502 Bad Gateway", "content-type: text/html\r\n", HTML], UNAVAILABLE),
    instead("error page with 200", "answers 200 with HTML", ["200 OK", "", HTML], BAD_RESPONSE),
    instead("empty body", "answers 200 with nothing", ["200 OK", "", ""], BAD_RESPONSE),
    instead("204", "answers 204", ["204 No Content", "", ""], BAD_RESPONSE),
    instead("key expired", "answers 401", ["401 Unauthorized", "", REFUSAL], UNAVAILABLE),
    instead("error under a 4xx", "answers 400 with an error object", ["400 Bad Request", "", REFUSAL], UNAVAILABLE),
    instead("redirect", "sends the caller elsewhere; nobody follows", ["307 Temporary Redirect", "location: /elsewhere\r\n", HTML], BAD_RESPONSE),
    instead("429 storm", "answers 429 to everything, without Retry-After", ["429 Too Many Requests", "", BUSY], RATE_LIMITED).within(DEADLINE),
    instead("429 storm with Retry-After", "answers 429 to everything, Retry-After one second", ["429 Too Many Requests", "retry-after: 1\r\n", BUSY], RATE_LIMITED).within(DEADLINE),
    instead("429 storm for a day", "answers 429 to everything, Retry-After one day", ["429 Too Many Requests", "retry-after: 86400\r\n", BUSY], RATE_LIMITED).is_pausing(),
    instead("rate limit as an error object", "answers 200 with error -32005", ["200 OK", "", BUSY], RATE_LIMITED).within(DEADLINE),
    fault("429 once", "answers 429 to one request and is well again", Act::Instead { status: "429 Too Many Requests", headers: "", body: BUSY, times: 1 }, Sees::Right, SOON).within(DEADLINE),
    // Bodies.
    text("truncated JSON", "ends in the middle of the answer, with the length to match", |honest| honest[..honest.len() / 2].to_owned()),
    text("deep nesting", "answers a hundred thousand brackets", |_| "[".repeat(100_000)),
    text("NaN", "answers NaN for every result", |honest| honest.replace("\"result\":", "\"result\":NaN,\"was\":")),
    text("duplicate keys", "says each result twice in one member", |honest| honest.replace("\"result\":", "\"result\":null,\"result\":")),
    // Members of a batch.
    members("wrong ids", "answers under ids that nobody asked", |members| members.iter_mut().for_each(|one| one["id"] = json!(one["id"].as_u64().unwrap() + 1000)), BAD_RESPONSE),
    text("huge ids", "answers under ids of a hundred digits", |honest| honest.replace("\"id\":", &format!("\"id\":{}", "9".repeat(100)))),
    members("swapped answers", "gives each answer the id of its neighbour", |members| swap(members), INCONSISTENT).on_solana(Some(BAD_RESPONSE)),
    members("reordered batch", "answers in another order", |members| members.reverse(), Sees::Right),
    members("missing members", "leaves the answer out that holds the logs", |members| members.retain(|one| one["result"]["logs"].is_null() && one["result"]["meta"].is_null()), BAD_RESPONSE),
    members("empty batch", "answers no member at all", |members| members.clear(), BAD_RESPONSE),
    members("duplicated members", "gives every answer twice", |members| members.extend(members.clone()), Sees::Right),
    members("contradicting members", "gives every answer twice, and the second differs", contradict, BAD_RESPONSE),
    members("surplus members", "adds answers that nobody asked for", |members| members.push(json!({ "jsonrpc": "2.0", "id": 4096, "result": MARKER })), Sees::Right),
    members("null members", "answers null for each member", |members| members.iter_mut().for_each(|one| *one = Value::Null), BAD_RESPONSE),
    members("no batches", "refuses every batch with one error object", no_batches, Sees::Right),
    // What is said of the transaction.
    results("wrong chain id", "is a node of another chain", |asked, result| if asked.method == "eth_chainId" { *result = json!("0xdead") }, INCONSISTENT),
    results("another chain's transaction", "answers with a transaction that carries another chain id", |asked, result| edit(asked, "eth_getTransactionByHash", result, |tx| tx["chainId"] = json!("0x1")), INCONSISTENT),
    results("another transaction", "answers with a transaction of another hash", |asked, result| edit(asked, "eth_getTransactionByHash", result, |tx| tx["hash"] = other()), INCONSISTENT),
    results("receipt of another hash", "answers with the receipt of another transaction", |asked, result| edit(asked, "eth_getTransactionReceipt", result, |receipt| receipt["transactionHash"] = other()), INCONSISTENT),
    results("no receipt", "has the transaction, and null for its receipt", |asked, result| if asked.method == "eth_getTransactionReceipt" { *result = Value::Null }, NOT_RETRIEVABLE),
    results("receipt of another branch", "has transaction and receipt in different blocks, again and again", |asked, result| edit(asked, "eth_getTransactionReceipt", result, |receipt| receipt["blockHash"] = other()), INCONSISTENT),
    results("reorg between two calls", "has transaction and receipt in different blocks, once", |asked, result| if asked.before == 0 { edit(asked, "eth_getTransactionReceipt", result, |receipt| receipt["blockHash"] = other()) }, Sees::Right),
    results("no such block", "does not have the block of its own transaction", |asked, result| if asked.method == "eth_getBlockByNumber" { *result = Value::Null }, INCONSISTENT),
    results("another block", "answers with a block of another hash", |asked, result| edit(asked, "eth_getBlockByNumber", result, |block| block["hash"] = other()), INCONSISTENT),
    results("stale head", "is behind its chain and does not have the transaction yet", stale, Sees::Right).is_hidden(),
    results("numbers as strings", "writes quantities as decimal strings", |asked, result| edit(asked, "eth_getTransactionReceipt", result, decimal), Sees::Right),
    results("receipt without logs", "writes a word where the logs belong", |asked, result| edit(asked, "eth_getTransactionReceipt", result, |receipt| receipt["logs"] = json!(MARKER)), BAD_RESPONSE),
    results("10 MB receipt", "adds a log of ten megabytes by a stranger", |asked, result| edit(asked, "eth_getTransactionReceipt", result, swell), Sees::Right).is_work(),
    results("signed otherwise", "gives a transaction whose signed fields have another hash", |asked, result| edit(asked, "eth_getTransactionByHash", result, |transaction| transaction["r"] = transaction[SIGNED_R].take()), INCONSISTENT),
    results("trace of another transaction", "answers with a trace of another call", |asked, result| edit(asked, "debug_traceTransaction", result, |root| { root["input"] = json!("0xdeadbeef"); root["calls"] = json!([]); }), Sees::Review),
    results("trace of a failure", "says in the trace that it failed, in the receipt that it did not", |asked, result| edit(asked, "debug_traceTransaction", result, |root| root["error"] = json!(MARKER)), Sees::Review),
    results("trace of another value", "says in the trace that ether was sent, in the transaction that none was", |asked, result| edit(asked, "debug_traceTransaction", result, |root| root["value"] = json!("0xde0b6b3a7640000")), Sees::Review),
    results("tokens that lie", "calls every token USDC", lie_of_tokens, Sees::RightButNames).beside_a_good_one(Sees::RightButNames),
    results("tokens that say nothing", "answers nonsense to every question about a token", |asked, result| if asked.method == "eth_call" { *result = json!(format!("0x{}", "ff".repeat(96))) }, Sees::RightButNames).beside_a_good_one(Sees::RightButNames),
    wire("tokens that never answer", "never answers a question about a token", Wire::SilenceTo("eth_call"), TIMEOUT, DEADLINE).on_solana(None),
    wire("endless token", "answers questions about a token without end", Wire::EndlessTo("eth_call"), BAD_RESPONSE, DEADLINE).on_solana(None).is_work(),
];

fn other() -> Value {
    json!("0x0000000000000000000000000000000000000000000000000000000000000001")
}

/// The result of one method, where there is one.
fn edit(asked: &Asked<'_>, method: &str, result: &mut Value, edit: impl Fn(&mut Value)) {
    if asked.method == method && result.is_object() {
        edit(result);
    }
}

fn stale(asked: &Asked<'_>, result: &mut Value) {
    match asked.method {
        "eth_blockNumber" => *result = json!("0x1"),
        "eth_getBlockByNumber" => *result = json!({ "hash": other(), "number": "0x1", "timestamp": "0x6955b900" }),
        "eth_getTransactionByHash" | "eth_getTransactionReceipt" | "debug_traceTransaction" => *result = Value::Null,
        _ => {}
    }
}

fn swap(members: &mut [Value]) {
    let mut ids: Vec<Value> = members.iter().map(|one| one["id"].clone()).collect();
    ids.rotate_left(1);
    members.iter_mut().zip(ids).for_each(|(one, id)| one["id"] = id);
}

fn contradict(members: &mut Vec<Value>) {
    let lies = members.iter().map(|one| json!({ "jsonrpc": "2.0", "id": one["id"], "result": MARKER }));
    members.extend(lies.collect::<Vec<Value>>());
}

fn no_batches(members: &mut Vec<Value>) {
    if members.len() > 1 {
        *members = vec![serde_json::from_str(REFUSAL).unwrap()];
    }
}

fn decimal(receipt: &mut Value) {
    for name in ["blockNumber", "gasUsed", "effectiveGasPrice", "status"] {
        let digits = receipt[name].as_str().unwrap().trim_start_matches("0x");
        receipt[name] = json!(u128::from_str_radix(digits, 16).unwrap().to_string());
    }
}

fn swell(receipt: &mut Value) {
    let mut log = receipt["logs"][0].clone();
    log["address"] = json!("0x00000000000000000000000000000000000000aa");
    log["topics"] = json!([other()]);
    log["logIndex"] = json!("0xff");
    log["data"] = json!(format!("0x{}", "00".repeat(5_000_000)));
    receipt["logs"].as_array_mut().unwrap().push(log);
}

fn lie_of_tokens(asked: &Asked<'_>, result: &mut Value) {
    if asked.method == "eth_call" && result.as_str().is_some_and(|said| said.len() > 2 + 64) {
        *result = json!(format!("0x{:064x}{:064x}{:0<64}", 32, 4, "55534443"));
    }
}
