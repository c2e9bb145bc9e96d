//! What is in force: flags over environment over `taxon.toml` over defaults. Secrets never leave this page in print.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Deserialize;

const LISTEN: &str = "127.0.0.1:8080";
const CONFIG_FILE: &str = "taxon.toml";
const DATABASE_FILE: &str = "taxon.db";

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
    /// Further chains, in the format of chains.toml (TAXON_CHAINS)
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) chains: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    listen: Option<SocketAddr>,
    data_dir: Option<PathBuf>,
    database_url: Option<String>,
    rules: Option<PathBuf>,
    chains: Option<PathBuf>,
    #[serde(default)]
    cors_origins: Vec<String>,
    #[serde(default)]
    rpc: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) listen: SocketAddr,
    pub(crate) data_dir: PathBuf,
    pub(crate) rules: Option<PathBuf>,
    pub(crate) chains: Option<PathBuf>,
    pub(crate) cors_origins: Vec<String>,
    /// Slug, or its spelling in an environment variable, to upstream addresses. When empty, the public endpoints serve.
    pub(crate) rpc: BTreeMap<String, Vec<String>>,
}

impl Config {
    pub(crate) fn load(flags: &Flags) -> anyhow::Result<Self> {
        let file = read_file(flags.config.as_deref())?;
        if env_text("TAXON_DATABASE_URL")?.or(file.database_url).is_some_and(|url| !url.starts_with("sqlite")) {
            bail!("TAXON_DATABASE_URL: this version keeps its data in SQLite only");
        }
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
        let from_env = rpc_from_env()?;
        Ok(Self {
            listen,
            data_dir: path(&flags.data_dir, "TAXON_DATA_DIR", file.data_dir)?.unwrap_or_else(platform_folder),
            rules: path(&flags.rules, "TAXON_RULES", file.rules)?,
            chains: path(&flags.chains, "TAXON_CHAINS", file.chains)?,
            cors_origins,
            rpc: if from_env.is_empty() { file.rpc } else { from_env },
        })
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.data_dir.join(DATABASE_FILE)
    }

    /// As `taxon config` prints it. Upstream addresses may hold credentials, so they are only counted.
    pub(crate) fn printed(&self) -> String {
        let mut out = String::new();
        let optional = |path: &Option<PathBuf>| path.as_ref().map_or("(none)".to_owned(), |p| p.display().to_string());
        let _ = writeln!(out, "listen       = {}", self.listen);
        let _ = writeln!(out, "data_dir     = {}", self.data_dir.display());
        let _ = writeln!(out, "database     = {}", self.database().display());
        let _ = writeln!(out, "rules        = {}", optional(&self.rules));
        let _ = writeln!(out, "chains       = {}", optional(&self.chains));
        let origins = if self.cors_origins.is_empty() { "(off)".to_owned() } else { self.cors_origins.join(", ") };
        let _ = writeln!(out, "cors_origins = {origins}");
        if self.rpc.is_empty() {
            let _ = writeln!(out, "rpc          = (the public endpoints of chains.toml)");
        }
        for (chain, urls) in &self.rpc {
            let _ = writeln!(out, "rpc.{chain} = ({} endpoint(s), redacted)", urls.len());
        }
        out
    }
}

fn read_file(named: Option<&Path>) -> anyhow::Result<File> {
    let path = named.unwrap_or(Path::new(CONFIG_FILE));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && named.is_none() => return Ok(File::default()),
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", path.display())),
    };
    // The parser's message quotes the line at fault, which may be a secret.
    toml::from_str(&text).map_err(|error| {
        let line = error.span().and_then(|span| text.get(..span.start)).map_or(0, |head| head.lines().count());
        anyhow::anyhow!("{}: line {}: {}", path.display(), line.max(1), error.message())
    })
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

fn rpc_from_env() -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let mut rpc = BTreeMap::new();
    for (name, _) in std::env::vars_os() {
        let Some(name) = name.to_str() else { continue };
        let Some(slug) = name.strip_prefix("TAXON_RPC_") else { continue };
        let slug = slug.strip_suffix("_FILE").unwrap_or(slug);
        if let Some(text) = env_text(&format!("TAXON_RPC_{slug}"))? {
            rpc.insert(slug.to_lowercase().replace('_', "-"), list(&text));
        }
    }
    Ok(rpc)
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
