//! One chain of the recording.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use anyhow::Context;
use serde_json::{Value, json};

use super::tokens::Tokens;
use super::{HEAD_ABOVE, NO_STATE, NULL, REVERTED, list, result};

/// What every account has beside what the recorded transactions move.
const BALANCE: i128 = 1_000_000_000_000_000_000_000_000;

#[derive(Debug, Default)]
pub(super) struct Evm {
    chain_id: u64,
    head: u64,
    headers: BTreeMap<u64, Value>,
    /// The hashes of each block, in its order.
    pub(super) blocks: BTreeMap<u64, Vec<String>>,
    transactions: HashMap<String, EvmTransaction>,
    pub(super) tokens: Tokens,
}

#[derive(Debug)]
struct EvmTransaction {
    place: u64,
    transaction: String,
    receipt: String,
    trace: Option<String>,
    from: String,
    /// What each account won or lost of the coin; `None` where what passed inside was not recorded.
    moved: Option<HashMap<String, i128>>,
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn hex(value: &Value, name: &str) -> i128 {
    i128::from_str_radix(text(value, name).trim_start_matches("0x"), 16).unwrap_or_default()
}

fn block_of(params: &Value, at: usize) -> Option<u64> {
    u64::from_str_radix(params.get(at)?.as_str()?.strip_prefix("0x")?, 16).ok()
}

impl Evm {
    pub(super) fn add(&mut self, row: &Value) -> anyhow::Result<()> {
        let part = |name: &str| row.get(name).with_context(|| name.to_owned());
        let (transaction, block) = (part("transaction")?, part("block")?);
        let mut receipt = part("receipt")?.clone();
        if receipt.get("effectiveGasPrice").is_none_or(Value::is_null)
            && let Some(price) = transaction.get("gasPrice")
            && let Some(fields) = receipt.as_object_mut()
        {
            fields.insert("effectiveGasPrice".to_owned(), price.clone());
        }
        let number = u64::try_from(hex(block, "number"))?;
        let hash = text(row, "hash").to_owned();
        let internal = row.get("internal").and_then(Value::as_array);
        self.chain_id = row.get("chain_id").and_then(Value::as_u64).context("a chain id")?;
        self.head = self.head.max(number.saturating_add(HEAD_ABOVE));
        self.headers.insert(number, block.clone());
        self.transactions.insert(
            hash.clone(),
            EvmTransaction {
                place: u64::try_from(hex(transaction, "transactionIndex")).unwrap_or_default(),
                transaction: transaction.to_string(),
                receipt: receipt.to_string(),
                trace: internal.map(|rows| trace(transaction, &receipt, rows).to_string()),
                from: text(transaction, "from").to_lowercase(),
                moved: internal.map(|rows| moved(transaction, &receipt, rows)),
            },
        );
        let hashes = self.blocks.entry(number).or_default();
        hashes.push(hash);
        hashes.sort_by_key(|hash| self.transactions.get(hash).map(|one| one.place));
        Ok(())
    }

    pub(super) fn said(&self, method: &str, params: &Value) -> Option<String> {
        let named = || self.transactions.get(params.get(0)?.as_str()?);
        let told = |said: Option<&String>| said.map_or_else(|| NULL.to_owned(), |said| format!("\"result\":{said}"));
        Some(match method {
            "eth_chainId" => result(&json!(format!("{:#x}", self.chain_id))),
            "eth_blockNumber" => result(&json!(format!("{:#x}", self.head))),
            "eth_getTransactionByHash" => told(named().map(|one| &one.transaction)),
            "eth_getTransactionReceipt" => told(named().map(|one| &one.receipt)),
            "debug_traceTransaction" => match named()?.trace.as_ref() {
                Some(trace) => told(Some(trace)),
                None => NO_STATE.to_owned(),
            },
            "eth_getBlockByNumber" => self.block(params),
            "eth_getBlockReceipts" => {
                format!("\"result\":{}", list(self.of(block_of(params, 0)?).map(|(_, one)| one.receipt.as_str())))
            }
            "debug_traceBlockByNumber" => {
                let traced = |(hash, one): (&String, &EvmTransaction)| match &one.trace {
                    Some(trace) => format!("{{\"txHash\":\"{hash}\",\"result\":{trace}}}"),
                    None => format!("{{\"txHash\":\"{hash}\",\"error\":\"historical state unavailable\"}}"),
                };
                let traces: Vec<String> = self.of(block_of(params, 0)?).map(traced).collect();
                format!("\"result\":{}", list(traces.iter().map(String::as_str)))
            }
            "eth_getBalance" => self.balance(&params.get(0)?.as_str()?.to_lowercase(), block_of(params, 1)?),
            "eth_getTransactionCount" => {
                let (account, last) = (params.get(0)?.as_str()?.to_lowercase(), block_of(params, 1)?);
                let mined = self.blocks.range(..=last).flat_map(|(_, hashes)| hashes);
                let sent = mined.filter_map(|hash| self.transactions.get(hash)).filter(|one| one.from == account);
                result(&json!(format!("{:#x}", sent.count())))
            }
            "eth_getCode" => result(&json!("0x")),
            "eth_getStorageAt" => result(&json!(format!("0x{:064x}", 0))),
            "eth_call" => match self.tokens.call(params) {
                Some(said) => result(&json!(said)),
                None => REVERTED.to_owned(),
            },
            _ => return None,
        })
    }

