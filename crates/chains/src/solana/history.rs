//! What a wallet did on Solana. Nodes list the transactions that name an address. A transfer of tokens names the token account and not its owner, so the
//! wallet's token accounts are asked for as well.

use std::collections::BTreeSet;
use std::time::Duration;

use engine::solana::Key;
use engine::solana::instructions::{TOKEN, TOKEN_2022};
use engine::{Account, Family, TxHash};
use futures_util::stream::{self, StreamExt};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{SolanaChain, read};
use crate::error::{CallError, UpstreamError};
use crate::history::{
    Collector, HISTORY_HASHES_MAX, HISTORY_PAGES_MAX, History, HistoryError, ListCount, Period, TakeHash,
};
use crate::rpc::Endpoints;

const SIGNATURES: &str = "getSignaturesForAddress";
const ACCOUNTS: &str = "getTokenAccountsByOwner";
/// What nodes list at once.
const PAGE_SIGNATURES: usize = 1_000;
/// Strangers open token accounts for a wallet, so there may be thousands.
const TOKEN_ACCOUNTS_MAX: usize = 20_000;
/// Whose lists are asked for at a time. They share requests, and are handed on in order.
const ACCOUNTS_AT_ONCE: usize = 16;
/// Times that a page is asked for while the nodes do not answer, and after how long again; twice as long after each further try.
const TRIES_MAX: u32 = 4;
const WAIT_MILLIS: u64 = 1_000;
/// What no node lists.
const UNLISTED: &str = "token accounts that were closed or given away: a transfer to or from one of them is missing where the transaction does not name the \
                        wallet too";

/// One row of `getSignaturesForAddress`. Transactions that failed are listed too, and cost a fee.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedSignature {
    signature: String,
    /// Old blocks have none.
    block_time: Option<i64>,
}

#[derive(Deserialize)]
struct OwnedAccounts {
    value: Vec<OwnedAccount>,
}

#[derive(Deserialize)]
struct OwnedAccount {
    pubkey: String,
}

type Signature = (TxHash, Option<i64>);

impl SolanaChain {
    pub(super) async fn listed(
        &self,
        wallet: Key,
        period: Period,
        take: TakeHash<'_>,
    ) -> Result<History, HistoryError> {
        let mut collector = Collector::new(take);
        let mut history = History::default();
        let mut new = 0_usize;
        self.signatures(wallet, period, &mut |signature| {
            new = new.saturating_add(collector.push(signature)?);
            Ok(())
        })
        .await?;
        history.lists.push(ListCount { what: "transactions that name the wallet".to_owned(), new });
        let mut accounts = BTreeSet::new();
        for (program, name) in [(TOKEN, "the token program"), (TOKEN_2022, "the Token-2022 program")] {
            match self.token_accounts(wallet, program).await? {
                Some(owned) => accounts.extend(owned),
                None => history.unseen.push(format!("token accounts of {name}: no node lists them")),
            }
        }
        if accounts.len() > TOKEN_ACCOUNTS_MAX {
            return Err(HistoryError::ManyAccounts(TOKEN_ACCOUNTS_MAX));
        }
        let count = accounts.len();
        let lists = stream::iter(accounts).map(|account| self.all_signatures(account, period));
        let mut lists = std::pin::pin!(lists.buffered(ACCOUNTS_AT_ONCE));
        let mut new = 0_usize;
        while let Some(list) = lists.next().await {
            for signature in list? {
                new = new.saturating_add(collector.push(signature)?);
            }
        }
        history
            .lists
            .push(ListCount { what: format!("transactions that name one of its {count} token accounts"), new });
        history.unseen.push(UNLISTED.to_owned());
        if let Some(slot) = self.first_slot().await {
            history.unseen.push(format!("what happened before slot {slot}, of which the node has nothing"));
        }
        Ok(history)
    }

    /// Where the node's history begins, if that is not with the chain's, as far as it says so.
    async fn first_slot(&self) -> Option<u64> {
        let answer = self.node.call("getFirstAvailableBlock", json!([])).await.ok()?;
        read(&answer, "first block").ok().filter(|slot| *slot > 0)
    }

    async fn all_signatures(&self, account: Key, period: Period) -> Result<Vec<TxHash>, HistoryError> {
        let mut all = Vec::new();
        self.signatures(account, period, &mut |signature| {
            all.push(signature);
            Ok(())
        })
        .await?;
        Ok(all)
    }

