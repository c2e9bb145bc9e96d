//! What people make of the rows of a book: decisions, signatures, and rules that decide all rows like one. A decision stands beside the verdict and
//! never changes it; every step is in the log.

use sqlx::QueryBuilder;

use super::book_rows::{DECIDED, ReadRow, WAITING, latest, write_rows};
use super::{BookRow, Store, StoreError, from_row, on};

/// Rows that one transaction decides, which bounds how long callers wait for it.
const CHUNK_ROWS: i64 = 1_000;

/// One row of a book.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKey {
    pub hash: String,
    pub wallet: String,
}

from_row!(RowKey: hash, wallet);

/// What somebody decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDecision {
    pub category: String,
    pub treatment: String,
    pub comment: String,
}

/// A decision, with the addresses of who made and who signed it; erased where they have left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub hash: String,
    pub wallet: String,
    pub category: String,
    pub treatment: String,
    pub comment: String,
    pub decided_by: String,
    /// Milliseconds since 1970.
    pub decided_at: i64,
    pub signed_by: Option<String>,
    pub signed_at: Option<i64>,
}

from_row!(Decision: hash, wallet, category, treatment, comment, decided_by, decided_at, signed_by, signed_at);

/// What rows are alike in: read in the same way, of the same function of the same contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Likeness {
    pub chain: String,
    pub contract: String,
    pub function: String,
    pub category: String,
    pub treatment: String,
}

from_row!(Likeness: chain, contract, function, category, treatment);

/// "Decide all like this."
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRule {
    pub id: String,
    pub chain: String,
    pub contract: String,
    pub function: String,
    pub read_category: String,
    pub read_treatment: String,
    pub category: String,
    pub treatment: String,
    pub comment: String,
    /// The account that made it, and its address.
    pub made_by: String,
    pub maker: String,
    pub made_at: i64,
    /// Decisions that came from it and were not changed since.
    pub decided: i64,
}

from_row!(DecisionRule: id, chain, contract, function, read_category, read_treatment, category, treatment, comment, made_by, maker, made_at, decided);

impl ReadRow {
    pub fn key(&self) -> RowKey {
        RowKey { hash: self.hash.clone(), wallet: self.wallet.clone() }
    }
}

impl DecisionRule {
    pub(super) fn fits(&self, row: &ReadRow) -> bool {
        row.needs_review
            && self.contract == row.contract
            && self.function == row.function
            && self.chain == row.chain
            && self.read_category == row.category
            && self.read_treatment == row.treatment
    }

    pub(super) fn decision(&self) -> NewDecision {
        let (category, treatment, comment) = (&self.category, &self.treatment, &self.comment);
        NewDecision { category: category.clone(), treatment: treatment.clone(), comment: comment.clone() }
    }
}

/// `(hash, wallet)` is one of these.
macro_rules! push_keys {
    ($query:ident, $keys:expr) => {
        $query.push(" AND (hash, wallet) IN (VALUES ");
        let mut is_first = true;
        for key in $keys {
            $query.push(if is_first { "(" } else { ", (" });
            $query.push_bind(&key.hash).push(", ").push_bind(&key.wallet).push(")");
            is_first = false;
        }
        $query.push(")");
    };
}

/// Locks the book inside a transaction, so that whoever writes its rows and whoever decides on them come one after the other, and gives whether a second
/// person signs; nothing where the book has gone.
macro_rules! lock_book {
    ($store:ident, $transaction:ident, $book_id:expr) => {{
        let mut lock = sqlx::QueryBuilder::new("SELECT needs_second FROM books WHERE id = ");
        lock.push_bind($book_id).push($store.locking());
        let locked: Option<(bool,)> = lock.build_query_as().fetch_optional(&mut *$transaction).await?;
        locked.map(|(needs_second,)| needs_second)
    }};
}
pub(super) use lock_book;

