//! Books: what an owner keeps for a client or a name, and who else may see it. Every statement takes the owner or the person who looks, so the
//! books of others cannot be reached.

use rand::distr::{Alphanumeric, SampleString as _};
use sqlx::QueryBuilder;

use super::{PURGE_ROWS_MAX, Store, StoreError, from_row, lock_owner, on};

/// What is said of a book; everything of it can be changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BookSettings {
    pub name: String,
    pub jurisdiction: String,
    pub time_zone: String,
    /// As requests write it, in JSON.
    pub policy: String,
    /// In TOML; empty for the default.
    pub chart: String,
    pub period_from: Option<String>,
    pub period_to: Option<String>,
    /// Whether a second person signs what one has decided.
    pub needs_second: bool,
    pub wallets: Vec<BookWallet>,
}

const FIRST_NAME: &str = "My books";
const ID_CHARS: usize = 24;

impl BookSettings {
    /// What a book says before anybody has set it up.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            jurisdiction: "us".to_owned(),
            time_zone: "UTC".to_owned(),
            policy: "{}".to_owned(),
            ..Self::default()
        }
    }

    /// Of the book that every owner has.
    pub fn first() -> Self {
        Self::new(FIRST_NAME)
    }
}

pub fn new_book_id() -> String {
    format!("book_{}", Alphanumeric.sample_string(&mut rand::rng(), ID_CHARS))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookWallet {
    pub address: String,
    pub label: String,
}

from_row!(BookWallet: address, label);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookRow {
    pub id: String,
    pub owner_id: String,
    /// The one that jobs belong to which name none.
    pub is_first: bool,
    pub name: String,
    pub jurisdiction: String,
    pub time_zone: String,
    pub policy: String,
    pub chart: String,
    pub period_from: Option<String>,
    pub period_to: Option<String>,
    pub needs_second: bool,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

from_row!(BookRow: id, owner_id, is_first, name, jurisdiction, time_zone, policy, chart, period_from, period_to, needs_second, created_at);

/// What came of removing a book.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BookRemoval {
    Removed,
    /// A job of it is not finished.
    Busy,
    Missing,
}

macro_rules! books_where {
    ($($which:literal),+) => {
        concat!(
            "SELECT id, owner_id, is_first, name, jurisdiction, time_zone, policy, chart, period_from, period_to, needs_second, created_at
             FROM books WHERE ",
            $($which),+
        )
    };
}

/// A book that the person `$1` may see: their own, or one that their address was added to, if they have shown that it is theirs.
macro_rules! seen_books {
    ($which:literal) => {
        books_where!(
            "(owner_id = $1 OR id IN (
                 SELECT book_people.book_id FROM book_people JOIN owners ON owners.email = book_people.email
                 JOIN accounts ON accounts.owner_id = owners.id
                 WHERE owners.id = $1 AND (accounts.proved_at IS NOT NULL OR accounts.is_operator))) ",
            $which
        )
    };
}

macro_rules! own_books {
    ($which:literal) => {
        books_where!("owner_id = $1 ", $which)
    };
}

/// Makes the owner's first book inside a transaction, if there is none.
macro_rules! make_first_book {
    ($transaction:ident, $owner_id:expr, $id:expr, $settings:expr, $now:expr) => {
        sqlx::query(
            "INSERT INTO books (id, owner_id, is_first, name, jurisdiction, time_zone, policy, chart, created_at)
             SELECT $1, id, TRUE, $3, $4, $5, $6, $7, $8 FROM owners WHERE id = $2 ON CONFLICT DO NOTHING",
        )
        .bind($id)
        .bind($owner_id)
        .bind(&$settings.name)
        .bind(&$settings.jurisdiction)
        .bind(&$settings.time_zone)
        .bind(&$settings.policy)
        .bind(&$settings.chart)
        .bind($now)
        .execute(&mut *$transaction)
        .await?
    };
}
pub(super) use make_first_book;

impl Store {
    /// The owner's first book, which is made under `new_id` if there is none; `None` where there is no such owner.
    pub async fn first_book(
        &self,
        owner_id: &str,
        new_id: &str,
        settings: &BookSettings,
    ) -> Result<Option<BookRow>, StoreError> {
        let now = self.now().await?;
        let found = own_books!("AND is_first = TRUE");
        on!(self, store => {
            let first: Option<BookRow> = sqlx::query_as(found).bind(owner_id).fetch_optional(store.pool()).await?;
            if first.is_some() {
                return Ok(first);
            }
            let mut transaction = store.begin().await?;
            make_first_book!(transaction, owner_id, new_id, settings, now);
            transaction.commit().await?;
            Ok(sqlx::query_as(found).bind(owner_id).fetch_optional(store.pool()).await?)
        })
    }

