//! Books: what an owner keeps for a client or a name. A job belongs to one, and is read with its wallets and its policy. Every use case takes the
//! person or the owner, so the books of others cannot be reached.

use std::collections::{BTreeMap, BTreeSet};

use books::chart::Chart;
use engine::policy::KEYS;
use engine::question::OWN_WALLETS_MAX;
use engine::{Account, Treatments};
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::{App, is_id};
use crate::auth;
use crate::error::ApiError;
use crate::store::{BookRemoval, BookRow, BookSettings, BookWallet, new_book_id};

/// Books of one owner.
const BOOKS_MAX: i64 = 200;
/// Books that a person sees, their own and those of others.
const SEEN_MAX: i64 = 500;
/// People of one book beside its owner.
const PEOPLE_MAX: i64 = 20;
pub(crate) const BOOK_NAME_CHARS_MAX: usize = 200;
const LABEL_CHARS_MAX: usize = 100;
/// A chart of accounts as it is written.
const CHART_BYTES_MAX: usize = 64 << 10;
const TIME_ZONE_BYTES_MAX: usize = 64;

/// The settings of a book as somebody wrote them.
#[derive(Debug, Clone, Default)]
pub(crate) struct BookDraft {
    pub(crate) name: String,
    pub(crate) jurisdiction: String,
    pub(crate) time_zone: String,
    /// Keys and values of what was chosen against the house's default.
    pub(crate) policy: Vec<(String, String)>,
    pub(crate) chart: String,
    pub(crate) period_from: String,
    pub(crate) period_to: String,
    pub(crate) needs_second: bool,
    /// One a line: an address, and behind it what it is called.
    pub(crate) wallets: String,
}

impl BookDraft {
    /// What a book says now.
    pub(crate) fn of(book: &BookRow, wallets: &[BookWallet]) -> Self {
        let line = |wallet: &BookWallet| format!("{} {}", wallet.address, wallet.label).trim_end().to_owned();
        Self {
            name: book.name.clone(),
            jurisdiction: book.jurisdiction.clone(),
            time_zone: book.time_zone.clone(),
            policy: policy_of(book),
            chart: book.chart.clone(),
            period_from: book.period_from.clone().unwrap_or_default(),
            period_to: book.period_to.clone().unwrap_or_default(),
            needs_second: book.needs_second,
            wallets: wallets.iter().map(line).collect::<Vec<_>>().join("\n"),
        }
    }

    fn settings(&self) -> Result<BookSettings, ApiError> {
        let chart = self.chart.trim();
        if chart.len() > CHART_BYTES_MAX {
            return Err(ApiError::invalid_request(format!("a chart of accounts has at most {CHART_BYTES_MAX} bytes")));
        }
        if !chart.is_empty() {
            Chart::parse(chart).map_err(|error| ApiError::invalid_request(error.to_string()))?;
        }
        let [period_from, period_to] = [&self.period_from, &self.period_to].map(|text| date(text));
        let (period_from, period_to) = (period_from?, period_to?);
        if matches!((period_from, period_to), (Some(from), Some(to)) if from > to) {
            return Err(ApiError::invalid_request("the period ends before it begins"));
        }
        Ok(BookSettings {
            name: checked_name(&self.name)?,
            jurisdiction: jurisdiction(&self.jurisdiction)?,
            time_zone: time_zone(&self.time_zone)?,
            policy: policy(&self.policy)?,
            chart: chart.to_owned(),
            period_from: period_from.map(|date| date.to_string()),
            period_to: period_to.map(|date| date.to_string()),
            needs_second: self.needs_second,
            wallets: wallets(&self.wallets)?,
        })
    }
}

/// A book with everything that its page shows.
#[derive(Debug)]
pub(crate) struct BookPage {
    pub(crate) book: BookRow,
    pub(crate) wallets: Vec<BookWallet>,
    pub(crate) people: Vec<String>,
    /// How many jobs it has, and how many of them are not finished.
    pub(crate) jobs: i64,
    pub(crate) unfinished: i64,
}

impl App {
    /// The books that a person may see, their own first.
    pub(crate) async fn books(&self, person_id: &str) -> Result<Vec<BookRow>, ApiError> {
        self.first_book(person_id).await?;
        Ok(self.store.books(person_id, SEEN_MAX).await?)
    }

    /// The books that an owner's jobs may belong to, the first first.
    pub(crate) async fn own_books(&self, owner_id: &str) -> Result<Vec<BookRow>, ApiError> {
        self.first_book(owner_id).await?;
        Ok(self.store.own_books(owner_id, BOOKS_MAX.saturating_add(1)).await?)
    }

    /// A book that the person may see.
    pub(crate) async fn book(&self, person_id: &str, id: &str) -> Result<BookRow, ApiError> {
        let found = if is_id(id) { self.store.book(person_id, id).await? } else { None };
        found.ok_or(ApiError::BookNotFound)
    }

