//! What the plain-text ledgers have in common: a reading is one entry, and each posting two lines that cancel in its own commodity, so that quantities
//! balance for each asset without a price.

use std::collections::BTreeSet;
use std::io::{self, Write};

use engine::Classification;
use engine::asset::NftKind;
use engine::classification::AssetLeg;

use super::Rows;
use crate::chart::{Booked, Chart};
use crate::line::lines;

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
    pub head: fn(&str, &Classification) -> String,
    /// One line: account, amount with its sign, commodity.
    pub line: fn(&str, &str, &str) -> String,
}

/// One thing that is moved from one account to another.
struct Pair {
    from: String,
    to: String,
    amount: String,
    commodity: String,
}

pub(super) fn write(dialect: &Dialect, rows: Rows<'_>, chart: &Chart, out: &mut dyn Write) -> io::Result<()> {
    let mut accounts = BTreeSet::new();
    let mut commodities = BTreeSet::new();
    for row in rows {
        let row = row?;
        let date = row.block.as_ref().and_then(|block| block.timestamp.get(..DATE_CHARS)).unwrap_or("1970-01-01");
        let mut pairs = Vec::new();
        for line in lines(&row) {
            let other = chart.other(&line).ok_or_else(|| io::Error::other("the chart has no account for a posting"))?;
            let (wallet, other) = ((dialect.account)(&chart.wallet(&line)), (dialect.account)(&other));
            let commodity = commodity(line.leg);
            if commodities.insert(commodity.clone()) {
                out.write_all((dialect.commodity)(date, &commodity, line.leg).as_bytes())?;
            }
            for account in [&wallet, &other] {
                if accounts.insert(account.clone()) {
                    out.write_all((dialect.open)(date, account).as_bytes())?;
                }
            }
            let (from, to) = if line.is_out() { (wallet, other) } else { (other, wallet) };
            pairs.push(Pair { from, to, amount: line.posting.amount.clone(), commodity });
        }
        out.write_all((dialect.head)(date, &row).as_bytes())?;
        for Pair { from, to, amount, commodity } in &pairs {
            out.write_all((dialect.line)(from, &format!("-{amount}"), commodity).as_bytes())?;
            out.write_all((dialect.line)(to, amount, commodity).as_bytes())?;
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
pub(super) fn facts(row: &Classification) -> Vec<(&'static str, String)> {
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
    facts
}
