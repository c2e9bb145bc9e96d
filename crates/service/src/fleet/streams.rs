//! Which streams there are and what they hold at most: made, shown and cleared here.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use async_nats::jetstream::context::{GetStreamError, GetStreamErrorKind};
use async_nats::jetstream::stream::{Config, DiscardPolicy, Info, RetentionPolicy, StorageType, Stream};
use async_nats::jetstream::{ErrorCode, Message};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;

use super::message::REQUEST_BYTES_MAX;
use super::nats::Nats;

pub(super) const REQUESTS: &str = "TAXON_REQUESTS";
pub(super) const RESULTS: &str = "TAXON_RESULTS";
pub(super) const DEAD: &str = "TAXON_DEAD";
/// How far each feed has come.
pub(super) const FEEDS: &str = "TAXON_FEEDS";
/// The one consumer that all workers share.
const WORKERS: &str = "taxon-workers";
/// Batches that are delivered or wait for another try, of all workers together.
const PENDING_MAX: i64 = 20_000;
/// A place of a feed is small.
const FEED_BYTES_MAX: i32 = 4 * 1024;
const GIB: i64 = 1 << 30;
const DAY_SECONDS: u64 = 24 * 60 * 60;
/// A cluster that lost a server chooses who leads within seconds.
const LEADER_WAIT_MAX: Duration = Duration::from_secs(60);
const LEADER_PAUSE: Duration = Duration::from_millis(500);

/// What the streams hold at most.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Limits {
    /// Servers of a cluster that each hold everything
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=5))]
    replicas: u8,
    /// What the stream of requests and that of results may hold, each, and dead letters a quarter of it; publishers wait where one is full
    #[arg(long, value_name = "GIB", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    gib_max: u16,
    /// How long results and dead letters stay
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=3_650))]
    days: u16,
    /// How long a batch is held without a sign of life of its worker
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=3_600))]
    ack_wait: u16,
    /// How long a repeated message is known as one
    #[arg(long, value_name = "MINUTES", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=1_440))]
    duplicates: u16,
}

/// A stream that people name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Named {
    Requests,
    Results,
    Dead,
    /// All of them, and how far feeds have come
    All,
}

/// One stream, for a person or a program.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Shown {
    pub(crate) stream: String,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    pub(crate) bytes_max: i64,
    pub(crate) replicas: usize,
    /// Of requests: batches that nobody has yet, and those that a worker has or that wait for another try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waiting: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) in_hand: Option<u64>,
}

impl Limits {
    fn configs(&self) -> [Config; 4] {
        let bytes = i64::from(self.gib_max).saturating_mul(GIB);
        let age = Duration::from_secs(u64::from(self.days).saturating_mul(DAY_SECONDS));
        let common = |name: &str, subjects: &str| Config {
            name: name.to_owned(),
            subjects: vec![subjects.to_owned()],
            storage: StorageType::File,
            // A full stream refuses: what is in it has not been read.
            discard: DiscardPolicy::New,
            num_replicas: usize::from(self.replicas),
            duplicate_window: Duration::from_secs(u64::from(self.duplicates).saturating_mul(60)),
            ..Config::default()
        };
        [
            Config {
                retention: RetentionPolicy::WorkQueue,
                max_bytes: bytes,
                max_message_size: i32::try_from(REQUEST_BYTES_MAX).unwrap_or(i32::MAX),
                description: Some("Batches of transactions to read".to_owned()),
                ..common(REQUESTS, "taxon.requests.*")
            },
            Config {
                max_bytes: bytes,
                max_age: age,
                description: Some("What batches came to".to_owned()),
                ..common(RESULTS, "taxon.results.*")
            },
            Config {
                max_bytes: bytes / 4,
                max_age: age,
                description: Some("What failed for good, and why".to_owned()),
                ..common(DEAD, "taxon.dead.*")
            },
            Config {
                max_age: age,
                max_messages_per_subject: 1,
                max_message_size: FEED_BYTES_MAX,
                discard: DiscardPolicy::Old,
                description: Some("How far each feed has come".to_owned()),
                ..common(FEEDS, "taxon.feeds.*")
            },
        ]
    }

