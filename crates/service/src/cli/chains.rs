//! `taxon chains`

use std::process::ExitCode;

use super::terminal::{print, table};
use crate::app::{Demo, registry};
use crate::config::Config;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Include the demo chain
    #[arg(long)]
    demo: bool,
}

pub(super) fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let registry = registry(config, if args.demo { Demo::On } else { Demo::Off })?;
    let is_configured = |slug: &str| config.rpc.keys().any(|name| registry.find(name).is_some_and(|c| c.slug == slug));
    let rows = registry.chains().iter().map(|chain| {
        let served = match (config.rpc.is_empty(), is_configured(&chain.slug)) {
            (_, true) => "configured endpoints",
            (true, false) if !chain.endpoints.is_empty() => "public endpoints",
            _ if chain.slug.starts_with("demo") => "recorded",
            _ => "not served",
        };
        let id = chain.chain_id.map_or_else(String::new, |id| id.to_string());
        vec![chain.slug.clone(), id, chain.native_symbol.clone(), served.to_owned(), chain.aliases.join(", ")]
    });
    print(&table(&["SLUG", "CHAIN ID", "COIN", "SERVED BY", "ALIASES"], rows));
    Ok(ExitCode::SUCCESS)
}
