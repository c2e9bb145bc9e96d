//! The connection to the streams. Whoever publishes waits until a message is stored: a full stream, a server that is away and a stream without a leader
//! are all waited for, since nothing may be lost.

use std::time::Duration;

use anyhow::Context as _;
use async_nats::jetstream::context::{Context, ContextBuilder, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::publish::PublishAck;
use async_nats::{Client, ConnectOptions};
use bytes::Bytes;

use crate::config;
use crate::metrics;

const CONNECT_SECONDS_MAX: u64 = 10;
/// How long a stored message is waited for before it is sent again, under the same id.
const ANSWER_SECONDS_MAX: u64 = 10;
/// Messages of one process that are sent and not yet known to be stored.
const UNSTORED_MAX: usize = 256;
/// A server that does not answer a few of these is left for another.
const PING_SECONDS: u64 = 3;
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Room in a message for its subject and headers.
const HEAD_BYTES: usize = 4 * 1024;

#[derive(Debug, Clone)]
pub(crate) struct Nats {
    client: Client,
    pub(super) context: Context,
}

/// The message is larger than the server takes.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the message is larger than the server takes")]
pub(super) struct TooLarge;

impl Nats {
    /// `command` is the one that connects, such as `work`.
    pub(crate) async fn connect(settings: &config::Nats, command: &str) -> anyhow::Result<Self> {
        let url = settings.url.as_deref().context("which NATS is it? Say --nats URL or set TAXON_NATS_URL")?;
        let mut addresses = Vec::new();
        for part in url.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            // Not quoted: it may hold a password.
            addresses.push(part.parse::<async_nats::ServerAddr>().ok().context("the address of NATS is none")?);
        }
        let mut options = ConnectOptions::new()
            .name(format!("taxon {command}"))
            // So that servers can keep each user from hearing what is meant for another.
            .custom_inbox_prefix(format!("_INBOX.{command}"))
            .ping_interval(Duration::from_secs(PING_SECONDS))
            .connection_timeout(Duration::from_secs(CONNECT_SECONDS_MAX))
            .request_timeout(Some(Duration::from_secs(ANSWER_SECONDS_MAX)));
        if let Some(path) = &settings.credentials {
            let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
            options = options.credentials(&text).ok().context("the credentials of NATS are none")?;
        }
        if let Some(path) = &settings.ca {
            options = options.add_root_certificates(path.clone());
        }
        if let (Some(cert), Some(key)) = (&settings.cert, &settings.key) {
            options = options.add_client_certificate(cert.clone(), key.clone());
        }
        chains::http::ready();
        let client = options.connect(addresses).await.context("NATS cannot be reached")?;
        let context = ContextBuilder::new()
            .timeout(Duration::from_secs(ANSWER_SECONDS_MAX))
            .max_ack_inflight(UNSTORED_MAX)
            .backpressure_on_inflight(true)
            .build(client.clone());
        Ok(Self { client, context })
    }

    /// The longest payload that one message may have.
    pub(super) fn payload_max(&self) -> usize {
        self.client.server_info().max_payload.saturating_sub(HEAD_BYTES)
    }

    /// Publishes until it is stored. The same id twice is stored once, as long as the stream remembers ids.
    pub(super) async fn publish(&self, subject: String, id: &str, payload: Bytes) -> Result<PublishAck, TooLarge> {
        let mut pause = PAUSE;
        loop {
            let message = PublishMessage::build().message_id(id).payload(payload.clone());
            let sent = match self.context.send_publish(subject.clone(), message).await {
                Ok(stored) => stored.await,
                Err(error) => Err(error),
            };
            let error = match sent {
                Ok(stored) => return Ok(stored),
                Err(error) if error.kind() == PublishErrorKind::MaxPayloadExceeded => return Err(TooLarge),
                Err(error) => error,
            };
            metrics::fleet_publish_waited();
            if pause == PAUSE {
                tracing::warn!(%subject, %error, "a message is not stored yet, and sent again until it is");
            }
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2).min(PAUSE_MAX);
        }
    }

    /// Until everything that was sent has left.
    pub(crate) async fn flush(&self) {
        if let Err(error) = self.client.flush().await {
            tracing::warn!(%error, "NATS was left before everything was sent");
        }
    }
}
