//! Protocol knowledge, compiled from data: packs under `protocols/`, canonical tokens under `tokens/`. Indexed by topic,
//! selector and contract, so that another pack costs no time per transaction.

pub mod abi;
pub mod compile;
mod directory;
mod families;
pub mod file;
mod filter;
mod known;
mod load;
pub mod path;
pub mod reader;
pub mod recorded;
pub mod solana;
mod widespread;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use alloy_primitives::map::{AddressMap, AddressSet, B256Map, B256Set, HashSet, SelectorMap};
use alloy_primitives::{Address, B256, Selector};

use compile::{AccrualRule, ActorRule, CallRule, EventRule, NftRule, ProofRule, RebaseRule, SupplyRule};
use directory::{Directory, Holders};
pub use families::{Crossing, Families};
pub use file::EVERY_CHAIN;
use file::{DepositRow, Derive, PackFile, TransferDirection};
use filter::PrefixFilter;
pub use known::{Known, ProvedContracts, open_pack};
use load::Loader;
pub use load::{Checks, Extent, Lists};
use solana::SolanaRules;
use widespread::Widespread;

use crate::asset::{Account, Asset};
use crate::block::Block;
use crate::category::Category;
use crate::legs::Direction;
use crate::opinion::Perhaps;

/// Texts of the files that the build embeds, by their names without ending.
pub(crate) mod embedded {
    include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
}

#[derive(Debug)]
pub struct Pack {
    /// The file's name without its ending.
    pub id: String,
    pub name: Arc<str>,
    pub file: PackFile,
    lines: Lines,
}

impl Pack {
    /// The line of something in this file.
    pub fn line(&self, span: &std::ops::Range<usize>) -> usize {
        self.lines.at(span.start)
    }

    /// The line of a contract's address.
    fn line_of(&self, address: &str) -> usize {
        let mut rows = self.file.contracts.values().flat_map(BTreeMap::values).flatten();
        rows.find(|row| row.get_ref() == address).map_or(1, |row| self.line(&row.span()))
    }
}

/// Where the lines of a file end, to tell the line of an offset.
#[derive(Debug, Default)]
pub(crate) struct Lines(Vec<usize>);

impl Lines {
    pub(crate) fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// Counted from one.
    pub(crate) fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|end| *end < offset).saturating_add(1)
    }
}

#[derive(Debug, Clone)]
pub struct Factory {
    pub pack: usize,
    pub derive: Derive,
    pub deployer: Address,
    pub init_code_hash: B256,
    pub fees: Vec<u32>,
    pub often: bool,
}

#[derive(Debug, Clone)]
pub struct TransferRule {
    pub id: Arc<str>,
    pub way: TransferDirection,
    pub means: Category,
    pub native: bool,
    /// Seconds since 1970, UTC.
    pub until: Option<i64>,
    pub perhaps: Option<Perhaps>,
}

impl TransferRule {
    /// Whether it speaks of what moves this way in this block.
    pub fn fits(&self, direction: Direction, asset: Asset, block: Option<Block>) -> bool {
        let is_way = matches!(
            (self.way, direction),
            (TransferDirection::Out, Direction::Out) | (TransferDirection::In, Direction::In)
        );
        let is_time = self.until.is_none_or(|until| block.is_some_and(|block| block.timestamp < until));
        is_way && is_time && (!self.native || asset == Asset::Native)
    }
}

/// A pack that knows a contract, and as what.
#[derive(Debug, Clone)]
pub struct Holder {
    pub pack: usize,
    pub role: Arc<str>,
    /// Its contracts are not vouched for: what other packs read there stays unverified and has no name.
    pub is_quiet: bool,
    pub standing: Standing,
}

/// How a pack came to know a contract, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It lists the contract, or only whoever governs the protocol has one made or entered.
    Listed,
    /// Anybody may have such a contract made by the protocol: its code is known, and not what it holds or pays in.
    Open,
    /// It runs a listed contract's code, and anybody may have deployed it: it has the role, and is believed no more than a stranger.
    Copy,
}

/// What the rules know of one chain.
#[derive(Debug, Default)]
pub struct ChainRules {
    contracts: Directory,
    /// Wallets of exchanges: whose they are is known, and what is sent to them and by them. They lend their word to nothing else.
    accounts: Directory,
    /// Tokens that several public lists name.
    widespread: Widespread,
    factories: Vec<Factory>,
    fees: Vec<u32>,
    /// How listed contracts vouch for others.
    proofs: Vec<ProofRule>,
    /// Of all of them: by these logs a contract is noticed that somebody may vouch for.
    proof_topics: B256Set,
    /// Contracts whose NFTs are logged otherwise than ERC-721 asks.
    nfts: AddressMap<Arc<NftRule>>,
    /// Tokens that log mints and burns otherwise than ERC-20 asks.
    supplies: AddressMap<Arc<SupplyRule>>,
    /// Further addresses of tokens that have several for one ledger, and the one that each is known by.
    same: BTreeMap<Address, Address>,
    /// Folded symbols of canonical tokens, and their contracts. A canonical token never collides, even once renamed.
    canonical_symbols: HashSet<String>,
    canonical: AddressSet,
}

