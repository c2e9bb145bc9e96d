//! `taxon classify`

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::bail;
use engine::classification::{AssetLeg, Assets, Posting, Side, Step};
use engine::policy::KEYS;
use engine::{Account, Classification, Policy, Question, TxHash};

use super::terminal::{print, safe, table};
use crate::app::{self, BATCH_ITEMS_MAX, DISCLAIMER, Demo, Item};
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

pub(super) fn policy_choice(text: &str) -> Result<(String, String), String> {
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

pub(super) fn policy_of(choices: &[(String, String)]) -> Policy {
    let mut policy = Policy::default();
    for (key, value) in choices {
        policy.set(key, value);
    }
    policy
}

pub(super) async fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let demo = if args.demo { Demo::On } else { Demo::Off };
    let reader = Arc::new(app::reader(config, demo, args.record.as_deref())?);
    let policy = policy_of(&args.policy);
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
    if let Some(error) = result.error {
        return failure(result, error);
    }
    let unknown = || "?".to_owned();
    let mut rows = vec![
        vec!["Hash".to_owned(), result.hash.clone().unwrap_or_else(unknown)],
        vec!["Chain".to_owned(), result.chain.clone().unwrap_or_else(unknown)],
    ];
    let mut row = |name: &str, value: Option<String>| rows.extend(value.map(|value| vec![name.to_owned(), value]));
    row("When", result.block.as_ref().map(|block| block.timestamp.clone()));
    row("Wallet", result.perspective.map(|wallet| wallet.to_string()));
    let parties = result.parties.iter().flatten().map(ToString::to_string).collect::<Vec<_>>();
    row("Moved for", (!parties.is_empty()).then(|| parties.join("\n")));
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
    let mut page = format!("{}\n", table(&[], rows));
    if let Some(steps) = result.legs.as_deref().filter(|steps| !steps.is_empty()) {
        page.push_str(&format!("{}\n", steps_table(steps)));
    }
    if let Some(postings) = result.postings.as_deref().filter(|postings| !postings.is_empty()) {
        page.push_str(&format!("{}\n", postings_table(postings, &result.assets)));
    }
    page
}

/// An item that was not classified has no category and no treatment to show.
fn failure(result: &Classification, error: &str) -> String {
    let rows = [
        ("Hash", result.hash.clone()),
        ("Chain", result.chain.clone()),
        ("Error", Some(format!("{error}: not classified, do not book it"))),
        ("Reason", result.review_note.clone()),
    ];
    let rows = rows.into_iter().filter_map(|(name, value)| Some(vec![name.to_owned(), value?]));
    format!("{}\n", table(&[], rows))
}

/// Numbered from 1, as on the page of a reading.
fn steps_table(steps: &[Step]) -> String {
    let row = |step: &Step| {
        let number = step.leg_index.saturating_add(1);
        vec![number.to_string(), step.category.name().to_owned(), step.description.clone()]
    };
    table(&["Step", "Category", "Description"], steps.iter().map(row))
}

fn postings_table(postings: &[Posting], assets: &Assets) -> String {
    let row = |posting: &Posting| {
        let side = match posting.side {
            Side::Sent => "sent",
            Side::Received => "received",
            Side::Gas => "gas",
        };
        let taxable = match posting.taxable {
            Some(true) => "yes",
            Some(false) => "no",
            None => "undetermined",
        };
        let symbol = assets.leg_of(posting).map_or_else(|| "?".to_owned(), symbol);
        let entry = posting.entry.name().to_owned();
        let category = posting.category.name().to_owned();
        vec![side.to_owned(), entry, posting.amount.clone(), symbol, category, taxable.to_owned()]
    };
    table(&["Posting", "Entry", "Amount", "Symbol", "Category", "Taxable"], postings.iter().map(row))
}

fn written(leg: &AssetLeg) -> String {
    let inferred = if leg.inferred { " (inferred)" } else { "" };
    format!("{} {}{inferred}", leg.amount, symbol(leg))
}

/// The symbol, and which one of an NFT.
fn symbol(leg: &AssetLeg) -> String {
    let id = leg.token_id.as_ref().map(|id| format!(" #{id}")).unwrap_or_default();
    format!("{}{id}", safe(leg.shown_symbol()))
}

#[cfg(test)]
mod tests {
    use engine::classification::{Action, Entry};
    use engine::treatment::Treatment;

