//! Writes outcomes to files, each row once. Files of one round are named by the messages they hold, and the place in the streams is written last: what is
//! beyond it when a drain begins was left by one that died, and is removed.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream};
use books::decision::Reading;
use books::formats::{Format, Options};
use engine::Classification;
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::message::{DeadLetter, Outcome, dead_of, requests_of, results_of};
use super::nats::Nats;
use super::place::Place;
use super::streams::{self, messages, sequence};

/// Where a drain has come to, beside what it wrote.
const STATE: &str = "_taxon_drained.json";
const STATE_VERSION: u32 = 1;
/// The ids of what was written last. The streams know a repeat for a while and by their own clock; this does not depend on either.
const IDS_FOLDER: &str = "_taxon_ids";
const ID_BYTES: usize = 16;
/// A hundred million rows.
const IDS_MAX: usize = 1_000_000;
const DEAD_FOLDER: &str = "dead";
/// Messages among the results that are none of ours.
const REFUSED_FOLDER: &str = "refused";
/// Answers that are held before they are written together, in bytes of JSON.
const ROUND_BYTES_MAX: usize = 128 << 20;
/// How long answers are held in a drain that follows.
const ROUND_SECONDS_MAX: u64 = 60;
/// How often it is asked whether there is more to come.
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(crate) struct Drain {
    pub(crate) nats: Nats,
    pub(crate) place: Place,
    pub(crate) lane: String,
    pub(crate) format: &'static Format,
    pub(crate) options: Arc<Options>,
    /// Goes on when everything is written.
    pub(crate) follow: bool,
    /// Takes what is written from the streams, once no repeat of it can come.
    pub(crate) purge: bool,
    pub(crate) stop: CancellationToken,
}

/// Where a drain has come to.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct State {
    v: u32,
    lane: String,
    format: String,
    /// When the streams were made: another stream begins to count anew.
    streams: [String; 2],
    /// The last message of each that is written.
    results: u64,
    dead: u64,
    written: Written,
}

impl State {
    /// The ids that were known here: by a name of their own, so that they are never those of another place.
    fn ids(&self) -> String {
        format!("{IDS_FOLDER}/{}.{}.bin", self.results, self.dead)
    }

    /// Whether a file of ours is none of what was written up to here.
    fn is_before(&self, name: &str) -> bool {
        let is_in = |folder: &str| name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        if is_in(IDS_FOLDER) {
            return name != self.ids();
        }
        let known = if is_in(DEAD_FOLDER) { self.dead } else { self.results };
        last_of(name).is_some_and(|last| last > known)
    }
}

/// What was written in all.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) rows: u64,
    pub(crate) reviews: u64,
    pub(crate) dead: u64,
    pub(crate) files: u64,
}

/// What is held and not yet written.
#[derive(Default)]
struct Round {
    /// By chain and month.
    rows: BTreeMap<(String, String), Vec<NumberedRow>>,
    dead: Vec<String>,
    /// Among the results and no outcome.
    refused: Vec<String>,
    bytes: usize,
    began: Option<Instant>,
}

/// Ids of outcomes and dead letters that were written, as fingerprints, the oldest first.
#[derive(Default)]
struct KnownIds {
    order: VecDeque<[u8; ID_BYTES]>,
    set: HashSet<[u8; ID_BYTES]>,
}

impl KnownIds {
    fn decode(bytes: &[u8]) -> Self {
        let mut known = Self::default();
        for id in bytes.as_chunks::<ID_BYTES>().0 {
            known.keep(*id);
        }
        known
    }

    fn encode(&self) -> Vec<u8> {
        self.order.iter().flatten().copied().collect()
    }

    /// Whether it is new.
    fn take(&mut self, id: &str) -> bool {
        let digest = Sha256::digest(id);
        let Some(id) = digest.first_chunk::<ID_BYTES>() else { return true };
        self.keep(*id)
    }