    fn of(&self, number: u64) -> impl Iterator<Item = (&String, &EvmTransaction)> {
        let hashes = self.blocks.get(&number).into_iter().flatten();
        hashes.filter_map(|hash| Some((hash, self.transactions.get(hash)?)))
    }

    fn block(&self, params: &Value) -> String {
        let number = block_of(params, 0).unwrap_or(self.head);
        if number > self.head {
            return NULL.to_owned();
        }
        let unknown = || json!({ "hash": format!("0x{number:064x}"), "timestamp": "0x65000000" });
        let mut header = self.headers.get(&number).cloned().unwrap_or_else(unknown);
        if let Some(fields) = header.as_object_mut() {
            fields.insert("number".to_owned(), json!(format!("{number:#x}")));
        }
        let is_whole = params.get(1) == Some(&Value::Bool(true));
        let transactions: Vec<String> = match is_whole {
            true => self.of(number).map(|(_, one)| one.transaction.clone()).collect(),
            false => self.of(number).map(|(hash, _)| format!("\"{hash}\"")).collect(),
        };
        let mut header = header.to_string();
        header.pop();
        let _ = write!(header, ",\"transactions\":{}}}", list(transactions.iter().map(String::as_str)));
        format!("\"result\":{header}")
    }

    /// Moves by exactly what the recorded transactions of the block move.
    fn balance(&self, account: &str, number: u64) -> String {
        let is_unknown =
            [number, number.saturating_add(1)].into_iter().any(|at| self.of(at).any(|(_, one)| one.moved.is_none()));
        if is_unknown {
            return NO_STATE.to_owned();
        }
        let moved = self.of(number).filter_map(|(_, one)| one.moved.as_ref()?.get(account));
        result(&json!(format!("{:#x}", BALANCE.saturating_add(moved.sum()))))
    }
}

fn is_undone(row: &Value) -> bool {
    !matches!(text(row, "isError"), "" | "0")
}

fn other_side(row: &Value) -> &str {
    Some(text(row, "to")).filter(|to| !to.is_empty()).unwrap_or_else(|| text(row, "contractAddress"))
}

fn trace(transaction: &Value, receipt: &Value, rows: &[Value]) -> Value {
    let to = Some(text(transaction, "to")).filter(|to| !to.is_empty());
    let kind = if to.is_some() { "CALL" } else { "CREATE" };
    let call = |row: &Value| {
        let kind = Some(text(row, "type")).filter(|kind| !kind.is_empty()).unwrap_or("call").to_uppercase();
        let value = text(row, "value").parse::<i128>().unwrap_or_default();
        let mut call =
            json!({ "type": kind, "from": row.get("from"), "to": other_side(row), "value": format!("{value:#x}") });
        if let Some(fields) = call.as_object_mut().filter(|_| is_undone(row)) {
            fields.insert("error".to_owned(), json!("execution reverted"));
        }
        call
    };
    let mut root = json!({
        "type": kind, "from": transaction.get("from"), "to": to.unwrap_or_else(|| text(receipt, "contractAddress")),
        "value": transaction.get("value"), "input": transaction.get("input"), "calls": rows.iter().map(call).collect::<Vec<_>>(),
    });
    if let Some(fields) = root.as_object_mut().filter(|_| text(receipt, "status") == "0x0") {
        fields.insert("error".to_owned(), json!("execution reverted"));
    }
    root
}

fn moved(transaction: &Value, receipt: &Value, rows: &[Value]) -> HashMap<String, i128> {
    let mut moved: HashMap<String, i128> = HashMap::new();
    let mut pay = |from: &str, to: &str, value: i128| {
        for (account, change) in [(from, value.saturating_neg()), (to, value)] {
            let sum = moved.entry(account.to_lowercase()).or_default();
            *sum = sum.saturating_add(change);
        }
    };
    let from = text(transaction, "from");
    if text(receipt, "status") != "0x0" {
        let to = Some(text(transaction, "to")).filter(|to| !to.is_empty());
        pay(from, to.unwrap_or_else(|| text(receipt, "contractAddress")), hex(transaction, "value"));
        for row in rows.iter().filter(|row| !is_undone(row)) {
            pay(text(row, "from"), other_side(row), text(row, "value").parse().unwrap_or_default());
        }
    }
    let gas = hex(receipt, "gasUsed").saturating_mul(hex(receipt, "effectiveGasPrice"));
    pay(from, "", gas.saturating_add(hex(receipt, "l1Fee")));
    moved
}

#[derive(Debug, Default)]
pub(super) struct Solana {
    head: u64,
    pub(super) blocks: BTreeMap<u64, Vec<String>>,
    times: BTreeMap<u64, Value>,
    transactions: HashMap<String, String>,
    accounts: HashMap<String, Value>,
}

impl Solana {
    pub(super) fn add(&mut self, row: &Value) -> anyhow::Result<()> {
        let (hash, told) = (text(row, "hash").to_owned(), row.get("result").context("a transaction")?);
        let slot = told.get("slot").and_then(Value::as_u64).context("a slot")?;
        self.head = self.head.max(slot.saturating_add(HEAD_ABOVE));
        self.times.insert(slot, told.get("blockTime").cloned().unwrap_or_default());
        self.blocks.entry(slot).or_default().push(hash.clone());
        self.transactions.insert(hash, told.to_string());
        Ok(())
    }

