//! Webhooks: tells owners of events by HTTP, in the form of Standard Webhooks, at least once and in order per subject. What is told was written with what it
//! tells of (`store/webhooks.rs`); every instance sends. It never logs an address or a secret.

mod address;
mod send;
mod signature;
mod target;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::metrics;
use crate::store::{AttemptOutcome, DeliveryState, DueDelivery, Store, StoreError};
use send::Sender;
pub(crate) use signature::{new_secret, shown};
pub(crate) use target::Reach;

/// How long a message is tried for.
pub(crate) const TRIED_FOR: Duration = Duration::from_secs(3 * 24 * 60 * 60);
/// How long messages are kept.
pub(crate) const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How long a secret that was replaced signs too.
pub(crate) const OVERLAP: Duration = Duration::from_secs(24 * 60 * 60);

/// Messages that one instance sends at the same time. An endpoint gets one at a time, so a receiver that stalls takes one of these.
const SENT_AT_ONCE_MAX: usize = 32;
/// How often it is looked for messages that are due.
const POLLED_EVERY: Duration = Duration::from_millis(500);
/// How long an endpoint is held: a message has been answered by then, or given up on, and written down.
const HELD: Duration = Duration::from_secs(send::ANSWER_SECONDS_MAX + 15);
/// How long a message waits after it has failed so often; then as after the last.
const PAUSES_SECONDS: [u64; 6] = [5, 5 * 60, 30 * 60, 2 * 60 * 60, 5 * 60 * 60, 10 * 60 * 60];
/// Up to a fifth more, so that what failed together is not sent again together.
const JITTER_PERCENT_MAX: u32 = 20;
/// A receiver that asks for a pause gets at least and at most this.
const ASKED_PAUSE_MIN: Duration = Duration::from_secs(5);
const ASKED_PAUSE_MAX: Duration = Duration::from_secs(10 * 60 * 60);

/// Sends what is due until `stop`; what is on its way then is finished first.
pub(crate) async fn deliver(store: Store, reach: Reach, stop: CancellationToken) {
    let sender = match Sender::new(reach) {
        Ok(sender) => Arc::new(sender),
        Err(_) => return tracing::error!("webhooks cannot be sent: there is no HTTP client"),
    };
    let mut on_its_way = JoinSet::new();
    let mut is_away = false;
    while !stop.is_cancelled() {
        let holder = format!("{:032x}", rand::random::<u128>());
        let has_room = on_its_way.len() < SENT_AT_ONCE_MAX;
        let taken = if has_room { store.hold_delivery(&holder, HELD).await } else { Ok(None) };
        if let Err(error) = &taken
            && !is_away
        {
            tracing::error!(%error, "webhooks are out of reach");
        }
        is_away = taken.is_err();
        if let Ok(Some(due)) = taken {
            let (store, sender) = (store.clone(), Arc::clone(&sender));
            on_its_way.spawn(async move {
                if let Err(error) = serve(&store, &sender, &due, &holder).await {
                    tracing::warn!(%error, "what came of a webhook could not be written down");
                }
            });
            while on_its_way.try_join_next().is_some() {}
            continue;
        }
        tokio::select! {
            Some(_) = on_its_way.join_next() => {}
            () = tokio::time::sleep(POLLED_EVERY) => {}
            () = stop.cancelled() => {}
        }
    }
    while on_its_way.join_next().await.is_some() {}
}

async fn serve(store: &Store, sender: &Sender, due: &DueDelivery, holder: &str) -> Result<(), StoreError> {
    let attempt = sender.send(due).await;
    metrics::webhook_tried(attempt.result.name());
    let outcome = AttemptOutcome {
        status: attempt.status,
        failure: attempt.failure(),
        pause: attempt.asked_pause.map_or_else(
            || pause(due.attempts, rand::random_range(0..=JITTER_PERCENT_MAX)),
            |asked| asked.clamp(ASKED_PAUSE_MIN, ASKED_PAUSE_MAX),
        ),
        is_gone: attempt.is_gone(),
    };
    if store.end_delivery(due, holder, &outcome, TRIED_FOR).await? == Some(DeliveryState::GivenUp) {
        metrics::webhook_given_up();
    }
    Ok(())
}

/// After the attempt that had so many before it.
fn pause(attempts: i64, jitter_percent: u32) -> Duration {
    let [.., last] = PAUSES_SECONDS;
    let seconds = usize::try_from(attempts).ok().and_then(|at| PAUSES_SECONDS.get(at)).copied().unwrap_or(last);
    let pause = Duration::from_secs(seconds);
    pause.saturating_add(pause.saturating_mul(jitter_percent) / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_ten_hours_and_fill_three_days() {
        let pauses: Vec<u64> = (0..8).map(|attempts| pause(attempts, 0).as_secs()).collect();
        assert_eq!(pauses, [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000, 36_000]);
        assert_eq!((pause(0, 20), pause(i64::MAX, 20).as_secs()), (Duration::from_secs(6), 43_200));
        let attempts = (0..).scan(Duration::ZERO, |at, number| {
            *at += pause(number, JITTER_PERCENT_MAX);
            (*at <= TRIED_FOR).then_some(())
        });
        assert_eq!(attempts.count(), 10, "attempts after the first, however late each is");
    }
}
