//! `taxon bulk`: a whole table of transactions, or all of a wallet's, at once, without a service, written as the file of a ledger or a tax tool.
//!
//! Readings are kept in a file beside the output until the output is written, so that a run that was stopped goes on with `--resume`.

mod part;
mod unpriced;
mod wallets;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use books::asked::{self, Asked, FILE_BYTES_MAX, Hints, Understood};
use books::chart::Chart;
use books::decision::Reading;
use books::formats::{self, FORMATS, Format, Options};
use books::prices::Prices;
use engine::{Account, Question};
use indicatif::{ProgressBar, ProgressStyle};
use jiff::civil::Date;

use super::classify::{policy_choice, policy_of};
use super::terminal::{print, safe};
use super::whole::{WholeFile, folder_of};
use crate::app::{self, BATCH_ITEMS_MAX, DISCLAIMER, Demo, Item, Reader};
use crate::config::Config;
use part::Part;
use unpriced::Unpriced;

const PROGRESS: &str = "{bar:32} {pos} of {len} rows, {per_sec}, {eta} left, {msg}";
/// The code of a row whose wallet is no part of the transaction.
const UNCONCERNED: &str = "wallet_not_in_transaction";
/// Failures and refused rows that are told one by one.
const TOLD_MAX: usize = 20;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A list of hashes or explorer links, a CSV or Parquet with a column of them, or JSON Lines (`-` is standard input); or one or more wallets, whose transactions
    /// are looked up
    #[arg(value_name = "FILE|WALLET", required = true)]
    sources: Vec<PathBuf>,
    /// Where to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[arg(long, value_name = "FORMAT", default_value = "csv", value_parser = format, help = format_help())]
    format: &'static Format,
    /// The column that holds the hashes; guessed when left out
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// Chain slug or alias of rows that name none, detected when left out; of wallets the chain to look on, all that can be looked on when left out
    #[arg(long)]
    chain: Option<String>,
    /// Transactions of wallets from this day on (UTC)
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = app::wallets::day)]
    from: Option<Date>,
    /// Transactions of wallets up to this day, itself counted in (UTC)
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = app::wallets::day)]
    to: Option<Date>,
    /// Read from this wallet's perspective, unless the row names one
    #[arg(long, value_parser = |text: &str| Account::parse(text))]
    wallet: Option<Account>,
    /// House position, such as lp=non_taxable; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = policy_choice)]
    policy: Vec<(String, String)>,
    /// A chart of accounts of your own
    #[arg(long, value_name = "FILE")]
    chart: Option<PathBuf>,
    /// A CSV of prices (time, asset, currency, price), by which postings get values
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// The currency, where the prices are in several
    #[arg(long, value_name = "CODE", requires = "prices")]
    currency: Option<String>,
    /// Also keep the facts of what is read in this folder, as Parquet files for `taxon read`
    #[arg(long, value_name = "DIR")]
    keep_facts: Option<PathBuf>,
    /// Go on where an earlier run stopped, and try again what failed
    #[arg(long)]
    resume: bool,
    /// Also look on the demo chain
    #[arg(long)]
    demo: bool,
}

fn format(name: &str) -> Result<&'static Format, String> {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    formats::find(name).ok_or_else(|| format!("known are {}", names.join(", ")))
}

fn format_help() -> String {
    let formats: Vec<String> = FORMATS.iter().map(|format| format!("{} ({})", format.name, format.about)).collect();
    format!("One of {}", formats.join(", "))
}

/// Where the rows are from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// A person's table: whoever it names as a wallet should be part of the transaction.
    Asked,
    /// A source's lists of a wallet.
    Listed,
}

/// What came of the rows.
#[derive(Default)]
struct Outcome {
    failed: Vec<String>,
    failed_count: usize,
    /// Listed transactions of which the wallet is no part: explorers also list calls that moved nothing, and a token account has a history before it
    /// was the wallet's.
    unconcerned: Vec<String>,
    unconcerned_count: usize,
    stopped: bool,
}

