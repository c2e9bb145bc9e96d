//! The visitor: the person, the address, and the cookies of this browser.

use alloy_primitives::hex;
use axum::http::{HeaderMap, HeaderValue, header};
use cookie::time::Duration;
use cookie::{Cookie, SameSite};
use sha2::{Digest, Sha256};

use crate::accounts::{Person, SecretToken};
use crate::app::RequestId;

const SESSION: &str = "taxon_session";
const VISIT: &str = "taxon_visit";
/// The database decides when a session ends; this only keeps the cookie from outliving it for long.
const SESSION_DAYS: i64 = 30;
const VISIT_CHARS: usize = 32;

#[derive(Debug)]
pub(crate) struct Visitor {
    pub(crate) person: Option<Person>,
    /// As limits count it.
    pub(crate) address: String,
    pub(crate) request_id: RequestId,
    pub(super) cookies: Cookies,
    pub(super) is_secure: bool,
    /// As the browser knows it.
    pub(super) host: String,
}

/// What this browser was given.
#[derive(Debug)]
pub(super) struct Cookies {
    /// Of a session, valid or not.
    pub(super) token: Option<String>,
    /// Random, known to this browser alone.
    visit: String,
    pub(super) is_new: bool,
}

impl Cookies {
    pub(super) fn read(headers: &HeaderMap) -> Self {
        let known = named(headers, VISIT).filter(|visit| is_plain(visit, VISIT_CHARS));
        Self {
            token: named(headers, SESSION).filter(|token| !token.is_empty()),
            is_new: known.is_none(),
            visit: known.unwrap_or_else(|| format!("{:032x}", rand::random::<u128>())),
        }
    }
}

impl Visitor {
    /// Where this service is, as the visitor reached it.
    pub(crate) fn origin(&self) -> String {
        format!("{}://{}", if self.is_secure { "https" } else { "http" }, self.host)
    }

    /// The CSRF proof that our forms carry and another site's page cannot know. It changes with the session.
    pub(crate) fn csrf(&self) -> String {
        let secret = format!("form:{}:{}", self.cookies.visit, self.token());
        hex::encode(Sha256::digest(secret))
    }

    /// Of the session, empty for whoever is not signed in.
    pub(crate) fn token(&self) -> &str {
        self.cookies.token.as_deref().filter(|_| self.person.is_some()).unwrap_or_default()
    }

    /// The cookie that signs in; an empty token signs out.
    pub(crate) fn session_cookie(&self, token: Option<&SecretToken>) -> HeaderValue {
        match token {
            Some(token) => self.cookie(SESSION, token.text(), Duration::days(SESSION_DAYS)),
            None => self.cookie(SESSION, "", Duration::ZERO),
        }
    }

    pub(super) fn visit_cookie(&self) -> HeaderValue {
        self.cookie(VISIT, &self.cookies.visit, Duration::days(SESSION_DAYS))
    }

    fn cookie(&self, name: &str, value: &str, max_age: Duration) -> HeaderValue {
        let cookie = Cookie::build((name, value))
            .path("/")
            .http_only(true)
            .same_site(SameSite::Lax)
            .max_age(max_age)
            .secure(self.is_secure);
        HeaderValue::from_str(&cookie.build().to_string()).unwrap_or(HeaderValue::from_static(""))
    }
}

/// The first of this name, whatever else the browser sends.
fn named(headers: &HeaderMap, name: &str) -> Option<String> {
    let texts = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = texts.flat_map(Cookie::split_parse).filter_map(Result::ok);
    cookies.find(|cookie| cookie.name() == name).map(|cookie| cookie.value().to_owned())
}

fn is_plain(text: &str, chars: usize) -> bool {
    text.len() == chars && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
