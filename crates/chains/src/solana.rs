//! One Solana chain: the transaction and how settled it is in one request, and the names of its mints in another.

mod mints;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use engine::evm::{Block, Token};
use engine::solana::Key;
use engine::solana::json::Transaction;
use engine::{Account, Chain, Question, Rules, SolanaFacts, TxHash, WalletNotInTransaction};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::error::{CallError, UpstreamError};
use crate::rpc::Node;

/// Mints of one transaction whose names are asked for; past it the legs stay without a symbol.
const MINTS_MAX: usize = 256;
/// Mints that are remembered.
const REMEMBERED_MAX: usize = 100_000;

#[derive(Debug)]
pub struct SolanaChain {
    node: Node,
    tokens: Mutex<BTreeMap<Key, Arc<Token>>>,
    /// Nodes without the digital asset standard are asked for it once.
    has_assets: AtomicBool,
}

/// What a node says of a signature.
#[derive(Debug)]
pub enum Lookup {
    Absent,
    Pending,
    Landed(Box<SolanaFacts>),
}

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
struct Accounts {
    value: Vec<Option<AccountData>>,
}

/// Data, and the name of its encoding.
#[derive(Deserialize)]
struct AccountData {
    data: (String, String),
}

#[derive(Deserialize)]
struct Asset {
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

impl SolanaChain {
    pub fn new(node: Node) -> Self {
        Self { node, tokens: Mutex::default(), has_assets: AtomicBool::new(true) }
    }

    pub fn chain(&self) -> &Arc<Chain> {
        &self.node.chain
    }

    pub async fn lookup(&self, signature: [u8; 64]) -> Result<Lookup, UpstreamError> {
        let name = TxHash::Solana(signature).to_string();
        let wanted =
            json!([name, { "encoding": "json", "maxSupportedTransactionVersion": 0, "commitment": "confirmed" }]);
        let history = json!([[name], { "searchTransactionHistory": true }]);
        let (answer, statuses) =
            tokio::join!(self.node.demand("getTransaction", wanted), self.node.call("getSignatureStatuses", history));
        let status = match statuses {
            Ok(statuses) => read::<Statuses>(&statuses, "signature statuses")?.value.into_iter().next().flatten(),
            Err(_) => None,
        };
        let answer = answer?;
        if answer.get().trim() == "null" {
            return Ok(if status.is_some() { Lookup::Pending } else { Lookup::Absent });
        }
        let transaction = Transaction::parse(answer.get()).map_err(|_| UpstreamError::BadResponse("transaction"))?;
        if transaction.signatures.first() != Some(&signature) {
            return Err(UpstreamError::Inconsistent("the transaction has another signature"));
        }
        let finalized = status.and_then(|status| status.confirmation_status).is_some_and(|level| level == "finalized");
        let block = match (transaction.slot, transaction.time) {
            (Some(number), Some(timestamp)) => Some(Block { number, timestamp, finalized }),
            _ => None,
        };
        let chain = Arc::clone(self.chain());
        Ok(Lookup::Landed(Box::new(SolanaFacts { chain, signature, transaction, block, tokens: BTreeMap::new() })))
    }

    /// The facts with the names of the mints that this question shows.
    pub async fn complete(&self, mut facts: SolanaFacts, question: &Question, rules: &Rules) -> SolanaFacts {
        let mints = match mints(&facts, question, rules) {
            Ok(mints) => mints,
            Err(WalletNotInTransaction) => return facts,
        };
        let unknown: Vec<Key> =
            mints.keys().copied().filter(|mint| self.known(mint).is_none()).take(MINTS_MAX).collect();
        if !unknown.is_empty() {
            self.ask(&unknown).await;
        }
        for (mint, decimals) in mints {
            let known = self.known(&mint);
            let said = known.as_deref().cloned().unwrap_or_default();
            facts.tokens.insert(mint, Arc::new(Token { decimals: Some(decimals), ..said }));
        }
        facts
    }

