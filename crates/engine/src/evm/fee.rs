//! What a wallet was charged for gas, and in what. A fee that cannot be known to the last digit is not stated.

use alloy_primitives::{Address, U256};

use super::EvmFacts;
use super::erc20::{Transfer, transfer_of};
use super::json::{EvmTransaction, Log, Receipt};

/// Tokens that pay fees by themselves have six decimals, and prices of gas are in units of a dollar with eighteen.
const PRICE_UNITS_PER_TOKEN_UNIT: u64 = 1_000_000_000_000;

const IN_A_TOKEN: &str = "it was paid in a token, and the logs do not tell it apart from what else moved.";
const OF_A_NUMBER: &str = "it was paid in a token that the receipt names only by a number.";
const NO_TOKEN_NAMED: &str = "the chain has no coin, and the receipt names no token that paid.";

const OF_BLOBS: &str = "the transaction paid for blobs, and the receipt does not tell how much.";
/// EIP-4844.
const BLOB_TRANSACTION: u64 = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fee {
    /// Somebody else paid, or nobody did.
    NotPaid,
    Coin(U256),
    Token(Address, U256),
    /// The wallet paid, and how much is not known: why.
    Unknown(String),
}

/// A fee that was paid in a token, and which logs paid it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenFee {
    pub token: Address,
    pub amount: U256,
    pub logs: Vec<usize>,
}

pub fn fee(facts: &EvmFacts, wallet: Address) -> Fee {
    let (transaction, receipt, quirks) = (&facts.transaction, &facts.receipt, &facts.chain.quirks);
    let unknown = |why: &str| Fee::Unknown(why.to_owned());
    if let Some(logged) = by_collector(facts, wallet) {
        return logged;
    }
    let payer = receipt.fee_payer.unwrap_or(transaction.from);
    if wallet != payer || quirks.unpaid_kinds.contains(&transaction.kind()) {
        return Fee::NotPaid;
    }
    if transaction.fee_currency.is_some() || receipt.fee_token.is_some() {
        return token_fee(facts).map_or_else(|| unknown(IN_A_TOKEN), |fee| Fee::Token(fee.token, fee.amount));
    }
    if receipt.fee_token_id.is_some_and(|id| !id.is_zero()) {
        return unknown(OF_A_NUMBER);
    }
    if quirks.no_coin {
        return unknown(NO_TOKEN_NAMED);
    }
    if transaction.kind() == BLOB_TRANSACTION && !receipt.tells_blob_fee() {
        return unknown(OF_BLOBS);
    }
    match &quirks.fee_unknown {
        Some(why) => unknown(why),
        None => {
            let gas = gas_charged(transaction, receipt, quirks.gas_refund_percent_max);
            Fee::Coin(receipt.fee_of(gas, transaction.gas_price))
        }
    }
}

/// Gas that was paid for: some chains give back less than what was not used.
fn gas_charged(transaction: &EvmTransaction, receipt: &Receipt, refund_percent_max: Option<u8>) -> U256 {
    let (Some(percent), Some(limit)) = (refund_percent_max, transaction.gas) else { return receipt.gas_used };
    let refund_max = limit.saturating_mul(U256::from(percent)) / U256::from(100_u8);
    limit.saturating_sub(limit.saturating_sub(receipt.gas_used).min(refund_max))
}

