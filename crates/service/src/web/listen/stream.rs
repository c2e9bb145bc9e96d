//! A connection's bytes under two deadlines that hyper lacks: for the head of a request from its first byte (hyper's begins when the
//! connection falls idle), and for a client that takes nothing of its answer.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::Timeouts;
use super::places::Place;
use super::refusal;

pub(super) struct TimedStream {
    stream: TcpStream,
    place: Arc<Place>,
    timeouts: Timeouts,
    head: Option<HeadDeadline>,
    stalled: Option<Pin<Box<Sleep>>>,
    refusal: Option<Refusal>,
}

/// A refusal in full that is written in place of hyper's bare one.
struct Refusal {
    bytes: Vec<u8>,
    written: usize,
    /// Bytes of the bare one.
    instead_of: usize,
}

struct HeadDeadline {
    /// How many requests came before this one: once there are more, its head is complete.
    after: u64,
    end: Pin<Box<Sleep>>,
}

impl TimedStream {
    pub(super) fn new(stream: TcpStream, place: Arc<Place>, timeouts: Timeouts) -> Self {
        let mut new = Self { stream, place, timeouts, head: None, stalled: None, refusal: None };
        new.begin_head();
        new
    }

    fn begin_head(&mut self) {
        self.head = Some(HeadDeadline { after: self.place.requests(), end: Box::pin(sleep(self.timeouts.head)) });
    }

    fn forget_complete_head(&mut self) {
        self.head = self.head.take().filter(|head| head.after == self.place.requests());
    }

    /// `None` where the bytes are to be written as they are.
    fn poll_refusal(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Option<Poll<io::Result<usize>>> {
        if self.refusal.is_none() {
            self.refusal =
                refusal::in_full(bytes).map(|full| Refusal { bytes: full, written: 0, instead_of: bytes.len() });
        }
        let refusal = self.refusal.as_mut()?;
        while let Some(rest) = refusal.bytes.get(refusal.written..).filter(|rest| !rest.is_empty()) {
            match Pin::new(&mut self.stream).poll_write(cx, rest) {
                Poll::Ready(Ok(count)) if count > 0 => refusal.written = refusal.written.saturating_add(count),
                Poll::Ready(Ok(_)) => return Some(Poll::Ready(Err(io::ErrorKind::WriteZero.into()))),
                other => return Some(other),
            }
        }
        let instead_of = refusal.instead_of;
        self.refusal = None;
        Some(Poll::Ready(Ok(instead_of)))
    }

    /// What a write came to, or an error when writes have been stuck for too long.
    fn unless_stalled<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let span = self.timeouts.stalled;
        let end = self.stalled.get_or_insert_with(|| Box::pin(sleep(span)));
        end.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.forget_complete_head();
        if read.is_ready() {
            if self.head.is_none() && !self.place.is_busy() {
                self.begin_head();
            }
            return read;
        }
        match &mut self.head {
            Some(head) => head.end.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into())),
            None => Poll::Pending,
        }
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = match self.poll_refusal(cx, bytes) {
            Some(written) => written,
            None => Pin::new(&mut self.stream).poll_write(cx, bytes),
        };
        self.unless_stalled(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = slices.iter().find(|slice| !slice.is_empty()).map_or(&[][..], |slice| slice);
        let written = match self.poll_refusal(cx, first) {
            Some(written) => written,
            None => Pin::new(&mut self.stream).poll_write_vectored(cx, slices),
        };
        self.unless_stalled(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