#[derive(Debug)]
pub struct Rules {
    pub packs: Vec<Pack>,
    events: B256Map<Vec<EventRule>>,
    calls: SelectorMap<Vec<CallRule>>,
    /// By pack, then by role.
    transfers: Vec<BTreeMap<String, Vec<TransferRule>>>,
    lures: Vec<String>,
    deposits: Vec<DepositRow>,
    actors: B256Map<Vec<ActorRule>>,
    accruals: B256Map<Vec<AccrualRule>>,
    rebases: B256Map<Vec<RebaseRule>>,
    /// Topics of `events`, `actors`, `accruals` and `rebases`.
    known_topics: PrefixFilter,
    /// Events that only one protocol logs.
    own: B256Set,
    chains: BTreeMap<String, ChainRules>,
    every: ChainRules,
    pub solana: SolanaRules,
    pub families: Families,
    /// Of every pack's name and text, and of the tokens.
    pub(crate) digest: [u8; 32],
}

/// One thing wrong with a pack, worded so that an analyst can fix it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {what}")]
pub struct Fault {
    pub file: String,
    /// From one; the first line stands for the whole file.
    pub line: usize,
    pub what: String,
}

/// What stands on every chain: kept once, however many chains there are.
struct SharedAddresses {
    contracts: Arc<Holders>,
    accounts: Arc<Holders>,
}

impl ChainRules {
    /// Packs that list the contract, each with its role.
    pub fn holders(&self, contract: Address) -> &[Holder] {
        self.contracts.holders(contract)
    }

    /// Packs that list the account as an exchange's wallet.
    pub fn owners(&self, account: Address) -> &[Holder] {
        self.accounts.holders(account)
    }

    /// How the contract logs its NFTs, where it is not as ERC-721 asks.
    pub fn nfts(&self, contract: Address) -> Option<&NftRule> {
        let is_known = !self.nfts.is_empty() && self.contracts.may_hold(contract);
        is_known.then(|| self.nfts.get(&contract)).flatten().map(Arc::as_ref)
    }

    /// How the token logs mints and burns, where it is not as ERC-20 asks.
    pub fn supply(&self, token: Address) -> Option<&SupplyRule> {
        let is_known = !self.supplies.is_empty() && self.contracts.may_hold(token);
        is_known.then(|| self.supplies.get(&token)).flatten().map(Arc::as_ref)
    }

    /// The address that the token is known by, where this is another one of it.
    pub fn same(&self, contract: Address) -> Option<Address> {
        self.same.get(&contract).copied()
    }

    /// Whether any token here has several addresses.
    pub fn has_pairs(&self) -> bool {
        !self.same.is_empty()
    }

    /// Fee tiers of any factory here, each once. A pool is proved by trying one after another, so those of the most widespread factory come first.
    pub fn fees(&self) -> &[u32] {
        &self.fees
    }

    pub fn factories(&self, derive: Derive) -> impl Iterator<Item = &Factory> {
        self.factories.iter().filter(move |factory| factory.derive == derive)
    }

    pub fn proofs(&self) -> &[ProofRule] {
        &self.proofs
    }

    /// Whether some contract that logs this may be vouched for.
    pub fn notices(&self, topic0: &B256) -> bool {
        self.proof_topics.contains(topic0)
    }

    /// Whether the symbol belongs to another contract.
    pub fn symbol_collides(&self, symbol: &str, contract: Address) -> bool {
        !self.canonical_symbols.is_empty()
            && !self.canonical.contains(&contract)
            && self.canonical_symbols.contains(&*fold_symbol(symbol))
    }

    /// One of the canonical tokens, always the same.
    pub fn canonical_token(&self) -> Option<Address> {
        self.canonical.iter().min().copied()
    }

    pub fn is_canonical(&self, contract: Address) -> bool {
        self.canonical.contains(&contract)
    }

    /// Adds what is deployed on every chain.
    fn include(&mut self, every: &Self, shared: &SharedAddresses) {
        self.contracts.include(&shared.contracts);
        self.accounts.include(&shared.accounts);
        self.factories.extend(every.factories.iter().cloned());
        self.proofs.extend(every.proofs.iter().cloned());
        self.nfts.extend(every.nfts.iter().map(|(contract, rule)| (*contract, Arc::clone(rule))));
        self.supplies.extend(every.supplies.iter().map(|(token, rule)| (*token, Arc::clone(rule))));
    }

