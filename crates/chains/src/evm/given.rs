//! What an account gave a contract of a token before: the token's own transfers between the two, added up.

use alloy_primitives::{Address, B256, U64, U256};
use engine::evm::erc20::TRANSFER;
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
                    let (from, amount) = log.between(parties)?;
                    let sum = if from == giver.into_word() { &mut there } else { &mut back };
                    *sum = sum.checked_add(amount)?;
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

impl Transfer {
    /// Who sent how much to the other of the two; nothing for a transfer to oneself. `None` for a log that is not between them.
    fn between(&self, parties: [B256; 2]) -> Option<(B256, U256)> {
        let amount = self.data.first_chunk::<32>().filter(|_| self.data.len() == 32)?;
        let &[_, from, to] = self.topics.as_slice() else { return None };
        let is_between = parties.contains(&from) && parties.contains(&to);
        let amount = if from == to { U256::ZERO } else { U256::from_be_bytes(*amount) };
        is_between.then_some((from, amount))
    }
}
