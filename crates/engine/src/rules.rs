//! Protocol knowledge, compiled from data: packs under `protocols/`, canonical tokens under `tokens/`. Indexed by topic,
//! selector and contract, so that a pack more costs no time per transaction.

pub mod compile;
pub mod file;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use alloy_primitives::{Address, B256, FixedBytes};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use compile::{ActorRule, CallRule, EventRule, Place};
use file::{Derive, EVERY_CHAIN, PackFile, Way};

use crate::category::Category;

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
}

#[derive(Debug)]
pub struct Pack {
    /// The file's name without its ending.
    pub id: String,
    pub name: Arc<str>,
    pub file: PackFile,
}

#[derive(Debug, Clone)]
pub struct Factory {
    pub pack: usize,
    pub derive: Derive,
    pub deployer: Address,
    pub init_code_hash: B256,
    pub fees: Vec<u32>,
}

#[derive(Debug, Clone)]
pub struct TransferRule {
    pub id: Arc<str>,
    pub way: Way,
    pub means: Category,
}

/// What the rules know of one chain.
#[derive(Debug, Default)]
pub struct ChainRules {
    /// Contract to the packs and roles that vouch for it.
    contracts: BTreeMap<Address, Vec<(usize, String)>>,
    factories: Vec<Factory>,
    fees: Vec<u32>,
    /// Folded symbols of canonical tokens, and their contracts. A canonical token never collides, even once renamed.
    canonical_symbols: BTreeSet<String>,
    canonical: BTreeSet<Address>,
}

#[derive(Debug)]
pub struct Rules {
    pub packs: Vec<Pack>,
    events: BTreeMap<B256, Vec<EventRule>>,
    calls: BTreeMap<FixedBytes<4>, Vec<CallRule>>,
    transfers: BTreeMap<(usize, String), Vec<TransferRule>>,
    actors: BTreeMap<B256, Vec<ActorRule>>,
    chains: BTreeMap<String, ChainRules>,
    every: ChainRules,
    /// Engine version and digest of every rule, as `engine` on a result.
    pub engine: String,
}

/// One thing wrong with a pack, said so that an analyst can mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {what}")]
pub struct Fault {
    pub file: String,
    pub what: String,
}

/// Hex digits of the digest that `engine` carries: enough to tell two sets of rules apart.
const DIGEST_BYTES: usize = 6;

impl ChainRules {
    pub fn holds_role(&self, contract: Address, pack: usize, role: &str) -> bool {
        self.vouchers(contract).iter().any(|(by, as_role)| *by == pack && as_role == role)
    }

    /// Packs and roles that vouch for the contract.
    pub fn vouchers(&self, contract: Address) -> &[(usize, String)] {
        self.contracts.get(&contract).map_or(&[], Vec::as_slice)
    }

    /// Fee tiers of any factory here, each once.
    pub fn fees(&self) -> &[u32] {
        &self.fees
    }

    pub fn factories(&self, derive: Derive) -> impl Iterator<Item = &Factory> {
        self.factories.iter().filter(move |factory| factory.derive == derive)
    }

    /// Whether the symbol belongs to another contract.
    pub fn symbol_collides(&self, symbol: &str, contract: Address) -> bool {
        !self.canonical_symbols.is_empty()
            && !self.canonical.contains(&contract)
            && self.canonical_symbols.contains(&fold_symbol(symbol))
    }

    pub fn is_canonical(&self, contract: Address) -> bool {
        self.canonical.contains(&contract)
    }

    /// What stands on every chain stands on this one too.
    fn include(&mut self, every: &Self) {
        for (contract, holders) in &every.contracts {
            self.contracts.entry(*contract).or_default().extend(holders.iter().cloned());
        }
        self.factories.extend(every.factories.iter().cloned());
    }
}

impl Rules {
    pub fn embedded() -> Result<Self, Vec<Fault>> {
        Self::with_more(&[])
    }