    /// Called once all packs are loaded.
    fn index(&mut self) {
        self.proof_topics = self.proofs.iter().flat_map(|rule| &rule.topics).copied().collect();
        self.factories.sort_by_key(|factory| !factory.often);
        let mut seen = BTreeSet::new();
        let fees = self.factories.iter().flat_map(|factory| &factory.fees).copied();
        self.fees = fees.filter(|fee| seen.insert(*fee)).collect();
    }
}

impl Rules {
    /// The embedded packs as far as readings need them.
    pub fn embedded() -> Result<Self, Vec<Fault>> {
        Self::within(embedded::PROTOCOLS, Extent { checks: Checks::LeftOut, ..Extent::default() })
    }

    /// The same with their cases, recorded readings and surfaces.
    pub fn embedded_with_checks() -> Result<Self, Vec<Fault>> {
        Self::of(embedded::PROTOCOLS)
    }

    /// Each by its file's name without ending.
    pub fn embedded_packs<'a>() -> impl Iterator<Item = (&'a str, &'a str)> {
        embedded::PROTOCOLS.iter().copied()
    }

    /// These packs and no others; one fault refuses them all, so nothing is half loaded.
    pub fn of(packs: &[(&str, &str)]) -> Result<Self, Vec<Fault>> {
        Self::within(packs, Extent::default())
    }

    pub fn within(packs: &[(&str, &str)], extent: Extent) -> Result<Self, Vec<Fault>> {
        Loader::new(extent).load(packs, embedded::TOKENS, embedded::WIDESPREAD)
    }

    pub fn events(&self, topic0: &B256) -> &[EventRule] {
        self.of_topic(&self.events, topic0)
    }

    fn of_topic<'a, T>(&'a self, rules: &'a B256Map<Vec<T>>, topic0: &B256) -> &'a [T] {
        let of_topic = self.known_topics.may_hold(topic0.as_slice()).then(|| rules.get(topic0)).flatten();
        of_topic.map_or(&[], Vec::as_slice)
    }

    /// How receipt tokens state by such an event what a balance grew by.
    pub fn accruals(&self, topic0: &B256) -> &[AccrualRule] {
        self.of_topic(&self.accruals, topic0)
    }

    /// Tokens that change every balance by such an event.
    pub fn rebases(&self, topic0: &B256) -> &[RebaseRule] {
        self.of_topic(&self.rebases, topic0)
    }

    pub fn actors(&self, topic0: &B256) -> &[ActorRule] {
        self.of_topic(&self.actors, topic0)
    }

    /// Whether only one protocol logs this event.
    pub fn is_own(&self, topic0: &B256) -> bool {
        self.known_topics.may_hold(topic0.as_slice()) && self.own.contains(topic0)
    }

    pub fn calls(&self, selector: &Selector) -> &[CallRule] {
        self.calls.get(selector).map_or(&[], Vec::as_slice)
    }

    pub fn transfers(&self, pack: usize, role: &str) -> &[TransferRule] {
        self.transfers.get(pack).and_then(|by_role| by_role.get(role)).map_or(&[], Vec::as_slice)
    }

    pub fn pack(&self, index: usize) -> Option<&Pack> {
        self.packs.get(index)
    }

    /// The name to print for a pack; a standard has none.
    pub fn protocol(&self, index: usize) -> Option<Arc<str>> {
        self.pack(index).filter(|pack| !pack.file.standard).map(|pack| Arc::clone(&pack.name))
    }

    /// Whether another asset may arrive over this pack's bridge than the one that was sent.
    pub fn may_exchange(&self, index: usize) -> bool {
        self.pack(index).is_some_and(|pack| pack.file.may_exchange)
    }

    /// Whether a pack that lists the contract knows what is done there, and not only whose account it is.
    pub fn has_protocol<'a>(&self, holders: impl IntoIterator<Item = &'a Holder>) -> bool {
        let is_protocol = |pack: &Pack| {
            !pack.file.event.is_empty() || !pack.file.call.is_empty() || !pack.file.instruction.is_empty()
        };
        holders.into_iter().any(|holder| self.pack(holder.pack).is_some_and(is_protocol))
    }

    /// Whether a pack that lists the contract keeps positions inside that no transfer shows.
    pub fn may_hold_positions<'a>(&self, holders: impl IntoIterator<Item = &'a Holder>) -> bool {
        holders.into_iter().any(|holder| self.pack(holder.pack).is_some_and(|pack| pack.file.holds_positions))
    }

    /// What is known of one chain; of a chain that no pack names, what is deployed on every chain.
    pub fn on(&self, chain: &str) -> &ChainRules {
        self.chains.get(chain).unwrap_or(&self.every)
    }

    /// Every pack that knows the address or program, with the chain's slug, or `EVERY_CHAIN`.
    pub fn holders_of(&self, account: &Account) -> Vec<(&str, &Holder)> {
        let address = match account {
            Account::Evm(address) => *address,
            Account::Solana(key) => return self.solana.holders(key).map(|holder| (solana::SOLANA, holder)).collect(),
        };
        fn all(rules: &ChainRules, address: Address) -> impl Iterator<Item = &Holder> {
            rules.holders(address).iter().chain(rules.owners(address))
        }
        let is_told =
            |holder: &Holder| all(&self.every, address).any(|one| one.pack == holder.pack && one.role == holder.role);
        let own = self.chains.iter().flat_map(|(slug, chain)| {
            all(chain, address).filter(|holder| !is_told(holder)).map(move |holder| (slug.as_str(), holder))
        });
        all(&self.every, address).map(|holder| (EVERY_CHAIN, holder)).chain(own).collect()
    }

    /// Whether some pack lists the contract, on whichever chain. An exchange's wallet is somebody's account and no contract.
    pub fn is_contract(&self, account: &Account) -> bool {
        match account {
            Account::Evm(address) => {
                let mut chains = self.chains.values().chain([&self.every]);
                chains.any(|chain| !chain.holders(*address).is_empty())
            }
            Account::Solana(key) => self.solana.holders(key).next().is_some(),
        }
    }

    /// Whether token text lures its reader somewhere.
    pub fn lures(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.lures.iter().any(|lure| text.contains(lure.as_str()))
    }

    /// What brings a deposit from the parent chain in a transaction of this type, or with `None` in one from the zero address to itself.
    pub fn deposit(&self, kind: Option<u64>) -> Option<&DepositRow> {
        self.deposits.iter().find(|row| row.covers(kind))
    }

    /// Every event that some rule listens to, sorted.
    pub fn topics(&self) -> Vec<B256> {
        let mut topics: Vec<B256> = self.events.keys().copied().collect();
        topics.sort_unstable();
        topics
    }

    pub fn event_rules(&self) -> impl Iterator<Item = &EventRule> {
        self.events.values().flatten()
    }

    pub fn call_rules(&self) -> impl Iterator<Item = &CallRule> {
        self.calls.values().flatten()
    }

    /// Every call that some rule knows, sorted.
    pub fn selectors(&self) -> Vec<[u8; 4]> {
        let mut selectors: Vec<[u8; 4]> = self.calls.keys().map(|selector| selector.0).collect();
        selectors.sort_unstable();
        selectors
    }

    /// Packs, contracts, events, calls and instructions.
    pub fn counts(&self) -> (usize, usize, usize, usize, usize) {
        let rows = |pack: &Pack| pack.file.contracts.values().flat_map(BTreeMap::values).map(Vec::len).sum::<usize>();
        let contracts = self.packs.iter().map(rows).sum();
        let events = self.events.values().map(Vec::len).sum();
        let calls = self.calls.values().map(Vec::len).sum();
        let instructions = self.packs.iter().map(|pack| pack.file.instruction.len()).sum();
        (self.packs.len(), contracts, events, calls, instructions)
    }
}

