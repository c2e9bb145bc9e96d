//! `taxon drain`

use std::process::ExitCode;
use std::sync::Arc;

use books::chart::Chart;
use books::formats::{self, Format, Options};
use indicatif::{ProgressBar, ProgressStyle};
use tokio_util::sync::CancellationToken;

use super::feed::lane;
use super::serve::stop_signal;
use super::terminal::{print, safe};
use crate::app::{self, DISCLAIMER, Demo};
use crate::config::Config;
use crate::fleet::drain::{Drain, Written};
use crate::fleet::place::Place;
use crate::fleet::{Nats, NatsArgs};

const PROGRESS: &str = "{spinner} {pos} rows written, {per_sec}, {msg}";
const NAMES: [&str; 3] = ["parquet", "jsonl", "csv"];

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    nats: NatsArgs,
    /// Where to write: a folder, or s3://bucket/prefix. The same place goes on where it stopped
    #[arg(long, value_name = "FOLDER|S3")]
    out: String,
    /// parquet, jsonl or csv
    #[arg(long, value_name = "FORMAT", default_value = "parquet", value_parser = format)]
    format: &'static Format,
    /// Whose results
    #[arg(long, default_value = "feed", value_parser = lane)]
    lane: String,
    /// Go on when everything is written, until stopped
    #[arg(long)]
    follow: bool,
    /// Take from the streams what is written, once no repeat of it can come
    #[arg(long)]
    purge: bool,
}

fn format(name: &str) -> Result<&'static Format, String> {
    formats::find(name).filter(|_| NAMES.contains(&name)).ok_or_else(|| format!("known are {}", NAMES.join(", ")))
}

pub(super) async fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    // Rows of the demo chains may be among the results, unless a chain of the operator's has the number of one.
    let registry = app::registry(config, Demo::On).or_else(|_| app::registry(config, Demo::Off))?;
    let options =
        Options { chart: Chart::embedded()?, coins: app::coin_symbols(&registry), prices: None, scratch: app::scratch };
    let stop = CancellationToken::new();
    let drain = Drain {
        place: Place::open_or_make(&args.out)?,
        nats: Nats::connect(&args.nats.settings(config), "drain").await?,
        lane: args.lane.clone(),
        format: args.format,
        options: Arc::new(options),
        follow: args.follow,
        purge: args.purge,
        stop: stop.clone(),
    };
    tokio::spawn(async move {
        stop_signal().await;
        stop.cancel();
    });
    let bar = ProgressBar::new_spinner();
    bar.set_style(ProgressStyle::with_template(PROGRESS)?);
    let Written { rows, reviews, dead, files } = drain
        .run(&mut |written| {
            bar.set_position(written.rows);
            bar.set_message(format!("{} for review, {} dead letters", written.reviews, written.dead));
        })
        .await?;
    bar.finish_and_clear();
    let out = safe(&args.out);
    print(&format!("{rows} rows in {files} files in {out}, {reviews} of them for review; {dead} dead letters\n"));
    print(&format!("{DISCLAIMER}\n"));
    Ok(ExitCode::SUCCESS)
}