    pub(crate) async fn book_page(&self, person_id: &str, id: &str) -> Result<BookPage, ApiError> {
        let book = self.book(person_id, id).await?;
        let (jobs, unfinished) = self.store.book_jobs(&book).await?;
        let (wallets, people) = (self.store.book_wallets(&book).await?, self.store.book_people(&book).await?);
        Ok(BookPage { book, wallets, people, jobs, unfinished })
    }

    /// The book that a job of the owner belongs to: the one it names, or the first.
    pub(super) async fn book_of_job(&self, owner_id: &str, id: Option<&str>) -> Result<BookRow, ApiError> {
        match id {
            None => self.first_book(owner_id).await,
            Some(id) => self.own_book(owner_id, id).await,
        }
    }

    pub(crate) async fn own_book(&self, owner_id: &str, id: &str) -> Result<BookRow, ApiError> {
        let found = if is_id(id) { self.store.own_book(owner_id, id).await? } else { None };
        found.ok_or(ApiError::BookNotFound)
    }

    async fn first_book(&self, owner_id: &str) -> Result<BookRow, ApiError> {
        let first = self.store.first_book(owner_id, &new_book_id(), &BookSettings::first()).await?;
        first.ok_or(ApiError::BookNotFound)
    }

    /// The id of the new book.
    pub(crate) async fn create_book(&self, owner_id: &str, name: &str) -> Result<String, ApiError> {
        let (id, settings) = (new_book_id(), BookSettings::new(&checked_name(name)?));
        if !self.store.create_book(owner_id, &id, &settings, BOOKS_MAX).await? {
            return Err(ApiError::invalid_request(format!("an owner has at most {BOOKS_MAX} books")));
        }
        Ok(id)
    }

    pub(crate) async fn set_book(&self, owner_id: &str, id: &str, draft: &BookDraft) -> Result<(), ApiError> {
        let book = self.own_book(owner_id, id).await?;
        let is_set = self.store.set_book(owner_id, &book.id, &draft.settings()?).await?;
        if is_set { Ok(()) } else { Err(ApiError::BookNotFound) }
    }

    /// Tells nothing about whether anybody has an account at the address.
    pub(crate) async fn add_to_book(&self, owner_id: &str, id: &str, email: &str) -> Result<(), ApiError> {
        let book = self.own_book(owner_id, id).await?;
        let email = email.trim().to_lowercase();
        if !auth::is_email(&email) {
            return Err(ApiError::invalid_request("that is not an e-mail address"));
        }
        if !self.store.add_to_book(owner_id, &book.id, &email, PEOPLE_MAX).await? {
            return Err(ApiError::invalid_request(format!("a book has at most {PEOPLE_MAX} people beside its owner")));
        }
        Ok(())
    }

    /// Whoever was not there is not there afterwards either.
    pub(crate) async fn take_from_book(&self, owner_id: &str, id: &str, email: &str) -> Result<(), ApiError> {
        let book = self.own_book(owner_id, id).await?;
        if auth::is_email(email) {
            self.store.take_from_book(owner_id, &book.id, email).await?;
        }
        Ok(())
    }

    /// False, and nothing is removed, while a job of the book is not finished.
    pub(crate) async fn remove_book(&self, owner_id: &str, id: &str) -> Result<bool, ApiError> {
        let book = self.own_book(owner_id, id).await?;
        match self.store.remove_book(owner_id, &book.id).await? {
            BookRemoval::Removed => Ok(true),
            BookRemoval::Busy => Ok(false),
            BookRemoval::Missing => Err(ApiError::BookNotFound),
        }
    }

    pub(crate) async fn book_wallets(&self, book: &BookRow) -> Result<Vec<BookWallet>, ApiError> {
        Ok(self.store.book_wallets(book).await?)
    }
}

/// The words of every jurisdiction that the engine has a table for.
pub(crate) fn jurisdictions() -> Vec<(String, String)> {
    let tables = Treatments::embedded().unwrap_or_default();
    tables.into_iter().map(|table| (table.jurisdiction, table.name)).collect()
}

/// What was chosen against the house's default.
pub(crate) fn policy_of(book: &BookRow) -> Vec<(String, String)> {
    let chosen: BTreeMap<String, String> = serde_json::from_str(&book.policy).unwrap_or_default();
    chosen.into_iter().collect()
}

/// The book's own chart of accounts, or the default.
pub(super) fn chart_of(book: Option<&BookRow>) -> Result<Chart, ApiError> {
    let own = book.map(|book| book.chart.as_str()).filter(|chart| !chart.is_empty());
    own.map_or_else(Chart::embedded, Chart::parse).map_err(|_| ApiError::Internal)
}

fn checked_name(text: &str) -> Result<String, ApiError> {
    let name = text.trim();
    let fits = !name.is_empty() && name.chars().count() <= BOOK_NAME_CHARS_MAX && !name.chars().any(char::is_control);
    let refused =
        || format!("a book's name has 1 to {BOOK_NAME_CHARS_MAX} characters, none of them a control character");
    fits.then(|| name.to_owned()).ok_or_else(|| ApiError::invalid_request(refused()))
}