/// Look-alikes fold to what a reader would take them for: case, invisible characters and the commonest foreign letters.
/// Not `unicode-security`: its skeletons take `0` for `O` and `1` for `l`, so USD0, a token of its own, would imitate USDO; and its `₮` is no `T`.
pub fn fold_symbol(symbol: &str) -> Cow<'_, str> {
    if symbol.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()) {
        return Cow::Borrowed(symbol);
    }
    if symbol.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Cow::Owned(symbol.to_ascii_uppercase());
    }
    // A letter may come apart into itself and a mark, which is then dropped like any other.
    let folded = symbol.chars().flat_map(char::to_uppercase);
    folded
        .filter(|c| c.is_alphanumeric() || matches!(c, '.' | '+' | '-' | '/' | '$' | '₮'))
        .map(|c| match c {
            'А' | 'Α' => 'A',
            'В' | 'Β' => 'B',
            'С' | 'Ϲ' => 'C',
            'Е' | 'Ε' => 'E',
            'Н' | 'Η' => 'H',
            'І' | 'Ι' | 'Ӏ' => 'I',
            'К' | 'Κ' => 'K',
            'М' | 'Μ' => 'M',
            'Ν' => 'N',
            'О' | 'Ο' => 'O',
            'Р' | 'Ρ' => 'P',
            'Ѕ' => 'S',
            'Т' | 'Τ' | '₮' => 'T',
            'Х' | 'Χ' => 'X',
            'У' | 'Υ' => 'Y',
            'Ζ' => 'Z',
            other => other,
        })
        .collect::<String>()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alike_symbols_fold_together() {
        assert_eq!(fold_symbol("USDС"), fold_symbol("usdc"));
        assert_eq!(fold_symbol("U\u{200b}SDT"), fold_symbol("USD₮"));
        assert_ne!(fold_symbol("USDC"), fold_symbol("USDC.e"));
    }
}
