//! Manual journals for the import of Xero, which knows accounts by their codes and joins lines by narration and date. A debit is positive, a credit negative.

use std::io::{self, Write};

use super::fiat::{self, FiatEntry, FiatLine, Program};
use super::{Options, Rows};
use crate::cell::{one_line, tamed};

const PROGRAM: Program =
    Program { columns: &["*Narration", "*Date", "Description", "*AccountCode", "*TaxRate", "*Amount"], cells };
/// A month by its name is read the same in every country.
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

pub(super) fn write(rows: Rows<'_>, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    fiat::write(&PROGRAM, rows, options, out)
}

fn cells(entry: &FiatEntry<'_>, line: &FiatLine<'_>, options: &Options) -> io::Result<Vec<String>> {
    let code = line.account.code.as_ref().filter(|code| !code.is_empty());
    let code = code.ok_or_else(|| io::Error::other(format!("the account {} has no code", line.account.name())))?;
    let [year, month, day] = entry.date;
    let month = month.parse::<usize>().ok().and_then(|month| MONTHS.get(month.checked_sub(1)?)).copied();
    let date = format!("{day} {} {year}", month.unwrap_or_default());
    let amount = if line.is_debit { line.amount.clone() } else { format!("-{}", line.amount) };
    let rate = options.chart.tax_rate().to_owned();
    Ok(vec![narration(entry), date, line.description.clone(), tamed(one_line(code)), rate, amount])
}

/// Of two wallets that saw one transaction, each is a journal.
fn narration(entry: &FiatEntry<'_>) -> String {
    let row = entry.row;
    let review = if row.needs_review { "REVIEW: " } else { "" };
    let hash = row.hash.as_deref().unwrap_or_default();
    let wallet = row.perspective.map(|wallet| format!(" of {wallet}")).unwrap_or_default();
    tamed(one_line(&format!("{review}{} {hash}{wallet}", row.category.name())))
}
