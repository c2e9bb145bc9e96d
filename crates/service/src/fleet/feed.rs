//! Puts the transactions of tables, or blocks of a chain, into the stream of requests, in batches whose ids follow from the feed and their place in it. How far a feed has come
//! is kept in a stream of its own, so that the same feed goes on where it stopped and is not fed twice.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, bail};
use books::asked::{self, Asked, Extent, Hints, Understood};
use bytes::Bytes;
use engine::Registry;
use futures_util::{Stream, StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::message::{BlockRequest, Request, RequestRow, requests_of};
use super::nats::Nats;
use super::place::Place;
use super::streams;
use crate::app::BATCH_ITEMS_MAX;

/// Batches that are read ahead, and those that are sent and not yet known to be stored.
const AHEAD_MAX: usize = 64;
const UNSTORED_MAX: usize = 64;
/// Batches after which the place is written down. The ids of those after it are still known as repeats.
const NOTED_EVERY: u64 = 256;

/// What every batch of a feed has.
#[derive(Debug, Clone)]
pub(crate) struct Feed {
    pub(crate) lane: String,
    pub(crate) column: Option<String>,
    /// The chain of rows that name none.
    pub(crate) chain: Option<String>,
    /// Of tables one at most, for rows that name none; of blocks those that are searched for.
    pub(crate) wallets: Vec<engine::Account>,
    pub(crate) policy: Option<Value>,
    pub(crate) own_wallets: Vec<String>,
    /// Makes it another feed than an earlier one of the same tables.
    pub(crate) salt: Option<String>,
    pub(crate) explorers: Vec<(String, String)>,
}

/// Blocks of a chain, the last not among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blocks {
    pub(crate) chain: String,
    pub(crate) numbers: Range<u64>,
}

/// What a batch asks for.
enum Part {
    Rows(Vec<RequestRow>),
    Block(BlockRequest),
}

/// A table, and what tells it from others.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    place: Place,
    name: String,
    pub(crate) shown: String,
    mark: String,
}

/// What a feed came to.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Fed {
    /// Of tables; what a block holds is known when it is read.
    pub(crate) rows: u64,
    pub(crate) batches: u64,
    /// Batches that an earlier run had fed.
    pub(crate) skipped: u64,
    /// Batches that were in the stream already.
    pub(crate) repeated: u64,
}

#[derive(Debug, Serialize, Deserialize, Default, Clone, Copy)]
struct Position {
    batches: u64,
    is_done: bool,
}

/// The tables that an argument names: a file, a folder, or a prefix of a bucket.
pub(crate) async fn tables(source: &str) -> anyhow::Result<Vec<Table>> {
    let path = Path::new(source);
    if !Place::is_bucket(source) && path.is_file() {
        let (folder, name) = (path.parent().filter(|folder| !folder.as_os_str().is_empty()), path.file_name());
        let name = name.and_then(|name| name.to_str()).with_context(|| format!("{source} is no name of a file"))?;
        let place = Place::open(&folder.unwrap_or(Path::new(".")).to_string_lossy())?;
        let meta = path.metadata()?;
        let mark = format!("{name} {} {:?}", meta.len(), meta.modified().ok());
        return Ok(vec![Table { place, name: name.to_owned(), shown: source.to_owned(), mark }]);
    }
    let place = Place::open(source)?;
    let found = place.files().await?;
    if found.is_empty() {
        bail!("{source} holds no file");
    }
    let table = |file: super::place::Found| Table {
        place: place.clone(),
        shown: format!("{}/{}", source.trim_end_matches('/'), file.name),
        mark: format!("{} {} {}", file.name, file.bytes, file.version),
        name: file.name,
    };
    Ok(found.into_iter().map(table).collect())
}

