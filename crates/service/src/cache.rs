//! What was read once is not read again: verdicts, the facts behind them, and what tokens say of themselves. In memory, bounded by
//! bytes, over a shelf that outlives the process.
//!
//! Only what cannot change any more is kept for good: facts of a final block of which the nodes showed all that they can show. What is
//! nearer to the head, or half told, lives for seconds. A verdict follows from facts, question and rules, so it lives as long as its
//! facts; the rules of a process never change, and on the shelf the rules' digest is part of the key.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use chains::{Fetched, TokenMemory, Upstreams, kept};
use engine::evm::Token;
use engine::opinion::Source;
use engine::{Account, Classification, Policy, Question, TxHash};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use moka::Expiry;
use moka::sync::Cache as Memory;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::store::{Row, Shelf, StoreError};

/// Facts of a block that is not final yet.
const FRESH: Duration = Duration::from_secs(3);
/// Facts of a final block of which a node could show more at a better moment.
const PARTIAL: Duration = Duration::from_secs(60);
/// A token that says nothing: it may have been the node that knew nothing.
const SILENCE: Duration = Duration::from_secs(600);
/// How memory is shared out, in parts of a hundred.
const VERDICTS_PERCENT: u64 = 55;
const FACTS_PERCENT: u64 = 35;
const TOKENS_PERCENT: u64 = 10;
/// What an entry costs beyond its text or bytes: its key, its counters, and what strings leave unused.
const ENTRY_BYTES: usize = 400;
/// A verdict in memory beside its JSON: names of fields are gone, each text has a header and room to spare.
const VERDICT_BYTES_PER_JSON_BYTE: usize = 2;

/// The number counts up with every change of what a row of the kind holds.
const VERDICTS: &str = "verdicts.1";
const TOKENS: &str = "tokens.1";
/// The kinds of rows that this version reads.
const KINDS: [&str; 3] = [VERDICTS, kept::FORMAT, TOKENS];

/// The kinds of rows that a word stands for.
pub(crate) fn kinds_of(word: &str) -> impl Iterator<Item = &'static str> {
    KINDS.into_iter().filter(move |kind| kind.split('.').next() == Some(word))
}

#[derive(Debug)]
pub(crate) struct Cache {
    verdicts: Memory<Asked, Arc<Verdict>>,
    facts: Memory<Place, Arc<Facts>>,
    tokens: Memory<(String, Account), Arc<Token>>,
    shelf: Shelf,
    shelf_bytes_max: i64,
    age: AtomicI64,
}

/// A transaction, and the chain that it was asked for on: `None` for one that no other chain can hold, whoever asks for it there or
/// without a chain. Where it was asked for on another chain, it is that chain's absence which was shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Place {
    hash: TxHash,
    pinned: Option<String>,
}

/// Everything that a verdict depends on beside facts and rules.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Asked {
    place: Place,
    wallet: Option<Account>,
    /// A digest, for there may be a thousand of them.
    own_wallets: Option<[u8; 32]>,
    policy: Policy,
    explain: bool,
}

#[derive(Debug)]
struct Facts {
    chain: String,
    bytes: Vec<u8>,
    lifetime: Option<Duration>,
}

#[derive(Debug)]
struct Verdict {
    row: Arc<Classification>,
    bytes: usize,
    lifetime: Option<Duration>,
}

/// A verdict as it stands on the shelf.
#[derive(Serialize, Deserialize)]
struct Shelved<R> {
    source: Source,
    row: R,
}

/// How much each part holds.
#[derive(Debug, Clone, Copy)]
struct Held {
    name: &'static str,
    entries: u64,
    bytes: u64,
}

impl Cache {
    pub(crate) fn new(memory_bytes_max: u64, shelf: Shelf, shelf_bytes_max: i64) -> Self {
        let part = |percent: u64| memory_bytes_max / 100 * percent;
        Self {
            verdicts: Memory::builder()
                .max_capacity(part(VERDICTS_PERCENT))
                .weigher(|_, verdict: &Arc<Verdict>| weight(verdict.bytes))
                .expire_after(Lifetimes)
                .build(),
            facts: Memory::builder()
                .max_capacity(part(FACTS_PERCENT))
                .weigher(|_, facts: &Arc<Facts>| weight(facts.bytes.len()))
                .expire_after(Lifetimes)
                .build(),
            tokens: Memory::builder()
                .max_capacity(part(TOKENS_PERCENT))
                .weigher(|_, token: &Arc<Token>| weight(text_bytes(token)))
                .expire_after(Lifetimes)
                .build(),
            shelf,
            shelf_bytes_max,
            age: AtomicI64::new(0),
        }
    }

