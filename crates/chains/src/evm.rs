//! One EVM chain: the few calls that a transaction's facts take, asked together so that they share requests.

mod blocks;
pub(crate) mod dialect;
mod explored;
mod given;
mod history;
mod kept;
mod parts;
pub(crate) mod probe;
mod signed;
mod simulation;
mod state;
pub(crate) mod tokens;
mod trace;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{B256, U64};
use engine::evm::InternalValue;
use engine::evm::json::{EvmTransaction, Receipt};
use engine::{Account, Block, Chain, EvmFacts, Facts, Need, TxHash};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use crate::error::UpstreamError;
use crate::family::{BlockTransaction, Completeness, Effort, Elsewhere, FoundTransaction, Lookup, ServedChain};
use crate::finality::FinalizedHead;
use crate::history::{History, HistoryError, Period, TakeHash};
use crate::memory::TokenMemory;
use crate::rpc::{AttributedAnswer, Endpoints, Node};
use blocks::BLOCKS_AT_ONCE_MAX;
use parts::{BlockHeader, Parts};
use tokens::Tokens;
use trace::Trace;

/// Times that a receipt is asked for when the node has the transaction but not yet its receipt.
const RECEIPT_TRIES_MAX: usize = 2;
const RECEIPT_WAIT_MILLIS: u64 = 150;

#[derive(Debug)]
pub(crate) struct EvmChain {
    node: Arc<Node>,
    tokens: Arc<Tokens>,
    head: FinalizedHead,
    /// Turns of fetching a whole block.
    blocks: Semaphore,
}

/// What a node says of a hash.
enum TransactionState {
    Absent,
    Pending,
    Mined(Box<MinedTransaction>),
}

struct MinedTransaction {
    transaction: EvmTransaction,
    /// Whether its hash was computed from what was signed, and is the one that was asked for.
    is_hash_computed: bool,
}

/// Receipt and trace, asked for before the transaction is known.
#[derive(Debug)]
struct ReceiptAndTrace {
    receipt: Result<Option<AttributedAnswer<Receipt>>, UpstreamError>,
    trace: Trace,
}

impl ServedChain for EvmChain {
    fn chain(&self) -> &Arc<Chain> {
        &self.node.chain
    }

    fn lookup(&self, hash: TxHash, effort: Effort) -> BoxFuture<'_, Result<Lookup<'_>, UpstreamError>> {
        async move {
            let TxHash::Evm(hash) = hash else { return Ok(Lookup::Absent) };
            let mut rest: BoxFuture<'_, ReceiptAndTrace> = self.receipt_and_trace(hash).boxed();
            let seen = match effort {
                Effort::Everything => self.seen_beside(hash, &mut rest).await?,
                Effort::Presence => self.seen_at(Endpoints::default(), hash).await?,
            };
            Ok(match seen {
                TransactionState::Absent => Lookup::Absent,
                TransactionState::Pending => Lookup::Pending,
                TransactionState::Mined(mined) => Lookup::Found(FoundTransaction {
                    is_unique: !mined.transaction.is_replayable(),
                    facts: async move { self.facts(*mined, rest).await.map(Facts::from) }.boxed(),
                }),
            })
        }
        .boxed()
    }

    fn answer<'a>(&'a self, facts: Facts, needs: &'a [Need]) -> BoxFuture<'a, Result<Facts, UpstreamError>> {
        async move {
            let Facts::Evm(facts) = facts else { return Ok(facts) };
            self.answered(facts, needs).await.map(Facts::Evm)
        }
        .boxed()
    }

