//! Postings as lines of a journal: each moves one quantity from one account to another, so that the lines of a reading balance for each asset whatever the
//! prices are. Ledgers and the service stand on this alone.

use engine::classification::{AssetLeg, Entry, Posting};
use engine::{Account, Category, Classification};
use serde::Serialize;
use utoipa::ToSchema;

use crate::chart::{Booked, Chart};
use crate::decimal::Decimal;
use crate::line::{Line, lines};
use crate::prices::{Priced, Prices};

/// Words of a reading that come into its lines. The longest of the engine's own is a symbol of 256 bytes with both ends of a contract.
const TEXT_BYTES_MAX: usize = 320;

/// What lines are made by.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    pub chart: &'a Chart,
    pub prices: Option<&'a Prices>,
}

/// One posting with both of its accounts, and what it was worth where a price says so.
#[derive(Debug, Clone)]
pub struct Booking<'a> {
    pub line: Line<'a>,
    wallet: Booked,
    other: Booked,
    pub priced: Option<Priced>,
}

/// One side of a posting. The two sides of each cancel, so that the quantities of a result add up to zero for each asset.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct JournalLine {
    /// Hash of the transaction.
    #[schema(required)]
    pub hash: Option<String>,
    /// Slug of the chain.
    #[schema(required)]
    pub chain: Option<String>,
    /// The address whose view the result is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub wallet: Option<Account>,
    /// When the transaction happened: RFC 3339, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Name of the account, by the chart.
    pub account: String,
    /// Code of the account, where the chart has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_code: Option<String>,
    /// A stranger's word, except on the native coin: escape it.
    pub symbol: String,
    /// Absent on the native coin.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub token_address: Option<Account>,
    /// NFTs only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_id: Option<String>,
    /// Exact decimal; negative where it leaves the account.
    #[schema(pattern = r"^-?[0-9]+(\.[0-9]+)?$")]
    pub quantity: String,
    /// Quantity times price, exactly; with its sign. Absent where no price was given that fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = r"^-?[0-9]+(\.[0-9]+)?$")]
    pub value: Option<String>,
    /// Of `value` and `price`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Of one whole unit, as it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = r"^[0-9]+(\.[0-9]+)?$")]
    pub price: Option<String>,
    /// The time of the price, which is at or before the transaction's: RFC 3339, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_time: Option<String>,
    /// True where a price is missing. Absent otherwise, and on debt tokens and spam, which have no value of their own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub unpriced: bool,
    pub entry: Entry,
    pub category: Category,
    /// `leg_index` of the step that the posting belongs to; null where the result has no steps, and for gas.
    #[schema(required)]
    pub step: Option<usize>,
    /// True when a person must look at the whole result before it is booked.
    pub needs_review: bool,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    #[error("the chart has no account for a posting of `{0}`")]
    NoAccount(&'static str),
    #[error("it has no `postings`")]
    NoPostings,
    #[error("`postings[{0}]` points at no leg of `assets`")]
    NoLeg(usize),
    #[error("the amount of `postings[{0}]` is no plain decimal")]
    NoAmount(usize),
    #[error("`{0}` is longer than {TEXT_BYTES_MAX} bytes")]
    TooLong(&'static str),
    #[error("the name of an account is longer than {TEXT_BYTES_MAX} bytes")]
    AccountTooLong,
}

impl<'a> Booking<'a> {
    pub fn from(&self) -> &Booked {
        if self.line.is_out() { &self.wallet } else { &self.other }
    }

    pub fn to(&self) -> &Booked {
        if self.line.is_out() { &self.other } else { &self.wallet }
    }

    /// The account on the other side of the wallet's.
    pub fn other(&self) -> &Booked {
        &self.other
    }

    /// Whether a price is missing.
    pub fn is_unpriced(&self) -> bool {
        self.line.has_value() && self.priced.is_none()
    }
}

/// In the order of the postings.
pub fn bookings<'a>(row: &'a Classification, rules: Rules<'_>) -> Result<Vec<Booking<'a>>, JournalError> {
    let booking = |line: Line<'a>| {
        let other = rules.chart.other(&line).ok_or(JournalError::NoAccount(line.entry().name()))?;
        let priced = rules.prices.filter(|_| line.has_value()).and_then(|prices| prices.of(&line));
        Ok(Booking { line, wallet: rules.chart.wallet(&line), other, priced })
    };
    lines(row).map(booking).collect()
}