/// Notes what was done to these rows, of which each has a decision.
macro_rules! write_log {
    ($transaction:ident, $book_id:expr, $keys:expr, $what:literal, $by:expr, $now:expr) => {{
        let mut log = sqlx::QueryBuilder::new(concat!(
            "INSERT INTO decision_log (book_id, hash, wallet, step, what, category, treatment, comment, rule_id, by_id, at)
             SELECT book_id, hash, wallet, 1 + coalesce((
                        SELECT max(log.step) FROM decision_log AS log WHERE log.book_id = decisions.book_id
                        AND log.hash = decisions.hash AND log.wallet = decisions.wallet), 0),
                    '", $what, "', category, treatment, comment, rule_id, "
        ));
        log.push_bind($by).push(", ").push_bind($now);
        log.push(" FROM decisions WHERE book_id = ").push_bind($book_id);
        $crate::store::decisions::push_keys!(log, $keys);
        log.build().persistent(false).execute(&mut *$transaction).await?;
    }};
}
pub(super) use {push_keys, write_log};

/// Decides these rows of the book inside a transaction that has locked it, and gives how many there were.
macro_rules! decide_rows {
    ($transaction:ident, $book_id:expr, $keys:expr, $decision:expr, $by:expr, $rule:expr, $needs_second:expr, $now:expr) => {{
        let rule: Option<&str> = $rule;
        let mut decide = sqlx::QueryBuilder::new(
            "INSERT INTO decisions (book_id, hash, wallet, seen, category, treatment, comment, decided_by, decided_at, rule_id)
             SELECT book_id, hash, wallet, CASE WHEN needs_review = TRUE THEN '' ELSE category || '/' || treatment END, ",
        );
        decide.push_bind(&$decision.category).push(", ").push_bind(&$decision.treatment).push(", ");
        decide.push_bind(&$decision.comment).push(", ").push_bind($by).push(", ").push_bind($now).push(", ");
        decide.push_bind(rule).push(" FROM book_rows WHERE book_id = ").push_bind($book_id);
        $crate::store::decisions::push_keys!(decide, $keys);
        decide.push(
            " ON CONFLICT (book_id, hash, wallet) DO UPDATE SET seen = excluded.seen, category = excluded.category,
                  treatment = excluded.treatment, comment = excluded.comment, decided_by = excluded.decided_by,
                  decided_at = excluded.decided_at, rule_id = excluded.rule_id, signed_by = NULL, signed_at = NULL",
        );
        let decided = decide.build().persistent(false).execute(&mut *$transaction).await?.rows_affected();
        $crate::store::decisions::write_log!($transaction, $book_id, $keys, "decided", $by, $now);
        let mut mark = sqlx::QueryBuilder::new("UPDATE book_rows SET state = ");
        mark.push_bind(if $needs_second { $crate::store::book_rows::WAITING } else { $crate::store::book_rows::DECIDED });
        mark.push(" WHERE book_id = ").push_bind($book_id);
        $crate::store::decisions::push_keys!(mark, $keys);
        mark.build().persistent(false).execute(&mut *$transaction).await?;
        decided
    }};
}
pub(super) use decide_rows;

/// Takes the decisions on these rows back inside a transaction, and gives how many there were.
macro_rules! undo_rows {
    ($transaction:ident, $book_id:expr, $keys:expr, $by:expr, $now:expr) => {{
        write_log!($transaction, $book_id, $keys, "undone", $by, $now);
        let mut undo = QueryBuilder::new("DELETE FROM decisions WHERE book_id = ");
        undo.push_bind($book_id);
        push_keys!(undo, $keys);
        let undone = undo.build().persistent(false).execute(&mut *$transaction).await?.rows_affected();
        let mut mark = QueryBuilder::new(
            "UPDATE book_rows SET state = CASE WHEN needs_review = TRUE THEN 'open' END WHERE book_id = ",
        );
        mark.push_bind($book_id);
        push_keys!(mark, $keys);
        mark.build().persistent(false).execute(&mut *$transaction).await?;
        undone
    }};
}