    fn block(&self, number: u64) -> BoxFuture<'_, Result<Option<Vec<BlockTransaction>>, UpstreamError>> {
        self.whole_block(number).boxed()
    }

    /// A later attempt may show more where a node can trace but did not, or no longer has the balance.
    fn completeness(&self, facts: &Facts) -> Completeness {
        let Facts::Evm(facts) = facts else { return Completeness::Partial };
        let has_balances = facts
            .balances
            .values()
            .all(|change| change.before.is_some() && change.after.is_some() && change.sent.is_some());
        match facts.internal {
            _ if !has_balances || has_unsaid(facts) => Completeness::Partial,
            InternalValue::Listed { .. } if self.can_trace() => Completeness::Partial,
            InternalValue::Traced { .. } | InternalValue::Listed { .. } | InternalValue::NotAsked => {
                Completeness::Whole
            }
            InternalValue::Untraceable if self.can_trace() || self.node.explorer.is_some() => Completeness::Partial,
            InternalValue::Untraceable => Completeness::Unsupported,
        }
    }

    fn lists_accounts(&self) -> bool {
        self.node.explorer.is_some()
    }

    fn history<'a>(
        &'a self,
        account: Account,
        period: Period,
        take: TakeHash<'a>,
    ) -> BoxFuture<'a, Result<History, HistoryError>> {
        async move {
            let account = account.evm().ok_or(HistoryError::OtherFamily)?;
            self.listed(account, period, take).await
        }
        .boxed()
    }

    fn encode(&self, facts: &Facts) -> Option<Vec<u8>> {
        let Facts::Evm(facts) = facts else { return None };
        kept::encode(facts)
    }

    fn decode(&self, hash: TxHash, bytes: &[u8]) -> Option<Facts> {
        let TxHash::Evm(hash) = hash else { return None };
        kept::decode(self.chain(), hash, bytes).map(Facts::from)
    }

    /// A transaction from before EIP-155 is valid on every chain.
    fn is_unique(&self, facts: &Facts) -> bool {
        let Facts::Evm(facts) = facts else { return false };
        !facts.transaction.is_replayable()
    }

    fn found_elsewhere(&self, facts: Facts, elsewhere: Elsewhere) -> Facts {
        let Facts::Evm(mut facts) = facts else { return facts };
        let Elsewhere { also_on, unasked } = elsewhere;
        if !also_on.is_empty() || !unasked.is_empty() {
            let facts = Arc::make_mut(&mut facts);
            (facts.also_on, facts.unasked) = (also_on, unasked);
        }
        Facts::Evm(facts)
    }
}

impl EvmChain {
    pub(crate) fn new(node: Node, memory: Arc<dyn TokenMemory>) -> Self {
        let tokens = Arc::new(Tokens::new(memory));
        let blocks = Semaphore::new(BLOCKS_AT_ONCE_MAX);
        Self { node: Arc::new(node), tokens, head: FinalizedHead::default(), blocks }
    }

    /// A node that does not have it, or not in a block yet, may be behind: the next one is asked before that is said.
    async fn seen_at(&self, avoid: Endpoints, hash: B256) -> Result<TransactionState, UpstreamError> {
        let mut is_pending = false;
        let told = self.node.call_required(avoid, "eth_getTransactionByHash", json!([hash]), |answer| {
            let Some(transaction) = read::<Option<EvmTransaction>>(answer, "transaction")? else { return Ok(None) };
            if transaction.hash != hash {
                return Err(UpstreamError::Inconsistent("the transaction has another hash"));
            }
            if self.is_of_parent(&transaction) {
                return Ok(None);
            }
            let told = self.checked(answer, transaction)?;
            let is_mined = told.transaction.block_number.is_some();
            is_pending |= !is_mined;
            Ok(is_mined.then_some(told))
        });
        match told.await {
            Ok(Some(told)) => Ok(TransactionState::Mined(Box::new(told.value))),
            Ok(None) | Err(UpstreamError::Behind) if is_pending => Ok(TransactionState::Pending),
            Ok(None) => Ok(TransactionState::Absent),
            Err(error) => Err(error),
        }
    }

    /// Whether it is of the history that this chain took over from another.
    fn is_of_parent(&self, transaction: &EvmTransaction) -> bool {
        let parent = self.chain().quirks.forked_from;
        parent.is_some() && parent == transaction.chain_id.map(|id| id.to::<u64>())
    }

    /// What a node says of a transaction, where that is of this chain and has the hash that it claims.
    fn checked(&self, answer: &RawValue, transaction: EvmTransaction) -> Result<MinedTransaction, UpstreamError> {
        let id = transaction.chain_id.map(|id| id.to::<u64>()).filter(|id| *id != 0);
        if id.is_some() && id != self.chain().chain_id {
            return Err(UpstreamError::Inconsistent("the transaction carries another chain id"));
        }
        let computed = signed::hash(answer);
        if computed.is_some_and(|computed| computed != transaction.hash) {
            return Err(UpstreamError::Inconsistent("what was signed has another hash"));
        }
        Ok(MinedTransaction { transaction, is_hash_computed: computed.is_some() })
    }

