//! The rows of the service's jobs, read by the fleet: each batch is a request of the lane `jobs`, and whoever published it waits for its outcome. A batch that
//! nobody answers in time is the caller's again; what comes of it later is for nobody.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::policy::KEYS;
use engine::{Classification, Policy, Question};
use futures_util::FutureExt as _;
use futures_util::StreamExt as _;
use futures_util::future::{BoxFuture, join_all};
use serde_json::Value;
use tokio::sync::mpsc;

use super::message::{Outcome, Request, RequestRow, requests_of, results_of};
use super::nats::Nats;
use super::streams::{self, messages, sequence};
use crate::app::{Answer, BATCH_ITEMS_MAX, Item, RowReaders};
use crate::error::ApiError;

const LANE: &str = "jobs";
/// How long a batch is waited for. The fleet may have others before it, or no worker at all.
const PATIENCE: Duration = Duration::from_secs(60);
const LISTEN_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Fleet {
    nats: Nats,
    waiting: Arc<Waiting>,
}

/// Who waits for the outcome of which batch.
#[derive(Debug, Default)]
struct Waiting(Mutex<HashMap<String, mpsc::UnboundedSender<Outcome>>>);

impl Fleet {
    /// Listens for outcomes as long as the process runs.
    pub(crate) async fn start(nats: Nats) -> anyhow::Result<Self> {
        let results = streams::stream(&nats, streams::RESULTS).await?;
        let waiting = Arc::new(Waiting::default());
        // What was there before is for somebody else.
        let last = results.cached_info().state.last_sequence;
        tokio::spawn(listen(nats.clone(), last, Arc::clone(&waiting)));
        Ok(Self { nats, waiting })
    }

    /// Whether any worker waits for batches or has some.
    async fn is_worked(&self) -> bool {
        let workers = streams::workers(&self.nats).await;
        workers.is_ok_and(|workers| {
            let info = workers.cached_info();
            info.num_waiting > 0 || info.num_ack_pending > 0
        })
    }

    /// Answers of up to a hundred items of one question.
    async fn batch(&self, items: &[Item]) -> Vec<Option<Answer>> {
        let mut answers = vec![None; items.len()];
        let Some(first) = items.first().filter(|item| is_told(&item.question)) else { return answers };
        let id = format!("job.{:032x}", rand::random::<u128>());
        let rows = items.iter().map(row).collect();
        let own_wallets = first.question.own_wallets.iter().map(ToString::to_string).collect();
        let request = Request::new(id.clone(), rows, policy(&first.question.policy), own_wallets).for_once();
        let (tell, mut outcomes) = mpsc::unbounded_channel();
        self.waiting.lock().insert(id.clone(), tell);
        let all = async {
            let stored = self.nats.publish(requests_of(LANE), &id, request.encode()?).await?;
            anyhow::ensure!(!stored.duplicate, "the batch is another's");
            let mut places: Vec<usize> = (0..items.len()).collect();
            while !places.is_empty() {
                let Some(outcome) = outcomes.recv().await else { break };
                places = take(&outcome, &places, &mut answers);
            }
            anyhow::Ok(())
        };
        match tokio::time::timeout(PATIENCE, all).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the fleet did not take a batch of a job"),
            Err(_) => tracing::warn!("the fleet did not answer a batch of a job in time"),
        }
        self.waiting.lock().remove(&id);
        answers
    }
}

impl RowReaders for Fleet {
    fn read(&self, items: Vec<Item>) -> BoxFuture<'_, Vec<Option<Answer>>> {
        async move {
            let same = |one: &Item, other: &Item| {
                let (one, other) = (&one.question, &other.question);
                (one.policy, &one.own_wallets) == (other.policy, &other.own_wallets)
            };
            if !self.is_worked().await {
                return vec![None; items.len()];
            }
            let batches = items.chunk_by(same).flat_map(|items| items.chunks(BATCH_ITEMS_MAX));
            join_all(batches.map(|items| self.batch(items))).await.concat()
        }
        .boxed()
    }
}

impl Waiting {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, mpsc::UnboundedSender<Outcome>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, outcome: Outcome) {
        // What did not fit follows under the same id with a mark for each time.
        let id = outcome.id.trim_end_matches('+').to_owned();
        if let Some(waiting) = self.lock().get(&id) {
            // Whoever has gone no longer waits.
            let _ = waiting.send(outcome);
        }
    }
}

async fn listen(nats: Nats, mut after: u64, waiting: Arc<Waiting>) {
    loop {
        if let Err(error) = hear(&nats, &mut after, &waiting).await {
            tracing::warn!(%error, "what the fleet answers is not heard, and listened for again");
        }
        tokio::time::sleep(LISTEN_PAUSE).await;
    }
}

async fn hear(nats: &Nats, after: &mut u64, waiting: &Waiting) -> anyhow::Result<()> {
    let results = streams::stream(nats, streams::RESULTS).await?;
    let mut outcomes = messages(&results, results_of(LANE), *after).await?;
    while let Some(message) = outcomes.next().await {
        let message = message?;
        *after = sequence(&message)?;
        match Outcome::decode(&message.payload) {
            Ok(outcome) => waiting.tell(outcome),
            Err(error) => tracing::warn!(%error, "a message among the results is no outcome"),
        }
    }
    Ok(())
}

/// Puts what an outcome says where it belongs, and tells which rows are left.
fn take(outcome: &Outcome, places: &[usize], answers: &mut [Option<Answer>]) -> Vec<usize> {
    let mut put = |i: usize, answer: Answer| {
        if let Some(slot) = places.get(i).and_then(|at| answers.get_mut(*at)) {
            *slot = Some(answer);
        }
    };
    for answered in &outcome.rows {
        if let Ok(mut row) = serde_json::from_str::<Classification>(answered.row.get()) {
            row.called.clone_from(&answered.called);
            put(answered.i, Ok(Arc::new(row)));
        }
    }
    for dead in &outcome.dead {
        put(dead.i, Err(ApiError::told(&dead.code, &dead.reason)));
    }
    outcome.left_over.iter().filter_map(|i| places.get(*i).copied()).collect()
}

/// Whether a request can say all of it.
fn is_told(question: &Question) -> bool {
    !question.explain && question.review_below.is_none()
}

fn row(item: &Item) -> RequestRow {
    RequestRow {
        hash: item.hash.to_string(),
        chain: item.chain.clone(),
        wallet: item.question.wallet.map(|wallet| wallet.to_string()),
        tx_id: None,
    }
}

/// As a request has it.
fn policy(policy: &Policy) -> Option<Value> {
    let chosen = KEYS.iter().filter_map(|row| {
        let choice = row.choice_of(policy.chosen(row.key)?)?;
        Some((row.name.to_owned(), Value::from(choice.name)))
    });
    let chosen: serde_json::Map<String, Value> = chosen.collect();
    (!chosen.is_empty()).then(|| chosen.into())
}
