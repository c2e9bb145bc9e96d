//! `taxon serve`

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use crate::app::{self, Demo};
use crate::config::Config;
use crate::rest;

/// What is in flight at shutdown has this long to finish.
const SHUTDOWN_SECONDS_MAX: u64 = 25;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Address and port to listen on (TAXON_LISTEN)
    #[arg(long)]
    listen: Option<std::net::SocketAddr>,
    /// Also serve the demo chain, recorded from real contracts on a local node
    #[arg(long)]
    demo: bool,
}

pub(super) async fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let demo = if args.demo { Demo::On } else { Demo::Off };
    let app = Arc::new(app::open(config, demo, None).await?);
    let address = args.listen.unwrap_or(config.listen);
    let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let local = listener.local_addr()?;
    tracing::info!(%local, chains = app.served_slugs().len(), engine = app.rules.engine, "serving");
    let router = rest::router(app, &config.cors_origins);
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
    tokio::select! {
        done = server => done?,
        () = too_long => tracing::warn!("some requests did not finish in time"),
    }
    Ok(ExitCode::SUCCESS)
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
