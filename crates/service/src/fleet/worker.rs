//! Reads batches: as many at a time as it has places, so that what waits, waits in the stream. The outcome is stored first, then what follows from it,
//! and only then the batch is taken from the stream; whoever finds it again finds the outcome too.

mod blocks;
mod places;

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::message::AckKind;
use async_nats::jetstream::stream::Stream;
use engine::Classification;
use futures_util::StreamExt as _;
use serde_json::value::RawValue;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::message::{
    AnsweredRow, BlockRequest, DeadLetter, FailedBlock, FailedRow, Outcome, Refusal, Request, TRIES_MAX, dead_of,
    lane_of, requests_of, results_of,
};
use super::nats::Nats;
use super::streams;
use crate::app::{Reader, may_pass};
use crate::metrics;
use places::Places;

/// How long a request for batches waits in the server.
const PULL_SECONDS: u64 = 2;
/// After a request for batches that failed.
const PULL_PAUSE: Duration = Duration::from_secs(1);
/// A batch that was delivered more often and never ended is given up: something about it ends workers.
const DELIVERIES_MAX: i64 = 20;
const NOT_ENDED: &str = "it was delivered to workers twenty times, and none of them came to its end";

#[derive(Debug, Clone, Copy)]
pub(crate) struct Workload {
    /// Batches that are read at the same time.
    pub(crate) batches: usize,
    /// End when no batch is left.
    pub(crate) until_empty: bool,
}

/// Works until `stop`, or until there is nothing left. Batches that are in hand then are finished.
pub(crate) async fn work(
    nats: Nats,
    reader: Arc<Reader>,
    workload: Workload,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let (consumer, results) = streams::for_worker(&nats).await?;
    let renewed_every = consumer.cached_info().config.ack_wait / 3;
    let places = Places::new(workload.batches);
    let worker = Arc::new(Worker { nats, reader, results, renewed_every, places });
    let mut in_hand = JoinSet::new();
    while !stop.is_cancelled() {
        while in_hand.try_join_next().is_some() {}
        let count = worker.places.free().await?;
        let taken = tokio::select! {
            taken = worker.take(&consumer, count, &mut in_hand) => taken,
            () = stop.cancelled() => break,
        };
        match taken {
            Ok(0) if workload.until_empty && worker.is_empty().await => break,
            Ok(0) => metrics::fleet_pending(0),
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, "no batches can be taken");
                tokio::time::sleep(PULL_PAUSE).await;
            }
        }
    }
    while in_hand.join_next().await.is_some() {}
    worker.nats.flush().await;
    Ok(())
}

struct Worker {
    nats: Nats,
    reader: Arc<Reader>,
    results: Stream,
    renewed_every: Duration,
    places: Places,
}

/// What became of a message.
#[derive(Debug, Clone, Copy)]
enum End {
    Answered,
    /// Its outcome was there already.
    Repeated,
    /// It comes again later.
    Returned,
    /// It is no request.
    Poisoned,
}

impl End {
    fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Repeated => "repeated",
            Self::Returned => "returned",
            Self::Poisoned => "poisoned",
        }
    }
}

impl Worker {
    /// Takes up to so many batches and begins each as it arrives.
    async fn take(
        self: &Arc<Self>,
        consumer: &PullConsumer,
        count: usize,
        in_hand: &mut JoinSet<()>,
    ) -> anyhow::Result<usize> {
        let pull = consumer.batch().max_messages(count).expires(Duration::from_secs(PULL_SECONDS));
        let mut messages = pull.messages().await?;
        let mut taken = 0_usize;
        while let Some(message) = messages.next().await {
            let message = message.map_err(|error| anyhow::anyhow!("{error}"))?;
            let request = Request::parse(&message.payload);
            let is_block = request.as_ref().is_ok_and(|request| request.block.is_some());
            let place = self.places.take(is_block).await?;
            taken = taken.saturating_add(1);
            let worker = Arc::clone(self);
            in_hand.spawn(async move { worker.serve(message, request, place).await });
        }
        Ok(taken)
    }

    /// Whether every batch has its end, also those that other workers have.
    async fn is_empty(&self) -> bool {
        let requests = streams::stream(&self.nats, streams::REQUESTS).await;
        requests.is_ok_and(|requests| requests.cached_info().state.messages == 0)
    }

