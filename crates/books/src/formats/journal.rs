//! What the plain-text ledgers have in common: a reading is one entry, and each posting two lines that cancel in its own commodity, so that quantities
//! balance for each asset without a price.

use std::collections::BTreeSet;
use std::io::{self, Write};

use engine::asset::NftKind;
use engine::classification::AssetLeg;

use super::{Options, Rows};
use crate::chart::Booked;
use crate::decision::Reading;
use crate::journal::bookings;
use crate::line::lines;
use crate::prices::Priced;

/// Letters and digits of a symbol that a commodity keeps; the contract tells the rest apart.
const SYMBOL_CHARS_MAX: usize = 7;
/// Bytes at each end of a contract's address that are written in hexadecimal.
const CONTRACT_BYTES: usize = 4;
/// Digits of an id that are written where one contract has many tokens.
const ID_DIGITS: usize = 12;
/// Characters of a date in a timestamp.
const DATE_CHARS: usize = 10;

/// How a ledger writes things.
pub(super) struct Dialect {
    pub account: fn(&Booked) -> String,
    /// An account that is used for the first time on this day.
    pub open: fn(&str, &str) -> String,
    /// A commodity that is used for the first time on this day.
    pub commodity: fn(&str, &str, &AssetLeg) -> String,
    /// What comes before the lines of an entry.
    pub head: fn(&str, &Reading) -> String,
    /// The currency of prices, before anything else.
    pub currency: fn(&str) -> String,
    pub line: fn(&LedgerLine<'_>) -> String,
}

/// One line of an entry.
pub(super) struct LedgerLine<'a> {
    pub account: &'a str,
    /// With its sign.
    pub amount: &'a str,
    pub commodity: &'a str,
    /// The price of one unit, and its currency. Both lines of a posting have the same one, so that they cancel in the currency too.
    pub priced: Option<(&'a Priced, &'a str)>,
}

/// One thing that is moved from one account to another.
struct Pair {
    from: String,
    to: String,
    amount: String,
    commodity: String,
    priced: Option<Priced>,
}

pub(super) fn write(dialect: &Dialect, rows: Rows<'_>, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let currency = options.prices.as_ref().map(|prices| prices.currency());
    if let Some(currency) = currency {
        out.write_all((dialect.currency)(currency).as_bytes())?;
    }
    let mut accounts = BTreeSet::new();
    let mut commodities = BTreeSet::new();
    for reading in rows {
        let reading = reading?;
        let row = &reading.row;
        let date = row.block.as_ref().and_then(|block| block.timestamp.get(..DATE_CHARS)).unwrap_or("1970-01-01");
        let mut pairs = Vec::new();
        for booking in bookings(row, options.rules()).map_err(io::Error::other)? {
            let (from, to) = ((dialect.account)(booking.from()), (dialect.account)(booking.to()));
            let leg = booking.line.leg;
            let commodity = commodity(leg);
            if commodities.insert(commodity.clone()) {
                out.write_all((dialect.commodity)(date, &commodity, leg).as_bytes())?;
            }
            for account in [&from, &to] {
                if accounts.insert(account.clone()) {
                    out.write_all((dialect.open)(date, account).as_bytes())?;
                }
            }
            let amount = booking.line.posting.amount.clone();
            pairs.push(Pair { from, to, amount, commodity, priced: booking.priced });
        }
        out.write_all((dialect.head)(date, &reading).as_bytes())?;
        for Pair { from, to, amount, commodity, priced } in &pairs {
            let priced = priced.as_ref().zip(currency);
            for (account, amount) in [(from, &format!("-{amount}")), (to, amount)] {
                out.write_all((dialect.line)(&LedgerLine { account, amount, commodity, priced }).as_bytes())?;
            }
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// The coin by its symbol alone; a token by its symbol and its contract, so that no imitation shares a commodity with what it imitates. NFTs of one
/// contract are one commodity, and each entry tells which; where a contract has many tokens, each is one.
fn commodity(leg: &AssetLeg) -> String {
    let letters: String =
        leg.symbol.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).collect();
    let mut symbol: String = letters.chars().take(SYMBOL_CHARS_MAX).collect();
    if !symbol.starts_with(|c: char| c.is_ascii_uppercase()) || symbol.len() < 2 {
        symbol.insert(0, 'T');
        symbol.truncate(SYMBOL_CHARS_MAX);
    }
    match &leg.token_address {
        None => symbol,
        Some(token) => {
            let bytes = token.bytes();
            let ends = [bytes.get(..CONTRACT_BYTES), bytes.get(bytes.len().saturating_sub(CONTRACT_BYTES)..)];
            let digits: String = ends.into_iter().flatten().flatten().map(|byte| format!("{byte:02X}")).collect();
            let has_many = matches!(leg.token_type, Some(NftKind::Erc1155 | NftKind::Erc6909));
            let id = leg.token_id.as_deref().filter(|_| has_many).map(|id| {
                let digits: String = id.chars().filter(char::is_ascii_digit).collect();
                format!("-{}", digits.get(digits.len().saturating_sub(ID_DIGITS)..).unwrap_or_default())
            });
            format!("{symbol}-{digits}{}", id.unwrap_or_default())
        }
    }
}

/// The words that every ledger shows of a reading.
pub(super) fn facts(Reading { row, decision }: &Reading) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("hash", row.hash.clone().unwrap_or_default()),
        ("chain", row.chain.clone().unwrap_or_default()),
        ("time", row.block.as_ref().map(|block| block.timestamp.clone()).unwrap_or_default()),
        ("category", row.category.name().to_owned()),
        ("treatment", row.treatment.name().to_owned()),
        ("confidence", row.confidence.to_string()),
    ];
    let ids: Vec<&str> = lines(row).filter_map(|line| line.leg.token_id.as_deref()).collect();
    if !ids.is_empty() {
        facts.push(("nft", ids.join(" ")));
    }
    if let Some(note) = &row.review_note {
        facts.push(("review", note.clone()));
    }
    if let Some(decision) = decision {
        facts.push(("decision", decision.sentence()));
    }
    facts
}
