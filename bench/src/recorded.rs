//! Recorded transactions as rows of facts: those of the demo chains, or those of a file of one JSON object a line with `chain`, `hash`, `transaction`,
//! `receipt`, `block` and `internal`, or for Solana `result`, and lines of `tokens`.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context;
use chains::{Registry, Tape};
use engine::{Account, Facts, Knowledge, Missing, Need, Question, Read, Rules, Token, Treatments, read};
use facts::RowText;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Rounds in which the engine asks for tokens.
const ROUNDS_MAX: usize = 3;

/// A row in the words of the nodes, and as taxon keeps it; both with the tokens that the engine asks for.
#[derive(Debug)]
pub struct Recorded {
    pub raw: RowText,
    pub kept: RowText,
    pub facts: Facts,
}

/// What tokens say of themselves, by chain and address in lower case.
type Tokens = BTreeMap<(String, String), Arc<Token>>;

#[derive(Debug)]
pub struct Recording {
    pub chains: Registry,
    pub knowledge: Knowledge,
    pub rows: Vec<Recorded>,
}

impl Recording {
    pub fn open(path: Option<&str>) -> anyhow::Result<Self> {
        let mut chains = Registry::embedded()?;
        chains.add(include_str!("../../demo/chain.toml"))?;
        let refused = |faults| anyhow::anyhow!("{faults:?}");
        let (rules, law) = (Rules::embedded().map_err(refused)?, Treatments::us().map_err(refused)?);
        let knowledge = Knowledge::new(rules, law, chains.chains().iter().map(|chain| &**chain));
        let (raw, tokens) = match path {
            Some(path) => of_file(&std::fs::read_to_string(path)?)?,
            None => (demo()?, Tokens::new()),
        };
        let mut rows = Vec::with_capacity(raw.len());
        for mut raw in raw {
            let facts = raw.row().facts(&chains).with_context(|| raw.hash.clone())?.0;
            let facts = with_tokens(facts, &tokens, &knowledge);
            let kept = RowText::of(&facts, None)?;
            raw.known.clone_from(&kept.known);
            rows.push(Recorded { raw, kept, facts });
        }
        Ok(Self { chains, knowledge, rows })
    }
}

#[derive(Deserialize)]
struct Line {
    chain: String,
    hash: Option<String>,
    transaction: Option<Box<RawValue>>,
    receipt: Option<Box<RawValue>>,
    block: Option<Value>,
    internal: Option<Vec<Value>>,
    result: Option<Box<RawValue>>,
    tokens: Option<BTreeMap<String, Value>>,
}

fn of_file(text: &str) -> anyhow::Result<(Vec<RowText>, Tokens)> {
    let (mut rows, mut tokens) = (Vec::new(), Tokens::new());
    for line in text.lines() {
        let line: Line = serde_json::from_str(line)?;
        for (address, said) in line.tokens.into_iter().flatten() {
            let word = |name: &str| said.get(name).and_then(Value::as_str).map(str::to_owned);
            let decimals =
                said.get("decimals").and_then(Value::as_u64).and_then(|decimals| u8::try_from(decimals).ok());
            let is_erc721 = word("kind").is_some_and(|kind| kind == "erc721");
            let token = Token { symbol: word("symbol"), name: word("name"), decimals, is_erc721 };
            tokens.insert((line.chain.clone(), address.to_lowercase()), Arc::new(token));
        }
        let Some(hash) = line.hash else { continue };
        let number = |name: &str| {
            let digits = line.block.as_ref()?.get(name)?.as_str()?.trim_start_matches("0x");
            u64::from_str_radix(digits, 16).ok()
        };
        let transfers: Option<Vec<Value>> = line.internal.map(|all| all.into_iter().map(plain).collect());
        let row = RowText {
            chain: line.chain,
            hash,
            wallet: None,
            block_number: number("number"),
            block_time: number("timestamp").and_then(|time| i64::try_from(time).ok()),
            is_final: Some(true),
            transaction: line.transaction.or(line.result).context("a transaction")?.get().to_owned(),
            receipt: line.receipt.map(|receipt| receipt.get().to_owned()),
            internal: None,
            known: None,
        };
        let has_failed = row.receipt.as_ref().is_some_and(|receipt| receipt.contains("\"status\":\"0x0\""));
        let internal = transfers.map(|transfers| json!({ "transfers": transfers, "failed": has_failed }).to_string());
        rows.push(RowText { internal, ..row });
    }
    Ok((rows, tokens))
}

