//! Cache of verdicts, of the facts behind them, and of token metadata: in memory, bounded by bytes, above a shelf that outlives the
//! process.
//!
//! Only whole facts of a final block are cached without expiry, since they cannot change. Facts nearer to the head, or incomplete ones,
//! expire after seconds; those that no endpoint offers to complete, after minutes. A verdict follows from facts, question and rules, so it
//! expires with its facts; the rules of a process never change, and on the shelf the rules' digest is part of the key.

mod keys;

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use chains::{Completeness, Fetched, TokenMemory, UNSUPPORTED_SECONDS_MAX, Upstreams, kept};
use engine::classification::Called;
use engine::opinion::Source;
use engine::{Account, Classification, Question, Token, TxHash};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use moka::Expiry;
use moka::sync::Cache as Memory;
use serde::{Deserialize, Serialize};

use crate::metrics::gauge_value;
use crate::store::{Shelf, ShelfHit, ShelfRow, StoreError};
use keys::{TxKey, VerdictKey};

/// Facts of a block that is not final yet.
const FRESH: Duration = Duration::from_secs(3);
/// Incomplete facts of a final block that a node may complete on a retry.
const PARTIAL: Duration = Duration::from_secs(60);
/// Incomplete facts of a final block that no endpoint offers to complete: one may offer it later.
const UNSUPPORTED: Duration = Duration::from_secs(UNSUPPORTED_SECONDS_MAX);
/// A token without metadata: the node may have failed to return it.
const SILENCE: Duration = Duration::from_secs(600);
/// Shares of the memory limit, in percent.
const VERDICTS_PERCENT: u64 = 55;
const FACTS_PERCENT: u64 = 35;
const TOKENS_PERCENT: u64 = 10;
/// Overhead of an entry beyond its text or bytes: key, counters and unused string capacity.
const ENTRY_BYTES: usize = 400;
/// Size of a verdict in memory relative to its JSON: no field names, but each string has a header and spare capacity.
const VERDICT_BYTES_PER_JSON_BYTE: usize = 2;

/// The number is raised with every change of the row's format.
const VERDICTS: &str = "verdicts.3";
const TOKENS: &str = "tokens.1";
/// The kinds of rows that this version reads.
const KINDS: [&str; 3] = [VERDICTS, kept::FORMAT, TOKENS];

/// The kinds of rows that a name on the command line selects.
pub(crate) fn kinds_of(wanted: &str) -> impl Iterator<Item = &'static str> {
    KINDS.into_iter().filter(move |kind| word(kind) == wanted)
}

fn word(kind: &'static str) -> &'static str {
    kind.split_once('.').map_or(kind, |(word, _)| word)
}

#[derive(Debug)]
pub(crate) struct Cache {
    verdicts: Memory<VerdictKey, Arc<CachedVerdict>>,
    facts: Memory<TxKey, Arc<CachedFacts>>,
    tokens: Memory<(String, Account), Arc<Token>>,
    shelf: Shelf,
    shelf_bytes_max: i64,
    age: AtomicI64,
}

/// One of a call's questions: a transaction, the slug of the chain that it was asked for on, and what about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheQuery<'a> {
    pub(crate) hash: TxHash,
    pub(crate) pinned: Option<&'a str>,
    pub(crate) question: &'a Question,
}

/// The facts of a transaction, encoded.
#[derive(Debug)]
pub(crate) struct CachedFacts {
    chain: String,
    bytes: Vec<u8>,
    lifetime: Option<Duration>,
}

#[derive(Debug)]
struct CachedVerdict {
    row: Arc<Classification>,
    bytes: usize,
    lifetime: Option<Duration>,
}

impl CachedVerdict {
    fn new(row: Arc<Classification>, json_bytes: usize, lifetime: Option<Duration>) -> Self {
        Self { row, bytes: json_bytes.saturating_mul(VERDICT_BYTES_PER_JSON_BYTE), lifetime }
    }

    fn unpack(body: &[u8]) -> Option<Self> {
        let json = kept::unsqueeze(body)?;
        let Shelved { source, is_floored, called, row } =
            serde_json::from_slice::<Shelved<Classification>>(&json).ok()?;
        Some(Self::new(Arc::new(Classification { source, is_floored, called, ..row }), json.len(), None))
    }

    fn chain(&self) -> &str {
        self.row.chain.as_deref().unwrap_or_default()
    }
}

impl CachedFacts {
    /// Decoded; `None` for facts that the nodes could by now complete.
    pub(crate) fn decode(&self, hash: TxHash, upstreams: &Upstreams) -> Option<Fetched> {
        let fetched = upstreams.decode(&self.chain, hash, &self.bytes)?;
        (self.lifetime.is_some() || fetched.completeness() == Completeness::Whole).then_some(fetched)
    }
}

