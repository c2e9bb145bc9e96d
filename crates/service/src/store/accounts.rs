//! Accounts, their sessions, and the instance's settings. Both engines accept these statements unchanged.

use std::time::Duration;

use super::{Store, StoreError, either, from_row, millis, on};

/// Valid sessions of one account at once; with one more the oldest ends.
pub(super) const SESSIONS_MAX: i64 = 20;

/// Who may sign in.
#[derive(Clone)]
pub struct UserAccount {
    pub owner_id: String,
    pub email: String,
    pub password_hash: String,
    pub is_operator: bool,
}

from_row!(UserAccount: owner_id, email, password_hash, is_operator);

impl std::fmt::Debug for UserAccount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Account {{ owner_id: {:?}, is_operator: {} }}", self.owner_id, self.is_operator)
    }
}

/// Whose session it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOwner {
    pub owner_id: String,
    pub email: String,
    pub is_operator: bool,
    expires_at: i64,
}

from_row!(SessionOwner: owner_id, email, is_operator, expires_at);

/// A session as it begins. Only the token's hash is kept.
#[derive(Debug, Clone)]
pub struct NewSession {
    pub token_hash: Vec<u8>,
    pub span: Duration,
}

/// Begins a session inside a transaction.
macro_rules! begin_session {
    ($transaction:ident, $owner_id:expr, $session:expr, $now:expr) => {{
        let until = $now.saturating_add(millis($session.span));
        sqlx::query("INSERT INTO sessions (token_hash, owner_id, created_at, expires_at) VALUES ($1, $2, $3, $4)")
            .bind(&$session.token_hash)
            .bind($owner_id)
            .bind($now)
            .bind(until)
            .execute(&mut *$transaction)
            .await?;
        sqlx::query(
            "DELETE FROM sessions WHERE owner_id = $1 AND token_hash NOT IN (
                 SELECT token_hash FROM sessions WHERE owner_id = $1 ORDER BY created_at DESC, expires_at DESC LIMIT $2)",
        )
        .bind($owner_id)
        .bind(SESSIONS_MAX)
        .execute(&mut *$transaction)
        .await?;
    }};
}
pub(super) use begin_session;

/// Frees the address of an account whose holder never showed that it is theirs, inside a transaction, and gives whether there was one. Its
/// keys keep their own pool; nobody can sign in to it any more.
macro_rules! set_unproved_aside {
    ($transaction:ident, $email:expr) => {{
        let aside: Option<(String,)> = sqlx::query_as(
            "UPDATE owners SET email = 'unproved:' || id
             WHERE email = $1 AND id IN (SELECT owner_id FROM accounts WHERE proved_at IS NULL AND NOT is_operator) RETURNING id",
        )
        .bind($email)
        .fetch_optional(&mut *$transaction)
        .await?;
        if let Some((owner_id,)) = &aside {
            for end in [
                "DELETE FROM sessions WHERE owner_id = $1",
                "DELETE FROM links WHERE owner_id = $1",
                "DELETE FROM accounts WHERE owner_id = $1",
            ] {
                sqlx::query(end).bind(owner_id).execute(&mut *$transaction).await?;
            }
        }
        aside.is_some()
    }};
}
pub(super) use set_unproved_aside;

impl Store {
    /// Milliseconds since 1970, on the engine's clock.
    pub async fn now(&self) -> Result<i64, StoreError> {
        either!(self, store => store.now())
    }

    pub async fn account(&self, email: &str) -> Result<Option<UserAccount>, StoreError> {
        on!(self, store => {
            let row = sqlx::query_as(
                "SELECT accounts.owner_id, owners.email, accounts.password_hash, accounts.is_operator
                 FROM accounts JOIN owners ON owners.id = accounts.owner_id WHERE owners.email = $1",
            );
            Ok(row.bind(email).fetch_optional(store.pool()).await?)
        })
    }

