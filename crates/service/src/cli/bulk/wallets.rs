//! Wallets in the place of a table: their transactions are looked up on the chains that list what an account did.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use books::asked::{Asked, ROWS_MAX};
use chains::{History, HistoryError, Period};
use engine::question::OWN_WALLETS_MAX;
use engine::{Account, Family};
use indicatif::{ProgressBar, ProgressStyle};
use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::app::{self, Reader};
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

/// From the first second of one day to the last of another, in UTC.
pub(super) fn period(from: Option<Date>, to: Option<Date>) -> anyhow::Result<Period> {
    ensure!(from.zip(to).is_none_or(|(from, to)| from <= to), "--from is later than --to");
    let begin = |day: Date| anyhow::Ok(day.to_zoned(TimeZone::UTC)?.timestamp().as_second());
    let last = |day: Date| anyhow::Ok(begin(day.checked_add(1.day())?)?.saturating_sub(1));
    Ok(Period { from: from.map(begin).transpose()?, to: to.map(last).transpose()? })
}

/// A day as it is written on the command line.
pub(super) fn day(text: &str) -> Result<Date, String> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') && text.len() == 10;
    text.parse().ok().filter(|_| is_plain).ok_or_else(|| "a day is written like 2024-12-31".to_owned())
}

/// Every transaction of each wallet, read from its own perspective. What was found is told, and what the sources cannot show.
pub(super) async fn rows(
    reader: &Reader,
    wallets: &[Account],
    chain: Option<&str>,
    period: Period,
) -> anyhow::Result<Vec<Asked>> {
    let searches = searches(reader, wallets, chain)?;
    let mut rows = Vec::new();
    // By what is not listed: on which chains.
    let mut unseen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (wallet, slug) in searches {
        let bar = ProgressBar::new_spinner().with_style(ProgressStyle::with_template(PROGRESS)?);
        bar.set_message(format!("{wallet} on {slug}"));
        let mut take = |hash| {
            bar.inc(1);
            rows.push(Asked { hash, chain: Some(slug.clone()), wallet: Some(wallet) });
        };
        let history = reader.upstreams.history(&slug, wallet, period, &mut take).await;
        bar.finish_and_clear();
        let history = history.map_err(|error| failure(error, wallet, &slug))?;
        ensure!(rows.len() <= ROWS_MAX, "more than {ROWS_MAX} transactions; take a shorter period");
        print(&told(&history, wallet, &slug));
        for what in history.unseen {
            unseen.entry(what).or_default().insert(slug.clone());
        }
    }
    for (what, chains) in unseen {
        let chains: Vec<String> = chains.into_iter().collect();
        print(&format!("  not listed on {}: {}\n", chains.join(", "), safe(&what)));
    }
    Ok(rows)
}

/// Which wallet is looked up on which chain: on the one that was named, else on every one of its family that lists accounts.
fn searches(reader: &Reader, wallets: &[Account], chain: Option<&str>) -> anyhow::Result<Vec<(Account, String)>> {
    let named = chain.map(|name| {
        let known = reader.registry.find(name).filter(|chain| reader.upstreams.serves(&chain.slug));
        known.with_context(|| format!("no chain that is served is called `{}`", safe(name)))
    });
    let named = named.transpose()?;
    if let Some(chain) = named {
        let has_one = wallets.iter().any(|wallet| family(wallet) == chain.family);
        ensure!(has_one, "none of the wallets has an address of {}", chain.name);
    }
    let mut searches = Vec::new();
    let mut unlisted = BTreeSet::new();
    for wallet in wallets {
        let family = family(wallet);
        if let Some(chain) = named.filter(|chain| chain.family == family) {
            searches.push((*wallet, chain.slug.clone()));
            continue;
        }
        let of_family = |chain: &&std::sync::Arc<engine::Chain>| chain.family == family;
        let listing: Vec<&str> =
            reader.upstreams.that_list_accounts().filter(of_family).map(|chain| chain.slug.as_str()).collect();
        let served = reader.upstreams.chains().filter(of_family).map(|chain| chain.slug.as_str());
        unlisted.extend(served.filter(|slug| !listing.contains(slug)));
        ensure!(!listing.is_empty(), "{}", nowhere(family, wallet));
        searches.extend(listing.iter().map(|slug| (*wallet, (*slug).to_owned())));
    }
    if !unlisted.is_empty() {
        let unlisted: Vec<&str> = unlisted.into_iter().collect();
        print(&format!("not looked at, since no explorer is named for them: {}\n", unlisted.join(", ")));
    }
    Ok(searches)
}

fn family(wallet: &Account) -> Family {
    match wallet {
        Account::Evm(_) => Family::Evm,
        Account::Solana(_) => Family::Solana,
    }
}

fn nowhere(family: Family, wallet: &Account) -> String {
    match family {
        Family::Evm => format!(
            "no chain that is served has an explorer that lists what {wallet} did: set {}, or that of another chain",
            app::explorer_variable("ethereum")
        ),
        Family::Solana => format!("no node of Solana is served that lists what {wallet} did: set TAXON_RPC_SOLANA"),
    }
}

fn failure(error: HistoryError, wallet: Account, slug: &str) -> anyhow::Error {
    match error {
        HistoryError::NoExplorer => anyhow::anyhow!(
            "{slug} has no explorer that lists what {wallet} did: set {} to the address of one in the form of Etherscan",
            app::explorer_variable(slug)
        ),
        error => anyhow::anyhow!("what {wallet} did on {slug} cannot be listed: {error}"),
    }
}

fn told(history: &History, wallet: Account, slug: &str) -> String {
    let total = history.lists.iter().map(|list| list.new).fold(0, usize::saturating_add);
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
    fn days_are_whole_and_in_utc() {
        let day = |text: &str| day(text).unwrap();
        let period = period(Some(day("2024-02-29")), Some(day("2024-02-29"))).unwrap();
        // date -u -d 2024-02-29 +%s
        assert_eq!(period, Period { from: Some(1_709_164_800), to: Some(1_709_164_800 + 86_399) });
        assert!(super::period(Some(day("2024-03-01")), Some(day("2024-02-29"))).is_err());
        for text in ["2024-13-01", "2023-02-29", "20240101", "2024-01-01T10", "1.1.2024", "", "-024-01-01"] {
            assert!(super::day(text).is_err(), "{text}");
        }
    }

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
