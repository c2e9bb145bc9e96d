//! From configuration to a running application: rules, chains, upstreams, and the store.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, bail};
use chains::{Recorder, Registry, Tape, TokenMemory, Upstreams, live_node, tape_node};
use engine::rules::{Checks, Extent, Fault};
use engine::{Chain, Family, Knowledge, Rules, Treatments};
use tokio_util::task::TaskTracker;

use super::keeper::FactsKeeper;
use super::readiness::Readiness;
use super::{App, Jobs, Reader, Repeats};
use crate::accounts::Accounts;
use crate::auth::Auth;
use crate::cache::Cache;
use crate::config::Config;
use crate::history::History;
use crate::limits::Limits;
use crate::store::{Clock, Database, Shelf, Store};
use crate::webhooks::Reach;

/// The demo chains: real contracts on a real local node and real programs in a real runtime, recorded by the project itself.
const DEMO_CHAINS: &str = include_str!("../../../../demo/chain.toml");
const DEMO_TAPE: &str =
    concat!(include_str!("../../../../demo/evm.jsonl"), include_str!("../../../../demo/solana.jsonl"));
const MIB: i64 = 1024 * 1024;
const DEMO_SLUGS: [&str; 2] = ["demo", "demo-solana"];

/// Whether the demo chains are served beside the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demo {
    On,
    Off,
}

pub(crate) async fn open(config: &Config, demo: Demo) -> anyhow::Result<App> {
    let store = store(config).await?;
    let shelf = if config.cache_disk_mib == 0 { Shelf::Absent } else { Shelf::open(&config.database, &store)? };
    let reader = Arc::new(reader_over(config, demo, None, shelf)?);
    let limits = Arc::new(Limits::new(store.clone(), config.rate_per_minute));
    Ok(App {
        reader,
        auth: Auth::new(store.clone(), config.pool_dev),
        accounts: Accounts::new(store.clone(), Arc::clone(&limits)),
        history: History::new(store.clone()),
        repeats: Repeats::default(),
        jobs: Jobs::new(incoming(config)),
        fleet: OnceLock::new(),
        limits,
        store,
        pool_anon: config.pool_anon,
        has_sink: config.meter.is_some(),
        reach: if config.webhook_private { Reach::Anywhere } else { Reach::Public },
        readiness: Readiness::default(),
        calls: TaskTracker::new(),
    })
}

/// A reader without a database; its cache ends with the process.
pub(crate) fn reader(config: &Config, demo: Demo, record: Option<&Path>) -> anyhow::Result<Reader> {
    reader_over(config, demo, record, Shelf::Absent)
}

/// The same, keeping the facts of what it reads in a folder, where one is named.
pub(crate) fn keeping_reader(config: &Config, demo: Demo, folder: Option<&Path>) -> anyhow::Result<Reader> {
    let reader = reader(config, demo, None)?;
    let Some(folder) = folder else { return Ok(reader) };
    let keeper = FactsKeeper::start(folder).with_context(|| format!("facts cannot be kept in {}", folder.display()))?;
    Ok(reader.keeping(keeper))
}

fn reader_over(config: &Config, demo: Demo, record: Option<&Path>, shelf: Shelf) -> anyhow::Result<Reader> {
    let registry = registry(config, demo)?;
    let disk_bytes = i64::from(config.cache_disk_mib).saturating_mul(MIB);
    let cache = Arc::new(Cache::new(u64::from(config.cache_memory_mib).saturating_mul(1024 * 1024), shelf, disk_bytes));
    let memory: Arc<dyn TokenMemory> = cache.clone();
    let upstreams = upstreams(config, &registry, demo, record, &memory)?;
    Ok(Reader::new(knowledge_of(config, &registry, Checks::LeftOut)?, registry, upstreams, cache))
}

pub(crate) async fn store(config: &Config) -> anyhow::Result<Store> {
    make_folder(config)?;
    Ok(Store::open(&config.database, Clock::System).await?)
}

/// Where tables are kept while they come in: beside the embedded database, which has room for them, else where the system keeps what is temporary.
fn incoming(config: &Config) -> PathBuf {
    match &config.database {
        Database::Sqlite(path) => folder_of(path).to_owned(),
        Database::Postgres(_) => std::env::temp_dir(),
    }
}

fn folder_of(database: &Path) -> &Path {
    database.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The folder of the embedded database.
pub(crate) fn make_folder(config: &Config) -> anyhow::Result<()> {
    if let Database::Sqlite(path) = &config.database {
        let folder = folder_of(path);
        std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    }
    Ok(())
}

/// The embedded packs and, with `--rules DIR`, the operator's own. One broken pack refuses them all.
fn rules(config: &Config, checks: Checks) -> anyhow::Result<Rules> {
    let instead = config.packs.as_deref().map(packs_in).transpose()?;
    let more = config.rules.as_deref().map(packs_in).transpose()?.unwrap_or_default();
    let base = instead.as_ref().map_or_else(|| Rules::embedded_packs().collect(), |packs| borrow(packs));
    let packs: Vec<(&str, &str)> = base.into_iter().chain(borrow(&more)).collect();
    Rules::within(&packs, Extent { lists: config.lists, checks })
        .map_err(|faults| refused("the rule packs are refused", &faults))
}

/// The packs in a folder, by their files' names without ending.
fn packs_in(folder: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let mut packs = Vec::new();
    let entries = std::fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
            packs.push((stem, text));
        }
    }
    packs.sort();
    Ok(packs)
}

