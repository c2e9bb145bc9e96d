//! The forms of the messages, version 1, and their bounds. What others publish is hostile: a message that is no request is told apart from a row that is none.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};

use bytes::Bytes;
use engine::classification::Called;
use engine::question::OWN_WALLETS_MAX;
use engine::{Account, Policy, Question, TxHash};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::app::{BATCH_ITEMS_MAX, Item};

const VERSION: u32 = 1;
/// A hundred rows with a thousand wallets of one's own are a tenth of it.
pub(super) const REQUEST_BYTES_MAX: usize = 512 * 1024;
/// As whoever publishes names a batch; ours are longer where a batch was split.
const ID_BYTES_MAX: usize = 96;
const LANE_BYTES_MAX: usize = 32;
/// Of a block that is searched for wallets. One transaction's rows are in one part.
pub(crate) const BLOCK_WALLETS_MAX: usize = BATCH_ITEMS_MAX;
/// Times that rows are asked for before their failure stands.
pub(super) const TRIES_MAX: u32 = 6;
const PAUSE_SECONDS: u32 = 5;
const PAUSE_SECONDS_MAX: u32 = 60;
/// An outcome unpacked. One message of a megabyte holds a hundred answers of some kilobytes.
const OUTCOME_BYTES_MAX: u64 = 256 << 20;
/// What is kept of a message that is no request.
const POISON_BYTES_MAX: usize = 64 * 1024;
/// What is kept of a reason, and of what a row says.
const WORDS_CHARS_MAX: usize = 500;
const LEVEL: u32 = 2;

/// A batch of transactions to read.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    v: u32,
    /// The same id is the same batch.
    pub(super) id: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) rows: Vec<RequestRow>,
    /// In place of rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) block: Option<BlockRequest>,
    /// Rows whose wallet has no part in the transaction have no answer and are no failure: they come from a block that was searched for wallets.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) parts_only: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) policy: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) own_wallets: Vec<String>,
    /// How often its rows were asked for in vain.
    #[serde(default)]
    pub(super) tries: u32,
    /// Seconds that its first delivery is put off.
    #[serde(default)]
    pub(super) pause: u32,
}

/// All transactions of a block, or those in which given wallets have a part.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BlockRequest {
    pub(super) chain: String,
    pub(super) number: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) wallets: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RequestRow {
    pub(super) hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) chain: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) wallet: Option<String>,
    /// Comes back as `id` of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tx_id: Option<String>,
}

/// Why a message is no request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: &'static str,
    pub(super) reason: String,
}

impl Refusal {
    fn new(code: &'static str, reason: impl Into<String>) -> Self {
        Self { code, reason: words(&reason.into()) }
    }
}

#[derive(Deserialize)]
struct Versioned {
    v: Option<Value>,
}

impl Request {
    pub(super) fn new(id: String, rows: Vec<RequestRow>, policy: Option<Value>, own_wallets: Vec<String>) -> Self {
        Self { v: VERSION, id, rows, block: None, parts_only: false, policy, own_wallets, tries: 0, pause: 0 }
    }

    pub(super) fn of_block(id: String, block: BlockRequest, policy: Option<Value>, own_wallets: Vec<String>) -> Self {
        Self { block: Some(block), ..Self::new(id, Vec::new(), policy, own_wallets) }
    }

