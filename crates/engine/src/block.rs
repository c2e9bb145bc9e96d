//! When a transaction happened, on whichever family of chains.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

pub const NOT_A_DAY: &str = "not a day such as `2025-04-01`";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// On Solana the slot.
    pub number: u64,
    /// Seconds since 1970, UTC.
    pub timestamp: i64,
    pub finalized: bool,
}

/// When the day, such as `2025-04-01`, begins: seconds since 1970, UTC.
pub fn day_start(day: &str) -> Option<i64> {
    let day: Date = day.parse().ok()?;
    Some(day.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second())
}
