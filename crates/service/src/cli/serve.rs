//! `taxon serve`

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::app::{self, App, Demo};
use crate::config::Config;
use crate::fleet::{Fleet, Nats};
use crate::web::{self, Places, Timeouts, Web};
use crate::{error, meter, metrics, router, webhooks};

/// Calls in flight at shutdown have this long to finish.
const SHUTDOWN_SECONDS_MAX: u64 = 25;
const HOUSEKEEPING_SECONDS: u64 = 2;
const SWEEP_ROUNDS: u64 = 15;
const TRIM_ROUNDS: u64 = 300;
const HISTORY_SECONDS: u64 = 1;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Address and port to listen on (TAXON_LISTEN)
    #[arg(long)]
    listen: Option<SocketAddr>,
    /// Serve the agent interface on an address of its own (TAXON_MCP_LISTEN)
    #[arg(long, value_name = "LISTEN")]
    mcp_listen: Option<SocketAddr>,
    /// Tell Prometheus metrics on this address, without a key (TAXON_METRICS_LISTEN)
    #[arg(long, value_name = "LISTEN")]
    metrics_listen: Option<SocketAddr>,
    /// Also serve the demo chain, recorded from real contracts on a local node
    #[arg(long)]
    demo: bool,
}

pub(super) async fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let mut config = config.clone();
    config.mcp.listen = args.mcp_listen.or(config.mcp.listen);
    config.metrics_listen = args.metrics_listen.or(config.metrics_listen);
    let config = &config;
    if config.metrics_listen.is_some() {
        metrics::install(error::item_codes())?;
    }
    let demo = if args.demo { Demo::On } else { Demo::Off };
    let app = Arc::new(app::open(config, demo).await?);
    let address = args.listen.unwrap_or(config.listen);
    let listener = listen(address).await?;
    let mcp_listener = match config.mcp.listen {
        Some(address) => Some(listen(address).await?),
        None => None,
    };
    let metrics_listener = match config.metrics_listen {
        Some(address) => Some(listen(address).await?),
        None => None,
    };
    if config.nats.url.is_some() {
        let nats = Nats::connect(&config.nats, "serve").await?;
        app.hand_jobs_to(Arc::new(Fleet::start(nats).await?));
    }
    let local = listener.local_addr()?;
    tracing::info!(%local, chains = app.reader.served_slugs().len(), engine = app.reader.knowledge.engine, "serving");
    print_operator_link(&app, local).await;
    tokio::spawn(housekeeping(Arc::clone(&app)));
    let background = Background::start()?;
    background.handle.spawn(keep_history(Arc::clone(&app)));
    if let Some(sink) = &config.meter {
        tokio::spawn(meter::deliver(app.store.clone(), sink.clone()));
    }
    let web = Web::new(Arc::clone(&app), config);
    let places = Arc::new(Places::new(config));
    let serve = |listener, router, stop| web::serve(listener, router, Arc::clone(&places), Timeouts::DEFAULT, stop);
    if let Some(listener) = metrics_listener {
        metrics::describe(&app.reader.knowledge.engine, &app.reader.served_slugs());
        tokio::spawn(web::gather_metrics());
        // Runs as long as the service, also while calls in flight finish.
        tokio::spawn(serve(listener, router::metrics(web.clone()), CancellationToken::new()));
    }
    let asked = CancellationToken::new();
    let server = serve(listener, router::whole(web.clone(), config), asked.clone());
    let mcp_server = async {
        if let Some(listener) = mcp_listener {
            serve(listener, router::agents(web.clone(), config), asked.clone()).await;
        }
    };
    let stopping = asked.clone();
    tokio::spawn(async move {
        stop_signal().await;
        tracing::info!("stopping: no new requests, finishing those in flight");
        stopping.cancel();
    });
    let too_long = async {
        asked.cancelled().await;
        tokio::time::sleep(Duration::from_secs(SHUTDOWN_SECONDS_MAX)).await;
    };
    let jobs = app::work(Arc::clone(&app), asked.clone(), &background.handle);
    let webhooks = webhooks::deliver(app.store.clone(), app.reach, asked.clone());
    let finished = async {
        tokio::join!(server, mcp_server, jobs, webhooks);
        app.finished().await;
    };
    tokio::select! {
        () = finished => {}
        () = too_long => tracing::warn!("some requests did not finish in time"),
    }
    if let Err(error) = app.auth.write_uses().await {
        tracing::warn!(%error, "when keys were last used could not be written");
    }
    write_history(&app).await;
    app.reader.cache.flush().await;
    Ok(ExitCode::SUCCESS)
}

