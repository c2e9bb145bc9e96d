//! The review table of a book: what waits for a person, and what people decide. Every use case takes the person, so the rows of others cannot be
//! reached.

use engine::Category;
use engine::treatment::Treatment;
use rand::distr::{Alphanumeric, SampleString as _};

use super::App;
use crate::error::ApiError;
use crate::store::{
    BookRow, Decision, DecisionRule, DecisionStep, Likeness, LogCursor, NewDecision, ReviewCounts, ReviewCursor,
    ReviewFilter, ReviewRow, RowKey,
};

/// Rows of one page.
pub(crate) const PAGE_ROWS: usize = 50;
/// Lines of one page of the log.
const LOG_ROWS: usize = 50;
/// Rows that one form decides.
pub(super) const KEYS_MAX: usize = 200;
pub(crate) const COMMENT_BYTES_MAX: usize = 2_000;
/// Bytes of a hash, an address, or anything that rows are found by.
const TEXT_BYTES_MAX: usize = 200;
const RULES_MAX: i64 = 200;
/// Rows that are shown before all like one are decided.
const LIKE_SHOWN: i64 = 20;
const ID_CHARS: usize = 24;
/// The treatments that somebody can decide.
pub(crate) const TREATMENTS: [Treatment; 4] =
    [Treatment::Disposal, Treatment::Income, Treatment::NonTaxable, Treatment::Expense];

/// What somebody wrote into the form.
#[derive(Debug, Clone, Default)]
pub(crate) struct DecisionDraft {
    pub(crate) category: String,
    /// Empty for the category's own.
    pub(crate) treatment: String,
    pub(crate) comment: String,
}

/// A page of the table.
#[derive(Debug)]
pub(crate) struct ReviewPage {
    pub(crate) book: BookRow,
    pub(crate) counts: ReviewCounts,
    pub(crate) rows: Vec<ReviewRow>,
    /// Where the next page begins.
    pub(crate) next: Option<ReviewCursor>,
}

/// A page of the log.
#[derive(Debug)]
pub(crate) struct LogPage {
    pub(crate) book: BookRow,
    pub(crate) steps: Vec<DecisionStep>,
    /// Where the next page begins.
    pub(crate) next: Option<LogCursor>,
}

/// What "decide all like this" would do.
#[derive(Debug)]
pub(crate) struct LikePreview {
    pub(crate) book: BookRow,
    pub(crate) like: Likeness,
    pub(crate) decision: NewDecision,
    pub(crate) count: i64,
    pub(crate) first: Vec<RowKey>,
}

impl App {
    pub(crate) async fn review_page(
        &self,
        person_id: &str,
        book_id: &str,
        filter: &ReviewFilter,
    ) -> Result<ReviewPage, ApiError> {
        let book = self.book(person_id, book_id).await?;
        let counts = self.store.review_counts(&book).await?;
        let limit = i64::try_from(PAGE_ROWS).unwrap_or(i64::MAX).saturating_add(1);
        let mut rows = if is_plain(filter) { self.store.review_rows(&book, filter, limit).await? } else { Vec::new() };
        let has_more = rows.len() > PAGE_ROWS;
        rows.truncate(PAGE_ROWS);
        let next = rows.last().filter(|_| has_more).map(ReviewRow::cursor);
        Ok(ReviewPage { book, counts, rows, next })
    }

    /// The book whose queue a person is led to: the first with an open row, or else the first.
    pub(crate) async fn book_to_review(&self, person_id: &str) -> Result<BookRow, ApiError> {
        let books = self.books(person_id).await?;
        for book in &books {
            if self.store.has_open(book).await? {
                return Ok(book.clone());
            }
        }
        books.into_iter().next().ok_or(ApiError::BookNotFound)
    }

    pub(crate) async fn review_counts(&self, book: &BookRow) -> Result<ReviewCounts, ApiError> {
        Ok(self.store.review_counts(book).await?)
    }

    /// How many rows were decided.
    pub(crate) async fn decide(
        &self,
        person_id: &str,
        book_id: &str,
        keys: &[RowKey],
        draft: &DecisionDraft,
    ) -> Result<u64, ApiError> {
        let book = self.book(person_id, book_id).await?;
        let decision = self.decision(draft)?;
        Ok(self.store.decide(&book, checked(keys)?, &decision, person_id).await?)
    }

    pub(crate) async fn undo_decisions(
        &self,
        person_id: &str,
        book_id: &str,
        keys: &[RowKey],
    ) -> Result<u64, ApiError> {
        let book = self.book(person_id, book_id).await?;
        Ok(self.store.undo(&book, checked(keys)?, person_id).await?)
    }

    /// How many decisions were signed: not one's own, and only where the book has a second person sign.
    pub(crate) async fn sign_decisions(
        &self,
        person_id: &str,
        book_id: &str,
        keys: &[RowKey],
    ) -> Result<u64, ApiError> {
        let book = self.book(person_id, book_id).await?;
        if !book.needs_second {
            return Err(ApiError::invalid_request("this book needs no second person: its settings say so"));
        }
        Ok(self.store.sign(&book, checked(keys)?, person_id).await?)
    }

    /// What would be decided, before it is.
    pub(crate) async fn preview_like(
        &self,
        person_id: &str,
        book_id: &str,
        keys: &[RowKey],
        draft: &DecisionDraft,
    ) -> Result<LikePreview, ApiError> {
        let book = self.book(person_id, book_id).await?;
        let decision = self.decision(draft)?;
        let [key] = checked(keys)? else {
            return Err(ApiError::invalid_request("choose the one row that the others are like"));
        };
        let like = self.store.likeness(&book, key).await?.ok_or_else(|| {
            ApiError::invalid_request(
                "rows are alike by the contract that they call, and this row calls none or is not for review",
            )
        })?;
        let (count, first) = self.store.open_like(&book, &like, LIKE_SHOWN).await?;
        Ok(LikePreview { book, like, decision, count, first })
    }

