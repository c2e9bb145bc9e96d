//! `taxon classify`

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::bail;
use engine::classification::AssetLeg;
use engine::policy::KEYS;
use engine::{Account, Classification, Policy, Question, TxHash};

use super::terminal::{print, safe, table};
use crate::app::DISCLAIMER;
use crate::app::{self, BATCH_ITEMS_MAX, Demo, Item};
use crate::config::Config;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Transaction hashes: EVM (0x…) or Solana signatures
    #[arg(required = true, value_parser = |text: &str| TxHash::parse(text))]
    hashes: Vec<TxHash>,
    /// Chain slug or alias; detected when left out
    #[arg(long)]
    chain: Option<String>,
    /// Read from this wallet's perspective
    #[arg(long, value_parser = |text: &str| Account::parse(text))]
    wallet: Option<Account>,
    /// House position, such as lp=non_taxable; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = policy_choice)]
    policy: Vec<(String, String)>,
    /// Also look on the demo chain
    #[arg(long)]
    demo: bool,
    /// Print the answers as JSON, one a line
    #[arg(long)]
    json: bool,
    /// Write every exchange with the upstreams to a file
    #[arg(long, value_name = "FILE", hide = true)]
    record: Option<PathBuf>,
}

fn policy_choice(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write it as key=value, such as lp=non_taxable")?;
    let mut policy = Policy::default();
    policy.set(key, value);
    if policy == Policy::default() {
        let known: Vec<String> = KEYS
            .iter()
            .map(|row| format!("{} ({})", row.name, row.choices.each_ref().map(|choice| choice.name).join(" or ")))
            .collect();
        return Err(format!("known are {}", known.join(", ")));
    }
    Ok((key.to_owned(), value.to_owned()))
}

pub(super) async fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let demo = if args.demo { Demo::On } else { Demo::Off };
    let reader = Arc::new(app::reader(config, demo, args.record.as_deref())?);
    let mut policy = Policy::default();
    for (key, value) in &args.policy {
        policy.set(key, value);
    }
    let question = Question { wallet: args.wallet, policy, explain: args.json, ..Question::default() };
    let item = |hash: &TxHash| Item { hash: *hash, tx_id: None, chain: args.chain.clone(), question: question.clone() };
    let mut failed = false;
    for hashes in args.hashes.chunks(BATCH_ITEMS_MAX) {
        for result in reader.rows(hashes.iter().map(item).collect()).await {
            failed |= result.error.is_some();
            if args.json {
                print(&format!("{}\n", serde_json::to_string(&result)?));
            } else {
                print(&page(&result));
            }
        }
    }
    if !args.json {
        print(&format!("{DISCLAIMER}\n"));
    }
    if failed {
        bail!("not every transaction could be classified");
    }
    Ok(ExitCode::SUCCESS)
}

fn page(result: &Classification) -> String {
    let unknown = || "?".to_owned();
    let mut rows = vec![
        vec!["Hash".to_owned(), result.hash.clone().unwrap_or_else(unknown)],
        vec!["Chain".to_owned(), result.chain.clone().unwrap_or_else(unknown)],
    ];
    let mut row = |name: &str, value: Option<String>| rows.extend(value.map(|value| vec![name.to_owned(), value]));
    row("Error", result.error.map(str::to_owned));
    row("When", result.block.as_ref().map(|block| block.timestamp.clone()));
    row("Wallet", result.perspective.map(|wallet| wallet.to_string()));
    row("Category", Some(result.category.name().to_owned()));
    let taxable = match result.taxable {
        Some(true) => "taxable",
        Some(false) => "not taxable",
        None => "undetermined: please review",
    };
    row("Treatment", Some(format!("{} ({taxable})", result.treatment.name())));
    row("Confidence", Some(result.confidence.to_string()));
    row("Protocol", result.protocol.clone());
    for leg in &result.assets.sent {
        row("Sent", Some(written(leg)));
    }
    for leg in &result.assets.received {
        row("Received", Some(written(leg)));
    }
    row("Gas", result.assets.gas.as_ref().map(written));
    row("Reading", result.description.clone());
    row("Review", result.review_note.clone());
    row("Grey area", result.grey_area.as_ref().and_then(|grey| grey.note.clone()));
    let body = table(&[], rows);
    format!("{body}\n")
}

fn written(leg: &AssetLeg) -> String {
    let symbol = safe(leg.display_symbol.as_ref().unwrap_or(&leg.symbol));
    let id = leg.token_id.as_ref().map(|id| format!(" #{id}")).unwrap_or_default();
    let inferred = if leg.inferred { " (inferred)" } else { "" };
    format!("{} {symbol}{id}{inferred}", leg.amount)
}
