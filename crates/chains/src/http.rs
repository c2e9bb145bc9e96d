//! HTTP clients. Every one of them is built from here: without a provider of cryptography for the process, `build` panics.

use std::sync::OnceLock;

use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls_platform_verifier::ConfigVerifierExt;

/// `reqwest::Client::builder()` in a process whose TLS is ready. ring compiles in seconds where reqwest's own choice, aws-lc, takes
/// minutes.
pub fn client_builder() -> reqwest::ClientBuilder {
    #[expect(clippy::disallowed_methods, reason = "the one place that may: the provider is installed")]
    let builder = || reqwest::Client::builder();
    match tls() {
        Some(tls) => builder().tls_backend_preconfigured(tls),
        // Without the machine's certificates `build` says so itself.
        None => builder(),
    }
}

/// For clients that libraries build by themselves.
pub fn ready() {
    if CryptoProvider::get_default().is_none() {
        // Fails only where another thread was faster, and then a provider is installed all the same.
        let _ = ring::default_provider().install_default();
    }
}

/// The machine's certificates are read once, not by every client: there is one for each endpoint, and hundreds of files.
fn tls() -> Option<ClientConfig> {
    static TLS: OnceLock<Option<ClientConfig>> = OnceLock::new();
    let read = || {
        ready();
        let mut tls = ClientConfig::with_platform_verifier().ok()?;
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Some(tls)
    };
    TLS.get_or_init(read).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_built_from_many_threads_at_once() {
        let threads: Vec<_> = (0..8).map(|_| std::thread::spawn(|| client_builder().build().is_ok())).collect();
        for thread in threads {
            assert!(thread.join().unwrap());
        }
    }
}
