//! One EVM chain: the few calls that a transaction's facts take, asked together so that they share requests.

mod tokens;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use alloy_primitives::{Address, B256, U64, U256};
use engine::evm::json::{Receipt, Transaction};
use engine::evm::trace::{CallFrame, FlatTrace, from_call_tracer, from_flat};
use engine::evm::{BalanceChange, Block, InternalValue};
use engine::{Chain, EvmFacts, NEED_ROUNDS_MAX, Need, Question, Rules, needs};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::error::{CallError, UpstreamError};
use crate::rpc::Node;
use tokens::Tokens;

/// How long a finalized head is taken as current.
const HEAD_SECONDS_MAX: u64 = 5;
/// Times that a receipt is asked for when the node has the transaction but not yet its receipt.
const RECEIPT_TRIES_MAX: usize = 2;

#[derive(Debug)]
pub struct EvmChain {
    node: Arc<Node>,
    tokens: Arc<Tokens>,
    tracing: AtomicU8,
    head: Mutex<Option<(Instant, Option<u64>)>>,
}

/// What the chain's nodes offer to show value inside a transaction, learned from their refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tracing {
    CallTracer,
    Flat,
    None,
}

/// What a node says of a hash.
#[derive(Debug, Clone)]
pub enum Lookup {
    Absent,
    Pending,
    Mined(Box<Transaction>),
}

#[derive(Deserialize)]
struct Header {
    hash: Option<B256>,
    number: Option<U64>,
    timestamp: U64,
}

impl EvmChain {
    pub fn new(node: Node) -> Self {
        Self { node: Arc::new(node), tokens: Arc::default(), tracing: AtomicU8::new(0), head: Mutex::new(None) }
    }

    pub fn chain(&self) -> &Arc<Chain> {
        &self.node.chain
    }

    pub async fn lookup(&self, hash: B256) -> Result<Lookup, UpstreamError> {
        let answer = self.node.demand("eth_getTransactionByHash", json!([hash])).await?;
        let Some(transaction) = read::<Option<Transaction>>(&answer, "transaction")? else { return Ok(Lookup::Absent) };
        if transaction.hash != hash {
            return Err(UpstreamError::Inconsistent("the transaction has another hash"));
        }
        let id = transaction.chain_id.map(|id| id.to::<u64>()).filter(|id| *id != 0);
        if id.is_some() && id != self.chain().chain_id {
            return Err(UpstreamError::Inconsistent("the transaction carries another chain id"));
        }
        Ok(match transaction.block_number {
            Some(_) => Lookup::Mined(Box::new(transaction)),
            None => Lookup::Pending,
        })
    }

    /// Transaction, receipt and trace in one request, for a chain that the caller named.
    pub async fn lookup_whole(&self, hash: B256) -> Result<(Lookup, Option<Early>), UpstreamError> {
        let (lookup, early) = tokio::join!(self.lookup(hash), self.early(hash));
        Ok(match lookup? {
            Lookup::Mined(transaction) => (Lookup::Mined(transaction), Some(early)),
            absent => (absent, None),
        })
    }

    /// What can be asked before the transaction itself is known.
    pub async fn early(&self, hash: B256) -> Early {
        let (receipt, internal) = tokio::join!(self.receipt(hash), self.trace(hash));
        Early { receipt, internal }
    }

    async fn receipt(&self, hash: B256) -> Result<Option<Receipt>, UpstreamError> {
        let answer = self.node.demand("eth_getTransactionReceipt", json!([hash])).await?;
        read(&answer, "receipt")
    }

    /// Everything about one mined transaction that does not depend on who asks. `early` may be under way still, so
    /// that it shares its request with the block's header.
    pub async fn facts(
        &self,
        transaction: Transaction,
        early: impl Future<Output = Early>,
    ) -> Result<EvmFacts, UpstreamError> {
        let number = transaction.block_number.map(|n| n.to::<u64>()).unwrap_or_default();
        let (early, header, finalized) = tokio::join!(early, self.header(number), self.finalized_head());
        let receipt = self.receipt_again(transaction.hash, early.receipt).await?;
        let header = header?;
        consistent(&transaction, &receipt, &header, number)?;
        let timestamp =
            i64::try_from(header.timestamp.to::<u64>()).map_err(|_| UpstreamError::BadResponse("block time"))?;
        Ok(EvmFacts {
            chain: Arc::clone(self.chain()),
            transaction,
            receipt,
            block: Some(Block { number, timestamp, finalized: finalized.is_some_and(|head| number <= head) }),
            internal: early.internal,
            balances: BTreeMap::new(),
            tokens: BTreeMap::new(),
            also_on: Vec::new(),
        })
    }

    /// A node can have a transaction a moment before its receipt.
    async fn receipt_again(
        &self,
        hash: B256,
        first: Result<Option<Receipt>, UpstreamError>,
    ) -> Result<Receipt, UpstreamError> {
        let mut answer = first?;
        for _ in 0..RECEIPT_TRIES_MAX {
            if let Some(receipt) = answer {
                return Ok(receipt);
            }
            answer = self.receipt(hash).await?;
        }
        answer.ok_or(UpstreamError::NotRetrievable)
    }

    async fn header(&self, number: u64) -> Result<Header, UpstreamError> {
        let answer = self.node.demand("eth_getBlockByNumber", json!([U64::from(number), false])).await?;
        read::<Option<Header>>(&answer, "block header")?.ok_or(UpstreamError::Inconsistent("the block is not there"))
    }

