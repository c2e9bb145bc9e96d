//! `taxon chains`

use std::process::ExitCode;

use engine::Chain;

use super::terminal::{print, table};
use crate::app::{Demo, registry};
use crate::config::Config;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Include the demo chain
    #[arg(long)]
    demo: bool,
    /// Every chain that is known, served or not, with public nodes that may serve it
    #[arg(long)]
    all: bool,
}

const NOT_SERVED: &str = "not served";

pub(super) fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let registry = registry(config, if args.demo { Demo::On } else { Demo::Off })?;
    let is_configured = |slug: &str| config.rpc.keys().any(|name| registry.find(name).is_some_and(|c| c.slug == slug));
    let served_by = |chain: &Chain| match (config.rpc.is_empty(), is_configured(&chain.slug)) {
        (_, true) => "configured endpoints",
        (true, false) if !chain.endpoints.is_empty() => "public endpoints",
        _ if chain.slug.starts_with("demo") => "recorded",
        _ => NOT_SERVED,
    };
    let listed = registry.chains().iter().filter(|chain| args.all || served_by(chain) != NOT_SERVED);
    let rows = listed.map(|chain| {
        let id = chain.chain_id.map_or_else(String::new, |id| id.to_string());
        let (slug, coin) = (chain.slug.clone(), chain.native_symbol.clone());
        let mut row = vec![slug, id, coin, served_by(chain).to_owned(), chain.aliases.join(", ")];
        if args.all {
            row.push(if chain.documented_only { "documentation" } else { "" }.to_owned());
            row.push(chain.known_endpoints.join(" "));
        }
        row
    });
    let heads: &[&str] = if args.all {
        &["SLUG", "CHAIN ID", "COIN", "SERVED BY", "ALIASES", "KNOWN ONLY FROM", "PUBLIC NODES NOT ASKED"]
    } else {
        &["SLUG", "CHAIN ID", "COIN", "SERVED BY", "ALIASES"]
    };
    print(&table(heads, rows));
    Ok(ExitCode::SUCCESS)
}