    fn keep(&mut self, id: [u8; ID_BYTES]) -> bool {
        if !self.set.insert(id) {
            return false;
        }
        self.order.push_back(id);
        if self.order.len() > IDS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.set.remove(&oldest);
        }
        true
    }
}

/// A row with the message that it came in.
type NumberedRow = (u64, Box<serde_json::value::RawValue>);

/// What a row's file is found by.
#[derive(Deserialize)]
struct Filed<'a> {
    #[serde(borrow)]
    chain: Option<std::borrow::Cow<'a, str>>,
    block: Option<Timed<'a>>,
}

#[derive(Deserialize)]
struct Timed<'a> {
    #[serde(borrow)]
    timestamp: std::borrow::Cow<'a, str>,
}

impl Drain {
    /// Until every request has its end and all is written, or until `stop`. What is written is told as it grows.
    pub(crate) async fn run(&self, told: &mut dyn FnMut(Written)) -> anyhow::Result<Written> {
        let results = streams::stream(&self.nats, streams::RESULTS).await?;
        let dead = streams::stream(&self.nats, streams::DEAD).await?;
        let mut state = self.begin(&results, &dead).await?;
        let mut outcomes = messages(&results, results_of(&self.lane), state.results).await?;
        let mut letters = messages(&dead, dead_of(&self.lane), state.dead).await?;
        let mut known = self.place.get(&state.ids()).await?.map(|bytes| KnownIds::decode(&bytes)).unwrap_or_default();
        let mut round = Round::default();
        let mut next = state.clone();
        let mut commits: Vec<(Instant, u64, u64)> = Vec::new();
        loop {
            let is_idle = tokio::select! {
                message = outcomes.next() => {
                    let message = message.context("the stream of results ended")??;
                    next.results = sequence(&message)?;
                    round.take_outcome(&message.payload, next.results, &mut known);
                    false
                }
                message = letters.next() => {
                    let message = message.context("the stream of dead letters ended")??;
                    next.dead = sequence(&message)?;
                    round.take_letter(&message.payload, next.dead, &mut known)?;
                    false
                }
                () = tokio::time::sleep(LOOK_EVERY) => true,
                () = self.stop.cancelled() => break,
            };
            let is_long = round.began.is_some_and(|began| began.elapsed() >= Duration::from_secs(ROUND_SECONDS_MAX));
            let is_full = round.bytes >= ROUND_BYTES_MAX;
            let is_all = is_idle && self.is_all(&results, &dead, &next).await?;
            if is_full || is_all || (is_long && self.follow) {
                state = self.write(std::mem::take(&mut round), &state, next, &known).await?;
                next = state.clone();
                told(state.written);
                commits.push((Instant::now(), state.results, state.dead));
                self.free(&results, &dead, &mut commits).await?;
            }
            if is_all && !self.follow {
                break;
            }
        }
        Ok(state.written)
    }

    /// Where an earlier drain came to; files beyond it are removed.
    async fn begin(&self, results: &Stream, dead: &Stream) -> anyhow::Result<State> {
        let made = |stream: &Stream| stream.cached_info().created.to_string();
        let fresh = State {
            v: STATE_VERSION,
            lane: self.lane.clone(),
            format: self.format.name.to_owned(),
            streams: [made(results), made(dead)],
            results: 0,
            dead: 0,
            written: Written::default(),
        };
        let shown = self.place.shown();
        let state = match self.place.get(STATE).await? {
            None => fresh.clone(),
            Some(bytes) => serde_json::from_slice::<State>(&bytes)
                .with_context(|| format!("{STATE} in {shown} is of no use; take another folder"))?,
        };
        ensure!(state.v == STATE_VERSION, "{shown} was drained by another version; take another folder");
        ensure!(state.streams == fresh.streams, "{shown} was drained from other streams; take another folder");
        ensure!(
            (&state.lane, &state.format) == (&fresh.lane, &fresh.format),
            "{shown} holds lane {} as {}; take another folder",
            state.lane,
            state.format
        );
        for file in self.place.files().await? {
            if state.is_before(&file.name) {
                self.place.remove(&file.name).await?;
            }
        }
        Ok(state)
    }