    /// Makes an owner with an account; false where the address has an owner already, with an account or without.
    pub async fn create_account(&self, owner_id: &str, email: &str, password_hash: &str) -> Result<bool, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            let made = sqlx::query("INSERT INTO owners (id, email, created_at) VALUES ($1, $2, $3) ON CONFLICT (email) DO NOTHING")
                .bind(owner_id)
                .bind(email)
                .bind(now / 1000)
                .execute(&mut *transaction)
                .await?;
            if made.rows_affected() == 0 {
                return Ok(false);
            }
            sqlx::query("INSERT INTO accounts (owner_id, password_hash, created_at) VALUES ($1, $2, $3)")
                .bind(owner_id)
                .bind(password_hash)
                .bind(now)
                .execute(&mut *transaction)
                .await?;
            transaction.commit().await?;
            Ok(true)
        })
    }

    /// False where the password has changed since it was checked.
    pub async fn begin_session(
        &self,
        owner_id: &str,
        password_hash: &str,
        session: &NewSession,
    ) -> Result<bool, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            // An update and not a read, so that it locks the row: a concurrent change of the password comes before or after the whole
            // transaction.
            let unchanged = sqlx::query("UPDATE accounts SET password_hash = $2 WHERE owner_id = $1 AND password_hash = $2")
                .bind(owner_id)
                .bind(password_hash)
                .execute(&mut *transaction)
                .await?;
            if unchanged.rows_affected() == 0 {
                return Ok(false);
            }
            begin_session!(transaction, owner_id, session, now);
            transaction.commit().await?;
            Ok(true)
        })
    }

    /// The owner of the session, if it is valid. A session lasts `span` from its last use, which is recorded in steps of `step`.
    pub async fn session(
        &self,
        token_hash: &[u8],
        span: Duration,
        step: Duration,
    ) -> Result<Option<SessionOwner>, StoreError> {
        let now = self.now().await?;
        let until = now.saturating_add(millis(span));
        on!(self, store => {
            let row: Option<SessionOwner> = sqlx::query_as(
                "SELECT sessions.owner_id, owners.email, accounts.is_operator, sessions.expires_at
                 FROM sessions JOIN owners ON owners.id = sessions.owner_id JOIN accounts ON accounts.owner_id = sessions.owner_id
                 WHERE sessions.token_hash = $1 AND sessions.expires_at > $2",
            )
            .bind(token_hash)
            .bind(now)
            .fetch_optional(store.pool())
            .await?;
            if row.as_ref().is_some_and(|row| row.expires_at.saturating_add(millis(step)) <= until) {
                sqlx::query("UPDATE sessions SET expires_at = $1 WHERE token_hash = $2")
                    .bind(until)
                    .bind(token_hash)
                    .execute(store.pool())
                    .await?;
            }
            Ok(row)
        })
    }

    pub async fn end_session(&self, token_hash: &[u8]) -> Result<(), StoreError> {
        on!(self, store => {
            let ended = sqlx::query("DELETE FROM sessions WHERE token_hash = $1").bind(token_hash);
            ended.execute(store.pool()).await?;
            Ok(())
        })
    }

    pub async fn end_sessions(&self, owner_id: &str) -> Result<(), StoreError> {
        on!(self, store => {
            let ended = sqlx::query("DELETE FROM sessions WHERE owner_id = $1").bind(owner_id);
            ended.execute(store.pool()).await?;
            Ok(())
        })
    }

    /// Ends all sessions and begins one; false where the old password has changed since it was checked.
    pub async fn change_password(
        &self,
        owner_id: &str,
        old_hash: &str,
        new_hash: &str,
        session: &NewSession,
    ) -> Result<bool, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            let changed = sqlx::query("UPDATE accounts SET password_hash = $3 WHERE owner_id = $1 AND password_hash = $2")
                .bind(owner_id)
                .bind(old_hash)
                .bind(new_hash)
                .execute(&mut *transaction)
                .await?;
            if changed.rows_affected() == 0 {
                return Ok(false);
            }
            sqlx::query("DELETE FROM sessions WHERE owner_id = $1").bind(owner_id).execute(&mut *transaction).await?;
            begin_session!(transaction, owner_id, session, now);
            transaction.commit().await?;
            Ok(true)
        })
    }

    /// Erases personal data and revokes the keys. The owner's id stays, for the ledger. False for the last operator while others have
    /// accounts.
    pub async fn delete_account(&self, owner_id: &str, erased_email: &str) -> Result<bool, StoreError> {
        let now = self.now().await?;
        let is_file = matches!(self, Self::Sqlite(_));
        on!(self, store => {
            let mut transaction = store.begin().await?;
            if is_file {
                // Deleted rows are overwritten, so that no personal data remains in free pages of the file.
                sqlx::query("PRAGMA secure_delete = ON").execute(&mut *transaction).await?;
            }
            // Locks the rows: two operators who leave at the same moment are serialised here, and so are concurrent sign-ins.
            sqlx::query("UPDATE accounts SET is_operator = is_operator WHERE is_operator OR owner_id = $1")
                .bind(owner_id)
                .execute(&mut *transaction)
                .await?;
            let (is_needed,): (bool,) = sqlx::query_as(
                "SELECT EXISTS (SELECT 1 FROM accounts WHERE owner_id = $1 AND is_operator)
                    AND NOT EXISTS (SELECT 1 FROM accounts WHERE owner_id <> $1 AND is_operator)
                    AND EXISTS (SELECT 1 FROM accounts WHERE owner_id <> $1)",
            )
            .bind(owner_id)
            .fetch_one(&mut *transaction)
            .await?;
            if is_needed {
                return Ok(false);
            }
            // While the address is still there to be found by.
            sqlx::query("DELETE FROM book_people WHERE email = (SELECT email FROM owners WHERE id = $1)")
                .bind(owner_id)
                .execute(&mut *transaction)
                .await?;
            // First, so that concurrently written readings either exist to be deleted below or find the owner gone.
            sqlx::query("UPDATE owners SET email = $2 WHERE id = $1")
                .bind(owner_id)
                .bind(erased_email)
                .execute(&mut *transaction)
                .await?;
            sqlx::query("UPDATE keys SET name = '', revoked_at = coalesce(revoked_at, $2) WHERE owner_id = $1")
                .bind(owner_id)
                .bind(now / 1000)
                .execute(&mut *transaction)
                .await?;
            for erase in [
                // Whoever writes parts of a job that is looked up has its row: nothing comes after this.
                "UPDATE jobs SET state = 'cancelled' WHERE owner_id = $1",
                "DELETE FROM job_parts WHERE job_id IN (SELECT id FROM jobs WHERE owner_id = $1)",
                "DELETE FROM jobs WHERE owner_id = $1",
                // Their messages go with them, after them: whoever sends one locks in this order too.
                "DELETE FROM webhook_endpoints WHERE owner_id = $1",
                "DELETE FROM quota_told WHERE owner_id = $1",
                "DELETE FROM decision_log WHERE book_id IN (SELECT id FROM books WHERE owner_id = $1)",
                "DELETE FROM decisions WHERE book_id IN (SELECT id FROM books WHERE owner_id = $1)",
                "DELETE FROM decision_rules WHERE book_id IN (SELECT id FROM books WHERE owner_id = $1)",
                "DELETE FROM book_rows WHERE book_id IN (SELECT id FROM books WHERE owner_id = $1)",
                "DELETE FROM book_wallets WHERE book_id IN (SELECT id FROM books WHERE owner_id = $1)",
                "DELETE FROM book_people WHERE book_id IN (SELECT id FROM books WHERE owner_id = $1)",
                "DELETE FROM books WHERE owner_id = $1",
                "DELETE FROM readings WHERE owner_id = $1",
                "DELETE FROM reviews WHERE owner_id = $1",
                "DELETE FROM refusals WHERE owner_id = $1",
                "DELETE FROM sessions WHERE owner_id = $1",
                "DELETE FROM links WHERE owner_id = $1",
                "DELETE FROM accounts WHERE owner_id = $1",
            ] {
                sqlx::query(erase).bind(owner_id).execute(&mut *transaction).await?;
            }
            transaction.commit().await?;
            if is_file {
                // The WAL still holds the erased rows. While others read, they stay there until later writes overwrite them.
                if let Err(error) = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(store.pool()).await {
                    tracing::warn!(%error, "what was erased is still in the log of the database");
                }
            }
            Ok(true)
        })
    }

    /// Makes the account at this address an operator; false where there is none, or its holder never showed that the address is theirs.
    pub async fn make_operator(&self, email: &str) -> Result<bool, StoreError> {
        on!(self, store => {
            let mut transaction = store.begin().await?;
            let done = sqlx::query(
                "UPDATE accounts SET is_operator = TRUE
                 WHERE owner_id = (SELECT id FROM owners WHERE email = $1) AND (proved_at IS NOT NULL OR is_operator)",
            )
            .bind(email)
            .execute(&mut *transaction)
            .await?;
            if done.rows_affected() == 0 {
                return Ok(false);
            }
            sqlx::query("DELETE FROM links WHERE kind = 'operator'").execute(&mut *transaction).await?;
            transaction.commit().await?;
            Ok(true)
        })
    }

    pub async fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        on!(self, store => {
            let row = sqlx::query_as("SELECT value FROM settings WHERE name = $1").bind(name);
            let row: Option<(String,)> = row.fetch_optional(store.pool()).await?;
            Ok(row.map(|(value,)| value))
        })
    }

    pub async fn set_setting(&self, name: &str, value: &str) -> Result<(), StoreError> {
        on!(self, store => {
            sqlx::query(
                "INSERT INTO settings (name, value) VALUES ($1, $2)
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            )
            .bind(name)
            .bind(value)
            .execute(store.pool())
            .await?;
            Ok(())
        })
    }

    /// Deletes expired sessions and links.
    pub async fn sweep_accounts(&self) -> Result<(), StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            // Checked first: a statement that deletes nothing would still wait for the write lock.
            let (has_any,): (bool,) = sqlx::query_as(
                "SELECT EXISTS (SELECT 1 FROM sessions WHERE expires_at <= $1)
                     OR EXISTS (SELECT 1 FROM links WHERE expires_at <= $1)",
            )
            .bind(now)
            .fetch_one(store.pool())
            .await?;
            if has_any {
                sqlx::query("DELETE FROM sessions WHERE expires_at <= $1").bind(now).execute(store.pool()).await?;
                sqlx::query("DELETE FROM links WHERE expires_at <= $1").bind(now).execute(store.pool()).await?;
            }
            Ok(())
        })
    }
}