    /// The verdict on this question, where it is at hand.
    pub(crate) fn verdict(
        &self,
        hash: TxHash,
        pinned: Option<&str>,
        question: &Question,
    ) -> Option<Arc<Classification>> {
        let mut asked = Asked::new(Place { hash, pinned: None }, question);
        let is_there = |verdict: &Arc<Verdict>| pinned.is_none() || pinned == verdict.row.chain.as_deref();
        let found = self.verdicts.get(&asked).filter(is_there).or_else(|| {
            asked.place.pinned = Some(pinned?.to_owned());
            self.verdicts.get(&asked)
        });
        count("verdicts", found.is_some());
        found.map(|verdict| Arc::clone(&verdict.row))
    }

    /// Brings verdicts from the shelf to hand, for all questions of a call at once.
    pub(crate) async fn fetch_verdicts<'a>(
        &self,
        engine: &str,
        wanted: impl Iterator<Item = (TxHash, Option<String>, &'a Question)>,
    ) {
        let mut places: HashMap<String, Asked> = HashMap::new();
        for (hash, pinned, question) in wanted {
            let pins = [Some(None), pinned.map(Some)];
            for pinned in pins.into_iter().flatten() {
                let asked = Asked::new(Place { hash, pinned }, question);
                places.insert(asked.key(engine), asked);
            }
        }
        for found in self.shelf.load(VERDICTS, places.keys().cloned().collect()).await {
            let shelved = kept::unsqueeze(&found.body).and_then(|json| {
                let shelved: Shelved<Classification> = serde_json::from_slice(&json).ok()?;
                Some((shelved, json.len()))
            });
            if let (Some((shelved, json)), Some(asked)) = (shelved, places.remove(&found.key)) {
                let row = Arc::new(Classification { source: shelved.source, ..shelved.row });
                let bytes = json.saturating_mul(VERDICT_BYTES_PER_JSON_BYTE);
                self.verdicts.insert(asked, Arc::new(Verdict { row, bytes, lifetime: None }));
            }
        }
    }

    /// Facts that are at hand, decoded. What the nodes could by now show more of is not believed.
    pub(crate) fn facts(&self, hash: TxHash, pinned: Option<&str>, upstreams: &Upstreams) -> Option<Fetched> {
        let facts = self.facts_at_hand(hash, pinned);
        let fetched = facts.and_then(|facts| {
            let fetched = upstreams.decode(&facts.chain, hash, &facts.bytes)?;
            (facts.lifetime.is_some() || fetched.is_whole()).then_some(fetched)
        });
        count("facts", fetched.is_some());
        fetched
    }

    fn facts_at_hand(&self, hash: TxHash, pinned: Option<&str>) -> Option<Arc<Facts>> {
        let anywhere = self.facts.get(&Place { hash, pinned: None });
        anywhere
            .filter(|facts| pinned.is_none() || pinned == Some(facts.chain.as_str()))
            .or_else(|| self.facts.get(&Place { hash, pinned: Some(pinned?.to_owned()) }))
    }

    /// Brings facts from the shelf to hand, for all transactions of a call at once.
    pub(crate) async fn fetch_facts(&self, wanted: &[(TxHash, Option<String>)], upstreams: &Upstreams) {
        let mut keys = Vec::new();
        for (hash, pinned) in wanted {
            if self.facts_at_hand(*hash, pinned.as_deref()).is_none() {
                keys.push((Place { hash: *hash, pinned: None }).key());
                keys.extend(pinned.as_ref().map(|slug| Place { hash: *hash, pinned: Some(slug.clone()) }.key()));
            }
        }
        for found in self.shelf.load(kept::FORMAT, keys).await {
            let Some(place) = Place::parse(&found.key) else { continue };
            if upstreams.serves(&found.chain) {
                self.facts.insert(place, Arc::new(Facts { chain: found.chain, bytes: found.body, lifetime: None }));
            }
        }
    }

