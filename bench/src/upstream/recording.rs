//! The demo recording as chains without end: a hash that [`Recording::evm_hash`] or [`Recording::solana_hash`] made stands for one of the
//! recorded transactions, which is told under that hash.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::SystemTime;

use anyhow::{Context, ensure};
use chains::{Registry, Tape};
use serde_json::{Value, json};

use super::Answers;

const EVM: &str = "demo";
const SOLANA: &str = "demo-solana";
/// Above every recorded block, so that all are final.
const HEAD: u64 = 1_000_000;
/// Transactions in each slot: those of a slot have the numbers from so many times its own.
pub const SLOT_TRANSACTIONS: u64 = 100;
const NULL: &str = "\"result\":null";
const NOT_FOUND: &str = "\"error\":{\"code\":-32601,\"message\":\"method not found\"}";
const REVERTED: &str = "\"error\":{\"code\":3,\"message\":\"execution reverted\"}";

#[derive(Debug)]
pub struct Recording {
    tape: Tape,
    chain_ids: BTreeMap<String, u64>,
    evm: Vec<EvmOriginal>,
    solana: Vec<SolanaOriginal>,
}

#[derive(Debug)]
struct EvmOriginal {
    transaction: Template,
    receipt: Template,
    trace: Template,
}

#[derive(Debug)]
struct SolanaOriginal {
    transaction: Template,
    status: String,
}

/// An answer in pieces, to be joined by the hash.
#[derive(Debug)]
struct Template(Vec<String>);

impl Template {
    fn new(answer: &str, hash: &str) -> Self {
        Self(answer.split(hash).map(str::to_owned).collect())
    }

    fn write(&self, hash: &str, out: &mut String) {
        out.push_str("\"result\":");
        self.join(hash, out);
    }

    fn join(&self, hash: &str, out: &mut String) {
        for (at, piece) in self.0.iter().enumerate() {
            if at > 0 {
                out.push_str(hash);
            }
            out.push_str(piece);
        }
    }
}

impl Recording {
    pub fn demo() -> anyhow::Result<Self> {
        let mut registry = Registry::embedded()?;
        registry.add(include_str!("../../../demo/chain.toml"))?;
        let ids = registry.chains().iter().filter_map(|chain| Some((chain.slug.clone(), chain.chain_id?)));
        let text = concat!(include_str!("../../../demo/evm.jsonl"), include_str!("../../../demo/solana.jsonl"));
        let mut recording =
            Self { tape: Tape::read(text)?, chain_ids: ids.collect(), evm: Vec::new(), solana: Vec::new() };
        recording.evm = recording
            .hashes("eth_getTransactionByHash")
            .map(|hash| recording.evm_original(hash))
            .collect::<Result<_, _>>()?;
        recording.solana =
            recording.hashes("getTransaction").map(|hash| recording.solana_original(hash)).collect::<Result<_, _>>()?;
        ensure!(!recording.evm.is_empty() && !recording.solana.is_empty(), "the recording is empty");
        Ok(recording)
    }

    /// A hash of its own for every number; consecutive numbers go through all recorded transactions.
    pub fn evm_hash(&self, number: u64) -> String {
        let mut text = String::from("0x");
        for word in 0..4 {
            let mixed = mixed(number, word);
            let mixed = if word == 3 { with_place(mixed, number, self.evm.len()) } else { mixed };
            // Writing to a string cannot fail.
            let _ = write!(text, "{mixed:016x}");
        }
        text
    }

    pub fn solana_hash(&self, number: u64) -> String {
        let words = (0..8).map(|word| match word {
            // Without a leading zero every signature is about as long as a real one.
            0 => mixed(number, word) | 1 << 63,
            7 => with_place(mixed(number, word), number, self.solana.len()),
            _ => mixed(number, word),
        });
        let bytes: Vec<u8> = words.flat_map(u64::to_be_bytes).collect();
        bs58::encode(bytes).into_string()
    }

