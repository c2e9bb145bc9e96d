//! From configuration to a running application: rules, chains, upstreams, and the store.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use chains::evm::EvmChain;
use chains::solana::SolanaChain;
use chains::{Node, Recorder, Registry, Tape, Upstreams};
use engine::{Family, Rules};

use super::{App, Reader};
use crate::accounts::Accounts;
use crate::auth::Auth;
use crate::config::Config;
use crate::history::History;
use crate::limits::Limits;
use crate::store::{Clock, Database, Store};

/// The demo chains: real contracts on a real local node and real programs in a real runtime, recorded by the project itself.
const DEMO_CHAINS: &str = include_str!("../../../../demo/chain.toml");
const DEMO_TAPE: &str =
    concat!(include_str!("../../../../demo/evm.jsonl"), include_str!("../../../../demo/solana.jsonl"));
const DEMO_SLUGS: [&str; 2] = ["demo", "demo-solana"];

/// Whether the demo chains are served beside the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demo {
    On,
    Off,
}

pub(crate) async fn open(config: &Config, demo: Demo) -> anyhow::Result<App> {
    let reader = Arc::new(reader(config, demo, None)?);
    let store = store(config).await?;
    let limits = Arc::new(Limits::new(store.clone(), config.rate_per_minute));
    Ok(App {
        reader,
        auth: Auth::new(store.clone(), config.pool_dev),
        accounts: Accounts::new(store.clone(), Arc::clone(&limits)),
        history: History::new(store.clone()),
        limits,
        store,
        pool_anon: config.pool_anon,
        has_sink: config.meter.is_some(),
    })
}

/// What reads transactions; it needs no database.
pub(crate) fn reader(config: &Config, demo: Demo, record: Option<&Path>) -> anyhow::Result<Reader> {
    let registry = registry(config, demo)?;
    let upstreams = upstreams(config, &registry, demo, record)?;
    Ok(Reader { rules: rules(config)?, upstreams, registry })
}

pub(crate) async fn store(config: &Config) -> anyhow::Result<Store> {
    if let Database::Sqlite(path) = &config.database {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    }
    Ok(Store::open(&config.database, Clock::System).await?)
}

/// The embedded packs and, with `--rules DIR`, the operator's own. One broken pack refuses them all.
pub(crate) fn rules(config: &Config) -> anyhow::Result<Rules> {
    let mut more = Vec::new();
    if let Some(folder) = &config.rules {
        let entries = std::fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let text =
                    std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
                more.push((stem, text));
            }
        }
        more.sort();
    }
    Rules::with_more(&more).map_err(|faults| {
        let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
        anyhow::anyhow!("the rule packs are refused:\n{}", lines.join("\n"))
    })
}

pub(crate) fn registry(config: &Config, demo: Demo) -> anyhow::Result<Registry> {
    let mut registry = Registry::embedded()?;
    if let Some(path) = &config.chains {
        let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
        registry.add(&text).with_context(|| path.display().to_string())?;
    }
    if demo == Demo::On {
        registry.add(DEMO_CHAINS).context("the demo chains")?;
    }
    Ok(registry)
}

/// With any upstream configured exactly those chains are served, else the public endpoints of the registry.
pub(crate) fn upstreams(
    config: &Config,
    registry: &Registry,
    demo: Demo,
    record: Option<&Path>,
) -> anyhow::Result<Upstreams> {
    for slug in config.rpc.keys() {
        if registry.find(slug).is_none() {
            bail!("an upstream is configured for `{slug}`, which is no known chain");
        }
    }
    let recorder = record.map(Recorder::create).transpose().context("the recording cannot be written")?.map(Arc::new);
    let tape = Arc::new(Tape::read(DEMO_TAPE).context("the recording of the demo chains")?);
    let (mut evm, mut solana) = (Vec::new(), Vec::new());
    for chain in registry.chains() {
        let is_demo = demo == Demo::On && DEMO_SLUGS.contains(&chain.slug.as_str());
        let named = |slug: &&String| registry.find(slug).is_some_and(|named| named.slug == chain.slug);
        let configured = config.rpc.iter().find(|(slug, _)| named(slug)).map(|(_, urls)| urls);
        let urls = match configured {
            Some(urls) => urls,
            None if config.rpc.is_empty() => &chain.endpoints,
            None => &Vec::new(),
        };
        let node = if is_demo {
            Node::tape(Arc::clone(chain), Arc::clone(&tape))
        } else if !urls.is_empty() {
            let node = Node::live(Arc::clone(chain), urls, recorder.clone());
            node.with_context(|| format!("upstream of `{}`", chain.slug))?
        } else {
            continue;
        };
        match chain.family {
            Family::Evm => evm.push(EvmChain::new(node)),
            Family::Solana => solana.push(SolanaChain::new(node)),
        }
    }
    if evm.is_empty() && solana.is_empty() {
        bail!("no chain is served: set TAXON_RPC_<SLUG> for at least one chain, or start with --demo");
    }
    Ok(Upstreams::new(evm, solana))
}
