//! What the chain has and what contracts answer at a block.

use alloy_primitives::{Address, B256, Bytes, U64, U256, b256, hex};
use engine::evm::code::Code;
use engine::evm::{BalanceChange, Holding, HoldingChange};
use serde_json::{Value, json};

use super::{EvmChain, read};
use crate::error::CallError;

/// `balanceOf(address)`
const BALANCE_OF: [u8; 4] = hex!("70a08231");

/// ERC-1967: where a proxy keeps the beacon that it follows.
const BEACON_SLOT: B256 = b256!("a3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50");

impl EvmChain {
    /// The first word of a view about an account.
    async fn view(
        &self,
        contract: Address,
        selector: [u8; 4],
        about: Address,
        block: Value,
    ) -> Result<Option<U256>, CallError> {
        let data = Bytes::from([selector.as_slice(), about.into_word().as_slice()].concat());
        let answer = self.node.call("eth_call", json!([{ "to": contract, "data": data }, block])).await?;
        let words = read::<Bytes>(&answer, "view").map_err(CallError::Upstream)?;
        Ok(words.first_chunk::<32>().map(|word| U256::from_be_bytes(*word)))
    }

    /// What an account has of a token before and after a block.
    pub(super) async fn holding(
        &self,
        (token, holder): (Address, Address),
        shares: [u8; 4],
        block: u64,
    ) -> HoldingChange {
        let view = |selector: [u8; 4], number: u64| async move {
            self.view(token, selector, holder, json!(U64::from(number))).await.ok().flatten()
        };
        let at = |number: u64| async move {
            let (balance, shares) = tokio::join!(view(BALANCE_OF, number), view(shares, number));
            Some(Holding { balance: balance?, shares: shares? })
        };
        let (before, after) = tokio::join!(at(block.saturating_sub(1)), at(block));
        HoldingChange { before, after }
    }

    /// What a contract answers about another at the block, or where no node has that state and it may be asked `anytime`, at the head. Both
    /// are asked in one request. The head's state is always there, so whoever does not answer there has nothing to say.
    pub(super) async fn vouched(
        &self,
        (asked, selector, contract): (Address, [u8; 4], Address),
        anytime: bool,
        block: u64,
    ) -> Option<U256> {
        let at = |block: Value| self.view(asked, selector, contract, block);
        let head = async { if anytime { Some(at(json!("latest")).await) } else { None } };
        let (then, head) = tokio::join!(at(json!(U64::from(block))), head);
        match (then, head) {
            (Ok(word), _) | (Err(_), Some(Ok(word))) => Some(word.unwrap_or_default()),
            (Err(_), Some(Err(CallError::Refused))) => Some(U256::ZERO),
            (Err(_), _) => None,
        }
    }

    /// The code that a contract had before the block, and the beacon that it followed: a contract that is deployed in the block may have run other code
    /// while it was. Never at the head, where another contract may stand by now.
    pub(super) async fn code(&self, contract: Address, block: u64) -> Option<Code> {
        let block = U64::from(block.saturating_sub(1));
        let code = self.node.call("eth_getCode", json!([contract, block]));
        let beacon = self.node.call("eth_getStorageAt", json!([contract, BEACON_SLOT, block]));
        let (code, beacon) = tokio::join!(code, beacon);
        let code = read::<Bytes>(&code.ok()?, "code").ok()?;
        Some(Code::new(&code, read::<B256>(&beacon.ok()?, "storage").ok()?))
    }

    pub(super) async fn balance(&self, account: Address, block: u64) -> BalanceChange {
        let at = |number: u64| async move {
            let answer = self.node.call("eth_getBalance", json!([account, U64::from(number)])).await.ok()?;
            read::<U256>(&answer, "balance").ok()
        };
        let sent = |number: u64| async move {
            let answer = self.node.call("eth_getTransactionCount", json!([account, U64::from(number)])).await.ok()?;
            read::<U64>(&answer, "count of transactions").ok().map(|count| count.to::<u64>())
        };
        let earlier = block.saturating_sub(1);
        let (before, after, sent_before, sent_after) = tokio::join!(at(earlier), at(block), sent(earlier), sent(block));
        BalanceChange { before, after, sent: sent_before.zip(sent_after) }
    }
}
