//! One Solana chain: the transaction and how settled it is in one request, and the names of its mints in another.

mod blocks;
pub(crate) mod dialect;
mod history;
mod kept;
pub(crate) mod mints;
pub(crate) mod probe;

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::solana::Key;
use engine::solana::json::SolanaTransaction;
use engine::{Account, Block, Chain, Facts, Need, SolanaFacts, Token, TxHash};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use crate::error::{CallError, UpstreamError};
use crate::family::{BlockTransaction, Completeness, Effort, FoundTransaction, Lookup, ServedChain};
use crate::finality::FinalizedHead;
use crate::history::{History, HistoryError, Period, TakeHash};
use crate::memory::TokenMemory;
use crate::rpc::{Endpoints, Node};
use blocks::BLOCKS_AT_ONCE_MAX;

/// The digital asset standard's call for many mints; few endpoints offer it.
const ASSETS: &str = "getAssetBatch";
/// Endpoints that are asked for it on account of one transaction. Which of them lack it is remembered.
const ASSET_TRIES_MAX: usize = 3;

#[derive(Debug)]
pub(crate) struct SolanaChain {
    node: Node,
    memory: Arc<dyn TokenMemory>,
    head: FinalizedHead,
    /// Turns of fetching a whole block.
    blocks: Semaphore,
}

type Named = BTreeMap<Key, Arc<Token>>;

#[derive(Deserialize)]
struct Statuses {
    value: Vec<Option<Status>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    confirmation_status: Option<String>,
}

#[derive(Deserialize)]
struct AccountsReply {
    value: Vec<Option<AccountData>>,
}

/// Data, and the name of its encoding.
#[derive(Deserialize)]
struct AccountData {
    data: (String, String),
}

#[derive(Deserialize)]
struct AssetReply {
    id: String,
    content: Option<Content>,
    token_info: Option<TokenInfo>,
}

#[derive(Deserialize)]
struct Content {
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Metadata {
    name: Option<String>,
    symbol: Option<String>,
}

#[derive(Deserialize)]
struct TokenInfo {
    symbol: Option<String>,
    decimals: Option<u8>,
}

impl ServedChain for SolanaChain {
    fn chain(&self) -> &Arc<Chain> {
        &self.node.chain
    }

    /// One request tells everything, however much effort is wanted.
    fn lookup(&self, hash: TxHash, _: Effort) -> BoxFuture<'_, Result<Lookup<'_>, UpstreamError>> {
        async move {
            let TxHash::Solana(signature) = hash else { return Ok(Lookup::Absent) };
            self.transaction(signature).await
        }
        .boxed()
    }

    fn answer<'a>(&'a self, facts: Facts, needs: &'a [Need]) -> BoxFuture<'a, Result<Facts, UpstreamError>> {
        async move {
            let Facts::Solana(facts) = facts else { return Ok(facts) };
            Ok(Facts::Solana(self.named(facts, needs).await))
        }
        .boxed()
    }

    fn block(&self, number: u64) -> BoxFuture<'_, Result<Option<Vec<BlockTransaction>>, UpstreamError>> {
        self.whole_block(number).boxed()
    }

    fn completeness(&self, facts: &Facts) -> Completeness {
        match facts {
            Facts::Solana(facts) if facts.transaction.effects.is_some() && !facts.transaction.is_unloaded => {
                Completeness::Whole
            }
            Facts::Solana(_) | Facts::Evm(_) => Completeness::Partial,
        }
    }

    fn lists_accounts(&self) -> bool {
        !self.node.is_recorded()
    }

    fn history<'a>(
        &'a self,
        account: Account,
        period: Period,
        take: TakeHash<'a>,
    ) -> BoxFuture<'a, Result<History, HistoryError>> {
        async move {
            let Account::Solana(wallet) = account else { return Err(HistoryError::OtherFamily) };
            self.listed(wallet, period, take).await
        }
        .boxed()
    }

    fn encode(&self, facts: &Facts) -> Option<Vec<u8>> {
        let Facts::Solana(facts) = facts else { return None };
        kept::encode(facts)
    }

    fn decode(&self, hash: TxHash, bytes: &[u8]) -> Option<Facts> {
        let TxHash::Solana(signature) = hash else { return None };
        kept::decode(self.chain(), signature, bytes).map(Facts::from)
    }
}

impl SolanaChain {
    pub(crate) fn new(node: Node, memory: Arc<dyn TokenMemory>) -> Self {
        let blocks = Semaphore::new(BLOCKS_AT_ONCE_MAX);
        Self { node, memory, head: FinalizedHead::default(), blocks }
    }