/// Of an explorer's row what a trace has.
fn plain(transfer: Value) -> Value {
    json!({ "from": transfer.get("from"), "to": transfer.get("to"), "value": transfer.get("value") })
}

fn demo() -> anyhow::Result<Vec<RowText>> {
    let mut rows = Vec::new();
    let evm = Tape::read(include_str!("../../demo/evm.jsonl"))?;
    let solana = Tape::read(include_str!("../../demo/solana.jsonl"))?;
    let asked = |tape: &Tape, wanted: &str| -> Vec<String> {
        let exchanges = tape.exchanges().filter(|exchange| exchange.method == wanted);
        exchanges.filter_map(|exchange| Some(exchange.params.get(0)?.as_str()?.to_owned())).collect()
    };
    for hash in asked(&evm, "eth_getTransactionByHash") {
        let said = |method: &str, params: Value| -> anyhow::Result<String> {
            let answer = evm.answer("demo", method, &params);
            Ok(answer.map_err(|error| anyhow::anyhow!("{method}: {error:?}"))?.get().to_owned())
        };
        rows.push(RowText {
            chain: "demo".to_owned(),
            hash: hash.clone(),
            wallet: None,
            block_number: None,
            block_time: Some(1_700_000_000),
            is_final: Some(true),
            transaction: said("eth_getTransactionByHash", json!([hash]))?,
            receipt: Some(said("eth_getTransactionReceipt", json!([hash]))?),
            internal: Some(said("debug_traceTransaction", json!([hash, { "tracer": "callTracer" }]))?),
            known: None,
        });
    }
    let of_solana = solana.exchanges().filter(|exchange| exchange.method == "getTransaction");
    for exchange in of_solana {
        let hash = exchange.params.get(0).and_then(Value::as_str).context("a signature")?;
        let answer = solana.answer("demo-solana", "getTransaction", &exchange.params);
        let answer = answer.map_err(|error| anyhow::anyhow!("{hash}: {error:?}"))?;
        rows.push(RowText {
            chain: "demo-solana".to_owned(),
            hash: hash.to_owned(),
            wallet: None,
            block_number: None,
            block_time: None,
            is_final: Some(true),
            transaction: answer.get().to_owned(),
            receipt: None,
            internal: None,
            known: None,
        });
    }
    Ok(rows)
}

/// Every token that the engine asks for, as it is known or with a name that is made up, so that the whole answer is written.
fn with_tokens(mut facts: Facts, tokens: &Tokens, knowledge: &Knowledge) -> Facts {
    let made_up = Arc::new(Token {
        symbol: Some("TOKEN".to_owned()),
        name: Some("Token".to_owned()),
        decimals: Some(18),
        is_erc721: false,
    });
    for _ in 0..ROUNDS_MAX {
        let Ok(Read::Needs(needs)) = read(&facts, &Question::default(), knowledge, Missing::Ask) else { break };
        let chain = facts.chain().slug.clone();
        for need in needs {
            let Need::Token(account) = need else { continue };
            let named = tokens.get(&(chain.clone(), account.to_string().to_lowercase()));
            let token = Arc::clone(named.unwrap_or(&made_up));
            match (&mut facts, account) {
                (Facts::Evm(facts), Account::Evm(address)) => {
                    Arc::make_mut(facts).tokens.insert(address, token);
                }
                (Facts::Solana(facts), Account::Solana(mint)) => {
                    Arc::make_mut(facts).tokens.insert(mint, token);
                }
                (Facts::Evm(_), Account::Solana(_)) | (Facts::Solana(_), Account::Evm(_)) => {}
            }
        }
    }
    facts
}
