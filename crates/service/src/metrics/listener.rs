//! `GET /metrics` on a listener of its own, for whoever may reach that address. It needs no key and holds no secret.

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;

use super::{RECORDED, process, table};
use crate::logs;
use crate::web::Web;

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// A database that says nothing must not hold up a scrape.
const OUTBOX_SECONDS_MAX: u64 = 1;
/// Samples of histograms are kept one by one until they are gathered.
const GATHER_SECONDS: u64 = 1;

/// For as long as the service runs, also while it finishes what is in flight.
pub(crate) async fn serve(listener: TcpListener, web: Web) {
    tokio::spawn(gather());
    let router = Router::new().route("/metrics", get(scrape)).with_state(web);
    if let Err(error) = axum::serve(listener, router).await {
        tracing::error!(%error, "metrics are no longer served");
    }
}

async fn scrape(State(web): State<Web>) -> impl IntoResponse {
    sample(&web).await;
    let recorded = RECORDED.get().map(|recorded| recorded.text.render()).unwrap_or_default();
    ([(header::CONTENT_TYPE, TEXT)], recorded + &process::text())
}

/// What is only known by looking.
async fn sample(web: &Web) {
    ::metrics::gauge!(table::CALLS).set(number(web.calls_in_flight()));
    ::metrics::gauge!(table::HISTORY_WAITING).set(number(web.app.history.waiting()));
    ::metrics::counter!(table::LOG_LOST).absolute(logs::lost());
    if web.app.has_sink {
        let counting = web.app.store.waiting_count();
        if let Ok(Ok(count)) = tokio::time::timeout(Duration::from_secs(OUTBOX_SECONDS_MAX), counting).await {
            ::metrics::gauge!(table::OUTBOX_WAITING).set(number(usize::try_from(count).unwrap_or_default()));
        }
    }
}

async fn gather() {
    let mut rounds = tokio::time::interval(Duration::from_secs(GATHER_SECONDS));
    rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        rounds.tick().await;
        if let Some(recorded) = RECORDED.get() {
            recorded.text.run_upkeep();
        }
    }
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