    /// Facts as they now stand, with what a question has added to them.
    pub(crate) fn keep_facts(&self, hash: TxHash, pinned: Option<&str>, fetched: &Fetched) {
        let (Some(place), Some(bytes)) = (Place::of(hash, pinned, fetched), fetched.encode()) else { return };
        let chain = fetched.chain().slug.clone();
        let lifetime = lifetime(fetched);
        if lifetime.is_none() {
            let (key, chain, body) = (place.key(), chain.clone(), bytes.clone());
            self.shelf.keep(Row { kind: kept::FORMAT, key, chain, body });
        }
        self.facts.insert(place, Arc::new(Facts { chain, bytes, lifetime }));
    }

    pub(crate) fn keep_verdict(
        &self,
        hash: TxHash,
        pinned: Option<&str>,
        question: &Question,
        fetched: &Fetched,
        row: &Arc<Classification>,
    ) {
        let Some(place) = Place::of(hash, pinned, fetched) else { return };
        let asked = Asked::new(place, question);
        let shelved = Shelved { source: row.source, row: row.as_ref() };
        let Ok(json) = serde_json::to_vec(&shelved) else { return };
        let lifetime = lifetime(fetched);
        if lifetime.is_none()
            && let Some(body) = kept::squeeze(&json)
        {
            let chain = fetched.chain().slug.clone();
            self.shelf.keep(Row { kind: VERDICTS, key: asked.key(&row.engine), chain, body });
        }
        let bytes = json.len().saturating_mul(VERDICT_BYTES_PER_JSON_BYTE);
        self.verdicts.insert(asked, Arc::new(Verdict { row: Arc::clone(row), bytes, lifetime }));
    }

    fn held(&self) -> [Held; 3] {
        let held = |name, entries, bytes| Held { name, entries, bytes };
        [
            held("verdicts", self.verdicts.entry_count(), self.verdicts.weighted_size()),
            held("facts", self.facts.entry_count(), self.facts.weighted_size()),
            held("tokens", self.tokens.entry_count(), self.tokens.weighted_size()),
        ]
    }

    /// Forgets what is in memory when somebody has cleared the shelf, and keeps the shelf within its size.
    pub(crate) async fn keep_house(&self, with_trim: bool) -> Result<(), StoreError> {
        let age = self.shelf.age().await?;
        if self.age.swap(age, Ordering::Relaxed) != age {
            self.forget();
        }
        for held in self.held() {
            metrics::gauge!("taxon_cache_entries", "cache" => held.name).set(to_f64(held.entries));
            metrics::gauge!("taxon_cache_bytes", "cache" => held.name).set(to_f64(held.bytes));
        }
        if with_trim {
            self.shelf.trim(&KINDS, self.shelf_bytes_max).await?;
        }
        Ok(())
    }

    fn forget(&self) {
        self.verdicts.invalidate_all();
        self.facts.invalidate_all();
        self.tokens.invalidate_all();
    }

    /// What waits to be written is written.
    pub(crate) async fn flush(&self) {
        self.shelf.flush().await;
    }
}

impl TokenMemory for Cache {
    fn known(&self, chain: &str, token: &Account) -> Option<Arc<Token>> {
        let known = self.tokens.get(&(chain.to_owned(), *token));
        count("tokens", known.is_some());
        known
    }

    fn recall<'a>(&'a self, chain: &'a str, tokens: Vec<Account>) -> BoxFuture<'a, Vec<(Account, Arc<Token>)>> {
        async move {
            let keys = tokens.iter().map(|token| token_key(chain, token)).collect();
            let mut recalled = Vec::new();
            for found in self.shelf.load(TOKENS, keys).await {
                let token = tokens.iter().find(|token| token_key(chain, token) == found.key);
                if let (Some(token), Ok(said)) = (token, serde_json::from_slice::<Token>(&found.body)) {
                    let said = Arc::new(said);
                    self.tokens.insert((chain.to_owned(), *token), Arc::clone(&said));
                    recalled.push((*token, said));
                }
            }
            recalled
        }
        .boxed()
    }