    /// Makes an empty book; false where the owner has `most` already.
    pub async fn create_book(
        &self,
        owner_id: &str,
        id: &str,
        settings: &BookSettings,
        most: i64,
    ) -> Result<bool, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            // The owner's row serialises two that are made at the same moment.
            lock_owner!(transaction, owner_id);
            let made = sqlx::query(
                "INSERT INTO books (id, owner_id, is_first, name, jurisdiction, time_zone, policy, chart, created_at)
                 SELECT $1, id, FALSE, $3, $4, $5, $6, $7, $8 FROM owners
                 WHERE id = $2 AND email LIKE '%@%' AND (SELECT count(*) FROM books WHERE owner_id = $2) < $9",
            )
            .bind(id)
            .bind(owner_id)
            .bind(&settings.name)
            .bind(&settings.jurisdiction)
            .bind(&settings.time_zone)
            .bind(&settings.policy)
            .bind(&settings.chart)
            .bind(now)
            .bind(most)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(made.rows_affected() == 1)
        })
    }

    /// The person's own books and those that they were added to; the first book first, then by age.
    pub async fn books(&self, person_id: &str, limit: i64) -> Result<Vec<BookRow>, StoreError> {
        on!(self, store => {
            let rows = sqlx::query_as(seen_books!("ORDER BY owner_id <> $1, is_first DESC, created_at, id LIMIT $2"));
            Ok(rows.bind(person_id).bind(limit).fetch_all(store.pool()).await?)
        })
    }

    /// The owner's own books.
    pub async fn own_books(&self, owner_id: &str, limit: i64) -> Result<Vec<BookRow>, StoreError> {
        on!(self, store => {
            let rows = sqlx::query_as(own_books!("ORDER BY is_first DESC, created_at, id LIMIT $2"));
            Ok(rows.bind(owner_id).bind(limit).fetch_all(store.pool()).await?)
        })
    }

    /// A book that the person may see.
    pub async fn book(&self, person_id: &str, id: &str) -> Result<Option<BookRow>, StoreError> {
        on!(self, store => {
            let row = sqlx::query_as(seen_books!("AND id = $2"));
            Ok(row.bind(person_id).bind(id).fetch_optional(store.pool()).await?)
        })
    }

    pub async fn own_book(&self, owner_id: &str, id: &str) -> Result<Option<BookRow>, StoreError> {
        on!(self, store => {
            let row = sqlx::query_as(own_books!("AND id = $2"));
            Ok(row.bind(owner_id).bind(id).fetch_optional(store.pool()).await?)
        })
    }

    /// In the order in which they were written down.
    pub async fn book_wallets(&self, book: &BookRow) -> Result<Vec<BookWallet>, StoreError> {
        on!(self, store => {
            let rows = sqlx::query_as("SELECT address, label FROM book_wallets WHERE book_id = $1 ORDER BY place");
            Ok(rows.bind(&book.id).fetch_all(store.pool()).await?)
        })
    }

    /// Addresses that were added, whether anybody has an account there or not.
    pub async fn book_people(&self, book: &BookRow) -> Result<Vec<String>, StoreError> {
        on!(self, store => {
            let rows = sqlx::query_scalar("SELECT email FROM book_people WHERE book_id = $1 ORDER BY added_at, email");
            Ok(rows.bind(&book.id).fetch_all(store.pool()).await?)
        })
    }

    /// False where the owner has no such book.
    pub async fn set_book(&self, owner_id: &str, id: &str, settings: &BookSettings) -> Result<bool, StoreError> {
        on!(self, store => {
            let mut transaction = store.begin().await?;
            let set = sqlx::query(
                "UPDATE books SET name = $3, jurisdiction = $4, time_zone = $5, policy = $6, chart = $7, period_from = $8,
                     period_to = $9, needs_second = $10
                 WHERE owner_id = $1 AND id = $2",
            )
            .bind(owner_id)
            .bind(id)
            .bind(&settings.name)
            .bind(&settings.jurisdiction)
            .bind(&settings.time_zone)
            .bind(&settings.policy)
            .bind(&settings.chart)
            .bind(&settings.period_from)
            .bind(&settings.period_to)
            .bind(settings.needs_second)
            .execute(&mut *transaction)
            .await?;
            if set.rows_affected() == 0 {
                return Ok(false);
            }
            // Whether a decision waits for a signature follows from the book.
            let mark = if settings.needs_second {
                "UPDATE book_rows SET state = 'waiting' WHERE book_id = $1 AND state = 'decided' AND EXISTS (
                     SELECT 1 FROM decisions WHERE decisions.book_id = book_rows.book_id AND decisions.hash = book_rows.hash
                     AND decisions.wallet = book_rows.wallet AND decisions.signed_at IS NULL)"
            } else {
                "UPDATE book_rows SET state = 'decided' WHERE book_id = $1 AND state = 'waiting'"
            };
            sqlx::query(mark).bind(id).execute(&mut *transaction).await?;
            sqlx::query("DELETE FROM book_wallets WHERE book_id = $1").bind(id).execute(&mut *transaction).await?;
            if !settings.wallets.is_empty() {
                let mut insert = QueryBuilder::new("INSERT INTO book_wallets (book_id, address, label, place) ");
                insert.push_values((0_i64..).zip(&settings.wallets), |mut row, (place, wallet)| {
                    row.push_bind(id).push_bind(&wallet.address).push_bind(&wallet.label).push_bind(place);
                });
                insert.build().persistent(false).execute(&mut *transaction).await?;
            }
            transaction.commit().await?;
            Ok(true)
        })
    }

    /// False where the owner has no such book, or it has `most` people already. Adding somebody twice changes nothing.
    pub async fn add_to_book(&self, owner_id: &str, id: &str, email: &str, most: i64) -> Result<bool, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            // Its lock makes two that are added at the same moment see each other.
            sqlx::query("UPDATE books SET name = name WHERE id = $1").bind(id).execute(&mut *transaction).await?;
            sqlx::query(
                "INSERT INTO book_people (book_id, email, added_at)
                 SELECT id, $3, $4 FROM books WHERE owner_id = $1 AND id = $2
                     AND (SELECT count(*) FROM book_people WHERE book_id = $2) < $5
                 ON CONFLICT DO NOTHING",
            )
            .bind(owner_id)
            .bind(id)
            .bind(email)
            .bind(now)
            .bind(most)
            .execute(&mut *transaction)
            .await?;
            let is_there: bool = sqlx::query_scalar(
                "SELECT EXISTS (SELECT 1 FROM book_people JOIN books ON books.id = book_people.book_id
                                WHERE books.owner_id = $1 AND books.id = $2 AND book_people.email = $3)",
            )
            .bind(owner_id)
            .bind(id)
            .bind(email)
            .fetch_one(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(is_there)
        })
    }

    pub async fn take_from_book(&self, owner_id: &str, id: &str, email: &str) -> Result<bool, StoreError> {
        on!(self, store => {
            let gone = sqlx::query(
                "DELETE FROM book_people WHERE email = $3 AND book_id = (SELECT id FROM books WHERE owner_id = $1 AND id = $2)",
            );
            Ok(gone.bind(owner_id).bind(id).bind(email).execute(store.pool()).await?.rows_affected() == 1)
        })
    }

    /// How many jobs the book has, and how many of them are not finished.
    pub async fn book_jobs(&self, book: &BookRow) -> Result<(i64, i64), StoreError> {
        on!(self, store => {
            let counts = sqlx::query_as(
                "SELECT count(*), count(CASE WHEN state IN ('listing', 'ready', 'open') THEN 1 END) FROM jobs WHERE book_id = $1 AND state <> 'arriving'",
            );
            Ok(counts.bind(&book.id).fetch_one(store.pool()).await?)
        })
    }

    /// Deletes the rows of a book and what was decided on them, in steps that hold nobody up.
    async fn empty_book(&self, id: &str) -> Result<(), StoreError> {
        for delete in [
            "DELETE FROM decision_log WHERE (book_id, hash, wallet) IN (
                 SELECT book_id, hash, wallet FROM decision_log WHERE book_id = $1 LIMIT $2)",
            "DELETE FROM decisions WHERE (book_id, hash, wallet) IN (
                 SELECT book_id, hash, wallet FROM decisions WHERE book_id = $1 LIMIT $2)",
            "DELETE FROM book_rows WHERE (book_id, hash, wallet) IN (
                 SELECT book_id, hash, wallet FROM book_rows WHERE book_id = $1 LIMIT $2)",
        ] {
            on!(self, store => {
                loop {
                    let mut transaction = store.begin().await?;
                    let gone = sqlx::query(delete).bind(id).bind(PURGE_ROWS_MAX).execute(&mut *transaction).await?;
                    transaction.commit().await?;
                    if gone.rows_affected() == 0 {
                        break;
                    }
                }
            });
        }
        Ok(())
    }

    /// Removes a book with its rows, its decisions and its jobs, in steps that hold nobody up. One that has a job that is not finished stays whole.
    pub async fn remove_book(&self, owner_id: &str, id: &str) -> Result<BookRemoval, StoreError> {
        if self.own_book(owner_id, id).await?.is_none() {
            return Ok(BookRemoval::Missing);
        }
        loop {
            let jobs: Vec<(String, bool)> = on!(self, store => {
                let jobs = sqlx::query_as("SELECT id, state IN ('arriving', 'listing', 'ready', 'open') FROM jobs WHERE book_id = $1 LIMIT $2");
                jobs.bind(id).bind(PURGE_ROWS_MAX).fetch_all(store.pool()).await?
            });
            if jobs.iter().any(|(_, is_busy)| *is_busy) {
                return Ok(BookRemoval::Busy);
            }
            for (job, _) in &jobs {
                self.drop_job(job).await?;
            }
            if jobs.is_empty() {
                break;
            }
        }
        self.empty_book(id).await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            // As when a job begins: one that began in the meantime is seen.
            lock_owner!(transaction, owner_id);
            let gone = sqlx::query(
                "DELETE FROM books WHERE owner_id = $1 AND id = $2 AND NOT EXISTS (SELECT 1 FROM jobs WHERE book_id = $2)",
            )
            .bind(owner_id)
            .bind(id)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(if gone.rows_affected() == 1 { BookRemoval::Removed } else { BookRemoval::Busy })
        })
    }
}
