//! Which chains are known, by slug, alias or decimal chain id.

use std::sync::Arc;

use engine::Chain;
use serde::Deserialize;

const EMBEDDED: &str = include_str!("../../../chains.toml");

#[derive(Debug, Clone)]
pub struct Registry {
    chains: Vec<Arc<Chain>>,
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
        let mut registry = Self { chains: Vec::new() };
        registry.add(EMBEDDED)?;
        Ok(registry)
    }

    /// Adds an operator's chains; one with a known slug replaces the row of that slug.
    pub fn add(&mut self, text: &str) -> Result<(), RegistryError> {
        let file: ChainFile = toml::from_str(text).map_err(|error| RegistryError(error.to_string()))?;
        for chain in file.chain {
            self.chains.retain(|known| known.slug != chain.slug);
            self.chains.push(Arc::new(chain));
        }
        self.check()
    }

    fn check(&self) -> Result<(), RegistryError> {
        let mut names: Vec<String> = Vec::new();
        for chain in &self.chains {
            names.push(chain.slug.clone());
            names.extend(chain.aliases.iter().cloned());
            names.extend(chain.chain_id.map(|id| id.to_string()));
        }
        names.sort();
        match names.windows(2).find(|pair| pair.first() == pair.last()).and_then(|pair| pair.first()) {
            Some(name) => Err(RegistryError(format!("two chains answer to `{name}`"))),
            None => Ok(()),
        }
    }

    /// In the order of the file, which is the order of preference.
    pub fn chains(&self) -> &[Arc<Chain>] {
        &self.chains
    }

    pub fn find(&self, name: &str) -> Option<&Arc<Chain>> {
        self.chains.iter().find(|chain| {
            chain.slug == name
                || chain.aliases.iter().any(|alias| alias == name)
                || chain.chain_id.is_some_and(|id| id.to_string() == name)
        })
    }
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
