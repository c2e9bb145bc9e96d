//! The chart of accounts: which account stands on the other side of a posting. It is data, so that an accountant brings her own.

use engine::classification::Entry;
use engine::{Account, Category};
use serde::Deserialize;

use crate::line::Line;

const EMBEDDED: &str = include_str!("../accounts.toml");
/// Parts of an account's name that stand for something of the posting.
const PLACEHOLDERS: [&str; 4] = ["{wallet}", "{chain}", "{protocol}", "{category}"];
/// What stands for a protocol that nobody named.
const UNNAMED: &str = "Unnamed";

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// The wallet's own account.
    wallet: AccountName,
    account: Vec<AccountRow>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct AccountName {
    account: String,
    #[serde(default)]
    code: Option<String>,
}

/// What a row leaves out fits anything.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct AccountRow {
    #[serde(default)]
    entry: Vec<Entry>,
    #[serde(default)]
    category: Vec<Category>,
    /// The token's address, or the symbol of the native coin.
    #[serde(default)]
    asset: Vec<String>,
    #[serde(default)]
    protocol: Vec<String>,
    #[serde(default)]
    wallet: Vec<String>,
    account: String,
    #[serde(default)]
    code: Option<String>,
}

/// An account with its parts, which a ledger joins in its own way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Booked {
    pub parts: Vec<String>,
    pub code: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ChartError {
    #[error("the chart of accounts is refused: {0}")]
    Refused(#[from] toml::de::Error),
    #[error("the chart of accounts names none for a posting of `{0}`")]
    Incomplete(&'static str),
    #[error(
        "the account `{0}` has a part that nobody knows: known are {{wallet}}, {{chain}}, {{protocol}} and {{category}}, each alone between colons"
    )]
    UnknownPart(String),
}

/// Every entry that a posting can have.
const ENTRIES: [Entry; 15] = [
    Entry::Dispose,
    Entry::Acquire,
    Entry::Income,
    Entry::Expense,
    Entry::CarryOut,
    Entry::CarryIn,
    Entry::MoveOut,
    Entry::MoveIn,
    Entry::Lock,
    Entry::Unlock,
    Entry::Borrow,
    Entry::Repay,
    Entry::Mirror,
    Entry::Ignore,
    Entry::Open,
];

impl Chart {
    /// The one that comes with taxon.
    pub fn embedded() -> Result<Self, ChartError> {
        Self::parse(EMBEDDED)
    }

    /// Refused where some entry has no account whatever the posting: nothing may be lost.
    pub fn parse(text: &str) -> Result<Self, ChartError> {
        let chart: Self = toml::from_str(text)?;
        let is_covered = |entry: &Entry| {
            chart.account.iter().any(|row| {
                let fits_any =
                    row.category.is_empty() && row.asset.is_empty() && row.protocol.is_empty() && row.wallet.is_empty();
                fits_any && (row.entry.is_empty() || row.entry.contains(entry))
            })
        };
        let names = chart.account.iter().map(|row| &row.account).chain([&chart.wallet.account]);
        let is_known = |part: &str| PLACEHOLDERS.contains(&part) || !part.contains(['{', '}']);
        for name in names {
            if !name.split(':').all(is_known) {
                return Err(ChartError::UnknownPart(name.clone()));
            }
        }
        match ENTRIES.iter().find(|entry| !is_covered(entry)) {
            Some(entry) => Err(ChartError::Incomplete(entry.name())),
            None => Ok(chart),
        }
    }

    /// The wallet's account.
    pub fn wallet(&self, line: &Line<'_>) -> Booked {
        booked(&self.wallet.account, self.wallet.code.as_ref(), line)
    }

    /// The account on the other side.
    pub fn other(&self, line: &Line<'_>) -> Option<Booked> {
        let row = self.account.iter().find(|row| row.fits(line))?;
        Some(booked(&row.account, row.code.as_ref(), line))
    }
}

impl AccountRow {
    fn fits(&self, line: &Line<'_>) -> bool {
        let is_among = |names: &[String], name: Option<String>| {
            names.is_empty() || name.is_some_and(|name| names.iter().any(|one| one.eq_ignore_ascii_case(&name)))
        };
        let token = line.leg.token_address.as_ref().map(Account::to_string);
        let wallet = line.row.perspective.as_ref().map(Account::to_string);
        (self.entry.is_empty() || self.entry.contains(&line.entry()))
            && (self.category.is_empty() || self.category.contains(&line.posting.category))
            && is_among(&self.asset, token.or_else(|| Some(line.leg.symbol.clone())))
            && is_among(&self.protocol, line.row.protocol.clone())
            && is_among(&self.wallet, wallet)
    }
}

fn booked(template: &str, code: Option<&String>, line: &Line<'_>) -> Booked {
    let value = |part: &str| match part {
        "{wallet}" => line.row.perspective.as_ref().map_or(UNNAMED.to_owned(), Account::to_string),
        "{chain}" => line.row.chain.as_deref().map_or(UNNAMED.to_owned(), title),
        "{protocol}" => line.row.protocol.clone().unwrap_or_else(|| UNNAMED.to_owned()),
        "{category}" => title(line.posting.category.name()),
        other => other.to_owned(),
    };
    Booked { parts: template.split(':').map(value).collect(), code: code.cloned() }
}

/// `fee_payment` as `FeePayment`.
fn title(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>()
    };
    name.split(['_', '-']).map(capital).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chart_that_comes_with_taxon_is_whole() {
        Chart::embedded().expect("it loads");
    }

    #[test]
    fn a_chart_that_would_lose_a_posting_is_refused() {
        let chart = "wallet = { account = \"A\" }\n[[account]]\nentry = [\"dispose\"]\naccount = \"B\"\n";
        let error = Chart::parse(chart).expect_err("it is refused");
        assert_eq!(error.to_string(), "the chart of accounts names none for a posting of `acquire`");
        assert!(Chart::parse("wallet = 7").is_err());
    }
}