impl Feed {
    /// What tells this feed of what is fed from any other.
    fn key(&self, mark: &str) -> String {
        let Self { lane, column, chain, wallets: _, policy, own_wallets, salt, explorers: _ } = self;
        let wallets = self.wallets_text();
        let parts = serde_json::json!([mark, lane, column, chain, wallets, policy, own_wallets, salt]);
        let digest = Sha256::digest(parts.to_string());
        digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Feeds one table; `note` is told of every batch that is stored.
    pub(crate) async fn table(
        &self,
        nats: &Nats,
        registry: &Registry,
        table: &Table,
        note: &mut dyn FnMut(u64),
    ) -> anyhow::Result<(Fed, Option<Understood>)> {
        let key = self.key(&table.mark);
        let known = position(nats, &key).await?;
        if known.is_done {
            return Ok((Fed { skipped: known.batches, ..Fed::default() }, None));
        }
        let file = table.place.copy(&table.name).await?;
        let (ahead, read) = mpsc::channel(AHEAD_MAX);
        let (feed, slugs) = (self.clone(), Slugs::new(registry));
        let reading = tokio::task::spawn_blocking(move || feed.read(file, &slugs, &ahead));
        let mut fed = Fed { skipped: known.batches, ..Fed::default() };
        let stored = self.publish(nats, &key, receiving(read).map(Part::Rows), &mut fed, note).await;
        let understood = reading.await?.with_context(|| table.shown.clone())?;
        stored?;
        let batches = fed.skipped.saturating_add(fed.batches);
        keep_position(nats, &key, Position { batches, is_done: true }).await?;
        Ok((fed, Some(understood)))
    }

    /// Feeds blocks, each as a batch of its own; `note` is told of every one that is stored.
    pub(crate) async fn blocks(&self, nats: &Nats, blocks: &Blocks, note: &mut dyn FnMut(u64)) -> anyhow::Result<Fed> {
        let Blocks { chain, numbers } = blocks;
        let key = self.key(&format!("blocks {chain} {}..{}", numbers.start, numbers.end));
        let known = position(nats, &key).await?;
        let mut fed = Fed { skipped: known.batches, ..Fed::default() };
        if known.is_done {
            return Ok(fed);
        }
        let wallets = self.wallets_text();
        let part = |number: u64| Part::Block(BlockRequest { chain: chain.clone(), number, wallets: wallets.clone() });
        self.publish(nats, &key, stream::iter(numbers.clone()).map(part), &mut fed, note).await?;
        let batches = fed.skipped.saturating_add(fed.batches);
        keep_position(nats, &key, Position { batches, is_done: true }).await?;
        Ok(fed)
    }

    fn wallets_text(&self) -> Vec<String> {
        self.wallets.iter().map(ToString::to_string).collect()
    }

    fn read(
        &self,
        file: std::fs::File,
        slugs: &Slugs,
        ahead: &mpsc::Sender<Vec<RequestRow>>,
    ) -> anyhow::Result<Understood> {
        let hints = Hints {
            column: self.column.as_deref(),
            wallet: self.wallets.first().copied(),
            explorers: &self.explorers,
            extent: Extent::Unbounded,
        };
        let mut batch = Vec::with_capacity(BATCH_ITEMS_MAX);
        let understood = asked::understand(file, &hints, &mut |asked: Asked| {
            let named = asked.chain.as_deref().and_then(|name| slugs.find(name));
            batch.push(RequestRow {
                hash: asked.hash.to_string(),
                chain: named.or_else(|| self.chain.clone()),
                wallet: asked.wallet.map(|wallet| wallet.to_string()),
                tx_id: None,
            });
            batch.len() < BATCH_ITEMS_MAX || ahead.blocking_send(std::mem::take(&mut batch)).is_ok()
        })?;
        if !batch.is_empty() {
            let _ = ahead.blocking_send(batch);
        }
        Ok(understood)
    }

    async fn publish(
        &self,
        nats: &Nats,
        key: &str,
        parts: impl Stream<Item = Part>,
        fed: &mut Fed,
        note: &mut dyn FnMut(u64),
    ) -> anyhow::Result<()> {
        let subject = requests_of(&self.lane);
        let skipped = fed.skipped;
        let mut number = 0_u64;
        let requests = parts.map(|part| {
            number = number.saturating_add(1);
            let id = format!("{key}.{number}");
            let (policy, own_wallets) = (self.policy.clone(), self.own_wallets.clone());
            let (count, request) = match part {
                Part::Rows(rows) => {
                    let count = u64::try_from(rows.len()).unwrap_or_default();
                    (count, Request::new(id.clone(), rows, policy, own_wallets))
                }
                Part::Block(block) => (1, Request::of_block(id.clone(), block, policy, own_wallets)),
            };
            (number, count, id, request.encode())
        });
        let sent = requests.map(|(number, rows, id, payload)| {
            let subject = subject.clone();
            async move {
                if number <= skipped {
                    return anyhow::Ok((rows, None));
                }
                let stored = nats.publish(subject, &id, payload?).await?;
                Ok((rows, Some(stored.duplicate)))
            }
        });
        let mut sent = std::pin::pin!(sent.buffered(UNSTORED_MAX));
        while let Some(stored) = sent.next().await {
            let (rows, is_repeat) = stored?;
            note(rows);
            let Some(is_repeat) = is_repeat else { continue };
            fed.rows = fed.rows.saturating_add(rows);
            fed.batches = fed.batches.saturating_add(1);
            fed.repeated = fed.repeated.saturating_add(u64::from(is_repeat));
            if fed.batches.is_multiple_of(NOTED_EVERY) {
                let batches = skipped.saturating_add(fed.batches);
                keep_position(nats, key, Position { batches, is_done: false }).await?;
            }
        }
        Ok(())
    }
}

fn receiving<T>(mut read: mpsc::Receiver<T>) -> impl Stream<Item = T> {
    stream::poll_fn(move |context| read.poll_recv(context))
}

/// Names of chains, known without a node.
struct Slugs(Registry);

impl Slugs {
    fn new(registry: &Registry) -> Self {
        Self(registry.clone())
    }

    /// What a tool calls a chain may be a name of its own: then the transaction is looked for as if the row named none.
    fn find(&self, name: &str) -> Option<String> {
        self.0.find(name).map(|chain| chain.slug.clone())
    }
}

fn subject_of(key: &str) -> String {
    format!("taxon.feeds.{key}")
}

async fn position(nats: &Nats, key: &str) -> anyhow::Result<Position> {
    use async_nats::jetstream::stream::LastRawMessageErrorKind::NoMessageFound;
    let feeds = streams::stream(nats, streams::FEEDS).await?;
    match feeds.get_last_raw_message_by_subject(&subject_of(key)).await {
        Ok(message) => Ok(serde_json::from_slice(&message.payload).unwrap_or_default()),
        Err(error) if error.kind() == NoMessageFound => Ok(Position::default()),
        Err(error) => Err(error).context("how far the feed has come cannot be read"),
    }
}

async fn keep_position(nats: &Nats, key: &str, position: Position) -> anyhow::Result<()> {
    let id = format!("{key}.{}.{}", position.batches, position.is_done);
    nats.publish(subject_of(key), &id, Bytes::from(serde_json::to_vec(&position)?)).await?;
    Ok(())
}
