//! The command line: one file per command. Exit status 0, 1 when it failed, 2 when it was called wrongly.

mod accounts;
mod backup;
mod bulk;
mod cache;
mod chains;
mod classify;
mod doctor;
mod drain;
pub(crate) mod eval;
mod feed;
mod health;
mod keys;
mod ledger;
mod read;
mod rules;
mod serve;
mod streams;
mod terminal;
mod whole;
mod work;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::app;
use crate::config::{Config, Flags};
use crate::logs;

/// Reads blockchain transactions for tax: what moved, what it was, and how it is treated.
///
/// Classifications are informational only and are not tax advice.
#[derive(Debug, Parser)]
#[command(name = "taxon", version, propagate_version = true)]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the service
    Serve(serve::Args),
    /// Classify transactions here and now, without a service
    Classify(classify::Args),
    /// Classify a whole table and write it for a ledger or a tax tool
    Bulk(bulk::Args),
    /// Work in a fleet: read batches of transactions from NATS and publish what they came to
    Work(work::Args),
    /// Put tables of transactions into the fleet's stream of requests
    Feed(feed::Args),
    /// Write the fleet's results to files, each once
    Drain(drain::Args),
    /// Make, show and clear the fleet's streams
    Streams(streams::Args),
    /// Classify recorded facts (Parquet) without any node
    Read(read::Args),
    /// Classify a labelled set of your own and report how right the readings are
    Eval(eval::Args),
    /// Make, list, rename and revoke API keys
    #[command(subcommand)]
    Keys(keys::Command),
    /// List accounts, let their owners set a password, and name operators
    #[command(subcommand)]
    Accounts(accounts::Command),
    /// Read back what was counted
    #[command(subcommand)]
    Ledger(ledger::Command),
    /// Look after the events for the billing rail
    #[command(subcommand)]
    Meter(ledger::MeterCommand),
    /// Delete old ledger rows and readings
    Purge(ledger::PurgeArgs),
    /// Look at what was read from chains and kept, and clear it
    #[command(subcommand)]
    Cache(cache::Command),
    /// List the chains that this configuration serves
    Chains(chains::Args),
    /// Check, list and show the rule packs
    #[command(subcommand)]
    Rules(rules::Command),
    /// Look at every node, the database and the clock, and say what needs doing
    Doctor(doctor::Args),
    /// Print the configuration in force, secrets redacted
    Config,
    /// Bring the database up to date, as every start does
    Migrate,
    /// Copy everything that must not be lost into one file, while the service runs
    Backup(backup::BackupArgs),
    /// Fill an empty database from a backup; the service must not run
    Restore(backup::RestoreArgs),
    /// Ask the running service whether it can serve; status 0 says yes, 1 no
    Health(health::Args),
}

pub(crate) async fn run() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    let config = Config::load(&cli.flags)?;
    let _flush = logs::start()?;
    match cli.command {
        Command::Serve(args) => serve::run(&config, &args).await,
        Command::Classify(args) => classify::run(&config, &args).await,
        Command::Bulk(args) => bulk::run(&config, &args).await,
        Command::Work(args) => work::run(&config, &args).await,
        Command::Feed(args) => feed::run(&config, &args).await,
        Command::Drain(args) => drain::run(&config, &args).await,
        Command::Streams(args) => streams::run(&config, &args).await,
        Command::Read(args) => read::run(&config, &args).await,
        Command::Eval(args) => eval::run(&config, &args).await,
        Command::Keys(command) => keys::run(&config, &command).await,
        Command::Accounts(command) => accounts::run(&config, &command).await,
        Command::Ledger(command) => ledger::run(&config, &command).await,
        Command::Meter(command) => ledger::meter(&config, &command).await,
        Command::Purge(args) => ledger::purge(&config, &args).await,
        Command::Cache(command) => cache::run(&config, &command).await,
        Command::Chains(args) => chains::run(&config, &args),
        Command::Rules(command) => rules::run(&config, &command),
        Command::Doctor(args) => doctor::run(&config, &args).await,
        Command::Migrate => {
            app::store(&config).await?;
            terminal::print("The database is up to date.\n");
            Ok(ExitCode::SUCCESS)
        }
        Command::Backup(args) => backup::backup(&config, &args).await,
        Command::Restore(args) => backup::restore(&config, &args).await,
        Command::Health(args) => health::run(&config, &args).await,
        Command::Config => {
            terminal::print(&config.printed());
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Called wrongly, as the argument parser has it.
const USAGE: u8 = 2;

/// What is said where an act that cannot be undone was not confirmed.
const UNCONFIRMED: &str = "nothing was done: say --yes";

fn misused(why: &str) -> ExitCode {
    eprintln!("taxon: {why}");
    ExitCode::from(USAGE)
}

pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    eprintln!("taxon: {error:#}");
    ExitCode::FAILURE
}
