//! `taxon keys`

use std::process::ExitCode;

use jiff::Timestamp;

use super::misused;
use super::terminal::{print, table};
use crate::app;
use crate::auth::{self, KeyError, Tier};
use crate::config::Config;
use crate::store::{Billing, Key};

const DISPLACED: &str = "Somebody had signed up at this address and never showed that it is theirs. That account has lost the address and \
                         gets nothing of this key; keys that it made keep their own free pool. Hand the link of `taxon accounts link` to \
                         the owner, who then sees this key and what it reads.\n";

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Make a key; the last line printed is the key alone, shown this once
    Create {
        /// E-mail address of the owner; all keys of an owner share the owner's pool, each has its own rate limit
        #[arg(long)]
        owner: String,
        /// Moves the owner to this tier; a partner key is metered and leaves the owner's pool as it is
        #[arg(long, value_enum)]
        tier: Tier,
        /// A name to tell keys apart by
        #[arg(long, default_value = "")]
        name: String,
        /// Contracted volume of an enterprise key, a month
        #[arg(long, value_parser = clap::value_parser!(i64).range(0..))]
        pool: Option<i64>,
    },
    /// List keys; the key itself is never shown again
    List,
    /// Give a key another name, by the 8 characters that name it or by the key
    Rename { id: String, name: String },
    /// Revoke a key, by the 8 characters that name it or by the key; every instance refuses it within a second
    Revoke { id: String },
}

pub(super) async fn run(config: &Config, command: &Command) -> anyhow::Result<ExitCode> {
    if let Command::Create { tier, pool: Some(_), .. } = command
        && *tier != Tier::Enterprise
    {
        return Ok(misused("--pool is for enterprise keys"));
    }
    let store = app::store(config).await?;
    match command {
        Command::Create { owner, tier, name, pool } => {
            let key = match auth::create(&store, owner, *tier, name, *pool).await {
                Err(error @ (KeyError::Email(_) | KeyError::Name)) => return Ok(misused(&error.to_string())),
                made => made?,
            };
            if key.has_displaced_sign_up {
                print(DISPLACED);
            }
            print(&format!("Keep this key: it is not shown again.\n{}\n", key.text));
        }
        Command::List => {
            let rows = store.keys().await?.into_iter().map(listed);
            print(&table(&["ID", "OWNER", "TIER", "NAME", "CREATED", "LAST USED", "STATE"], rows));
        }
        Command::Rename { id, name } => {
            let id = auth::rename(&store, id, name).await?;
            print(&format!("Renamed {id}.\n"));
        }
        Command::Revoke { id } => {
            let id = auth::revoke(&store, id).await?;
            print(&format!("Revoked {id}.\n"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn listed(key: Key) -> Vec<String> {
    let date = |seconds: i64| Timestamp::from_second(seconds).map_or(String::new(), |at| at.to_string());
    let tier = match key.billing {
        Billing::Metered => Tier::Partner.name().to_owned(),
        Billing::Pool { tier, contracted: None } => tier,
        Billing::Pool { tier, contracted: Some(pool) } => format!("{tier} ({pool})"),
    };
    let used = key.last_used_at.map_or("never".to_owned(), date);
    let state = key.revoked_at.map_or("stands".to_owned(), |at| format!("revoked {}", date(at)));
    vec![key.id, key.email, tier, key.name, date(key.created_at), used, state]
}
