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

pub(super) struct TimedStream {
    stream: TcpStream,
    place: Arc<Place>,
    timeouts: Timeouts,
    head: Option<HeadDeadline>,
    stalled: Option<Pin<Box<Sleep>>>,
}

struct HeadDeadline {
    /// How many requests came before this one: once there are more, its head is complete.
    after: u64,
    end: Pin<Box<Sleep>>,
}

impl TimedStream {
    pub(super) fn new(stream: TcpStream, place: Arc<Place>, timeouts: Timeouts) -> Self {
        let mut new = Self { stream, place, timeouts, head: None, stalled: None };
        new.begin_head();
        new
    }

    fn begin_head(&mut self) {
        self.head = Some(HeadDeadline { after: self.place.requests(), end: Box::pin(sleep(self.timeouts.head)) });
    }

    fn forget_complete_head(&mut self) {
        self.head = self.head.take().filter(|head| head.after == self.place.requests());
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
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.unless_stalled(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
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
