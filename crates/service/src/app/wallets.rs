//! What wallets did, in the place of a table: on which chains it is looked up, for which days, and what the sources cannot show. The command line and jobs
//! share it.

use std::collections::{BTreeMap, BTreeSet};

use chains::{History, HistoryError, Period};
use engine::{Account, Chain, Family};
use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::{Reader, explorer_variable};

/// Kinds of things that are told as not listed, and wallets whose lists are told one by one.
const UNSEEN_TOLD_MAX: usize = 100;
pub(crate) const LISTS_TOLD_MAX: usize = 100;

/// Which wallet is looked up on which chain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Searches {
    pub(crate) pairs: Vec<(Account, String)>,
    /// Chains that are served and list no accounts, since no explorer is named for them.
    pub(crate) unlisted: BTreeSet<String>,
}

/// Why wallets cannot be looked up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SearchError {
    #[error("none of the wallets has an address of {0}")]
    OtherFamily(String),
    #[error("no chain that is served has an explorer that lists what {0} did")]
    NoExplorer(Account),
    #[error("no node of Solana is served that lists what {0} did")]
    NoSolana(Account),
    #[error("{chain} has no explorer that lists what {wallet} did")]
    NoExplorerOf { wallet: Account, chain: String },
    #[error("what {wallet} did on {chain} cannot be listed: {error}")]
    Source { wallet: Account, chain: String, error: HistoryError },
    #[error("the first day is later than the last")]
    Days,
}

impl SearchError {
    pub(crate) fn of(error: HistoryError, wallet: Account, chain: &str) -> Self {
        let chain = chain.to_owned();
        match error {
            HistoryError::NoExplorer => Self::NoExplorerOf { wallet, chain },
            error => Self::Source { wallet, chain, error },
        }
    }

    /// What whoever runs the service can set, so that it can be looked up.
    pub(crate) fn remedy(&self) -> Option<String> {
        match self {
            Self::NoExplorer(_) => Some(format!("set {}, or that of another chain", explorer_variable("ethereum"))),
            Self::NoSolana(_) => Some("set TAXON_RPC_SOLANA".to_owned()),
            Self::NoExplorerOf { chain, .. } => {
                Some(format!("set {} to the address of one in the form of Etherscan", explorer_variable(chain)))
            }
            Self::OtherFamily(_) | Self::Source { .. } | Self::Days => None,
        }
    }

    /// Whether it may be otherwise in a while.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Source { error, .. } => error.may_pass(),
            Self::OtherFamily(_) | Self::NoExplorer(_) | Self::NoSolana(_) | Self::NoExplorerOf { .. } | Self::Days => {
                false
            }
        }
    }
}

/// Each wallet on the chain that was named, else on every one of its family that lists accounts.
pub(crate) fn searches(reader: &Reader, wallets: &[Account], named: Option<&Chain>) -> Result<Searches, SearchError> {
    if let Some(chain) = named {
        let has_one = wallets.iter().any(|wallet| family(wallet) == chain.family);
        if !has_one {
            return Err(SearchError::OtherFamily(chain.name.clone()));
        }
    }
    let lists = |slug: &str| reader.upstreams.that_list_accounts().any(|chain| chain.slug == slug);
    let mut searches = Searches::default();
    for wallet in wallets {
        let family = family(wallet);
        if let Some(chain) = named.filter(|chain| chain.family == family) {
            if !lists(&chain.slug) {
                return Err(SearchError::NoExplorerOf { wallet: *wallet, chain: chain.slug.clone() });
            }
            searches.pairs.push((*wallet, chain.slug.clone()));
            continue;
        }
        let of_family = |chain: &&std::sync::Arc<Chain>| chain.family == family;
        let listing: Vec<&str> =
            reader.upstreams.that_list_accounts().filter(of_family).map(|chain| chain.slug.as_str()).collect();
        if listing.is_empty() {
            return Err(match family {
                Family::Evm => SearchError::NoExplorer(*wallet),
                Family::Solana => SearchError::NoSolana(*wallet),
            });
        }
        let served = reader.upstreams.chains().filter(of_family).map(|chain| chain.slug.as_str());
        searches.unlisted.extend(served.filter(|slug| !listing.contains(slug)).map(str::to_owned));
        searches.pairs.extend(listing.iter().map(|slug| (*wallet, (*slug).to_owned())));
    }
    Ok(searches)
}

