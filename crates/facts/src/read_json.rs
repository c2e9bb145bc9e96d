//! A row as JSON: an object with the names of the columns. What is JSON in a column may be text or be there as it is.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;

use crate::error::RowError;
use crate::row::Row;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RowJson<'a> {
    version: Option<i64>,
    #[serde(borrow)]
    chain: Option<Cow<'a, str>>,
    #[serde(borrow)]
    hash: Option<Cow<'a, str>>,
    #[serde(borrow)]
    wallet: Option<Cow<'a, str>>,
    block_number: Option<u64>,
    #[serde(deserialize_with = "time")]
    block_time: Option<i64>,
    #[serde(rename = "final")]
    is_final: Option<bool>,
    #[serde(borrow, deserialize_with = "text")]
    transaction: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    receipt: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    internal: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    known: Option<Cow<'a, str>>,
}

impl<'a> RowJson<'a> {
    /// Other fields are those of whoever wrote it, and skipped as other columns are.
    pub fn parse(text: &'a str) -> Result<Self, RowError> {
        // What serde derives would also read an array, and its members by their places.
        if !text.trim_start().starts_with('{') {
            return Err(RowError::unreadable("row", &"it is no object"));
        }
        serde_json::from_str(text).map_err(|error| RowError::unreadable("row", &error))
    }

    pub fn row(&self) -> Row<'_> {
        Row {
            version: self.version,
            chain: self.chain.as_deref(),
            hash: self.hash.as_deref(),
            wallet: self.wallet.as_deref(),
            block_number: self.block_number,
            block_time: self.block_time,
            is_final: self.is_final,
            transaction: self.transaction.as_deref(),
            receipt: self.receipt.as_deref(),
            internal: self.internal.as_deref(),
            known: self.known.as_deref(),
        }
    }
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'de, str>>, D::Error> {
    let raw = Option::<&'de RawValue>::deserialize(deserializer)?;
    raw.map(|raw| match raw.get() {
        quoted if quoted.starts_with('"') => {
            serde_json::from_str::<String>(quoted).map(Cow::Owned).map_err(de::Error::custom)
        }
        plain => Ok(Cow::Borrowed(plain)),
    })
    .transpose()
}

/// Seconds since 1970, or a time as people write it (RFC 3339).
#[derive(Deserialize)]
#[serde(untagged)]
enum Time<'a> {
    Seconds(i64),
    Written(#[serde(borrow)] Cow<'a, str>),
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let time = Option::<Time<'de>>::deserialize(deserializer)?;
    time.map(|time| match time {
        Time::Seconds(seconds) => Ok(seconds),
        Time::Written(text) => {
            text.parse::<jiff::Timestamp>().map(jiff::Timestamp::as_second).map_err(de::Error::custom)
        }
    })
    .transpose()
}
