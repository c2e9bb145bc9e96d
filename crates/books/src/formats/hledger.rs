//! hledger, and Ledger, which reads the same.

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
    journal::write(&DIALECT, rows, options, out)
}

/// Two spaces end an account's name, and brackets around it make it virtual.
fn account(booked: &Booked) -> String {
    let part = |part: &String| {
        let plain: String =
            part.chars().map(|c| if c.is_alphanumeric() || matches!(c, '-' | '.') { c } else { '-' }).collect();
        if plain.is_empty() { "-".to_owned() } else { plain }
    };
    booked.parts.iter().map(part).collect::<Vec<_>>().join(":")
}

fn open(_: &str, account: &str) -> String {
    format!("account {account}\n")
}

fn commodity(_: &str, name: &str, leg: &AssetLeg) -> String {
    let token = leg.token_address.as_ref().map_or("the native coin".to_owned(), ToString::to_string);
    format!("; {}, {token}\ncommodity \"{name}\"\n", plain(leg.shown_symbol()))
}

fn head(date: &str, reading: &Reading) -> String {
    let row = &reading.row;
    let flag = if row.needs_review { '!' } else { '*' };
    let told = plain(row.description.as_deref().unwrap_or_default());
    let mut out = match &row.protocol {
        Some(protocol) => format!("{date} {flag} {} | {told}\n", plain(protocol)),
        None => format!("{date} {flag} {told}\n"),
    };
    for (key, value) in journal::facts(reading) {
        let _ = writeln!(out, "    ; {key}: {}", plain(&value));
    }
    out
}

fn currency(currency: &str) -> String {
    format!("commodity \"{currency}\"\n")
}

fn line(line: &LedgerLine<'_>) -> String {
    let LedgerLine { account, amount, commodity, priced } = line;
    match priced {
        Some((priced, currency)) => format!(
            "    {account}  {amount} \"{commodity}\" @ {} \"{currency}\"  ; price-time: {}\n",
            priced.price.text(),
            priced.time
        ),
        None => format!("    {account}  {amount} \"{commodity}\"\n"),
    }
}

/// One line in which nothing begins a comment or ends a name.
fn plain(text: &str) -> String {
    one_line(text).replace([';', '|'], ",").split_whitespace().collect::<Vec<_>>().join(" ")
}
