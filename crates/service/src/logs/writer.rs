//! Lines are written by a thread of their own, so that logging never blocks on a terminal, pipe or disk. Lines beyond the buffer are
//! dropped and counted, and the count is logged as soon as there is room.
//!
//! By hand and not `tracing-appender`: its queue is bounded in lines, which may be of any length, and it does not log how many lines were
//! lost.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tracing::Metadata;
use tracing_subscriber::fmt::MakeWriter;

use super::redact::redacted;
use super::{LogFormat, OURS};

/// Lines that wait to be written.
const WAITING_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Lines of this time span are written together: waking the thread for each line costs more than writing it.
const GATHER: Duration = Duration::from_millis(5);
/// At shutdown the reader of the log has this long to take the remaining lines.
const FLUSH_SECONDS_MAX: u64 = 2;

static LOST: AtomicU64 = AtomicU64::new(0);

/// Lines dropped since the start.
pub(crate) fn lost() -> u64 {
    LOST.load(Ordering::Relaxed)
}

pub(super) fn start(format: LogFormat) -> io::Result<(LogLines, Flush)> {
    let shared = Arc::new(LogQueue::default());
    let writing = Arc::clone(&shared);
    std::thread::Builder::new().name("logs".to_owned()).spawn(move || writing.write(format))?;
    Ok((LogLines(Arc::clone(&shared)), Flush(shared)))
}

/// Where the formatter puts its lines.
#[derive(Debug, Clone)]
pub(super) struct LogLines(Arc<LogQueue>);

impl<'a> MakeWriter<'a> for LogLines {
    type Writer = LogLine<'a>;

    fn make_writer(&'a self) -> LogLine<'a> {
        LogLine { shared: &self.0, is_ours: false }
    }

    fn make_writer_for(&'a self, event: &Metadata<'_>) -> LogLine<'a> {
        LogLine { shared: &self.0, is_ours: event.target() == OURS }
    }
}

/// Where one event is written to.
#[derive(Debug)]
pub(super) struct LogLine<'a> {
    shared: &'a LogQueue,
    is_ours: bool,
}

impl Write for LogLine<'_> {
    /// The formatter writes a line as a whole.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.shared.take(line, self.is_ours);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes what waits when it is dropped.
#[derive(Debug)]
pub(crate) struct Flush(Arc<LogQueue>);

impl Drop for Flush {
    fn drop(&mut self) {
        let is_busy = |state: &mut QueueState| !state.lines.is_empty() || state.is_writing;
        let patience = Duration::from_secs(FLUSH_SECONDS_MAX);
        // A reader that does not read must not block shutdown.
        drop(self.0.idle.wait_timeout_while(self.0.state(), patience, is_busy));
    }
}

#[derive(Debug, Default)]
struct LogQueue {
    state: Mutex<QueueState>,
    /// There is something to write.
    work: Condvar,
    /// Everything is written.
    idle: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    lines: Vec<QueuedLine>,
    bytes: usize,
    lost: u64,
    is_writing: bool,
}

#[derive(Debug)]
struct QueuedLine {
    line: String,
    is_ours: bool,
}

impl LogQueue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, line: &[u8], is_ours: bool) {
        let line = String::from_utf8_lossy(line).into_owned();
        let mut state = self.state();
        if state.bytes.saturating_add(line.len()) > WAITING_BYTES_MAX {
            state.lost = state.lost.saturating_add(1);
            LOST.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let was_idle = state.lines.is_empty();
        state.bytes = state.bytes.saturating_add(line.len());
        state.lines.push(QueuedLine { line, is_ours });
        drop(state);
        if was_idle {
            self.work.notify_one();
        }
    }

    /// For as long as the program runs.
    fn write(&self, format: LogFormat) {
        let mut lines: Vec<QueuedLine> = Vec::new();
        loop {
            drop(self.work.wait_while(self.state(), |state| state.lines.is_empty()));
            std::thread::sleep(GATHER);
            let mut state = self.state();
            std::mem::swap(&mut state.lines, &mut lines);
            let lost = std::mem::take(&mut state.lost);
            state.bytes = 0;
            state.is_writing = true;
            drop(state);
            let mut text = String::new();
            for QueuedLine { line, is_ours } in lines.drain(..) {
                if is_ours {
                    text.push_str(&line);
                } else {
                    text.push_str(&redacted(&line));
                }
            }
            if lost > 0 {
                text.push_str(&told(format, lost));
            }
            // Where standard error is closed there is nobody to tell.
            let _ = io::stderr().write_all(text.as_bytes());
            self.state().is_writing = false;
            self.idle.notify_all();
        }
    }
}

fn told(format: LogFormat, lost: u64) -> String {
    let now = Timestamp::now();
    match format {
        LogFormat::Text => format!("{now:.6}  WARN taxon::logs: log lines were lost count={lost}\n"),
        LogFormat::Json => format!(
            "{{\"time\":\"{now:.6}\",\"level\":\"WARN\",\"target\":\"taxon::logs\",\"message\":\"log lines were lost\",\"count\":{lost}}}\n"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded_and_what_is_lost_is_counted() {
        let shared = LogQueue::default();
        let line = [b'x'; 64 * 1024];
        for _ in 0..100 {
            shared.take(&line, false);
        }
        let state = shared.state();
        assert!(state.bytes <= WAITING_BYTES_MAX && state.lines.len() == WAITING_BYTES_MAX / line.len());
        assert_eq!(state.lost, 100 - 64);
        assert!(told(LogFormat::Json, state.lost).contains("\"count\":36"));
    }
}