    /// A failure of it stands, since whoever publishes it asks again by itself.
    pub(super) fn for_once(self) -> Self {
        Self { tries: TRIES_MAX, ..self }
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Refusal> {
        let invalid = |reason: String| Refusal::new("invalid_request", reason);
        if bytes.len() > REQUEST_BYTES_MAX {
            let length = bytes.len();
            return Err(Refusal::new(
                "request_too_large",
                format!("a request has {REQUEST_BYTES_MAX} bytes at most, and this one {length}"),
            ));
        }
        let versioned: Versioned =
            serde_json::from_slice(bytes).map_err(|error| invalid(format!("it is no request: {error}")))?;
        match versioned.v.as_ref().map(|v| v.as_u64()) {
            Some(Some(v)) if v == u64::from(VERSION) => {}
            Some(Some(_)) => {
                return Err(Refusal::new(
                    "unknown_version",
                    format!("this worker reads version {VERSION} of requests"),
                ));
            }
            _ => return Err(invalid("`v`, the version of the request, is missing or no number".to_owned())),
        }
        let request: Self =
            serde_json::from_slice(bytes).map_err(|error| invalid(format!("it is no request: {error}")))?;
        if !is_id(&request.id) {
            return Err(invalid(format!("`id` is up to {ID_BYTES_MAX} of a-z, A-Z, 0-9 and . - _ ~ + :")));
        }
        match (&request.block, request.rows.len()) {
            (None, 1..=BATCH_ITEMS_MAX) => {}
            (None, count) => {
                return Err(invalid(format!("`rows` takes 1 to {BATCH_ITEMS_MAX} transactions, not {count}")));
            }
            (Some(_), 0) => drop(request.block_questions().map_err(invalid)?),
            (Some(_), _) => return Err(invalid("a request has `rows` or a `block`, not both".to_owned())),
        }
        if request.own_wallets.len() > OWN_WALLETS_MAX {
            return Err(invalid(format!("`own_wallets` takes {OWN_WALLETS_MAX} at most")));
        }
        request.question().map_err(invalid)?;
        Ok(request)
    }

    pub(super) fn encode(&self) -> serde_json::Result<Bytes> {
        serde_json::to_vec(self).map(Bytes::from)
    }

    /// What every row is asked with.
    fn question(&self) -> Result<Question, String> {
        let policy = match &self.policy {
            Some(policy) => Policy::deserialize(policy).map_err(|error| format!("`policy`: {error}"))?,
            None => Policy::default(),
        };
        let account = |text: &String| Account::parse(text).map_err(|error| format!("`own_wallets`: {error}"));
        let own_wallets = self.own_wallets.iter().map(account).collect::<Result<_, _>>()?;
        Ok(Question { policy, own_wallets, ..Question::default() })
    }

    /// What every transaction of its block is asked with: one question for each wallet, or one without any.
    pub(super) fn block_questions(&self) -> Result<Vec<Question>, String> {
        let question = self.question()?;
        let Some(block) = self.block.as_ref().filter(|block| !block.wallets.is_empty()) else {
            return Ok(vec![question]);
        };
        if block.wallets.len() > BLOCK_WALLETS_MAX {
            return Err(format!("`wallets` of a block takes {BLOCK_WALLETS_MAX} at most"));
        }
        let of_wallet = |wallet: &String| {
            let wallet = Account::parse(wallet).map_err(|error| format!("`wallets`: {error}"))?;
            Ok(Question { wallet: Some(wallet), ..question.clone() })
        };
        block.wallets.iter().map(of_wallet).collect()
    }

    /// The part of this number of its block, which has these rows; without rows, the block itself under the first part's id.
    pub(super) fn block_part(&self, number: usize, rows: Vec<RequestRow>) -> Self {
        let block = self.block.clone();
        let is_whole = rows.is_empty();
        Self {
            id: format!("{}.{number}", self.id),
            parts_only: block.as_ref().is_some_and(|block| !block.wallets.is_empty()),
            block: block.filter(|_| is_whole),
            rows,
            tries: if is_whole { self.tries } else { 0 },
            pause: 0,
            ..self.clone()
        }
    }

    /// What to ask for each row; a row that is none fails alone.
    pub(super) fn items(&self) -> Vec<Result<Item, Refusal>> {
        let question = self.question().unwrap_or_default();
        self.rows.iter().map(|row| row.item(&question)).collect()
    }

    /// A part of it, as a batch of its own.
    fn part(&self, id: String, places: &[usize]) -> Self {
        let rows = places.iter().filter_map(|at| self.rows.get(*at).cloned()).collect();
        Self { id, rows, ..self.clone() }
    }

    /// The rows that failed and are asked for again, later and later.
    pub(super) fn retried(&self, places: &[usize]) -> Self {
        let tries = self.tries.saturating_add(1);
        let longer = 1_u32.checked_shl(self.tries).unwrap_or(u32::MAX);
        let pause = PAUSE_SECONDS.saturating_mul(longer).min(PAUSE_SECONDS_MAX);
        Self { tries, pause, ..self.part(format!("{}~", self.id), places) }
    }

    /// The rows whose answers did not fit into one message with the others.
    pub(super) fn left_over(&self, places: &[usize]) -> Self {
        Self { pause: 0, ..self.part(format!("{}+", self.id), places) }
    }
}

impl RequestRow {
    fn item(&self, question: &Question) -> Result<Item, Refusal> {
        let hash = TxHash::parse(&self.hash).map_err(|error| Refusal::new("invalid_hash", error.to_string()))?;
        let mut question = question.clone();
        if let Some(wallet) = &self.wallet {
            let wallet = Account::parse(wallet);
            question.wallet =
                Some(wallet.map_err(|error| Refusal::new("invalid_request", format!("`wallet`: {error}")))?);
        }
        Ok(Item { hash, tx_id: self.tx_id.clone(), chain: self.chain.clone(), question })
    }
}

/// What a batch came to: each of its rows is in one of the four.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Outcome {
    v: u32,
    pub(super) id: String,
    /// In place of the rows of a block that could not be read at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) block: Option<FailedBlock>,
    pub(super) rows: Vec<AnsweredRow>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) dead: Vec<FailedRow>,
    /// Asked for again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) retried: Vec<usize>,
    /// Did not fit, and follow as a batch of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) left_over: Vec<usize>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct AnsweredRow {
    /// Its place in the request.
    pub(super) i: usize,
    /// As over REST.
    pub(super) row: Box<RawValue>,
    /// What like transactions are found by, which the answer does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) called: Option<Called>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct FailedBlock {
    pub(super) code: String,
    pub(super) reason: String,
    /// Asked for again.
    pub(super) is_retried: bool,
}

