//! Reads batches: as many at a time as it has places, so that what waits, waits in the stream. The outcome is stored first, then what follows from it,
//! and only then the batch is taken from the stream; whoever finds it again finds the outcome too.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::message::AckKind;
use async_nats::jetstream::stream::Stream;
use futures_util::StreamExt as _;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::message::{
    AnsweredRow, DeadLetter, FailedRow, Outcome, Refusal, Request, TRIES_MAX, dead_of, lane_of, requests_of, results_of,
};
use super::nats::Nats;
use super::streams;
use crate::app::{Reader, may_pass};
use crate::metrics;

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
    let consumer = streams::workers(&nats).await?;
    let results = streams::stream(&nats, streams::RESULTS).await?;
    let renewed_every = consumer.cached_info().config.ack_wait / 3;
    let worker = Arc::new(Worker { nats, reader, results, renewed_every });
    let places = Arc::new(Semaphore::new(workload.batches));
    let mut in_hand = JoinSet::new();
    while !stop.is_cancelled() {
        while in_hand.try_join_next().is_some() {}
        // At least one place, and then as many as there are.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { break };
        let count = places.available_permits().saturating_add(1);
        drop(place);
        let taken = tokio::select! {
            taken = worker.take(&consumer, count, &places, &mut in_hand) => taken,
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
        places: &Arc<Semaphore>,
        in_hand: &mut JoinSet<()>,
    ) -> anyhow::Result<usize> {
        let pull = consumer.batch().max_messages(count).expires(Duration::from_secs(PULL_SECONDS));
        let mut messages = pull.messages().await?;
        let mut taken = 0_usize;
        while let Some(message) = messages.next().await {
            let message = message.map_err(|error| anyhow::anyhow!("{error}"))?;
            let place = Arc::clone(places).acquire_owned().await?;
            taken = taken.saturating_add(1);
            let worker = Arc::clone(self);
            in_hand.spawn(async move {
                worker.serve(message).await;
                drop(place);
            });
        }
        Ok(taken)
    }

    /// Whether every batch has its end, also those that other workers have.
    async fn is_empty(&self) -> bool {
        let requests = streams::stream(&self.nats, streams::REQUESTS).await;
        requests.is_ok_and(|requests| requests.cached_info().state.messages == 0)
    }

    async fn serve(&self, message: Message) {
        let began = Instant::now();
        metrics::fleet_in_hand(1.0);
        let served = self.end(&message);
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

    async fn end(&self, message: &Message) -> End {
        let info = message.info().ok();
        let (delivered, sequence, waiting) =
            info.as_ref().map_or((1, 0, 0), |info| (info.delivered, info.stream_sequence, info.pending));
        metrics::fleet_pending(waiting);
        let lane = lane_of(&message.subject);
        let (end, kind) = match Request::parse(&message.payload) {
            Ok(request) if request.pause > 0 && delivered <= 1 => {
                (End::Returned, AckKind::Nak(Some(Duration::from_secs(request.pause.into()))))
            }
            Ok(request) => match self.answer(&request, lane, delivered > DELIVERIES_MAX).await {
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
    async fn answer(&self, request: &Request, lane: &str, is_given_up: bool) -> anyhow::Result<End> {
        let mut outcome = match is_given_up {
            true => given_up(request),
            false => self.read(request).await?,
        };
        let payload = outcome.encode_within(self.nats.payload_max())?;
        let stored = self.nats.publish(results_of(lane), &request.id, payload).await?;
        let end = if stored.duplicate { End::Repeated } else { End::Answered };
        if stored.duplicate {
            let first = self.results.get_raw_message(stored.sequence).await?;
            outcome = Outcome::decode(&first.payload)?;
        } else {
            metrics::fleet_rows("answered", outcome.rows.len());
            metrics::fleet_rows("dead", outcome.dead.len());
            metrics::fleet_rows("rest", outcome.retried.len().saturating_add(outcome.left_over.len()));
        }
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
        Ok(end)
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
                None => {
                    metrics::classified(&row);
                    let mut json = Vec::new();
                    row.write_json(&mut json)?;
                    outcome.rows.push(AnsweredRow { i, row: RawValue::from_string(String::from_utf8(json)?)? });
                }
                Some(error) if may_pass(error) && !is_last_try => outcome.retried.push(i),
                Some(error) => {
                    metrics::items_failed(error, 1);
                    outcome.dead.push(FailedRow::new(i, error, row.review_note.as_deref().unwrap_or_default()));
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

/// Every row is dead.
fn given_up(request: &Request) -> Outcome {
    let mut outcome = Outcome::new(&request.id);
    outcome.dead = (0..request.rows.len()).map(|i| FailedRow::new(i, "not_ended", NOT_ENDED)).collect();
    outcome
}
