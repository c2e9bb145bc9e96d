//! `taxon streams`

use std::process::ExitCode;

use super::terminal::{is_confirmed, print, table};
use super::{UNCONFIRMED, misused};
use crate::config::Config;
use crate::fleet::streams::{self, Limits, Named};
use crate::fleet::{Nats, NatsArgs};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    nats: NatsArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make the streams, or bring them to these limits
    Make(Limits),
    /// Show what the streams hold
    Show {
        /// As JSON, one stream a line
        #[arg(long)]
        json: bool,
    },
    /// Empty a stream; what is in it is gone
    Clear {
        stream: Named,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

pub(super) async fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let nats = Nats::connect(&args.nats.settings(config), "streams").await?;
    match &args.command {
        Command::Make(limits) => {
            streams::make(&nats, limits).await?;
            print("The streams are there.\n");
        }
        Command::Show { json } => show(&nats, *json).await?,
        Command::Clear { stream, yes } => {
            if !is_confirmed("What is in the stream is gone then.", *yes) {
                return Ok(misused(UNCONFIRMED));
            }
            streams::clear(&nats, *stream).await?;
            print("Cleared.\n");
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn show(nats: &Nats, json: bool) -> anyhow::Result<()> {
    let shown = streams::show(nats).await?;
    if json {
        for stream in &shown {
            print(&format!("{}\n", serde_json::to_string(stream)?));
        }
        return Ok(());
    }
    let count = |count: Option<u64>| count.map(|count| count.to_string()).unwrap_or_default();
    let rows = shown.iter().map(|stream| {
        vec![
            stream.stream.clone(),
            stream.messages.to_string(),
            stream.bytes.to_string(),
            stream.bytes_max.to_string(),
            stream.replicas.to_string(),
            count(stream.waiting),
            count(stream.in_hand),
        ]
    });
    print(&table(&["STREAM", "MESSAGES", "BYTES", "BYTES AT MOST", "REPLICAS", "WAITING", "IN HAND"], rows));
    Ok(())
}
