//! A token's transfer, as ERC-20 has it logged.

use alloy_primitives::{Address, B256, U256, b256};

use super::json::Log;

/// `Transfer(address,address,uint256)`, of ERC-20 and, with one topic more, of ERC-721.
pub const TRANSFER: B256 = b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");

/// From, to and the amount.
pub type Transfer = (Address, Address, U256);

pub fn transfer_of(log: &Log) -> Option<Transfer> {
    let is_transfer = log.topic0() == Some(TRANSFER) && log.topics.len() == 3;
    let amount = log.data_u256(0).filter(|_| is_transfer)?;
    Some((log.topic_address(1)?, log.topic_address(2)?, amount))
}
