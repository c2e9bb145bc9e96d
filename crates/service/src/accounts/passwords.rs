//! Passwords: which are accepted, and argon2id, which is slow by design and so runs on blocking threads, only a few at once.

use std::sync::Arc;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use tokio::sync::Semaphore;

use super::AccountError;
use crate::store::{StoreError, UserAccount};

const BYTES_MIN: usize = 10;
const BYTES_MAX: usize = 256;
/// Password guessing must not starve classification of CPU.
const RUNNING_MAX: usize = 2;
/// Callers past this many waiting are told to retry later.
const WAITING_MAX: usize = 100;

pub(super) fn check(password: &str, email: &str) -> Result<(), AccountError> {
    if password.len() < BYTES_MIN {
        return Err(AccountError::Invalid("A password has at least 10 characters."));
    }
    if password.len() > BYTES_MAX {
        return Err(AccountError::Invalid("A password has at most 256 bytes."));
    }
    if password.to_lowercase() == email {
        return Err(AccountError::Invalid("The password must not be the e-mail address."));
    }
    Ok(())
}

/// Cost of hashing a password.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cost {
    Recommended,
    /// For tests that are not about passwords.
    #[cfg(test)]
    Least,
}

impl Cost {
    fn params(self) -> Params {
        match self {
            Self::Recommended => Params::DEFAULT,
            #[cfg(test)]
            Self::Least => Params::new(Params::MIN_M_COST, Params::MIN_T_COST, 1, None).unwrap_or(Params::DEFAULT),
        }
    }
}

#[derive(Debug)]
pub(super) struct Passwords {
    cost: Cost,
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl Passwords {
    pub(super) fn new(cost: Cost) -> Self {
        let [running, waiting] = [RUNNING_MAX, WAITING_MAX].map(|most| Arc::new(Semaphore::new(most)));
        Self { cost, running, waiting }
    }

    pub(super) async fn hash(&self, password: &str) -> Result<String, AccountError> {
        let (password, argon2) = (password.to_owned(), self.argon2());
        self.run(move || argon2.hash_password(password.as_bytes()).map(|hash| hash.to_string()))
            .await?
            .map_err(|error| StoreError::Unusable(format!("a password could not be hashed: {error}")).into())
    }

    /// The account, if this is its password. Without an account the check takes as long and fails.
    pub(super) async fn shown(
        &self,
        account: Option<UserAccount>,
        password: &str,
    ) -> Result<UserAccount, AccountError> {
        if password.len() > BYTES_MAX {
            return Err(AccountError::Wrong);
        }
        let Some(account) = account else {
            self.hash(password).await?;
            return Err(AccountError::Wrong);
        };
        let (password, argon2, hash) = (password.to_owned(), self.argon2(), account.password_hash.clone());
        let is_right = self
            .run(move || {
                let hash = PasswordHash::new(&hash);
                hash.is_ok_and(|hash| argon2.verify_password(password.as_bytes(), &hash).is_ok())
            })
            .await?;
        is_right.then_some(account).ok_or(AccountError::Wrong)
    }

    fn argon2(&self) -> Argon2<'static> {
        Argon2::new(Algorithm::Argon2id, Version::V0x13, self.cost.params())
    }

    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, AccountError> {
        let Ok(_place) = Arc::clone(&self.waiting).try_acquire_owned() else {
            return Err(AccountError::TooMany { seconds: 1 });
        };
        let turn = Arc::clone(&self.running).acquire_owned().await;
        let done = tokio::task::spawn_blocking(move || {
            // Released when the hashing is done, also when the caller has gone.
            let _turn = turn;
            work()
        });
        Ok(done.await.map_err(|fault| StoreError::Unusable(format!("a password could not be checked: {fault}")))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_long_and_not_the_address() {
        let refused = |password: &str| matches!(check(password, "someone@example.com"), Err(AccountError::Invalid(_)));
        assert!(refused("") && refused("123456789") && refused("Someone@Example.com"));
        assert!(refused(&"x".repeat(257)));
        assert!(!refused("1234567890") && !refused(&"x".repeat(256)) && !refused("ünïcödé"));
    }

    #[tokio::test]
    async fn only_the_password_itself_is_right() {
        let passwords = Passwords::new(Cost::Recommended);
        let hash = passwords.hash("correct horse battery").await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_ne!(hash, passwords.hash("correct horse battery").await.unwrap(), "each has its own salt");
        let account = |hash: &str| UserAccount {
            owner_id: "o".to_owned(),
            email: "a@b".to_owned(),
            password_hash: hash.to_owned(),
            is_operator: false,
        };
        assert!(passwords.shown(Some(account(&hash)), "correct horse battery").await.is_ok());
        for (account, password) in [
            (Some(account(&hash)), "correct horse batterz"),
            (Some(account(&hash)), ""),
            (Some(account("")), ""),
            (Some(account("no hash")), "no hash"),
            (None, "correct horse battery"),
        ] {
            assert!(matches!(passwords.shown(account, password).await, Err(AccountError::Wrong)), "{password}");
        }
    }

    #[tokio::test]
    async fn who_comes_when_too_many_wait_is_told_so() {
        let passwords = Passwords::new(Cost::Least);
        let _taken = Arc::clone(&passwords.waiting).acquire_many_owned(100).await.unwrap();
        assert!(matches!(passwords.hash("correct horse").await, Err(AccountError::TooMany { seconds: 1 })));
    }
}
