//! Whether cost grows with what a transaction holds, and no faster: shapes of one size and of ten times that size, made of recorded logs
//! and instructions. The engine reads into 20,000 logs at most, so ten thousand are all read; a Solana transaction names at most 256
//! accounts and is parsed up to 4,096 instructions, and stays beneath both.

#![expect(clippy::indexing_slicing, reason = "a recording of our own, read as JSON values, which have no bounds")]

use anyhow::Context;
use engine::SolanaFacts;
use engine::solana::Key;
use serde_json::Value;

use super::Raw;

/// How much larger the large one is.
pub const TIMES: usize = 10;
const LOGS: usize = 1_000;
const INSTRUCTIONS: usize = 400;
const ACCOUNTS: usize = 24;

const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const APPROVAL: &str = "0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925";
const SWAP_V2: &str = "0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822";
const ORDER_FULFILLED: &str = "0x9d9af8e38d66c62e2c12f0225249fd9d721c54b83f48d9352c97c6cacdcb6f31";

/// A transaction of two sizes.
pub struct Shape<T> {
    pub name: &'static str,
    /// What is counted, and how much of it the small one holds.
    pub unit: &'static str,
    pub size: usize,
    pub small: T,
    pub large: T,
}

fn shape<T>(
    name: &'static str,
    unit: &'static str,
    size: usize,
    made: impl Fn(usize) -> anyhow::Result<T>,
) -> anyhow::Result<Shape<T>> {
    Ok(Shape { name, unit, size, small: made(size)?, large: made(size.saturating_mul(TIMES))? })
}

/// One token from many senders, many tokens, items, permissions, swaps through one pool and through many, orders of a market, and
/// everything that was recorded of one wallet.
pub fn evm(recorded: &[Raw]) -> anyhow::Result<Vec<Shape<Raw>>> {
    let logs = |name, made: &dyn Fn(usize) -> anyhow::Result<Raw>| shape(name, "logs", LOGS, made);
    let transfer = Recorded::with(recorded, TRANSFER, 3)?;
    let item = Recorded::with(recorded, TRANSFER, 4)?;
    let approval = Recorded::with(recorded, APPROVAL, 3)?;
    let swap = Recorded::with(recorded, SWAP_V2, 3)?;
    let order = Recorded::with(recorded, ORDER_FULFILLED, 3)?;
    let wallet = &transfer.wallet;
    let everything: Vec<Value> = recorded
        .iter()
        .filter_map(|raw| Recorded::of(raw).ok())
        .filter(|other| other.wallet == *wallet)
        .flat_map(|other| other.logs)
        .collect();
    Ok(vec![
        logs("transfers", &|count| transfer.made(count, |log, at| set(log, &[(1, &word(at)), (2, wallet)])))?,
        logs("tokens", &|count| {
            transfer.made(count, |log, at| {
                set(log, &[(1, &word(at)), (2, wallet)]);
                log["address"] = address(at).into();
            })
        })?,
        logs("items", &|count| {
            item.made(count, |log, at| set(log, &[(1, &word(at)), (2, &item.wallet), (3, &word(at))]))
        })?,
        logs("approvals", &|count| approval.made(count, |log, at| set(log, &[(1, &approval.wallet), (2, &word(at))])))?,
        logs("swaps", &|count| swap.cycled(count, &swap.logs, None))?,
        logs("pools", &|count| swap.cycled(count, &swap.logs, swap.log["address"].as_str()))?,
        logs("orders", &|count| order.cycled(count, &order.logs, None))?,
        logs("everything", &|count| transfer.cycled(count, &everything, None))?,
    ])
}

/// A recorded transaction, and the log of it that the shape is made of.
struct Recorded<'a> {
    raw: &'a Raw,
    receipt: Value,
    logs: Vec<Value>,
    log: Value,
    /// The sender as a word of a log.
    wallet: String,
}

impl<'a> Recorded<'a> {
    fn of(raw: &'a Raw) -> anyhow::Result<Self> {
        let receipt: Value = serde_json::from_str(&raw.receipt)?;
        let logs = receipt["logs"].as_array().cloned().unwrap_or_default();
        let sender = receipt["from"].as_str().context("a receipt names its sender")?;
        let wallet = format!("0x{:0>64}", sender.trim_start_matches("0x"));
        Ok(Self { raw, receipt, logs, log: Value::Null, wallet })
    }

