//! From the text of packs and token files to `Rules`, or to every fault in them with its file and line.

mod contested;
mod thinned;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use alloy_primitives::map::{B256Map, SelectorMap};
use alloy_primitives::{Address, B256, Selector};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use toml::Spanned;

use super::compile::{self, AccrualRule, ActorRule, CallRule, EventRule, Proof, ProofRule, RebaseRule, RulePlace};
use super::file::{EVERY_CHAIN, PackFile, ProofRow, TransferDirection, TransferRow};
use super::filter::PrefixFilter;
use super::solana::{self, SOLANA, SolanaRules};
use super::widespread::Widespread;
use super::{
    ChainRules, Factory, Families, Fault, Holder, Lines, Pack, Rules, SharedAddresses, Standing, TransferRule,
    embedded, fold_symbol,
};
use crate::block::{NOT_A_DAY, day_start};
use crate::category::Category;

/// Public pages that tell where a pack's addresses were checked. A custodian's wallets leave the treatment of a transfer as it is, so that one good
/// source is enough.
const SOURCES_MIN: usize = 2;
const CUSTODIAN_SOURCES_MIN: usize = 1;
const CUSTODIAN_ABOUT: &str = "Exchange that keeps its customers' coins. A plain transfer to or from one of its wallets moves coins into or out of an account there.";
/// Each address is computed when the packs are loaded; the factories that have made more are those of wallets, whose code proves nothing.
const CREATED_MAX: u64 = 5_000;
/// Chains on which an address is computed otherwise from who made it.
const OTHER_CREATE: [&str; 3] = ["zksync", "abstract", "lens"];

/// Whether the contracts that brands list are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lists {
    #[default]
    Whole,
    /// Only those that vouch for others when they are asked, to measure what rules and proofs read by themselves.
    LeftOut,
}

/// Whether what only checks need is read: cases, recorded readings and surfaces, which are two fifths of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Checks {
    #[default]
    Read,
    /// Not of packs that are embedded, word for word: the tests have read all of those. An operator's pack is always read whole.
    LeftOut,
}

/// What of the packs is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    pub lists: Lists,
    pub checks: Checks,
}

#[derive(Default)]
pub(super) struct Loader {
    extent: Extent,
    /// All packs are embedded, and the tests have checked them: what follows from factories is computed when it is asked for.
    are_tested: bool,
    packs: Vec<Pack>,
    events: B256Map<Vec<EventRule>>,
    calls: SelectorMap<Vec<CallRule>>,
    transfers: Vec<BTreeMap<String, Vec<TransferRule>>>,
    actors: B256Map<Vec<ActorRule>>,
    accruals: B256Map<Vec<AccrualRule>>,
    rebases: B256Map<Vec<RebaseRule>>,
    chains: BTreeMap<String, ChainRules>,
    solana: SolanaRules,
    families: Families,
    faults: Vec<Fault>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenFile {
    #[serde(default)]
    tokens: BTreeMap<String, Vec<Spanned<String>>>,
    #[serde(default)]
    pair: Vec<PairRow>,
}

/// A token with several addresses for one ledger.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PairRow {
    name: String,
    chain: String,
    /// The address that it is known by here.
    token: Spanned<String>,
    also: Vec<Spanned<String>>,
}

/// A file while it is read: its name, and where its lines begin.
struct PackSource<'a> {
    stem: &'a str,
    lines: Lines,
    /// It is embedded, and the tests have checked all of it.
    is_tested: bool,
}

impl PackSource<'_> {
    fn fault(&self, span: Option<Range<usize>>, what: String) -> Fault {
        let line = span.map_or(1, |span| self.lines.at(span.start));
        Fault { file: format!("{}.toml", self.stem), line, what }
    }

    /// To check an address' checksum takes a hash. The tests have checked those of the embedded packs, so a start does not.
    fn address(&self, text: &str) -> Result<Address, String> {
        if self.is_tested { compile::plain_address(text) } else { compile::address(text) }
    }
}

impl Loader {
    pub(super) fn new(extent: Extent) -> Self {
        Self { extent, ..Self::default() }
    }

