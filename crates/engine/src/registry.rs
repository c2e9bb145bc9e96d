//! Which chains are known, by slug, alias or decimal chain id.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use crate::chain::Chain;

const EMBEDDED: &str = include_str!("../../../chains.toml");

#[derive(Debug, Clone)]
pub struct Registry {
    chains: Vec<Arc<Chain>>,
    /// Slugs, aliases and decimal chain ids.
    names: BTreeMap<String, Arc<Chain>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChainFile {
    chain: Vec<Chain>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RegistryError(String);

impl Registry {
    pub fn embedded() -> Result<Self, RegistryError> {
        let mut registry = Self { chains: Vec::new(), names: BTreeMap::new() };
        registry.add(EMBEDDED)?;
        Ok(registry)
    }

    /// Adds an operator's chains; one with a known slug replaces the row of that slug.
    pub fn add(&mut self, text: &str) -> Result<(), RegistryError> {
        let file: ChainFile = toml::from_str(text).map_err(|error| RegistryError(toml_fault(text, &error)))?;
        for chain in file.chain {
            self.chains.retain(|known| known.slug != chain.slug);
            self.chains.push(Arc::new(chain));
        }
        self.index()
    }

    fn index(&mut self) -> Result<(), RegistryError> {
        self.names.clear();
        for chain in &self.chains {
            let id = chain.chain_id.map(|id| id.to_string());
            for name in [&chain.slug].into_iter().chain(&chain.aliases).chain(&id) {
                if self.names.insert(name.clone(), Arc::clone(chain)).is_some() {
                    return Err(RegistryError(format!("two chains answer to `{name}`")));
                }
            }
        }
        Ok(())
    }

    /// In the order of the file, which is the order of preference.
    pub fn chains(&self) -> &[Arc<Chain>] {
        &self.chains
    }

    pub fn find(&self, name: &str) -> Option<&Arc<Chain>> {
        self.names.get(name)
    }
}

/// What is wrong with a file, by line and reason. The parser also quotes the line, and its reason may quote a value: either may hold the
/// address of an upstream, or another secret.
pub fn toml_fault(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().and_then(|span| text.get(..span.start)).map_or(0, |head| head.matches('\n').count());
    let told = without(error.message(), "\"", "\"", |_| false);
    let end = if told.contains("`, expected") { "`, expected" } else { "`" };
    let told = without(&told, "`", end, is_setting);
    format!("line {}: {}", line.saturating_add(1), told.replace(char::is_control, " "))
}

/// An unknown name in the place of a setting may be shown if it has the form of a setting: a secret in that place must not be.
fn is_setting(name: &str) -> bool {
    const SETTING_CHARS_MAX: usize = 24;
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    name.len() <= SETTING_CHARS_MAX && name.bytes().all(is_plain)
}

/// The reason without what it quotes, from the first mark to the last, unless that may be shown.
fn without(reason: &str, from: &str, to: &str, may_be_shown: fn(&str) -> bool) -> String {
    let quoted = reason.split_once(from).and_then(|(before, rest)| Some((before, rest.rsplit_once(to)?)));
    match quoted {
        Some((before, (quoted, after))) if !may_be_shown(quoted) => format!("{before}{from}…{to}{after}"),
        _ => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Family;

    #[test]
    fn a_fault_never_shows_what_may_be_a_secret() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct SettingsFile {
            #[allow(dead_code, reason = "only its name counts")]
            listen: Option<u16>,
        }
        let fault = |text: &str| toml_fault(text, &toml::from_str::<SettingsFile>(text).expect_err("a fault"));
        assert_eq!(fault("lisen = 1"), "line 1: unknown field `lisen`, expected `listen`");
        assert_eq!(fault("\n\"https://a/key`, expected `x\" = 1"), "line 2: unknown field `…`, expected `listen`");
        assert_eq!(fault("listen = \"https://a/key\""), "line 1: invalid type: string \"…\", expected u16");
    }

    #[test]
    fn the_embedded_registry_is_sound() {
        let registry = Registry::embedded().expect("chains.toml loads");
        let evm = registry.chains().iter().filter(|chain| chain.family == Family::Evm).count();
        assert!(evm >= 85, "{evm} EVM chains");
        for chain in registry.chains().iter().filter(|chain| chain.documented_only) {
            assert!(
                chain.endpoints.is_empty(),
                "{}: nobody is asked about a hash by default whom nobody has read",
                chain.slug
            );
        }
        for name in ["ethereum", "eth", "1"] {
            assert_eq!(registry.find(name).map(|chain| chain.slug.as_str()), Some("ethereum"), "{name}");
        }
        assert!(registry.find("solana").is_some() && registry.find("no such chain").is_none());
    }

    #[test]
    fn an_operators_chain_may_not_take_a_known_name() {
        let mut registry = Registry::embedded().expect("chains.toml loads");
        let mine = "[[chain]]\nslug = \"mine\"\nname = \"Mine\"\nfamily = \"evm\"\nchain_id = 1\nnative_symbol = \"M\"\nnative_name = \"M\"\nnative_decimals = 18\n";
        assert_eq!(registry.add(mine), Err(RegistryError("two chains answer to `1`".to_owned())));
    }
}
