//! The billing rail: metered classifications, delivered as CloudEvents 1.0 JSON, at least once and in order per owner. The events were
//! written with the ledger's rows, so none is lost when the sink is down or the process is killed.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::hex;
use futures_util::StreamExt;
use futures_util::stream;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::config::Sink;
use crate::store::{EVENTS_MAX, Entry, Store, StoreError};

const SOURCE: &str = "taxon";
const KIND: &str = "taxon.classification.billable.v1";
/// How often the outbox is polled.
const PAUSE: Duration = Duration::from_millis(500);
const ANSWER_SECONDS_MAX: u64 = 10;
/// Owners whose events are delivered concurrently.
const PAYERS_MAX: usize = 8;
const DELAY_SECONDS_MAX: u64 = 60;
/// One instance delivers at a time; another takes over when it has been silent for this long.
const LEASE: &str = "meter";
const LEASE_SPAN: Duration = Duration::from_secs(30);
/// No delivery starts later than this after the lease was taken: it must end, answered or not, before the lease does.
const DELIVERY_SPAN: Duration = Duration::from_secs(LEASE_SPAN.as_secs() - ANSWER_SECONDS_MAX - 2);

/// As the billing rail receives it. The id is derived from what was billed, so the receiver can discard duplicates.
pub(crate) fn event(entry: &Entry) -> Value {
    let time = jiff::Timestamp::from_millisecond(entry.at).unwrap_or_default().to_string();
    json!({
        "specversion": "1.0",
        "id": event_id(entry),
        "source": SOURCE,
        "type": KIND,
        "subject": entry.payer,
        "time": time,
        "datacontenttype": "application/json",
        "data": {
            "owner": entry.owner,
            "owner_id": entry.payer,
            "period": entry.period,
            "hash": entry.hash,
            "chain": entry.chain,
            "category": entry.category,
            "key_id": entry.key_id,
            "request_id": entry.request_id,
        },
    })
}

fn event_id(entry: &Entry) -> String {
    const ID_CHARS: usize = 32;
    let mut id = hex::encode(Sha256::digest(format!("{}/{}/{}", entry.payer, entry.period, entry.hash)));
    id.truncate(ID_CHARS);
    id
}

/// Delivers what waits, for as long as the service runs.
pub(crate) async fn deliver(store: Store, sink: Sink) {
    let holder = format!("{:032x}", rand::random::<u128>());
    let client = chains::http::client_builder()
        .timeout(Duration::from_secs(ANSWER_SECONDS_MAX))
        .redirect(reqwest::redirect::Policy::none())
        .build();
    let client = match client {
        Ok(client) => client,
        Err(_) => return tracing::error!("events cannot be delivered: there is no HTTP client"),
    };
    let rail = Arc::new(Rail { store, sink, client, holder });
    let mut is_away = false;
    loop {
        let looked = rail.look().await;
        if let Err(error) = &looked
            && !is_away
        {
            tracing::error!(%error, "the outbox is out of reach");
        }
        is_away = looked.is_err();
        if !looked.is_ok_and(|has_more| has_more) {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

struct Rail {
    store: Store,
    sink: Sink,
    client: reqwest::Client,
    holder: String,
}

impl Rail {
    /// Whether some owner may have more than was delivered.
    async fn look(&self) -> Result<bool, StoreError> {
        let due = self.store.due().await?;
        let until = Instant::now() + DELIVERY_SPAN;
        if due.is_empty() || !self.store.lease(LEASE, &self.holder, LEASE_SPAN).await? {
            return Ok(false);
        }
        let mut has_more = false;
        let mut served = stream::iter(due)
            .map(|(payer, failures)| async move { self.serve(&payer, failures, until).await })
            .buffer_unordered(PAYERS_MAX);
        while let Some(done) = served.next().await {
            has_more |= done?;
        }
        Ok(has_more)
    }

    /// One owner's oldest events, in order, until one is refused or the lease runs out. Whether there may be more.
    async fn serve(&self, payer: &str, failures: i64, until: Instant) -> Result<bool, StoreError> {
        let mut up_to = None;
        let mut refusal = None;
        let events = self.store.events(payer).await?;
        let is_full = i64::try_from(events.len()).is_ok_and(|count| count >= EVENTS_MAX);
        for event in events {
            if Instant::now() > until {
                break;
            }
            match self.send(&event.entry).await {
                Ok(()) => up_to = Some(event.seq),
                Err(reason) => {
                    refusal = Some(reason);
                    break;
                }
            }
        }
        if let Some(up_to) = up_to {
            self.store.delivered(payer, up_to).await?;
        }
        if let Some(reason) = refusal {
            self.put_off(payer, if up_to.is_some() { 0 } else { failures }, &reason).await?;
            return Ok(false);
        }
        Ok(is_full)
    }

    /// The reason never holds the sink's address, which may be secret.
    async fn send(&self, entry: &Entry) -> Result<(), String> {
        let mut request = self.client.post(&self.sink.url).header("content-type", "application/cloudevents+json");
        if let Some(token) = &self.sink.token {
            request = request.bearer_auth(token);
        }
        match request.body(event(entry).to_string()).send().await {
            Ok(answer) if answer.status().is_success() => Ok(()),
            Ok(answer) => Err(format!("the sink answered {}", answer.status().as_u16())),
            Err(error) if error.is_timeout() => Err("the sink did not answer in time".to_owned()),
            Err(error) if error.is_connect() => Err("the sink cannot be reached".to_owned()),
            Err(_) => Err("the sink broke off".to_owned()),
        }
    }

    /// Exponential back-off, up to a minute, with jitter per owner.
    async fn put_off(&self, payer: &str, failures: i64, reason: &str) -> Result<(), StoreError> {
        let seconds = 1u64.checked_shl(u32::try_from(failures).unwrap_or(u32::MAX)).unwrap_or(u64::MAX);
        let seconds = seconds.clamp(1, DELAY_SECONDS_MAX);
        let jitter = rand::random_range(0..=seconds * 250);
        if failures == 0 {
            tracing::warn!(owner_id = payer, reason, "events wait: the sink does not take them");
        }
        self.store.delay(payer, Duration::from_millis(seconds * 1000 - jitter), reason).await
    }
}
