//! Prices that the caller gives. taxon knows none of its own: what has no price here has no value, and nothing is interpolated or guessed.

use std::collections::BTreeMap;
use std::io::Read;

use encoding_rs_io::DecodeReaderBytes;
use engine::Account;
use engine::asset::NftKind;
use engine::classification::AssetLeg;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::cell::one_line;
use crate::decimal::Decimal;
use crate::line::Line;

pub const FILE_BYTES_MAX: u64 = 64 << 20;
pub const ROWS_MAX: usize = 1_000_000;
/// A price is taken for transactions of less than this after its time. A bare date is its midnight, so that it holds for its own day.
pub const AGE_SECONDS_MAX: i64 = 24 * 60 * 60;
const PRICE_DIGITS_MAX: usize = 30;
const PRICE_PLACES_MAX: usize = 30;
/// Bytes of a cell that has a meaning; the longest is an NFT of 78 digits on Solana.
const CELL_BYTES_MAX: usize = 160;
/// What is shown of a cell that has none.
const SHOWN_CHARS_MAX: usize = 40;
/// Characters of a date that has no time.
const DATE_CHARS: usize = 10;
/// Letters of a currency, as in ISO 4217.
const CURRENCY_LETTERS: usize = 3;

/// One price of one asset.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[schema(as = JournalPrice)]
pub struct PriceRow {
    /// ISO 8601. Without an offset it is UTC; a bare date is its midnight. The price holds for transactions of less than 24 hours after it.
    pub time: String,
    /// The symbol of a native coin, or a token's address; an NFT is its contract's address, a slash and its id. A token's symbol is nobody's: it never names
    /// one.
    pub asset: String,
    /// Three letters, as in ISO 4217.
    pub currency: String,
    /// Of one whole unit: a plain decimal in a string.
    #[schema(pattern = r"^[0-9]{1,30}(\.[0-9]{1,30})?$")]
    pub price: String,
    /// Slug of the chain, where the price is for one chain alone. It goes before a price for all.
    pub chain: Option<String>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PriceError {
    #[error("the prices are longer than {FILE_BYTES_MAX} bytes")]
    TooLong,
    #[error("there are more than {ROWS_MAX} prices")]
    TooManyRows,
    #[error("the prices cannot be read: {0}")]
    Unreadable(String),
    #[error("the prices have no column `{0}`; needed are time, asset, currency and price, and chain may be there")]
    NoColumn(&'static str),
    #[error("row {row}, column `{column}`: {what}")]
    Refused { row: usize, column: &'static str, what: String },
    #[error("there is no price in {0}")]
    NoneInCurrency(String),
    #[error("there are no prices")]
    Empty,
}

/// Prices of one currency.
#[derive(Debug, Clone)]
pub struct Prices {
    currency: String,
    /// The oldest first.
    by_asset: BTreeMap<Key, Vec<Entry>>,
}

/// What a price is of; without a chain, on all of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    asset: Asset,
    chain: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Asset {
    /// In capitals.
    Coin(String),
    Token(Account),
    Nft(Account, String),
}

#[derive(Debug, Clone)]
struct Entry {
    time: Timestamp,
    price: Box<str>,
    row: usize,
}

/// A price that was found for a posting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Priced {
    pub price: Decimal,
    /// RFC 3339, UTC: the time of the price, not of the transaction.
    pub time: String,
    /// Amount times price, exactly.
    pub value: Decimal,
}

impl Prices {
    /// A table with a header. `currency` chooses one where it has several.
    pub fn read(table: impl Read, currency: Option<&str>) -> Result<Self, PriceError> {
        let mut bytes = Vec::new();
        table.take(FILE_BYTES_MAX.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > FILE_BYTES_MAX {
            return Err(PriceError::TooLong);
        }
        let decoded = DecodeReaderBytes::new(bytes.as_slice());
        let mut reader = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(decoded);
        let titles: Vec<String> = reader.headers().map_err(unreadable)?.iter().map(str::to_ascii_lowercase).collect();
        let place = |name: &str| titles.iter().position(|title| title == name);
        let needed = |name| place(name).ok_or(PriceError::NoColumn(name));
        let columns = [needed("time")?, needed("asset")?, needed("currency")?, needed("price")?];
        let chain = place("chain");
        let mut collector = Collector::new(currency)?;
        for record in reader.records() {
            let record = record.map_err(unreadable)?;
            let line = record.position().map_or(0, csv::Position::line);
            let cell = |at: usize| record.get(at).unwrap_or_default().to_owned();
            let [time, asset, currency, price] = columns.map(cell);
            let chain = chain.map(cell).filter(|chain| !chain.is_empty());
            collector
                .take(usize::try_from(line).unwrap_or(usize::MAX), &PriceRow { time, asset, currency, price, chain })?;
        }
        collector.finish()
    }

    /// The same from a list, whose rows are counted from zero.
    pub fn of_rows(rows: &[PriceRow], currency: Option<&str>) -> Result<Self, PriceError> {
        let mut collector = Collector::new(currency)?;
        for (at, row) in rows.iter().enumerate() {
            collector.take(at, row)?;
        }
        collector.finish()
    }

    pub fn currency(&self) -> &str {
        &self.currency
    }

    /// What a posting was worth: by the latest price at or before its transaction, unless that one is too old. Amounts whose decimals nobody knows have no
    /// value.
    pub fn of(&self, line: &Line<'_>) -> Option<Priced> {
        let asset = asset_of(line.leg)?;
        let time: Timestamp = line.row.block.as_ref()?.timestamp.parse().ok()?;
        let own = line.row.chain.as_ref().and_then(|chain| {
            self.latest(&Key { asset: asset.clone(), chain: Some(chain.to_ascii_lowercase()) }, time)
        });
        let entry = own.or_else(|| self.latest(&Key { asset, chain: None }, time))?;
        let price = price_of(&entry.price)?;
        let value = Decimal::amount(&line.posting.amount)?.times(&price);
        Some(Priced { price, time: entry.time.to_string(), value })
    }

    fn latest(&self, key: &Key, time: Timestamp) -> Option<&Entry> {
        let entries = self.by_asset.get(key)?;
        let before = entries.partition_point(|entry| entry.time <= time);
        let entry = entries.get(before.checked_sub(1)?)?;
        let age = time.as_second().saturating_sub(entry.time.as_second());
        (age < AGE_SECONDS_MAX).then_some(entry)
    }
}

fn asset_of(leg: &AssetLeg) -> Option<Asset> {
    let Some(token) = leg.token_address else {
        return leg.decimals.map(|_| Asset::Coin(leg.symbol.to_ascii_uppercase()));
    };
    match leg.token_type {
        None => leg.decimals.map(|_| Asset::Token(token)),
        // A mint is one NFT.
        Some(NftKind::SplNft) => Some(Asset::Token(token)),
        Some(NftKind::Erc721 | NftKind::Erc1155 | NftKind::Erc6909 | NftKind::Cryptopunk | NftKind::CompressedNft) => {
            leg.token_id.clone().map(|id| Asset::Nft(token, id))
        }
    }
}

fn unreadable(error: impl ToString) -> PriceError {
    PriceError::Unreadable(one_line(&error.to_string()))
}

fn price_of(text: &str) -> Option<Decimal> {
    Decimal::parse(text, PRICE_DIGITS_MAX, PRICE_PLACES_MAX)
}

/// Takes one row after another.
struct Collector {
    /// As it was chosen.
    chosen: Option<String>,
    currency: Option<String>,
    by_asset: BTreeMap<Key, Vec<Entry>>,
    count: usize,
}

impl Collector {
    fn new(chosen: Option<&str>) -> Result<Self, PriceError> {
        let known = |text| currency(text).ok_or_else(|| PriceError::NoneInCurrency(shown(text)));
        let chosen = chosen.map(known).transpose()?;
        Ok(Self { currency: chosen.clone(), chosen, by_asset: BTreeMap::new(), count: 0 })
    }

    fn take(&mut self, row: usize, cells: &PriceRow) -> Result<(), PriceError> {
        self.count = self.count.saturating_add(1);
        if self.count > ROWS_MAX {
            return Err(PriceError::TooManyRows);
        }
        let refused = |column, what: String| PriceError::Refused { row, column, what };
        let unlike = |column, cell: &str, what: &str| refused(column, format!("`{}` is no {what}", shown(cell)));
        let time = time(&cells.time).ok_or_else(|| unlike("time", &cells.time, "time or date of ISO 8601"))?;
        let asset =
            asset(&cells.asset).ok_or_else(|| unlike("asset", &cells.asset, "coin's symbol or token's address"))?;
        let currency =
            currency(&cells.currency).ok_or_else(|| unlike("currency", &cells.currency, "code of three letters"))?;
        let price = cells.price.as_str();
        if price_of(price).is_none() {
            return Err(unlike("price", price, "plain decimal, such as 3120.55"));
        }
        let chain = cells.chain.as_deref();
        if let Some(chain) = chain.filter(|chain| chain.is_empty() || chain.len() > CELL_BYTES_MAX) {
            return Err(unlike("chain", chain, "chain"));
        }
        let kept = self.currency.get_or_insert_with(|| currency.clone());
        if *kept != currency {
            let what = format!("{currency} after {kept}: choose one of them as the currency");
            return if self.chosen.is_some() { Ok(()) } else { Err(refused("currency", what)) };
        }
        let key = Key { asset, chain: chain.map(str::to_ascii_lowercase) };
        self.by_asset.entry(key).or_default().push(Entry { time, price: price.into(), row });
        Ok(())
    }

    fn finish(mut self) -> Result<Prices, PriceError> {
        let Some(currency) = self.currency.filter(|_| self.count > 0) else { return Err(PriceError::Empty) };
        if self.by_asset.is_empty() {
            return Err(PriceError::NoneInCurrency(currency));
        }
        for entries in self.by_asset.values_mut() {
            entries.sort_by_key(|entry| (entry.time, entry.row));
            for (one, next) in entries.iter().zip(entries.iter().skip(1)) {
                if one.time == next.time && price_of(&one.price) != price_of(&next.price) {
                    let what = format!("row {} has another price of the same asset and time", one.row);
                    return Err(PriceError::Refused { row: next.row, column: "price", what });
                }
            }
        }
        Ok(Prices { currency, by_asset: self.by_asset })
    }
}

fn shown(cell: &str) -> String {
    one_line(cell).chars().take(SHOWN_CHARS_MAX).collect()
}

fn time(text: &str) -> Option<Timestamp> {
    if text.len() > CELL_BYTES_MAX {
        return None;
    }
    let utc = |time: DateTime| time.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp());
    if text.len() == DATE_CHARS {
        let date: jiff::civil::Date = text.parse().ok()?;
        return utc(date.at(0, 0, 0, 0));
    }
    text.parse().ok().or_else(|| utc(text.parse().ok()?))
}

fn asset(text: &str) -> Option<Asset> {
    if text.is_empty() || text.len() > CELL_BYTES_MAX {
        return None;
    }
    if let Ok(token) = Account::parse(text) {
        return Some(Asset::Token(token));
    }
    if let Some((contract, id)) = text.split_once('/') {
        let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        return Account::parse(contract).ok().filter(|_| is_id).map(|contract| Asset::Nft(contract, id.to_owned()));
    }
    let is_symbol = !text.starts_with("0x") && text.chars().all(|c| !c.is_control() && !c.is_whitespace());
    is_symbol.then(|| Asset::Coin(text.to_ascii_uppercase()))
}

/// In capitals.
fn currency(text: &str) -> Option<String> {
    let is_code = text.len() == CURRENCY_LETTERS && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_code.then(|| text.to_ascii_uppercase())
}

#[cfg(test)]
mod tests;