    /// The last final block, a few seconds old at most; `None` when the nodes do not say.
    async fn finalized_head(&self) -> Option<u64> {
        // One asks, the others wait for its answer.
        let mut head = self.head.lock().await;
        if let Some((at, number)) = *head
            && at.elapsed() < Duration::from_secs(HEAD_SECONDS_MAX)
        {
            return number;
        }
        let number = match self.chain().finality_depth {
            Some(depth) => {
                let answer = self.node.call("eth_blockNumber", json!([])).await.ok();
                let latest = answer.and_then(|answer| read::<U64>(&answer, "block number").ok());
                latest.map(|latest| latest.to::<u64>().saturating_sub(depth))
            }
            None => {
                let answer = self.node.call("eth_getBlockByNumber", json!(["finalized", false])).await.ok();
                let header = answer.and_then(|answer| read::<Option<Header>>(&answer, "block header").ok().flatten());
                header.and_then(|header| header.number).map(|number| number.to::<u64>())
            }
        };
        *head = Some((Instant::now(), number));
        number
    }

    /// Answers what the engine lacks for this question, in bulk, until it lacks nothing.
    pub async fn complete(
        &self,
        mut facts: EvmFacts,
        question: &Question,
        rules: &Rules,
    ) -> Result<EvmFacts, UpstreamError> {
        for _ in 0..NEED_ROUNDS_MAX {
            let wanted = needs(&facts, question, rules);
            if wanted.is_empty() {
                break;
            }
            let tokens: Vec<Address> = wanted.iter().filter_map(|need| token_of(*need)).collect();
            let account = wanted.iter().find_map(|need| balance_of(*need));
            let wants_trace = wanted.contains(&Need::InternalValue);
            let number = facts.block.map_or(0, |block| block.number);
            let (metadata, internal, balance) = tokio::join!(
                self.tokens.metadata(&self.node, &tokens),
                async { if wants_trace { Some(self.trace(facts.transaction.hash).await) } else { None } },
                async {
                    match account {
                        Some(account) => Some((account, self.balance(account, number).await)),
                        None => None,
                    }
                },
            );
            facts.tokens.extend(metadata?);
            facts.balances.extend(balance);
            facts.internal = internal.unwrap_or(facts.internal);
        }
        Ok(facts)
    }

    /// Both trace formats before giving up; what a node lacks is remembered, so that it is asked once.
    async fn trace(&self, hash: B256) -> InternalValue {
        if self.tracing() == Tracing::CallTracer {
            let params = json!([hash, { "tracer": "callTracer" }]);
            match self.node.call("debug_traceTransaction", params).await {
                Ok(answer) => {
                    if let Ok(Some(frame)) = read::<Option<CallFrame>>(&answer, "trace") {
                        let (transfers, failed) = from_call_tracer(&frame);
                        return InternalValue::Traced { transfers, failed };
                    }
                }
                Err(CallError::Unsupported) => self.tracing.store(1, Ordering::Relaxed),
                Err(CallError::Refused | CallError::Upstream(_)) => {}
            }
        }
        if self.tracing() != Tracing::None {
            match self.node.call("trace_transaction", json!([hash])).await {
                Ok(answer) => {
                    if let Ok(Some(rows)) = read::<Option<Vec<FlatTrace>>>(&answer, "trace")
                        && !rows.is_empty()
                    {
                        let (transfers, failed) = from_flat(&rows);
                        return InternalValue::Traced { transfers, failed };
                    }
                }
                Err(CallError::Unsupported) if self.tracing() == Tracing::Flat => {
                    self.tracing.store(2, Ordering::Relaxed)
                }
                Err(CallError::Unsupported | CallError::Refused | CallError::Upstream(_)) => {}
            }
        }
        InternalValue::Untraceable
    }

    fn tracing(&self) -> Tracing {
        match self.tracing.load(Ordering::Relaxed) {
            0 => Tracing::CallTracer,
            1 => Tracing::Flat,
            _ => Tracing::None,
        }
    }

    async fn balance(&self, account: Address, block: u64) -> BalanceChange {
        let at = |number: u64| async move {
            let answer = self.node.call("eth_getBalance", json!([account, U64::from(number)])).await.ok()?;
            read::<U256>(&answer, "balance").ok()
        };
        let (before, after) = tokio::join!(at(block.saturating_sub(1)), at(block));
        BalanceChange { before, after }
    }
}

/// Receipt and trace, asked for together with the transaction.
#[derive(Debug)]
pub struct Early {
    receipt: Result<Option<Receipt>, UpstreamError>,
    internal: InternalValue,
}

fn token_of(need: Need) -> Option<Address> {
    match need {
        Need::Token(token) => Some(token),
        Need::InternalValue | Need::Balance(_) => None,
    }
}

fn balance_of(need: Need) -> Option<Address> {
    match need {
        Need::Balance(account) => Some(account),
        Need::InternalValue | Need::Token(_) => None,
    }
}

fn read<T: DeserializeOwned>(answer: &RawValue, what: &'static str) -> Result<T, UpstreamError> {
    serde_json::from_str(answer.get()).map_err(|_| UpstreamError::BadResponse(what))
}

/// Transaction, receipt and block must tell one story: a node between two branches, or a liar, does not.
fn consistent(transaction: &Transaction, receipt: &Receipt, header: &Header, number: u64) -> Result<(), UpstreamError> {
    let differ = |one: Option<B256>, other: Option<B256>| matches!((one, other), (Some(a), Some(b)) if a != b);
    if receipt.transaction_hash != transaction.hash {
        return Err(UpstreamError::Inconsistent("the receipt is of another transaction"));
    }
    if differ(receipt.block_hash, transaction.block_hash)
        || receipt.block_number.is_some_and(|n| n.to::<u64>() != number)
        || differ(header.hash, transaction.block_hash)
        || header.number.is_some_and(|n| n.to::<u64>() != number)
    {
        return Err(UpstreamError::Inconsistent("transaction, receipt and block disagree on the block"));
    }
    Ok(())
}