    fn with(recorded: &'a [Raw], topic0: &str, topics: usize) -> anyhow::Result<Self> {
        for raw in recorded {
            let found = Self::of(raw)?;
            let is_it = |log: &&Value| {
                log["topics"][0] == topic0 && log["topics"].as_array().is_some_and(|all| all.len() == topics)
            };
            if let Some(log) = found.logs.iter().find(is_it).cloned() {
                return Ok(Self { log, ..found });
            }
        }
        anyhow::bail!("no recorded transaction logs {topic0}")
    }

    /// The one log so many times, each time changed.
    fn made(&self, count: usize, change: impl Fn(&mut Value, usize)) -> anyhow::Result<Raw> {
        let changed = (0..count).map(|at| {
            let mut log = self.log.clone();
            change(&mut log, at);
            log
        });
        self.with_logs(changed.collect())
    }

    /// These logs again and again, each round with another contract in place of `contract`.
    fn cycled(&self, count: usize, logs: &[Value], contract: Option<&str>) -> anyhow::Result<Raw> {
        let mut made = Vec::with_capacity(count);
        for round in 0..count.div_ceil(logs.len().max(1)) {
            let mut text = serde_json::to_string(logs)?;
            if let Some(contract) = contract {
                text = text.replace(contract.trim_start_matches("0x"), address(round).trim_start_matches("0x"));
            }
            made.extend(serde_json::from_str::<Vec<Value>>(&text)?);
        }
        made.truncate(count);
        self.with_logs(made)
    }

    fn with_logs(&self, mut logs: Vec<Value>) -> anyhow::Result<Raw> {
        for (at, log) in logs.iter_mut().enumerate() {
            log["logIndex"] = format!("{at:#x}").into();
        }
        let mut receipt = self.receipt.clone();
        receipt["logs"] = logs.into();
        Ok(Raw { receipt: receipt.to_string(), ..self.raw.clone() })
    }
}

fn set(log: &mut Value, topics: &[(usize, &str)]) {
    for (at, topic) in topics {
        log["topics"][*at] = (*topic).into();
    }
}

/// An address that nobody has: it begins as no contract of a pack does, and differs at the end.
fn address(number: usize) -> String {
    format!("0x00000000000000000000f1ee{number:016x}")
}

fn word(number: usize) -> String {
    format!("0x{:0>64}", address(number).trim_start_matches("0x"))
}

/// Many instructions of one transaction, and many token accounts that it opened and filled.
pub fn solana(recorded: &[SolanaFacts]) -> anyhow::Result<Vec<Shape<SolanaFacts>>> {
    let holds = |facts: &SolanaFacts| -> usize {
        facts.transaction.effects.iter().map(|effects| effects.token_accounts.len()).sum()
    };
    let base = recorded.iter().max_by_key(|facts| (holds(facts), facts.transaction.instructions.len()));
    let base = base.context("a recorded transaction")?;
    Ok(vec![
        shape("instructions", "instructions", INSTRUCTIONS, |count| Ok(instructions(base, count)))?,
        shape("accounts", "token accounts", ACCOUNTS, |count| accounts(base, count))?,
    ])
}

fn instructions(base: &SolanaFacts, count: usize) -> SolanaFacts {
    let mut facts = base.clone();
    let again = base.transaction.instructions.iter().cycle().take(count).enumerate();
    facts.transaction.instructions = again
        .map(|(outer, instruction)| engine::solana::json::Instruction { outer, depth: 1, ..instruction.clone() })
        .collect();
    facts
}

fn accounts(base: &SolanaFacts, count: usize) -> anyhow::Result<SolanaFacts> {
    let mut facts = base.clone();
    let effects = facts.transaction.effects.as_mut().context("effects")?;
    let template = effects.token_accounts.last().cloned().context("a token account")?;
    let place = base.transaction.keys.iter().position(|key| *key == template.key).context("its key")?;
    let lamports = effects.lamports.get(place).copied().context("its lamports")?;
    for at in 0..count {
        let (key, mint) = (numbered(1, at), numbered(2, at));
        let other = |old: &Key| match *old {
            old if old == template.key => key,
            old if old == template.mint => mint,
            old => old,
        };
        facts.transaction.keys.push(key);
        effects.lamports.push(lamports);
        effects.token_accounts.push(engine::solana::json::TokenAccount { key, mint, ..template.clone() });
        for instruction in &base.transaction.instructions {
            let mut again = instruction.clone();
            again.accounts = instruction.accounts.iter().map(other).collect();
            again.outer = facts.transaction.instructions.len();
            facts.transaction.instructions.push(again);
        }
    }
    Ok(facts)
}

fn numbered(kind: u8, number: usize) -> Key {
    let mut key = [kind; 32];
    for (place, byte) in key.iter_mut().zip(number.to_be_bytes()) {
        *place = byte;
    }
    key
}
