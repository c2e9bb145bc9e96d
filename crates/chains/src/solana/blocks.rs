//! A whole block in one answer, failed transactions included. Votes of validators are left out: they are most of a block, move nothing but their
//! fee, and nobody accounts for them one by one.

use std::collections::BTreeSet;

use engine::TxHash;
use engine::solana::json::{DATA_CHARS_MAX, SolanaTransaction};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{SolanaChain, read};
use crate::bounded;
use crate::error::{CallError, UpstreamError};
use crate::family::{BlockTransaction, Lookup};
use crate::rpc::Endpoints;

/// Blocks that are fetched at once; others wait. Their calls share requests, and each block takes tens of megabytes.
pub(super) const BLOCKS_AT_ONCE_MAX: usize = 8;
/// Transactions of a block that are read, votes among them; blocks of today hold some thousands.
const BLOCK_TRANSACTIONS_MAX: usize = 20_000;
/// Transactions of a block that are looked up at once because their part of the block cannot be read.
const SINGLES_AT_ONCE_MAX: usize = 100;
/// Endpoints that are asked for one block. Which of them do not offer blocks is remembered.
const TRIES_MAX: usize = 3;
/// Slots behind one without a block in which the next block is sought; a leader has four in a row, and some lead twice.
const NEXT_SLOTS_MAX: u64 = 64;

const BLOCK: &str = "getBlock";
const VOTE_PROGRAM: &str = "Vote111111111111111111111111111111111111111";
/// The instructions of the vote program that vote, in all their forms. Others found accounts, hand them over, or withdraw what was earned.
const VOTES: [u32; 8] = [2, 6, 8, 9, 12, 13, 14, 15];

/// A block as a node told it.
struct ToldBlock {
    transactions: Vec<Result<SolanaTransaction, [u8; 64]>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BlockReply<'a> {
    block_time: Option<i64>,
    #[serde(borrow)]
    transactions: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BlockParent {
    parent_slot: u64,
}

/// As much of a transaction as tells whether it is a vote.
#[derive(Deserialize)]
struct Glimpse<'a> {
    #[serde(borrow)]
    transaction: GlimpsedTransaction<'a>,
}

#[derive(Deserialize)]
struct GlimpsedTransaction<'a> {
    #[serde(borrow)]
    signatures: Vec<&'a str>,
    #[serde(borrow)]
    message: GlimpsedMessage<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GlimpsedMessage<'a> {
    #[serde(borrow)]
    account_keys: Vec<&'a str>,
    #[serde(borrow)]
    instructions: Vec<GlimpsedInstruction<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GlimpsedInstruction<'a> {
    program_id_index: usize,
    data: &'a str,
}

impl GlimpsedMessage<'_> {
    fn is_vote(&self) -> bool {
        let votes = |instruction: &GlimpsedInstruction<'_>| {
            self.account_keys.get(instruction.program_id_index) == Some(&VOTE_PROGRAM) && instruction.votes()
        };
        !self.instructions.is_empty() && self.instructions.iter().all(votes)
    }
}

impl GlimpsedInstruction<'_> {
    fn votes(&self) -> bool {
        let data = Some(self.data).filter(|data| data.len() <= DATA_CHARS_MAX);
        let data = data.and_then(|data| bs58::decode(data).into_vec().ok());
        let kind = data.as_deref().and_then(<[u8]>::first_chunk::<4>).map(|bytes| u32::from_le_bytes(*bytes));
        kind.is_some_and(|kind| VOTES.contains(&kind))
    }
}

impl SolanaChain {
    /// Nothing of a slot that was skipped; `None` when the chain has not got there.
    pub(super) async fn whole_block(&self, number: u64) -> Result<Option<Vec<BlockTransaction>>, UpstreamError> {
        let Ok(_turn) = self.blocks.acquire().await else { return Err(UpstreamError::Unavailable) };
        let (told, finalized) = tokio::join!(self.told_block(number), self.head.get(self.finalized_slot()));
        let Some(block) = told? else { return self.blockless(number, finalized).await };
        let is_final = finalized.is_some_and(|head| number <= head);
        let all = stream::iter(block.transactions).map(|told| self.of_block(told, number, is_final));
        Ok(Some(all.buffered(SINGLES_AT_ONCE_MAX).collect().await))
    }

    /// `None` when the nodes refuse it or say that there is none.
    async fn told_block(&self, number: u64) -> Result<Option<ToldBlock>, UpstreamError> {
        let mut avoid = Endpoints::default();
        let (mut is_refused, mut failure) = (false, None);
        for tries in 0..TRIES_MAX {
            let Some(offer) = self.node.offer(avoid, BLOCK) else { break };
            let offer = if tries == 0 { offer } else { offer.apart() };
            let answered = self.node.call_offered(offer, BLOCK, params(number, "full")).await;
            match answered.answer {
                Ok(answer) if answer.get().trim() == "null" => is_refused = true,
                Ok(answer) => match ToldBlock::read(&answer, number) {
                    Ok(block) => return Ok(Some(block)),
                    Err(error) => failure = failure.or(Some(error)),
                },
                Err(CallError::Unsupported) => continue,
                Err(CallError::Refused) => is_refused = true,
                Err(CallError::Upstream(error)) => failure = failure.or(Some(error)),
            }
            let Some(by) = answered.by else { break };
            avoid = avoid.with(by);
        }
        match failure {
            Some(error) => Err(error),
            None if is_refused => Ok(None),
            None => Err(UpstreamError::NoBlocks(BLOCK)),
        }
    }

