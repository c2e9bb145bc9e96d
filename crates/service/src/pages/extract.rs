//! Extractors of every page: the session behind the cookies, the check that a form is ours (CSRF), and the security headers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{ConnectInfo, FromRequest, FromRequestParts, Multipart, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::frame::{PageError, PageFault};
use super::multipart::{FormParts, text};
use super::visitor::{Cookies, Visitor};
use crate::accounts::Person;
use crate::web::{Web, request_id};

/// Our own files, forms to ourselves, and nothing else; no script in the page itself. What the script loads is the page of a job, from here.
pub(super) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                                 base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const FORM_BYTES_MAX: usize = 64 * 1024;
/// What is read of a form that is refused, and for how long.
const REFUSED_BYTES_READ_MAX: usize = 256 * 1024;
const REFUSED_READ_FOR: Duration = Duration::from_secs(1);
/// A form with long lists in it: a thousand wallets, a chart of accounts.
const LONG_FORM_BYTES_MAX: usize = 512 * 1024;

pub(crate) async fn carry_visitor(State(web): State<Web>, mut request: Request, next: Next) -> Response {
    let headers = request.headers();
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let cookies = Cookies::read(headers);
    let person = match &cookies.token {
        Some(token) => match web.app.accounts.person(token).await {
            Ok(person) => person,
            Err(error) => return with_security_headers(PageError::from(error).into_response()),
        },
        None => None,
    };
    let visitor = Arc::new(Visitor {
        address: web.address(headers, peer),
        request_id: request_id(request.extensions()),
        is_secure: web.is_secure(headers, peer),
        host: headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default().to_owned(),
        cookies,
        person,
    });
    request.extensions_mut().insert(Arc::clone(&visitor));
    let mut response = next.run(request).await;
    if is_bare(&response) {
        response = PageError::Address.into_response();
    }
    let mut response = with_security_headers(response);
    if let Some(fault) = response.extensions().get::<PageFault>().cloned() {
        *response.body_mut() = fault.page(Some(&visitor)).0.into();
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    if visitor.cookies.is_new {
        response.headers_mut().append(header::SET_COOKIE, visitor.visit_cookie());
    }
    response
}

/// A refusal by the router itself, such as of a path that is no UTF-8, has no page yet.
fn is_bare(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    response.status() == StatusCode::BAD_REQUEST && kind.starts_with("text/plain")
}

/// Adds the security headers.
fn with_security_headers(mut response: Response) -> Response {
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The visitor, signed in or not.
#[derive(Debug, Clone)]
pub(crate) struct Anyone(pub(crate) Arc<Visitor>);

impl<S: Sync> FromRequestParts<S> for Anyone {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, PageError> {
        parts.extensions.get::<Arc<Visitor>>().cloned().map(Self).ok_or(PageError::Forbidden)
    }
}

/// The signed-in visitor; anybody else is redirected to the sign-in page.
#[derive(Debug, Clone)]
pub(crate) struct SignedIn {
    pub(crate) visitor: Arc<Visitor>,
    pub(crate) person: Person,
}

impl<S: Sync> FromRequestParts<S> for SignedIn {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let Anyone(visitor) = Anyone::from_request_parts(parts, state).await.map_err(IntoResponse::into_response)?;
        match visitor.person.clone() {
            Some(person) => Ok(Self { visitor, person }),
            None => Err(Redirect::to("/sign-in").into_response()),
        }
    }
}

/// A form that carried a valid CSRF proof.
#[derive(Debug)]
pub(crate) struct PostedForm<T>(pub(crate) T);

#[derive(Deserialize)]
struct Proof {
    #[serde(default)]
    csrf: String,
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for PostedForm<T> {
    type Rejection = PageError;

    async fn from_request(request: Request, _: &S) -> Result<Self, PageError> {
        posted(request, FORM_BYTES_MAX).await.map(Self)
    }
}

/// The same with more in it. Nobody who is not signed in is sent one.
#[derive(Debug)]
pub(crate) struct LongForm<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for LongForm<T> {
    type Rejection = PageError;

    async fn from_request(request: Request, _: &S) -> Result<Self, PageError> {
        posted(request, LONG_FORM_BYTES_MAX).await.map(Self)
    }
}

async fn posted<T: DeserializeOwned>(request: Request, bytes_max: usize) -> Result<T, PageError> {
    let visitor = sender(&request)?;
    if !is_kind(request.headers(), "application/x-www-form-urlencoded") {
        return Err(refused(request).await);
    }
    let bytes = to_bytes(request.into_body(), bytes_max.saturating_add(REFUSED_BYTES_READ_MAX)).await;
    let bytes = bytes.ok().filter(|bytes| bytes.len() <= bytes_max).ok_or(PageError::Form)?;
    let proof: Proof = serde_urlencoded::from_bytes(&bytes).map_err(|_| PageError::Form)?;
    if proof.csrf != visitor.csrf() {
        return Err(PageError::Forbidden);
    }
    serde_urlencoded::from_bytes(&bytes).map_err(|_| PageError::Form)
}

/// A form with a file, of which the CSRF proof was the first part and was valid. No other part has been read.
#[derive(Debug)]
pub(crate) struct PostedParts(pub(crate) FormParts);

impl<S: Send + Sync> FromRequest<S> for PostedParts {
    type Rejection = PageError;

    async fn from_request(request: Request, state: &S) -> Result<Self, PageError> {
        let visitor = sender(&request)?;
        if !is_kind(request.headers(), "multipart/form-data") {
            return Err(refused(request).await);
        }
        let form = Multipart::from_request(request, state).await.map_err(|_| PageError::Form)?;
        let mut parts = FormParts::new(form);
        let first = parts.next().await?.filter(|part| part.name() == Some("csrf"));
        let proof = text(first.ok_or(PageError::Forbidden)?).await?;
        if proof == visitor.csrf() { Ok(Self(parts)) } else { Err(PageError::Forbidden) }
    }
}

/// Who sent a form, unless it comes from another site.
fn sender(request: &Request) -> Result<Arc<Visitor>, PageError> {
    if request.method() != Method::POST || is_foreign(request.headers()) {
        return Err(PageError::Forbidden);
    }
    request.extensions().get::<Arc<Visitor>>().cloned().ok_or(PageError::Forbidden)
}

/// A connection that is closed on what is still coming in may lose the answer on its way out, so that a little of it is read first.
async fn refused(request: Request) -> PageError {
    let rest = to_bytes(request.into_body(), REFUSED_BYTES_READ_MAX);
    let _ = tokio::time::timeout(REFUSED_READ_FOR, rest).await;
    PageError::Form
}

fn is_kind(headers: &HeaderMap, wanted: &str) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split_once(';').map_or(kind, |(kind, _)| kind);
    kind.trim().eq_ignore_ascii_case(wanted)
}

/// Browsers say where a form comes from; for those that do not, only the CSRF proof decides. `Sec-Fetch-Site` refers to the address that
/// the person sees, so it is right also behind a proxy that sends another host.
fn is_foreign(headers: &HeaderMap) -> bool {
    let text = |value: Option<&HeaderValue>| value.map(|value| value.to_str().unwrap_or_default().to_owned());
    if let Some(site) = text(headers.get("sec-fetch-site")) {
        return site != "same-origin";
    }
    let host = text(headers.get(header::HOST)).unwrap_or_default();
    let origin = text(headers.get(header::ORIGIN));
    origin.is_some_and(|origin| origin.split_once("://").is_none_or(|(_, origin)| origin != host))
}
