//! HTTP clients. Every one of them is built from here: without a provider of cryptography for the process, `build` panics.

use rustls::crypto::{CryptoProvider, ring};

/// `reqwest::Client::builder()` in a process whose TLS is ready. ring compiles in seconds where reqwest's own choice, aws-lc, takes
/// minutes.
pub fn client_builder() -> reqwest::ClientBuilder {
    if CryptoProvider::get_default().is_none() {
        // Fails only where another thread was faster, and then a provider is installed all the same.
        let _ = ring::default_provider().install_default();
    }
    #[expect(clippy::disallowed_methods, reason = "the one place that may: the provider is installed")]
    reqwest::Client::builder()
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
