//! The door: every call of every interface comes in here, over HTTP or not. It finds out who calls, holds callers to their rate, and runs what
//! was begun to its end, so that what was reserved is settled also when whoever asked has gone.
//!
//! The order is the contract's: who calls, then how often, then what is asked. So an interface identifies its caller, has the call admitted,
//! reads the request, and hands both to a use case, which takes nothing but an admitted `Call`.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::task::Poll;

use super::{App, Asker};
use crate::accounts::Person;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::limits::{Counted, whole_seconds};
use crate::logs;
use crate::store::Payer;

const REQUEST_ID_CHARS_MAX: usize = 64;

/// What a caller shows of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presented<'a> {
    Nothing,
    /// It may or may not be valid.
    Key(&'a str),
    /// Something that cannot hold a key.
    Malformed,
}

/// Names a call in its answer, its log lines and its rows of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestId(Arc<str>);

impl RequestId {
    pub(crate) fn fresh() -> Self {
        Self(format!("{:032x}", rand::random::<u128>()).into())
    }

    /// A caller's own, if it is 1 to 64 of `[A-Za-z0-9._-]`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let fits = (1..=REQUEST_ID_CHARS_MAX).contains(&text.len());
        (fits && text.bytes().all(is_plain)).then(|| Self(text.into()))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

/// A call that was let in: who pays for it, and its id. Only the door makes one, after it has counted it.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    caller: Arc<Caller>,
    request_id: RequestId,
}

impl Call {
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(super) fn request_id(&self) -> &RequestId {
        &self.request_id
    }
}

impl App {
    /// Whose key it is. Whoever has no valid one is counted by address, so that keys cannot be guessed; past the limit it is told to wait.
    pub(crate) async fn identify(&self, presented: Presented<'_>, address: &str) -> Result<Arc<Caller>, ApiError> {
        let caller = match presented {
            Presented::Key(key) => self.auth.caller(key).await?,
            Presented::Nothing | Presented::Malformed => None,
        };
        match caller {
            Some(caller) => Ok(caller),
            None => {
                self.count(Counted::Unauthorized(address)).await?;
                Err(ApiError::Unauthorized)
            }
        }
    }

    /// Whoever is signed in pays from the same pool as its keys.
    pub(crate) async fn signed_in(&self, person: &Person) -> Result<Arc<Caller>, ApiError> {
        let owner = self.accounts.owner(person).await?.ok_or(ApiError::Unauthorized)?;
        Ok(Arc::new(self.auth.owner_caller(&owner)))
    }

    /// Whoever calls without a key pays from a small daily pool of its address.
    pub(crate) fn anonymous(&self, address: &str) -> Arc<Caller> {
        Arc::new(Caller { key_id: String::new(), payer: Payer::anonymous(address, self.pool_anon) })
    }

    /// Counts a call of a key, or of a payer who needs none; one too many is refused, and remembered for its owner.
    pub(crate) async fn admit(&self, caller: Arc<Caller>, request_id: RequestId) -> Result<Call, ApiError> {
        let who = match caller.key_id.as_str() {
            "" => Counted::ClassifyByPayer(&caller.payer.id),
            key_id => Counted::Classify { key_id },
        };
        let counted = self.count(who).await;
        if let Err(error @ ApiError::RateLimited { .. }) = &counted {
            self.history.refused(&caller.payer, error.code(), 1);
        }
        counted.map(|()| Call { caller, request_id })
    }

    /// Who asks what is left, counted apart from calls: per key, or per address for whoever shows none.
    pub(crate) async fn admit_to_status(&self, presented: Presented<'_>, address: &str) -> Result<Asker, ApiError> {
        match presented {
            Presented::Nothing => {
                self.count(Counted::StatusByAddress(address)).await?;
                Ok(Asker::Anonymous(self.anonymous(address)))
            }
            // A caller who thinks that it has a key must not be shown the anonymous pool.
            Presented::Key(_) | Presented::Malformed => {
                let caller = self.identify(presented, address).await?;
                self.admit_key_to_status(caller).await
            }
        }
    }

    pub(crate) async fn admit_key_to_status(&self, caller: Arc<Caller>) -> Result<Asker, ApiError> {
        self.count(Counted::StatusByKey { key_id: &caller.key_id }).await?;
        Ok(Asker::Keyed(caller))
    }

    async fn count(&self, who: Counted<'_>) -> Result<(), ApiError> {
        match self.limits.hit(who).await? {
            None => Ok(()),
            Some(wait) => Err(ApiError::RateLimited { seconds: whole_seconds(wait) }),
        }
    }

    /// Runs a call to its end, under its id in the logs, also when whoever waits for it is gone: a reservation that nobody settles would be
    /// missing in the pool until it expires.
    pub(super) async fn finish<T, F>(&self, request_id: &RequestId, work: F) -> Result<T, ApiError>
    where
        F: Future<Output = Result<T, ApiError>> + Send + 'static,
        T: Send + 'static,
    {
        let mut work = Box::pin(logs::of_request(request_id.shared(), work));
        // What is done at the first poll needs no task: nobody can hang up before it.
        if let Poll::Ready(done) = futures_util::poll!(work.as_mut()) {
            return done;
        }
        self.calls.spawn(work).await.map_err(|_| ApiError::Internal)?
    }

    /// Calls under way, also those whose caller has gone.
    pub(crate) fn calls_in_flight(&self) -> usize {
        self.calls.len()
    }

    /// Waits for the calls under way. The ledger hears of each of them before it ends.
    pub(crate) async fn finished(&self) {
        self.calls.close();
        self.calls.wait().await;
    }
}