/// Where the chain logs what is paid for gas, those logs tell who paid. `None` where they name the sender or nobody: then it is as usual.
fn by_collector(facts: &EvmFacts, wallet: Address) -> Option<Fee> {
    let collector = facts.chain.fee_collector?;
    let paid_by = |payer: Address| {
        let mut paid = (U256::ZERO, U256::ZERO);
        for log in facts.receipt.logs.iter().filter(|log| facts.chain.native_log == Some(log.address)) {
            match transfer_of(log) {
                Some((from, to, amount)) if from == payer && to == collector => paid.0 = paid.0.saturating_add(amount),
                Some((from, to, amount)) if from == collector && to == payer => paid.1 = paid.1.saturating_add(amount),
                Some(_) | None => {}
            }
        }
        paid.0.saturating_sub(paid.1)
    };
    let is_logged = |log: &Log| {
        let parties = transfer_of(log).filter(|_| facts.chain.native_log == Some(log.address));
        parties.is_some_and(|(_, to, amount)| to == collector && !amount.is_zero())
    };
    let sender = facts.transaction.from;
    if !paid_by(sender).is_zero() || !facts.receipt.logs.iter().any(is_logged) {
        return None;
    }
    // A paymaster paid for the sender.
    let paid = paid_by(wallet);
    Some(if wallet == sender || paid.is_zero() { Fee::NotPaid } else { Fee::Coin(paid) })
}

/// `None` where no token paid, or the logs do not tell.
pub fn token_fee(facts: &EvmFacts) -> Option<TokenFee> {
    if facts.chain.quirks.fee_sinks.is_empty() {
        return None;
    }
    match (facts.receipt.fee_token, facts.transaction.fee_currency) {
        (Some(token), _) => stated(facts, token),
        (None, Some(_)) => debited(facts),
        (None, None) => None,
    }
}

/// The receipt names the token, and gas and price are stated in dollars. A log of another amount contradicts that.
fn stated(facts: &EvmFacts, token: Address) -> Option<TokenFee> {
    let (receipt, sinks) = (&facts.receipt, &facts.chain.quirks.fee_sinks);
    let payer = receipt.fee_payer.unwrap_or(facts.transaction.from);
    let units = receipt.gas_used.checked_mul(receipt.effective_gas_price?)?;
    let amount = units.div_ceil(U256::from(PRICE_UNITS_PER_TOKEN_UNIT));
    let moves = || {
        let logs = receipt.logs.iter().enumerate().filter(|(_, log)| log.address == token);
        logs.filter_map(|(at, log)| transfer_of(log).map(|moved| (at, moved)))
    };
    let paid = moves().filter(|(_, (from, to, _))| *from == payer && sinks.contains(to));
    if let Some((at, _)) = paid.clone().filter(|(_, (.., logged))| *logged == amount).last() {
        return Some(TokenFee { token, amount, logs: vec![at] });
    }
    let back = moves().filter(|(_, (from, to, _))| *to == payer && sinks.contains(from));
    let logs: Vec<usize> = paid.clone().chain(back.clone()).map(|(at, _)| at).collect();
    let net = total(paid).checked_sub(total(back))?;
    (logs.is_empty() || net == amount).then_some(TokenFee { token, amount, logs })
}

fn total(moves: impl Iterator<Item = (usize, Transfer)>) -> U256 {
    moves.fold(U256::ZERO, |total, (_, (.., amount))| total.saturating_add(amount))
}

/// What the transaction may cost at most is debited before it runs, so that is the first log, and all of it is credited after: the rest to the
/// sender, and the fee to others. These are the last logs.
fn debited(facts: &EvmFacts) -> Option<TokenFee> {
    let sinks = &facts.chain.quirks.fee_sinks;
    let (sender, logs) = (facts.transaction.from, &facts.receipt.logs);
    let debit = logs.first()?;
    let (from, to, held) = transfer_of(debit)?;
    if from != sender || !sinks.contains(&to) || held.is_zero() {
        return None;
    }
    let (mut credited, mut returned, mut paying) = (U256::ZERO, U256::ZERO, vec![0]);
    for (at, log) in logs.iter().enumerate().skip(1).rev() {
        let (from, to, amount) = transfer_of(log).filter(|_| log.address == debit.address)?;
        if !sinks.contains(&from) {
            return None;
        }
        credited = credited.checked_add(amount)?;
        if to == sender {
            returned = returned.checked_add(amount)?;
        }
        paying.push(at);
        if credited >= held {
            break;
        }
    }
    let amount = held.checked_sub(returned).filter(|amount| credited == held && !amount.is_zero())?;
    Some(TokenFee { token: debit.address, amount, logs: paying })
}
