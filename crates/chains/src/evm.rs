//! One EVM chain: the few calls that a transaction's facts take, asked together so that they share requests.

pub(crate) mod tokens;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use alloy_primitives::{Address, B256, U64, U256};
use engine::evm::json::{Receipt, Transaction};
use engine::evm::trace::{CallFrame, FlatTrace, Root, from_call_tracer, from_flat};
use engine::evm::{BalanceChange, Block, InternalValue};
use engine::{Chain, EvmFacts, NEED_ROUNDS_MAX, Need, Question, Rules, needs};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::error::{CallError, UpstreamError};
use crate::memory::TokenMemory;
use crate::rpc::{Endpoints, Node, Told};
use tokens::Tokens;

/// How long a finalized head is taken as current.
const HEAD_SECONDS_MAX: u64 = 5;
/// How long a reading waits for it; a block whose finality is not known is not final.
const HEAD_PATIENCE_SECONDS_MAX: u64 = 3;
/// Times that a receipt is asked for when the node has the transaction but not yet its receipt.
const RECEIPT_TRIES_MAX: usize = 2;
const RECEIPT_WAIT_MILLIS: u64 = 150;

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
    pub fn new(node: Node, memory: Arc<dyn TokenMemory>) -> Self {
        let tokens = Arc::new(Tokens::new(memory));
        Self { node: Arc::new(node), tokens, tracing: AtomicU8::new(0), head: Mutex::new(None) }
    }

    pub fn chain(&self) -> &Arc<Chain> {
        &self.node.chain
    }

    pub async fn lookup(&self, hash: B256) -> Result<Lookup, UpstreamError> {
        self.lookup_at(Endpoints::default(), hash).await
    }

    /// A node that does not have it, or not in a block yet, may be behind: the next one is asked before that is said.
    async fn lookup_at(&self, avoid: Endpoints, hash: B256) -> Result<Lookup, UpstreamError> {
        let mut is_pending = false;
        let told = self.node.seek(avoid, "eth_getTransactionByHash", json!([hash]), |answer| {
            let Some(transaction) = read::<Option<Transaction>>(answer, "transaction")? else { return Ok(None) };
            if transaction.hash != hash {
                return Err(UpstreamError::Inconsistent("the transaction has another hash"));
            }
            let id = transaction.chain_id.map(|id| id.to::<u64>()).filter(|id| *id != 0);
            if id.is_some() && id != self.chain().chain_id {
                return Err(UpstreamError::Inconsistent("the transaction carries another chain id"));
            }
            is_pending |= transaction.block_number.is_none();
            Ok(transaction.block_number.is_some().then_some(transaction))
        });
        match told.await {
            Ok(Some(told)) => Ok(Lookup::Mined(Box::new(told.value))),
            Ok(None) | Err(UpstreamError::Behind) if is_pending => Ok(Lookup::Pending),
            Ok(None) => Ok(Lookup::Absent),
            Err(error) => Err(error),
        }
    }

    /// Transaction, receipt and trace in one request, for a chain that the caller named. The rest may be under way still when the
    /// transaction is there: a slow trace holds up nothing that can go on without it.
    pub async fn lookup_whole(&self, hash: B256) -> Result<(Lookup, Option<BoxFuture<'_, Early>>), UpstreamError> {
        let mut early: BoxFuture<'_, Early> = Box::pin(self.early(hash));
        let mut told = None;
        let lookup = self.lookup(hash);
        tokio::pin!(lookup);
        let lookup = loop {
            tokio::select! {
                biased;
                lookup = &mut lookup => break lookup?,
                done = &mut early, if told.is_none() => told = Some(done),
            }
        };
        let early = told.map_or(early, |done| Box::pin(std::future::ready(done)));
        Ok(match lookup {
            Lookup::Mined(transaction) => (Lookup::Mined(transaction), Some(early)),
            absent @ (Lookup::Absent | Lookup::Pending) => (absent, None),
        })
    }

    /// What can be asked before the transaction itself is known. The finalized head is remembered for when it is.
    pub async fn early(&self, hash: B256) -> Early {
        let here = Endpoints::default();
        let (receipt, trace, _) = tokio::join!(self.receipt(here, hash), self.trace(here, hash), self.finalized_head());
        Early { receipt, trace }
    }

    async fn receipt(&self, avoid: Endpoints, hash: B256) -> Result<Option<Told<Receipt>>, UpstreamError> {
        let read = |answer: &RawValue| {
            let receipt = read::<Option<Receipt>>(answer, "receipt")?;
            match receipt {
                Some(receipt) if receipt.transaction_hash != hash => {
                    Err(UpstreamError::Inconsistent("the receipt is of another transaction"))
                }
                receipt => Ok(receipt),
            }
        };
        self.node.seek(avoid, "eth_getTransactionReceipt", json!([hash]), read).await
    }

    /// Everything about one mined transaction that does not depend on who asks. `early` may be under way still, so
    /// that it shares its request with the block's header.
    pub async fn facts(
        &self,
        transaction: Transaction,
        early: impl Future<Output = Early>,
    ) -> Result<EvmFacts, UpstreamError> {
        let number = transaction.block_number.map(|n| n.to::<u64>()).unwrap_or_default();
        let here = Endpoints::default();
        let (early, header, finalized) = tokio::join!(early, self.header(here, number), self.finalized_head());
        let Told { value: receipt, by } = self.receipt_again(transaction.hash, early.receipt).await?;
        let first = Story { transaction, receipt, header: header? };
        let (story, trace) = match first.agrees_with_itself() {
            Ok(()) => (first, early.trace),
            Err(contradiction) => self.tell_again(&first, by, contradiction).await?,
        };
        let number = story.number();
        let Story { transaction, receipt, header } = story;
        let header = header.ok_or(UpstreamError::Inconsistent("the block is not there"))?;
        let timestamp = header.timestamp.to::<u64>();
        let timestamp = i64::try_from(timestamp).map_err(|_| UpstreamError::BadResponse("block time"))?;
        let internal = self.believed(trace, &transaction, &receipt).await;
        Ok(EvmFacts {
            chain: Arc::clone(self.chain()),
            transaction,
            receipt,
            block: Some(Block { number, timestamp, finalized: finalized.is_some_and(|head| number <= head) }),
            internal,
            balances: BTreeMap::new(),
            tokens: BTreeMap::new(),
            also_on: Vec::new(),
            unasked: Vec::new(),
        })
    }

    /// A node can have a transaction a moment before its receipt.
    async fn receipt_again(
        &self,
        hash: B256,
        first: Result<Option<Told<Receipt>>, UpstreamError>,
    ) -> Result<Told<Receipt>, UpstreamError> {
        let mut answer = first?;
        for _ in 0..RECEIPT_TRIES_MAX {
            if let Some(receipt) = answer {
                return Ok(receipt);
            }
            tokio::time::sleep(Duration::from_millis(RECEIPT_WAIT_MILLIS)).await;
            answer = self.receipt(Endpoints::default(), hash).await?;
        }
        answer.ok_or(UpstreamError::NotRetrievable)
    }

    /// `None` when the nodes do not have the block.
    async fn header(&self, avoid: Endpoints, number: u64) -> Result<Option<Header>, UpstreamError> {
        let params = json!([U64::from(number), false]);
        let read = |answer: &RawValue| read::<Option<Header>>(answer, "block header");
        let told = self.node.seek(avoid, "eth_getBlockByNumber", params, read).await?;
        Ok(told.map(|told| told.value))
    }

    /// The parts of the first telling contradicted each other. A reorganisation between two calls mends itself, so the whole is asked
    /// once more of one endpoint, the next where there is one. The second telling must agree with itself and with a part of the
    /// first: after a reorganisation one part of the first is true still. Endpoints that tell two different stories are a
    /// contradiction that nobody here can decide.
    async fn tell_again(
        &self,
        first: &Story,
        by: usize,
        contradiction: UpstreamError,
    ) -> Result<(Story, Trace), UpstreamError> {
        let next = by.saturating_add(1).checked_rem(self.node.endpoints()).unwrap_or(by);
        for endpoint in [next, by] {
            match self.tell_at(endpoint, first.transaction.hash).await {
                Ok((second, trace)) if second.agrees_with_part_of(first) => return Ok((second, trace)),
                Ok(_) => return Err(UpstreamError::Inconsistent("a second telling is another story than the first")),
                Err(UpstreamError::Inconsistent(_)) => break,
                // This endpoint cannot be asked; the first may have mended.
                Err(_) => {}
            }
        }
        Err(contradiction)
    }

    async fn tell_at(&self, endpoint: usize, hash: B256) -> Result<(Story, Trace), UpstreamError> {
        let avoid = Endpoints::all_but(endpoint);
        let (lookup, receipt, trace) =
            tokio::join!(self.lookup_at(avoid, hash), self.receipt(avoid, hash), self.trace(avoid, hash));
        let (Lookup::Mined(transaction), Some(receipt)) = (lookup?, receipt?) else {
            return Err(UpstreamError::Inconsistent("the transaction is gone when asked again"));
        };
        let number = transaction.block_number.map(|n| n.to::<u64>()).unwrap_or_default();
        let header = self.header(avoid, number).await?;
        let story = Story { transaction: *transaction, receipt: receipt.value, header };
        story.agrees_with_itself().map(|()| (story, trace))
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
        let patience = Duration::from_secs(HEAD_PATIENCE_SECONDS_MAX);
        let number = tokio::time::timeout(patience, self.ask_finalized_head()).await.ok().flatten();
        *head = Some((Instant::now(), number));
        number
    }

    async fn ask_finalized_head(&self) -> Option<u64> {
        match self.chain().finality_depth {
            Some(depth) => {
                let answer = self.node.call("eth_blockNumber", json!([])).await.ok()?;
                let latest = read::<U64>(&answer, "block number").ok()?;
                Some(latest.to::<u64>().saturating_sub(depth))
            }
            None => {
                let answer = self.node.call("eth_getBlockByNumber", json!(["finalized", false])).await.ok()?;
                let header = read::<Option<Header>>(&answer, "block header").ok().flatten()?;
                header.number.map(|number| number.to::<u64>())
            }
        }
    }

    /// Answers what the engine lacks for this question, in bulk, until it lacks nothing. Facts that lack nothing stay as they are.
    pub async fn complete(
        &self,
        mut facts: Arc<EvmFacts>,
        question: &Question,
        rules: &Rules,
    ) -> Result<Arc<EvmFacts>, UpstreamError> {
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
                async {
                    if !wants_trace {
                        return None;
                    }
                    let trace = self.trace(Endpoints::default(), facts.transaction.hash).await;
                    Some(self.believed(trace, &facts.transaction, &facts.receipt).await)
                },
                async {
                    match account {
                        Some(account) => Some((account, self.balance(account, number).await)),
                        None => None,
                    }
                },
            );
            let facts = Arc::make_mut(&mut facts);
            facts.tokens.extend(metadata?);
            facts.balances.extend(balance);
            if let Some(internal) = internal {
                facts.internal = internal;
            }
        }
        Ok(facts)
    }

    /// Both trace formats before giving up; what a node lacks is remembered, so that it is asked once.
    async fn trace(&self, avoid: Endpoints, hash: B256) -> Trace {
        let mut by = None;
        if self.tracing() == Tracing::CallTracer {
            let params = json!([hash, { "tracer": "callTracer" }]);
            let answered = self.node.call_elsewhere(avoid, "debug_traceTransaction", params).await;
            by = answered.by;
            match answered.answer {
                Ok(answer) => {
                    if let Ok(Some(frame)) = read::<Option<CallFrame>>(&answer, "trace") {
                        let (transfers, failed) = from_call_tracer(&frame);
                        let said = Some((Root::of_call_tracer(&frame), InternalValue::Traced { transfers, failed }));
                        return Trace { by, said };
                    }
                }
                Err(CallError::Unsupported) => self.tracing.store(1, Ordering::Relaxed),
                Err(CallError::Refused) => {}
                // The other format would come no sooner.
                Err(CallError::Upstream(_)) => return Trace { by, said: None },
            }
        }
        if self.tracing() != Tracing::None {
            let answered = self.node.call_elsewhere(avoid, "trace_transaction", json!([hash])).await;
            by = by.or(answered.by);
            match answered.answer {
                Ok(answer) => {
                    if let Ok(Some(rows)) = read::<Option<Vec<FlatTrace>>>(&answer, "trace")
                        && !rows.is_empty()
                    {
                        let (transfers, failed) = from_flat(&rows);
                        let said = Some((Root::of_flat(&rows), InternalValue::Traced { transfers, failed }));
                        return Trace { by: answered.by, said };
                    }
                }
                Err(CallError::Unsupported) if self.tracing() == Tracing::Flat => {
                    self.tracing.store(2, Ordering::Relaxed)
                }
                Err(CallError::Unsupported | CallError::Refused | CallError::Upstream(_)) => {}
            }
        }
        Trace { by, said: None }
    }

    /// A trace of another transaction, or one that ended otherwise than the receipt says, is no trace: the next endpoint is asked, then
    /// balances are, and in the end a person.
    async fn believed(&self, first: Trace, transaction: &Transaction, receipt: &Receipt) -> InternalValue {
        let agrees = |trace: Trace| trace.said.filter(|(root, _)| root.agrees(transaction, receipt));
        let by = first.by;
        let mut said = agrees(first);
        if let (None, Some(by)) = (&said, by)
            && self.node.endpoints() > 1
        {
            said = agrees(self.trace(Endpoints::default().with(by), transaction.hash).await);
        }
        said.map_or(InternalValue::Untraceable, |(_, value)| value)
    }

    /// Whether a better moment would show more: a node that can trace but did not, or one that no longer has the balance.
    pub fn is_whole(&self, facts: &EvmFacts) -> bool {
        let is_traced = match facts.internal {
            InternalValue::Traced { .. } | InternalValue::NotAsked => true,
            InternalValue::Untraceable => self.tracing() == Tracing::None,
        };
        is_traced && facts.balances.values().all(|change| change.before.is_some() && change.after.is_some())
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
    receipt: Result<Option<Told<Receipt>>, UpstreamError>,
    trace: Trace,
}

