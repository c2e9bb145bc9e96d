//! The listener: accepts connections and serves HTTP/1.1 on them. A connection holds a bounded buffer for a bounded time, and one address
//! holds a bounded number of connections.

mod places;
mod refusal;
mod stream;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::ConnectInfo;
use axum::http::Request;
use axum::serve::Listener;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use places::Places;
use places::{InFlight, Place};
use stream::TimedStream;

/// A request's head is refused past this size with 431, and no more of an unread body is buffered.
const BUFFER_BYTES_MAX: usize = 64 * 1024;
/// A body that goes on coming in has a second more for so many bytes.
const BODY_BYTES_A_SECOND_MIN: u64 = 64 * 1024;
/// Past this many headers hyper refuses with 431. Up to it, `carry` refuses with 400.
const HEADERS_READ_MAX: usize = 256;

/// How long a connection may take over each step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    /// From the first byte of a request, or from the beginning of a connection, to the end of the request's head.
    head: Duration,
    /// The whole of a request's body; a long one has more, for as long as it comes in at `BODY_BYTES_A_SECOND_MIN`.
    body: Duration,
    /// From an answer to the end of the next request's head. Above the 60 s for which nginx keeps a connection, so that it is the proxy that closes.
    idle: Duration,
    /// The client takes nothing of its answer.
    stalled: Duration,
}

impl Timeouts {
    pub(crate) const DEFAULT: Self = Self {
        head: Duration::from_secs(10),
        body: Duration::from_secs(30),
        idle: Duration::from_secs(75),
        stalled: Duration::from_secs(30),
    };
}

/// Serves until `stop`; then accepts nothing and returns when the connections have finished.
pub(crate) async fn serve(
    mut listener: TcpListener,
    router: Router,
    places: Arc<Places>,
    timeouts: Timeouts,
    stop: CancellationToken,
) {
    let connections = TaskTracker::new();
    loop {
        let (stream, peer) = tokio::select! {
            accepted = Listener::accept(&mut listener) => accepted,
            () = stop.cancelled() => break,
        };
        // Without a place the connection is closed by dropping it.
        let Some(place) = places.take(peer.ip()) else { continue };
        connections.spawn(connection(stream, peer, place, router.clone(), timeouts, stop.clone()));
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    place: Arc<Place>,
    router: Router,
    timeouts: Timeouts,
    stop: CancellationToken,
) {
    let stream = TokioIo::new(TimedStream::new(stream, Arc::clone(&place), timeouts));
    let router = TowerToHyperService::new(router);
    let answer = service_fn(|request: Request<Incoming>| {
        let in_flight = InFlight::begin(Arc::clone(&place));
        let mut request = request.map(|body| TimedBody { body, span: timeouts.body, received: 0, waiting: None });
        request.extensions_mut().insert(ConnectInfo(peer));
        let answered = router.call(request);
        async move { Ok::<_, Infallible>(answered.await?.map(|body| AnswerBody { body, _in_flight: in_flight })) }
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(timeouts.idle)
            .max_buf_size(BUFFER_BYTES_MAX)
            .max_headers(HEADERS_READ_MAX)
            .serve_connection(stream, answer)
    );
    tokio::select! {
        // A connection that breaks is the client's affair.
        _ = connection.as_mut() => return,
        () = place.evicted() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// A request's body that fails when it takes too long, so that its handler answers.
struct TimedBody {
    body: Incoming,
    span: Duration,
    received: u64,
    /// Set when the body is first waited for: since when, and the next look at the time.
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
            let length = data.map_or(0, |data| u64::try_from(data.len()).unwrap_or(u64::MAX));
            self.received = self.received.saturating_add(length);
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let span = self.span;
        let allowed = span.saturating_add(Duration::from_secs(self.received / BODY_BYTES_A_SECOND_MIN));
        let (since, look) = self.waiting.get_or_insert_with(|| (Instant::now(), Box::pin(tokio::time::sleep(span))));
        loop {
            ready!(look.as_mut().poll(cx));
            let until = *since + allowed;
            if until <= Instant::now() {
                return Poll::Ready(Some(Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into())));
            }
            look.as_mut().reset(until);
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// An answer's body. Its connection is at work until all of it was handed over.
struct AnswerBody {
    body: Body,
    _in_flight: InFlight,
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