    async fn transaction(&self, signature: [u8; 64]) -> Result<Lookup<'_>, UpstreamError> {
        let name = TxHash::Solana(signature).to_string();
        let wanted =
            json!([name, { "encoding": "json", "maxSupportedTransactionVersion": 0, "commitment": "confirmed" }]);
        let history = json!([[name], { "searchTransactionHistory": true }]);
        let read_transaction = |answer: &RawValue| {
            if answer.get().trim() == "null" {
                return Ok(None);
            }
            let transaction = SolanaTransaction::parse(answer.get());
            let transaction = transaction.map_err(|_| UpstreamError::BadResponse("transaction"))?;
            if transaction.signatures.first() != Some(&signature) {
                return Err(UpstreamError::Inconsistent("the transaction has another signature"));
            }
            Ok(Some(transaction))
        };
        let (told, statuses) = tokio::join!(
            self.node.call_required(Endpoints::default(), "getTransaction", wanted, read_transaction),
            self.node.call("getSignatureStatuses", history)
        );
        let status = match statuses {
            Ok(statuses) => read::<Statuses>(&statuses, "signature statuses")?.value.into_iter().next().flatten(),
            Err(_) => None,
        };
        let transaction = match told {
            Ok(Some(told)) => told.value,
            // The signature is known, but the transaction cannot be fetched yet.
            Ok(None) | Err(UpstreamError::Behind) if status.is_some() => return Ok(Lookup::Pending),
            Ok(None) => return Ok(Lookup::Absent),
            Err(error) => return Err(error),
        };
        let finalized = status.and_then(|status| status.confirmation_status).is_some_and(|level| level == "finalized");
        let facts = self.facts(signature, transaction, finalized);
        Ok(Lookup::Found(FoundTransaction { is_unique: true, facts: std::future::ready(Ok(facts)).boxed() }))
    }

    fn facts(&self, signature: [u8; 64], transaction: SolanaTransaction, finalized: bool) -> Facts {
        let block = match (transaction.slot, transaction.time) {
            (Some(number), Some(timestamp)) => Some(Block { number, timestamp, finalized }),
            _ => None,
        };
        let chain = Arc::clone(self.chain());
        Facts::from(SolanaFacts { chain, signature, transaction, block, tokens: BTreeMap::new() })
    }

    /// The facts with the names of the mints that the engine asked for. Their decimals are in the transaction itself; a mint whose
    /// name cannot be fetched has none.
    async fn named(&self, mut facts: Arc<SolanaFacts>, needs: &[Need]) -> Arc<SolanaFacts> {
        let accounts = facts.transaction.effects.iter().flat_map(|effects| &effects.token_accounts);
        let decimals: BTreeMap<Key, u8> = accounts.map(|account| (account.mint, account.decimals)).collect();
        let mints: Vec<Key> = needs.iter().filter_map(mint).collect();
        let mut said = self.at_hand(mints.iter());
        let unknown: Vec<Key> = mints.iter().filter(|mint| !said.contains_key(*mint)).copied().collect();
        if !unknown.is_empty() {
            said.extend(self.recall_or_ask(&unknown).await);
        }
        let named = Arc::make_mut(&mut facts);
        for mint in mints {
            let said = said.get(&mint).map(|said| Token::clone(said)).unwrap_or_default();
            named.tokens.insert(mint, Arc::new(Token { decimals: decimals.get(&mint).copied(), ..said }));
        }
        facts
    }

    fn at_hand<'a>(&self, mints: impl Iterator<Item = &'a Key>) -> Named {
        let known = |mint: &Key| self.memory.known(&self.chain().slug, &Account::Solana(*mint));
        mints.filter_map(|mint| Some((*mint, known(mint)?))).collect()
    }

    async fn recall_or_ask(&self, mints: &[Key]) -> Named {
        let wanted = mints.iter().map(|mint| Account::Solana(*mint)).collect();
        let recalled = self.memory.recall(&self.chain().slug, wanted).await.into_iter();
        let of_solana = recalled.filter_map(|(mint, said)| match mint {
            Account::Solana(mint) => Some((mint, said)),
            Account::Evm(_) => None,
        });
        let mut found: Named = of_solana.collect();
        let unknown: Vec<Key> = mints.iter().filter(|mint| !found.contains_key(*mint)).copied().collect();
        if !unknown.is_empty() {
            found.extend(self.ask(&unknown).await);
        }
        found
    }

    /// Both ways at once, so that they share a request. What a mint says of itself counts before what an index says of it; one that
    /// says nothing is cached too. Nothing is cached where the node did not answer.
    async fn ask(&self, mints: &[Key]) -> Named {
        let parts = mints.chunks(mints::ACCOUNTS_MAX / 2).map(|part| self.accounts(part));
        let (own, mut found) = tokio::join!(futures_util::future::join_all(parts), self.assets(mints));
        let Some(own) = own.into_iter().collect::<Option<Vec<_>>>() else { return Named::new() };
        found.extend(own.into_iter().flatten());
        let said = |mint: &Key| (*mint, Arc::new(found.remove(mint).unwrap_or_default()));
        let named: Named = mints.iter().map(said).collect();
        for (mint, said) in &named {
            self.memory.keep(&self.chain().slug, Account::Solana(*mint), said);
        }
        named
    }

    /// The mints' own accounts and their metadata accounts; `None` when the node did not say.
    async fn accounts(&self, mints: &[Key]) -> Option<BTreeMap<Key, Token>> {
        let keys = mints.iter().flat_map(|mint| [Some(*mint), mints::metadata_account(mint)]);
        let names: Vec<String> = keys.map(|key| Account::Solana(key.unwrap_or_default()).to_string()).collect();
        let answer = self.node.call("getMultipleAccounts", json!([names, { "encoding": "base64" }])).await.ok()?;
        let accounts = read::<AccountsReply>(&answer, "accounts").ok()?.value;
        let said = |at: usize| accounts.get(at).and_then(Option::as_ref).map(|account| account.data.0.as_str());
        let tokens = mints.iter().enumerate().filter_map(|(at, mint)| {
            let place = at.saturating_mul(2);
            let own = said(place).and_then(mints::of_mint);
            Some((*mint, own.or_else(|| said(place.saturating_add(1)).and_then(mints::of_metadata))?))
        });
        Some(tokens.collect())
    }

    /// Of endpoints with the digital asset standard; `None` when none of those that were asked has it.
    async fn ask_for_assets(&self, mints: &[Key]) -> Option<Box<RawValue>> {
        let ids: Vec<String> = mints.iter().map(|mint| Account::Solana(*mint).to_string()).collect();
        let mut avoid = Endpoints::default();
        for tries in 0..ASSET_TRIES_MAX {
            let offer = self.node.offer(avoid, ASSETS)?;
            let offer = if tries == 0 { offer } else { offer.apart() };
            let answered = self.node.call_offered(offer, ASSETS, json!({ "ids": ids })).await;
            match (answered.answer, answered.by) {
                (Ok(answer), _) => return Some(answer),
                (Err(CallError::Unsupported), _) => {}
                // What is too large at one endpoint need not be at another.
                (Err(CallError::Upstream(_)), Some(by)) => avoid = avoid.with(by),
                (Err(CallError::Refused | CallError::Upstream(_)), _) => return None,
            }
        }
        None
    }

    /// What nodes with the digital asset standard know of them.
    async fn assets(&self, mints: &[Key]) -> BTreeMap<Key, Token> {
        let Some(answer) = self.ask_for_assets(mints).await else { return BTreeMap::new() };
        let assets = read::<Vec<Option<AssetReply>>>(&answer, "assets").unwrap_or_default();
        let named = assets.into_iter().flatten().filter_map(|asset| match Account::parse(&asset.id) {
            Ok(Account::Solana(mint)) => Some((mint, token(asset))),
            _ => None,
        });
        named.collect()
    }
}

fn token(asset: AssetReply) -> Token {
    let metadata = asset.content.and_then(|content| content.metadata);
    let (name, symbol) = metadata.map_or((None, None), |said| (said.name, said.symbol));
    let (own, decimals) = asset.token_info.map_or((None, None), |info| (info.symbol, info.decimals));
    let is_text = |text: &String| !text.is_empty();
    let symbol = symbol.filter(is_text).or(own).filter(is_text);
    Token { symbol, name: name.filter(is_text), decimals, is_erc721: false }
}

fn mint(need: &Need) -> Option<Key> {
    match need {
        Need::Token(Account::Solana(mint)) => Some(*mint),
        Need::Token(Account::Evm(_))
        | Need::Balance(_)
        | Need::Holding { .. }
        | Need::Given { .. }
        | Need::Vouched { .. }
        | Need::Code(_)
        | Need::InternalValue => None,
    }
}

fn read<T: serde::de::DeserializeOwned>(answer: &RawValue, what: &'static str) -> Result<T, UpstreamError> {
    serde_json::from_str(answer.get()).map_err(|_| UpstreamError::BadResponse(what))
}