/// What a node traced, of which transaction it says that it is, and which endpoint answered.
#[derive(Debug)]
struct Trace {
    by: Option<usize>,
    said: Option<(Root, InternalValue)>,
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

/// What nodes told of one mined transaction.
struct Story {
    transaction: Transaction,
    receipt: Receipt,
    header: Option<Header>,
}

impl Story {
    fn number(&self) -> u64 {
        self.transaction.block_number.map(|n| n.to::<u64>()).unwrap_or_default()
    }

    /// Transaction, receipt and block must tell one story: a node between two branches, or a liar, does not.
    fn agrees_with_itself(&self) -> Result<(), UpstreamError> {
        let Self { transaction, receipt, header } = self;
        let Some(header) = header else { return Err(UpstreamError::Inconsistent("the block is not there")) };
        let number = self.number();
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

    /// The transaction or the receipt of the first telling stood in the same block, and the receipt said the same of it.
    fn agrees_with_part_of(&self, first: &Self) -> bool {
        let block = self.transaction.block_hash;
        let is_same_block = block == first.receipt.block_hash;
        let said = |receipt: &Receipt| (receipt.status, receipt.logs.len());
        let is_same_outcome = !is_same_block || said(&self.receipt) == said(&first.receipt);
        is_same_outcome && (is_same_block || block == first.transaction.block_hash)
    }
}
