//! Where webhooks may lead. An address is checked when it is entered, so that its owner is told, and again for each connection, so that a name that leads
//! elsewhere by then gains nothing.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::is_public;

const URL_BYTES_MAX: usize = 2_000;
/// How long somebody waits for a name when an address is entered.
const RESOLVED_WITHIN: Duration = Duration::from_secs(5);

/// Who is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Public addresses, over TLS.
    Public,
    /// Any: the operator trusts whoever has an account with the network around the service.
    Anywhere,
}

/// Why a target is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TargetRefused {
    #[error("it is not a web address such as https://example.com/hooks")]
    NoUrl,
    #[error("it is longer than {URL_BYTES_MAX} bytes")]
    TooLong,
    #[error("it must begin with https://")]
    NoTls,
    #[error("it must begin with https:// or http://")]
    OtherScheme,
    #[error("it holds a user name or a password")]
    Credentials,
    #[error("it leads to an address that is not public, which the operator of this service has not allowed")]
    NotPublic,
    #[error("its name cannot be resolved")]
    Unknown,
}

impl Reach {
    /// The address as it is kept.
    pub(super) fn parse(self, text: &str) -> Result<Url, TargetRefused> {
        if text.len() > URL_BYTES_MAX {
            return Err(TargetRefused::TooLong);
        }
        let url = Url::parse(text).map_err(|_| TargetRefused::NoUrl)?;
        match (url.scheme(), self) {
            ("https", _) | ("http", Self::Anywhere) => {}
            ("http", Self::Public) => return Err(TargetRefused::NoTls),
            (_, Self::Anywhere) => return Err(TargetRefused::OtherScheme),
            (_, Self::Public) => return Err(TargetRefused::NoTls),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(TargetRefused::Credentials);
        }
        match literal(&url) {
            Some(address) => self.allow(address)?,
            None if url.host_str().is_none_or(str::is_empty) => return Err(TargetRefused::NoUrl),
            None => {}
        }
        Ok(url)
    }

    /// The address as it is kept, after its name was looked up where only public ones are reached.
    pub(crate) async fn check(self, text: &str) -> Result<String, TargetRefused> {
        let url = self.parse(text)?;
        if let (Self::Public, None, Some(host)) = (self, literal(&url), url.host_str()) {
            let found = tokio::time::timeout(RESOLVED_WITHIN, self.resolve_all(host)).await;
            found.unwrap_or(Err(TargetRefused::Unknown))?;
        }
        Ok(url.into())
    }

    fn allow(self, address: IpAddr) -> Result<(), TargetRefused> {
        if self == Self::Anywhere || is_public(address) { Ok(()) } else { Err(TargetRefused::NotPublic) }
    }

    /// One address of a name that is not public refuses them all.
    async fn resolve_all(self, host: &str) -> Result<Vec<SocketAddr>, TargetRefused> {
        let found = tokio::net::lookup_host((host, 0)).await.map_err(|_| TargetRefused::Unknown)?;
        let found: Vec<SocketAddr> = found.collect();
        if found.is_empty() {
            return Err(TargetRefused::Unknown);
        }
        for address in &found {
            self.allow(address.ip())?;
        }
        Ok(found)
    }
}

/// Asked for every connection to a name. An address that is written as such is never asked for: `parse` looks at those.
impl Resolve for Reach {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = *self;
        Box::pin(async move {
            let found = reach.resolve_all(name.as_str()).await?;
            let found: Addrs = Box::new(found.into_iter());
            Ok(found)
        })
    }
}

/// The address, where the host is one. `Url` has read every spelling of it by then: decimal, hexadecimal, octal.
fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_not_public_is_refused_however_it_is_written() {
        let long = format!("https://example.com/{}", "x".repeat(2_000));
        let refused = [
            ("", TargetRefused::NoUrl),
            ("example.com", TargetRefused::NoUrl),
            ("https://", TargetRefused::NoUrl),
            ("https://exa mple.com/", TargetRefused::NoUrl),
            ("https://1.1.1.1:99999/", TargetRefused::NoUrl),
            (long.as_str(), TargetRefused::TooLong),
            ("http://1.1.1.1/", TargetRefused::NoTls),
            ("ftp://1.1.1.1/", TargetRefused::NoTls),
            ("file:///etc/passwd", TargetRefused::NoTls),
            ("javascript:alert(1)", TargetRefused::NoTls),
            ("https://user@1.1.1.1/", TargetRefused::Credentials),
            ("https://:secret@1.1.1.1/", TargetRefused::Credentials),
            ("https://127.0.0.1/", TargetRefused::NotPublic),
            ("https://127.1/", TargetRefused::NotPublic),
            ("https://2130706433/", TargetRefused::NotPublic),
            ("https://0x7f000001/", TargetRefused::NotPublic),
            ("https://0x7f.1/", TargetRefused::NotPublic),
            ("https://0177.0.0.1/", TargetRefused::NotPublic),
            ("https://127.0.0.1./", TargetRefused::NotPublic),
            ("https://%31%32%37.0.0.1/", TargetRefused::NotPublic),
            ("https://１２７.0.0.1/", TargetRefused::NotPublic),
            ("https://0/", TargetRefused::NotPublic),
            ("https://169.254.169.254/latest/meta-data", TargetRefused::NotPublic),
            ("https://[::1]/", TargetRefused::NotPublic),
            ("https://[::ffff:127.0.0.1]/", TargetRefused::NotPublic),
            ("https://[::ffff:7f00:1]/", TargetRefused::NotPublic),
            ("https://[64:ff9b::a00:1]/", TargetRefused::NotPublic),
            ("https://[fe80::1]/", TargetRefused::NotPublic),
            ("https://localhost/", TargetRefused::NotPublic),
            ("https://LOCALHOST:8443/", TargetRefused::NotPublic),
            ("https://name.invalid/", TargetRefused::Unknown),
        ];
        for (text, why) in refused {
            assert_eq!(Reach::Public.check(text).await, Err(why), "{text}");
        }
        for text in ["https://1.1.1.1/", "https://1.1.1.1:8443/hooks?x=1", "https://[2606:4700:4700::1111]/"] {
            assert_eq!(Reach::Public.check(text).await.as_deref(), Ok(text));
        }
    }

    #[tokio::test]
    async fn an_operator_may_allow_what_is_not() {
        for text in ["http://127.0.0.1:9/hook", "https://localhost/", "http://name.invalid/"] {
            assert_eq!(Reach::Anywhere.check(text).await.as_deref(), Ok(text));
        }
        assert_eq!(Reach::Anywhere.check("ftp://127.0.0.1/").await, Err(TargetRefused::OtherScheme));
        assert_eq!(Reach::Anywhere.check("http://a:b@127.0.0.1/").await, Err(TargetRefused::Credentials));
    }

    #[tokio::test]
    async fn a_name_is_refused_when_it_is_resolved_for_a_connection() {
        let refused = Reach::Public.resolve("localhost".parse().unwrap()).await.err().unwrap();
        assert_eq!(refused.downcast_ref(), Some(&TargetRefused::NotPublic));
        assert!(Reach::Anywhere.resolve("localhost".parse().unwrap()).await.is_ok());
    }
}