pub(super) async fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    // What can be found wrong beforehand is, since a run may be long.
    let wallets = wallets::named(&args.sources)?;
    check_arguments(args, wallets.is_some())?;
    let period = wallets::period(args.from, args.to)?;
    let chart = chart(args.chart.as_deref())?;
    check_format(args, &chart)?;
    let prices = prices(args)?;
    let reader = Arc::new(app::keeping_reader(
        config,
        if args.demo { Demo::On } else { Demo::Off },
        args.keep_facts.as_deref(),
    )?);
    let rows = match &wallets {
        Some(wallets) => wallets::rows(&reader, wallets, args.chain.as_deref(), period).await?,
        None => table_rows(&reader, args)?,
    };
    let rows_are = if wallets.is_some() { Rows::Listed } else { Rows::Asked };
    // What moves between wallets of one person is no sale.
    let own_wallets = wallets.filter(|wallets| wallets.len() > 1).unwrap_or_default();
    let options = serde_json::json!({
        "engine": reader.knowledge.engine, "policy": args.policy, "wallet": args.wallet, "chain": args.chain, "own_wallets": own_wallets,
    });
    let question = Question { policy: policy_of(&args.policy), own_wallets, ..Question::default() };
    let mut part = Part::open(&args.out, &options, args.resume)?;
    let outcome = read_all(&reader, &question, &rows, rows_are, &mut part).await?;
    if let (Some(keeper), Some(folder)) = (&reader.keeper, &args.keep_facts) {
        let kept = keeper.close().await.with_context(|| format!("facts cannot be kept in {}", folder.display()))?;
        print(&format!("facts of {} transactions in {}\n", kept.rows, folder.display()));
    }
    if outcome.stopped {
        bail!("stopped after {} rows; the same command with --resume goes on", part.len());
    }
    let coins = app::coin_symbols(&reader.registry);
    let (written, unpriced) = write_out(&part, &rows, args, &Options { chart, coins, prices, scratch: app::scratch })?;
    print(&written);
    print(&unpriced.told());
    if outcome.unconcerned_count > 0 {
        let count = outcome.unconcerned_count;
        print(&format!("{count} transactions are listed of a wallet that is no part of them, and left out\n"));
    }
    for hash in &outcome.unconcerned {
        print(&format!("  left out  {hash}\n"));
    }
    for failure in &outcome.failed {
        print(&format!("  not classified  {failure}\n"));
    }
    print(&format!("{DISCLAIMER}\n"));
    if outcome.failed_count > 0 {
        bail!("{} rows could not be classified; the same command with --resume tries them again", outcome.failed_count);
    }
    let left_out = left_out(args.format, &unpriced);
    if left_out > 0 {
        bail!("{left_out} transactions are left out for want of a price; add the prices, and say --resume");
    }
    part.remove()?;
    Ok(ExitCode::SUCCESS)
}

fn chart(path: Option<&Path>) -> anyhow::Result<Chart> {
    let Some(path) = path else { return Ok(Chart::embedded()?) };
    let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    Chart::parse(&text).with_context(|| path.display().to_string())
}

fn check_format(args: &Args, chart: &Chart) -> anyhow::Result<()> {
    let (format, has_prices) = (args.format, args.prices.is_some());
    ensure!(has_prices || !format.needs_prices(), "{} is in a currency: it needs --prices FILE", format.name);
    ensure!(!has_prices || format.takes_prices(), "{} takes no prices: leave --prices out", format.name);
    match chart.without_code().filter(|_| format.needs_codes) {
        Some(account) => bail!("{} knows accounts by their codes, and the chart has none for {account}", format.name),
        None => Ok(()),
    }
}

/// Transactions that a format in a currency has no price for.
fn left_out(format: &Format, unpriced: &Unpriced) -> usize {
    if format.needs_prices() { unpriced.transactions } else { 0 }
}

