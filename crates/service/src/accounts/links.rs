//! One-time links: the first makes somebody the operator; those that an operator hands out set a password.

use std::time::Duration;

use super::{AccountError, Accounts, SecretToken, checked_email, digest, new_session, passwords};
use crate::auth;
use crate::limits::Counted;
use crate::store::{Link, StoreError};

const LINK: Duration = Duration::from_secs(24 * 3_600);
const GONE: AccountError = AccountError::Invalid("This link was used, has ended, or never was one.");

/// What the page behind a link asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkKind {
    /// An address and a password.
    Operator,
    /// A new password for this address.
    Password { email: String },
}

impl Accounts {
    /// While there is no operator: a fresh link to become it. Older ones end.
    pub(crate) async fn first_link(&self) -> Result<Option<SecretToken>, StoreError> {
        let token = SecretToken::fresh();
        let made = self.store.operator_link(&digest(token.text()), LINK).await?;
        Ok(made.then_some(token))
    }

    /// A fresh link to set the password of this address's owner, who is made if there is none. Older ones end.
    pub(crate) async fn password_link(&self, email: &str) -> Result<SecretToken, AccountError> {
        let email = checked_email(email)?;
        let token = SecretToken::fresh();
        self.store.password_link(&auth::new_owner_id(), &email, &digest(token.text()), LINK).await?;
        Ok(token)
    }

    /// `None` for a link that is not valid. Looking does not use it up.
    pub(crate) async fn link_kind(&self, token: &str) -> Result<Option<LinkKind>, StoreError> {
        Ok(self.store.link(&digest(token)).await?.map(|link| match link {
            Link::Operator => LinkKind::Operator,
            Link::Password { email, .. } => LinkKind::Password { email },
        }))
    }

    /// Uses the link up and signs in. `email` counts for the operator's link only: the other names its owner. An existing account at that
    /// address becomes the operator's only with that account's password.
    pub(crate) async fn take_link(
        &self,
        address: &str,
        token: &str,
        email: &str,
        password: &str,
    ) -> Result<SecretToken, AccountError> {
        self.count(Counted::PasswordByAddress(address)).await?;
        let token_hash = digest(token);
        let is_taken = match self.store.link(&token_hash).await?.ok_or(GONE)? {
            Link::Operator => return self.take_operator_link(address, &token_hash, email, password).await,
            Link::Password { email, .. } => {
                passwords::check(password, &email)?;
                let hash = self.passwords.hash(password).await?;
                let (token, session) = new_session();
                self.store.take_password_link(&token_hash, &hash, &session).await?.then_some(token)
            }
        };
        is_taken.ok_or(GONE)
    }

    async fn take_operator_link(
        &self,
        address: &str,
        token_hash: &[u8],
        email: &str,
        password: &str,
    ) -> Result<SecretToken, AccountError> {
        let email = checked_email(email)?;
        let known = match self.store.account(&email).await? {
            Some(account) => {
                self.count_account(address, &email).await?;
                Some(self.passwords.shown(Some(account), password).await?.password_hash)
            }
            None => None,
        };
        let hash = match &known {
            Some(hash) => hash.clone(),
            None => {
                passwords::check(password, &email)?;
                self.passwords.hash(password).await?
            }
        };
        let (token, session) = new_session();
        let owner_id = auth::new_owner_id();
        let taken =
            self.store.take_operator_link(token_hash, &owner_id, &email, known.as_deref(), &hash, &session).await?;
        taken.then_some(token).ok_or(GONE)
    }
}
