//! The effective configuration: flags override the environment, which overrides `taxon.toml`, which overrides defaults. This module never
//! prints secrets.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use chains::EXPLORER_PER_SECOND;
use chains::registry::toml_fault;
use engine::rules::Lists;
use ipnet::IpNet;
use serde::Deserialize;

use crate::store::Database;

const LISTEN: &str = "127.0.0.1:8080";
const CONFIG_FILE: &str = "taxon.toml";
const DATABASE_FILE: &str = "taxon.db";
const RATE_PER_MINUTE: u32 = 60;
const POOL_ANON: i64 = 10;
const POOL_DEV: i64 = 250;
const CACHE_MEMORY_MIB: u32 = 48;
const CACHE_DISK_MIB: u32 = 4_096;
const CONNECTIONS_MAX: u32 = 2_048;
const CONNECTIONS_PER_ADDRESS_MAX: u32 = 256;

/// The part of the configuration that flags set.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Flags {
    /// Configuration file (default: taxon.toml in the working directory, where there is one)
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Folder for the database (TAXON_DATA_DIR)
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Further rule packs, one TOML file each (TAXON_RULES)
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) rules: Option<PathBuf>,
    /// Use the rule packs of this folder instead of the embedded ones
    #[arg(long, global = true, hide = true, value_name = "DIR")]
    pub(crate) packs: Option<PathBuf>,
    /// Further chains, in the format of chains.toml (TAXON_CHAINS)
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) chains: Option<PathBuf>,
    /// Forget the contracts that brands list, to measure what standards and proofs read by themselves
    #[arg(long, global = true, hide = true)]
    pub(crate) without_lists: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    listen: Option<SocketAddr>,
    data_dir: Option<PathBuf>,
    database_url: Option<String>,
    rules: Option<PathBuf>,
    chains: Option<PathBuf>,
    #[serde(default)]
    cors_origins: Vec<String>,
    rate_per_minute: Option<u32>,
    pool_anon: Option<i64>,
    pool_dev: Option<i64>,
    cache_memory_mib: Option<u32>,
    cache_disk_mib: Option<u32>,
    connections_max: Option<u32>,
    connections_per_address_max: Option<u32>,
    #[serde(default)]
    trusted_proxies: Vec<String>,
    meter_sink: Option<String>,
    meter_token: Option<String>,
    webhook_private: Option<bool>,
    mcp_listen: Option<SocketAddr>,
    #[serde(default)]
    mcp_hosts: Vec<String>,
    metrics_listen: Option<SocketAddr>,
    #[serde(default)]
    rpc: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    explorer: BTreeMap<String, String>,
    explorers_per_second: Option<u32>,
    nats_url: Option<String>,
    nats_credentials: Option<PathBuf>,
    nats_ca: Option<PathBuf>,
    nats_cert: Option<PathBuf>,
    nats_key: Option<PathBuf>,
}

#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) listen: SocketAddr,
    pub(crate) data_dir: PathBuf,
    pub(crate) rules: Option<PathBuf>,
    /// Instead of the embedded packs.
    pub(crate) packs: Option<PathBuf>,
    pub(crate) lists: Lists,
    pub(crate) chains: Option<PathBuf>,
    pub(crate) cors_origins: Vec<String>,
    pub(crate) database: Database,
    /// Requests a minute and key; 0 is no limit.
    pub(crate) rate_per_minute: u32,
    /// Billable classifications a day and address, and a month and owner.
    pub(crate) pool_anon: i64,
    pub(crate) pool_dev: i64,
    /// What was read from chains, in memory and beside the database; 0 keeps nothing there.
    pub(crate) cache_memory_mib: u32,
    pub(crate) cache_disk_mib: u32,
    /// Open at once, in all and from one address; 0 is no limit. A trusted proxy is not counted as an address.
    pub(crate) connections_max: u32,
    pub(crate) connections_per_address_max: u32,
    /// Peers whose `X-Forwarded-For` is trusted.
    pub(crate) trusted_proxies: Vec<IpNet>,
    pub(crate) meter: Option<Sink>,
    /// Whether webhooks may lead to addresses that are not public, and go without TLS.
    pub(crate) webhook_private: bool,
    pub(crate) mcp: Mcp,
    /// Where metrics are served; without it nothing is recorded.
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// Slug, or its spelling in an environment variable, to upstream addresses. When empty, the public endpoints serve.
    pub(crate) rpc: BTreeMap<String, Vec<String>>,
    /// Chain to the address of an explorer in the form of Etherscan, with its key.
    pub(crate) explorers: BTreeMap<String, String>,
    pub(crate) explorers_per_second: u32,
    pub(crate) nats: Nats,
}