    /// The embedded packs and an operator's own; one fault refuses them all, so nothing is half loaded.
    pub fn with_more(more: &[(String, String)]) -> Result<Self, Vec<Fault>> {
        let own = more.iter().map(|(stem, text)| (stem.as_str(), text.as_str()));
        let packs: Vec<(&str, &str)> = embedded::PROTOCOLS.iter().copied().chain(own).collect();
        Loader::default().load(&packs, embedded::TOKENS)
    }

    pub fn events(&self, topic0: &B256) -> &[EventRule] {
        self.events.get(topic0).map_or(&[], Vec::as_slice)
    }

    pub fn actors(&self, topic0: &B256) -> &[ActorRule] {
        self.actors.get(topic0).map_or(&[], Vec::as_slice)
    }

    pub fn calls(&self, selector: &FixedBytes<4>) -> &[CallRule] {
        self.calls.get(selector).map_or(&[], Vec::as_slice)
    }

    pub fn transfers(&self, pack: usize, role: &str) -> &[TransferRule] {
        self.transfers.get(&(pack, role.to_owned())).map_or(&[], Vec::as_slice)
    }

    pub fn pack(&self, index: usize) -> Option<&Pack> {
        self.packs.get(index)
    }

    /// The name to print for a pack; a standard has none.
    pub fn protocol(&self, index: usize) -> Option<Arc<str>> {
        self.pack(index).filter(|pack| !pack.file.standard).map(|pack| Arc::clone(&pack.name))
    }

    /// What is known of one chain; of a chain that no pack names, what stands on every chain.
    pub fn on(&self, chain: &str) -> &ChainRules {
        self.chains.get(chain).unwrap_or(&self.every)
    }

    /// Whether token text lures its reader somewhere.
    pub fn lures(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.packs.iter().flat_map(|pack| &pack.file.lures).any(|lure| text.contains(lure.as_str()))
    }

    /// Every event that some rule listens to.
    pub fn topics(&self) -> impl Iterator<Item = B256> {
        self.events.keys().copied()
    }

    pub fn event_rules(&self) -> impl Iterator<Item = &EventRule> {
        self.events.values().flatten()
    }

    /// Every call that some rule knows.
    pub fn selectors(&self) -> impl Iterator<Item = [u8; 4]> {
        self.calls.keys().map(|selector| selector.0)
    }

    /// Packs, contracts, events and calls.
    pub fn counts(&self) -> (usize, usize, usize, usize) {
        let rows = |pack: &Pack| pack.file.contracts.values().flat_map(BTreeMap::values).map(Vec::len).sum::<usize>();
        let contracts = self.packs.iter().map(rows).sum();
        let events = self.events.values().map(Vec::len).sum();
        let calls = self.calls.values().map(Vec::len).sum();
        (self.packs.len(), contracts, events, calls)
    }
}

/// Look-alikes fold to what a reader would take them for: case, invisible characters and the commonest foreign letters.
pub fn fold_symbol(symbol: &str) -> String {
    let folded = symbol.chars().filter(|c| c.is_alphanumeric() || matches!(c, '.' | '+' | '-' | '/' | '$' | '₮'));
    folded
        .flat_map(char::to_uppercase)
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
        .collect()
}

#[derive(Default)]
struct Loader {
    packs: Vec<Pack>,
    events: BTreeMap<B256, Vec<EventRule>>,
    calls: BTreeMap<FixedBytes<4>, Vec<CallRule>>,
    transfers: BTreeMap<(usize, String), Vec<TransferRule>>,
    actors: BTreeMap<B256, Vec<ActorRule>>,
    chains: BTreeMap<String, ChainRules>,
    faults: Vec<Fault>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenFile {
    tokens: BTreeMap<String, Vec<String>>,
}

impl Loader {
    fn load(mut self, packs: &[(&str, &str)], tokens: &[(&str, &str)]) -> Result<Rules, Vec<Fault>> {
        let mut digest = Sha256::new();
        let mut seen = BTreeSet::new();
        for (stem, text) in packs {
            digest.update(text.as_bytes());
            if !seen.insert(*stem) {
                self.fault(stem, "another pack has the same file name".to_owned());
            }
            match toml::from_str::<PackFile>(text) {
                Ok(file) => self.pack(stem, file),
                Err(error) => self.fault(stem, error.to_string()),
            }
        }
        for (slug, text) in tokens {
            digest.update(text.as_bytes());
            match toml::from_str::<TokenFile>(text) {
                Ok(file) => self.tokens(slug, file),
                Err(error) => self.fault(slug, error.to_string()),
            }
        }
        self.contested();
        if !self.faults.is_empty() {
            return Err(self.faults);
        }
        let digest: String = digest.finalize().iter().take(DIGEST_BYTES).map(|byte| format!("{byte:02x}")).collect();
        let engine = format!("{}+{digest}", env!("CARGO_PKG_VERSION"));
        let Self { packs, events, calls, transfers, actors, mut chains, .. } = self;
        let every = chains.remove(EVERY_CHAIN).unwrap_or_default();
        for chain in chains.values_mut() {
            chain.include(&every);
            let fees: BTreeSet<u32> = chain.factories.iter().flat_map(|factory| &factory.fees).copied().collect();
            chain.fees = fees.into_iter().collect();
        }
        Ok(Rules { packs, events, calls, transfers, actors, chains, every, engine })
    }

