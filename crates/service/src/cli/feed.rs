//! `taxon feed`

use std::ops::Range;
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use engine::Account;
use indicatif::{ProgressBar, ProgressStyle};

use super::bulk::told;
use super::classify::policy_choice;
use super::terminal::{print, safe};
use crate::app::{self, Demo};
use crate::config::Config;
use crate::fleet::feed::{Blocks, Fed, Feed, tables};
use crate::fleet::{self, BLOCK_WALLETS_MAX, Nats, NatsArgs};

const PROGRESS: &str = "{spinner} {pos} transactions of {msg}, {per_sec}";
const BLOCKS_PROGRESS: &str = "{bar:30} {pos} of {len} blocks, {per_sec}, {eta} left";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    nats: NatsArgs,
    /// Tables of transactions (CSV, JSON Lines, Parquet, lists of hashes or explorer links): files, folders, or s3://bucket/prefix
    #[arg(value_name = "FILE|FOLDER|S3", required_unless_present = "blocks")]
    sources: Vec<String>,
    /// Blocks (Solana: slots) of `--chain` in place of tables, the last not among them: 18000000..18100000
    #[arg(long, value_name = "FIRST..END", value_parser = blocks, requires = "chain", conflicts_with_all = ["sources", "column"])]
    blocks: Option<Range<u64>>,
    /// The column that holds the hashes; guessed when left out
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// Chain slug or alias of rows that name none; detected when left out
    #[arg(long)]
    chain: Option<String>,
    /// Read from this wallet's perspective, unless the row names one; of blocks, only what it has a part in, and may be given several times
    #[arg(long, value_parser = |text: &str| Account::parse(text))]
    wallet: Vec<Account>,
    /// A wallet of the same person, between which nothing is sold; may be given several times
    #[arg(long, value_name = "WALLET", value_parser = |text: &str| Account::parse(text))]
    own_wallet: Vec<Account>,
    /// House position, such as lp=non_taxable; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = policy_choice)]
    policy: Vec<(String, String)>,
    /// Results of a lane are drained by themselves
    #[arg(long, default_value = "feed", value_parser = lane)]
    lane: String,
    /// Feed tables once more that were fed already
    #[arg(long)]
    again: bool,
    /// Also know the demo chain
    #[arg(long)]
    demo: bool,
}

pub(super) fn lane(text: &str) -> Result<String, String> {
    match fleet::is_lane(text) {
        true => Ok(text.to_owned()),
        false => Err("a lane is up to 32 of a-z, 0-9, - and _".to_owned()),
    }
}

fn blocks(text: &str) -> Result<Range<u64>, String> {
    let range = text.split_once("..").and_then(|(first, end)| Some(first.parse().ok()?..end.parse().ok()?));
    range.filter(|range: &Range<u64>| !range.is_empty()).ok_or_else(|| "it is as 18000000..18100000".to_owned())
}

pub(super) async fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let registry = app::registry(config, if args.demo { Demo::On } else { Demo::Off })?;
    let slug = |name: &String| {
        let known = registry.find(name).map(|chain| chain.slug.clone());
        known.with_context(|| format!("no chain is called `{}`", safe(name)))
    };
    let policy: serde_json::Map<String, serde_json::Value> =
        args.policy.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect();
    let feed = Feed {
        lane: args.lane.clone(),
        column: args.column.clone(),
        chain: args.chain.as_ref().map(slug).transpose()?,
        wallets: args.wallet.clone(),
        policy: (!policy.is_empty()).then(|| policy.into()),
        own_wallets: args.own_wallet.iter().map(ToString::to_string).collect(),
        salt: args.again.then(|| format!("{:032x}", rand::random::<u128>())),
        explorers: app::explorer_hosts(&registry),
    };
    if let (Some(numbers), Some(chain)) = (&args.blocks, &feed.chain) {
        ensure!(args.wallet.len() <= BLOCK_WALLETS_MAX, "blocks are searched for {BLOCK_WALLETS_MAX} wallets at most");
        let blocks = Blocks { chain: chain.clone(), numbers: numbers.clone() };
        return feed_blocks(config, args, &feed, &blocks).await;
    }
    ensure!(args.wallet.len() <= 1, "tables are read from the perspective of one wallet");
    let mut found = Vec::new();
    for source in &args.sources {
        found.extend(tables(source).await?);
    }
    ensure!(!found.is_empty(), "no table is named");
    let nats = Nats::connect(&args.nats.settings(config), "feed").await?;
    let bar = ProgressBar::new_spinner();
    bar.set_style(ProgressStyle::with_template(PROGRESS)?);
    let mut sum = Fed::default();
    let mut fed_before = 0_usize;
    for table in &found {
        bar.set_message(safe(&table.shown));
        let mut note = |rows| bar.inc(rows);
        let fed = tokio::select! {
            fed = feed.table(&nats, &registry, table, &mut note) => fed?,
            _ = tokio::signal::ctrl_c() => {
                bar.finish_and_clear();
                anyhow::bail!("stopped; the same command goes on where it stopped");
            }
        };
        let (Fed { rows, batches, skipped, repeated }, understood) = fed;
        match understood {
            Some(understood) => bar.suspend(|| print(&format!("{}: {}", safe(&table.shown), told(&understood)))),
            None => fed_before = fed_before.saturating_add(1),
        }
        sum.rows = sum.rows.saturating_add(rows);
        sum.batches = sum.batches.saturating_add(batches);
        sum.skipped = sum.skipped.saturating_add(skipped);
        sum.repeated = sum.repeated.saturating_add(repeated);
    }
    bar.finish_and_clear();
    nats.flush().await;
    print(&format!("{} transactions in {} batches to lane {}\n", sum.rows, sum.batches, args.lane));
    if sum.repeated > 0 {
        print(&format!("{} of the batches were there already, and are not read twice\n", sum.repeated));
    }
    if fed_before > 0 {
        print(&format!("{fed_before} tables were fed before; --again feeds them once more\n"));
    }
    Ok(ExitCode::SUCCESS)
}

async fn feed_blocks(config: &Config, args: &Args, feed: &Feed, blocks: &Blocks) -> anyhow::Result<ExitCode> {
    let nats = Nats::connect(&args.nats.settings(config), "feed").await?;
    let bar = ProgressBar::new(blocks.numbers.end.saturating_sub(blocks.numbers.start));
    bar.set_style(ProgressStyle::with_template(BLOCKS_PROGRESS)?);
    let mut note = |count| bar.inc(count);
    let fed = tokio::select! {
        fed = feed.blocks(&nats, blocks, &mut note) => fed?,
        _ = tokio::signal::ctrl_c() => {
            bar.finish_and_clear();
            anyhow::bail!("stopped; the same command goes on where it stopped");
        }
    };
    bar.finish_and_clear();
    nats.flush().await;
    print(&format!("{} blocks of {} to lane {}\n", fed.batches, blocks.chain, args.lane));
    if fed.repeated > 0 {
        print(&format!("{} of them were there already, and are not read twice\n", fed.repeated));
    }
    if fed.skipped > 0 {
        print(&format!("{} of them were fed before; --again feeds them once more\n", fed.skipped));
    }
    Ok(ExitCode::SUCCESS)
}
