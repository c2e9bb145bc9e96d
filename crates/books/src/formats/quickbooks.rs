//! Journal entries for the import of QuickBooks Online, which knows accounts by their names and joins lines by the number of their journal.

use std::io::{self, Write};

use super::fiat::{self, FiatEntry, FiatLine, Program};
use super::{Options, Rows};
use crate::cell::{one_line, tamed};

const PROGRAM: Program =
    Program { columns: &["Journal No", "Journal Date", "Account Name", "Description", "Debits", "Credits"], cells };
/// Of a hash. A number has at most 21 characters.
const HASH_CHARS: usize = 16;

pub(super) fn write(rows: Rows<'_>, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    fiat::write(&PROGRAM, rows, options, out)
}

fn cells(entry: &FiatEntry<'_>, line: &FiatLine<'_>, _: &Options) -> io::Result<Vec<String>> {
    let [year, month, day] = entry.date;
    let (debit, credit) = if line.is_debit { (line.amount.as_str(), "") } else { ("", line.amount.as_str()) };
    let account = tamed(one_line(&line.account.name()));
    let date = format!("{month}/{day}/{year}");
    Ok(vec![number(entry), date, account, line.description.clone(), debit.to_owned(), credit.to_owned()])
}

/// The beginning of the hash; another wallet's view of the same transaction has a count behind it.
fn number(entry: &FiatEntry<'_>) -> String {
    let hash = entry.row.hash.as_deref().unwrap_or_default().trim_start_matches("0x");
    let begin: String = hash.chars().filter(char::is_ascii_alphanumeric).take(HASH_CHARS).collect();
    if entry.before == 0 { begin } else { format!("{begin}-{}", entry.before.saturating_add(1)) }
}