fn prices(args: &Args) -> anyhow::Result<Option<Prices>> {
    let Some(path) = args.prices.as_deref() else { return Ok(None) };
    let file = File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let prices = Prices::read(file, args.currency.as_deref()).with_context(|| path.display().to_string())?;
    Ok(Some(prices))
}

/// What the table asks for, with the chains by their own names. How it was understood is told.
fn table_rows(reader: &Reader, args: &Args) -> anyhow::Result<Vec<Asked>> {
    let path = args.sources.first().context("no table is named")?;
    let explorers = app::explorer_hosts(&reader.registry);
    let hints =
        Hints { column: args.column.as_deref(), wallet: args.wallet, explorers: &explorers, ..Hints::default() };
    let (mut rows, understood) = table(path, &hints)?;
    print(&told(&understood));
    ensure!(!rows.is_empty(), "no row names a transaction");
    name_chains(reader, args.chain.as_deref(), &mut rows)?;
    Ok(rows)
}

/// What the table asks for. Standard input is read to its end first.
fn table(path: &Path, hints: &Hints<'_>) -> anyhow::Result<(Vec<Asked>, Understood)> {
    let mut rows = Vec::new();
    let mut take = |row| {
        rows.push(row);
        true
    };
    let understood = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().take(FILE_BYTES_MAX.saturating_add(1)).read_to_end(&mut bytes)?;
        asked::understand(Cursor::new(bytes), hints, &mut take)
    } else {
        let file = File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
        asked::understand(file, hints, &mut take)
    };
    let understood = understood.with_context(|| path.display().to_string())?;
    Ok((rows, understood))
}

/// How the table was understood, so that a person sees what was guessed.
pub(super) fn told(understood: &Understood) -> String {
    let columns = &understood.columns;
    let mut out = format!("{} transactions, from column `{}`", understood.count, safe(&columns.hash));
    for (what, column) in [("chain", &columns.chain), ("wallet", &columns.wallet)] {
        if let Some(column) = column {
            let _ = write!(out, ", {what} from `{}`", safe(column));
        }
    }
    for (count, what) in [
        (understood.repeated, "repeated"),
        (understood.empty, "without a hash"),
        (understood.unread_wallets, "with a wallet that is no address"),
        (understood.refused_count, "refused"),
    ] {
        if count > 0 {
            let _ = write!(out, "; {count} rows {what}");
        }
    }
    out.push('\n');
    for refusal in understood.refused.iter().take(TOLD_MAX) {
        let _ = writeln!(out, "  row {}, column `{}`: {}", refusal.row, safe(&refusal.column), safe(&refusal.what));
    }
    out
}

fn check_arguments(args: &Args, has_wallets: bool) -> anyhow::Result<()> {
    let out = &args.out;
    ensure!(!out.exists() || out.is_file(), "{} is no file", out.display());
    let folder = folder_of(out);
    ensure!(folder.is_dir(), "{} is no folder", folder.display());
    part::check(out, args.resume)?;
    if has_wallets {
        ensure!(args.wallet.is_none() && args.column.is_none(), "--wallet and --column are for tables");
        return Ok(());
    }
    ensure!(args.from.is_none() && args.to.is_none(), "--from and --to are for wallets");
    let is_out = |table: PathBuf| out.canonicalize().ok() == Some(table);
    let is_same = args.sources.iter().filter_map(|table| table.canonicalize().ok()).any(is_out);
    ensure!(!is_same, "{} would be written over itself", out.display());
    Ok(())
}

