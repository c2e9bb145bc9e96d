//! Recorded blocks as nodes that serve them whole or transaction by transaction: one JSON object a line, with transaction, receipt, header and what
//! passed inside, as explorers list it. Where a recording holds only some transactions of each block, they can be gathered in blocks of an ordinary size: nobody
//! signs the number of a block.

mod chain;
mod tokens;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::Answers;
use chain::{Evm, Solana};

const NULL: &str = "\"result\":null";
const NOT_FOUND: &str = "\"error\":{\"code\":-32601,\"message\":\"the method does not exist\"}";
const REVERTED: &str = "\"error\":{\"code\":3,\"message\":\"execution reverted\"}";
const NO_STATE: &str = "\"error\":{\"code\":-32000,\"message\":\"historical state unavailable\"}";
/// The head is so far above the last block, so that all are final.
const HEAD_ABOVE: u64 = 1_000;

#[derive(Debug, Default)]
pub struct RecordedBlocks {
    evm: BTreeMap<String, Evm>,
    solana: Solana,
    /// Transactions of which the recording does not know what passed inside. A node that traces blocks knows it of all.
    pub left_out: usize,
}

/// What can be asked for.
#[derive(Debug, Default)]
pub struct RecordedBlock {
    pub chain: String,
    pub number: u64,
    pub hashes: Vec<String>,
}

impl RecordedBlocks {
    /// From JSON Lines, packed with xz or not; with blocks of so many transactions, or as they were recorded.
    pub fn read(file: &Path, gathered_in: Option<usize>) -> anyhow::Result<Self> {
        let text = if file.extension().is_some_and(|ending| ending == "xz") {
            let unpacked = Command::new("xz").arg("-dc").arg(file).output().context("xz unpacks the recording")?;
            ensure!(unpacked.status.success(), "{} cannot be unpacked", file.display());
            String::from_utf8(unpacked.stdout)?
        } else {
            std::fs::read_to_string(file).with_context(|| file.display().to_string())?
        };
        let mut all = Self::default();
        let mut transactions: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for line in text.lines() {
            let row: Value = serde_json::from_str(line)?;
            let slug = row.get("chain").and_then(Value::as_str).context("a chain")?.to_owned();
            match row.get("kind").and_then(Value::as_str) {
                Some("accounts") => all.solana.add_accounts(&row),
                Some("tokens") if slug != "solana" => all.evm.entry(slug).or_default().tokens.add(&row),
                Some(_) => {}
                None if slug != "solana" && row.get("internal").is_none_or(Value::is_null) => all.left_out += 1,
                None => transactions.entry(slug).or_default().push(row),
            }
        }
        for (slug, rows) in transactions {
            let rows = match gathered_in {
                Some(count) => gathered(rows, count.max(1)),
                None => rows,
            };
            for row in rows {
                match slug.as_str() {
                    "solana" => all.solana.add(&row)?,
                    _ => all.evm.entry(slug.clone()).or_default().add(&row)?,
                }
            }
        }
        Ok(all)
    }

    pub fn chains(&self) -> Vec<String> {
        let evm = self.evm.iter().filter(|(_, chain)| !chain.blocks.is_empty()).map(|(slug, _)| slug.clone());
        evm.chain((!self.solana.blocks.is_empty()).then(|| "solana".to_owned())).collect()
    }

    pub fn blocks(&self) -> Vec<RecordedBlock> {
        let block = |chain: &str, (number, hashes): (&u64, &Vec<String>)| RecordedBlock {
            chain: chain.to_owned(),
            number: *number,
            hashes: hashes.clone(),
        };
        let evm = self.evm.iter().flat_map(|(slug, chain)| chain.blocks.iter().map(move |one| block(slug, one)));
        evm.chain(self.solana.blocks.iter().map(|one| block("solana", one))).collect()
    }
}

impl Answers for RecordedBlocks {
    fn write(&self, slug: &str, method: &str, params: &Value, out: &mut String) {
        let said = match slug {
            "solana" => self.solana.said(method, params),
            _ => self.evm.get(slug).and_then(|chain| chain.said(method, params)),
        };
        out.push_str(&said.unwrap_or_else(|| NOT_FOUND.to_owned()));
    }
}

/// The transactions of a chain in their order, so many with one after the other in the block of the first of them.
fn gathered(mut rows: Vec<Value>, count: usize) -> Vec<Value> {
    let number = |row: &Value, path: &str| {
        let told = row.pointer(path);
        let hex =
            told.and_then(Value::as_str).and_then(|text| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok());
        hex.or(told.and_then(Value::as_u64))
    };
    let order = |row: &Value| {
        let block = number(row, "/block/number").or(number(row, "/result/slot"));
        (block, number(row, "/transaction/transactionIndex"))
    };
    rows.sort_by_key(order);
    for part in rows.chunks_mut(count) {
        let first = part.first().cloned().unwrap_or_default();
        for (place, row) in part.iter_mut().enumerate() {
            let mut put = |path: &str, value: Option<Value>| {
                if let (Some(slot), Some(value)) = (row.pointer_mut(path), value) {
                    *slot = value;
                }
            };
            let of_first = |path: &str| first.pointer(path).cloned();
            put("/block", of_first("/block"));
            for told in ["/transaction", "/receipt"] {
                put(&format!("{told}/blockNumber"), of_first("/block/number"));
                put(&format!("{told}/blockHash"), of_first("/block/hash"));
                put(&format!("{told}/transactionIndex"), Some(format!("{place:#x}").into()));
            }
            for field in ["/result/slot", "/result/blockTime"] {
                put(field, of_first(field));
            }
        }
    }
    rows
}

fn result(value: &Value) -> String {
    format!("\"result\":{value}")
}

/// Many answers as one list.
fn list<'a>(members: impl Iterator<Item = &'a str>) -> String {
    let mut out = String::from("[");
    for member in members {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(member);
    }
    out.push(']');
    out
}
