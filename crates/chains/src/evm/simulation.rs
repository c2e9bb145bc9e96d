//! What passed inside a transaction, by running it once more on a node that cannot trace. The run starts from the block before, without what came
//! earlier in the same block. So it is believed only when it did what the receipt says: the same logs, the same gas, the same end; and when it left
//! the sender with the balance that the chain gave it.

use alloy_primitives::{Address, B256, Bytes, U64, U256, address};
use engine::evm::erc20::TRANSFER;
use engine::evm::json::{EvmTransaction, Log, Receipt};
use engine::evm::trace::InternalTransfer;
use engine::evm::{BalanceChange, InternalValue};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::parts::BlockHeader;
use super::{EvmChain, read};
use crate::rpc::Endpoints;

const METHOD: &str = "eth_simulateV1";
/// Whose logs tell of coin that moved, in the form of a token's.
const COIN: Address = address!("EeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE");
/// What a transaction costs that runs no code.
const PLAIN_GAS: u64 = 21_000;
/// The last type that can be run again from its own fields: later ones carry blobs, or act for other accounts.
const RUN_KIND_MAX: u64 = 2;

#[derive(Deserialize)]
struct SimulatedBlock {
    calls: Vec<SimulatedCall>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SimulatedCall {
    status: U64,
    gas_used: U256,
    logs: Vec<Log>,
}

impl EvmChain {
    /// `None` when no node simulates, or what it simulated is not what happened. The header is fetched where it is not at hand.
    pub(super) async fn simulated(
        &self,
        transaction: &EvmTransaction,
        receipt: &Receipt,
        header: Option<&BlockHeader>,
    ) -> Option<InternalValue> {
        let number = transaction.block_number?.to::<u64>();
        if !ran_code(receipt) || transaction.kind() > RUN_KIND_MAX {
            return None;
        }
        let offer = self.node.offer(Endpoints::default(), METHOD)?;
        let fetched;
        let header = match header {
            Some(header) => header,
            None => {
                fetched = self.header(Endpoints::default(), number).await.ok()??;
                &fetched
            }
        };
        let params = params(transaction, receipt, header, number)?;
        let (answered, balance) =
            tokio::join!(self.node.call_offered(offer, METHOD, params), self.balance(transaction.from, number));
        let blocks: Vec<SimulatedBlock> = read(&answered.answer.ok()?, "simulation").ok()?;
        let call = blocks.into_iter().next()?.calls.into_iter().next()?;
        let transfers = transfers(call, transaction, receipt)?;
        is_balanced(&transfers, balance, transaction, receipt)
            .then_some(InternalValue::Traced { transfers, failed: false })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BlockOverrides {
    number: U64,
    time: U64,
    #[serde(skip_serializing_if = "Option::is_none")]
    gas_limit: Option<U64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fee_recipient: Option<Address>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prev_randao: Option<B256>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_fee_per_gas: Option<U256>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Call<'a> {
    from: Address,
    /// Absent where a contract is created.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Address>,
    value: U256,
    input: &'a Bytes,
    gas: U256,
    /// Fees are paid as they were, so that balances inside are what they were.
    gas_price: U256,
}

/// Only then can coin have moved inside.
pub(super) fn ran_code(receipt: &Receipt) -> bool {
    receipt.gas_used > U256::from(PLAIN_GAS) && receipt.status == Some(U64::ONE)
}

fn params(transaction: &EvmTransaction, receipt: &Receipt, header: &BlockHeader, number: u64) -> Option<Value> {
    let block = BlockOverrides {
        number: U64::from(number),
        time: header.timestamp,
        gas_limit: header.gas_limit,
        fee_recipient: header.miner,
        prev_randao: header.mix_hash,
        base_fee_per_gas: header.base_fee_per_gas,
    };
    let call = Call {
        from: transaction.from,
        to: transaction.to,
        value: transaction.value,
        input: &transaction.input,
        gas: transaction.gas?,
        gas_price: receipt.effective_gas_price.or(transaction.gas_price)?,
    };
    let run = json!({
        "blockStateCalls": [{ "blockOverrides": block, "calls": [call] }],
        "traceTransfers": true,
        "validation": false,
    });
    Some(json!([run, U64::from(number.checked_sub(1)?)]))
}

/// Coin that moved inside; `None` when anything else differs from the receipt.
fn transfers(call: SimulatedCall, transaction: &EvmTransaction, receipt: &Receipt) -> Option<Vec<InternalTransfer>> {
    let (coin, logs): (Vec<_>, Vec<_>) = call.logs.into_iter().partition(|log| log.address == COIN);
    let is_same =
        |(said, log): (&Log, &Log)| said.address == log.address && said.topics == log.topics && said.data == log.data;
    let agrees = Some(call.status) == receipt.status
        && call.gas_used == receipt.gas_used
        && logs.len() == receipt.logs.len()
        && logs.iter().zip(&receipt.logs).all(is_same);
    if !agrees {
        return None;
    }
    let mut moved = coin.iter().map(coin_moved).collect::<Option<Vec<_>>>()?;
    if !transaction.value.is_zero() {
        // The first is the transaction's own value, which the trace of a call does not repeat either.
        let to = transaction.to.or(receipt.contract_address)?;
        let own = InternalTransfer { from: transaction.from, to, value: transaction.value };
        if moved.first() != Some(&own) {
            return None;
        }
        moved.remove(0);
    }
    Some(moved)
}

fn coin_moved(log: &Log) -> Option<InternalTransfer> {
    let is_transfer = log.topic0() == Some(TRANSFER) && log.topics.len() == 3 && log.data.len() == 32;
    let (from, to) = (log.topic_address(1)?, log.topic_address(2)?);
    Some(InternalTransfer { from, to, value: log.data_u256(0).filter(|_| is_transfer)? })
}

/// Whether the sender has what the run leaves it. Where it sent another transaction in the same block, nothing tells.
fn is_balanced(
    transfers: &[InternalTransfer],
    balance: BalanceChange,
    transaction: &EvmTransaction,
    receipt: &Receipt,
) -> bool {
    let BalanceChange { before: Some(before), after: Some(after), .. } = balance else { return false };
    let sum = |side: fn(&InternalTransfer) -> Address| {
        let own = transfers.iter().filter(|moved| side(moved) == transaction.from);
        own.fold(U256::ZERO, |sum, moved| sum.saturating_add(moved.value))
    };
    // A transaction to oneself pays nobody.
    let sent = if transaction.to == Some(transaction.from) { U256::ZERO } else { transaction.value };
    let out = sum(|moved| moved.from).saturating_add(sent).saturating_add(receipt.fee(transaction.gas_price));
    balance.sent_exactly(1) && before.saturating_add(sum(|moved| moved.to)) == after.saturating_add(out)
}