/// The streams of a fleet. The address may hold a password.
#[derive(Clone, Default)]
pub(crate) struct Nats {
    /// Addresses of servers of one cluster, separated by commas.
    pub(crate) url: Option<String>,
    pub(crate) credentials: Option<PathBuf>,
    pub(crate) ca: Option<PathBuf>,
    pub(crate) cert: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
}

impl std::fmt::Debug for Nats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Nats (redacted)")
    }
}

/// The agent interface.
#[derive(Debug, Clone)]
pub(crate) struct Mcp {
    /// A listener of its own, or `None` for the common one.
    pub(crate) listen: Option<SocketAddr>,
    /// Accepted `Host` values beside loopback names, against DNS rebinding; `*` accepts any.
    pub(crate) hosts: Vec<String>,
}

/// Where events for the billing rail go. Both parts may be secret.
#[derive(Clone)]
pub(crate) struct Sink {
    pub(crate) url: String,
    pub(crate) token: Option<String>,
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sink (redacted)")
    }
}

impl Config {
    pub(crate) fn load(flags: &Flags) -> anyhow::Result<Self> {
        let file = read_file(flags.config.as_deref())?;
        let listen = match env_text("TAXON_LISTEN")? {
            Some(text) => text.parse().context("TAXON_LISTEN is not an address and port")?,
            None => file.listen.map_or_else(|| LISTEN.parse().context("default address"), Ok)?,
        };
        let path = |flag: &Option<PathBuf>, name: &str, in_file: Option<PathBuf>| -> anyhow::Result<Option<PathBuf>> {
            Ok(flag.clone().or(env_text(name)?.map(PathBuf::from)).or(in_file))
        };
        let cors_origins = match env_text("TAXON_CORS_ORIGINS")? {
            Some(text) => list(&text),
            None => file.cors_origins,
        };
        let from_env: BTreeMap<String, Vec<String>> =
            by_chain("TAXON_RPC_")?.into_iter().map(|(slug, text)| (slug, list(&text))).collect();
        let explorers = by_chain("TAXON_EXPLORER_")?;
        let data_dir = path(&flags.data_dir, "TAXON_DATA_DIR", file.data_dir)?.unwrap_or_else(platform_folder);
        let proxies = env_text("TAXON_TRUSTED_PROXIES")?.map_or(file.trusted_proxies, |text| list(&text));
        let token = env_text("TAXON_METER_TOKEN")?.or(file.meter_token);
        let sink = env_text("TAXON_METER_SINK")?.or(file.meter_sink).map(|url| Sink { url, token });
        let is_web =
            |sink: &Sink| reqwest::Url::parse(&sink.url).is_ok_and(|url| ["http", "https"].contains(&url.scheme()));
        if sink.as_ref().is_some_and(|sink| !is_web(sink)) {
            bail!("TAXON_METER_SINK is not an http or https address");
        }
        let own_listen = |name: &str, in_file: Option<SocketAddr>| -> anyhow::Result<Option<SocketAddr>> {
            let Some(text) = env_text(name)? else { return Ok(in_file) };
            text.parse().map(Some).with_context(|| format!("{name} is not an address and port"))
        };
        let mcp_listen = own_listen("TAXON_MCP_LISTEN", file.mcp_listen)?;
        let nats = Nats {
            url: env_text("TAXON_NATS_URL")?.or(file.nats_url),
            credentials: path(&None, "TAXON_NATS_CREDENTIALS", file.nats_credentials)?,
            ca: path(&None, "TAXON_NATS_CA", file.nats_ca)?,
            cert: path(&None, "TAXON_NATS_CERT", file.nats_cert)?,
            key: path(&None, "TAXON_NATS_KEY", file.nats_key)?,
        };
        let mcp_hosts = env_text("TAXON_MCP_HOSTS")?.map_or(file.mcp_hosts, |text| list(&text));
        Ok(Self {
            listen,
            metrics_listen: own_listen("TAXON_METRICS_LISTEN", file.metrics_listen)?,
            mcp: Mcp { listen: mcp_listen, hosts: mcp_hosts },
            database: database(env_text("TAXON_DATABASE_URL")?.or(file.database_url), &data_dir)?,
            data_dir,
            rate_per_minute: number("TAXON_RATE_PER_MINUTE", file.rate_per_minute, RATE_PER_MINUTE)?,
            pool_anon: number("TAXON_POOL_ANON", file.pool_anon, POOL_ANON)?,
            pool_dev: number("TAXON_POOL_DEV", file.pool_dev, POOL_DEV)?,
            cache_memory_mib: number("TAXON_CACHE_MEMORY_MIB", file.cache_memory_mib, CACHE_MEMORY_MIB)?,
            cache_disk_mib: number("TAXON_CACHE_DISK_MIB", file.cache_disk_mib, CACHE_DISK_MIB)?,
            connections_max: number("TAXON_CONNECTIONS_MAX", file.connections_max, CONNECTIONS_MAX)?,
            connections_per_address_max: number(
                "TAXON_CONNECTIONS_PER_ADDRESS_MAX",
                file.connections_per_address_max,
                CONNECTIONS_PER_ADDRESS_MAX,
            )?,
            trusted_proxies: proxies.iter().map(|text| network(text)).collect::<Result<_, _>>()?,
            meter: sink,
            webhook_private: switch("TAXON_WEBHOOK_PRIVATE", file.webhook_private)?,
            rules: path(&flags.rules, "TAXON_RULES", file.rules)?,
            packs: flags.packs.clone(),
            lists: if flags.without_lists { Lists::LeftOut } else { Lists::Whole },
            chains: path(&flags.chains, "TAXON_CHAINS", file.chains)?,
            cors_origins,
            rpc: if from_env.is_empty() { file.rpc } else { from_env },
            explorers: if explorers.is_empty() { file.explorer } else { explorers },
            explorers_per_second: number("TAXON_EXPLORERS_PER_SECOND", file.explorers_per_second, EXPLORER_PER_SECOND)?
                .max(1),
            nats,
        })
    }

