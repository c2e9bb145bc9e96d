//! The review table: a page of a book's rows in any order, each with its decision. Every order has an index that begins with the book and the state, so that
//! a page costs the same whether a hundred rows wait or a million.

use sqlx::QueryBuilder;

use super::book_rows::{DECIDED, DISAGREED, OPEN, WAITING};
use super::history::starting_with;
use super::{BookRow, Store, StoreError, from_row, on};

/// Which rows of a book.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReviewState {
    #[default]
    Open,
    Decided,
    Waiting,
    Disagreed,
    /// All of these.
    All,
    /// Those that need no person and on which no decision stands: the rules have learned to read them, or a decision was taken back.
    Read,
}

impl ReviewState {
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Open => &[OPEN],
            Self::Decided => &[DECIDED],
            Self::Waiting => &[WAITING],
            Self::Disagreed => &[DISAGREED],
            Self::All => &[OPEN, WAITING, DECIDED, DISAGREED],
            Self::Read => &[],
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReviewSort {
    #[default]
    Time,
    Wallet,
    Protocol,
    Category,
    Confidence,
}

impl ReviewSort {
    fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Time => &["time", "hash", "wallet"],
            Self::Wallet => &["wallet", "time", "hash"],
            Self::Protocol => &["protocol", "time", "hash", "wallet"],
            Self::Category => &["category", "time", "hash", "wallet"],
            Self::Confidence => &["confidence", "time", "hash", "wallet"],
        }
    }
}

/// Which page of which rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewFilter {
    pub state: ReviewState,
    pub sort: ReviewSort,
    pub is_descending: bool,
    pub chain: Option<String>,
    pub protocol: Option<String>,
    pub category: Option<String>,
    pub wallet: Option<String>,
    /// A part of the hash.
    pub hash: Option<String>,
    /// The last row of the page before.
    pub after: Option<ReviewCursor>,
}

/// Where a row stands in any of the orders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewCursor {
    pub time: i64,
    pub hash: String,
    pub wallet: String,
    pub protocol: String,
    pub category: String,
    pub confidence: i64,
}

/// A row with the decision on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewRow {
    pub hash: String,
    pub wallet: String,
    pub chain: String,
    pub time: i64,
    pub category: String,
    pub treatment: String,
    pub confidence: i64,
    /// The category is only what it leans to.
    pub needs_review: bool,
    pub protocol: String,
    pub note: String,
    pub amounts: String,
    pub state: Option<String>,
    pub decided_category: Option<String>,
    pub decided_treatment: Option<String>,
    pub comment: Option<String>,
    /// The account that decided, and its address.
    pub decided_by: Option<String>,
    pub decider: Option<String>,
    pub decided_at: Option<i64>,
    pub signer: Option<String>,
    pub signed_at: Option<i64>,
    pub rule_id: Option<String>,
}

from_row!(ReviewRow: hash, wallet, chain, time, category, treatment, confidence, needs_review, protocol, note, amounts, state, decided_category, decided_treatment, comment, decided_by, decider, decided_at, signer, signed_at, rule_id);

impl ReviewRow {
    pub fn cursor(&self) -> ReviewCursor {
        ReviewCursor {
            time: self.time,
            hash: self.hash.clone(),
            wallet: self.wallet.clone(),
            protocol: self.protocol.clone(),
            category: self.category.clone(),
            confidence: self.confidence,
        }
    }
}

/// How many rows stand in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReviewCounts {
    pub open: i64,
    pub waiting: i64,
    pub decided: i64,
    pub disagreed: i64,
}

const COLUMNS: &str =
    "hash, wallet, chain, time, category, treatment, confidence, needs_review, protocol, note, amounts, state";

