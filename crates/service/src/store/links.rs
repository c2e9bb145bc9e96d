//! One-time links. Whether one is still valid is decided in the transaction that uses it up.

use std::time::Duration;

use super::accounts::{SESSIONS_MAX, begin_session};
use super::{NewSession, Store, StoreError, from_row, millis, on};

/// What a one-time link is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    Operator,
    Password { owner_id: String, email: String },
}

struct LinkRow {
    owner_id: Option<String>,
    email: Option<String>,
}

from_row!(LinkRow: owner_id, email);

impl Store {
    /// A fresh link to become the operator, which ends older ones; false where there is an operator.
    pub async fn operator_link(&self, token_hash: &[u8], span: Duration) -> Result<bool, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            let (has_operator,): (bool,) = sqlx::query_as("SELECT EXISTS (SELECT 1 FROM accounts WHERE is_operator)")
                .fetch_one(&mut *transaction)
                .await?;
            if has_operator {
                return Ok(false);
            }
            sqlx::query("DELETE FROM links WHERE kind = 'operator'").execute(&mut *transaction).await?;
            sqlx::query("INSERT INTO links (token_hash, kind, expires_at) VALUES ($1, 'operator', $2)")
                .bind(token_hash)
                .bind(now.saturating_add(millis(span)))
                .execute(&mut *transaction)
                .await?;
            transaction.commit().await?;
            Ok(true)
        })
    }

    pub async fn has_operator(&self) -> Result<bool, StoreError> {
        on!(self, store => {
            let found = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM accounts WHERE is_operator)");
            Ok(found.fetch_one(store.pool()).await?)
        })
    }

    /// A fresh link to set the password of the owner at this address, who is made if there is none. It ends older ones.
    pub async fn password_link(
        &self,
        new_owner_id: &str,
        email: &str,
        token_hash: &[u8],
        span: Duration,
    ) -> Result<(), StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            sqlx::query("INSERT INTO owners (id, email, created_at) VALUES ($1, $2, $3) ON CONFLICT (email) DO NOTHING")
                .bind(new_owner_id)
                .bind(email)
                .bind(now / 1000)
                .execute(&mut *transaction)
                .await?;
            sqlx::query("DELETE FROM links WHERE owner_id = (SELECT id FROM owners WHERE email = $1)")
                .bind(email)
                .execute(&mut *transaction)
                .await?;
            sqlx::query(
                "INSERT INTO links (token_hash, kind, owner_id, expires_at)
                 SELECT $1, 'password', id, $2 FROM owners WHERE email = $3",
            )
            .bind(token_hash)
            .bind(now.saturating_add(millis(span)))
            .bind(email)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(())
        })
    }

    /// What the link is for, if it is valid. Looking does not use it up.
    pub async fn link(&self, token_hash: &[u8]) -> Result<Option<Link>, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let row: Option<LinkRow> = sqlx::query_as(
                "SELECT links.owner_id, owners.email FROM links LEFT JOIN owners ON owners.id = links.owner_id
                 WHERE links.token_hash = $1 AND links.expires_at > $2",
            )
            .bind(token_hash)
            .bind(now)
            .fetch_optional(store.pool())
            .await?;
            Ok(row.map(|row| match (row.owner_id, row.email) {
                (Some(owner_id), Some(email)) => Link::Password { owner_id, email },
                _ => Link::Operator,
            }))
        })
    }

    /// Uses up a link to become the operator. `known_hash` is the password hash of the existing account at the address, whose password was
    /// checked; `None` where there is no account, and one is made. False where the link is no longer valid or the account has changed.
    pub async fn take_operator_link(
        &self,
        token_hash: &[u8],
        new_owner_id: &str,
        email: &str,
        known_hash: Option<&str>,
        password_hash: &str,
        session: &NewSession,
    ) -> Result<bool, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            let taken = sqlx::query("DELETE FROM links WHERE token_hash = $1 AND kind = 'operator' AND expires_at > $2")
                .bind(token_hash)
                .bind(now)
                .execute(&mut *transaction)
                .await?;
            if taken.rows_affected() == 0 {
                return Ok(false);
            }
            sqlx::query("INSERT INTO owners (id, email, created_at) VALUES ($1, $2, $3) ON CONFLICT (email) DO NOTHING")
                .bind(new_owner_id)
                .bind(email)
                .bind(now / 1000)
                .execute(&mut *transaction)
                .await?;
            let (owner_id,): (String,) =
                sqlx::query_as("SELECT id FROM owners WHERE email = $1").bind(email).fetch_one(&mut *transaction).await?;
            let done = match known_hash {
                Some(known) => {
                    let promote = "UPDATE accounts SET is_operator = TRUE, proved_at = coalesce(proved_at, $3)
                                   WHERE owner_id = $1 AND password_hash = $2";
                    sqlx::query(promote).bind(&owner_id).bind(known).bind(now).execute(&mut *transaction).await?
                }
                None => {
                    let make = "INSERT INTO accounts (owner_id, password_hash, is_operator, created_at, proved_at)
                                VALUES ($1, $2, TRUE, $3, $3) ON CONFLICT (owner_id) DO NOTHING";
                    sqlx::query(make).bind(&owner_id).bind(password_hash).bind(now).execute(&mut *transaction).await?
                }
            };
            if done.rows_affected() == 0 {
                return Ok(false);
            }
            sqlx::query("DELETE FROM links WHERE kind = 'operator'").execute(&mut *transaction).await?;
            begin_session!(transaction, &owner_id, session, now);
            transaction.commit().await?;
            Ok(true)
        })
    }

    /// Uses up a link to set a password, which also shows that the address is the owner's: sessions end and one begins, and keys end that
    /// were made before by whoever had only signed up. False where the link is no longer valid.
    pub async fn take_password_link(
        &self,
        token_hash: &[u8],
        password_hash: &str,
        session: &NewSession,
    ) -> Result<bool, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            let taken: Option<(String,)> = sqlx::query_as(
                "DELETE FROM links WHERE token_hash = $1 AND kind = 'password' AND expires_at > $2 RETURNING owner_id",
            )
            .bind(token_hash)
            .bind(now)
            .fetch_optional(&mut *transaction)
            .await?;
            let Some((owner_id,)) = taken else { return Ok(false) };
            sqlx::query(
                "UPDATE keys SET revoked_at = $2 WHERE owner_id = $1 AND revoked_at IS NULL AND owner_id IN (
                     SELECT owner_id FROM accounts WHERE proved_at IS NULL AND NOT is_operator)",
            )
            .bind(&owner_id)
            .bind(now / 1000)
            .execute(&mut *transaction)
            .await?;
            sqlx::query(
                "INSERT INTO accounts (owner_id, password_hash, created_at, proved_at) VALUES ($1, $2, $3, $3)
                 ON CONFLICT (owner_id) DO UPDATE SET password_hash = excluded.password_hash,
                     proved_at = coalesce(accounts.proved_at, excluded.proved_at)",
            )
            .bind(&owner_id)
            .bind(password_hash)
            .bind(now)
            .execute(&mut *transaction)
            .await?;
            sqlx::query("DELETE FROM sessions WHERE owner_id = $1").bind(&owner_id).execute(&mut *transaction).await?;
            begin_session!(transaction, &owner_id, session, now);
            transaction.commit().await?;
            Ok(true)
        })
    }
}