    async fn serve(&self, message: Message, request: Result<Request, Refusal>, place: OwnedSemaphorePermit) {
        let began = Instant::now();
        metrics::fleet_in_hand(1.0);
        let served = self.end(&message, request, place);
        tokio::pin!(served);
        let end = loop {
            tokio::select! {
                end = &mut served => break end,
                // Lost or not: another worker would find the outcome.
                () = tokio::time::sleep(self.renewed_every) => drop(message.ack_with(AckKind::Progress).await),
            }
        };
        metrics::fleet_in_hand(-1.0);
        metrics::fleet_batch(end.name(), began.elapsed());
    }

    async fn end(&self, message: &Message, request: Result<Request, Refusal>, place: OwnedSemaphorePermit) -> End {
        let info = message.info().ok();
        let (delivered, sequence, waiting) =
            info.as_ref().map_or((1, 0, 0), |info| (info.delivered, info.stream_sequence, info.pending));
        metrics::fleet_pending(waiting);
        let lane = lane_of(&message.subject);
        let (end, kind) = match request {
            Ok(request) if request.pause > 0 && delivered <= 1 => {
                (End::Returned, AckKind::Nak(Some(Duration::from_secs(request.pause.into()))))
            }
            Ok(request) => match self.answer(&request, lane, delivered > DELIVERIES_MAX, place).await {
                Ok(end) => (end, AckKind::Ack),
                Err(error) => {
                    tracing::error!(id = request.id, %error, "a batch could not be ended, and comes again");
                    (End::Returned, AckKind::Nak(Some(PULL_PAUSE)))
                }
            },
            Err(refusal) => {
                let published = info.map(|info| info.published.unix_timestamp_nanos()).unwrap_or_default();
                self.bury(&format!("poison.{sequence}.{published}"), refusal, &message.payload, lane).await;
                (End::Poisoned, AckKind::Ack)
            }
        };
        // Where this is lost the message comes again, and finds what was stored.
        if let Err(error) = message.ack_with(kind).await {
            tracing::warn!(%error, "a batch could not be acknowledged");
        }
        end
    }

    /// Reads the batch, stores the outcome, and publishes what follows from the one that is stored.
    async fn answer(
        &self,
        request: &Request,
        lane: &str,
        is_given_up: bool,
        place: OwnedSemaphorePermit,
    ) -> anyhow::Result<End> {
        let outcome = match &request.block {
            _ if is_given_up => given_up(request),
            Some(block) => return self.answer_block(request, block, lane, place).await,
            None => self.read(request).await?,
        };
        let (end, stored) = self.store(outcome, lane).await?;
        self.follow(request, &stored, lane).await?;
        Ok(end)
    }

    /// The outcome of the block's first part comes first and always: it tells whether the block was read or is asked for again. The other parts follow
    /// only where it was read, so that a block is never read under two ids.
    async fn answer_block(
        &self,
        request: &Request,
        block: &BlockRequest,
        lane: &str,
        place: OwnedSemaphorePermit,
    ) -> anyhow::Result<End> {
        let is_last_try = request.tries.saturating_add(1) >= TRIES_MAX;
        let questions = request.block_questions().map_err(anyhow::Error::msg)?;
        let whole = request.block_part(0, Vec::new());
        // A place is held until everything is stored: where that takes long, no more is taken.
        let (mut parts, _place) = match self.reader.fetch_block(&block.chain, block.number).await {
            Ok(fetched) => {
                let place = self.places.turn(place, fetched.len()).await;
                let reading = self.reader.read_block(fetched, &questions).await;
                (blocks::parts(request, block, &reading, is_last_try)?, place)
            }
            Err(error) => (vec![(whole.clone(), blocks::failed(&whole, &error, is_last_try))], place),
        };
        let rest = parts.split_off(1);
        let Some((first, outcome)) = parts.pop() else { anyhow::bail!("a block has a first part") };
        let was_read = outcome.block.is_none();
        let (end, stored) = self.store(outcome, lane).await?;
        if stored.block.is_some() {
            self.follow(&whole, &stored, lane).await?;
            return Ok(end);
        }
        anyhow::ensure!(was_read, "the block was read before and cannot be read now");
        self.follow(&first, &stored, lane).await?;
        for (part, outcome) in rest {
            let (_, stored) = self.store(outcome, lane).await?;
            self.follow(&part, &stored, lane).await?;
        }
        Ok(end)
    }

