//! From files of facts to verdicts, on all processors. Rows are read in one place and written in one place, in their order; between the two each thread
//! works on a batch of its own. No more than a few batches and one row group of the output are held.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read, Seek, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::{Account, Classification, Facts, Knowledge, Missing, Question, Read as EngineRead, Registry};

use crate::error::{FileError, RowError, shown};
use crate::file::{Batch, FactsFile};
use crate::row::Row;
use crate::verdicts::{Draft, Output, Part};

/// Batches that may wait for their turn to be written, for each thread.
const WAITING_PER_THREAD_MAX: usize = 4;
/// Rows that are unpacked before the first of them is read.
const ROWS_A_ROUND: usize = 16;
/// As the service has them.
const UNCONCERNED: &str = "wallet_not_in_transaction";
const INTERNAL: &str = "internal";

/// What is asked of every row, and by which knowledge it is answered.
#[derive(Debug)]
pub struct Plan<'a> {
    pub knowledge: &'a Knowledge,
    pub chains: &'a Registry,
    pub question: &'a Question,
    pub threads: usize,
}

/// A row that was not classified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: &'static str,
    pub reason: String,
}

impl From<RowError> for Refusal {
    fn from(error: RowError) -> Self {
        Self { code: error.code(), reason: error.to_string() }
    }
}

/// What the engine says of a row. `question` is the plan's, with the row's own wallet where it has one.
pub fn classify(plan: &Plan<'_>, row: &Row<'_>) -> Result<Classification, Refusal> {
    read(plan, &row.facts(plan.chains)?)
}

/// A row's facts, and the wallet that it names.
type Unpacked = (Facts, Option<Account>);

fn read(plan: &Plan<'_>, (facts, wallet): &Unpacked) -> Result<Classification, Refusal> {
    let question = match *wallet {
        Some(_) => Cow::Owned(Question { wallet: *wallet, ..plan.question.clone() }),
        None => Cow::Borrowed(plan.question),
    };
    // Facts are anybody's: what should break the engine breaks one row.
    let read = catch_unwind(AssertUnwindSafe(|| engine::read(facts, &question, plan.knowledge, Missing::Accept)));
    let internal = || Refusal { code: INTERNAL, reason: "the engine failed on this row".to_owned() };
    match read {
        Ok(Ok(read)) => EngineRead::done(read).ok_or_else(internal),
        Ok(Err(error)) => Err(Refusal { code: UNCONCERNED, reason: error.to_string() }),
        Err(_) => Err(internal()),
    }
}

/// What came of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Done {
    pub rows: u64,
    pub reviews: u64,
    /// Rows of which the wallet that is asked for is no part.
    pub unconcerned: u64,
    /// Other rows with an error.
    pub failed: u64,
    /// Unpacking the facts' Parquet, the work of the threads between, and packing the verdicts', each over all threads.
    pub reading: Duration,
    pub working: Duration,
    pub writing: Duration,
}

impl Done {
    /// The share of the time that went to Parquet.
    pub fn parquet_share(&self) -> f64 {
        let parquet = self.reading.saturating_add(self.writing);
        let all = parquet.saturating_add(self.working);
        if all.is_zero() { 0.0 } else { parquet.div_duration_f64(all) }
    }

    fn count(&mut self, verdict: &Result<Classification, Refusal>) {
        let (is_review, is_unconcerned, is_failed) = match verdict {
            Ok(verdict) => (verdict.needs_review, false, false),
            Err(refusal) => (false, refusal.code == UNCONCERNED, refusal.code != UNCONCERNED),
        };
        self.rows = self.rows.saturating_add(1);
        self.reviews = self.reviews.saturating_add(is_review.into());
        self.unconcerned = self.unconcerned.saturating_add(is_unconcerned.into());
        self.failed = self.failed.saturating_add(is_failed.into());
    }