    fn workers(&self) -> pull::Config {
        pull::Config {
            durable_name: Some(WORKERS.to_owned()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: Duration::from_secs(self.ack_wait.into()),
            // Deliveries are counted by the worker, which says what became of the batch.
            max_deliver: -1,
            max_ack_pending: PENDING_MAX,
            ..pull::Config::default()
        }
    }
}

/// Makes what is missing and brings the rest to these limits.
pub(crate) async fn make(nats: &Nats, limits: &Limits) -> anyhow::Result<()> {
    for config in limits.configs() {
        let name = config.name.clone();
        nats.context
            .create_or_update_stream(config)
            .await
            .with_context(|| format!("{name} cannot be made; --gib-max takes less room"))?;
    }
    let requests = stream(nats, REQUESTS).await?;
    requests.create_consumer(limits.workers()).await.context("the workers' consumer cannot be made")?;
    Ok(())
}

pub(crate) async fn show(nats: &Nats) -> anyhow::Result<Vec<Shown>> {
    let mut shown = Vec::new();
    for name in [REQUESTS, RESULTS, DEAD] {
        let info = stream(nats, name).await?.cached_info().clone();
        let consumer = if name == REQUESTS { Some(workers(nats).await?.cached_info().clone()) } else { None };
        let Info { config, state, .. } = info;
        shown.push(Shown {
            stream: name.to_owned(),
            messages: state.messages,
            bytes: state.bytes,
            bytes_max: config.max_bytes,
            replicas: config.num_replicas,
            waiting: consumer.as_ref().map(|consumer| consumer.num_pending),
            in_hand: consumer.as_ref().map(|consumer| u64::try_from(consumer.num_ack_pending).unwrap_or(u64::MAX)),
        });
    }
    Ok(shown)
}

/// Empties streams; they stay.
pub(crate) async fn clear(nats: &Nats, named: Named) -> anyhow::Result<()> {
    let names: &[&str] = match named {
        Named::Requests => &[REQUESTS],
        Named::Results => &[RESULTS],
        Named::Dead => &[DEAD],
        Named::All => &[REQUESTS, RESULTS, DEAD, FEEDS],
    };
    for name in names {
        stream(nats, name).await?.purge().await.with_context(|| format!("{name} cannot be cleared"))?;
    }
    Ok(())
}

/// A stream as it is now.
pub(super) async fn stream(nats: &Nats, name: &str) -> anyhow::Result<Stream> {
    let unmade = || format!("there is no stream {name}, or nobody leads it now; `taxon streams make` makes them");
    nats.context.get_stream(name).await.with_context(unmade)
}

/// What a worker reads from and writes to. While a cluster chooses who leads them, they are waited for: a worker that ended then would have to be
/// started again by somebody.
pub(super) async fn for_worker(nats: &Nats) -> anyhow::Result<(PullConsumer, Stream)> {
    let deadline = Instant::now() + LEADER_WAIT_MAX;
    loop {
        let found = async { anyhow::Ok((workers(nats).await?, stream(nats, RESULTS).await?)) };
        match found.await {
            Err(error) if !is_unmade(&error) && Instant::now() < deadline => {
                tracing::warn!(%error, "the streams cannot be used yet");
                tokio::time::sleep(LEADER_PAUSE).await;
            }
            found => return found,
        }
    }
}

pub(super) async fn workers(nats: &Nats) -> anyhow::Result<PullConsumer> {
    let requests = stream(nats, REQUESTS).await?;
    let consumer = requests.get_consumer::<pull::Config>(WORKERS).await;
    consumer.map_err(|error| anyhow::anyhow!("the workers' consumer: {error}; `taxon streams make` makes it"))
}

/// Whether a server says that there is no such stream, and not only that nobody can tell now.
fn is_unmade(error: &anyhow::Error) -> bool {
    let said = error.downcast_ref::<GetStreamError>().map(GetStreamError::kind);
    matches!(said, Some(GetStreamErrorKind::JetStream(said)) if said.error_code() == ErrorCode::STREAM_NOT_FOUND)
}

pub(super) type Messages = BoxStream<'static, anyhow::Result<Message>>;

/// The messages of a subject after this one, each once and in order.
pub(super) async fn messages(stream: &Stream, subject: String, after: u64) -> anyhow::Result<Messages> {
    let config = pull::OrderedConfig {
        // With a name, what is filtered for stands in the subject that a server's permissions are about.
        name: Some(format!("taxon-{:032x}", rand::random::<u128>())),
        filter_subject: subject,
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: after.saturating_add(1) },
        ..pull::OrderedConfig::default()
    };
    let consumer = stream.create_consumer(config).await.context("the stream cannot be read")?;
    let messages = consumer.messages().await.context("the stream cannot be read")?;
    Ok(messages.map(|message| message.context("the stream cannot be read")).boxed())
}

pub(super) fn sequence(message: &Message) -> anyhow::Result<u64> {
    Ok(message.info().map_err(|error| anyhow::anyhow!("{error}"))?.stream_sequence)
}
