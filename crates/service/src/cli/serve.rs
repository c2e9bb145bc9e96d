//! `taxon serve`

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use crate::app::{self, App, Demo};
use crate::config::Config;
use crate::meter;
use crate::rest::{self, Rest};

/// What is in flight at shutdown has this long to finish.
const SHUTDOWN_SECONDS_MAX: u64 = 25;
const HOUSEKEEPING_SECONDS: u64 = 2;
const SWEEP_ROUNDS: u64 = 15;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Address and port to listen on (TAXON_LISTEN)
    #[arg(long)]
    listen: Option<SocketAddr>,
    /// Also serve the demo chain, recorded from real contracts on a local node
    #[arg(long)]
    demo: bool,
}

pub(super) async fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let demo = if args.demo { Demo::On } else { Demo::Off };
    let app = Arc::new(app::open(config, demo).await?);
    let address = args.listen.unwrap_or(config.listen);
    let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let local = listener.local_addr()?;
    tracing::info!(%local, chains = app.reader.served_slugs().len(), engine = app.reader.rules.engine, "serving");
    tokio::spawn(keep_house(Arc::clone(&app)));
    if let Some(sink) = &config.meter {
        tokio::spawn(meter::deliver(app.store.clone(), sink.clone()));
    }
    let rest = Rest::new(Arc::clone(&app), config);
    let router = rest::router(rest.clone(), &config.cors_origins).into_make_service_with_connect_info::<SocketAddr>();
    let asked = Arc::new(Notify::new());
    let stopping = Arc::clone(&asked);
    let server = axum::serve(listener, router).with_graceful_shutdown(async move {
        stop_signal().await;
        tracing::info!("stopping: no new requests, finishing those in flight");
        stopping.notify_one();
    });
    let too_long = async {
        asked.notified().await;
        tokio::time::sleep(Duration::from_secs(SHUTDOWN_SECONDS_MAX)).await;
    };
    let finished = async {
        server.await?;
        rest.finished().await;
        Ok::<(), std::io::Error>(())
    };
    tokio::select! {
        done = finished => done?,
        () = too_long => tracing::warn!("some requests did not finish in time"),
    }
    if let Err(error) = app.auth.write_uses().await {
        tracing::warn!(%error, "when keys were last used could not be written");
    }
    Ok(ExitCode::SUCCESS)
}

/// What nobody waits for: when keys were last used, and places and windows that have run out.
async fn keep_house(app: Arc<App>) {
    let mut rounds = tokio::time::interval(Duration::from_secs(HOUSEKEEPING_SECONDS));
    rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for round in 0u64.. {
        rounds.tick().await;
        if let Err(error) = app.auth.write_uses().await {
            tracing::warn!(%error, "when keys were last used could not be written");
        }
        if round % SWEEP_ROUNDS == 0 {
            app.limits.sweep();
            if let Err(error) = app.store.sweep().await {
                tracing::warn!(%error, "places that have run out could not be cleared away");
            }
        }
    }
}

async fn stop_signal() {
    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        // Without signals the service runs until it is killed.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}