    /// Where no node gives a block: a slot was skipped if the next block follows one before it. A node that no longer has the block has no such
    /// proof, and fails.
    async fn blockless(
        &self,
        number: u64,
        finalized: Option<u64>,
    ) -> Result<Option<Vec<BlockTransaction>>, UpstreamError> {
        let last = number.saturating_add(NEXT_SLOTS_MAX);
        let range = json!([number, last, { "commitment": "confirmed" }]);
        let listed = self.node.call("getBlocks", range).await.map_err(CallError::fatal)?;
        let most = usize::try_from(NEXT_SLOTS_MAX).unwrap_or_default().saturating_add(1);
        let listed: Vec<u64> = bounded::list(listed.get(), most).ok_or(UpstreamError::BadResponse("list of blocks"))?;
        let Some(next) = listed.first().copied() else {
            return match finalized {
                None => Err(UpstreamError::Behind),
                Some(head) if head > last => Err(UpstreamError::Unavailable),
                Some(_) => Ok(None),
            };
        };
        if next <= number {
            return Err(UpstreamError::Unavailable);
        }
        let next = self.node.call(BLOCK, params(next, "none")).await.map_err(CallError::fatal)?;
        let BlockParent { parent_slot } = read(&next, "parent of a block")?;
        if parent_slot < number { Ok(Some(Vec::new())) } else { Err(UpstreamError::Unavailable) }
    }

    async fn of_block(
        &self,
        told: Result<SolanaTransaction, [u8; 64]>,
        number: u64,
        is_final: bool,
    ) -> BlockTransaction {
        let (signature, facts) = match told {
            Ok(transaction) => {
                let signature = transaction.signatures.first().copied().unwrap_or([0; 64]);
                (signature, Ok(self.facts(signature, transaction, is_final)))
            }
            Err(signature) => {
                let alone = match self.transaction(signature).await {
                    Ok(Lookup::Found(found)) => found.facts.await,
                    Ok(Lookup::Absent | Lookup::Pending) => {
                        Err(UpstreamError::Inconsistent("a block's transaction is gone"))
                    }
                    Err(error) => Err(error),
                };
                let is_here = |facts: &engine::Facts| facts.block().is_none_or(|block| block.number == number);
                let elsewhere = UpstreamError::Inconsistent("the transaction is no longer in the block");
                (signature, alone.and_then(|facts| if is_here(&facts) { Ok(facts) } else { Err(elsewhere) }))
            }
        };
        BlockTransaction { hash: TxHash::Solana(signature), facts }
    }

    async fn finalized_slot(&self) -> Option<u64> {
        let answer = self.node.call("getSlot", json!([{ "commitment": "finalized" }])).await.ok()?;
        read(&answer, "slot").ok()
    }
}

/// As a single transaction is asked for.
fn params(number: u64, details: &str) -> Value {
    json!([number, {
        "encoding": "json",
        "maxSupportedTransactionVersion": 0,
        "transactionDetails": details,
        "rewards": false,
        "commitment": "confirmed",
    }])
}

impl ToldBlock {
    /// Without votes. A transaction that cannot be read is looked up by its signature.
    fn read(answer: &RawValue, number: u64) -> Result<Self, UpstreamError> {
        let bad = || UpstreamError::BadResponse("transactions of a block");
        let reply: BlockReply<'_> = serde_json::from_str(answer.get()).map_err(|_| bad())?;
        let rows: Vec<&RawValue> = bounded::list(reply.transactions.get(), BLOCK_TRANSACTIONS_MAX).ok_or_else(bad)?;
        let mut seen = BTreeSet::new();
        let mut transactions = Vec::new();
        for row in rows {
            let glimpse: Glimpse<'_> = serde_json::from_str(row.get()).map_err(|_| bad())?;
            let GlimpsedTransaction { signatures, message } = glimpse.transaction;
            if message.is_vote() {
                continue;
            }
            let Some(Ok(TxHash::Solana(signature))) = signatures.first().map(|text| TxHash::parse(text)) else {
                return Err(bad());
            };
            if !seen.insert(signature) {
                return Err(UpstreamError::Inconsistent("the block holds a transaction twice"));
            }
            let transaction = SolanaTransaction::parse(row.get()).map_err(|_| signature);
            transactions.push(transaction.map(|transaction| SolanaTransaction {
                slot: Some(number),
                time: reply.block_time,
                ..transaction
            }));
        }
        Ok(Self { transactions })
    }
}
