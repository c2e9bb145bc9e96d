//! `taxon work`

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::serve::stop_signal;
use crate::app::{self, Demo};
use crate::config::Config;
use crate::fleet::{self, Nats, NatsArgs, Workload};
use crate::web::{self, Places, Timeouts};
use crate::{error, metrics, router};

/// Batches in hand at shutdown have this long to finish; others take up what is left.
const SHUTDOWN_SECONDS_MAX: u64 = 25;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    nats: NatsArgs,
    /// Batches of up to 100 transactions that are read at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    batches: u8,
    /// End when every request has its end
    #[arg(long)]
    until_empty: bool,
    /// Tell Prometheus metrics on this address, without a key (TAXON_METRICS_LISTEN)
    #[arg(long, value_name = "LISTEN")]
    metrics_listen: Option<SocketAddr>,
    /// Also keep the facts of what is read in this folder, as Parquet files for `taxon read`
    #[arg(long, value_name = "DIR")]
    keep_facts: Option<PathBuf>,
    /// Also read the demo chain
    #[arg(long)]
    demo: bool,
}

pub(super) async fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let listen = args.metrics_listen.or(config.metrics_listen);
    if listen.is_some() {
        metrics::install(error::item_codes())?;
    }
    let demo = if args.demo { Demo::On } else { Demo::Off };
    let reader = Arc::new(app::keeping_reader(config, demo, args.keep_facts.as_deref())?);
    let nats = Nats::connect(&args.nats.settings(config), "work").await?;
    let stop = CancellationToken::new();
    if let Some(address) = listen {
        let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        metrics::describe(&reader.knowledge.engine, &reader.served_slugs());
        tokio::spawn(web::gather_metrics());
        let places = Arc::new(Places::new(config));
        tokio::spawn(web::serve(
            listener,
            router::worker_metrics(),
            places,
            Timeouts::DEFAULT,
            CancellationToken::new(),
        ));
    }
    tracing::info!(batches = args.batches, engine = reader.knowledge.engine, "working");
    let stopping = stop.clone();
    tokio::spawn(async move {
        stop_signal().await;
        tracing::info!("stopping: no new batches, finishing those in hand");
        stopping.cancel();
    });
    let too_long = async {
        stop.cancelled().await;
        tokio::time::sleep(Duration::from_secs(SHUTDOWN_SECONDS_MAX)).await;
    };
    let workload = Workload { batches: usize::from(args.batches), until_empty: args.until_empty };
    tokio::select! {
        ended = fleet::work(nats, Arc::clone(&reader), workload, &stop) => ended?,
        () = too_long => tracing::warn!("some batches did not finish in time; they come again to another worker"),
    }
    if let Some(keeper) = &reader.keeper {
        let kept = keeper.close().await.context("facts could not be kept")?;
        tracing::info!(rows = kept.rows, files = kept.files.len(), "facts are kept");
    }
    Ok(ExitCode::SUCCESS)
}
