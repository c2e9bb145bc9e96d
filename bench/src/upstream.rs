//! A node on this machine that answers every call after a fixed time: the demo recording, with its transactions under as many hashes as
//! anybody asks for. It runs in a thread of its own, so that a program that waits does not hold it up.

mod blocks;
mod recording;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde::Deserialize;
use serde_json::value::RawValue;

pub use blocks::{RecordedBlock, RecordedBlocks};
pub use recording::{Recording, SLOT_TRANSACTIONS};

const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

#[derive(Debug)]
pub struct Upstream {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// What the nodes of all chains know.
pub trait Answers: std::fmt::Debug + Send + Sync {
    /// Appends the member `result` or `error` of an answer.
    fn write(&self, slug: &str, method: &str, params: &serde_json::Value, out: &mut String);
}

#[derive(Debug)]
struct Shared {
    recording: Arc<dyn Answers>,
    latency_micros: AtomicU64,
    requests: AtomicU64,
    calls: AtomicU64,
    /// When the first request came and the last was answered, since it was last asked.
    busy: Mutex<Option<(Instant, Instant)>>,
}

impl Upstream {
    /// It serves until the program ends.
    pub fn start(recording: Arc<impl Answers + 'static>, latency: Duration) -> anyhow::Result<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            recording,
            latency_micros: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            busy: Mutex::default(),
        });
        let app = Router::new().route("/{slug}", post(answer)).layer(DefaultBodyLimit::max(BODY_BYTES_MAX));
        let app = app.with_state(Arc::clone(&shared));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || {
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                axum::serve(listener, app).await
            })
        });
        let upstream = Self { address, shared };
        upstream.set_latency(latency);
        Ok(upstream)
    }

    pub fn set_latency(&self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.shared.latency_micros.store(micros, Ordering::Relaxed);
    }

    /// Where the nodes of a chain are; each chain has an address of its own.
    pub fn url(&self, slug: &str) -> String {
        format!("http://{}/{slug}", self.address)
    }

    /// HTTP requests so far.
    pub fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::Relaxed)
    }

    /// From the first request to the last answer since this was last asked: what a process takes to start and to end is not in it.
    pub fn take_busy(&self) -> Duration {
        let busy = self.shared.busy.lock().unwrap_or_else(PoisonError::into_inner).take();
        busy.map_or(Duration::ZERO, |(first, last)| last.duration_since(first))
    }

    /// Calls in those requests.
    pub fn calls(&self) -> u64 {
        self.shared.calls.load(Ordering::Relaxed)
    }
}

#[derive(Deserialize)]
pub(crate) struct Call<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    method: &'a str,
    #[serde(borrow)]
    params: &'a RawValue,
}

async fn answer(State(shared): State<Arc<Shared>>, Path(slug): Path<String>, body: Bytes) -> Response {
    let started = Instant::now();
    shared.requests.fetch_add(1, Ordering::Relaxed);
    let Ok(answer) = answers(&shared, &slug, &body) else { return StatusCode::BAD_REQUEST.into_response() };
    let latency = Duration::from_micros(shared.latency_micros.load(Ordering::Relaxed));
    let left = latency.saturating_sub(started.elapsed());
    if !left.is_zero() {
        // The runtime's own timer counts whole milliseconds, which would add to each round trip.
        let _ = tokio::task::spawn_blocking(move || std::thread::sleep(left)).await;
    }
    let mut busy = shared.busy.lock().unwrap_or_else(PoisonError::into_inner);
    let first = busy.map_or(started, |(first, _)| first.min(started));
    *busy = Some((first, Instant::now()));
    drop(busy);
    ([(header::CONTENT_TYPE, "application/json")], answer).into_response()
}

fn answers(shared: &Shared, slug: &str, body: &[u8]) -> anyhow::Result<String> {
    let text = std::str::from_utf8(body)?;
    let mut out = String::new();
    if text.trim_start().starts_with('[') {
        let calls: Vec<Call<'_>> = serde_json::from_str(text)?;
        shared.calls.fetch_add(u64::try_from(calls.len())?, Ordering::Relaxed);
        for call in &calls {
            out.push(if out.is_empty() { '[' } else { ',' });
            reply(shared.recording.as_ref(), slug, call, &mut out)?;
        }
        out.push(']');
    } else {
        shared.calls.fetch_add(1, Ordering::Relaxed);
        reply(shared.recording.as_ref(), slug, &serde_json::from_str(text)?, &mut out)?;
    }
    Ok(out)
}

fn reply(recording: &dyn Answers, slug: &str, call: &Call<'_>, out: &mut String) -> anyhow::Result<()> {
    out.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
    out.push_str(call.id.get());
    out.push(',');
    let params = serde_json::from_str(call.params.get()).context("parameters")?;
    recording.write(slug, call.method, &params, out);
    out.push('}');
    Ok(())
}
