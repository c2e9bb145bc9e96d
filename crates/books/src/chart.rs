//! The chart of accounts: which account stands on the other side of a posting. It is data, so that an accountant brings her own.

use engine::classification::Entry;
use engine::{Account, Category};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::line::Line;

const EMBEDDED: &str = include_str!("../accounts.toml");
/// Parts of an account's name that stand for something of the posting.
const PLACEHOLDERS: [&str; 4] = ["{wallet}", "{chain}", "{protocol}", "{category}"];
/// What stands for a protocol that nobody named.
const UNNAMED: &str = "Unnamed";
const ROWS_MAX: usize = 1_000;
/// Assets, protocols and wallets that the rows name, all together.
const NAMES_MAX: usize = 5_000;
const ACCOUNT_BYTES_MAX: usize = 256;
const CODE_BYTES_MAX: usize = 64;
/// Xero's name for it; each country and organisation has names of its own.
const TAX_RATE: &str = "Tax Exempt";

/// A chart of accounts: the first row that fits a posting names the account on its other side. `accounts.toml` has the one that is taken when there is none.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    wallet: AccountName,
    #[schema(max_items = 1_000)]
    account: Vec<AccountRow>,
    /// For Xero, which wants one on every line: the name of a rate without tax, as the organisation has it. `Tax Exempt` when absent.
    #[serde(default)]
    tax_rate: Option<String>,
}

/// The wallet's own account.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AccountName {
    /// Parts between colons; `{wallet}`, `{chain}`, `{protocol}` and `{category}` stand for those of the posting.
    #[schema(max_length = 256)]
    account: String,
    /// For ledgers that number their accounts.
    #[serde(default)]
    #[schema(max_length = 64)]
    code: Option<String>,
}

/// What a row leaves out fits anything.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AccountRow {
    #[serde(default)]
    entry: Vec<Entry>,
    #[serde(default)]
    category: Vec<Category>,
    /// The token's address, or the symbol of the native coin.
    #[serde(default)]
    asset: Vec<String>,
    /// Display names of protocols.
    #[serde(default)]
    protocol: Vec<String>,
    /// Addresses whose view the result is.
    #[serde(default)]
    wallet: Vec<String>,
    /// As with the wallet's account.
    #[schema(max_length = 256)]
    account: String,
    /// For ledgers that number their accounts.
    #[serde(default)]
    #[schema(max_length = 64)]
    code: Option<String>,
}

/// An account with its parts, which a ledger joins in its own way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Booked {
    pub parts: Vec<String>,
    pub code: Option<String>,
}

impl Booked {
    /// `Assets:Wallets:Base:0x…`
    pub fn name(&self) -> String {
        self.parts.join(":")
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ChartError {
    #[error("the chart of accounts is refused: {0}")]
    Refused(#[from] toml::de::Error),
    #[error("the chart of accounts is refused: {0}")]
    RefusedJson(#[from] serde_json::Error),
    #[error(
        "the chart of accounts has over {ROWS_MAX} rows, {NAMES_MAX} names, {ACCOUNT_BYTES_MAX} bytes in an account or {CODE_BYTES_MAX} in a code"
    )]
    TooLarge,
    #[error("the chart of accounts names none for a posting of `{0}`")]
    Incomplete(&'static str),
    #[error(
        "the account `{0}` has a part that nobody knows: known are {{wallet}}, {{chain}}, {{protocol}} and {{category}}, each alone between colons"
    )]
    UnknownPart(String),
}

/// Every entry that a posting can have.
pub(crate) const ENTRIES: [Entry; 15] = [
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
        toml::from_str::<Self>(text)?.checked()
    }

    /// The same as JSON.
    pub fn from_json(value: &Value) -> Result<Self, ChartError> {
        Self::deserialize(value)?.checked()
    }

    fn checked(self) -> Result<Self, ChartError> {
        let chart = self;
        if chart.is_too_large() {
            return Err(ChartError::TooLarge);
        }
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

    fn is_too_large(&self) -> bool {
        let names: usize =
            self.account.iter().flat_map(|row| [&row.asset, &row.protocol, &row.wallet]).map(Vec::len).sum();
        let accounts = self.account.iter().map(|row| (&row.account, &row.code));
        let mut accounts = accounts.chain([(&self.wallet.account, &self.wallet.code)]);
        let is_long = |(account, code): (&String, &Option<String>)| {
            account.len() > ACCOUNT_BYTES_MAX || code.as_ref().is_some_and(|code| code.len() > CODE_BYTES_MAX)
        };
        let is_rate_long = self.tax_rate.as_ref().is_some_and(|rate| rate.len() > ACCOUNT_BYTES_MAX);
        self.account.len() > ROWS_MAX || names > NAMES_MAX || is_rate_long || accounts.any(is_long)
    }

    /// An account that has no code, for ledgers that know accounts by nothing else.
    pub fn without_code(&self) -> Option<&str> {
        let rows = self.account.iter().map(|row| (&row.account, &row.code));
        let mut accounts = rows.chain([(&self.wallet.account, &self.wallet.code)]);
        accounts.find(|(_, code)| code.as_ref().is_none_or(String::is_empty)).map(|(account, _)| account.as_str())
    }

    pub fn tax_rate(&self) -> &str {
        self.tax_rate.as_deref().unwrap_or(TAX_RATE)
    }

    /// The account and its code for an entry whatever the asset, the protocol and the wallet, as the chart has them.
    pub fn account_of(&self, entry: Entry, category: Option<Category>) -> Option<(&str, Option<&str>)> {
        let fits = |row: &&AccountRow| {
            (row.entry.is_empty() || row.entry.contains(&entry))
                && (row.category.is_empty() || category.is_some_and(|category| row.category.contains(&category)))
                && row.asset.is_empty()
                && row.protocol.is_empty()
                && row.wallet.is_empty()
        };
        self.account.iter().find(fits).map(|row| (row.account.as_str(), row.code.as_deref()))
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
        let is_named = |names: &[String], name: &dyn Fn() -> Option<String>| {
            names.is_empty() || name().is_some_and(|name| names.iter().any(|one| one.eq_ignore_ascii_case(&name)))
        };
        let token = || line.leg.token_address.as_ref().map(Account::to_string);
        (self.entry.is_empty() || self.entry.contains(&line.entry()))
            && (self.category.is_empty() || self.category.contains(&line.posting.category))
            && is_named(&self.asset, &|| token().or_else(|| Some(line.leg.symbol.clone())))
            && is_named(&self.protocol, &|| line.row.protocol.clone())
            && is_named(&self.wallet, &|| line.row.perspective.as_ref().map(Account::to_string))
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

    #[test]
    fn a_chart_is_the_same_in_json_and_has_bounds() {
        let json: Value =
            serde_json::to_value(toml::from_str::<toml::Table>(EMBEDDED).expect("it is TOML")).expect("and JSON");
        assert_eq!(Chart::from_json(&json).expect("it loads").without_code(), None);
        let chart = |account: &str, more: usize| {
            let row = format!("[[account]]\naccount = \"{account}\"\n");
            Chart::parse(&format!("wallet = {{ account = \"A\", code = \"1\" }}\n{}", row.repeat(more)))
        };
        assert_eq!(chart("B", 1).expect("it loads").without_code(), Some("B"));
        for (account, rows) in [("B".repeat(257), 1), ("B".to_owned(), 1_001)] {
            assert!(matches!(chart(&account, rows), Err(ChartError::TooLarge)));
        }
    }
}
