//! The settings of a book: the form in which its owner changes them, and the same as somebody else reads them.

use engine::policy::{KEYS, PolicyRow};
use maud::{Markup, html};

use crate::app::{BOOK_NAME_CHARS_MAX, BookDraft, BookPage, jurisdictions};
use crate::pages::frame::proof;
use crate::pages::parts::{harmless, text};
use crate::pages::visitor::Visitor;
use crate::store::BookRow;
use crate::text::visible;

/// Characters of an address and what it is called.
const WALLET_CHARS_MAX: usize = 240;
const EMAIL_CHARS_MAX: usize = 254;

/// What was typed; nothing where it is another form. A field that nobody knows is ignored.
pub(super) fn draft(fields: &[(String, String)]) -> Option<BookDraft> {
    let has = |name: &str| fields.iter().any(|(field, _)| field == name);
    if !["name", "wallets", "jurisdiction", "time_zone", "chart"].into_iter().all(has) {
        return None;
    }
    let mut draft = BookDraft::default();
    for (field, value) in fields {
        let value = value.replace("\r\n", "\n");
        match field.as_str() {
            "name" => draft.name = value,
            "wallets" => draft.wallets = value,
            "jurisdiction" => draft.jurisdiction = value,
            "time_zone" => draft.time_zone = value,
            "chart" => draft.chart = value,
            "period_from" => draft.period_from = value,
            "period_to" => draft.period_to = value,
            "needs_second" => draft.needs_second = value == "yes",
            key if KEYS.iter().any(|row| row.name == key) && !value.is_empty() => {
                draft.policy.push((key.to_owned(), value));
            }
            _ => {}
        }
    }
    Some(draft)
}

pub(super) fn form(visitor: &Visitor, book: &BookRow, draft: &BookDraft) -> Markup {
    let wallets: Vec<String> = draft.wallets.lines().map(|line| harmless(line, WALLET_CHARS_MAX)).collect();
    html! {
        section aria-labelledby="settings" {
            h2 id="settings" { "Settings" }
            form.try method="post" action={ "/books/" (book.id) } {
                (proof(visitor))
                label { "Name" input name="name" value=(harmless(&draft.name, BOOK_NAME_CHARS_MAX)) maxlength=(BOOK_NAME_CHARS_MAX) required autocomplete="off"; }
                label { "Wallets, one a line, with a name behind each if you like: what moves between them is no sale"
                    textarea name="wallets" rows="5" autocomplete="off" spellcheck="false" { (wallets.join("\n")) } }
                label { "Jurisdiction" select name="jurisdiction" {
                    @for (word, name) in jurisdictions() { option value=(word) selected[word == draft.jurisdiction] { (name) } }
                } }
                label { "Time zone of its dates" input name="time_zone" value=(harmless(&draft.time_zone, WALLET_CHARS_MAX)) maxlength="64" required autocomplete="off" spellcheck="false" aria-describedby="zone-hint"; }
                p.hint id="zone-hint" { "A name of the IANA database, such as UTC, Europe/Berlin or America/New_York." }
                label { "Period from" input type="date" name="period_from" value=(harmless(&draft.period_from, WALLET_CHARS_MAX)); }
                label { "Period to" input type="date" name="period_to" value=(harmless(&draft.period_to, WALLET_CHARS_MAX)); }
                label.check { input type="checkbox" name="needs_second" value="yes" checked[draft.needs_second]; " A second person signs what one has decided" }
                details open[!draft.policy.is_empty()] {
                    summary { "Questions on which both sides are defensible" }
                    @for row in &KEYS { (choice(row, draft)) }
                }
                details open[!draft.chart.is_empty()] {
                    summary { "Chart of accounts" }
                    label { "In TOML; the default when empty" textarea name="chart" rows="12" autocomplete="off" spellcheck="false" { (shown(&draft.chart)) } }
                    p.hint { a href="/docs/journal" { "What a chart of accounts says" } "." }
                }
                button { "Save" }
                p.hint { "Wallets and policy hold for jobs that begin from now on." }
            }
        }
    }
}

/// Text of several lines as it may be sent again: only what would hide or reorder is shown as a mark.
fn shown(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\t') { c } else { visible(c) }).collect()
}

fn choice(row: &PolicyRow, draft: &BookDraft) -> Markup {
    let [default, other] = &row.choices;
    let is_other = draft.policy.iter().any(|(key, value)| key == row.name && value == other.name);
    html! {
        label { (row.question) select name=(row.name) {
            option value="" { (default.label) " (house default)" }
            option value=(other.name) selected[is_other] { (other.label) }
        } }
    }
}

/// Who else may see the book. Whether anybody has an account at an address is not told.
pub(super) fn people(visitor: &Visitor, book: &BookRow, people: &[String]) -> Markup {
    html! {
        section aria-labelledby="people" {
            h2 id="people" { "People" }
            p { "Whoever signs in with one of these addresses, and has shown that it is theirs, sees this book's settings and its review table, and may decide and sign there." }
            ul { @for email in people { li {
                bdi.stranger { (harmless(email, EMAIL_CHARS_MAX)) } " "
                form.inline method="post" action={ "/books/" (book.id) "/people/remove" } {
                    (proof(visitor))
                    input type="hidden" name="email" value=(email);
                    button.plain aria-label={ "Take out " (harmless(email, EMAIL_CHARS_MAX)) } { "Take out" }
                }
            } } }
            form.row method="post" action={ "/books/" (book.id) "/people" } {
                (proof(visitor))
                label { "E-mail address" input type="email" name="email" maxlength=(EMAIL_CHARS_MAX) required autocomplete="off"; }
                button { "Add" }
            }
        }
    }
}

/// For whoever the book is shared with.
pub(super) fn facts(page: &BookPage) -> Markup {
    let book = &page.book;
    let day = |day: &Option<String>| day.clone().unwrap_or_else(|| "open".to_owned());
    html! {
        section aria-labelledby="settings" {
            h2 id="settings" { "Settings" }
            p.hint { "The book is shared with you. Its owner sets it up." }
            dl.facts {
                dt { "Jurisdiction" } dd { (text(&book.jurisdiction)) }
                dt { "Time zone" } dd { (text(&book.time_zone)) }
                dt { "Period" } dd { (text(&day(&book.period_from))) " to " (text(&day(&book.period_to))) }
                dt { "Signed by a second person" } dd { @if book.needs_second { "yes" } @else { "no" } }
                dt { "Wallets" } dd { ul { @for wallet in &page.wallets { li {
                    code { (harmless(&wallet.address, WALLET_CHARS_MAX)) }
                    @if !wallet.label.is_empty() { " " (text(&wallet.label)) }
                } } } }
            }
        }
    }
}