    pub(super) fn load(
        mut self,
        packs: &[(&str, &str)],
        tokens: &[(&str, &str)],
        widespread: &[(&str, &'static [u8])],
    ) -> Result<Rules, Vec<Fault>> {
        let mut digest = Sha256::new();
        if self.extent.lists == Lists::LeftOut {
            digest.update(b"without lists");
        }
        let leaves_out = self.extent.checks == Checks::LeftOut;
        self.are_tested = leaves_out && packs.iter().all(|(stem, text)| embedded_at(stem, text).is_some());
        let mut seen = BTreeSet::new();
        for (stem, text) in packs {
            let at = embedded_at(stem, text);
            let of_build = at.and_then(|at| embedded::PROTOCOL_DIGESTS.get(at));
            digest_file(&mut digest, stem, of_build.copied().unwrap_or_else(|| Sha256::digest(text).into()));
            let is_tested = leaves_out && at.is_some();
            let text = if is_tested { Cow::Owned(thinned::without_checks(text)) } else { Cow::Borrowed(*text) };
            let source = PackSource { stem, lines: Lines::of(&text), is_tested };
            if !seen.insert(*stem) {
                self.faults.push(source.fault(None, "another pack has the same file name".to_owned()));
            }
            match toml::from_str::<PackFile>(&text) {
                Ok(file) => self.pack(source, file),
                Err(error) => self.faults.push(source.fault(error.span(), error.message().to_owned())),
            }
        }
        for (slug, text) in tokens {
            digest_file(&mut digest, slug, Sha256::digest(text).into());
            let stem = format!("tokens/{slug}");
            let source =
                PackSource { stem: &stem, lines: Lines::of(text), is_tested: self.extent.checks == Checks::LeftOut };
            match toml::from_str::<TokenFile>(text) {
                Ok(file) => self.tokens(&source, slug, file),
                Err(error) => self.faults.push(source.fault(error.span(), error.message().to_owned())),
            }
        }
        for (slug, sorted) in widespread {
            digest_file(&mut digest, slug, Sha256::digest(sorted).into());
            if self.extent.lists != Lists::LeftOut {
                self.chains.entry((*slug).to_owned()).or_default().widespread = Widespread::of(sorted);
            }
        }
        self.contested();
        self.contested_programs();
        self.contested_deposits();
        if !self.faults.is_empty() {
            return Err(self.faults);
        }
        let digest = digest.finalize().into();
        let Self {
            packs, events, calls, transfers, actors, accruals, rebases, mut chains, mut solana, families, ..
        } = self;
        solana.index();
        let mut every = chains.remove(EVERY_CHAIN).unwrap_or_default();
        let mut spread: BTreeMap<usize, usize> = BTreeMap::new();
        for factory in chains.values().flat_map(|chain| &chain.factories) {
            let chains = spread.entry(factory.pack).or_default();
            *chains = chains.saturating_add(1);
        }
        // A pool is proved by trying one factory after another, so those come first that stand on the most chains.
        for chain in chains.values_mut() {
            chain.factories.sort_by_key(|factory| Reverse(spread.get(&factory.pack).copied().unwrap_or_default()));
        }
        let shared = SharedAddresses {
            contracts: Arc::new(every.contracts.own().clone()),
            accounts: Arc::new(every.accounts.own().clone()),
        };
        for chain in chains.values_mut() {
            chain.include(&every, &shared);
            chain.index();
        }
        every.index();
        let topics = events.keys().chain(actors.keys()).chain(accruals.keys()).chain(rebases.keys());
        let known_topics = PrefixFilter::of(topics.map(|topic0| topic0.as_slice()));
        let own_events = events.values().flatten().filter(|rule| rule.own).map(|rule| rule.topic0);
        let own_actors = actors.values().flatten().filter(|rule| rule.own).map(|rule| rule.topic0);
        let own = own_events.chain(own_actors).collect();
        let lures = packs.iter().flat_map(|pack| &pack.file.lures).cloned().collect();
        let deposits = packs.iter().flat_map(|pack| &pack.file.deposit).cloned().collect();
        Ok(Rules {
            packs,
            events,
            calls,
            transfers,
            lures,
            deposits,
            actors,
            accruals,
            rebases,
            known_topics,
            own,
            chains,
            every,
            solana,
            families,
            digest,
        })
    }

    fn pack(&mut self, source: PackSource<'_>, mut file: PackFile) {
        if file.custodian {
            self.faults.extend(as_custodian(&source, &mut file));
        } else if file.about.is_empty() {
            self.faults.push(source.fault(None, "`about` says what it is".to_owned()));
        }
        let (pack, stem) = (self.packs.len(), source.stem);
        let (mut faults, mut nfts, mut supplies) = (Vec::new(), Vec::new(), Vec::new());
        let mut at = |signature: &Spanned<String>, what: String| {
            faults.push(source.fault(Some(signature.span()), format!("`{}`: {what}", signature.get_ref())));
        };
        for row in &file.event {
            match compile::event(pack, stem, row) {
                Ok(rule) => self.events.entry(rule.topic0).or_default().push(rule),
                Err(what) => at(&row.signature, what),
            }
        }
        for row in &file.call {
            match compile::call(pack, stem, row) {
                Ok(rule) => self.calls.entry(rule.selector).or_default().push(rule),
                Err(what) => at(&row.signature, what),
            }
        }
        for row in &file.nft {
            match compile::nft(row) {
                Ok(rule) => nfts.push((&row.on, Arc::new(rule))),
                Err(what) => at(&row.moved, what),
            }
        }
        for row in &file.supply {
            match compile::supply(row) {
                Ok(rule) => supplies.push((&row.on, Arc::new(rule))),
                Err(what) => at(&row.minted, what),
            }
        }
        for row in &file.accrual {
            match compile::accrual(pack, stem, row) {
                Ok(rule) => self.accruals.entry(rule.event.topic0).or_default().push(rule),
                Err(what) => at(&row.signature, what),
            }
        }
        for row in &file.rebase {
            match compile::rebase(pack, stem, row, &file) {
                Ok(rule) => self.rebases.entry(rule.event.topic0).or_default().push(rule),
                Err(what) => at(&row.signature, what),
            }
        }
        for row in &file.actor {
            match compile::actor(pack, row) {
                Ok(rule) => self.actors.entry(rule.topic0).or_default().push(rule),
                Err(what) => at(&row.signature, what),
            }
        }
        for row in &file.instruction {
            match solana::instruction(pack, stem, row) {
                Ok(rule) => {
                    let role: Arc<str> = row.on.get_ref().as_str().into();
                    self.solana.instructions.entry((pack, role)).or_default().push(Arc::new(rule));
                }
                Err(what) => at(&row.on, what),
            }
        }
        let mut transfers: BTreeMap<String, Vec<TransferRule>> = BTreeMap::new();
        for row in &file.transfer {
            match compile::category(&row.means) {
                Ok(means) => {
                    let id = format!("{stem}/transfer").into();
                    let until = row.until.as_ref().map(|day| (day, day_start(day.get_ref())));
                    if let Some((day, None)) = until {
                        at(day, NOT_A_DAY.to_owned());
                    }
                    let until = until.and_then(|(_, seconds)| seconds);
                    let (way, native, perhaps) = (row.way, row.native, row.perhaps);
                    let rule = TransferRule { id, way, means, native, until, perhaps };
                    transfers.entry(row.with.get_ref().clone()).or_default().push(rule);
                }
                Err(what) => at(&row.with, what),
            }
        }
        for row in &file.case {
            match (&row.reads, row.silent, row.review) {
                (Some(category), false, _) => {
                    if let Err(what) = compile::category(category) {
                        at(&row.about, what);
                    }
                }
                (None, true, false) | (None, false, true) => {}
                _ => at(&row.about, "a case either `reads` as a category, is `silent` or asks for `review`".to_owned()),
            }
        }
        for row in &file.recorded {
            if let Err(what) = row.parse() {
                at(&row.reads, what);
            }
        }
        self.transfers.push(transfers);
        self.faults.extend(faults);
        self.contracts(&source, pack, &file);
        for (role, rule) in nfts {
            let insert = |chain: &mut ChainRules, address| chain.nfts.insert(address, Arc::clone(&rule)).is_some();
            self.logged_otherwise(&source, &file, role, insert);
        }
        for (role, rule) in supplies {
            let insert = |chain: &mut ChainRules, address| chain.supplies.insert(address, Arc::clone(&rule)).is_some();
            self.logged_otherwise(&source, &file, role, insert);
        }
        self.factories(&source, pack, &file);
        self.created(&source, pack, &file);
        self.proofs(&source, pack, &file);
        self.faults.extend(roles(&source, &file));
        let sources: BTreeSet<&String> = file.links.iter().collect();
        let has_addresses = !(file.contracts.is_empty() && file.factory.is_empty() && file.created.is_empty());
        let (needed, what) = if file.custodian {
            (CUSTODIAN_SOURCES_MIN, "wallets need `links` to a source that names them")
        } else {
            (SOURCES_MIN, "addresses need `links` to two independent sources that name them")
        };
        if sources.len() < needed && has_addresses {
            self.faults.push(source.fault(None, what.to_owned()));
        }
        self.packs.push(Pack { id: stem.to_owned(), name: file.name.as_str().into(), lines: source.lines, file });
    }

    fn contracts(&mut self, source: &PackSource<'_>, pack: usize, file: &PackFile) {
        for (role, chains) in &file.contracts {
            let is_asked = || file.proof.iter().filter_map(ProofRow::by).any(|by| by.get_ref() == role);
            if self.extent.lists == Lists::LeftOut && !file.standard && !is_asked() {
                continue;
            }
            let is_quiet = file.quiet.contains(role);
            let is_account = is_custodial(file, role);
            let holder = Holder { pack, role: role.as_str().into(), is_quiet, standing: Standing::Listed };
            let holders: Arc<[Holder]> = [holder.clone()].into();
            for (slug, addresses) in chains {
                for text in addresses {
                    if slug == SOLANA {
                        match solana::key(text.get_ref()) {
                            Ok(key) => self.solana.accounts.entry(key).or_default().push(holder.clone()),
                            Err(what) => {
                                self.faults.push(source.fault(Some(text.span()), format!("contracts.{role}: {what}")));
                            }
                        }
                        continue;
                    }
                    match source.address(text.get_ref()) {
                        Ok(address) => {
                            let chain = self.chains.entry(slug.clone()).or_default();
                            let directory = if is_account { &mut chain.accounts } else { &mut chain.contracts };
                            directory.add(address, &holders);
                        }
                        Err(what) => {
                            self.faults
                                .push(source.fault(Some(text.span()), format!("contracts.{role}.{slug}: {what}")));
                        }
                    }
                }
            }
        }
    }

    /// Contracts whose logs are not as the standards ask. `insert` tells whether one was there before; addresses that do not parse were found before.
    fn logged_otherwise(
        &mut self,
        source: &PackSource<'_>,
        file: &PackFile,
        role: &Spanned<String>,
        insert: impl Fn(&mut ChainRules, Address) -> bool,
    ) {
        let chains = file.contracts.get(role.get_ref()).into_iter().flatten();
        for (slug, addresses) in chains.filter(|(slug, _)| *slug != SOLANA) {
            let chain = self.chains.entry(slug.clone()).or_default();
            for address in addresses.iter().filter_map(|text| source.address(text.get_ref()).ok()) {
                if insert(chain, address) {
                    let what = format!("another row says how {address} logs its tokens");
                    self.faults.push(source.fault(Some(role.span()), what));
                }
            }
        }
    }

    fn factories(&mut self, source: &PackSource<'_>, pack: usize, file: &PackFile) {
        for row in &file.factory {
            let hash = &row.init_code_hash;
            let Ok(init_code_hash) = hash.get_ref().parse::<B256>() else {
                self.faults.push(source.fault(Some(hash.span()), format!("`{}` is no init code hash", hash.get_ref())));
                continue;
            };
            for (slug, deployers) in &row.at {
                for text in deployers {
                    match source.address(text.get_ref()) {
                        Ok(deployer) => self.chains.entry(slug.clone()).or_default().factories.push(Factory {
                            pack,
                            derive: row.derive,
                            deployer,
                            init_code_hash,
                            fees: row.fees.clone(),
                            often: row.often,
                        }),
                        Err(what) => {
                            self.faults.push(source.fault(Some(text.span()), format!("factory.{slug}: {what}")))
                        }
                    }
                }
            }
        }
    }

    /// Where a pack also lists what a factory made, the list says which role it has.
    fn created(&mut self, source: &PackSource<'_>, pack: usize, file: &PackFile) {
        for row in &file.created {
            let count = *row.count.get_ref();
            if !(1..=CREATED_MAX).contains(&count) {
                let what = format!("`count` is {count}, not 1 to {CREATED_MAX}");
                self.faults.push(source.fault(Some(row.count.span()), what));
                continue;
            }
            let role: Arc<str> = row.role.get_ref().as_str().into();
            let is_quiet = file.quiet.contains(row.role.get_ref());
            let standing = if row.governed { Standing::Listed } else { Standing::Open };
            let holder = Holder { pack, role: Arc::clone(&role), is_quiet, standing };
            let holders: Arc<[Holder]> = [holder.clone()].into();
            for (slug, text) in row.at.iter().flat_map(|(slug, all)| all.iter().map(move |text| (slug, text))) {
                let follows = slug != EVERY_CHAIN && !OTHER_CREATE.contains(&slug.as_str());
                let created = source.address(text.get_ref()).and_then(|factory| {
                    if follows {
                        compile::created(row, slug, factory)
                    } else {
                        Err("addresses there do not follow from a count".to_owned())
                    }
                });
                let created = match created {
                    Ok(created) => created,
                    Err(what) => {
                        self.faults.push(source.fault(Some(text.span()), format!("created.{slug}: {what}")));
                        continue;
                    }
                };
                let chain = self.chains.entry(slug.clone()).or_default();
                if self.are_tested {
                    chain.contracts.add_created(created, holder.clone());
                    continue;
                }
                for made in created.addresses() {
                    let known = chain.contracts.own().get(&made);
                    let listed = known.into_iter().flat_map(|holders| &**holders).find(|holder| holder.pack == pack);
                    if let Some(listed) = listed {
                        if row.governed && listed.role == role && listed.standing == Standing::Listed {
                            let what = format!("{made} on {slug} follows from its factory: no list needs to repeat it");
                            self.faults.push(source.fault(Some(row.role.span()), what));
                        }
                    } else {
                        chain.contracts.add(made, &holders);
                    }
                }
            }
        }
    }

    /// After this pack's events, calls and contracts.
    fn proofs(&mut self, source: &PackSource<'_>, pack: usize, file: &PackFile) {
        for row in &file.proof {
            let (proof, mut topics) = match compile::proof(row) {
                Ok(compiled) => compiled,
                Err(what) => {
                    let at = row.call.as_ref().unwrap_or(&row.of);
                    self.faults.push(source.fault(Some(at.span()), format!("`{}`: {what}", at.get_ref())));
                    continue;
                }
            };
            let of = row.of.get_ref();
            let is_here =
                |at: usize, place: &RulePlace| at == pack && matches!(place, RulePlace::Role(role) if **role == **of);
            let events = self.events.values().flatten().filter(|rule| is_here(rule.pack, &rule.place));
            topics.extend(events.map(|rule| rule.topic0));
            let calls = self.calls.values().flatten().filter(|rule| is_here(rule.pack, &rule.place));
            let selectors: Vec<Selector> = calls.map(|rule| rule.selector).collect();
            let standing = match &proof {
                _ if row.governed => Standing::Listed,
                Proof::Answer { .. } => Standing::Open,
                Proof::Code { .. } => Standing::Copy,
            };
            let proves = Holder { pack, role: of.as_str().into(), is_quiet: file.quiet.contains(of), standing };
            let by = row.by().map_or("", |by| by.get_ref().as_str());
            let listed = file.contracts.get(by).into_iter().flatten().filter(|(slug, _)| *slug != SOLANA);
            for (slug, text) in listed.flat_map(|(slug, all)| all.iter().map(move |text| (slug, text))) {
                // An address that does not parse is a fault already.
                let Ok(by_contract) = source.address(text.get_ref()) else { continue };
                self.chains.entry(slug.clone()).or_default().proofs.push(ProofRule {
                    id: proof.evidence(source.stem, by),
                    proves: proves.clone(),
                    by: by_contract,
                    proof: proof.clone(),
                    topics: topics.clone(),
                    selectors: selectors.clone(),
                });
            }
        }
    }

    fn tokens(&mut self, source: &PackSource<'_>, slug: &str, file: TokenFile) {
        for pair in &file.pair {
            let read = |text: &Spanned<String>| {
                let fault = |what| source.fault(Some(text.span()), format!("{}: {what}", pair.name));
                source.address(text.get_ref()).map_err(fault)
            };
            let chain = self.chains.entry(pair.chain.clone()).or_default();
            for text in &pair.also {
                match (read(&pair.token), read(text)) {
                    (Ok(token), Ok(other)) if token != other => {
                        chain.same.insert(other, token);
                    }
                    (Ok(_), Ok(_)) => {
                        let what = format!("{}: a token is no pair with itself", pair.name);
                        self.faults.push(source.fault(Some(text.span()), what));
                    }
                    (Err(fault), _) | (_, Err(fault)) => self.faults.push(fault),
                }
            }
        }
        for (symbol, addresses) in file.tokens {
            for text in addresses {
                if slug == SOLANA {
                    match solana::key(text.get_ref()) {
                        Ok(key) => {
                            self.solana.canonical_symbols.insert(fold_symbol(&symbol).into_owned());
                            self.solana.canonical.insert(key);
                        }
                        Err(what) => self.faults.push(source.fault(Some(text.span()), format!("{symbol}: {what}"))),
                    }
                    continue;
                }
                match source.address(text.get_ref()) {
                    Ok(address) => {
                        let chain = self.chains.entry(slug.to_owned()).or_default();
                        chain.canonical_symbols.insert(fold_symbol(&symbol).into_owned());
                        chain.canonical.insert(address);
                        self.families.insert(address, &symbol);
                    }
                    Err(what) => self.faults.push(source.fault(Some(text.span()), format!("{symbol}: {what}"))),
                }
            }
        }
    }
}

/// Whether nothing is said of the role but that an exchange keeps its customers' coins there.
fn is_custodial(file: &PackFile, role: &String) -> bool {
    let is_custody = |row: &TransferRow| {
        [Category::CexDeposit, Category::CexWithdrawal].iter().any(|category| category.name() == row.means)
    };
    let mut rows = file.transfer.iter().filter(|row| row.with.get_ref() == role).peekable();
    let events = file.event.iter().map(|row| &row.on);
    let calls = file.call.iter().map(|row| &row.on);
    let actors = file.actor.iter().map(|row| &row.on);
    let asked = file.proof.iter().flat_map(|row| std::iter::once(&row.of).chain(row.by())).map(Spanned::get_ref);
    rows.peek().is_some()
        && rows.all(is_custody)
        && !events.chain(calls).chain(actors).chain(asked).any(|on| on == role)
}

/// What a custodian leaves unsaid.
fn as_custodian(source: &PackSource<'_>, file: &mut PackFile) -> Option<Fault> {
    let has_rules = !(file.transfer.is_empty() && file.event.is_empty() && file.call.is_empty());
    if has_rules || !file.about.is_empty() {
        let what = "a custodian has nothing but its name, links and wallets: else it is a pack like others";
        return Some(source.fault(None, what.to_owned()));
    }
    CUSTODIAN_ABOUT.clone_into(&mut file.about);
    let both = [(TransferDirection::In, Category::CexWithdrawal), (TransferDirection::Out, Category::CexDeposit)];
    file.transfer = file
        .contracts
        .iter()
        .flat_map(|(role, chains)| {
            let span = chains.values().flatten().next().map(Spanned::span).unwrap_or_default();
            both.map(|(way, means)| TransferRow {
                until: None,
                with: Spanned::new(span.clone(), role.clone()),
                way,
                means: means.name().to_owned(),
                native: false,
                perhaps: None,
            })
        })
        .collect();
    None
}

/// Where among the embedded packs this one is, word for word.
fn embedded_at(stem: &str, text: &str) -> Option<usize> {
    let at = embedded::PROTOCOLS.binary_search_by_key(&stem, |(stem, _)| stem).ok()?;
    embedded::PROTOCOLS.get(at).filter(|(_, own)| *own == text).map(|_| at)
}

/// Names are part of it, since `evidence.rule` shows them; their lengths keep two sets of files apart whose names and digests join to the same bytes.
/// The build has hashed the embedded packs: that took a quarter of what loading them does.
fn digest_file(digest: &mut Sha256, stem: &str, content: [u8; 32]) {
    digest.update(u64::try_from(stem.len()).unwrap_or(u64::MAX).to_be_bytes());
    digest.update(stem);
    digest.update(content);
}

/// Rules name roles that exist, and every role is used: by a rule, or to vouch for its contracts.
fn roles(source: &PackSource<'_>, file: &PackFile) -> Vec<Fault> {
    let mut faults = Vec::new();
    let events = file.event.iter().map(|row| (&row.on, &row.signature));
    let calls = file.call.iter().map(|row| (&row.on, &row.signature));
    let actors = file.actor.iter().map(|row| (&row.on, &row.signature));
    let transfers = file.transfer.iter().map(|row| (row.with.get_ref(), &row.with));
    let held = file.event.iter().flat_map(|row| row.holds.values().map(|role| (role, &row.signature)));
    let instructions = file.instruction.iter().map(|row| (row.on.get_ref(), &row.on));
    let nfts = file.nft.iter().map(|row| (row.on.get_ref(), &row.on));
    let supplies = file.supply.iter().map(|row| (row.on.get_ref(), &row.on));
    let rebases = file.rebase.iter().flat_map(|row| {
        std::iter::once((row.role.get_ref(), &row.role)).chain(row.by.iter().map(|by| (by, &row.role)))
    });
    let asked = file.proof.iter().filter_map(ProofRow::by).map(|by| (by.get_ref(), by));
    let made: BTreeSet<&String> = file.created.iter().map(|row| row.role.get_ref()).collect();
    let has_contracts = |role: &String| {
        let is_proved = || file.proof.iter().any(|row| row.of.get_ref() == role);
        file.contracts.contains_key(role) || made.contains(role) || is_proved()
    };
    let mut used = BTreeSet::new();
    for (role, at) in
        instructions.chain(nfts).chain(supplies).chain(held).chain(events).chain(calls).chain(actors).chain(transfers)
    {
        let is_class = role == "anywhere" || role.starts_with('@');
        if !is_class && !has_contracts(role) {
            let what = format!("a rule stands on role `{role}`, which has no contracts");
            faults.push(source.fault(Some(at.span()), what));
        }
        used.insert(role.as_str());
    }
    for (role, at) in rebases.filter(|(role, _)| !has_contracts(role)) {
        let what = format!("balances of role `{role}` change, which has no contracts");
        faults.push(source.fault(Some(at.span()), what));
    }
    for (role, at) in asked.filter(|(role, _)| !file.contracts.contains_key(*role)) {
        let what = format!("role `{role}` proves others, and lists no contracts");
        faults.push(source.fault(Some(at.span()), what));
    }
    for role in &file.vouches {
        if !has_contracts(role) {
            faults.push(source.fault(None, format!("`vouches` names role `{role}`, which has no contracts")));
        }
        if !used.insert(role.as_str()) {
            faults.push(source.fault(None, format!("`vouches` names role `{role}`, on which a rule stands")));
        }
    }
    for role in file.quiet.iter().filter(|role| !has_contracts(role)) {
        faults.push(source.fault(None, format!("`quiet` names role `{role}`, which has no contracts")));
    }
    let listed = file.contracts.iter().map(|(role, chains)| (role, chains.values().flatten().next()));
    let created = file.created.iter().map(|row| (row.role.get_ref(), Some(&row.role)));
    let proved = file.proof.iter().map(|row| (row.of.get_ref(), Some(&row.of)));
    used.extend(file.proof.iter().filter_map(ProofRow::by).map(|by| by.get_ref().as_str()));
    for (role, first) in listed.chain(created).chain(proved).filter(|(role, _)| !used.contains(role.as_str())) {
        let first = first.map(Spanned::span);
        let what = format!("no rule uses role `{role}`; where its contracts only lend their word, `vouches` says so");
        faults.push(source.fault(first, what));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault_of(pack: &str) -> String {
        let packs: Vec<(&str, &str)> = Rules::embedded_packs().chain([("mine", pack)]).collect();
        let faults = Rules::of(&packs).expect_err("a broken pack is refused");
        faults.into_iter().map(|fault| fault.to_string()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_embedded_rules_are_sound() {
        let rules = Rules::embedded().expect("embedded packs load");
        assert!(rules.packs.len() >= 6);
    }

    #[test]
    fn an_embedded_pack_is_found_by_its_name_and_has_the_digest_of_its_text() {
        for (at, (stem, text)) in Rules::embedded_packs().enumerate() {
            assert_eq!(embedded_at(stem, text), Some(at), "{stem}");
            assert_eq!(embedded::PROTOCOL_DIGESTS[at], <[u8; 32]>::from(Sha256::digest(text)), "{stem}");
            assert_eq!(
                embedded_at(stem, &text.replacen("name", "Name", 1)),
                None,
                "{stem}: another text is another pack"
            );
        }
        assert_eq!(embedded::PROTOCOL_DIGESTS.len(), embedded::PROTOCOLS.len());
    }

    #[test]
    fn what_follows_from_a_factory_is_known_whenever_it_is_computed() {
        let (later, before) = (Rules::embedded().unwrap(), Rules::embedded_with_checks().unwrap());
        let mut count = 0;
        for (slug, chain) in &before.chains {
            for (address, holders) in chain.contracts.own() {
                let known = |holders: &[Holder]| {
                    let known = holders.iter().map(|holder| (holder.pack, Arc::clone(&holder.role), holder.standing));
                    known.collect::<Vec<_>>()
                };
                assert_eq!(known(later.on(slug).holders(*address)), known(holders), "{address} on {slug}");
                count += usize::from(later.on(slug).contracts.own().get(address).is_none());
            }
            let address = Address::repeat_byte(0x11);
            assert!(later.on(slug).holders(address).is_empty());
        }
        assert!(count > 60_000, "{count} were computed only when they were asked for");
    }

    #[test]
    fn a_broken_pack_is_refused_with_file_and_reason() {
        let head = "name = \"Mine\"\nabout = \"x\"\nlinks = [\"https://example.org/a\", \"https://example.org/b\"]\n";
        let event = |means: &str, signature: &str, who: &str| {
            format!(
                "{head}[[event]]\non = \"anywhere\"\nsignature = \"{signature}\"\nmeans = \"{means}\"\nwho = [{who}]\n"
            )
        };
        let pool = |address: &str| format!("{head}[contracts.pool]\nethereum = [\"{address}\"]\n");
        let program = |address: &str| {
            let rule = "[[instruction]]\non = \"amm\"\ndata = \"09\"\nmeans = \"swap\"\n";
            format!("{head}[contracts.amm]\nsolana = [\"{address}\"]\n{rule}")
        };
        let supply = "[[event]]\non = \"pool\"\nmeans = \"collateral_supply\"\nwho = [\"user\"]\nsignature = \"Supply(\
                      address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, \
                      uint16 indexed referralCode)\"\n";
        let cases = [
            ("name = 7", "mine.toml"),
            (&event("sale", "A(address a)", "\"a\""), "no category is called `sale`"),
            (&event("swap", "A(address", "\"a\""), "does not parse"),
            (&event("swap", "A(address a)", "\"b\""), "no parameter `b`"),
            (&event("swap", "A(address a)", ""), "`who` names nobody"),
            (
                &format!("{head}[[case]]\nabout = \"x\"\nchain = \"ethereum\"\n"),
                "either `reads` as a category, is `silent`",
            ),
            (&pool("0x87870bca3f3fd6335c3f4ce8392d69350b4fa4e2"), "not a checksummed address"),
            (&pool("0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2").replace("/b\"", "/a\""), "two independent sources"),
            (&pool("0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2"), "no rule uses role `pool`"),
            (&format!("{}{supply}", pool("0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2")), "aave-v3 claims event"),
            (&program("675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8"), "raydium claims the instructions"),
            (&program("675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9"), "is no Solana address"),
            (&program("0OIl"), "is no Solana address"),
        ];
        for (pack, expected) in cases {
            let said = fault_of(pack);
            assert!(said.contains("mine.toml:") && said.contains(expected), "{said}");
        }
        assert!(fault_of(&event("sale", "A(address a)", "\"a\"")).starts_with("mine.toml:6: "), "the line is told");
    }
}
