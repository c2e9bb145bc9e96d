//! Log lines on standard error, as text or as JSON. A line that belongs to a request carries its id; what looks like a secret is taken out of
//! every line before it is written; and no request waits for whoever reads them.

mod lines;
mod redact;
mod writer;

use std::panic::PanicHookInfo;
use std::sync::Arc;

use anyhow::bail;
use tracing_subscriber::EnvFilter;

use lines::LineFormat;
pub(crate) use writer::{Flush, lost};

/// The target of lines that hold nothing but our own words and numbers, in which no secret needs to be looked for.
pub(crate) const OURS: &str = "taxon::request";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Text,
    Json,
}

tokio::task_local! {
    /// Beside the task and not a span of `tracing`: it costs nothing until a line is written, whatever the level.
    static REQUEST: Option<Arc<str>>;
}

/// Lines that wait are written when what this gives back is dropped.
pub(crate) fn start() -> anyhow::Result<Flush> {
    let format = match std::env::var("TAXON_LOG_FORMAT").ok().as_deref() {
        None | Some("" | "text") => Format::Text,
        Some("json") => Format::Json,
        Some(_) => bail!("TAXON_LOG_FORMAT is neither text nor json"),
    };
    let level = std::env::var("TAXON_LOG").unwrap_or_else(|_| "info".to_owned());
    let level = if ["error", "warn", "info", "debug"].contains(&level.as_str()) { level } else { "info".to_owned() };
    let (writer, flush) = writer::start(format)?;
    tracing_subscriber::fmt()
        // Only our own targets: the HTTP client would log upstream addresses.
        .with_env_filter(EnvFilter::new(format!("taxon={level},chains={level},engine={level}")))
        .with_ansi(false)
        .event_format(LineFormat(format))
        .with_writer(writer)
        .init();
    std::panic::set_hook(Box::new(panicked));
    Ok(flush)
}

/// What is logged meanwhile belongs to this request.
pub(crate) async fn of_request<F: Future>(id: Arc<str>, work: F) -> F::Output {
    REQUEST.scope(Some(id), work).await
}

/// For work in a task of its own: it belongs to the same request as whoever starts it.
pub(crate) fn carried<F: Future>(work: F) -> impl Future<Output = F::Output> {
    REQUEST.scope(REQUEST.try_with(Clone::clone).ok().flatten(), work)
}

/// A fault inside is a line like any other.
fn panicked(fault: &PanicHookInfo<'_>) {
    let place = fault.location().map(ToString::to_string).unwrap_or_default();
    let reason = fault.payload_as_str().unwrap_or_default();
    tracing::error!(place, reason, "a fault inside the program");
}