    /// Calls that do not depend on a transaction.
    fn other(&self, slug: &str, method: &str, params: &Value) -> String {
        let result = |value: Value| format!("\"result\":{value}");
        let is_head = || params.get(0).and_then(Value::as_str).is_some_and(|tag| !tag.starts_with("0x"));
        match method {
            "eth_chainId" => result(json!(self.chain_ids.get(slug).map(|id| format!("{id:#x}")))),
            "eth_blockNumber" => result(json!(format!("{HEAD:#x}"))),
            "eth_getBlockByNumber" if is_head() => result(head()),
            "getSlot" | "getBlockHeight" => result(json!(HEAD)),
            "getBlockTime" => result(json!(seconds())),
            "getHealth" => result(json!("ok")),
            "getMultipleAccounts" => {
                let count = params.get(0).and_then(Value::as_array).map_or(0, Vec::len);
                result(json!({ "context": { "slot": HEAD }, "value": vec![Value::Null; count] }))
            }
            _ => match self.tape.answer(slug, method, params) {
                Ok(said) => format!("\"result\":{}", said.get()),
                Err(_) if method == "eth_call" => REVERTED.to_owned(),
                Err(_) if ["eth_getTransactionByHash", "getTransaction"].contains(&method) => result(Value::Null),
                Err(_) => NOT_FOUND.to_owned(),
            },
        }
    }

    fn hashes(&self, method: &str) -> impl Iterator<Item = &str> {
        let asked = self.tape.exchanges().filter(move |exchange| exchange.method == method);
        asked.filter_map(|exchange| exchange.params.get(0)?.as_str())
    }

    fn evm_original(&self, hash: &str) -> anyhow::Result<EvmOriginal> {
        let said = |method: &str, params: Value| {
            let said = self.tape.answer(EVM, method, &params).ok().with_context(|| format!("{method} {hash}"))?;
            anyhow::Ok(Template::new(said.get(), hash))
        };
        Ok(EvmOriginal {
            transaction: self.unsigned(hash)?,
            receipt: said("eth_getTransactionReceipt", json!([hash]))?,
            trace: said("debug_traceTransaction", json!([hash, { "tracer": "callTracer" }]))?,
        })
    }

    /// Nobody signed the hashes that are made up here. Of a transaction without a signature the hash is not computed, which is how recorded ones are read.
    fn unsigned(&self, hash: &str) -> anyhow::Result<Template> {
        let params = json!([hash]);
        let said = self.tape.answer(EVM, "eth_getTransactionByHash", &params).ok().with_context(|| hash.to_owned())?;
        let mut transaction: Value = serde_json::from_str(said.get())?;
        for field in ["r", "s"] {
            *transaction.get_mut(field).with_context(|| format!("{hash} has no `{field}`"))? = json!("0x0");
        }
        Ok(Template::new(&transaction.to_string(), hash))
    }

    fn solana_original(&self, hash: &str) -> anyhow::Result<SolanaOriginal> {
        let is_it = |params: &Value| params.pointer("/0/0").or(params.get(0)).is_some_and(|name| name == hash);
        let said = |method: &str| {
            let mut of_it =
                self.tape.exchanges().filter(|exchange| exchange.method == method && is_it(&exchange.params));
            let said = of_it.next().and_then(|exchange| exchange.result.as_ref());
            said.with_context(|| format!("{method} {hash}"))
        };
        let transaction = Template::new(said("getTransaction")?.get(), hash);
        let statuses: Value = serde_json::from_str(said("getSignatureStatuses")?.get())?;
        let status = statuses.pointer("/value/0").context("a status")?.to_string();
        Ok(SolanaOriginal { transaction, status })
    }

    fn evm_named(&self, hash: &str) -> Option<&EvmOriginal> {
        self.evm.get(usize::from_str_radix(hash.get(62..66)?, 16).ok()?)
    }

    fn solana_named(&self, name: &str) -> Option<&SolanaOriginal> {
        let bytes = bs58::decode(name).into_vec().ok()?;
        let place: [u8; 2] = bytes.get(62..64)?.try_into().ok()?;
        self.solana.get(usize::from(u16::from_be_bytes(place)))
    }
}

