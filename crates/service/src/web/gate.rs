//! Reads from a request what `app/door` needs: the key that is presented, the client's address, the request id.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;

use super::{Web, client};
use crate::app::{AdmittedCall, Presented, RequestId};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::limits::counted_address;

/// Admits calls with a valid key and within the rate limit, before the body is read; the handler finds the admitted call in the extensions.
pub(crate) async fn keyed(State(web): State<Web>, mut request: Request, next: Next) -> Result<Response, ApiError> {
    let caller = web.caller(request.headers(), request.extensions().get()).await?;
    let call = web.app.admit(caller, request_id(request.extensions())).await?;
    request.extensions_mut().insert(call);
    Ok(next.run(request).await)
}

/// At most one `Authorization` header, of the scheme `Bearer`.
pub(crate) fn bearer(headers: &HeaderMap) -> Presented<'_> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let Some(one) = all.next() else { return Presented::Nothing };
    let parts = one.to_str().ok().filter(|_| all.next().is_none()).and_then(|text| text.split_once(' '));
    match parts {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case("bearer") => Presented::Key(key.trim()),
        _ => Presented::Malformed,
    }
}

/// The id that the request got when it came in.
pub(crate) fn request_id(extensions: &Extensions) -> RequestId {
    extensions.get::<RequestId>().cloned().unwrap_or_else(RequestId::fresh)
}

impl Web {
    /// The owner of the key in the headers.
    pub(crate) async fn caller(
        &self,
        headers: &HeaderMap,
        peer: Option<&ConnectInfo<SocketAddr>>,
    ) -> Result<Arc<Caller>, ApiError> {
        self.app.identify(bearer(headers), &self.address(headers, peer)).await
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
}

/// Admitted by `keyed`.
impl<S: Sync> FromRequestParts<S> for AdmittedCall {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parts.extensions.get::<Self>().cloned().ok_or(ApiError::Unauthorized)
    }
}