/// Of this book, open, and alike.
macro_rules! push_like {
    ($query:ident, $book_id:expr, $like:expr) => {
        $query.push_bind($book_id).push(" AND state = 'open' AND category = ").push_bind(&$like.category);
        $query.push(" AND treatment = ").push_bind(&$like.treatment).push(" AND chain = ").push_bind(&$like.chain);
        $query.push(" AND contract = ").push_bind(&$like.contract).push(" AND function = ").push_bind(&$like.function);
    };
}

/// What a rule has decided is counted only where somebody looks.
macro_rules! rule_rows {
    ($decided:literal, $which:literal) => {
        concat!(
            "SELECT decision_rules.id, chain, contract, function, read_category, read_treatment, category, treatment, comment, made_by,
                    owners.email AS maker, made_at, ",
            $decided,
            " AS decided FROM decision_rules JOIN owners ON owners.id = decision_rules.made_by WHERE decision_rules.book_id = $1 ",
            $which
        )
    };
}
pub(super) use rule_rows;

/// Which of the rows that a job has read the book keeps: those that a person must look at, and those that it has from before. A row for each of a million
/// transactions that nobody will look at would cost a job a third of its speed.
macro_rules! rows_to_keep {
    ($transaction:ident, $book_id:expr, $rows:expr) => {{
        let all = $crate::store::book_rows::latest($rows);
        let plain: Vec<$crate::store::RowKey> =
            all.iter().filter(|row| !row.needs_review).map(|row| row.key()).collect();
        let mut known: Vec<$crate::store::RowKey> = Vec::new();
        for keys in plain.chunks($crate::store::book_rows::ROWS_WRITTEN_MAX) {
            let mut ask = sqlx::QueryBuilder::new("SELECT hash, wallet FROM book_rows WHERE book_id = ");
            ask.push_bind($book_id);
            $crate::store::decisions::push_keys!(ask, keys);
            let found: Vec<$crate::store::RowKey> =
                ask.build_query_as().persistent(false).fetch_all(&mut *$transaction).await?;
            known.extend(found);
        }
        let is_kept = |row: &&$crate::store::ReadRow| row.needs_review || known.contains(&row.key());
        all.into_iter().filter(is_kept).collect::<Vec<_>>()
    }};
}
pub(super) use rows_to_keep;

/// Decides what was just read by the rules of the book, inside the transaction that writes it: only what is open.
macro_rules! follow_rules {
    ($store:ident, $transaction:ident, $book_id:expr, $rows:expr, $needs_second:expr, $now:expr) => {{
        let rules: Vec<$crate::store::DecisionRule> = sqlx::query_as($crate::store::decisions::rule_rows!(
            "CAST(0 AS BIGINT)",
            "ORDER BY made_at, decision_rules.id"
        ))
        .bind($book_id)
        .fetch_all(&mut *$transaction)
        .await?;
        for rule in &rules {
            let fitting: Vec<$crate::store::RowKey> =
                $rows.iter().filter(|row| rule.fits(row)).map(|row| row.key()).collect();
            if fitting.is_empty() {
                continue;
            }
            let mut ask =
                sqlx::QueryBuilder::new("SELECT hash, wallet FROM book_rows WHERE state = 'open' AND book_id = ");
            ask.push_bind($book_id);
            $crate::store::decisions::push_keys!(ask, &fitting);
            let open: Vec<$crate::store::RowKey> =
                ask.build_query_as().persistent(false).fetch_all(&mut *$transaction).await?;
            if !open.is_empty() {
                let (decision, by, id) = (rule.decision(), &rule.made_by, rule.id.as_str());
                $crate::store::decisions::decide_rows!(
                    $transaction,
                    $book_id,
                    &open,
                    &decision,
                    by,
                    Some(id),
                    $needs_second,
                    $now
                );
            }
        }
    }};
}
pub(super) use follow_rules;

