//! Log lines on standard error, as text or as JSON. A line that belongs to a request carries its id; what looks like a secret is redacted
//! before a line is written; and no request waits for the reader of the log.

mod lines;
mod redact;
mod writer;

use std::panic::PanicHookInfo;
use std::sync::Arc;

use anyhow::bail;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use lines::LineFormat;
pub(crate) use writer::{Flush, lost};

/// The target of lines made only of our own words and numbers, which are not searched for secrets.
pub(crate) const OURS: &str = "taxon::request";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogFormat {
    Text,
    Json,
}

tokio::task_local! {
    /// The request id. A task local and not a span of `tracing`: it costs nothing until a line is written, whatever the level.
    static REQUEST: Option<Arc<str>>;
}

/// Dropping the result flushes the lines that wait.
pub(crate) fn start() -> anyhow::Result<Flush> {
    let format = match std::env::var("TAXON_LOG_FORMAT").ok().as_deref() {
        None | Some("" | "text") => LogFormat::Text,
        Some("json") => LogFormat::Json,
        Some(_) => bail!("TAXON_LOG_FORMAT is neither text nor json"),
    };
    let level = match std::env::var("TAXON_LOG").ok().as_deref() {
        Some("error") => Level::ERROR,
        Some("warn") => Level::WARN,
        Some("debug") => Level::DEBUG,
        _ => Level::INFO,
    };
    let (writer, flush) = writer::start(format)?;
    // Only our own targets: the HTTP client would log upstream addresses.
    let ours = Targets::new().with_targets(["taxon", "chains", "engine"].map(|target| (target, level)));
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(false)
        .event_format(LineFormat(format))
        .with_writer(writer)
        .finish()
        .with(ours)
        .init();
    std::panic::set_hook(Box::new(panicked));
    Ok(flush)
}

/// Runs `work` so that its log lines carry this request id.
pub(crate) async fn of_request<F: Future>(id: Arc<str>, work: F) -> F::Output {
    REQUEST.scope(Some(id), work).await
}

/// For work in a spawned task: passes the current request id on to it.
pub(crate) fn carried<F: Future>(work: F) -> impl Future<Output = F::Output> {
    REQUEST.scope(REQUEST.try_with(Clone::clone).ok().flatten(), work)
}

/// A panic is logged as a line like any other.
fn panicked(fault: &PanicHookInfo<'_>) {
    let place = fault.location().map(ToString::to_string).unwrap_or_default();
    let reason = fault.payload_as_str().unwrap_or_default();
    tracing::error!(place, reason, "a fault inside the program");
}
