//! The one writer of the ledger, on a thread of its own. Concurrent calls share a transaction (group commit), so that one flush to disk
//! serves them all.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use super::super::StoreError;
use super::super::turn::{Turn, Turned};
use super::checkpoints::{LOG_BYTES, LOG_PAGES_MAX};
use super::{BUSY_SECONDS_MAX, Gate, turns};

/// Turns that share one commit.
const GROUP_MAX: usize = 256;
/// Queued turns; past it callers wait for room in the queue.
const QUEUE_MAX: usize = 1_024;
/// All statements of a turn stay prepared.
const STATEMENTS_MAX: usize = 32;

#[derive(Debug, Clone)]
pub(super) struct TurnWriter {
    queue: mpsc::Sender<TurnJob>,
}

#[derive(Debug)]
struct TurnJob {
    turn: Turn,
    now: i64,
    reply: oneshot::Sender<Result<Turned, String>>,
}

impl TurnWriter {
    pub(super) fn start(path: &Path, gate: Gate) -> Result<Self, StoreError> {
        let unusable =
            |error: &dyn std::error::Error| StoreError::Unusable(format!("the ledger cannot be opened: {error}"));
        let connection = open(path).map_err(|error| unusable(&error))?;
        let (queue, jobs) = mpsc::channel(QUEUE_MAX);
        let thread =
            std::thread::Builder::new().name("ledger".to_owned()).spawn(move || write(connection, jobs, &gate));
        thread.map_err(|error| unusable(&error))?;
        Ok(Self { queue })
    }

    pub(super) async fn turn(&self, turn: Turn, now: i64) -> Result<Turned, StoreError> {
        let gone = || StoreError::Unusable("the ledger's writer has stopped".to_owned());
        let (reply, answer) = oneshot::channel();
        self.queue.send(TurnJob { turn, now, reply }).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?.map_err(StoreError::Unusable)
    }
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(BUSY_SECONDS_MAX))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES_MAX)?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    Ok(connection)
}

fn write(mut connection: Connection, mut jobs: mpsc::Receiver<TurnJob>, gate: &Gate) {
    let mut group = Vec::new();
    let mut is_flushed = true;
    while jobs.blocking_recv_many(&mut group, GROUP_MAX) > 0 {
        let turn = gate.blocking_lock();
        // Turns that arrived while this waited for the gate share the commit.
        while group.len() < GROUP_MAX
            && let Ok(job) = jobs.try_recv()
        {
            group.push(job);
        }
        let done = commit(&mut connection, &group, &mut is_flushed);
        drop(turn);
        match done {
            Ok(answers) => {
                for (job, answer) in group.drain(..).zip(answers) {
                    // A caller that has gone away needs no answer.
                    let _ = job.reply.send(Ok(answer));
                }
            }
            Err(error) => {
                for job in group.drain(..) {
                    let _ = job.reply.send(Err(format!("the ledger could not be written: {error}")));
                }
            }
        }
    }
}

/// All turns of the group or none: an error here is the disk's or the database's, never one caller's.
fn commit(connection: &mut Connection, group: &[TurnJob], is_flushed: &mut bool) -> rusqlite::Result<Vec<Turned>> {
    // Losing a reservation in a crash equals its expiry; only settled rows must be on disk.
    let must_flush = group.iter().any(|job| !job.turn.settled.is_empty());
    if must_flush != *is_flushed {
        connection.pragma_update(None, "synchronous", if must_flush { "FULL" } else { "NORMAL" })?;
        *is_flushed = must_flush;
    }
    // Takes the write lock at once, so that a second writer waits at the start instead of failing midway.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let answers = group.iter().map(|job| turns::turn(&transaction, &job.turn, job.now)).collect::<Result<_, _>>()?;
    transaction.commit()?;
    Ok(answers)
}