/// While there is no operator, each start on a terminal prints a new link to become it. Elsewhere standard error is collected, and the link
/// is a secret: then only the command is told that prints one. A database that refuses writes must not keep the service from starting.
async fn print_operator_link(app: &App, local: SocketAddr) {
    if !std::io::stderr().is_terminal() {
        if matches!(app.store.has_operator().await, Ok(false)) {
            eprintln!("There is no operator yet: `taxon accounts first-operator` prints a link to become it.");
        }
        return;
    }
    match app.accounts.first_link().await {
        Ok(Some(token)) => {
            // A browser cannot open an unspecified address (0.0.0.0, ::).
            let local =
                if local.ip().is_unspecified() { format!("localhost:{}", local.port()) } else { local.to_string() };
            eprintln!("There is no operator yet. Become it within a day: http://{local}/link/{}", token.text());
        }
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, "no link to become the operator could be made"),
    }
}

async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))
}

/// Background work: writes when keys were last used, and deletes expired reservations and windows.
async fn housekeeping(app: Arc<App>) {
    let mut rounds = tokio::time::interval(Duration::from_secs(HOUSEKEEPING_SECONDS));
    rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for round in 0u64.. {
        rounds.tick().await;
        if let Err(error) = app.auth.write_uses().await {
            tracing::warn!(%error, "when keys were last used could not be written");
        }
        if let Err(error) = app.reader.cache.housekeeping(round % TRIM_ROUNDS == 0).await {
            tracing::warn!(%error, "the cache could not be looked after");
        }
        if round % SWEEP_ROUNDS == 0 {
            app.limits.sweep();
            if let Err(error) = app.store.sweep().await {
                tracing::warn!(%error, "places that have run out could not be cleared away");
            }
            if let Err(error) = app.sweep_jobs().await {
                tracing::warn!(%error, "old jobs could not be cleared away");
            }
            if let Err(error) = app.sweep_webhooks().await {
                tracing::warn!(%error, "old webhooks could not be cleared away");
            }
            if let Err(error) = app.store.sweep_accounts().await {
                tracing::warn!(%error, "sessions that have run out could not be cleared away");
            }
        }
    }
}

/// A thread for writes that nobody waits for. Each of them takes several steps, during which it holds the database's lock: among readings, every step would
/// wait for its turn behind all of them, and all of them for the lock.
struct Background {
    handle: Handle,
    /// Its thread ends with this.
    _alive: oneshot::Sender<()>,
}

impl Background {
    fn start() -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (alive, gone) = oneshot::channel();
        std::thread::Builder::new().name("background".to_owned()).spawn(move || {
            let _ = runtime.block_on(gone);
        })?;
        Ok(Self { handle, _alive: alive })
    }
}

/// In its own task, so that neither waits for the other when the database is down.
async fn keep_history(app: Arc<App>) {
    let mut rounds = tokio::time::interval(Duration::from_secs(HISTORY_SECONDS));
    rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        rounds.tick().await;
        write_history(&app).await;
    }
}

async fn write_history(app: &App) {
    if let Err(error) = app.history.write().await {
        tracing::warn!(%error, "what was read could not be written down yet");
    }
}

pub(super) async fn stop_signal() {
    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        // Without signals the service runs until it is killed.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}