    fn add(&mut self, other: &Self) {
        self.rows = self.rows.saturating_add(other.rows);
        self.reviews = self.reviews.saturating_add(other.reviews);
        self.unconcerned = self.unconcerned.saturating_add(other.unconcerned);
        self.failed = self.failed.saturating_add(other.failed);
        self.reading = self.reading.saturating_add(other.reading);
        self.working = self.working.saturating_add(other.working);
        self.writing = self.writing.saturating_add(other.writing);
    }
}

/// Why there is no output.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("{}: {error}", shown(name))]
    File { name: String, error: FileError },
    #[error("{} cannot be read: {error}", shown(name))]
    Unreadable { name: String, error: io::Error },
    #[error("the verdicts cannot be written: {0}")]
    Output(io::Error),
    #[error("stopped")]
    Stopped,
}

/// A file by its name, which is opened when it is its turn.
pub type Input<R> = (String, io::Result<R>);

/// Reads every row of every file. `tell` hears how many rows more are done; nothing more is read once `stop` is set.
pub fn run<R: Read + Seek + Send, W: Write + Send>(
    plan: &Plan<'_>,
    inputs: impl Iterator<Item = Input<R>> + Send,
    output: Output<W>,
    tell: &(dyn Fn(usize) + Sync),
    stop: &AtomicBool,
) -> Result<(Done, W), Failure> {
    let has_columns = output.has_columns();
    let line = Line {
        source: Mutex::new(Source { inputs, file: None, next: 0 }),
        queue: Mutex::new(Queue { waiting: BTreeMap::new(), next: 0, is_writing: false, failure: None }),
        turn: Condvar::new(),
        output: Mutex::new(output),
        waiting_max: plan.threads.saturating_mul(WAITING_PER_THREAD_MAX),
        done: Mutex::new(Done::default()),
    };
    std::thread::scope(|scope| {
        for _ in 0..plan.threads.max(1) {
            scope.spawn(|| line.work(plan, has_columns, tell, stop));
        }
    });
    let queue = line.queue.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(failure) = queue.failure {
        return Err(failure);
    }
    let mut done = line.done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let output = line.output.into_inner().unwrap_or_else(PoisonError::into_inner);
    let began = Instant::now();
    let out = output.finish().map_err(Failure::Output)?;
    done.writing = done.writing.saturating_add(began.elapsed());
    Ok((done, out))
}

/// What the threads share.
struct Line<R, I, W: Write + Send> {
    source: Mutex<Source<R, I>>,
    queue: Mutex<Queue>,
    turn: Condvar,
    output: Mutex<Output<W>>,
    waiting_max: usize,
    done: Mutex<Done>,
}

struct Source<R, I> {
    inputs: I,
    file: Option<(Arc<str>, FactsFile<R>)>,
    /// The number of the next batch.
    next: u64,
}

/// Parts that wait for those before them.
struct Queue {
    waiting: BTreeMap<u64, Part>,
    next: u64,
    is_writing: bool,
    failure: Option<Failure>,
}

impl<R: Read + Seek + Send, I: Iterator<Item = Input<R>> + Send, W: Write + Send> Line<R, I, W> {
    fn work(&self, plan: &Plan<'_>, has_columns: bool, tell: &(dyn Fn(usize) + Sync), stop: &AtomicBool) {
        let mut done = Done::default();
        let mut batch = Batch::default();
        loop {
            let (taken, reading) = {
                let mut source = lock(&self.source);
                let began = Instant::now();
                (source.next(&mut batch, stop), began.elapsed())
            };
            done.reading = done.reading.saturating_add(reading);
            let (number, name) = match taken {
                Ok(Some(taken)) => taken,
                Ok(None) => break,
                Err(failure) => {
                    self.fail(failure);
                    break;
                }
            };
            let began = Instant::now();
            let part = part(plan, &batch, &name, has_columns, &mut done);
            done.working = done.working.saturating_add(began.elapsed());
            let is_open = match part {
                Ok(part) => self.hand_in(number, part, &mut done),
                Err(error) => self.fail(Failure::Output(error.into())),
            };
            if !is_open {
                break;
            }
            tell(batch.len());
        }
        lock(&self.done).add(&done);
    }