impl Answers for Recording {
    fn write(&self, slug: &str, method: &str, params: &Value, out: &mut String) {
        let hash = || params.get(0).and_then(Value::as_str).unwrap_or_default();
        let evm = || (slug == EVM).then(|| self.evm_named(hash())).flatten();
        let mut told = |template: Option<&Template>| match template {
            Some(template) => template.write(hash(), out),
            None => out.push_str(NULL),
        };
        match method {
            "eth_getTransactionByHash" => told(evm().map(|original| &original.transaction)),
            "eth_getTransactionReceipt" => told(evm().map(|original| &original.receipt)),
            "debug_traceTransaction" => told(evm().map(|original| &original.trace)),
            "getTransaction" => {
                let original = (slug == SOLANA).then(|| self.solana_named(hash())).flatten();
                told(original.map(|original| &original.transaction));
            }
            "getBlock" if slug == SOLANA => {
                let slot = params.get(0).and_then(Value::as_u64).unwrap_or_default();
                let _ = write!(
                    out,
                    "\"result\":{{\"parentSlot\":{},\"blockTime\":1700000000,\"transactions\":[",
                    slot.saturating_sub(1)
                );
                for place in 0..SLOT_TRANSACTIONS {
                    let name = self.solana_hash(slot.saturating_mul(SLOT_TRANSACTIONS).saturating_add(place));
                    let Some(original) = self.solana_named(&name) else { continue };
                    out.push_str(if place == 0 { "" } else { "," });
                    original.transaction.join(&name, out);
                }
                out.push_str("]}");
            }
            "getSignatureStatuses" => {
                let names = params.get(0).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
                let statuses = names.map(|name| self.solana_named(name).map_or("null", |original| &original.status));
                let statuses: Vec<&str> = statuses.collect();
                let _ =
                    write!(out, "\"result\":{{\"context\":{{\"slot\":{HEAD}}},\"value\":[{}]}}", statuses.join(","));
            }
            _ => out.push_str(&self.other(slug, method, params)),
        }
    }
}

/// Hashes are as random as real ones, so that an index is as scattered.
fn mixed(number: u64, word: u64) -> u64 {
    let mut state = number.wrapping_mul(8).wrapping_add(word).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// The last two bytes say which recorded transaction it is.
fn with_place(word: u64, number: u64, originals: usize) -> u64 {
    let place = u64::try_from(originals).ok().and_then(|count| number.checked_rem(count)).unwrap_or_default();
    word & !0xffff | place
}

fn head() -> Value {
    let hash = format!("0x{HEAD:064x}");
    let parent = format!("0x{:064x}", HEAD - 1);
    json!({ "hash": hash, "parentHash": parent, "number": format!("{HEAD:#x}"), "timestamp": format!("{:#x}", seconds()) })
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(recording: &Recording, slug: &str, method: &str, params: Value) -> Value {
        let mut out = String::from("{");
        recording.write(slug, method, &params, &mut out);
        out.push('}');
        serde_json::from_str(&out).unwrap()
    }

    #[test]
    fn every_number_is_a_transaction_of_its_own() {
        let recording = Recording::demo().unwrap();
        for number in [0, 1, 62, 63, 9_999] {
            let hash = recording.evm_hash(number);
            let transaction = said(&recording, EVM, "eth_getTransactionByHash", json!([hash]));
            assert_eq!(transaction["result"]["hash"], hash);
            let receipt = said(&recording, EVM, "eth_getTransactionReceipt", json!([hash]));
            assert_eq!(receipt["result"]["transactionHash"], hash);
            assert_eq!(receipt["result"]["blockHash"], transaction["result"]["blockHash"]);
            let name = recording.solana_hash(number);
            let transaction = said(&recording, SOLANA, "getTransaction", json!([name, {}]));
            assert_eq!(transaction["result"]["transaction"]["signatures"][0], name);
            let statuses = said(&recording, SOLANA, "getSignatureStatuses", json!([[name], {}]));
            assert_eq!(statuses["result"]["value"][0]["confirmationStatus"], "finalized");
            assert!(said(&recording, "ethereum", "eth_getTransactionByHash", json!([hash]))["result"].is_null());
        }
        assert_eq!(said(&recording, "ethereum", "eth_chainId", json!([]))["result"], "0x1");
    }
}