/// What a tool calls a chain may be a name of its own: then the transaction is looked for as if the row named none.
fn name_chains(reader: &Reader, default: Option<&str>, rows: &mut [Asked]) -> anyhow::Result<()> {
    let slug = |name: &str| reader.registry.find(name).map(|chain| chain.slug.clone());
    let default =
        default.map(|name| slug(name).with_context(|| format!("no chain is called `{}`", safe(name)))).transpose()?;
    let mut unknown = 0_usize;
    for row in rows {
        let named = row.chain.take();
        let known = named.as_deref().and_then(slug);
        unknown = unknown.saturating_add(usize::from(named.is_some() && known.is_none()));
        row.chain = known.or_else(|| default.clone());
    }
    if unknown > 0 {
        print(&format!("{unknown} rows name a chain by a name that is not known here\n"));
    }
    Ok(())
}

/// Reads what is not there yet, in calls of as many as a batch takes.
async fn read_all(
    reader: &Arc<Reader>,
    question: &Question,
    rows: &[Asked],
    rows_are: Rows,
    part: &mut Part,
) -> anyhow::Result<Outcome> {
    let total = rows.len();
    let rows: Vec<&Asked> = rows.iter().filter(|row| !part.holds(row)).collect();
    let bar = ProgressBar::new(u64::try_from(total).unwrap_or(u64::MAX));
    bar.set_style(ProgressStyle::with_template(PROGRESS)?);
    bar.set_position(u64::try_from(total.saturating_sub(rows.len())).unwrap_or_default());
    bar.reset_eta();
    let mut outcome = Outcome::default();
    let mut stop = std::pin::pin!(tokio::signal::ctrl_c());
    for batch in rows.chunks(BATCH_ITEMS_MAX) {
        let items = batch.iter().map(|row| item(row, question)).collect();
        let answers = tokio::select! {
            answers = reader.rows(items) => answers,
            _ = &mut stop => {
                outcome.stopped = true;
                break;
            }
        };
        for (row, answer) in batch.iter().zip(&answers) {
            match answer.error {
                None => part.push(row, answer)?,
                Some(error) if rows_are == Rows::Listed && error == UNCONCERNED => {
                    outcome.unconcerned_count = outcome.unconcerned_count.saturating_add(1);
                    if outcome.unconcerned.len() < TOLD_MAX {
                        outcome.unconcerned.push(row.hash.to_string());
                    }
                }
                Some(error) => {
                    outcome.failed_count = outcome.failed_count.saturating_add(1);
                    if outcome.failed.len() < TOLD_MAX {
                        outcome.failed.push(format!("{}  {error}", row.hash));
                    }
                }
            }
        }
        part.flush()?;
        bar.inc(u64::try_from(batch.len()).unwrap_or_default());
        bar.set_message(format!("{} for review", part.reviews()));
    }
    bar.finish_and_clear();
    Ok(outcome)
}

fn item(row: &Asked, question: &Question) -> Item {
    let question = Question { wallet: row.wallet, ..question.clone() };
    Item { hash: row.hash, tx_id: None, chain: row.chain.clone(), question }
}

fn write_out(part: &Part, asked: &[Asked], args: &Args, options: &Options) -> anyhow::Result<(String, Unpriced)> {
    let shown = args.out.display();
    let (whole, mut out) = WholeFile::create(&args.out)?;
    let mut count = 0_usize;
    let mut reviews = 0_usize;
    let mut unpriced = Unpriced::default();
    let rows = part.rows(asked)?.inspect(|row| {
        count = count.saturating_add(1);
        reviews = reviews.saturating_add(usize::from(row.as_ref().is_ok_and(|row| row.needs_review)));
        if let (Ok(row), Some(_)) = (row, &options.prices) {
            unpriced.note(row, options.rules());
        }
    });
    let mut rows = rows.map(|row| row.map(Reading::from));
    args.format.write(&mut rows, options, &mut out).with_context(|| format!("{shown} cannot be written"))?;
    whole.finish(out)?;
    drop(rows);
    let count = count.saturating_sub(left_out(args.format, &unpriced));
    Ok((format!("{count} rows in {shown} ({}), {reviews} of them for review\n", args.format.name), unpriced))
}