    /// The transaction, in one request with its receipt and trace. Those may still be under way when the transaction has arrived: a
    /// slow trace delays nothing that does not need it.
    async fn seen_beside<'a>(
        &'a self,
        hash: B256,
        rest: &mut BoxFuture<'a, ReceiptAndTrace>,
    ) -> Result<TransactionState, UpstreamError> {
        let seen = self.seen_at(Endpoints::default(), hash);
        tokio::pin!(seen);
        let mut is_done = false;
        loop {
            tokio::select! {
                biased;
                seen = &mut seen => return seen,
                done = &mut *rest, if !is_done => {
                    *rest = std::future::ready(done).boxed();
                    is_done = true;
                }
            }
        }
    }

    /// The finalized head is fetched at the same time and cached for when the transaction is known.
    async fn receipt_and_trace(&self, hash: B256) -> ReceiptAndTrace {
        let here = Endpoints::default();
        let (receipt, trace, _) = tokio::join!(self.receipt(here, hash), self.trace(here, hash), self.finalized_head());
        ReceiptAndTrace { receipt, trace }
    }

    async fn receipt(&self, avoid: Endpoints, hash: B256) -> Result<Option<AttributedAnswer<Receipt>>, UpstreamError> {
        let read = |answer: &RawValue| {
            let receipt = read::<Option<Receipt>>(answer, "receipt")?;
            match receipt {
                Some(receipt) if receipt.transaction_hash != hash => {
                    Err(UpstreamError::Inconsistent("the receipt is of another transaction"))
                }
                receipt => Ok(receipt),
            }
        };
        self.node.call_required(avoid, "eth_getTransactionReceipt", json!([hash]), read).await
    }

    /// Everything about one mined transaction that does not depend on who asks. `rest` may be under way still, so that it shares
    /// its request with the block's header.
    async fn facts(
        &self,
        mined: MinedTransaction,
        rest: impl Future<Output = ReceiptAndTrace>,
    ) -> Result<EvmFacts, UpstreamError> {
        let number = mined.transaction.block_number.map(|n| n.to::<u64>()).unwrap_or_default();
        let here = Endpoints::default();
        let (rest, header, finalized) = tokio::join!(rest, self.header(here, number), self.finalized_head());
        self.assembled(mined, rest, header, finalized).await
    }

    /// The facts of parts that agree. Where they do not, they are fetched again.
    async fn assembled(
        &self,
        mined: MinedTransaction,
        rest: ReceiptAndTrace,
        header: Result<Option<BlockHeader>, UpstreamError>,
        finalized: Option<u64>,
    ) -> Result<EvmFacts, UpstreamError> {
        let MinedTransaction { transaction, is_hash_computed } = mined;
        let AttributedAnswer { value: receipt, by } = self.receipt_again(transaction.hash, rest.receipt).await?;
        let first = Parts { transaction, is_hash_computed, receipt, header: header? };
        let (parts, trace) = match first.agree() {
            Ok(()) => (first, rest.trace),
            Err(contradiction) => self.fetch_again(&first, by, contradiction).await?,
        };
        let number = parts.number();
        let Parts { transaction, is_hash_computed, receipt, header } = parts;
        let header = header.ok_or(UpstreamError::Inconsistent("the block is not there"))?;
        let timestamp = header.timestamp.to::<u64>();
        let timestamp = i64::try_from(timestamp).map_err(|_| UpstreamError::BadResponse("block time"))?;
        let internal = self.internal(trace, &transaction, &receipt, Some(&header)).await;
        Ok(EvmFacts {
            chain: Arc::clone(self.chain()),
            transaction,
            is_hash_computed,
            receipt,
            block: Some(Block { number, timestamp, finalized: finalized.is_some_and(|head| number <= head) }),
            internal,
            balances: BTreeMap::new(),
            tokens: BTreeMap::new(),
            holdings: BTreeMap::new(),
            given: BTreeMap::new(),
            vouched: BTreeMap::new(),
            codes: BTreeMap::new(),
            also_on: Vec::new(),
            unasked: Vec::new(),
        })
    }

    /// A node can have a transaction a moment before its receipt.
    async fn receipt_again(
        &self,
        hash: B256,
        first: Result<Option<AttributedAnswer<Receipt>>, UpstreamError>,
    ) -> Result<AttributedAnswer<Receipt>, UpstreamError> {
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
    async fn header(&self, avoid: Endpoints, number: u64) -> Result<Option<BlockHeader>, UpstreamError> {
        let params = json!([U64::from(number), false]);
        let read = |answer: &RawValue| read::<Option<BlockHeader>>(answer, "block header");
        let told = self.node.call_required(avoid, "eth_getBlockByNumber", params, read).await?;
        Ok(told.map(|told| told.value))
    }

    /// The parts that were fetched first contradict each other. A reorganisation between two calls ends by itself, so all parts are
    /// fetched once more from one endpoint, the next where there is one. They must agree with each other and with a part that was
    /// fetched first: after a reorganisation one of those is still true. Endpoints that give two different transactions are a
    /// contradiction that cannot be decided here.
    async fn fetch_again(
        &self,
        first: &Parts,
        by: usize,
        contradiction: UpstreamError,
    ) -> Result<(Parts, Trace), UpstreamError> {
        let next = by.saturating_add(1).checked_rem(self.node.endpoints()).unwrap_or(by);
        for endpoint in [next, by] {
            match self.fetch_from(endpoint, first.transaction.hash).await {
                Ok((second, trace)) if second.agree_with_part_of(first) => return Ok((second, trace)),
                Ok(_) => return Err(UpstreamError::Inconsistent("a second telling is another story than the first")),
                Err(UpstreamError::Inconsistent(_)) => break,
                // This endpoint cannot be asked; the first may have recovered.
                Err(_) => {}
            }
        }
        Err(contradiction)
    }

    async fn fetch_from(&self, endpoint: usize, hash: B256) -> Result<(Parts, Trace), UpstreamError> {
        let avoid = Endpoints::all_but(endpoint);
        let (seen, receipt, trace) =
            tokio::join!(self.seen_at(avoid, hash), self.receipt(avoid, hash), self.trace(avoid, hash));
        let (TransactionState::Mined(mined), Some(receipt)) = (seen?, receipt?) else {
            return Err(UpstreamError::Inconsistent("the transaction is gone when asked again"));
        };
        let MinedTransaction { transaction, is_hash_computed } = *mined;
        let number = transaction.block_number.map(|n| n.to::<u64>()).unwrap_or_default();
        let header = self.header(avoid, number).await?;
        let parts = Parts { transaction, is_hash_computed, receipt: receipt.value, header };
        parts.agree().map(|()| (parts, trace))
    }

    /// The last final block; `None` when the nodes do not say.
    async fn finalized_head(&self) -> Option<u64> {
        self.head.get(self.ask_finalized_head()).await
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
                let header = read::<Option<BlockHeader>>(&answer, "block header").ok().flatten()?;
                header.number.map(|number| number.to::<u64>())
            }
        }
    }

    async fn answered(&self, mut facts: Arc<EvmFacts>, needs: &[Need]) -> Result<Arc<EvmFacts>, UpstreamError> {
        let (mut tokens, mut holdings, mut given, mut vouched) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut codes = Vec::new();
        let (mut account, mut wants_trace) = (None, false);
        for need in needs {
            match need {
                Need::Token(token) => tokens.extend(token.evm()),
                Need::Balance(holder) => account = holder.evm(),
                Need::Holding { token, holder, shares } => {
                    holdings.extend(token.evm().zip(holder.evm()).map(|held| (held, *shares)));
                }
                Need::Given { token, giver, taker } => {
                    let parties = token.evm().zip(giver.evm()).zip(taker.evm());
                    given.extend(parties.map(|((token, giver), taker)| (token, giver, taker)));
                }
                Need::Vouched { asked, selector, contract, anytime } => {
                    let parties = asked.evm().zip(contract.evm());
                    vouched.extend(parties.map(|(asked, contract)| ((asked, *selector, contract), *anytime)));
                }
                Need::Code(contract) => codes.extend(contract.evm()),
                Need::InternalValue => wants_trace = true,
            }
        }
        let number = facts.block.map_or(0, |block| block.number);
        let (metadata, internal, balance, holdings, given, vouched, codes) = tokio::join!(
            self.tokens.metadata(&self.node, &tokens),
            async {
                if !wants_trace {
                    return None;
                }
                let trace = self.trace(Endpoints::default(), facts.transaction.hash).await;
                Some(self.internal(trace, &facts.transaction, &facts.receipt, None).await)
            },
            async { Some((account?, self.balance(account?, number).await)) },
            join_all(
                holdings
                    .into_iter()
                    .map(|(held, shares)| async move { (held, self.holding(held, shares, number).await) })
            ),
            join_all(given.into_iter().map(|(token, giver, taker)| async move {
                ((token, giver, taker), given::given(&self.node, token, giver, taker, number).await)
            })),
            join_all(
                vouched.into_iter().map(|(question, anytime)| async move {
                    (question, self.vouched(question, anytime, number).await)
                })
            ),
            join_all(codes.into_iter().map(|contract| async move { (contract, self.code(contract, number).await) })),
        );
        let changed = Arc::make_mut(&mut facts);
        changed.tokens.extend(metadata?);
        changed.balances.extend(balance);
        changed.holdings.extend(holdings);
        changed.given.extend(given);
        changed.vouched.extend(vouched);
        changed.codes.extend(codes);
        if let Some(internal) = internal {
            changed.internal = internal;
        }
        Ok(facts)
    }
}

/// Whether no node could say something that was asked.
fn has_unsaid(facts: &EvmFacts) -> bool {
    facts.given.values().chain(facts.vouched.values()).any(Option::is_none) || facts.codes.values().any(Option::is_none)
}

fn read<T: DeserializeOwned>(answer: &RawValue, what: &'static str) -> Result<T, UpstreamError> {
    serde_json::from_str(answer.get()).map_err(|_| UpstreamError::BadResponse(what))
}
