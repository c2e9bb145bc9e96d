//! Beancount 2 and 3.

use std::fmt::Write as _;
use std::io::{self, Write};

use engine::classification::AssetLeg;

use super::journal::{self, Dialect, LedgerLine};
use super::{Options, Rows};
use crate::cell::one_line;
use crate::chart::Booked;
use crate::decision::Reading;

const DIALECT: Dialect = Dialect { account, open, commodity, head, currency, line };

pub(super) fn write(rows: Rows<'_>, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"option \"title\" \"taxon\"\n\n")?;
    journal::write(&DIALECT, rows, options, out)
}

/// Parts begin with a capital or a digit and go on with letters, digits and dashes.
fn account(booked: &Booked) -> String {
    let part = |part: &String| {
        let plain: String = part.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let is_begun = plain.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit());
        if is_begun { plain } else { format!("X{plain}") }
    };
    booked.parts.iter().map(part).collect::<Vec<_>>().join(":")
}

fn open(date: &str, account: &str) -> String {
    format!("{date} open {account}\n")
}

fn commodity(date: &str, name: &str, leg: &AssetLeg) -> String {
    let mut out = format!("{date} commodity {name}\n  name: \"{}\"\n", quoted(leg.shown_symbol()));
    if let Some(token) = &leg.token_address {
        let _ = writeln!(out, "  contract: \"{token}\"");
    }
    out
}

fn head(date: &str, reading: &Reading) -> String {
    let row = &reading.row;
    let flag = if row.needs_review { '!' } else { '*' };
    let (payee, told) = (row.protocol.as_deref().unwrap_or_default(), row.description.as_deref().unwrap_or_default());
    let mut out = format!("{date} {flag} \"{}\" \"{}\"\n", quoted(payee), quoted(told));
    for (key, value) in journal::facts(reading) {
        let _ = writeln!(out, "  {key}: \"{}\"", quoted(&value));
    }
    out
}

/// Beancount needs no word of it.
fn currency(_: &str) -> String {
    String::new()
}

fn line(line: &LedgerLine<'_>) -> String {
    let LedgerLine { account, amount, commodity, priced } = line;
    match priced {
        Some((priced, currency)) => format!(
            "  {account}  {amount} {commodity} @ {} {currency}\n    price-time: \"{}\"\n",
            priced.price.text(),
            priced.time
        ),
        None => format!("  {account}  {amount} {commodity}\n"),
    }
}

fn quoted(text: &str) -> String {
    one_line(text).replace('\\', "\\\\").replace('"', "\\\"")
}
