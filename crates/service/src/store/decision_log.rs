//! The log of decisions: every decision, signature and undoing in a book, with who and when.

use sqlx::QueryBuilder;

use super::history::starting_with;
use super::{BookRow, Store, StoreError, from_row, on};

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionStep {
    pub hash: String,
    pub wallet: String,
    /// The first that was done to its row is 1.
    pub step: i64,
    /// `decided`, `signed` or `undone`.
    pub what: String,
    pub category: String,
    pub treatment: String,
    pub comment: String,
    /// The address of who did it; erased where they have left.
    pub by_email: String,
    /// Milliseconds since 1970.
    pub at: i64,
    pub rule_id: Option<String>,
}

from_row!(DecisionStep: hash, wallet, step, what, category, treatment, comment, by_email, at, rule_id);

impl DecisionStep {
    pub fn cursor(&self) -> LogCursor {
        LogCursor { at: self.at, hash: self.hash.clone(), wallet: self.wallet.clone(), step: self.step }
    }
}

/// Where a line stands in the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogCursor {
    pub at: i64,
    pub hash: String,
    pub wallet: String,
    pub step: i64,
}

impl Store {
    /// What was done to the rows of a book, the newest first: at most `limit` lines before the one that `before` names, of rows whose hash has `hash` in it.
    pub async fn decision_log(
        &self,
        book: &BookRow,
        hash: Option<&str>,
        before: Option<&LogCursor>,
        limit: i64,
    ) -> Result<Vec<DecisionStep>, StoreError> {
        on!(self, store => {
            let mut ask = QueryBuilder::new(
                "SELECT hash, wallet, step, what, category, treatment, comment, owners.email AS by_email, at, rule_id
                 FROM decision_log JOIN owners ON owners.id = decision_log.by_id WHERE book_id = ",
            );
            ask.push_bind(&book.id);
            if let Some(part) = hash {
                ask.push(" AND lower(hash) LIKE ").push_bind(format!("%{}", starting_with(part))).push(" ESCAPE '!'");
            }
            if let Some(LogCursor { at, hash, wallet, step }) = before {
                ask.push(" AND (at, hash, wallet, step) < (").push_bind(at).push(", ").push_bind(hash);
                ask.push(", ").push_bind(wallet).push(", ").push_bind(step).push(")");
            }
            ask.push(" ORDER BY at DESC, hash DESC, wallet DESC, step DESC LIMIT ").push_bind(limit);
            Ok(ask.build_query_as().fetch_all(store.pool()).await?)
        })
    }
}
