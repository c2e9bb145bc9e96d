//! Which chains are known, by slug, alias or decimal chain id.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::Chain;
use serde::Deserialize;

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
    let line = error.span().and_then(|span| text.get(..span.start)).map_or(0, |head| head.lines().count());
    let reason = error.message();
    let told = match (reason.find('"'), reason.rfind('"')) {
        (Some(from), Some(to)) if from < to => {
            let (before, after) = (reason.get(..=from), reason.get(to..));
            format!("{}…{}", before.unwrap_or_default(), after.unwrap_or_default())
        }
        _ => reason.to_owned(),
    };
    format!("line {}: {}", line.max(1), told.replace(char::is_control, " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Family;

    #[test]
    fn the_embedded_registry_is_sound() {
        let registry = Registry::embedded().expect("chains.toml loads");
        let evm = registry.chains().iter().filter(|chain| chain.family == Family::Evm).count();
        assert!(evm >= 35, "{evm} EVM chains");
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