impl Store {
    /// How many of these the book has; a row that was decided before is decided anew.
    pub async fn decide(
        &self,
        book: &BookRow,
        keys: &[RowKey],
        decision: &NewDecision,
        by: &str,
    ) -> Result<u64, StoreError> {
        if keys.is_empty() {
            return Ok(0);
        }
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            let Some(needs_second) = lock_book!(store, transaction, &book.id) else { return Ok(0) };
            let decided = decide_rows!(transaction, &book.id, keys, decision, by, None, needs_second, now);
            transaction.commit().await?;
            Ok(decided)
        })
    }

    /// Decides rows that a job has read, whether or not the book keeps them: from now on it does. A row that it keeps
    /// already stays as it was last read. How many were decided.
    pub async fn decide_read_rows(
        &self,
        book: &BookRow,
        job_id: &str,
        rows: &[ReadRow],
        decision: &NewDecision,
        by: &str,
    ) -> Result<u64, StoreError> {
        let rows = latest(rows);
        let all: Vec<RowKey> = rows.iter().map(|row| row.key()).collect();
        if all.is_empty() {
            return Ok(0);
        }
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            let Some(needs_second) = lock_book!(store, transaction, &book.id) else { return Ok(0) };
            write_rows!(transaction, &book.id, rows, job_id, now, "WHERE FALSE");
            let decided = decide_rows!(transaction, &book.id, &all, decision, by, None, needs_second, now);
            transaction.commit().await?;
            Ok(decided)
        })
    }

    /// How many decisions were taken back. The log keeps them.
    pub async fn undo(&self, book: &BookRow, keys: &[RowKey], by: &str) -> Result<u64, StoreError> {
        if keys.is_empty() {
            return Ok(0);
        }
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            if lock_book!(store, transaction, &book.id).is_none() {
                return Ok(0);
            }
            let undone = undo_rows!(transaction, &book.id, keys, by, now);
            transaction.commit().await?;
            Ok(undone)
        })
    }

    /// Signs decisions of others that nobody has signed, where the book needs it; how many there were. Nobody signs their own.
    pub async fn sign(&self, book: &BookRow, keys: &[RowKey], by: &str) -> Result<u64, StoreError> {
        if keys.is_empty() {
            return Ok(0);
        }
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            if lock_book!(store, transaction, &book.id) != Some(true) {
                return Ok(0);
            }
            let mut sign = QueryBuilder::new("UPDATE decisions SET signed_by = ");
            sign.push_bind(by).push(", signed_at = ").push_bind(now).push(" WHERE book_id = ").push_bind(&book.id);
            sign.push(" AND signed_at IS NULL AND decided_by <> ").push_bind(by);
            push_keys!(sign, keys);
            sign.push(" RETURNING hash, wallet");
            let signed: Vec<RowKey> = sign.build_query_as().persistent(false).fetch_all(&mut *transaction).await?;
            if signed.is_empty() {
                return Ok(0);
            }
            write_log!(transaction, &book.id, &signed, "signed", by, now);
            let mut mark = QueryBuilder::new("UPDATE book_rows SET state = ");
            mark.push_bind(DECIDED).push(" WHERE state = ").push_bind(WAITING).push(" AND book_id = ").push_bind(&book.id);
            push_keys!(mark, &signed);
            mark.build().persistent(false).execute(&mut *transaction).await?;
            transaction.commit().await?;
            Ok(u64::try_from(signed.len()).unwrap_or(u64::MAX))
        })
    }

    /// The rows of a book that somebody has decided, behind the one that `after` names; at most `limit`.
    pub async fn decided_keys(
        &self,
        book_id: &str,
        after: Option<&RowKey>,
        limit: i64,
    ) -> Result<Vec<RowKey>, StoreError> {
        let (hash, wallet) = after.map_or(("", ""), |key| (&key.hash, &key.wallet));
        on!(self, store => {
            // In one text, since handing over row by row takes longer than finding them. Neither has a space or a colon in it.
            let keys = sqlx::query_scalar(
                "SELECT string_agg(hash || ':' || wallet, ' ' ORDER BY hash, wallet) FROM (
                     SELECT hash, wallet FROM decisions WHERE book_id = $1 AND (hash, wallet) > ($2, $3)
                     ORDER BY hash, wallet LIMIT $4) AS page",
            );
            let keys: Option<String> =
                keys.bind(book_id).bind(hash).bind(wallet).bind(limit).fetch_one(store.pool()).await?;
            let keys = keys.iter().flat_map(|keys| keys.split(' ')).filter_map(|key| key.split_once(':'));
            Ok(keys.map(|(hash, wallet)| RowKey { hash: hash.to_owned(), wallet: wallet.to_owned() }).collect())
        })
    }

    pub async fn has_decisions(&self, book_id: &str) -> Result<bool, StoreError> {
        on!(self, store => {
            let found = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM decisions WHERE book_id = $1)");
            Ok(found.bind(book_id).fetch_one(store.pool()).await?)
        })
    }

    /// The decisions on these rows of a book.
    pub async fn decisions(&self, book_id: &str, keys: &[RowKey]) -> Result<Vec<Decision>, StoreError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        on!(self, store => {
            let mut ask = QueryBuilder::new(
                "SELECT hash, wallet, category, treatment, comment, decider.email AS decided_by, decided_at,
                        signer.email AS signed_by, signed_at
                 FROM decisions JOIN owners AS decider ON decider.id = decisions.decided_by
                 LEFT JOIN owners AS signer ON signer.id = decisions.signed_by WHERE book_id = ",
            );
            ask.push_bind(book_id);
            push_keys!(ask, keys);
            Ok(ask.build_query_as().persistent(false).fetch_all(store.pool()).await?)
        })
    }

    /// The newest decision on a row in any book of the owner, with the book's id.
    pub async fn decision_of(&self, owner_id: &str, key: &RowKey) -> Result<Option<(String, Decision)>, StoreError> {
        on!(self, store => {
            let book: Option<(String,)> = sqlx::query_as(
                "SELECT decisions.book_id FROM decisions JOIN books ON books.id = decisions.book_id
                 WHERE books.owner_id = $1 AND decisions.hash = $2 AND decisions.wallet = $3 ORDER BY decided_at DESC LIMIT 1",
            )
            .bind(owner_id)
            .bind(&key.hash)
            .bind(&key.wallet)
            .fetch_optional(store.pool())
            .await?;
            let Some((book_id,)) = book else { return Ok(None) };
            let decision = self.decisions(&book_id, std::slice::from_ref(key)).await?.pop();
            Ok(decision.map(|decision| (book_id, decision)))
        })
    }

    /// What rows like this one are alike in; nothing where it called no contract.
    pub async fn likeness(&self, book: &BookRow, key: &RowKey) -> Result<Option<Likeness>, StoreError> {
        on!(self, store => {
            let row = sqlx::query_as(
                "SELECT chain, contract, function, category, treatment FROM book_rows
                 WHERE book_id = $1 AND hash = $2 AND wallet = $3 AND contract <> '' AND needs_review = TRUE",
            );
            Ok(row.bind(&book.id).bind(&key.hash).bind(&key.wallet).fetch_optional(store.pool()).await?)
        })
    }

    /// Open rows that are alike: how many, and the first of them.
    pub async fn open_like(
        &self,
        book: &BookRow,
        like: &Likeness,
        limit: i64,
    ) -> Result<(i64, Vec<RowKey>), StoreError> {
        on!(self, store => {
            let mut count = QueryBuilder::new("SELECT count(*) FROM book_rows WHERE book_id = ");
            push_like!(count, &book.id, like);
            let (count,): (i64,) = count.build_query_as().fetch_one(store.pool()).await?;
            let mut first = QueryBuilder::new("SELECT hash, wallet FROM book_rows WHERE book_id = ");
            push_like!(first, &book.id, like);
            first.push(" ORDER BY time, hash, wallet LIMIT ").push_bind(limit);
            Ok((count, first.build_query_as().fetch_all(store.pool()).await?))
        })
    }

    /// Makes a rule and decides by it what is open now; how many rows there were, or nothing where the book has `most` rules already.
    pub async fn make_rule(
        &self,
        book: &BookRow,
        id: &str,
        like: &Likeness,
        decision: &NewDecision,
        by: &str,
        most: i64,
    ) -> Result<Option<u64>, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            if lock_book!(store, transaction, &book.id).is_none() {
                return Ok(None);
            }
            let made = sqlx::query(
                "INSERT INTO decision_rules (id, book_id, chain, contract, function, read_category, read_treatment, category, treatment,
                                             comment, made_by, made_at)
                 SELECT $1, id, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12 FROM books
                 WHERE id = $2 AND (SELECT count(*) FROM decision_rules WHERE book_id = $2) < $13",
            )
            .bind(id)
            .bind(&book.id)
            .bind(&like.chain)
            .bind(&like.contract)
            .bind(&like.function)
            .bind(&like.category)
            .bind(&like.treatment)
            .bind(&decision.category)
            .bind(&decision.treatment)
            .bind(&decision.comment)
            .bind(by)
            .bind(now)
            .bind(most)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            if made.rows_affected() == 0 {
                return Ok(None);
            }
            let mut decided = 0_u64;
            // Whatever is decided is no longer open, so that this ends.
            loop {
                let mut transaction = store.begin().await?;
                let Some(needs_second) = lock_book!(store, transaction, &book.id) else { break };
                let mut open = QueryBuilder::new("SELECT hash, wallet FROM book_rows WHERE book_id = ");
                push_like!(open, &book.id, like);
                open.push(" LIMIT ").push_bind(CHUNK_ROWS);
                let keys: Vec<RowKey> = open.build_query_as().fetch_all(&mut *transaction).await?;
                if keys.is_empty() {
                    break;
                }
                let now_decided = decide_rows!(transaction, &book.id, &keys, decision, by, Some(id), needs_second, now);
                decided = decided.saturating_add(now_decided);
                transaction.commit().await?;
            }
            Ok(Some(decided))
        })
    }

    /// The newest first.
    pub async fn rules(&self, book: &BookRow) -> Result<Vec<DecisionRule>, StoreError> {
        on!(self, store => {
            let rows = sqlx::query_as(rule_rows!(
                "(SELECT count(*) FROM decisions WHERE decisions.rule_id = decision_rules.id)",
                "ORDER BY made_at DESC, decision_rules.id"
            ));
            Ok(rows.bind(&book.id).fetch_all(store.pool()).await?)
        })
    }

    /// Takes a rule back, with the decisions that came from it and were neither changed nor signed since; how many, or nothing where there is no such rule.
    pub async fn remove_rule(&self, book: &BookRow, id: &str, by: &str) -> Result<Option<u64>, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let mut undone = 0_u64;
            let mut is_there = false;
            loop {
                let mut transaction = store.begin().await?;
                if lock_book!(store, transaction, &book.id).is_none() {
                    return Ok(None);
                }
                // With the first of its decisions, so that no later job follows it any more.
                let gone = sqlx::query("DELETE FROM decision_rules WHERE book_id = $1 AND id = $2").bind(&book.id).bind(id);
                is_there |= gone.execute(&mut *transaction).await?.rows_affected() == 1;
                if !is_there {
                    return Ok(None);
                }
                let keys: Vec<RowKey> = sqlx::query_as(
                    "SELECT hash, wallet FROM decisions WHERE rule_id = $2 AND book_id = $1 AND signed_at IS NULL LIMIT $3",
                )
                .bind(&book.id)
                .bind(id)
                .bind(CHUNK_ROWS)
                .fetch_all(&mut *transaction)
                .await?;
                if !keys.is_empty() {
                    let now_undone = undo_rows!(transaction, &book.id, &keys, by, now);
                    undone = undone.saturating_add(now_undone);
                }
                transaction.commit().await?;
                if keys.is_empty() {
                    return Ok(Some(undone));
                }
            }
        })
    }
}