/// Two for each posting: what leaves an account, and what comes into another.
pub fn journal_lines(row: &Classification, rules: Rules<'_>) -> Result<Vec<JournalLine>, JournalError> {
    let mut found = Vec::new();
    for booking in bookings(row, rules)? {
        for (account, sign) in [(booking.from(), "-"), (booking.to(), "")] {
            let line = journal_line(&booking, account, sign, rules.prices);
            if line.account.len() > TEXT_BYTES_MAX {
                return Err(JournalError::AccountTooLong);
            }
            found.push(line);
        }
    }
    Ok(found)
}

fn journal_line(booking: &Booking<'_>, account: &Booked, sign: &str, prices: Option<&Prices>) -> JournalLine {
    let Line { row, posting, leg } = booking.line;
    let priced = booking.priced.as_ref();
    JournalLine {
        hash: row.hash.clone(),
        chain: row.chain.clone(),
        wallet: row.perspective,
        time: row.block.as_ref().map(|block| block.timestamp.clone()),
        account: account.name(),
        account_code: account.code.clone(),
        symbol: leg.shown_symbol().to_owned(),
        token_address: leg.token_address,
        token_id: leg.token_id.clone(),
        quantity: signed(sign, &posting.amount),
        value: priced.map(|priced| signed(sign, &priced.value.text())),
        currency: priced.and(prices).map(|prices| prices.currency().to_owned()),
        price: priced.map(|priced| priced.price.text()),
        price_time: priced.map(|priced| priced.time.clone()),
        unpriced: booking.is_unpriced(),
        entry: posting.entry,
        category: posting.category,
        step: posting.step,
        needs_review: row.needs_review,
    }
}

/// Zero has no sign.
fn signed(sign: &str, amount: &str) -> String {
    let is_zero = amount.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    if is_zero { amount.to_owned() } else { format!("{sign}{amount}") }
}

/// Whether a reading that came from outside can be booked: each posting points at a leg, amounts are amounts, and its words are short.
pub fn check(row: &Classification) -> Result<(), JournalError> {
    let postings = row.postings.as_ref().ok_or(JournalError::NoPostings)?;
    let texts = [("hash", &row.hash), ("chain", &row.chain), ("protocol", &row.protocol)];
    let timestamp = row.block.as_ref().map(|block| ("timestamp", block.timestamp.as_str()));
    let texts = texts.into_iter().filter_map(|(name, text)| Some((name, text.as_deref()?))).chain(timestamp);
    is_short(texts)?;
    for (at, posting) in postings.iter().enumerate() {
        let leg = row.assets.leg_of(posting).ok_or(JournalError::NoLeg(at))?;
        check_posting(at, posting, leg)?;
    }
    Ok(())
}

fn check_posting(at: usize, posting: &Posting, leg: &AssetLeg) -> Result<(), JournalError> {
    let id = leg.token_id.as_deref().map(|id| ("token_id", id));
    is_short([("symbol", leg.symbol.as_str()), ("display_symbol", leg.shown_symbol())].into_iter().chain(id))?;
    Decimal::amount(&posting.amount).map(drop).ok_or(JournalError::NoAmount(at))
}

fn is_short<'t>(mut texts: impl Iterator<Item = (&'static str, &'t str)>) -> Result<(), JournalError> {
    match texts.find(|(_, text)| text.len() > TEXT_BYTES_MAX) {
        Some((name, _)) => Err(JournalError::TooLong(name)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