    /// Whether every request of the lane has its end, and all of them are taken.
    async fn is_all(&self, results: &Stream, dead: &Stream, taken: &State) -> anyhow::Result<bool> {
        let requests = streams::stream(&self.nats, streams::REQUESTS).await?;
        // In this order: what the last request came to is stored before it goes.
        Ok(last(&requests, &requests_of(&self.lane)).await?.is_none()
            && last(results, &results_of(&self.lane)).await?.is_none_or(|last| last <= taken.results)
            && last(dead, &dead_of(&self.lane)).await?.is_none_or(|last| last <= taken.dead))
    }

    /// Writes a round: its files, and then the place.
    async fn write(&self, round: Round, from: &State, mut to: State, known: &KnownIds) -> anyhow::Result<State> {
        if (from.results, from.dead) == (to.results, to.dead) {
            return Ok(to);
        }
        let range = |first: u64, last: u64| format!("{:012}-{last:012}", first.saturating_add(1));
        let name = range(from.results, to.results);
        let written = &mut to.written;
        let Round { rows, dead, mut refused, .. } = round;
        for ((chain, month), rows) in rows {
            let (format, options) = (self.format, Arc::clone(&self.options));
            let file = tokio::task::spawn_blocking(move || written_file(&rows, format, &options)).await??;
            refused.extend(file.refusals);
            if file.rows == 0 {
                continue;
            }
            written.rows = written.rows.saturating_add(file.rows);
            written.reviews = written.reviews.saturating_add(file.reviews);
            written.files = written.files.saturating_add(1);
            let path = format!("chain={chain}/month={month}/{name}.{}", self.format.extension());
            self.place.put(&path, file.bytes).await?;
        }
        written.dead = written.dead.saturating_add(u64::try_from(dead.len())?);
        let dead_name = range(from.dead, to.dead);
        for (folder, name, lines) in [(DEAD_FOLDER, dead_name, dead), (REFUSED_FOLDER, name, refused)] {
            if !lines.is_empty() {
                written.files = written.files.saturating_add(1);
                self.place.put(&format!("{folder}/{name}.jsonl"), (lines.join("\n") + "\n").into_bytes()).await?;
            }
        }
        self.place.put(&to.ids(), known.encode()).await?;
        self.place.put(STATE, serde_json::to_vec(&to)?).await?;
        if (from.results, from.dead) != (0, 0) {
            self.place.remove(&from.ids()).await?;
        }
        Ok(to)
    }

    /// What was written so long ago that no repeat of it can come leaves the streams.
    async fn free(
        &self,
        results: &Stream,
        dead: &Stream,
        commits: &mut Vec<(Instant, u64, u64)>,
    ) -> anyhow::Result<()> {
        if !self.purge {
            return Ok(());
        }
        let window = results.cached_info().config.duplicate_window;
        let Some(old) = commits.iter().rposition(|(at, ..)| at.elapsed() > window) else { return Ok(()) };
        if let Some((_, result, letter)) = commits.drain(..=old).next_back() {
            for (stream, subject, last) in
                [(results, results_of(&self.lane), result), (dead, dead_of(&self.lane), letter)]
            {
                stream.purge().filter(subject).sequence(last.saturating_add(1)).await?;
            }
        }
        Ok(())
    }
}