    /// Gives the outcome that is stored under its id: this one, or one of before.
    async fn store(&self, mut outcome: Outcome, lane: &str) -> anyhow::Result<(End, Outcome)> {
        let payload = outcome.encode_within(self.nats.payload_max())?;
        let stored = self.nats.publish(results_of(lane), &outcome.id, payload).await?;
        let end = if stored.duplicate { End::Repeated } else { End::Answered };
        if stored.duplicate {
            let first = self.results.get_raw_message(stored.sequence).await?;
            outcome = Outcome::decode(&first.payload)?;
        } else {
            metrics::fleet_rows("answered", outcome.rows.len());
            metrics::fleet_rows("dead", outcome.dead.len());
            metrics::fleet_rows("rest", outcome.retried.len().saturating_add(outcome.left_over.len()));
        }
        Ok((end, outcome))
    }

    /// Publishes what follows from an outcome: the same, however often.
    async fn follow(&self, request: &Request, outcome: &Outcome, lane: &str) -> anyhow::Result<()> {
        if let Some(letter) = outcome.dead_letter(request) {
            self.nats.publish(dead_of(lane), &format!("{}:dead", request.id), letter.encode()?).await?;
        }
        let follows = [
            (&outcome.retried, request.retried(&outcome.retried)),
            (&outcome.left_over, request.left_over(&outcome.left_over)),
        ];
        for (places, follower) in follows {
            if !places.is_empty() {
                self.nats.publish(requests_of(lane), &follower.id, follower.encode()?).await?;
            }
        }
        if outcome.block.as_ref().is_some_and(|block| block.is_retried) {
            let follower = request.retried(&[]);
            self.nats.publish(requests_of(lane), &follower.id, follower.encode()?).await?;
        }
        Ok(())
    }

    async fn read(&self, request: &Request) -> anyhow::Result<Outcome> {
        let mut outcome = Outcome::new(&request.id);
        let is_last_try = request.tries.saturating_add(1) >= TRIES_MAX;
        let (mut places, mut items) = (Vec::new(), Vec::new());
        for (at, item) in request.items().into_iter().enumerate() {
            match item {
                Ok(item) => {
                    places.push(at);
                    items.push(item);
                }
                Err(Refusal { code, reason }) => outcome.dead.push(FailedRow::new(at, code, &reason)),
            }
        }
        for (i, row) in places.into_iter().zip(self.reader.rows(items).await) {
            match row.error {
                None => answered(&mut outcome, i, &row)?,
                Some("wallet_not_in_transaction") if request.parts_only => {}
                Some(error) => {
                    let reason = row.review_note.as_deref().unwrap_or_default();
                    failed(&mut outcome, i, (error, reason), is_last_try);
                }
            }
        }
        Ok(outcome)
    }

    /// A message that is no request goes where people look for it.
    async fn bury(&self, id: &str, refusal: Refusal, payload: &[u8], lane: &str) {
        tracing::warn!(id, code = refusal.code, reason = refusal.reason, "a message is no request");
        let letter = DeadLetter::poison(id.to_owned(), refusal, payload);
        let stored = match letter.encode() {
            Ok(payload) => self.nats.publish(dead_of(lane), id, payload).await.is_ok(),
            Err(_) => false,
        };
        if !stored {
            tracing::error!(id, "a message that is no request could not be kept");
        }
    }
}

fn answered(outcome: &mut Outcome, i: usize, row: &Classification) -> anyhow::Result<()> {
    metrics::classified(row);
    let mut json = Vec::new();
    row.write_json(&mut json)?;
    let row_json = RawValue::from_string(String::from_utf8(json)?)?;
    outcome.rows.push(AnsweredRow { i, row: row_json, called: row.called.clone() });
    Ok(())
}

fn failed(outcome: &mut Outcome, i: usize, (error, reason): (&'static str, &str), is_last_try: bool) {
    if may_pass(error) && !is_last_try {
        outcome.retried.push(i);
    } else {
        metrics::items_failed(error, 1);
        outcome.dead.push(FailedRow::new(i, error, reason));
    }
}

/// Every row is dead, or the whole block: parts of it may have been read.
fn given_up(request: &Request) -> Outcome {
    let mut outcome = Outcome::new(&request.id);
    outcome.block = request.block.is_some().then(|| FailedBlock::new("not_ended", NOT_ENDED, false));
    outcome.dead = (0..request.rows.len()).map(|i| FailedRow::new(i, "not_ended", NOT_ENDED)).collect();
    outcome
}
