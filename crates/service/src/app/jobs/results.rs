//! What came of a job, as the file of a ledger or a tax tool, oldest transaction first. Of the results no more than a few parts are held at a time.

use std::collections::VecDeque;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use axum::body::Bytes;
use books::decision::Reading;
use books::formats::{Format, Options, Scratch};
use engine::Classification;
use futures_util::Stream;
use serde::Deserialize;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::marks::{is_failed, is_read, unpack_times};
use super::packed::unpack_lines;
use super::{PARTS_LOADED, time};
use crate::app::book::chart_of;
use crate::app::{App, BATCH_ITEMS_MAX, coin_symbols};
use crate::error::ApiError;
use crate::store::{BookRow, Decision, RowKey, Store};

/// Parts that are held unpacked: those whose rows are next to each other in time are often next to each other in the table.
const PARTS_HELD: usize = 16;
const PIECE_BYTES: usize = 64 << 10;
/// Pieces that wait for the caller to take them.
const PIECES_WAITING: usize = 8;
/// The format that is the answers themselves, also of rows that failed.
const JSON_LINES: &str = "jsonl";

/// A file that goes with whoever has it open.
pub(crate) fn scratch() -> io::Result<Box<dyn Scratch>> {
    Ok(Box::new(tempfile::tempfile()?))
}

/// A file as it is written; a piece that is an error breaks it off, so that the caller does not take half of it for the whole.
#[derive(Debug)]
pub(crate) struct ResultStream(mpsc::Receiver<io::Result<Bytes>>);

impl Stream for ResultStream {
    type Item = io::Result<Bytes>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(cx)
    }
}

impl App {
    /// What was read so far, as a file of this format.
    pub(crate) async fn job_results(
        self: &Arc<Self>,
        owner_id: &str,
        id: &str,
        format: &'static Format,
    ) -> Result<ResultStream, ApiError> {
        let job = self.owned_job(owner_id, id).await?;
        let download = self.jobs.downloads.take(owner_id)?;
        let places = self.places(&job.id).await?;
        let book = match &job.book_id {
            Some(id) => self.store.own_book(&job.owner_id, id).await?,
            None => None,
        };
        let chart = chart_of(book.as_ref())?;
        let options = Options { chart, coins: coin_symbols(&self.reader.registry), prices: None, scratch };
        let (send, pieces) = mpsc::channel(PIECES_WAITING);
        let decided_in = match book {
            Some(book) if self.store.has_decisions(&book.id).await? => Some(book),
            _ => None,
        };
        let (store, runtime, job_id) = (self.store.clone(), Handle::current(), job.id);
        let rows = Rows { store, runtime, job_id, decided_in, held: VecDeque::new() };
        tokio::task::spawn_blocking(move || {
            let _download = download;
            let mut out = BufWriter::with_capacity(PIECE_BYTES, Pieces(send.clone()));
            let written = rows.write(&places, format, &options, &mut out).and_then(|()| out.flush());
            if let Err(error) = written {
                tracing::warn!(%error, "the results of a job broke off");
                // A caller who has gone needs no news.
                let _ = send.blocking_send(Err(error));
            }
        });
        Ok(ResultStream(pieces))
    }

    /// The rows that were read, by the time of their transactions.
    async fn places(&self, job_id: &str) -> Result<Vec<Place>, ApiError> {
        let mut places = Vec::new();
        let mut first = 0_i64;
        loop {
            let parts = self.store.part_times(job_id, first, PARTS_LOADED).await?;
            let Some(last) = parts.last() else { break };
            first = last.number.saturating_add(1);
            for part in &parts {
                let (Some(times), Ok(number)) = (&part.times, u32::try_from(part.number)) else { continue };
                let times = unpack_times(times).into_iter().zip(0..=u8::MAX).filter(|(time, _)| is_read(*time));
                places.extend(times.map(|(time, at)| Place { time, part: number, at }));
            }
        }
        places.sort_unstable_by_key(|place| (place.time, place.part, place.at));
        Ok(places)
    }
}

const _: () = assert!(BATCH_ITEMS_MAX <= 256, "a row of a part is found by one byte");

/// Where a row is.
#[derive(Debug, Clone, Copy)]
struct Place {
    time: i64,
    part: u32,
    at: u8,
}

