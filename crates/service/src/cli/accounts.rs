//! `taxon accounts`

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::bail;
use jiff::Timestamp;

use super::misused;
use super::terminal::{print, safe, table};
use crate::accounts::{AccountError, Accounts, OwnerRow};
use crate::app;
use crate::config::Config;
use crate::limits::Limits;
use crate::store::Store;

const PAGE_ROWS: i64 = 1_000;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// List those who can sign in
    List,
    /// Make a link by which the owner of this e-mail address sets a password, once and within a day; the last line printed is its path
    /// alone
    Link {
        /// An owner with keys and no account gets one; an address that nobody has becomes an owner
        email: String,
    },
    /// Make an account an operator: it sees owners, sets tiers, revokes keys and closes sign-up
    Operator { email: String },
}

pub(super) async fn run(config: &Config, command: &Command) -> anyhow::Result<ExitCode> {
    let store = app::store(config).await?;
    match command {
        Command::List => {
            let rows = holders(&store).await?;
            print(&table(&["E-MAIL", "TIER", "KEYS", "SINCE", "ROLE"], rows.into_iter().map(listed)));
        }
        Command::Link { email } => {
            let limits = Arc::new(Limits::new(store.clone(), config.rate_per_minute));
            let token = match Accounts::new(store, limits).password_link(email).await {
                Err(AccountError::Invalid(why)) => return Ok(misused(why)),
                made => made?,
            };
            print(&format!("Open this path of the service within a day; it works once.\n/link/{}\n", token.text()));
        }
        Command::Operator { email } => {
            if !store.make_operator(&email.to_lowercase()).await? {
                bail!("no account stands at that address: `taxon accounts link` makes one");
            }
            print(&format!("{} is an operator.\n", safe(email)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn holders(store: &Store) -> anyhow::Result<Vec<OwnerRow>> {
    let mut all: Vec<OwnerRow> = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = store.owners(after.as_deref(), PAGE_ROWS).await?;
        let Some(last) = page.last() else { return Ok(all) };
        after = Some(last.email.clone());
        all.extend(page.into_iter().filter(|row| row.has_account));
    }
}

fn listed(row: OwnerRow) -> Vec<String> {
    let since = Timestamp::from_second(row.created_at).map_or(String::new(), |at| at.to_string());
    let tier = match row.pool {
        None => row.tier,
        Some(pool) => format!("{} ({pool})", row.tier),
    };
    let role = if row.is_operator { "operator" } else { "" };
    vec![row.email, tier, row.keys.to_string(), since, role.to_owned()]
}