    /// The newest first, page by page. The list ends with an empty page, on which two nodes must agree where there are two: one that lacks old blocks stops
    /// early, and another goes on from there.
    async fn signatures(
        &self,
        account: Key,
        period: Period,
        take: &mut (dyn FnMut(TxHash) -> Result<(), HistoryError> + Send),
    ) -> Result<(), HistoryError> {
        let mut seen = BTreeSet::new();
        let mut before: Option<TxHash> = None;
        for page in 1..=HISTORY_PAGES_MAX {
            let mut question = json!({ "limit": PAGE_SIGNATURES, "commitment": "finalized" });
            if let (Some(before), Some(question)) = (before, question.as_object_mut()) {
                question.insert("before".to_owned(), json!(before.to_string()));
            }
            let params = json!([Account::Solana(account).to_string(), question]);
            let Some(rows) = self.page(params).await? else { return Ok(()) };
            let known = seen.len();
            for (signature, time) in rows {
                before = Some(signature);
                if !seen.insert(signature) {
                    continue;
                }
                if seen.len() > HISTORY_HASHES_MAX {
                    return Err(HistoryError::ManyHashes);
                }
                if period.is_before(time) {
                    return Ok(());
                }
                if period.has(time) {
                    take(signature)?;
                }
            }
            if seen.len() == known {
                return Err(HistoryError::Repeated { list: SIGNATURES, page });
            }
        }
        Err(HistoryError::ManyPages { list: SIGNATURES })
    }

    /// `None` for an empty one. Lists are long and public nodes limit them, so one is asked for more patiently than a transaction.
    async fn page(&self, params: Value) -> Result<Option<Vec<Signature>>, HistoryError> {
        let mut tries = 0_u32;
        loop {
            match self.node.call_required(Endpoints::default(), SIGNATURES, params.clone(), signatures).await {
                Ok(told) => return Ok(told.map(|told| told.value)),
                Err(error) if tries.saturating_add(1) == TRIES_MAX || !may_pass(error) => {
                    return Err(HistoryError::Node { list: SIGNATURES, error });
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(WAIT_MILLIS << tries)).await,
            }
            tries = tries.saturating_add(1);
        }
    }

    /// `None` where no node lists them.
    async fn token_accounts(&self, wallet: Key, program: Key) -> Result<Option<Vec<Key>>, HistoryError> {
        let fault = |error| HistoryError::Node { list: ACCOUNTS, error };
        let [wallet, program] = [wallet, program].map(|key| Account::Solana(key).to_string());
        // The addresses alone are wanted.
        let shape =
            json!({ "encoding": "base64", "dataSlice": { "offset": 0, "length": 0 }, "commitment": "finalized" });
        let accounts = match self.node.call(ACCOUNTS, json!([wallet, { "programId": program }, shape])).await {
            Ok(answer) => read::<OwnedAccounts>(&answer, "token accounts").map_err(fault)?.value,
            Err(CallError::Unsupported | CallError::Refused) => return Ok(None),
            Err(CallError::Upstream(error)) => return Err(fault(error)),
        };
        let key = |account: OwnedAccount| match Account::parse(&account.pubkey) {
            Ok(Account::Solana(key)) => Ok(key),
            Ok(Account::Evm(_)) | Err(_) => Err(fault(UpstreamError::BadResponse("token accounts"))),
        };
        accounts.into_iter().map(key).collect::<Result<Vec<Key>, _>>().map(Some)
    }
}

/// Whether nodes may answer the same question later.
fn may_pass(error: UpstreamError) -> bool {
    match error {
        UpstreamError::Timeout | UpstreamError::Unavailable | UpstreamError::Behind | UpstreamError::RateLimited => {
            true
        }
        UpstreamError::BadResponse(_)
        | UpstreamError::Inconsistent(_)
        | UpstreamError::NotRetrievable
        | UpstreamError::NoBlocks(_) => false,
    }
}

/// `None` for an empty page.
fn signatures(answer: &RawValue) -> Result<Option<Vec<Signature>>, UpstreamError> {
    let rows: Vec<ListedSignature> = read(answer, "signatures of an address")?;
    let signature = |row: ListedSignature| {
        let hash = TxHash::parse(&row.signature).ok().filter(|hash| hash.family() == Family::Solana);
        hash.map(|hash| (hash, row.block_time)).ok_or(UpstreamError::BadResponse("signatures of an address"))
    };
    let rows = rows.into_iter().map(signature).collect::<Result<Vec<Signature>, _>>()?;
    Ok((!rows.is_empty()).then_some(rows))
}
