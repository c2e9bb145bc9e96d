//! A report to print or to file: totals, what was left to people and what they decided, and every transaction with its whole hash and addresses. One file
//! without script, and nothing in it is loaded from elsewhere.

mod totals;

use std::io::{self, BufWriter, Seek, Write};

use engine::classification::Entry;
use engine::{Account, Classification, DISCLAIMER, Treatment};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Options, Rows, Scratch};
use crate::cell::one_line;
use crate::decision::{Decision, Reading};
use crate::journal::{Booking, bookings};
use totals::{AssetTotal, Totals};

const STYLE: &str = include_str!("report/style.css");

/// The totals come first on paper and are known last, so what follows them waits aside.
pub(super) fn write(rows: Rows<'_>, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let mut totals = Totals::default();
    let mut left = Spool::new(options)?;
    let mut all = Spool::new(options)?;
    for reading in rows {
        let reading = reading?;
        let bookings = bookings(&reading.row, options.rules()).map_err(io::Error::other)?;
        totals.add(&reading, &bookings);
        if reading.row.needs_review || reading.decision.is_some() {
            left.write(&left_to_people(&reading))?;
        }
        all.write(&transaction(&reading, &bookings))?;
    }
    let currency = options.prices.as_ref().map(|prices| prices.currency());
    out.write_all(html! { (DOCTYPE) (PreEscaped("<html lang=\"en\">")) (head()) }.into_string().as_bytes())?;
    out.write_all(b"<body>")?;
    out.write_all(summary(&totals, currency).into_string().as_bytes())?;
    out.write_all(html! { h2 { "Left to people" } }.into_string().as_bytes())?;
    if totals.left == 0 {
        out.write_all(html! { p { "Nothing." } }.into_string().as_bytes())?;
    }
    left.hand_on(out)?;
    out.write_all(html! { h2 { "Every transaction" } }.into_string().as_bytes())?;
    all.hand_on(out)?;
    out.write_all(b"</body></html>\n")?;
    out.flush()
}

/// Markup that waits for its place.
struct Spool(BufWriter<Box<dyn Scratch>>);

impl Spool {
    fn new(options: &Options) -> io::Result<Self> {
        Ok(Self(BufWriter::new((options.scratch)()?)))
    }

    fn write(&mut self, markup: &Markup) -> io::Result<()> {
        self.0.write_all(markup.0.as_bytes())
    }

    fn hand_on(self, out: &mut dyn Write) -> io::Result<()> {
        let mut file = self.0.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        io::copy(&mut file, out).map(drop)
    }
}

fn head() -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            title { "Report of transactions · taxon" }
            style { (PreEscaped(STYLE)) }
        }
    }
}

fn summary(totals: &Totals, currency: Option<&str>) -> Markup {
    html! {
        h1 { "Report of transactions" }
        @if let [Some(first), Some(last)] = [&totals.first, &totals.last] {
            p { "From " (first) " to " (last) "." }
        }
        p {
            (totals.count) " transactions as their wallets saw them, " (totals.left) " of them left to people, of which "
            (totals.decided) " are decided" @if totals.waiting > 0 { " and " (totals.waiting) " of those wait for a second person" } "."
        }
        p { "Read by " @for (at, engine) in totals.engines.iter().enumerate() { @if at > 0 { ", " } code { (engine) } } "." }
        p { strong { (DISCLAIMER) } }
        h2 { "By category and treatment" }
        table {
            thead { tr { th { "Category" } th { "Treatment" } th.number { "Transactions" } th.number { "Taxable" } th.number { "Not taxable" } th.number { "Undetermined" } } }
            tbody {
                @for ((category, treatment), count) in &totals.kinds {
                    tr {
                        td { (category.name()) } td { (treatment.map_or("left to people", Treatment::name)) } td.number { (count.all) }
                        @for taxable in count.taxable { td.number { (taxable) } }
                    }
                }
            }
        }
        h2 { "By entry and asset" }
        p.hint { "What postings come to. Assets are told apart by their contracts; symbols are their contracts' own words." }
        table {
            thead { tr { th { "Entry" } th { "Asset" } th.number { "Quantity" } @if let Some(currency) = currency { th.number { "Value in " (currency) } } } }
            tbody { @for (asset, total) in &totals.assets { (asset_row(asset, total, currency.is_some())) } }
        }
        @if totals.left_out > 0 {
            p { (totals.left_out) " postings of further assets are not in these totals: each is with its transaction." }
        }
    }
}

