//! `taxon ledger`, `taxon meter` and `taxon purge`: what was counted, read back.

use std::process::ExitCode;

use anyhow::{Context, bail};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::UNCONFIRMED;
use super::terminal::{is_confirmed, print, table};
use crate::app;
use crate::config::Config;
use crate::meter;
use crate::store::{Entry, LedgerFilter, PAGE_ROWS_MAX, Purged, Store};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Print the ledger's rows, oldest first, one JSON object a line: who, which hash, when, billed as what, under which request
    Export {
        #[command(flatten)]
        since: Since,
        /// Only this owner's
        #[arg(long, value_name = "EMAIL")]
        owner: Option<String>,
    },
    /// Check that every pool's counter is the sum of its rows
    Check,
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum MeterCommand {
    /// How many events wait for the billing rail, and why
    Status,
    /// Print metered classifications as CloudEvents, oldest first, one a line
    Export {
        #[command(flatten)]
        since: Since,
    },
}

#[derive(Debug, clap::Args)]
pub(super) struct Since {
    /// From this UTC day or moment on, such as 2026-11-01 or 2026-11-01T12:00:00Z
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    since: Option<Timestamp>,
}

#[derive(Debug, clap::Args)]
pub(super) struct PurgeArgs {
    /// Delete rows that are older than this, such as 400d; rows of the current month, events that wait and readings with a review stay
    #[arg(long, value_name = "DAYS", value_parser = days)]
    older_than: SignedDuration,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

fn moment(text: &str) -> Result<Timestamp, String> {
    let wrong = || "write a day or a moment, such as 2026-11-01 or 2026-11-01T12:00:00Z".to_owned();
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment);
    }
    let day: jiff::civil::Date = text.parse().map_err(|_| wrong())?;
    day.to_zoned(TimeZone::UTC).map(|day| day.timestamp()).map_err(|_| wrong())
}

fn days(text: &str) -> Result<SignedDuration, String> {
    let count = text.strip_suffix('d').unwrap_or(text).parse::<i64>().ok().filter(|days| (0..=36_500).contains(days));
    count.map(|days| SignedDuration::from_hours(days * 24)).ok_or_else(|| "write days, such as 400d".to_owned())
}

pub(super) async fn run(config: &Config, command: &Command) -> anyhow::Result<ExitCode> {
    let store = app::store(config).await?;
    match command {
        Command::Export { since, owner } => {
            let filter = LedgerFilter { email: owner.as_ref().map(|email| email.to_lowercase()), ..since.filter() };
            export(&store, &filter, |entry| {
                let mut row = serde_json::to_value(entry).unwrap_or_default();
                if let Some(row) = row.as_object_mut() {
                    row.insert("at".to_owned(), json!(written(entry.at)));
                }
                row.to_string()
            })
            .await?;
        }
        Command::Check => {
            let imbalances = store.imbalances().await?;
            for row in &imbalances {
                print(&format!("{} {}: the counter says {}, the rows {}\n", row.payer, row.period, row.used, row.rows));
            }
            if !imbalances.is_empty() {
                bail!("the books do not balance");
            }
            print("The books balance.\n");
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn meter(config: &Config, command: &MeterCommand) -> anyhow::Result<ExitCode> {
    let store = app::store(config).await?;
    match command {
        MeterCommand::Status => {
            let sink = if config.meter.is_some() { "configured" } else { "none: metered rows stay in the ledger" };
            print(&format!("sink: {sink}\n"));
            let waiting = store.waiting().await?;
            let rows = waiting.iter().map(|row| {
                let owner = row.owner.clone().unwrap_or_else(|| row.payer.clone());
                let retry = row.retry_at.map_or_else(|| "now".to_owned(), written);
                let reason = row.reason.clone().unwrap_or_default();
                vec![owner, row.waiting.to_string(), written(row.oldest), row.failures.to_string(), retry, reason]
            });
            if waiting.is_empty() {
                print("No event waits.\n");
            } else {
                print(&table(&["OWNER", "WAITING", "OLDEST", "FAILURES", "NEXT TRY", "WHY"], rows));
            }
        }
        MeterCommand::Export { since } => {
            let filter = LedgerFilter { is_metered_only: true, ..since.filter() };
            export(&store, &filter, |entry| meter::event(entry).to_string()).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn purge(config: &Config, args: &PurgeArgs) -> anyhow::Result<ExitCode> {
    let before = Timestamp::now().checked_sub(args.older_than).context("that is before time began")?;
    if !is_confirmed(&format!("Ledger rows and readings from before {before} are deleted for good."), args.yes) {
        bail!(UNCONFIRMED);
    }
    let store = app::store(config).await?;
    let purged = store.purge(before.as_millisecond()).await?;
    let mut readings = 0u64;
    let mut after: Option<String> = None;
    loop {
        let owners = store.owners(after.as_deref(), PAGE_ROWS_MAX).await?;
        let Some(last) = owners.last() else { break };
        after = Some(last.email.clone());
        for owner in &owners {
            readings = readings.saturating_add(store.purge_history(&owner.id, before.as_millisecond()).await?);
        }
    }
    let Purged { entries, events } = purged;
    print(&format!("Deleted {entries} ledger rows, {events} delivered events and {readings} readings.\n"));
    Ok(ExitCode::SUCCESS)
}

impl Since {
    fn filter(&self) -> LedgerFilter {
        LedgerFilter { since: self.since.map_or(0, Timestamp::as_millisecond), ..LedgerFilter::default() }
    }
}

/// Page by page, so that a year of rows fits into memory.
async fn export(store: &Store, filter: &LedgerFilter, line: impl Fn(&Entry) -> String) -> anyhow::Result<()> {
    let mut cursor = None;
    loop {
        let page = store.entries(filter, cursor.as_ref()).await?;
        let Some(last) = page.last() else { return Ok(()) };
        cursor = Some(last.cursor());
        let lines: String = page.iter().map(|entry| line(entry) + "\n").collect();
        print(&lines);
    }
}

fn written(millis: i64) -> String {
    Timestamp::from_millisecond(millis).map_or(String::new(), |at| at.to_string())
}
