//! Secrets and signatures, as Standard Webhooks has them: HMAC-SHA256 of id, time and body.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use rand::Rng;
use sha2::Sha256;

use crate::store::WebhookSecret;

const SECRET_BYTES: usize = 32;
const PREFIX: &str = "whsec_";

pub(crate) fn new_secret() -> WebhookSecret {
    WebhookSecret(rand::rng().random::<[u8; SECRET_BYTES]>().to_vec())
}

/// As its owner gives it to a library.
pub(crate) fn shown(secret: &WebhookSecret) -> String {
    format!("{PREFIX}{}", STANDARD.encode(&secret.0))
}

/// One signature for each secret, with a space between them.
pub(super) fn sign(secrets: &[WebhookSecret], id: &str, seconds: i64, body: &str) -> String {
    let content = format!("{id}.{seconds}.{body}");
    let signature = |secret: &WebhookSecret| {
        // A key of any length is accepted.
        let mut mac = Hmac::<Sha256>::new_from_slice(&secret.0).ok()?;
        mac.update(content.as_bytes());
        Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
    };
    secrets.iter().filter_map(signature).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification, which the reference libraries test with too.
    #[test]
    fn the_example_of_the_specification() {
        let secret = WebhookSecret(STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap());
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let signed = sign(std::slice::from_ref(&secret), id, 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let both = sign(&[secret, new_secret()], id, 1_614_265_330, r#"{"test": 2432232314}"#);
        assert!(both.starts_with(&format!("{signed} v1,")), "{both}");
    }

    #[test]
    fn a_secret_is_shown_as_the_libraries_want_it_and_never_printed() {
        let secret = new_secret();
        let text = shown(&secret);
        assert_eq!(STANDARD.decode(text.strip_prefix("whsec_").unwrap()).unwrap(), secret.0);
        assert_eq!((text.len(), secret.0.len()), (50, 32));
        assert_ne!(secret, new_secret());
        assert_eq!(format!("{secret:?}"), "WebhookSecret (redacted)");
    }
}
