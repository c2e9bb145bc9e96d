//! People with an account: sign up, sign in, leave, and the data that they own. Every use case takes the person or the owner whose rows it
//! touches, so the rows of others cannot be reached. Operator-only functions take an `Operator`, which only an operator's `Person` can
//! give.

mod links;
mod operator;
mod own;
mod passwords;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use rand::Rng;
use sha2::{Digest, Sha256};

use crate::auth;
use crate::limits::{Counted, Limits, whole_seconds};
pub(crate) use crate::store::{Day, OwnerRow, ReadingRow, Recent};
use crate::store::{NewSession, Store, StoreError, UserAccount};
pub(crate) use links::LinkKind;
pub(crate) use operator::Operator;
use passwords::{Cost, Passwords};

const SESSION: Duration = Duration::from_secs(30 * 86_400);
/// A session in use is extended at most this often, not on every page.
const SESSION_STEP: Duration = Duration::from_secs(86_400);

/// How much longer a password attempt takes at an account that is tried too often.
const SLOWED: Duration = Duration::from_secs(2);

/// Whoever is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Person {
    pub(crate) owner_id: String,
    pub(crate) email: String,
    pub(crate) is_operator: bool,
}

/// 256 random bits that identify a session or a link. Only the hash is stored, and `Debug` prints no part of the token.
#[derive(Clone)]
pub(crate) struct SecretToken(String);

impl SecretToken {
    fn fresh() -> Self {
        Self(alloy_primitives::hex::encode(rand::rng().random::<[u8; 32]>()))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for SecretToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token (redacted)")
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum AccountError {
    /// A sentence that the form shows.
    #[error("{0}")]
    Invalid(&'static str),
    /// Wrong address or wrong password; it never says which.
    #[error("The e-mail address or the password is wrong.")]
    Wrong,
    #[error("Too many tries: try again in {seconds} s.")]
    TooMany { seconds: u64 },
    #[error("Sign-up is closed here.")]
    Closed,
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug)]
pub(crate) struct Accounts {
    store: Store,
    limits: Arc<Limits>,
    passwords: Passwords,
}

impl Accounts {
    pub(crate) fn new(store: Store, limits: Arc<Limits>) -> Self {
        Self { store, limits, passwords: Passwords::new(Cost::Recommended) }
    }

    /// Answers the same and takes as long whether the address is taken or not. An owner without an account stays as it is: only a link to
    /// set its password claims it. The account shows nothing about whose address it is, and gets nothing that is given to the address.
    pub(crate) async fn sign_up(&self, address: &str, email: &str, password: &str) -> Result<(), AccountError> {
        if !self.is_sign_up_open().await? {
            return Err(AccountError::Closed);
        }
        let email = checked_email(email)?;
        passwords::check(password, &email)?;
        self.count(Counted::SignUp(address)).await?;
        let hash = self.passwords.hash(password).await?;
        self.store.create_account(&auth::new_owner_id(), &email, &hash).await?;
        Ok(())
    }

    pub(crate) async fn sign_in(
        &self,
        address: &str,
        email: &str,
        password: &str,
    ) -> Result<SecretToken, AccountError> {
        let email = email.trim().to_lowercase();
        self.count_password(address, &email).await?;
        let account = if auth::is_email(&email) { self.store.account(&email).await? } else { None };
        let account = self.passwords.shown(account, password).await?;
        let (token, session) = new_session();
        if !self.store.begin_session(&account.owner_id, &account.password_hash, &session).await? {
            return Err(AccountError::Wrong);
        }
        Ok(token)
    }

    /// Whose session it is, if it is valid.
    pub(crate) async fn person(&self, token: &str) -> Result<Option<Person>, StoreError> {
        let found = self.store.session(&digest(token), SESSION, SESSION_STEP).await?;
        Ok(found.map(|row| Person { owner_id: row.owner_id, email: row.email, is_operator: row.is_operator }))
    }

    pub(crate) async fn sign_out(&self, token: &str) -> Result<(), StoreError> {
        self.store.end_session(&digest(token)).await
    }

    pub(crate) async fn sign_out_everywhere(&self, person: &Person) -> Result<(), StoreError> {
        self.store.end_sessions(&person.owner_id).await
    }

    /// Ends all sessions and begins a new one.
    pub(crate) async fn change_password(
        &self,
        address: &str,
        person: &Person,
        old: &str,
        new: &str,
    ) -> Result<SecretToken, AccountError> {
        passwords::check(new, &person.email)?;
        let account = self.confirmed(address, person, old).await?;
        let hash = self.passwords.hash(new).await?;
        let (token, session) = new_session();
        if !self.store.change_password(&account.owner_id, &account.password_hash, &hash, &session).await? {
            return Err(AccountError::Wrong);
        }
        Ok(token)
    }

    /// Revokes the keys and erases personal data. Ledger rows stay, under a random id.
    pub(crate) async fn delete(&self, address: &str, person: &Person, password: &str) -> Result<(), AccountError> {
        let account = self.confirmed(address, person, password).await?;
        // This is no valid address, so nobody can sign up as somebody who has left.
        let erased = format!("deleted:{}", auth::new_owner_id());
        if !self.store.delete_account(&account.owner_id, &erased).await? {
            return Err(AccountError::Invalid(
                "You are the only operator, and others have accounts here: make another account operator first.",
            ));
        }
        Ok(())
    }

    pub(crate) async fn is_sign_up_open(&self) -> Result<bool, StoreError> {
        Ok(self.store.setting(SIGN_UP).await?.as_deref() != Some(OFF))
    }

    /// The person's account, after the password was given again.
    async fn confirmed(&self, address: &str, person: &Person, password: &str) -> Result<UserAccount, AccountError> {
        self.count_password(address, &person.email).await?;
        let account = self.store.account(&person.email).await?;
        self.passwords.shown(account, password).await
    }

    /// Refuses an address that tries too often. An account that is tried too often from anywhere is only slow to answer, for a refusal
    /// would let strangers keep its owner out.
    async fn count_password(&self, address: &str, email: &str) -> Result<(), AccountError> {
        self.count(Counted::PasswordByAddress(address)).await?;
        self.count_account(address, email).await
    }

    async fn count_account(&self, address: &str, email: &str) -> Result<(), AccountError> {
        let account = &digest_text(email);
        self.count(Counted::PasswordByAccountAndAddress { account, address }).await?;
        if self.limits.hit(Counted::PasswordByAccount(account)).await?.is_some() {
            tokio::time::sleep(SLOWED).await;
        }
        Ok(())
    }

    async fn count(&self, who: Counted<'_>) -> Result<(), AccountError> {
        match self.limits.hit(who).await? {
            None => Ok(()),
            Some(wait) => Err(AccountError::TooMany { seconds: whole_seconds(wait) }),
        }
    }
}

const SIGN_UP: &str = "sign_up";
const ON: &str = "on";
const OFF: &str = "off";

fn new_session() -> (SecretToken, NewSession) {
    let token = SecretToken::fresh();
    let session = NewSession { token_hash: digest(token.text()), span: SESSION };
    (token, session)
}

fn digest(text: &str) -> Vec<u8> {
    Sha256::digest(text.as_bytes()).to_vec()
}

fn digest_text(text: &str) -> String {
    alloy_primitives::hex::encode(digest(text))
}

/// In lower case, as owners are stored.
fn checked_email(text: &str) -> Result<String, AccountError> {
    let email = text.trim().to_lowercase();
    let fits = auth::is_email(&email);
    fits.then_some(email).ok_or(AccountError::Invalid("That is not an e-mail address."))
}