/// One kind of entry in memory: the transaction that a key is of, and the chain that an entry is of.
struct CachePart<'a, K, V> {
    kind: &'static str,
    memory: &'a Memory<K, Arc<V>>,
    place: fn(&K) -> &TxKey,
    chain: fn(&V) -> &str,
}

/// A verdict as a row of the shelf.
#[derive(Serialize, Deserialize)]
struct Shelved<R> {
    source: Source,
    is_floored: bool,
    called: Option<Called>,
    row: R,
}

/// Entries and bytes of one part of the cache.
#[derive(Debug, Clone, Copy)]
struct CacheSize {
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
                .weigher(|_, verdict: &Arc<CachedVerdict>| weight(verdict.bytes))
                .expire_after(EntryExpiry)
                .build(),
            facts: Memory::builder()
                .max_capacity(part(FACTS_PERCENT))
                .weigher(|_, facts: &Arc<CachedFacts>| weight(facts.bytes.len()))
                .expire_after(EntryExpiry)
                .build(),
            tokens: Memory::builder()
                .max_capacity(part(TOKENS_PERCENT))
                .weigher(|_, token: &Arc<Token>| weight(text_bytes(token)))
                .expire_after(EntryExpiry)
                .build(),
            shelf,
            shelf_bytes_max,
            age: AtomicI64::new(0),
        }
    }

    /// The cached verdicts, one slot for each question.
    pub(crate) async fn verdicts(&self, engine: &str, wanted: &[CacheQuery<'_>]) -> Vec<Option<Arc<Classification>>> {
        let drawer = CachePart {
            kind: VERDICTS,
            memory: &self.verdicts,
            place: |asked| &asked.place,
            chain: CachedVerdict::chain,
        };
        let unpack = |found: ShelfHit| CachedVerdict::unpack(&found.body);
        let found = self.look(drawer, wanted, CacheQuery::asked, |asked| asked.key(engine), unpack).await;
        found.into_iter().map(|found| found.map(|verdict| Arc::clone(&verdict.row))).collect()
    }

    /// The cached facts, one slot for each question.
    pub(crate) async fn facts(&self, wanted: &[CacheQuery<'_>]) -> Vec<Option<Arc<CachedFacts>>> {
        let drawer =
            CachePart { kind: kept::FORMAT, memory: &self.facts, place: |place| place, chain: |facts| &facts.chain };
        let unpack = |ShelfHit { chain, body, .. }| Some(CachedFacts { chain, bytes: body, lifetime: None });
        self.look(drawer, wanted, CacheQuery::places, TxKey::key, unpack).await
    }

    /// From memory where all of them are there, else from the shelf in one lookup. An entry too large for memory is returned all the same.
    async fn look<'a, K, V, I>(
        &self,
        drawer: CachePart<'_, K, V>,
        wanted: &[CacheQuery<'a>],
        spots: impl Fn(&CacheQuery<'a>) -> I,
        key: impl Fn(&K) -> String,
        unpack: impl Fn(ShelfHit) -> Option<V>,
    ) -> Vec<Option<Arc<V>>>
    where
        K: Clone + Eq + Hash + Send + Sync + 'static,
        V: Send + Sync + 'static,
        I: Iterator<Item = K>,
    {
        let CachePart { kind, memory, place, chain } = drawer;
        let answers = |spot: &K, told: &V, wanted: &CacheQuery<'_>| place(spot).answers(chain(told), wanted.pinned);
        let mut found: Vec<Option<Arc<V>>> = Vec::with_capacity(wanted.len());
        let mut missing: Vec<(usize, K)> = Vec::new();
        for (at, wanted) in wanted.iter().enumerate() {
            let here = |spot: K| memory.get(&spot).filter(|told| answers(&spot, told, wanted));
            let told = spots(wanted).find_map(here);
            if told.is_none() {
                missing.extend(spots(wanted).map(|spot| (at, spot)));
            }
            found.push(told);
        }
        if !missing.is_empty() {
            let sought: HashMap<String, &K> = missing.iter().map(|(_, spot)| (key(spot), spot)).collect();
            let mut shelved: HashMap<&K, Arc<V>> = HashMap::new();
            for row in self.shelf.load(kind, sought.keys().cloned().collect()).await {
                let Some(spot) = sought.get(&row.key) else { continue };
                if let Some(told) = unpack(row).map(Arc::new) {
                    memory.insert(K::clone(spot), Arc::clone(&told));
                    shelved.insert(spot, told);
                }
            }
            for (at, spot) in &missing {
                if let (Some(slot @ None), Some(wanted)) = (found.get_mut(*at), wanted.get(*at)) {
                    *slot = shelved.get(spot).filter(|told| answers(spot, told, wanted)).cloned();
                }
            }
        }
        for found in &found {
            count(word(kind), found.is_some());
        }
        found
    }

    /// Facts with what a question has added to them.
    pub(crate) fn keep_facts(&self, hash: TxHash, pinned: Option<&str>, fetched: &Fetched) {
        let (Some(place), Some(bytes)) = (TxKey::of(hash, pinned, fetched), fetched.encode()) else { return };
        let chain = fetched.chain().slug.clone();
        let lifetime = lifetime(fetched);
        if lifetime.is_none() {
            let (key, chain, body) = (place.key(), chain.clone(), bytes.clone());
            self.shelf.keep(ShelfRow { kind: kept::FORMAT, key, chain, body });
        }
        self.facts.insert(place, Arc::new(CachedFacts { chain, bytes, lifetime }));
    }

    pub(crate) fn keep_verdict(
        &self,
        hash: TxHash,
        pinned: Option<&str>,
        question: &Question,
        fetched: &Fetched,
        row: &Arc<Classification>,
    ) {
        let Some(place) = TxKey::of(hash, pinned, fetched) else { return };
        let asked = VerdictKey::new(place, question);
        let (source, is_floored, called) = (row.source, row.is_floored, row.called.clone());
        let shelved = Shelved { source, is_floored, called, row: row.as_ref() };
        let Ok(json) = serde_json::to_vec(&shelved) else { return };
        let lifetime = lifetime(fetched);
        if lifetime.is_none()
            && let Some(body) = kept::squeeze(&json)
        {
            let chain = fetched.chain().slug.clone();
            self.shelf.keep(ShelfRow { kind: VERDICTS, key: asked.key(&row.engine), chain, body });
        }
        self.verdicts.insert(asked, Arc::new(CachedVerdict::new(Arc::clone(row), json.len(), lifetime)));
    }

    fn held(&self) -> [CacheSize; 3] {
        let held = |name, entries, bytes| CacheSize { name, entries, bytes };
        [
            held("verdicts", self.verdicts.entry_count(), self.verdicts.weighted_size()),
            held("facts", self.facts.entry_count(), self.facts.weighted_size()),
            held("tokens", self.tokens.entry_count(), self.tokens.weighted_size()),
        ]
    }

    /// Empties memory when somebody has cleared the shelf, and trims the shelf to its size.
    pub(crate) async fn housekeeping(&self, with_trim: bool) -> Result<(), StoreError> {
        let age = self.shelf.age().await?;
        if self.age.swap(age, Ordering::Relaxed) != age {
            self.forget();
        }
        for held in self.held() {
            ::metrics::gauge!("taxon_cache_entries", "cache" => held.name).set(gauge_value(held.entries));
            ::metrics::gauge!("taxon_cache_bytes", "cache" => held.name).set(gauge_value(held.bytes));
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

    /// Flushes rows that wait to be written.
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
            self.shelf.keep(ShelfRow { kind: TOKENS, key: token_key(chain, &token), chain: chain.to_owned(), body });
        }
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

/// `None`: no expiry.
fn lifetime(fetched: &Fetched) -> Option<Duration> {
    match fetched.completeness() {
        _ if !fetched.is_final() => Some(FRESH),
        Completeness::Whole => None,
        Completeness::Unsupported => Some(UNSUPPORTED),
        Completeness::Partial => Some(PARTIAL),
    }
}

fn weight(bytes: usize) -> u32 {
    u32::try_from(bytes.saturating_add(ENTRY_BYTES)).unwrap_or(u32::MAX)
}

fn count(cache: &'static str, is_hit: bool) {
    if is_hit {
        ::metrics::counter!("taxon_cache_hits_total", "cache" => cache).increment(1);
    } else {
        ::metrics::counter!("taxon_cache_misses_total", "cache" => cache).increment(1);
    }
}

/// The lifetime comes from the entry.
struct EntryExpiry;

trait HasLifetime {
    fn lifetime(&self) -> Option<Duration>;
}

impl HasLifetime for CachedVerdict {
    fn lifetime(&self) -> Option<Duration> {
        self.lifetime
    }
}

impl HasLifetime for CachedFacts {
    fn lifetime(&self) -> Option<Duration> {
        self.lifetime
    }
}

impl HasLifetime for Token {
    fn lifetime(&self) -> Option<Duration> {
        is_silent(self).then_some(SILENCE)
    }
}

impl<K, V: HasLifetime> Expiry<K, Arc<V>> for EntryExpiry {
    fn expire_after_create(&self, _: &K, value: &Arc<V>, _: Instant) -> Option<Duration> {
        value.lifetime()
    }

    /// A replacement brings its own lifetime.
    fn expire_after_update(&self, _: &K, value: &Arc<V>, _: Instant, _: Option<Duration>) -> Option<Duration> {
        value.lifetime()
    }
}