    fn keep(&self, chain: &str, token: Account, said: &Arc<Token>) {
        self.tokens.insert((chain.to_owned(), token), Arc::clone(said));
        if !is_silent(said)
            && let Ok(body) = serde_json::to_vec(said)
        {
            self.shelf.keep(Row { kind: TOKENS, key: token_key(chain, &token), chain: chain.to_owned(), body });
        }
    }
}

impl Place {
    /// A transaction that may come to stand on further chains is kept only for whoever names the chain.
    fn of(hash: TxHash, pinned: Option<&str>, fetched: &Fetched) -> Option<Self> {
        let slug = fetched.chain().slug.as_str();
        match pinned {
            Some(pinned) if pinned != slug || !fetched.is_unique() => {
                Some(Self { hash, pinned: Some(pinned.to_owned()) })
            }
            None if !fetched.is_unique() => None,
            Some(_) | None => Some(Self { hash, pinned: None }),
        }
    }

    /// As it stands on the shelf.
    fn key(&self) -> String {
        match &self.pinned {
            None => self.hash.to_string(),
            Some(slug) => format!("{}@{slug}", self.hash),
        }
    }

    fn parse(key: &str) -> Option<Self> {
        let (hash, pinned) = key.split_once('@').map_or((key, None), |(hash, slug)| (hash, Some(slug.to_owned())));
        Some(Self { hash: TxHash::parse(hash).ok()?, pinned })
    }
}

impl Asked {
    fn new(place: Place, question: &Question) -> Self {
        let digest = |wallets: &[Account]| {
            let mut hash = Sha256::new();
            for wallet in wallets {
                hash.update(wallet.to_string());
                hash.update([0]);
            }
            hash.finalize().into()
        };
        let own_wallets = (!question.own_wallets.is_empty()).then(|| digest(&question.own_wallets));
        Self { place, wallet: question.wallet, own_wallets, policy: question.policy, explain: question.explain }
    }
}

impl Asked {
    /// As it stands on the shelf, where other rules may have written too.
    fn key(&self, engine: &str) -> String {
        let Self { place, wallet, own_wallets, policy, explain } = self;
        let whole = format!("{}|{wallet:?}|{own_wallets:?}|{policy:?}|{explain}|{engine}", place.key());
        Sha256::digest(whole).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn token_key(chain: &str, token: &Account) -> String {
    format!("{chain}:{token}")
}

fn is_silent(token: &Token) -> bool {
    token.symbol.is_none() && token.decimals.is_none()
}

fn text_bytes(token: &Token) -> usize {
    [&token.symbol, &token.name].into_iter().flatten().map(String::len).sum()
}

/// `None` is for good.
fn lifetime(fetched: &Fetched) -> Option<Duration> {
    match (fetched.is_final(), fetched.is_whole()) {
        (true, true) => None,
        (true, false) => Some(PARTIAL),
        (false, _) => Some(FRESH),
    }
}

fn weight(bytes: usize) -> u32 {
    u32::try_from(bytes.saturating_add(ENTRY_BYTES)).unwrap_or(u32::MAX)
}

fn count(cache: &'static str, is_hit: bool) {
    if is_hit {
        metrics::counter!("taxon_cache_hits_total", "cache" => cache).increment(1);
    } else {
        metrics::counter!("taxon_cache_misses_total", "cache" => cache).increment(1);
    }
}

/// A figure for a gauge. Memory is bounded far below what this can tell.
fn to_f64(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Entries tell themselves how long they live.
struct Lifetimes;

trait Mortal {
    fn lifetime(&self) -> Option<Duration>;
}

impl Mortal for Verdict {
    fn lifetime(&self) -> Option<Duration> {
        self.lifetime
    }
}

impl Mortal for Facts {
    fn lifetime(&self) -> Option<Duration> {
        self.lifetime
    }
}

impl Mortal for Token {
    fn lifetime(&self) -> Option<Duration> {
        is_silent(self).then_some(SILENCE)
    }
}

impl<K, V: Mortal> Expiry<K, Arc<V>> for Lifetimes {
    fn expire_after_create(&self, _: &K, value: &Arc<V>, _: Instant) -> Option<Duration> {
        value.lifetime()
    }

    /// What replaces an entry tells its own lifetime.
    fn expire_after_update(&self, _: &K, value: &Arc<V>, _: Instant, _: Option<Duration>) -> Option<Duration> {
        value.lifetime()
    }
}