    fn fault(&mut self, stem: &str, what: String) {
        self.faults.push(Fault { file: format!("{stem}.toml"), what });
    }

    fn pack(&mut self, stem: &str, file: PackFile) {
        let pack = self.packs.len();
        for row in &file.event {
            match compile::event(pack, stem, row) {
                Ok(rule) => self.events.entry(rule.topic0).or_default().push(rule),
                Err(what) => self.fault(stem, format!("event `{}`: {what}", row.signature)),
            }
        }
        for row in &file.call {
            match compile::call(pack, stem, row) {
                Ok(rule) => self.calls.entry(rule.selector).or_default().push(rule),
                Err(what) => self.fault(stem, format!("call `{}`: {what}", row.signature)),
            }
        }
        for row in &file.actor {
            match compile::actor(pack, row) {
                Ok(rule) => self.actors.entry(rule.topic0).or_default().push(rule),
                Err(what) => self.fault(stem, format!("actor `{}`: {what}", row.signature)),
            }
        }
        for row in &file.transfer {
            match compile::category(&row.means) {
                Ok(means) => {
                    let rule = TransferRule { id: format!("{stem}/transfer").into(), way: row.way, means };
                    self.transfers.entry((pack, row.with.clone())).or_default().push(rule);
                }
                Err(what) => self.fault(stem, format!("transfer with `{}`: {what}", row.with)),
            }
        }
        self.contracts(stem, pack, &file);
        self.factories(stem, pack, &file);
        if file.links.is_empty() && !(file.contracts.is_empty() && file.factory.is_empty()) {
            self.fault(stem, "addresses without `links` that tell where they were checked".to_owned());
        }
        self.packs.push(Pack { id: stem.to_owned(), name: file.name.as_str().into(), file });
    }

    fn contracts(&mut self, stem: &str, pack: usize, file: &PackFile) {
        for (role, chains) in &file.contracts {
            for (slug, addresses) in chains {
                for text in addresses {
                    match compile::address(text) {
                        Ok(address) => {
                            let chain = self.chains.entry(slug.clone()).or_default();
                            chain.contracts.entry(address).or_default().push((pack, role.clone()));
                        }
                        Err(what) => self.fault(stem, format!("contracts.{role}.{slug}: {what}")),
                    }
                }
            }
        }
        let roles = file.event.iter().map(|row| &row.on).chain(file.call.iter().map(|row| &row.on));
        let roles = roles.chain(file.transfer.iter().map(|row| &row.with)).chain(file.actor.iter().map(|row| &row.on));
        let unknown: Vec<String> = roles
            .filter(|on| *on != "anywhere" && !on.starts_with('@') && !file.contracts.contains_key(*on))
            .cloned()
            .collect();
        for role in unknown {
            self.fault(stem, format!("a rule stands on role `{role}`, which has no contracts"));
        }
    }