fn asset_row(asset: &totals::AssetKey, total: &AssetTotal, has_values: bool) -> Markup {
    html! {
        tr {
            td { (asset.entry.name()) }
            td {
                bdi { (one_line(&total.symbol)) } " on " (asset.chain)
                @if let Some(token) = asset.token { br; code { (token) } }
                @if let Some(id) = &asset.id { br; "id " code { (one_line(id)) } }
            }
            td.number { (total.quantity.text()) }
            @if has_values {
                td.number {
                    (total.value.text())
                    @if total.unpriced > 0 { br; (total.unpriced) " without a price" }
                }
            }
        }
    }
}

fn title(row: &Classification) -> Markup {
    let time = row.block.as_ref().map_or("", |block| block.timestamp.as_str());
    html! {
        p.title {
            span.time { (one_line(time)) } " "
            @if row.needs_review { "for review, leaning to " (row.category.name()) }
            @else { (row.category.name()) ", " (row.treatment.name()) }
            @if let Some(protocol) = &row.protocol { ", " bdi { (one_line(protocol)) } }
        }
        p { code { (one_line(row.hash.as_deref().unwrap_or_default())) } " on " (one_line(row.chain.as_deref().unwrap_or_default())) }
        @if let Some(wallet) = row.perspective { p { "Wallet " code { (wallet) } } }
    }
}

fn left_to_people(reading: &Reading) -> Markup {
    let row = &reading.row;
    html! {
        section {
            (title(row))
            @if let Some(note) = &row.review_note { p { (one_line(note)) } }
            @match &reading.decision {
                Some(decision) => (decided(decision)),
                None => p { strong { "Not decided." } },
            }
        }
    }
}

fn decided(decision: &Decision) -> Markup {
    html! {
        p {
            strong { "Decided as " (one_line(&decision.verdict())) }
            " by " bdi { (one_line(decision.by())) } ", " (decision.at)
            @if let Some((by, at)) = decision.signed() { "; signed by " bdi { (one_line(by)) } ", " (at) }
            @if decision.waits() { "; waits for a second person" }
            "."
        }
        @if !decision.comment.is_empty() { p { bdi { (one_line(&decision.comment)) } } }
    }
}

fn transaction(reading: &Reading, bookings: &[Booking<'_>]) -> Markup {
    let row = &reading.row;
    let taxable = match row.taxable {
        Some(true) => "taxable",
        Some(false) => "not taxable",
        None => "undetermined",
    };
    html! {
        section {
            (title(row))
            p { (taxable) ", confidence " (row.confidence) @if row.needs_review { ", " strong { "for review" } } @if reading.decision.is_some() { ", decided" } }
            @if let Some(told) = &row.description { p { (one_line(told)) } }
            @if !bookings.is_empty() {
                table {
                    tbody { @for booking in bookings { (posting(booking)) } }
                }
            }
        }
    }
}

fn posting(booking: &Booking<'_>) -> Markup {
    let (leg, posting) = (booking.line.leg, booking.line.posting);
    let other: Option<Account> = booking.line.counterparty();
    html! {
        tr {
            td { (entry_words(posting.entry)) br; (posting.category.name()) }
            td.number { @if booking.line.is_out() { "−" } (posting.amount) }
            td {
                bdi { (one_line(leg.shown_symbol())) }
                @if let Some(token) = leg.token_address { br; code { (token) } }
                @if let Some(id) = &leg.token_id { br; "id " code { (one_line(id)) } }
            }
            td { @if let Some(other) = other { @if booking.line.is_out() { "to " } @else { "from " } code { (other) } } }
            @if let Some(priced) = &booking.priced { td.number { (priced.value.text()) br; "at " (priced.price.text()) ", " (priced.time) } }
        }
    }
}

fn entry_words(entry: Entry) -> String {
    entry.name().replace('_', " ")
}