fn borrow(packs: &[(String, String)]) -> Vec<(&str, &str)> {
    packs.iter().map(|(stem, text)| (stem.as_str(), text.as_str())).collect()
}

fn treatments() -> anyhow::Result<Treatments> {
    Treatments::us().map_err(|faults| refused("the table of treatments is refused", &faults))
}

fn refused(what: &str, faults: &[Fault]) -> anyhow::Error {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    anyhow::anyhow!("{what}:\n{}", lines.join("\n"))
}

/// Rules and treatments without an upstream, for commands that inspect the rules and their cases.
pub(crate) fn knowledge(config: &Config) -> anyhow::Result<Knowledge> {
    knowledge_of(config, &registry(config, Demo::Off)?, Checks::Read)
}

/// Rules and treatments without an upstream, and the chains that they know.
pub(crate) fn known(config: &Config, demo: Demo) -> anyhow::Result<(Registry, Knowledge)> {
    let registry = registry(config, demo)?;
    let knowledge = knowledge_of(config, &registry, Checks::LeftOut)?;
    Ok((registry, knowledge))
}

fn knowledge_of(config: &Config, registry: &Registry, checks: Checks) -> anyhow::Result<Knowledge> {
    Ok(Knowledge::new(rules(config, checks)?, treatments()?, registry.chains().iter().map(|chain| &**chain)))
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

/// The addresses of a chain's nodes, in order of preference.
pub(crate) fn endpoints<'a>(config: &'a Config, registry: &Registry, chain: &'a Chain) -> &'a [String] {
    let named = |slug: &&String| registry.find(slug).is_some_and(|named| named.slug == chain.slug);
    let configured = config.rpc.iter().find(|(slug, _)| named(slug)).map(|(_, urls)| urls);
    match configured {
        Some(urls) => urls,
        None if config.rpc.is_empty() => &chain.endpoints,
        None => &[],
    }
}

/// The address of a chain's explorer, with its key.
pub(crate) fn explorer<'a>(config: &'a Config, registry: &Registry, chain: &Chain) -> Option<&'a str> {
    let named = |slug: &&String| registry.find(slug).is_some_and(|named| named.slug == chain.slug);
    config.explorers.iter().find(|(slug, _)| named(slug)).map(|(_, url)| url.as_str())
}

/// The variable that names it.
pub(crate) fn explorer_variable(slug: &str) -> String {
    format!("TAXON_EXPLORER_{}", slug.to_uppercase().replace('-', "_"))
}

/// With any upstream configured exactly those chains are served, else the public endpoints of the registry.
pub(crate) fn upstreams(
    config: &Config,
    registry: &Registry,
    demo: Demo,
    record: Option<&Path>,
    memory: &Arc<dyn TokenMemory>,
) -> anyhow::Result<Upstreams> {
    for slug in config.rpc.keys() {
        if registry.find(slug).is_none() {
            bail!("an upstream is configured for `{slug}`, which is no known chain");
        }
    }
    for slug in config.explorers.keys() {
        let Some(chain) = registry.find(slug) else {
            bail!("an explorer is configured for `{slug}`, which is no known chain");
        };
        if chain.family != Family::Evm {
            bail!("an explorer is configured for `{slug}`, whose nodes tell everything themselves");
        }
    }
    let recorder = record.map(Recorder::create).transpose().context("the recording cannot be written")?.map(Arc::new);
    let tape = (demo == Demo::On).then(|| Tape::read(DEMO_TAPE)).transpose();
    let tape = tape.context("the recording of the demo chains")?.map(Arc::new);
    let mut nodes = Vec::new();
    for chain in registry.chains() {
        let urls = endpoints(config, registry, chain);
        let recorded = tape.as_ref().filter(|_| DEMO_SLUGS.contains(&chain.slug.as_str()));
        let node = if let Some(tape) = recorded {
            tape_node(chain, tape)
        } else if !urls.is_empty() {
            let node = live_node(chain, urls, recorder.clone());
            let node = node.with_context(|| format!("upstream of `{}`", chain.slug))?;
            match explorer(config, registry, chain) {
                Some(url) => node
                    .with_explorer(url, config.explorers_per_second)
                    .with_context(|| format!("explorer of `{}`", chain.slug))?,
                None => node,
            }
        } else {
            continue;
        };
        nodes.push(node);
    }
    if nodes.is_empty() {
        bail!("no chain is served: set TAXON_RPC_<SLUG> for at least one chain, or start with --demo");
    }
    Ok(Upstreams::new(nodes, memory))
}
