//! What an account gave a contract of a token before: the token's own transfers between the two, added up.

use alloy_primitives::{Address, B256, U64, U256};
use engine::evm::movements::TRANSFER;
use serde::Deserialize;
use serde_json::json;

use crate::error::CallError;
use crate::rpc::Node;

/// Calls for one proof. A node that refuses a long range is asked for its two halves, and so on.
const CALLS_MAX: usize = 32;

#[derive(Deserialize)]
struct Transfer {
    topics: Vec<B256>,
    data: alloy_primitives::Bytes,
    #[serde(default)]
    removed: bool,
}

/// Given less what came back, in the blocks before this one; `None` when the nodes do not say it of all of them.
pub(super) async fn given(node: &Node, token: Address, giver: Address, taker: Address, block: u64) -> Option<U256> {
    let mut ranges = vec![(0, block.checked_sub(1)?)];
    let (mut there, mut back) = (U256::ZERO, U256::ZERO);
    let parties = [giver.into_word(), taker.into_word()];
    for _ in 0..CALLS_MAX {
        let Some((first, last)) = ranges.pop() else { break };
        let filter = json!([{
            "address": token,
            "topics": [TRANSFER, parties, parties],
            "fromBlock": U64::from(first),
            "toBlock": U64::from(last),
        }]);
        match node.call("eth_getLogs", filter).await {
            Ok(answer) => {
                let logs: Vec<Transfer> = serde_json::from_str(answer.get()).ok()?;
                for log in logs.iter().filter(|log| !log.removed) {
                    let amount = log.data.first_chunk::<32>().filter(|_| log.data.len() == 32);
                    let amount = amount.map(|word| U256::from_be_bytes(*word))?;
                    match log.topics.as_slice() {
                        [_, from, to] if [*from, *to] == parties => there = there.checked_add(amount)?,
                        [_, to, from] if [*from, *to] == parties => back = back.checked_add(amount)?,
                        // To oneself.
                        [_, from, to] if from == to => {}
                        _ => return None,
                    }
                }
            }
            Err(CallError::Refused | CallError::Upstream(_)) if first < last => {
                let middle = first.midpoint(last);
                ranges.extend([(first, middle), (middle.saturating_add(1), last)]);
            }
            Err(_) => return None,
        }
    }
    ranges.is_empty().then(|| there.saturating_sub(back))
}
