//! Everything that a verdict depends on beside the facts and the question, under one name: `engine` on every result.

use sha2::{Digest, Sha256};

use crate::chain::Chain;
use crate::rules::{Fault, Rules};
use crate::treatments::Treatments;

/// Bytes of the digest that `engine` carries: enough to tell two sets of rules apart.
const DIGEST_BYTES: usize = 6;

#[derive(Debug)]
pub struct Knowledge {
    pub rules: Rules,
    pub treatments: Treatments,
    /// Engine version and digest of the rules, of the treatments and of every chain's row, as `engine` on a result.
    pub engine: String,
}

impl Knowledge {
    /// The embedded packs and the house's own table of treatments.
    pub fn embedded() -> Result<Self, Vec<Fault>> {
        Ok(Self::new(Rules::embedded()?, Treatments::us()?, []))
    }

    pub fn new<'a>(rules: Rules, treatments: Treatments, chains: impl IntoIterator<Item = &'a Chain>) -> Self {
        let mut digest = Sha256::new();
        digest.update(rules.digest);
        digest.update(treatments.digest);
        for chain in chains {
            digest.update(fingerprint(chain));
        }
        let digest: String = digest.finalize().iter().take(DIGEST_BYTES).map(|byte| format!("{byte:02x}")).collect();
        Self { rules, treatments, engine: format!("{}+{digest}", env!("CARGO_PKG_VERSION")) }
    }
}

/// What a verdict can depend on in a chain's row. Names, aliases, explorer and endpoints are for people and for the shell.
fn fingerprint(chain: &Chain) -> [u8; 32] {
    let Chain {
        slug,
        name: _,
        family,
        chain_id,
        aliases: _,
        native_symbol,
        native_name,
        native_decimals,
        native_before,
        wrapped_native,
        multicall3: _,
        native_log,
        fee_collector,
        finality_depth,
        contracts_as,
        explorer: _,
        endpoints: _,
        known_endpoints: _,
        quirks,
        special: _,
        documented_only: _,
    } = chain;
    let coin = (native_symbol, native_name, native_decimals, native_before, wrapped_native);
    let rest = (native_log, fee_collector, finality_depth, contracts_as, quirks);
    Sha256::digest(format!("{:?}", (slug, family, chain_id, coin, rest))).into()
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Address;

    use super::*;
    use crate::cases;
    use crate::chain::{FormerCoin, Quirks};

    const PACK: &str = "name = \"Mine\"\nabout = \"x\"\n";

    fn engine(packs: &[(&str, &str)], chain: &Chain) -> String {
        let rules = Rules::of(packs).expect("the packs load");
        Knowledge::new(rules, Treatments::us().expect("treatments/us.toml loads"), [chain]).engine
    }

    #[test]
    fn whatever_a_verdict_depends_on_is_in_the_digest() {
        let chain = cases::chain("ethereum", Address::ZERO);
        let before = engine(&[("mine", PACK)], &chain);
        assert_eq!(before, engine(&[("mine", PACK)], &chain), "the same knowledge has the same name");
        let address = Address::repeat_byte(7);
        let former = FormerCoin { until: 7, symbol: "OLD".to_owned(), name: "Old".to_owned() };
        let changed = [
            Chain { wrapped_native: vec![address], ..chain.clone() },
            Chain { contracts_as: Some("base".to_owned()), ..chain.clone() },
            Chain { native_log: Some(address), ..chain.clone() },
            Chain { native_decimals: 6, ..chain.clone() },
            Chain { native_before: Some(former), ..chain.clone() },
            Chain { quirks: Quirks { fee_sinks: vec![address], ..Quirks::default() }, ..chain.clone() },
        ];
        for changed in &changed {
            assert_ne!(before, engine(&[("mine", PACK)], changed), "{changed:?}");
        }
        assert_ne!(before, engine(&[("yours", PACK)], &chain), "a pack's name is part of `evidence.rule`");
        assert_ne!(before, engine(&[("mine", "name = \"Mine\"\nabout = \"y\"\n")], &chain));
        let endpoints = Chain { endpoints: vec!["https://node.example".to_owned()], ..chain.clone() };
        assert_eq!(before, engine(&[("mine", PACK)], &endpoints), "who is asked changes no verdict");
    }
}
