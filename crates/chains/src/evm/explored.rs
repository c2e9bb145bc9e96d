//! What an explorer lists as having passed inside a transaction: taken up only where it is of this transaction and fits the receipt. Whether it is all
//! there was, the engine asks of the wallet's balance.

use alloy_primitives::{Address, B256, U256};
use engine::evm::InternalValue;
use engine::evm::erc20::TRANSFER;
use engine::evm::json::{EvmTransaction, Log, Receipt};
use engine::evm::movements::{DEPOSIT, WITHDRAWAL};
use engine::evm::trace::{InternalTransfer, carries_value};

use super::EvmChain;
use super::simulation::ran_code;
use crate::rpc::InternalRow;

impl EvmChain {
    /// `None` without an explorer, and when what it lists cannot be what happened.
    pub(super) async fn explored(&self, transaction: &EvmTransaction, receipt: &Receipt) -> Option<InternalValue> {
        let explorer = self.node.explorer.as_ref().filter(|_| ran_code(receipt))?;
        let rows = explorer.internal_rows(&self.node.chain.slug, transaction.hash).await.ok()?;
        let transfers = transfers(&rows, transaction, receipt)?;
        let fits = |wrapped: &Address| is_wrapped_as_logged(*wrapped, &transfers, transaction, receipt);
        let fits = self.node.chain.wrapped_native.iter().all(fits);
        fits.then_some(InternalValue::Listed { transfers })
    }
}

/// Coin goes into the wrapped coin's contract, and out of it, only with a log.
fn is_wrapped_as_logged(
    wrapped: Address,
    transfers: &[InternalTransfer],
    transaction: &EvmTransaction,
    receipt: &Receipt,
) -> bool {
    let paid = if transaction.to == Some(wrapped) { transaction.value } else { U256::ZERO };
    let sum = |side: fn(&InternalTransfer) -> Address| {
        let own = transfers.iter().filter(|moved| side(moved) == wrapped);
        own.fold(U256::ZERO, |sum, moved| sum.saturating_add(moved.value))
    };
    sum(|moved| moved.to).saturating_add(paid) == logged(receipt, wrapped, DEPOSIT, 1)
        && sum(|moved| moved.from) == logged(receipt, wrapped, WITHDRAWAL, 2)
}

/// How much the wrapped coin's contract logged under this topic. Some log only a mint or a burn: a transfer with nobody on this side.
fn logged(receipt: &Receipt, wrapped: Address, topic0: B256, side: usize) -> U256 {
    let own = || receipt.logs.iter().filter(|log| log.address == wrapped);
    let sum = |is_counted: &dyn Fn(&Log) -> bool| {
        let amounts = own().filter(|log| is_counted(log)).filter_map(|log| log.data_u256(0));
        amounts.fold(U256::ZERO, U256::saturating_add)
    };
    if own().any(|log| log.topic0() == Some(topic0)) {
        return sum(&|log| log.topic0() == Some(topic0));
    }
    sum(&|log| log.topic0() == Some(TRANSFER) && log.topic_address(side) == Some(Address::ZERO))
}

/// Coin that moved; `None` when a row is of another transaction or cannot be read.
fn transfers(rows: &[InternalRow], transaction: &EvmTransaction, receipt: &Receipt) -> Option<Vec<InternalTransfer>> {
    let number = transaction.block_number?.to::<u64>().to_string();
    let mut moved = Vec::new();
    for row in rows {
        let is_of_it = row.block_number == number && row.transaction_hash.is_none_or(|hash| hash == transaction.hash);
        let value: U256 = U256::from_str_radix(&row.value, 10).ok()?;
        if !is_of_it {
            return None;
        }
        // A delegate call repeats its caller's value; what failed was undone.
        let carries = carries_value(&row.kind) && (row.call_type.is_empty() || carries_value(&row.call_type));
        if !carries || value.is_zero() || !matches!(row.is_error.as_str(), "" | "0") {
            continue;
        }
        let to = [&row.to, &row.contract_address].into_iter().find(|text| !text.is_empty())?.parse().ok()?;
        moved.push(InternalTransfer { from: row.from, to, value });
    }
    // Some list the creation itself, whose value the transaction states.
    let own = receipt.contract_address.filter(|_| transaction.to.is_none());
    let own = own.map(|to| InternalTransfer { from: transaction.from, to, value: transaction.value });
    if own.is_some() && moved.first() == own.as_ref() {
        moved.remove(0);
    }
    Some(moved)
}