/// One state of the page, in order. With the state named, each order is that of an index.
macro_rules! push_part {
    ($query:ident, $book_id:expr, $state:expr, $filter:expr, $limit:expr) => {
        $query
            .push("SELECT * FROM (SELECT ")
            .push(COLUMNS)
            .push(" FROM book_rows WHERE book_id = ")
            .push_bind($book_id);
        match $state {
            Some(state) => $query.push(" AND state = '").push(state).push("'"),
            None => $query.push(" AND state IS NULL"),
        };
        let equal = [
            ("chain", &$filter.chain),
            ("protocol", &$filter.protocol),
            ("category", &$filter.category),
            ("wallet", &$filter.wallet),
        ];
        for (column, wanted) in equal {
            if let Some(wanted) = wanted {
                $query.push(" AND ").push(column).push(" = ").push_bind(wanted);
            }
        }
        if let Some(part) = &$filter.hash {
            $query.push(" AND lower(hash) LIKE ").push_bind(format!("%{}", starting_with(part))).push(" ESCAPE '!'");
        }
        let columns = $filter.sort.columns();
        if let Some(after) = &$filter.after {
            $query.push(" AND (").push(columns.join(", ")).push(if $filter.is_descending { ") < (" } else { ") > (" });
            for (at, column) in columns.iter().enumerate() {
                if at > 0 {
                    $query.push(", ");
                }
                match *column {
                    "time" => $query.push_bind(after.time),
                    "confidence" => $query.push_bind(after.confidence),
                    "wallet" => $query.push_bind(&after.wallet),
                    "protocol" => $query.push_bind(&after.protocol),
                    "category" => $query.push_bind(&after.category),
                    _ => $query.push_bind(&after.hash),
                };
            }
            $query.push(")");
        }
        $query.push(" ORDER BY ").push(ordered($filter, "")).push(" LIMIT ").push_bind($limit).push(") AS part");
    };
}

impl Store {
    /// A page of the book's rows, at most `limit`.
    pub async fn review_rows(
        &self,
        book: &BookRow,
        filter: &ReviewFilter,
        limit: i64,
    ) -> Result<Vec<ReviewRow>, StoreError> {
        on!(self, store => {
            let mut query = QueryBuilder::new(
                "SELECT page.*, decisions.category AS decided_category, decisions.treatment AS decided_treatment, decisions.comment,
                        decisions.decided_by, decider.email AS decider, decisions.decided_at, signer.email AS signer,
                        decisions.signed_at, decisions.rule_id
                 FROM (",
            );
            let states = filter.state.names();
            if states.is_empty() {
                push_part!(query, &book.id, None::<&str>, filter, limit);
            }
            for (at, state) in states.iter().enumerate() {
                if at > 0 {
                    query.push(" UNION ALL ");
                }
                push_part!(query, &book.id, Some(*state), filter, limit);
            }
            query.push(") AS page LEFT JOIN decisions ON decisions.book_id = ").push_bind(&book.id);
            query.push(
                " AND decisions.hash = page.hash AND decisions.wallet = page.wallet
                  LEFT JOIN owners AS decider ON decider.id = decisions.decided_by
                  LEFT JOIN owners AS signer ON signer.id = decisions.signed_by ORDER BY ",
            );
            query.push(ordered(filter, "page.")).push(" LIMIT ").push_bind(limit);
            Ok(query.build_query_as().fetch_all(store.pool()).await?)
        })
    }

    pub async fn review_counts(&self, book: &BookRow) -> Result<ReviewCounts, StoreError> {
        let counts: Vec<(String, i64)> = on!(self, store => {
            let counts = sqlx::query_as(
                "SELECT state, count(*) FROM book_rows WHERE book_id = $1 AND state IS NOT NULL GROUP BY state",
            );
            counts.bind(&book.id).fetch_all(store.pool()).await?
        });
        let count = |wanted: &str| counts.iter().find(|(state, _)| state == wanted).map_or(0, |(_, count)| *count);
        Ok(ReviewCounts {
            open: count(OPEN),
            waiting: count(WAITING),
            decided: count(DECIDED),
            disagreed: count(DISAGREED),
        })
    }

    /// Whether any row of the book waits for a person.
    pub async fn has_open(&self, book: &BookRow) -> Result<bool, StoreError> {
        on!(self, store => {
            let found = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM book_rows WHERE book_id = $1 AND state = 'open')");
            Ok(found.bind(&book.id).fetch_one(store.pool()).await?)
        })
    }
}

fn ordered(filter: &ReviewFilter, table: &str) -> String {
    let direction = if filter.is_descending { " DESC" } else { "" };
    let columns = filter.sort.columns().iter().map(|column| format!("{table}{column}{direction}"));
    columns.collect::<Vec<_>>().join(", ")
}