    fn factories(&mut self, stem: &str, pack: usize, file: &PackFile) {
        for row in &file.factory {
            let Ok(init_code_hash) = row.init_code_hash.parse::<B256>() else {
                self.fault(stem, format!("`{}` is no init code hash", row.init_code_hash));
                continue;
            };
            for (slug, deployers) in &row.at {
                for text in deployers {
                    match compile::address(text) {
                        Ok(deployer) => self.chains.entry(slug.clone()).or_default().factories.push(Factory {
                            pack,
                            derive: row.derive,
                            deployer,
                            init_code_hash,
                            fees: row.fees.clone(),
                        }),
                        Err(what) => self.fault(stem, format!("factory.{slug}: {what}")),
                    }
                }
            }
        }
    }

    fn tokens(&mut self, slug: &str, file: TokenFile) {
        for (symbol, addresses) in file.tokens {
            for text in addresses {
                match compile::address(&text) {
                    Ok(address) => {
                        let chain = self.chains.entry(slug.to_owned()).or_default();
                        chain.canonical_symbols.insert(fold_symbol(&symbol));
                        chain.canonical.insert(address);
                    }
                    Err(what) => self.fault(&format!("tokens/{slug}"), format!("{symbol}: {what}")),
                }
            }
        }
    }

    /// Two packs that claim the same event of the same contract would make the verdict depend on their order.
    fn contested(&mut self) {
        let mut found = Vec::new();
        for (slug, chain) in &self.chains {
            for (address, holders) in &chain.contracts {
                let packs: BTreeSet<usize> = holders.iter().map(|(pack, _)| *pack).collect();
                if packs.len() < 2 {
                    continue;
                }
                let claims = |rule: &&EventRule| {
                    let holds =
                        |(pack, role): &(usize, String)| *pack == rule.pack && rule.place == Place::Role(role.clone());
                    holders.iter().any(holds)
                };
                for (topic0, rules) in &self.events {
                    let claimants: BTreeSet<usize> = rules.iter().filter(claims).map(|rule| rule.pack).collect();
                    if claimants.len() > 1 {
                        let names: Vec<&str> =
                            claimants.iter().filter_map(|pack| self.packs.get(*pack)).map(|p| p.id.as_str()).collect();
                        found.push((names.join(" and "), format!("claim event {topic0} of {address} on {slug}")));
                    }
                }
            }
        }
        for (names, what) in found {
            self.fault(&names, what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault_of(pack: &str) -> String {
        let faults = Rules::with_more(&[("mine".to_owned(), pack.to_owned())]).expect_err("a broken pack is refused");
        faults.into_iter().map(|fault| fault.to_string()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_embedded_rules_are_sound() {
        let rules = Rules::embedded().expect("embedded packs load");
        assert!(rules.packs.len() >= 6);
    }

    #[test]
    fn a_broken_pack_is_refused_with_file_and_reason() {
        let head = "name = \"Mine\"\nabout = \"x\"\nlinks = [\"https://example.org\"]\n";
        let event = |means: &str, signature: &str, who: &str| {
            format!(
                "{head}[[event]]\non = \"anywhere\"\nsignature = \"{signature}\"\nmeans = \"{means}\"\nwho = [{who}]\n"
            )
        };
        let cases = [
            ("name = 7", "mine.toml"),
            (&event("sale", "A(address a)", "\"a\""), "no category is called `sale`"),
            (&event("swap", "A(address", "\"a\""), "does not parse"),
            (&event("swap", "A(address a)", "\"b\""), "no parameter `b`"),
            (&event("swap", "A(address a)", ""), "`who` names nobody"),
            (
                &format!("{head}[contracts.pool]\nethereum = [\"0x87870bca3f3fd6335c3f4ce8392d69350b4fa4e2\"]\n"),
                "not a checksummed address",
            ),
        ];
        for (pack, expected) in cases {
            let said = fault_of(pack);
            assert!(said.starts_with("mine.toml") && said.contains(expected), "{said}");
        }
    }

    #[test]
    fn look_alike_symbols_fold_together() {
        assert_eq!(fold_symbol("USDС"), fold_symbol("usdc"));
        assert_eq!(fold_symbol("U\u{200b}SDT"), fold_symbol("USD₮"));
        assert_ne!(fold_symbol("USDC"), fold_symbol("USDC.e"));
    }
}