    fn known(&self, mint: &Key) -> Option<Arc<Token>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).get(mint).cloned()
    }

    /// Both ways at once, so that they share a request. What a mint says of itself counts before what an index says of it; one that
    /// says nothing is remembered too, and not asked for again.
    async fn ask(&self, mints: &[Key]) {
        let parts = mints.chunks(mints::ACCOUNTS_MAX / 2).map(|part| self.accounts(part));
        let (own, mut found) = tokio::join!(futures_util::future::join_all(parts), self.assets(mints));
        let Some(own) = own.into_iter().collect::<Option<Vec<_>>>() else { return };
        found.extend(own.into_iter().flatten());
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.len() >= REMEMBERED_MAX {
            tokens.clear();
        }
        for mint in mints {
            tokens.insert(*mint, Arc::new(found.remove(mint).unwrap_or_default()));
        }
    }

    /// The mints' own accounts and their metadata accounts; `None` when the node did not say.
    async fn accounts(&self, mints: &[Key]) -> Option<BTreeMap<Key, Token>> {
        let keys = mints.iter().flat_map(|mint| [Some(*mint), mints::metadata_account(mint)]);
        let names: Vec<String> = keys.map(|key| Account::Solana(key.unwrap_or_default()).to_string()).collect();
        let answer = self.node.call("getMultipleAccounts", json!([names, { "encoding": "base64" }])).await.ok()?;
        let accounts = read::<Accounts>(&answer, "accounts").ok()?.value;
        let said = |at: usize| accounts.get(at).and_then(Option::as_ref).map(|account| account.data.0.as_str());
        let tokens = mints.iter().enumerate().filter_map(|(at, mint)| {
            let place = at.saturating_mul(2);
            let own = said(place).and_then(mints::of_mint);
            Some((*mint, own.or_else(|| said(place.saturating_add(1)).and_then(mints::of_metadata))?))
        });
        Some(tokens.collect())
    }

    /// What nodes with the digital asset standard know of them.
    async fn assets(&self, mints: &[Key]) -> BTreeMap<Key, Token> {
        if !self.has_assets.load(Ordering::Relaxed) {
            return BTreeMap::new();
        }
        let ids: Vec<String> = mints.iter().map(|mint| Account::Solana(*mint).to_string()).collect();
        let answer = match self.node.call("getAssetBatch", json!({ "ids": ids })).await {
            Ok(answer) => answer,
            Err(error) => {
                if error == CallError::Unsupported {
                    self.has_assets.store(false, Ordering::Relaxed);
                }
                return BTreeMap::new();
            }
        };
        let assets = read::<Vec<Option<Asset>>>(&answer, "assets").unwrap_or_default();
        let named = assets.into_iter().flatten().filter_map(|asset| match Account::parse(&asset.id) {
            Ok(Account::Solana(mint)) => Some((mint, token(asset))),
            _ => None,
        });
        named.collect()
    }
}

fn token(asset: Asset) -> Token {
    let metadata = asset.content.and_then(|content| content.metadata);
    let (name, symbol) = metadata.map_or((None, None), |said| (said.name, said.symbol));
    let (own, decimals) = asset.token_info.map_or((None, None), |info| (info.symbol, info.decimals));
    let is_text = |text: &String| !text.is_empty();
    Token { symbol: symbol.filter(is_text).or(own), name: name.filter(is_text), decimals, is_erc721: false }
}

/// The mints that the wallet's legs show, each with its decimals.
fn mints(facts: &SolanaFacts, question: &Question, rules: &Rules) -> Result<BTreeMap<Key, u8>, WalletNotInTransaction> {
    let scene = engine::solana::scene::read(facts, question, rules)?;
    let accounts = facts.transaction.effects.iter().flat_map(|effects| &effects.token_accounts);
    let decimals: BTreeMap<Key, u8> = accounts.map(|account| (account.mint, account.decimals)).collect();
    let shown = scene.legs.iter().filter_map(|leg| leg.asset.contract());
    let of_solana = shown.filter_map(|contract| match contract {
        Account::Solana(mint) => decimals.get(&mint).map(|decimals| (mint, *decimals)),
        Account::Evm(_) => None,
    });
    Ok(of_solana.collect())
}

fn read<T: serde::de::DeserializeOwned>(answer: &RawValue, what: &'static str) -> Result<T, UpstreamError> {
    serde_json::from_str(answer.get()).map_err(|_| UpstreamError::BadResponse(what))
}