impl FailedBlock {
    pub(super) fn new(code: &str, reason: &str, is_retried: bool) -> Self {
        Self { code: code.to_owned(), reason: words(reason), is_retried }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct FailedRow {
    pub(super) i: usize,
    pub(super) code: String,
    pub(super) reason: String,
}

impl FailedRow {
    pub(super) fn new(i: usize, code: &str, reason: &str) -> Self {
        Self { i, code: code.to_owned(), reason: words(reason) }
    }
}

impl Outcome {
    pub(super) fn new(id: &str) -> Self {
        let id = id.to_owned();
        Self { v: VERSION, id, block: None, rows: vec![], dead: vec![], retried: vec![], left_over: vec![] }
    }

    /// Whether it says nothing of any row.
    pub(super) fn is_empty(&self) -> bool {
        let Self { v: _, id: _, block, rows, dead, retried, left_over } = self;
        block.is_none() && rows.is_empty() && dead.is_empty() && retried.is_empty() && left_over.is_empty()
    }

    /// As a message of at most so many bytes. Rows that do not fit are left over; one that would not fit alone is dead.
    pub(super) fn encode_within(&mut self, bytes_max: usize) -> io::Result<Bytes> {
        loop {
            let bytes = self.encode()?;
            if bytes.len() <= bytes_max || self.rows.is_empty() {
                return Ok(bytes);
            }
            if let [alone] = self.rows.as_slice() {
                let reason = "its answer is larger than one message; ask for it over REST";
                self.dead.push(FailedRow::new(alone.i, "answer_too_large", reason));
                self.rows.clear();
            } else {
                let rest = self.rows.split_off(self.rows.len() / 2);
                self.left_over.extend(rest.iter().map(|row| row.i));
            }
        }
    }

    fn encode(&self) -> io::Result<Bytes> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::new(LEVEL));
        serde_json::to_writer(&mut packed, self)?;
        packed.flush()?;
        packed.finish().map(Bytes::from)
    }

    pub(super) fn decode(bytes: &[u8]) -> io::Result<Self> {
        let mut json = Vec::new();
        GzDecoder::new(bytes).take(OUTCOME_BYTES_MAX).read_to_end(&mut json)?;
        let outcome: Self = serde_json::from_slice(&json)?;
        match outcome.v == VERSION {
            true => Ok(outcome),
            false => Err(io::Error::other("the outcome is of another version")),
        }
    }