impl Round {
    /// What is no outcome is told in a file of its own: whoever may publish results must not be able to stop a drain.
    fn take_outcome(&mut self, payload: &[u8], at: u64, known: &mut KnownIds) {
        self.began.get_or_insert_with(Instant::now);
        let outcome = match Outcome::decode(payload) {
            Ok(outcome) => outcome,
            Err(error) => return self.refused.push(refused(at, &error.to_string())),
        };
        if !known.take(&outcome.id) {
            tracing::warn!(id = outcome.id, "an outcome is there twice, and written once");
            return;
        }
        for answered in outcome.rows {
            match folder_of(answered.row.get()) {
                Ok(folder) => {
                    self.bytes = self.bytes.saturating_add(answered.row.get().len());
                    self.rows.entry(folder).or_default().push((at, answered.row));
                }
                Err(error) => self.refused.push(refused(at, &error.to_string())),
            }
        }
    }

    /// A line for each row, or for a message that was no request.
    fn take_letter(&mut self, payload: &[u8], at: u64, known: &mut KnownIds) -> anyhow::Result<()> {
        self.began.get_or_insert_with(Instant::now);
        let letter = match DeadLetter::decode(payload) {
            Ok(letter) => letter,
            Err(error) => {
                self.dead.push(refused(at, &error.to_string()));
                return Ok(());
            }
        };
        if !known.take(&format!("{}:dead", letter.id)) {
            return Ok(());
        }
        for row in &letter.rows {
            self.dead.push(serde_json::to_string(row)?);
        }
        if let Some(poison) = &letter.poison {
            self.dead.push(serde_json::to_string(poison)?);
        }
        self.bytes = self.bytes.saturating_add(payload.len());
        Ok(())
    }
}

/// A message that is none of ours, as a line.
fn refused(at: u64, reason: &str) -> String {
    serde_json::json!({ "code": "invalid_result", "message": at, "reason": reason }).to_string()
}

/// The chain and month of a row.
fn folder_of(row: &str) -> serde_json::Result<(String, String)> {
    let filed: Filed<'_> = serde_json::from_str(row)?;
    let chain = filed.chain.as_deref().unwrap_or_default().chars();
    let chain: String = chain.filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let month = filed.block.as_ref().and_then(|block| block.timestamp.get(..7)).filter(|month| is_month(month));
    Ok((chain, month.unwrap_or("unknown").to_owned()))
}

struct WrittenFile {
    bytes: Vec<u8>,
    rows: u64,
    reviews: u64,
    refusals: Vec<String>,
}

fn written_file(rows: &[NumberedRow], format: &Format, options: &Options) -> anyhow::Result<WrittenFile> {
    let mut answers = Vec::with_capacity(rows.len());
    let mut refusals = Vec::new();
    for (at, row) in rows {
        match serde_json::from_str::<Classification>(row.get()) {
            Ok(answer) => answers.push(answer),
            Err(error) => refusals.push(refused(*at, &error.to_string())),
        }
    }
    let at = |row: &Classification| row.block.as_ref().map(|block| (block.timestamp.clone(), block.number));
    answers.sort_by_cached_key(at);
    let (count, reviews) = (answers.len(), answers.iter().filter(|row| row.needs_review).count());
    let mut bytes = Vec::new();
    format.write(&mut answers.into_iter().map(|row| Ok(Reading::from(row))), options, &mut bytes)?;
    Ok(WrittenFile { bytes, rows: u64::try_from(count)?, reviews: u64::try_from(reviews)?, refusals })
}

/// The last message of a subject.
async fn last(stream: &Stream, subject: &str) -> anyhow::Result<Option<u64>> {
    match stream.get_last_raw_message_by_subject(subject).await {
        Ok(message) => Ok(Some(message.sequence)),
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(error).context("a stream cannot be asked"),
    }
}

fn is_month(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, byte)| if at == 4 { byte == b'-' } else { byte.is_ascii_digit() })
}

/// The last message that a file of ours holds.
fn last_of(name: &str) -> Option<u64> {
    let (stem, _) = name.rsplit('/').next()?.split_once('.')?;
    let (first, last) = stem.split_once('-')?;
    first.parse::<u64>().ok()?;
    last.parse().ok()
}
