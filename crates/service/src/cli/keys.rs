//! `taxon keys`

use std::process::ExitCode;

use anyhow::bail;
use jiff::Timestamp;

use super::terminal::{print, table};
use crate::app::open_keys;
use crate::config::Config;
use crate::keys::Tier;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Make a key; the last line printed is the key alone, shown this once
    Create {
        /// E-mail address of the owner; a second key of the same owner shares the owner's pool
        #[arg(long)]
        owner: String,
        #[arg(long, value_enum)]
        tier: Tier,
        /// A name to tell keys apart by
        #[arg(long, default_value = "")]
        name: String,
        /// Contracted volume of an enterprise key
        #[arg(long, value_parser = clap::value_parser!(i64).range(0..))]
        pool: Option<i64>,
    },
    /// List keys; the key itself is never shown again
    List,
    /// Revoke a key, by the 8 characters that name it or by the key
    Revoke { id: String },
}

pub(super) async fn run(config: &Config, command: &Command) -> anyhow::Result<ExitCode> {
    let keys = open_keys(config).await?;
    let now = Timestamp::now().as_second();
    match command {
        Command::Create { owner, tier, name, pool } => {
            if pool.is_some() && *tier != Tier::Enterprise {
                bail!("--pool is for enterprise keys");
            }
            let key = keys.create(owner, *tier, name, *pool, now).await?;
            print(&format!("Keep this key: it is not shown again.\n{key}\n"));
        }
        Command::List => {
            let date = |seconds: i64| Timestamp::from_second(seconds).map_or(String::new(), |at| at.to_string());
            let rows = keys.list().await?.into_iter().map(|key| {
                let state = key.revoked_at.map_or("stands".to_owned(), |at| format!("revoked {}", date(at)));
                vec![key.id, key.owner, key.tier, key.name, date(key.created_at), state]
            });
            print(&table(&["ID", "OWNER", "TIER", "NAME", "CREATED", "STATE"], rows));
        }
        Command::Revoke { id } => {
            let id = keys.revoke(id, now).await?;
            print(&format!("Revoked {id}.\n"));
        }
    }
    Ok(ExitCode::SUCCESS)
}