    /// What failed for good, as a message; `None` where nothing did.
    pub(super) fn dead_letter(&self, request: &Request) -> Option<DeadLetter> {
        let row = |failed: &FailedRow| {
            let asked = request.rows.get(failed.i);
            DeadRow {
                hash: asked.map(|row| words(&row.hash)).unwrap_or_default(),
                block: None,
                chain: asked.and_then(|row| row.chain.as_deref().map(words)),
                wallet: asked.and_then(|row| row.wallet.as_deref().map(words)),
                tx_id: asked.and_then(|row| row.tx_id.as_deref().map(words)),
                code: failed.code.clone(),
                reason: failed.reason.clone(),
            }
        };
        let of_block = |(failed, asked): (&FailedBlock, &BlockRequest)| DeadRow {
            hash: String::new(),
            block: Some(asked.number),
            chain: Some(words(&asked.chain)),
            wallet: None,
            tx_id: None,
            code: failed.code.clone(),
            reason: failed.reason.clone(),
        };
        let failed = self.block.as_ref().filter(|failed| !failed.is_retried).zip(request.block.as_ref());
        let rows: Vec<DeadRow> = self.dead.iter().map(row).chain(failed.map(of_block)).collect();
        (!rows.is_empty()).then(|| DeadLetter { v: VERSION, id: self.id.clone(), rows, poison: None })
    }
}

