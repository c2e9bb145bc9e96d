//! The form that takes a table, and what was typed into it.

use books::asked::{FILE_BYTES_MAX, ROWS_MAX};
use engine::policy::{KEYS, PolicyRow};
use maud::{Markup, html};

use crate::accounts::Person;
use crate::app::{JobRequest, Upload, is_choice};
use crate::error::ApiError;
use crate::pages::frame::{PageError, proof};
use crate::pages::multipart::{FormParts, text};
use crate::pages::parts::{grouped, harmless};
use crate::pages::visitor::Visitor;
use crate::store::BookRow;
use crate::web::Web;

/// The field that holds the table.
const FILE: &str = "file";
/// Characters of an address, and of a name of a job or a column.
const ADDRESS_CHARS_MAX: usize = 128;
const NAME_CHARS_MAX: usize = 200;

#[derive(Debug, Default)]
pub(super) struct UploadForm {
    file_name: String,
    book: String,
    name: String,
    chain: String,
    wallet: String,
    column: String,
    own_wallets: String,
    /// Keys and values of what was chosen against the house's default.
    policy: Vec<(String, String)>,
}

impl UploadForm {
    /// The fields, and the table or why it was refused. Fields after a refused table are read too, so that the form can be shown again.
    pub(super) async fn read(
        web: &Web,
        person: &Person,
        parts: &mut FormParts,
    ) -> Result<(Self, Result<Upload, ApiError>), PageError> {
        let mut form = Self::default();
        let mut upload = None;
        while let Some(part) = parts.next().await? {
            let field = part.name().unwrap_or_default().to_owned();
            match part.file_name().map(str::to_owned) {
                Some(name) if field == FILE && upload.is_none() => {
                    upload = Some(web.app.take_upload(&person.owner_id, part).await);
                    form.file_name = name;
                }
                Some(_) => return Err(PageError::Form),
                None => form.set(&field, text(part).await?),
            }
        }
        let upload = upload.ok_or(PageError::Form)?;
        let is_chosen = !form.file_name.is_empty();
        let upload = if is_chosen { upload } else { Err(ApiError::invalid_request("choose a file first")) };
        Ok((form, upload))
    }

    fn set(&mut self, field: &str, value: String) {
        match field {
            "book" => self.book = value,
            "name" => self.name = value,
            "chain" => self.chain = value,
            "wallet" => self.wallet = value,
            "column" => self.column = value,
            "own_wallets" => self.own_wallets = value,
            _ if is_choice(field, &value) => self.policy.push((field.to_owned(), value)),
            _ => {}
        }
    }

    /// A job without a name is called as its file is.
    pub(super) fn request(&self) -> JobRequest {
        let given = |text: &str| Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
        JobRequest {
            book: given(&self.book),
            name: given(&self.name).or_else(|| given(&self.file_name)),
            column: given(&self.column),
            chain: given(&self.chain),
            wallet: given(&self.wallet),
            own_wallets: self.wallets().map(str::to_owned).collect(),
            policy: self.policy.clone(),
            waits: true,
        }
    }

    fn wallets(&self) -> impl Iterator<Item = &str> {
        self.own_wallets.split([',', ';', ' ', '\t', '\r', '\n']).filter(|wallet| !wallet.is_empty())
    }

    /// Its first field is the CSRF proof, which is checked before the file is taken.
    pub(super) fn drawn(&self, visitor: &Visitor, chains: &[String], books: &[BookRow]) -> Markup {
        let wallets: Vec<String> = self.wallets().map(|wallet| harmless(wallet, ADDRESS_CHARS_MAX)).collect();
        let has_hints =
            [&self.chain, &self.wallet, &self.column, &self.own_wallets].iter().any(|text| !text.is_empty());
        html! {
            form.try method="post" enctype="multipart/form-data" action="/jobs" {
                (proof(visitor))
                label { "Table" input type="file" name=(FILE) required aria-describedby="table-hint"; }
                p.hint id="table-hint" { "CSV, JSON Lines, Parquet, or a list of hashes or links, of up to " (FILE_BYTES_MAX >> 20) " MiB and " (grouped(&ROWS_MAX.to_string())) " rows." }
                (book_choice(books, &self.book))
                label { "Name (the file's, when left out)" input name="name" value=(harmless(&self.name, NAME_CHARS_MAX)) maxlength=(NAME_CHARS_MAX) autocomplete="off"; }
                details open[has_hints] {
                    summary { "Chain, wallets and column (found when left out)" }
                    label { "Chain of rows that name none" select name="chain" {
                        option value="" { "find it" }
                        @for slug in chains { option value=(slug) selected[*slug == self.chain] { (slug) } }
                    } }
                    label { "Read rows that name no wallet as this one saw them" input name="wallet" value=(harmless(&self.wallet, ADDRESS_CHARS_MAX)) maxlength=(ADDRESS_CHARS_MAX) autocomplete="off" spellcheck="false"; }
                    label { "Column that holds the hashes" input name="column" value=(harmless(&self.column, NAME_CHARS_MAX)) maxlength=(NAME_CHARS_MAX) autocomplete="off" spellcheck="false"; }
                    label { "Your own wallets beside those of the book, one a line: what moves between them is no sale" textarea name="own_wallets" rows="3" autocomplete="off" spellcheck="false" { (wallets.join("\n")) } }
                }
                (choices(&self.policy))
                button { "Upload" }
                p.hint { "You see how the table was understood before anything is read or counted." }
            }
        }
    }
}

pub(super) fn book_choice(books: &[BookRow], chosen: &str) -> Markup {
    html! {
        label { "Book" select name="book" {
            @for book in books { option value=(book.id) selected[book.id == chosen] { (harmless(&book.name, NAME_CHARS_MAX)) } }
        } }
    }
}

/// The questions of the policy, with what was chosen.
pub(super) fn choices(policy: &[(String, String)]) -> Markup {
    let is_chosen = |row: &PolicyRow, name: &str| policy.iter().any(|(key, value)| key == row.name && value == name);
    html! {
        details open[!policy.is_empty()] {
            summary { "Questions on which both sides are defensible" }
            @for row in &KEYS {
                label { (row.question) select name=(row.name) {
                    option value="" { "As the book says" }
                    @for choice in &row.choices { option value=(choice.name) selected[is_chosen(row, choice.name)] { (choice.label) } }
                } }
            }
        }
    }
}
