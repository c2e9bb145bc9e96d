//! The entry of every call of every interface, over HTTP or not. It identifies the caller, enforces the rate limit, and runs each started
//! call to its end, so that reservations are settled even when the caller has gone.
//!
//! The contract fixes the order of the checks: who calls, then how often, then what is asked. So an interface identifies its caller, has
//! the call admitted, reads the request, and hands both to a use case, which takes nothing but an `AdmittedCall`.

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

/// What a caller presents as a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presented<'a> {
    Nothing,
    /// It may or may not be valid.
    Key(&'a str),
    /// A header that cannot hold a key.
    Malformed,
}

/// Identifies a call in its answer, its log lines and its ledger rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestId(Arc<str>);

impl RequestId {
    pub(crate) fn fresh() -> Self {
        Self(format!("{:032x}", rand::random::<u128>()).into())
    }

    /// The caller's own id, if it is 1 to 64 of `[A-Za-z0-9._-]`.
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

/// A call that passed the rate limit: who pays for it, and its id. Only this module makes one, after counting it.
#[derive(Debug, Clone)]
pub(crate) struct AdmittedCall {
    caller: Arc<Caller>,
    request_id: RequestId,
    is_job: bool,
}

impl AdmittedCall {
    /// Whether a job makes it, and no caller.
    pub(super) fn is_job(&self) -> bool {
        self.is_job
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(super) fn request_id(&self) -> &RequestId {
        &self.request_id
    }
}

impl App {
    /// The owner of the key. Calls without a valid key are counted by address, so that keys cannot be guessed; past the limit they are told
    /// to wait.
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

    /// A signed-in caller pays from the same pool as the owner's keys.
    pub(crate) async fn signed_in(&self, person: &Person) -> Result<Arc<Caller>, ApiError> {
        let owner = self.accounts.owner(person).await?.ok_or(ApiError::Unauthorized)?;
        Ok(Arc::new(self.auth.owner_caller(&owner)))
    }

    /// A caller without a key pays from a small daily pool of its address.
    pub(crate) fn anonymous(&self, address: &str) -> Arc<Caller> {
        Arc::new(Caller { key_id: String::new(), payer: Payer::anonymous(address, self.pool_anon) })
    }

    /// Counts a call of a key, or of a payer who needs none; one too many is refused, and the refusal is recorded for its owner.
    pub(crate) async fn admit(&self, caller: Arc<Caller>, request_id: RequestId) -> Result<AdmittedCall, ApiError> {
        let who = match caller.key_id.as_str() {
            "" => Counted::ClassifyByPayer(&caller.payer.id),
            key_id => Counted::Classify { key_id },
        };
        let counted = self.count(who).await;
        if let Err(error @ ApiError::RateLimited { .. }) = &counted {
            self.history.refused(&caller.payer, error.code(), 1);
        }
        counted.map(|()| AdmittedCall { caller, request_id, is_job: false })
    }

    /// One call of a job, counted apart from the calls that its owner makes.
    pub(super) async fn admit_job(&self, caller: Arc<Caller>, request_id: RequestId) -> Result<AdmittedCall, ApiError> {
        self.count(Counted::Job { owner_id: &caller.payer.id }).await?;
        Ok(AdmittedCall { caller, request_id, is_job: true })
    }

    /// The caller of a quota query, which is counted apart from calls: per key, or per address where none is presented.
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

    /// Runs a call to its end, under its id in the logs, even when the caller hangs up: an unsettled reservation would be missing from the
    /// pool until it expires.
    pub(super) async fn finish<T, F>(&self, request_id: &RequestId, work: F) -> Result<T, ApiError>
    where
        F: Future<Output = Result<T, ApiError>> + Send + 'static,
        T: Send + 'static,
    {
        let mut work = Box::pin(logs::of_request(request_id.shared(), work));
        // A future that is ready at the first poll needs no task: nobody can hang up before that.
        if let Poll::Ready(done) = futures_util::poll!(work.as_mut()) {
            return done;
        }
        self.calls.spawn(work).await.map_err(|_| ApiError::Internal)?
    }

    /// Calls in flight, also those whose caller has gone.
    pub(crate) fn calls_in_flight(&self) -> usize {
        self.calls.len()
    }

    /// Waits for the calls in flight. Each settles with the ledger before it ends.
    pub(crate) async fn finished(&self) {
        self.calls.close();
        self.calls.wait().await;
    }
}