/// Rows that failed for good, or a message that is no request.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DeadLetter {
    v: u32,
    pub(super) id: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) rows: Vec<DeadRow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) poison: Option<Poison>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DeadRow {
    /// None of a block that could not be read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    block: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wallet: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tx_id: Option<String>,
    code: String,
    reason: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Poison {
    code: String,
    reason: String,
    bytes: usize,
    /// Its beginning, in hexadecimal.
    payload: String,
}

impl DeadLetter {
    /// Of a message that is no request, by its place in the stream.
    pub(super) fn poison(id: String, refusal: Refusal, payload: &[u8]) -> Self {
        let mut beginning = String::new();
        for byte in payload.iter().take(POISON_BYTES_MAX) {
            let _ = write!(beginning, "{byte:02x}");
        }
        let Refusal { code, reason } = refusal;
        let poison = Poison { code: code.to_owned(), reason, bytes: payload.len(), payload: beginning };
        Self { v: VERSION, id, rows: Vec::new(), poison: Some(poison) }
    }

    pub(super) fn encode(&self) -> serde_json::Result<Bytes> {
        serde_json::to_vec(self).map(Bytes::from)
    }

    pub(super) fn decode(bytes: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(bytes)
    }
}

fn words(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(WORDS_CHARS_MAX).collect()
}

fn is_id(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_~+:".contains(&byte);
    (1..=ID_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_allowed)
}

/// Whether this may name a lane: results of one lane are drained by themselves.
pub(crate) fn is_lane(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    (1..=LANE_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_allowed)
}

pub(super) fn requests_of(lane: &str) -> String {
    format!("taxon.requests.{lane}")
}

pub(super) fn results_of(lane: &str) -> String {
    format!("taxon.results.{lane}")
}

pub(super) fn dead_of(lane: &str) -> String {
    format!("taxon.dead.{lane}")
}

/// Whose results go where: the last word of a request's subject.
pub(super) fn lane_of(subject: &str) -> &str {
    subject.rsplit('.').next().filter(|lane| is_lane(lane)).unwrap_or("unnamed")
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    const HASH: &str = "0x04df701a75c3dc3f1283c6a26e668bec4bd92cf7f02e9963c3c887f5376c590e";

    fn request(rows: usize) -> Request {
        let row = RequestRow { hash: HASH.to_owned(), chain: None, wallet: None, tx_id: None };
        Request::new("b1".to_owned(), vec![row; rows], None, Vec::new())
    }

    #[test]
    fn what_is_no_request_is_told_apart() {
        let code = |bytes: &[u8]| Request::parse(bytes).map(|_| "read").unwrap_or_else(|refusal| refusal.code);
        let good = request(2).encode().expect("it is encoded");
        assert_eq!(code(&good), "read");
        assert_eq!(code(b""), "invalid_request");
        assert_eq!(code(b"\xff\x00"), "invalid_request");
        assert_eq!(code(b"[1]"), "invalid_request");
        assert_eq!(code(br#"{"id":"b"}"#), "invalid_request");
        assert_eq!(code(br#"{"v":2,"anything":"else"}"#), "unknown_version");
        assert_eq!(code(br#"{"v":1,"id":"b","rows":[]}"#), "invalid_request");
        assert_eq!(code(&request(101).encode().expect("it is encoded")), "invalid_request");
        assert_eq!(code(&vec![b' '; REQUEST_BYTES_MAX + 1]), "request_too_large");
        let misspelt = format!(r#"{{"v":1,"id":"b","rows":[{{"hash":"{HASH}","walet":"0x0"}}]}}"#);
        assert_eq!(code(misspelt.as_bytes()), "invalid_request");
        let spaced = format!(r#"{{"v":1,"id":"b b","rows":[{{"hash":"{HASH}"}}]}}"#);
        assert_eq!(code(spaced.as_bytes()), "invalid_request");
    }

    #[test]
    fn a_request_has_rows_or_a_block() {
        let code = |text: &str| Request::parse(text.as_bytes()).map(|_| "read").unwrap_or_else(|refusal| refusal.code);
        let block = |more: &str| format!(r#"{{"v":1,"id":"b","block":{{"chain":"ethereum","number":7{more}}}}}"#);
        let wallet = "\"0x00000000000000000000000000000000000000aa\"";
        assert_eq!(code(&block("")), "read");
        assert_eq!(code(&block(&format!(r#","wallets":[{wallet}]"#))), "read");
        assert_eq!(code(&block(&format!(r#","wallets":[{}]"#, vec![wallet; 101].join(",")))), "invalid_request");
        assert_eq!(code(&block(r#","wallets":["me"]"#)), "invalid_request");
        assert_eq!(code(&block(r#","hashes":[]"#)), "invalid_request");
        assert_eq!(code(r#"{"v":1,"id":"b","block":{"chain":"ethereum","number":-7}}"#), "invalid_request");
        let both = format!(r#"{{"v":1,"id":"b","rows":[{{"hash":"{HASH}"}}],"block":{{"chain":"x","number":7}}}}"#);
        assert_eq!(code(&both), "invalid_request");
        assert_eq!(code(r#"{"v":1,"id":"b"}"#), "invalid_request");
    }

    #[test]
    fn a_row_that_is_none_fails_alone() {
        let mut request = request(3);
        request.rows[1].hash = "0x12".to_owned();
        request.rows[2].wallet = Some("me".to_owned());
        let items = request.items();
        assert!(items[0].is_ok());
        assert_eq!(items[1].as_ref().err().map(|refusal| refusal.code), Some("invalid_hash"));
        assert_eq!(items[2].as_ref().err().map(|refusal| refusal.code), Some("invalid_request"));
    }

    #[test]
    fn an_outcome_that_does_not_fit_leaves_rows_over_and_loses_none() {
        let answer = |i: usize, length: usize| {
            // Of no pattern, so that packing does not make it small.
            let mut text = String::new();
            while text.len() < length {
                for byte in Sha256::digest(format!("{i} {}", text.len())) {
                    let _ = write!(text, "{byte:02x}");
                }
            }
            AnsweredRow { i, row: RawValue::from_string(format!("\"{text}\"")).expect("it is JSON"), called: None }
        };
        let mut outcome = Outcome::new("b1");
        outcome.rows = (0..40).map(|i| answer(i, 200)).collect();
        let bytes = outcome.encode_within(3_000).expect("it is encoded");
        assert!(bytes.len() <= 3_000);
        let stored = Outcome::decode(&bytes).expect("it is read back");
        let mut places: Vec<usize> = stored.rows.iter().map(|row| row.i).chain(stored.left_over).collect();
        places.sort_unstable();
        assert_eq!(places, (0..40).collect::<Vec<_>>());

        let mut outcome = Outcome::new("b2");
        outcome.rows = vec![answer(0, 60_000)];
        let stored = Outcome::decode(&outcome.encode_within(500).expect("it is encoded")).expect("it is read back");
        assert_eq!(stored.dead.first().map(|dead| dead.code.as_str()), Some("answer_too_large"));
        assert!(Outcome::decode(b"no gzip").is_err());
    }

    #[test]
    fn rows_are_asked_for_again_later_and_later() {
        let mut request = request(3);
        let mut pauses = Vec::new();
        for _ in 0..5 {
            request = request.retried(&[0]);
            pauses.push(request.pause);
        }
        assert_eq!(pauses, [5, 10, 20, 40, 60]);
        assert_eq!((request.id.as_str(), request.rows.len(), request.tries), ("b1~~~~~", 1, 5));
    }
}