fn family(wallet: &Account) -> Family {
    match wallet {
        Account::Evm(_) => Family::Evm,
        Account::Solana(_) => Family::Solana,
    }
}

/// A day as people write it to machines.
pub(crate) fn day(text: &str) -> Result<Date, String> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') && text.len() == 10;
    text.parse().ok().filter(|_| is_plain).ok_or_else(|| "a day is written like 2024-12-31".to_owned())
}

/// From the first second of one day to the last of another, in UTC.
pub(crate) fn period(from: Option<Date>, to: Option<Date>) -> Result<Period, SearchError> {
    if from.zip(to).is_some_and(|(from, to)| from > to) {
        return Err(SearchError::Days);
    }
    // Days past those that a timestamp has have no end: nothing lies behind them.
    let begin = |day: Date| day.to_zoned(TimeZone::UTC).ok().map(|day| day.timestamp().as_second());
    let last = |day: Date| begin(day.checked_add(1.day()).ok()?).map(|second| second.saturating_sub(1));
    Ok(Period { from: from.and_then(begin), to: to.and_then(last) })
}

/// What was found of wallets, and what was not looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Found {
    /// Transactions, each once for each wallet.
    pub(crate) count: usize,
    /// Wallets that have any, the first 100.
    pub(crate) wallets: Vec<FoundList>,
    /// What the sources do not list.
    pub(crate) unseen: Vec<Unseen>,
    /// Chains that were not looked at, since no explorer is named for them.
    pub(crate) unlisted: BTreeSet<String>,
    pub(crate) from: Option<String>,
    pub(crate) to: Option<String>,
}

/// One wallet on one chain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct FoundList {
    pub(crate) wallet: String,
    pub(crate) chain: String,
    pub(crate) count: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Unseen {
    /// A sentence without its stop.
    pub(crate) what: String,
    pub(crate) chains: BTreeSet<String>,
}

/// Adds up what sources say of themselves.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    count: usize,
    wallets: Vec<FoundList>,
    unseen: BTreeMap<String, BTreeSet<String>>,
}

impl Tally {
    pub(crate) fn add(&mut self, history: &History, wallet: Account, chain: &str) {
        let count = total(history);
        self.count = self.count.saturating_add(count);
        if count > 0 && self.wallets.len() < LISTS_TOLD_MAX {
            self.wallets.push(FoundList { wallet: wallet.to_string(), chain: chain.to_owned(), count });
        }
        for what in &history.unseen {
            if self.unseen.len() < UNSEEN_TOLD_MAX || self.unseen.contains_key(what) {
                self.unseen.entry(what.clone()).or_default().insert(chain.to_owned());
            }
        }
    }

    pub(crate) fn found(self, unlisted: BTreeSet<String>) -> Found {
        let unseen = self.unseen.into_iter().map(|(what, chains)| Unseen { what, chains }).collect();
        Found { count: self.count, wallets: self.wallets, unseen, unlisted, from: None, to: None }
    }
}

/// How many transactions a source has listed.
pub(crate) fn total(history: &History) -> usize {
    history.lists.iter().map(|list| list.new).fold(0, usize::saturating_add)
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
        assert_eq!(super::period(None, Some(day("9999-12-31"))), Ok(Period::default()));
        for text in ["2024-13-01", "2023-02-29", "20240101", "2024-01-01T10", "1.1.2024", "", "-024-01-01"] {
            assert!(super::day(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_told_of_many_wallets_is_bounded() {
        let wallet = Account::parse("0x70997970C51812dc3A010C7d01b50e0d17dc79C8").unwrap();
        let mut tally = Tally::default();
        for number in 0..1_000 {
            let lists = vec![chains::ListCount { what: "transactions".to_owned(), new: number }];
            tally.add(&History { lists, unseen: vec![format!("thing {number}")] }, wallet, "local");
        }
        let found = tally.found(BTreeSet::new());
        assert_eq!((found.count, found.wallets.len(), found.unseen.len()), (499_500, LISTS_TOLD_MAX, UNSEEN_TOLD_MAX));
    }
}