fn jurisdiction(word: &str) -> Result<String, ApiError> {
    let known = jurisdictions().into_iter().find(|(known, _)| known == word);
    known.map(|(known, _)| known).ok_or_else(|| ApiError::invalid_request("that jurisdiction is not known here"))
}

/// As the IANA database spells it.
fn time_zone(name: &str) -> Result<String, ApiError> {
    let name = name.trim();
    let found = Some(name).filter(|name| name.len() <= TIME_ZONE_BYTES_MAX).and_then(|name| TimeZone::get(name).ok());
    let spelt = found.and_then(|zone| zone.iana_name().map(str::to_owned));
    spelt
        .ok_or_else(|| ApiError::invalid_request("the time zone is a name of the IANA database, such as Europe/Berlin"))
}

/// Whether a policy has this key, and the key this value.
pub(crate) fn is_choice(key: &str, value: &str) -> bool {
    KEYS.iter().any(|row| row.name == key && row.choices.iter().any(|choice| choice.name == value))
}

fn policy(chosen: &[(String, String)]) -> Result<String, ApiError> {
    let chosen: BTreeMap<&str, &str> = chosen
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .filter(|(key, value)| is_choice(key, value))
        .collect();
    serde_json::to_string(&chosen).map_err(|_| ApiError::Internal)
}

fn date(text: &str) -> Result<Option<Date>, ApiError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let refused = |_| ApiError::invalid_request("the days of the period are written as 2026-01-31");
    text.parse().map(Some).map_err(refused)
}

/// One a line: an address, and behind it what it is called. A second mention of an address is dropped.
fn wallets(text: &str) -> Result<Vec<BookWallet>, ApiError> {
    let (mut wallets, mut known) = (Vec::new(), BTreeSet::new());
    for (number, line) in (1_usize..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let line = line.trim();
        let (address, label) = line.split_once([' ', '\t', ',', ';']).unwrap_or((line, ""));
        let account = Account::parse(address)
            .map_err(|error| ApiError::invalid_request(format!("line {number} of the wallets: {error}")))?;
        let label: String = label.trim().chars().filter(|c| !c.is_control()).take(LABEL_CHARS_MAX).collect();
        if known.insert(account) {
            wallets.push(BookWallet { address: account.to_string(), label });
        }
        if wallets.len() > OWN_WALLETS_MAX {
            return Err(ApiError::invalid_request(format!("a book has at most {OWN_WALLETS_MAX} wallets")));
        }
    }
    Ok(wallets)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";

    fn draft() -> BookDraft {
        BookDraft {
            name: " Client 7 ".to_owned(),
            jurisdiction: "us".to_owned(),
            time_zone: "europe/berlin".to_owned(),
            policy: vec![("lp".to_owned(), "non_taxable".to_owned()), ("lp2".to_owned(), "x".to_owned())],
            period_from: "2025-01-01".to_owned(),
            wallets: format!("{ONE} the \"hot\" one\r\n\r\n{}\r\n", ONE.to_uppercase().replace("0X", "0x")),
            ..BookDraft::default()
        }
    }

    #[test]
    fn settings_are_checked_and_spelt_in_one_way() {
        let settings = draft().settings().unwrap();
        assert_eq!((settings.name.as_str(), settings.time_zone.as_str()), ("Client 7", "Europe/Berlin"));
        assert_eq!((settings.policy.as_str(), settings.period_to), ("{\"lp\":\"non_taxable\"}", None));
        assert_eq!(settings.wallets, [BookWallet { address: ONE.to_owned(), label: "the \"hot\" one".to_owned() }]);
    }

    #[test]
    fn what_a_book_cannot_be_is_told() {
        let many: String = (0..=OWN_WALLETS_MAX).map(|at| format!("0x{at:040x}\n")).collect();
        let cases: [(BookDraft, &str); 9] = [
            (BookDraft { name: " ".to_owned(), ..draft() }, "1 to 200 characters"),
            (BookDraft { name: "a\0b".to_owned(), ..draft() }, "1 to 200 characters"),
            (BookDraft { jurisdiction: "atlantis".to_owned(), ..draft() }, "not known here"),
            (BookDraft { time_zone: "Mars/Olympus".to_owned(), ..draft() }, "IANA"),
            (BookDraft { chart: "[wallet]".to_owned(), ..draft() }, "chart of accounts is refused"),
            (BookDraft { period_from: "soon".to_owned(), ..draft() }, "2026-01-31"),
            (BookDraft { period_to: "2024-12-31".to_owned(), ..draft() }, "ends before it begins"),
            (BookDraft { wallets: format!("{ONE}\nbob.eth"), ..draft() }, "line 2 of the wallets"),
            (BookDraft { wallets: many, ..draft() }, "at most 1000 wallets"),
        ];
        for (draft, said) in cases {
            let told = draft.settings().unwrap_err().to_string();
            assert!(told.contains(said), "{said}: {told}");
        }
    }
}