    /// Whoever hands in what is next writes it, and what waited for it. False when there is no use in going on.
    fn hand_in(&self, number: u64, part: Part, done: &mut Done) -> bool {
        let mut queue = lock(&self.queue);
        while queue.waiting.len() >= self.waiting_max && number != queue.next && queue.failure.is_none() {
            queue = self.turn.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.waiting.insert(number, part);
        while !queue.is_writing && queue.failure.is_none() {
            let next = queue.next;
            let Some(part) = queue.waiting.remove(&next) else { break };
            queue.is_writing = true;
            drop(queue);
            let began = Instant::now();
            let written = lock(&self.output).write(part);
            done.writing = done.writing.saturating_add(began.elapsed());
            queue = lock(&self.queue);
            queue.is_writing = false;
            queue.next = next.saturating_add(1);
            if let Err(error) = written {
                queue.failure.get_or_insert(Failure::Output(error));
            }
            self.turn.notify_all();
        }
        queue.failure.is_none()
    }

    fn fail(&self, failure: Failure) -> bool {
        lock(&self.queue).failure.get_or_insert(failure);
        self.turn.notify_all();
        false
    }
}

/// In three rounds over a few rows at a time, since each round runs through code of its own that the processor then has at hand.
fn part(plan: &Plan<'_>, batch: &Batch, name: &str, has_columns: bool, done: &mut Done) -> serde_json::Result<Part> {
    let mut draft = Draft::new(batch.len(), has_columns);
    let mut rows = batch.rows().zip(batch.first_row..);
    loop {
        let unpacked = |(row, at): (Result<Row<'_>, RowError>, usize)| {
            let hash = row.as_ref().ok().and_then(|row| row.hash.map(shown));
            (row.and_then(|row| row.facts(plan.chains)), hash, at)
        };
        let unpacked: Vec<_> = rows.by_ref().take(ROWS_A_ROUND).map(unpacked).collect();
        if unpacked.is_empty() {
            return Ok(draft.finish());
        }
        let verdict = |(facts, hash, at): (Result<Unpacked, RowError>, Option<String>, usize)| {
            let verdict = facts.map_err(Refusal::from).and_then(|facts| read(plan, &facts));
            done.count(&verdict);
            verdict.unwrap_or_else(|refusal| refused(plan, hash, &refusal, (name, at)))
        };
        let verdicts: Vec<_> = unpacked.into_iter().map(verdict).collect();
        for verdict in verdicts {
            draft.push(&verdict)?;
        }
    }
}

/// Says which row of which file it was.
fn refused(plan: &Plan<'_>, hash: Option<String>, refusal: &Refusal, (name, at): (&str, usize)) -> Classification {
    let reason = format!("row {at} of {}: {}", shown(name), refusal.reason);
    Classification::failed(hash, refusal.code, reason, plan.knowledge.engine.clone())
}

impl<R: Read + Seek, I: Iterator<Item = Input<R>>> Source<R, I> {
    /// The next rows: their number in the order of all, and the name of their file.
    fn next(&mut self, batch: &mut Batch, stop: &AtomicBool) -> Result<Option<(u64, Arc<str>)>, Failure> {
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(Failure::Stopped);
            }
            let Some((name, file)) = &mut self.file else {
                let Some((name, input)) = self.inputs.next() else { return Ok(None) };
                let input = input.map_err(|error| Failure::Unreadable { name: name.clone(), error })?;
                let file = FactsFile::open(input).map_err(|error| Failure::File { name: name.clone(), error })?;
                self.file = Some((name.into(), file));
                continue;
            };
            if file.next(batch).map_err(|error| Failure::File { name: name.to_string(), error })? {
                let number = self.next;
                self.next = number.saturating_add(1);
                return Ok(Some((number, Arc::clone(name))));
            }
            self.file = None;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
