//! `taxon accounts`

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::bail;
use jiff::Timestamp;

use super::terminal::{is_confirmed, print, safe, table};
use super::{UNCONFIRMED, misused};
use crate::accounts::{AccountError, Accounts, OwnerRow, SecretToken};
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
    /// While there is no operator: make a link by which whoever opens it becomes it, once and within a day; the last line printed is its path
    /// alone
    FirstOperator,
    /// Make an account whose address was confirmed by a link an operator: it sees owners, sets tiers, revokes keys and closes sign-up
    Operator {
        email: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

pub(super) async fn run(config: &Config, command: &Command) -> anyhow::Result<ExitCode> {
    let store = app::store(config).await?;
    match command {
        Command::List => {
            let rows = holders(&store).await?;
            print(&table(&["E-MAIL", "TIER", "KEYS", "SINCE", "ROLE"], rows.into_iter().map(listed)));
        }
        Command::Link { email } => {
            let token = match accounts(config, store).password_link(email).await {
                Err(AccountError::Invalid(why)) => return Ok(misused(why)),
                made => made?,
            };
            print_link(&token);
        }
        Command::FirstOperator => {
            let Some(token) = accounts(config, store).first_link().await? else { bail!("there is an operator") };
            print_link(&token);
        }
        Command::Operator { email, yes } => {
            let act = format!("{} will see all owners, set tiers and revoke keys.", safe(email));
            if !is_confirmed(&act, *yes) {
                bail!(UNCONFIRMED);
            }
            if !store.make_operator(&email.to_lowercase()).await? {
                bail!(
                    "nobody with an account has shown that this address is theirs: hand over the link of `taxon accounts link` first"
                );
            }
            print(&format!("{} is an operator.\n", safe(email)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn accounts(config: &Config, store: Store) -> Accounts {
    let limits = Arc::new(Limits::new(store.clone(), config.rate_per_minute));
    Accounts::new(store, limits)
}

fn print_link(token: &SecretToken) {
    print(&format!("Open this path of the service within a day; it works once.\n/link/{}\n", token.text()));
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
    let role = match (row.is_operator, row.is_unproved) {
        (true, _) => "operator",
        (false, true) => "not confirmed",
        (false, false) => "",
    };
    vec![row.email, tier, row.keys.to_string(), since, role.to_owned()]
}
