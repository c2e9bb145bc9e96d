//! The door: who calls, with which key, and how often. The order is the contract's: key, then rate, then the body.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;

use super::request_id::RequestId;
use super::{Web, client};
use crate::app::Call;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::limits::{Counted, counted_address, whole_seconds};

/// Lets in whoever has a key that stands and calls remain; the handler finds the caller in the request's extensions.
pub(super) async fn keyed(State(web): State<Web>, mut request: Request, next: Next) -> Result<Response, ApiError> {
    let caller = web.caller(request.headers(), request.extensions().get()).await?;
    web.count_call(&caller).await?;
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

/// What `Authorization` holds.
pub(crate) enum Bearer<'a> {
    Absent,
    /// It may or may not be a key that stands.
    Key(&'a str),
    Malformed,
}

/// At most one `Authorization` header, of the scheme `Bearer`.
pub(crate) fn bearer(headers: &HeaderMap) -> Bearer<'_> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let Some(one) = all.next() else { return Bearer::Absent };
    let parts = one.to_str().ok().filter(|_| all.next().is_none()).and_then(|text| text.split_once(' '));
    match parts {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case("bearer") => Bearer::Key(key.trim()),
        _ => Bearer::Malformed,
    }
}

impl Web {
    /// Whose key it is that stands in the headers.
    pub(crate) async fn caller(
        &self,
        headers: &HeaderMap,
        peer: Option<&ConnectInfo<SocketAddr>>,
    ) -> Result<Arc<Caller>, ApiError> {
        let key = match bearer(headers) {
            Bearer::Key(key) => self.app.auth.caller(key).await?,
            Bearer::Malformed | Bearer::Absent => None,
        };
        match key {
            Some(caller) => Ok(caller),
            None => Err(self.unauthorized(&self.address(headers, peer)).await?),
        }
    }

    /// The caller's address, as it is counted.
    pub(crate) fn address(&self, headers: &HeaderMap, peer: Option<&ConnectInfo<SocketAddr>>) -> String {
        let peer = peer.map_or(std::net::Ipv4Addr::UNSPECIFIED.into(), |ConnectInfo(peer)| peer.ip());
        counted_address(client::address(peer, headers, &self.trusted_proxies))
    }

    /// Whether the caller's end of the connection is encrypted, as a proxy that is trusted says.
    pub(crate) fn is_secure(&self, headers: &HeaderMap, peer: Option<&ConnectInfo<SocketAddr>>) -> bool {
        let is_trusted = peer.is_some_and(|ConnectInfo(peer)| {
            let peer = peer.ip().to_canonical();
            self.trusted_proxies.iter().any(|network| network.contains(&peer))
        });
        is_trusted && headers.get("x-forwarded-proto").is_some_and(|scheme| scheme == "https")
    }

    pub(crate) async fn count(&self, who: Counted<'_>) -> Result<(), ApiError> {
        match self.app.limits.hit(who).await? {
            None => Ok(()),
            Some(wait) => Err(ApiError::RateLimited { seconds: whole_seconds(wait) }),
        }
    }

    /// One call of a key, or of a payer who needs none; one too many is remembered for its owner.
    pub(crate) async fn count_call(&self, caller: &Caller) -> Result<(), ApiError> {
        let who = match caller.key_id.as_str() {
            "" => Counted::ClassifyByPayer(&caller.payer.id),
            key_id => Counted::Classify { key_id },
        };
        let counted = self.count(who).await;
        if let Err(error @ ApiError::RateLimited { .. }) = &counted {
            self.app.history.refused(&caller.payer, error.code(), 1);
        }
        counted
    }

    /// What a caller without a valid key hears: that, or after too many tries, to wait.
    pub(crate) async fn unauthorized(&self, address: &str) -> Result<ApiError, ApiError> {
        self.count(Counted::Unauthorized(address)).await.map(|()| ApiError::Unauthorized)
    }
}

/// A request that passed the door.
impl<S: Sync> FromRequestParts<S> for Call {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let caller = parts.extensions.get::<Arc<Caller>>().cloned().ok_or(ApiError::Unauthorized)?;
        let request_id = parts.extensions.get::<RequestId>().map(|id| id.0.to_string()).unwrap_or_default();
        Ok(Self { caller, request_id })
    }
}