    use super::*;

    /// A user operation on the demo chain: tokens are sent, which is not taxable, and its fee is paid, which is.
    const OPERATION: &str = "0xfa49f6b701c970fb20304a450f22ac60928d43e2f51985bdfa1a5a4f5f466c63";

    fn fields(line: &str) -> Vec<&str> {
        line.split_whitespace().collect()
    }

    async fn read(hash: &str) -> Classification {
        let folder = tempfile::tempdir().unwrap();
        let reader = Arc::new(app::reader(&crate::fuzzing::demo_config(&folder), Demo::On, None).unwrap());
        let hash = TxHash::parse(hash).unwrap();
        let item = Item { hash, tx_id: None, chain: Some("demo".to_owned()), question: Question::default() };
        let rows = reader.rows(vec![item]).await;
        (**rows.first().unwrap()).clone()
    }

    #[tokio::test]
    async fn steps_and_postings_are_printed_a_line_each() {
        let row = read(OPERATION).await;
        let page = page(&row);
        let lines: Vec<&str> = page.lines().collect();
        for step in row.legs.as_ref().unwrap() {
            let start = [(step.leg_index + 1).to_string(), step.category.name().to_owned()];
            let is_step = |line: &&str| fields(line).starts_with(&start.each_ref().map(String::as_str));
            let line = lines.iter().copied().find(is_step).unwrap_or_else(|| panic!("{start:?}: {page}"));
            assert!(line.ends_with(&step.description), "{line}");
        }
        let header = "Posting Entry Amount Symbol Category Taxable";
        let at = lines.iter().position(|line| fields(line).join(" ") == header).unwrap();
        let postings = row.postings.as_ref().unwrap();
        let printed: Vec<Vec<&str>> = lines[at + 1..].iter().take(postings.len()).map(|line| fields(line)).collect();
        for (entry, category, taxable) in [("move_out", "transfer", "no"), ("expense", "fee_payment", "yes")] {
            let is_told = |line: &Vec<&str>| (line[1], line[4], line[5]) == (entry, category, taxable);
            assert!(printed.iter().any(is_told), "{entry}: {page}");
        }
        for (posting, line) in postings.iter().zip(&printed) {
            assert_eq!(line[1..3], [posting.entry.name(), &posting.amount], "{page}");
            assert_eq!(line[4], posting.category.name(), "{page}");
        }
        let columns: Vec<usize> =
            lines[at..=at + postings.len()].iter().map(|line| line.rfind(fields(line)[5]).unwrap()).collect();
        assert!(columns.iter().all(|column| *column == columns[0]), "aligned: {page}");
    }

    #[test]
    fn what_strangers_wrote_does_not_drive_the_terminal() {
        let leg = |symbol: &str| AssetLeg {
            symbol: symbol.to_owned(),
            amount: "1".to_owned(),
            action: Action::Received,
            decimals: None,
            token_address: None,
            token_name: None,
            to: None,
            from: None,
            token_type: None,
            token_id: Some("7\u{1b}[2J".to_owned()),
            symbol_collision: true,
            display_symbol: Some(format!("{symbol}\n\u{202e}")),
            inferred: false,
            inferred_basis: None,
        };
        let assets = Assets { received: vec![leg("USDC\u{1b}[31m")], ..Assets::default() };
        let posting = Posting {
            side: Side::Received,
            index: 0,
            amount: "1".to_owned(),
            entry: Entry::Ignore,
            category: engine::Category::Spam,
            treatment: Treatment::NonTaxable,
            taxable: Some(false),
            step: None,
        };
        let nowhere = Posting { index: 9, ..posting.clone() };
        let printed = postings_table(&[posting, nowhere], &assets);
        assert_eq!(printed.lines().count(), 3, "{printed}");
        assert!(!printed.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{printed:?}");
    }

    #[tokio::test]
    async fn a_hash_that_failed_has_no_treatment() {
        let row = read(&format!("0x{}", "ab".repeat(32))).await;
        let page = page(&row);
        assert!(page.contains(&format!("{}: not classified", row.error.unwrap())), "{page}");
        assert!(page.contains(row.review_note.as_deref().unwrap()), "{page}");
        for word in ["needs_review", "please review", "unclassified", "Confidence"] {
            assert!(!page.contains(word), "{word}: {page}");
        }
    }
}
