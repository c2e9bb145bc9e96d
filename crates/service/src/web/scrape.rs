//! `GET /metrics` on a listener of its own, for anybody who can reach that address. It needs no key and holds no secret.

use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use super::Web;
use crate::logs;
use crate::metrics::{self, Sampled};

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// A database that hangs must not hold up a scrape.
const OUTBOX_SECONDS_MAX: u64 = 1;
const GATHER_SECONDS: u64 = 1;

pub(crate) async fn scrape(State(web): State<Web>) -> impl IntoResponse {
    let sampled = Sampled {
        calls_in_flight: web.app.calls_in_flight(),
        history_waiting: web.app.history.waiting(),
        outbox_waiting: if web.app.has_sink { outbox_waiting(&web).await } else { None },
        log_lines_lost: logs::lost(),
    };
    ([(header::CONTENT_TYPE, TEXT)], metrics::text(sampled))
}

pub(crate) async fn scrape_worker() -> impl IntoResponse {
    let sampled =
        Sampled { calls_in_flight: 0, history_waiting: 0, outbox_waiting: None, log_lines_lost: logs::lost() };
    ([(header::CONTENT_TYPE, TEXT)], metrics::text(sampled))
}

async fn outbox_waiting(web: &Web) -> Option<u64> {
    let counting = web.app.store.waiting_count();
    let count = tokio::time::timeout(Duration::from_secs(OUTBOX_SECONDS_MAX), counting).await.ok()?.ok()?;
    u64::try_from(count).ok()
}

/// Runs as long as the service.
pub(crate) async fn gather_metrics() {
    let mut rounds = tokio::time::interval(Duration::from_secs(GATHER_SECONDS));
    rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        rounds.tick().await;
        metrics::gather();
    }
}