/// The rows of a job, from the store. Used outside of the runtime's own threads.
struct Rows {
    store: Store,
    runtime: Handle,
    job_id: String,
    /// The job's book, where anything was decided in it.
    decided_in: Option<BookRow>,
    held: VecDeque<(u32, Vec<HeldRow>)>,
}

/// An answer as JSON, and what people decided on it.
struct HeldRow {
    line: String,
    decision: Option<books::decision::Decision>,
}

impl Rows {
    fn write(mut self, places: &[Place], format: &Format, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        if format.name == JSON_LINES {
            for place in places {
                self.row(place)?.write(out)?;
            }
            return Ok(());
        }
        let mut rows = places.iter().filter(|place| !is_failed(place.time)).map(|place| {
            let HeldRow { line, decision } = self.row(place)?;
            Ok(Reading { row: serde_json::from_str::<Classification>(line)?, decision: decision.clone() })
        });
        format.write(&mut rows, options, out)
    }

    /// The answers of a part, each with what people decided on it.
    fn with_decisions(&self, lines: Vec<String>) -> io::Result<Vec<HeldRow>> {
        let mut rows: Vec<HeldRow> = lines.into_iter().map(|line| HeldRow { line, decision: None }).collect();
        let Some(book) = &self.decided_in else { return Ok(rows) };
        let keys: Vec<Option<RowKey>> = rows.iter().map(|row| decided_key(&row.line)).collect();
        let asked: Vec<RowKey> = keys.iter().flatten().cloned().collect();
        let decisions = self.runtime.block_on(self.store.decisions(&book.id, &asked)).map_err(io::Error::other)?;
        for (row, key) in rows.iter_mut().zip(&keys) {
            let Some(key) = key else { continue };
            let decision = decisions.iter().find(|found| found.hash == key.hash && found.wallet == key.wallet);
            row.decision = decision.map(|decision| told(decision, book));
        }
        Ok(rows)
    }

    fn row(&mut self, place: &Place) -> io::Result<&HeldRow> {
        let known = self.held.iter().position(|(number, _)| *number == place.part);
        let at = match known {
            Some(at) => at,
            None => {
                let answers = self.store.part_answers(&self.job_id, i64::from(place.part));
                let answers = self.runtime.block_on(answers).map_err(io::Error::other)?;
                let answers = answers.ok_or_else(|| io::Error::other("the job is gone"))?;
                self.held.truncate(PARTS_HELD.saturating_sub(1));
                let rows = self.with_decisions(unpack_lines(&answers)?)?;
                self.held.push_front((place.part, rows));
                0
            }
        };
        let rows = self.held.get(at).map(|(_, rows)| rows);
        let row = rows.and_then(|rows| rows.get(usize::from(place.at)));
        row.ok_or_else(|| io::Error::other("a row of the job is missing"))
    }
}

impl HeldRow {
    /// As a line of JSON, the decision beside the verdict.
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match (&self.decision, self.line.strip_suffix('}')) {
            (Some(decision), Some(open)) => {
                write!(out, "{open},\"decision\":")?;
                serde_json::to_writer(&mut *out, decision)?;
                out.write_all(b"}\n")
            }
            _ => writeln!(out, "{}", self.line),
        }
    }
}

/// The row of the book that an answer is of.
fn decided_key(line: &str) -> Option<RowKey> {
    #[derive(Deserialize)]
    struct Answer {
        hash: String,
        #[serde(default)]
        perspective: String,
    }
    let answer: Answer = serde_json::from_str(line).ok()?;
    Some(RowKey { hash: answer.hash, wallet: answer.perspective })
}

/// A decision as the results tell it. Whoever has left has no address any more.
fn told(decision: &Decision, book: &BookRow) -> books::decision::Decision {
    let address = |email: &String| Some(email.clone()).filter(|email| email.contains('@'));
    books::decision::Decision {
        category: decision.category.clone(),
        treatment: Some(decision.treatment.clone()).filter(|treatment| !treatment.is_empty()),
        comment: decision.comment.clone(),
        by: address(&decision.decided_by),
        at: time(decision.decided_at),
        needs_signature: book.needs_second,
        signed_by: decision.signed_by.as_ref().and_then(address),
        signed_at: decision.signed_at.map(time),
    }
}

/// Hands what is written to whoever reads the stream, and waits for them.
struct Pieces(mpsc::Sender<io::Result<Bytes>>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = Bytes::copy_from_slice(bytes);
        self.0.blocking_send(Ok(piece)).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