    /// As `taxon config` prints it. Upstream addresses may hold credentials, so they are only counted.
    pub(crate) fn printed(&self) -> String {
        let mut out = String::new();
        let optional = |path: &Option<PathBuf>| path.as_ref().map_or("(none)".to_owned(), |p| p.display().to_string());
        let listed = |items: Vec<String>| if items.is_empty() { "(none)".to_owned() } else { items.join(", ") };
        let proxies = self.trusted_proxies.iter().map(ToString::to_string).collect();
        let meter = if self.meter.is_some() { "(an address, redacted)" } else { "(none)" };
        let nats = if self.nats.url.is_some() { "(an address, redacted)" } else { "(none)" };
        let rows = [
            ("listen", self.listen.to_string()),
            ("data_dir", self.data_dir.display().to_string()),
            ("database", format!("{:?}", self.database)),
            ("rules", optional(&self.rules)),
            ("chains", optional(&self.chains)),
            ("cors_origins", listed(self.cors_origins.clone())),
            ("rate_per_minute", self.rate_per_minute.to_string()),
            ("pool_anon", self.pool_anon.to_string()),
            ("pool_dev", self.pool_dev.to_string()),
            ("cache_memory_mib", self.cache_memory_mib.to_string()),
            ("cache_disk_mib", self.cache_disk_mib.to_string()),
            ("connections_max", self.connections_max.to_string()),
            ("connections_per_address_max", self.connections_per_address_max.to_string()),
            ("trusted_proxies", listed(proxies)),
            ("meter_sink", meter.to_owned()),
            ("webhook_private", self.webhook_private.to_string()),
            ("mcp_listen", self.mcp.listen.map_or("(with everything else)".to_owned(), |listen| listen.to_string())),
            ("mcp_hosts", listed(self.mcp.hosts.clone())),
            ("metrics_listen", self.metrics_listen.map_or("(none)".to_owned(), |listen| listen.to_string())),
            ("nats_url", nats.to_owned()),
        ];
        for (name, value) in rows {
            let _ = writeln!(out, "{name:16} = {value}");
        }
        if self.rpc.is_empty() {
            let _ = writeln!(out, "rpc              = (the public endpoints of chains.toml)");
        }
        for (chain, urls) in &self.rpc {
            let _ = writeln!(out, "rpc.{chain} = ({} endpoint(s), redacted)", urls.len());
        }
        for chain in self.explorers.keys() {
            let _ =
                writeln!(out, "explorer.{chain} = (redacted, {} requests a second at most)", self.explorers_per_second);
        }
        out
    }
}

