//! `taxon cache`: what was read from chains and kept, to look at and to clear.

use std::process::ExitCode;

use clap::ValueEnum;
use serde_json::json;

use super::terminal::{print, table};
use crate::app;
use crate::cache::kinds_of;
use crate::config::Config;
use crate::store::{Clearing, Shelf, ShelfUsage};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// How much is kept, by kind and chain
    Show {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Forget what is kept; running instances forget it within seconds
    Clear {
        /// Only this kind
        #[arg(long, value_name = "KIND")]
        only: Option<PileKind>,
        /// Only what was read from this chain
        #[arg(long, value_name = "SLUG")]
        chain: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum PileKind {
    Verdicts,
    Facts,
    Tokens,
}

pub(super) async fn run(config: &Config, command: &Command) -> anyhow::Result<ExitCode> {
    let store = app::store(config).await?;
    let shelf = Shelf::open(&config.database, &store)?;
    match command {
        Command::Show { json } => {
            let usage = shelf.usage().await?;
            if *json {
                usage.iter().for_each(|part| print(&format!("{}\n", line(part))));
            } else if usage.is_empty() {
                print("Nothing is kept.\n");
            } else {
                print(&table(&["Kind", "Chain", "Rows", "Bytes", "Oldest", "Newest"], usage.iter().map(row)));
            }
        }
        Command::Clear { only, chain } => {
            let mut gone = 0u64;
            let name = only.and_then(|kind| kind.to_possible_value());
            for kind in name.map_or(vec![None], |name| kinds_of(name.get_name()).map(Some).collect()) {
                let which = Clearing { kind: kind.map(str::to_owned), chain: chain.clone() };
                gone = gone.saturating_add(shelf.clear(&which).await?);
            }
            print(&format!("{gone} rows are forgotten.\n"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn row(part: &ShelfUsage) -> Vec<String> {
    vec![
        word(&part.kind).to_owned(),
        part.chain.clone(),
        part.rows.to_string(),
        part.bytes.to_string(),
        when(part.oldest),
        when(part.newest),
    ]
}

fn line(part: &ShelfUsage) -> serde_json::Value {
    json!({
        "kind": word(&part.kind),
        "chain": part.chain,
        "rows": part.rows,
        "bytes": part.bytes,
        "oldest": when(part.oldest),
        "newest": when(part.newest),
    })
}

/// Without the number of its format.
fn word(kind: &str) -> &str {
    kind.split('.').next().unwrap_or(kind)
}

fn when(millis: i64) -> String {
    jiff::Timestamp::from_millisecond(millis).map(|at| at.to_string()).unwrap_or_default()
}