    pub(super) fn add_accounts(&mut self, row: &Value) {
        let accounts = row.get("accounts").and_then(Value::as_object).into_iter().flatten();
        let data =
            |account: &Value| json!({ "data": [text(account, "data"), "base64"], "owner": account.get("owner") });
        self.accounts.extend(accounts.map(|(key, account)| (key.clone(), data(account))));
    }

    pub(super) fn said(&self, method: &str, params: &Value) -> Option<String> {
        let names = || params.get(0).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let context = |values: Vec<Value>| result(&json!({ "context": { "slot": self.head }, "value": values }));
        Some(match method {
            "getSlot" => result(&json!(self.head)),
            "getTransaction" => {
                let told = self.transactions.get(params.get(0)?.as_str()?);
                told.map_or_else(|| NULL.to_owned(), |told| format!("\"result\":{told}"))
            }
            "getBlock" => {
                let slot = params.get(0)?.as_u64()?;
                let hashes = self.blocks.get(&slot)?;
                let transactions =
                    list(hashes.iter().filter_map(|hash| self.transactions.get(hash)).map(String::as_str));
                let time = self.times.get(&slot).cloned().unwrap_or_default();
                format!(
                    "\"result\":{{\"parentSlot\":{},\"blockTime\":{time},\"transactions\":{transactions}}}",
                    slot.saturating_sub(1)
                )
            }
            "getSignatureStatuses" => {
                let known: BTreeSet<&str> = names().filter(|name| self.transactions.contains_key(*name)).collect();
                let status = json!({ "confirmationStatus": "finalized" });
                context(names().map(|name| if known.contains(name) { status.clone() } else { Value::Null }).collect())
            }
            "getMultipleAccounts" => {
                context(names().map(|name| self.accounts.get(name).cloned().unwrap_or_default()).collect())
            }
            _ => return None,
        })
    }
}