/// SQLite in the data folder unless an address says otherwise.
fn database(url: Option<String>, data_dir: &Path) -> anyhow::Result<Database> {
    let Some(url) = url else { return Ok(Database::Sqlite(data_dir.join(DATABASE_FILE))) };
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return Ok(Database::Postgres(url));
    }
    match url.strip_prefix("sqlite:").map(|path| path.trim_start_matches("//")) {
        Some(path) if !path.is_empty() && !path.contains('?') && path != ":memory:" => {
            Ok(Database::Sqlite(PathBuf::from(path)))
        }
        _ => bail!("TAXON_DATABASE_URL is neither postgres://… nor sqlite:PATH"),
    }
}

/// Off unless it is switched on.
fn switch(name: &str, in_file: Option<bool>) -> anyhow::Result<bool> {
    match env_text(name)?.as_deref() {
        None => Ok(in_file.unwrap_or_default()),
        Some("1" | "true") => Ok(true),
        Some("0" | "false") => Ok(false),
        Some(_) => bail!("{name} is neither 1 nor 0"),
    }
}

/// A count, which is never negative.
fn number<T>(name: &str, in_file: Option<T>, default: T) -> anyhow::Result<T>
where
    T: std::str::FromStr + Default + PartialOrd,
{
    let wrong = || anyhow::anyhow!("{name} is not a count");
    let value = match env_text(name)? {
        Some(text) => text.parse().map_err(|_| wrong())?,
        None => in_file.unwrap_or(default),
    };
    if value < T::default() { Err(wrong()) } else { Ok(value) }
}

/// An address, or a network such as 10.0.0.0/8.
fn network(text: &str) -> anyhow::Result<IpNet> {
    let parsed = text.parse::<IpNet>().or_else(|_| text.parse::<std::net::IpAddr>().map(IpNet::from));
    parsed.with_context(|| "TAXON_TRUSTED_PROXIES holds something that is neither an address nor a network")
}

fn read_file(named: Option<&Path>) -> anyhow::Result<ConfigFile> {
    let path = named.unwrap_or(Path::new(CONFIG_FILE));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && named.is_none() => {
            return Ok(ConfigFile::default());
        }
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", path.display())),
    };
    parse(&text).map_err(|why| anyhow::anyhow!("{}: {why}", path.display()))
}

fn parse(text: &str) -> Result<ConfigFile, String> {
    toml::from_str(text).map_err(|error| toml_fault(text, &error))
}

/// The fuzz target of the file: it is accepted, or refused without quoting it.
#[cfg(any(test, feature = "fuzzing"))]
pub fn config_file(bytes: &[u8]) {
    // A quoted text may be a secret if it is long enough, more than a plain word, and none of the parser's own sentences.
    const SECRET_CHARS_MIN: usize = 12;
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let is_secret = |quoted: &&str| {
        quoted.chars().count() >= SECRET_CHARS_MIN && !quoted.contains(' ') && !quoted.bytes().all(is_plain)
    };
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Err(why) = parse(text) else { return };
    assert!(why.starts_with("line ") && why.lines().count() == 1, "{why}");
    for quoted in text.split('"').skip(1).step_by(2).filter(is_secret) {
        assert!(!why.contains(quoted), "{why}");
    }
}

/// A variable, or the content of the file that `<name>_FILE` names.
fn env_text(name: &str) -> anyhow::Result<Option<String>> {
    if let Ok(text) = std::env::var(name) {
        return Ok(Some(text).filter(|text| !text.is_empty()));
    }
    let Some(path) = std::env::var_os(format!("{name}_FILE")) else { return Ok(None) };
    let text = std::fs::read_to_string(&path).with_context(|| format!("{name}_FILE cannot be read"))?;
    Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
}

/// What variables of this prefix say, by the chain that their names end with.
fn by_chain(prefix: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let mut chains = BTreeMap::new();
    for (name, _) in std::env::vars_os() {
        let Some(slug) = name.to_str().and_then(|name| name.strip_prefix(prefix)) else { continue };
        let slug = slug.strip_suffix("_FILE").unwrap_or(slug);
        if let Some(text) = env_text(&format!("{prefix}{slug}"))? {
            chains.insert(slug.to_lowercase().replace('_', "-"), text);
        }
    }
    Ok(chains)
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

fn platform_folder() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = if cfg!(windows) {
        folder("APPDATA")
    } else if cfg!(target_os = "macos") {
        folder("HOME").map(|home| home.join("Library/Application Support"))
    } else {
        folder("XDG_DATA_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/share")))
    };
    base.map_or_else(|| PathBuf::from("taxon-data"), |base| base.join("taxon"))
}