    /// Decides all open rows like this one, now and in later jobs; how many there were now.
    pub(crate) async fn decide_like(
        &self,
        person_id: &str,
        book_id: &str,
        keys: &[RowKey],
        draft: &DecisionDraft,
    ) -> Result<u64, ApiError> {
        let LikePreview { book, like, decision, .. } = self.preview_like(person_id, book_id, keys, draft).await?;
        let id = format!("rule_{}", Alphanumeric.sample_string(&mut rand::rng(), ID_CHARS));
        let decided = self.store.make_rule(&book, &id, &like, &decision, person_id, RULES_MAX).await?;
        decided.ok_or_else(|| ApiError::invalid_request(format!("a book has at most {RULES_MAX} rules")))
    }

    pub(crate) async fn rules(&self, person_id: &str, book_id: &str) -> Result<(BookRow, Vec<DecisionRule>), ApiError> {
        let book = self.book(person_id, book_id).await?;
        let rules = self.store.rules(&book).await?;
        Ok((book, rules))
    }

    /// How many decisions went with the rule.
    pub(crate) async fn remove_rule(&self, person_id: &str, book_id: &str, id: &str) -> Result<u64, ApiError> {
        let book = self.book(person_id, book_id).await?;
        let gone = if is_plain_text(id) { self.store.remove_rule(&book, id, person_id).await? } else { None };
        gone.ok_or(ApiError::NotFound)
    }

    /// A page of the log, the newest first, of rows whose hash has `hash` in it.
    pub(crate) async fn decision_log(
        &self,
        person_id: &str,
        book_id: &str,
        hash: Option<&str>,
        before: Option<&LogCursor>,
    ) -> Result<LogPage, ApiError> {
        let book = self.book(person_id, book_id).await?;
        let limit = i64::try_from(LOG_ROWS).unwrap_or(i64::MAX).saturating_add(1);
        let before_texts = before.into_iter().flat_map(|before| [before.hash.as_str(), before.wallet.as_str()]);
        let is_plain = hash.into_iter().chain(before_texts).all(is_plain_text);
        let found = if is_plain { self.store.decision_log(&book, hash, before, limit).await? } else { Vec::new() };
        let has_more = found.len() > LOG_ROWS;
        let steps: Vec<DecisionStep> = found.into_iter().take(LOG_ROWS).collect();
        let next = steps.last().filter(|_| has_more).map(DecisionStep::cursor);
        Ok(LogPage { book, steps, next })
    }

    /// What was decided on a transaction in a book of the person's own, with the book's id.
    pub(crate) async fn decision_of(
        &self,
        person_id: &str,
        hash: &str,
        wallet: &str,
    ) -> Result<Option<(String, Decision)>, ApiError> {
        let key = RowKey { hash: hash.to_owned(), wallet: wallet.to_owned() };
        if !is_plain_text(hash) || !is_plain_text(wallet) {
            return Ok(None);
        }
        Ok(self.store.decision_of(person_id, &key).await?)
    }

    pub(super) fn decision(&self, draft: &DecisionDraft) -> Result<NewDecision, ApiError> {
        let category =
            Category::parse(&draft.category).ok_or_else(|| ApiError::invalid_request("choose a category"))?;
        let treatment = match draft.treatment.as_str() {
            "" => self.reader.knowledge.treatments.row(category).treatment,
            word => TREATMENTS
                .into_iter()
                .find(|treatment| treatment.name() == word)
                .ok_or_else(|| ApiError::invalid_request("that is not a treatment"))?,
        };
        if treatment == Treatment::NeedsReview {
            return Err(ApiError::invalid_request("this category has no treatment of its own: choose one"));
        }
        // Browsers send CR LF.
        let comment = draft.comment.trim().replace("\r\n", "\n");
        if comment.len() > COMMENT_BYTES_MAX {
            return Err(ApiError::invalid_request(format!("a comment has at most {COMMENT_BYTES_MAX} bytes")));
        }
        if comment.chars().any(|c| c.is_control() && c != '\n') {
            return Err(ApiError::invalid_request("a comment has no control characters"));
        }
        Ok(NewDecision { category: category.name().to_owned(), treatment: treatment.name().to_owned(), comment })
    }
}

fn checked(keys: &[RowKey]) -> Result<&[RowKey], ApiError> {
    if keys.is_empty() {
        return Err(ApiError::invalid_request("choose at least one row"));
    }
    let are_plain = keys.iter().all(|key| is_plain_text(&key.hash) && is_plain_text(&key.wallet));
    if keys.len() > KEYS_MAX || !are_plain {
        return Err(ApiError::invalid_request("these are not rows of the table"));
    }
    Ok(keys)
}

/// PostgreSQL refuses a NUL in any text, which would be an error of the store.
fn is_plain_text(text: &str) -> bool {
    text.len() <= TEXT_BYTES_MAX && !text.chars().any(char::is_control)
}

/// A filter that nothing can be found by finds nothing.
fn is_plain(filter: &ReviewFilter) -> bool {
    let wanted = [&filter.chain, &filter.protocol, &filter.category, &filter.wallet, &filter.hash];
    let after = filter.after.iter().flat_map(|after| [&after.hash, &after.wallet, &after.protocol, &after.category]);
    // A protocol's name may be longer than what people type.
    wanted.into_iter().flatten().all(|text| is_plain_text(text)) && after.into_iter().all(|text| !text.contains('\0'))
}
