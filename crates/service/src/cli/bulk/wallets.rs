//! Wallets in the place of a table: their transactions are looked up on the chains that list what an account did.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use books::asked::{Asked, ROWS_MAX};
use chains::{History, Period};
use engine::Account;
use engine::question::OWN_WALLETS_MAX;
use indicatif::{ProgressBar, ProgressStyle};
use jiff::civil::Date;

use crate::app::Reader;
use crate::app::wallets::{self, SearchError, Searches, Tally, Unseen};
use crate::cli::terminal::{print, safe};

const PROGRESS: &str = "{spinner} {pos} transactions of {msg}";

/// The wallets that the arguments name; `None` where they name a table.
pub(super) fn named(sources: &[PathBuf]) -> anyhow::Result<Option<Vec<Account>>> {
    let account = |source: &PathBuf| source.to_str().and_then(|text| Account::parse(text).ok());
    let accounts: BTreeSet<Account> = sources.iter().filter_map(account).collect();
    match (accounts.is_empty(), sources.iter().find(|source| account(source).is_none())) {
        (true, _) => {
            ensure!(sources.len() == 1, "one table at a time, or one or more wallets");
            Ok(None)
        }
        (false, Some(other)) => bail!("{} is no wallet: one table at a time, or one or more wallets", other.display()),
        (false, None) => {
            ensure!(accounts.len() <= OWN_WALLETS_MAX, "{OWN_WALLETS_MAX} wallets at most");
            Ok(Some(accounts.into_iter().collect()))
        }
    }
}

/// The days that are asked for.
pub(super) fn period(from: Option<Date>, to: Option<Date>) -> anyhow::Result<Period> {
    wallets::period(from, to).map_err(|_| anyhow::anyhow!("--from is later than --to"))
}

/// Every transaction of each wallet, read from its own perspective. What was found is told, and what the sources cannot show.
pub(super) async fn rows(
    reader: &Reader,
    wallets: &[Account],
    chain: Option<&str>,
    period: Period,
) -> anyhow::Result<Vec<Asked>> {
    let Searches { pairs, unlisted } = searches(reader, wallets, chain)?;
    if !unlisted.is_empty() {
        let unlisted: Vec<&str> = unlisted.iter().map(String::as_str).collect();
        print(&format!("not looked at, since no explorer is named for them: {}\n", unlisted.join(", ")));
    }
    let mut rows = Vec::new();
    let mut tally = Tally::default();
    for (wallet, slug) in pairs {
        let bar = ProgressBar::new_spinner().with_style(ProgressStyle::with_template(PROGRESS)?);
        bar.set_message(format!("{wallet} on {slug}"));
        let mut take = |hash| {
            bar.inc(1);
            rows.push(Asked { hash, chain: Some(slug.clone()), wallet: Some(wallet) });
        };
        let history = reader.upstreams.history(&slug, wallet, period, &mut take).await;
        bar.finish_and_clear();
        let history = history.map_err(|error| told_failure(&SearchError::of(error, wallet, &slug)))?;
        ensure!(rows.len() <= ROWS_MAX, "more than {ROWS_MAX} transactions; take a shorter period");
        print(&told(&history, wallet, &slug));
        tally.add(&history, wallet, &slug);
    }
    for Unseen { what, chains } in tally.found(unlisted).unseen {
        let chains: Vec<String> = chains.into_iter().collect();
        print(&format!("  not listed on {}: {}\n", chains.join(", "), safe(&what)));
    }
    Ok(rows)
}

fn searches(reader: &Reader, wallets: &[Account], chain: Option<&str>) -> anyhow::Result<Searches> {
    let named = chain.map(|name| {
        let known = reader.registry.find(name).filter(|chain| reader.upstreams.serves(&chain.slug));
        known.with_context(|| format!("no chain that is served is called `{}`", safe(name)))
    });
    let named = named.transpose()?;
    wallets::searches(reader, wallets, named.map(AsRef::as_ref)).map_err(|error| told_failure(&error))
}

/// Whoever runs the command can also set what is missing.
fn told_failure(error: &SearchError) -> anyhow::Error {
    match error.remedy() {
        Some(remedy) => anyhow::anyhow!("{error}: {remedy}"),
        None => anyhow::anyhow!("{error}"),
    }
}

fn told(history: &History, wallet: Account, slug: &str) -> String {
    let total = wallets::total(history);
    let mut out = format!("{wallet} on {slug}: {total} transactions");
    let found = history.lists.iter().filter(|list| list.new > 0);
    for (at, list) in found.enumerate() {
        let (mark, more) = if at == 0 { (": ", "") } else { (", ", " more") };
        let _ = write!(out, "{mark}{}{more} as {}", list.new, list.what);
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wallets_are_told_from_tables() {
        let named = |sources: &[&str]| named(&sources.iter().map(PathBuf::from).collect::<Vec<_>>());
        let (evm, solana) =
            ("0x70997970C51812dc3A010C7d01b50e0d17dc79C8", "CQWqqEj5H5TMczc3MmjptCCAg1GDYrH9hMDsSnWqsGcm");
        assert_eq!(named(&["table.csv"]).unwrap(), None);
        assert_eq!(named(&["-"]).unwrap(), None);
        assert_eq!(named(&[evm, solana, &evm.to_lowercase()]).unwrap().unwrap().len(), 2, "each once");
        for (sources, complaint) in [
            (vec!["a.csv", "b.csv"], "one table at a time"),
            (vec![evm, "table.csv"], "table.csv is no wallet"),
            (vec![evm, "0x70997970C51812dc3A010C7d01b50e0d17dc79C"], "is no wallet"),
        ] {
            let error = named(&sources).unwrap_err().to_string();
            assert!(error.contains(complaint), "{error}");
        }
    }
}
