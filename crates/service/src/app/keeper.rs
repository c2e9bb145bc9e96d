//! Facts that are kept as files while transactions are read (`facts::FactsWriter`). One thread writes; whoever reads waits where it cannot keep up.

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use engine::{Account, Facts};
use facts::{FactsWriter, Kept};
use tokio::sync::mpsc;

/// Transactions that wait to be written. A large one has megabytes.
const WAITING_MAX: usize = 256;

type Row = (Facts, Option<Account>);

#[derive(Debug)]
pub(crate) struct FactsKeeper {
    /// Gone once it was closed.
    rows: Mutex<Option<mpsc::Sender<Row>>>,
    writer: Mutex<Option<JoinHandle<io::Result<Kept>>>>,
}

impl FactsKeeper {
    pub(crate) fn start(folder: &Path) -> io::Result<Self> {
        let mut writer = FactsWriter::new(folder)?;
        let (rows, mut waiting) = mpsc::channel::<Row>(WAITING_MAX);
        let write = move || {
            while let Some((facts, wallet)) = waiting.blocking_recv() {
                writer.append(&facts, wallet).inspect_err(|error| tracing::error!(%error, "facts are not kept"))?;
            }
            writer.close()
        };
        let writer = std::thread::Builder::new().name("facts".to_owned()).spawn(write)?;
        Ok(Self { rows: Mutex::new(Some(rows)), writer: Mutex::new(Some(writer)) })
    }

    /// A failure to write costs no reading: it is logged, and `close` tells it.
    pub(super) async fn keep(&self, facts: &Facts, wallet: Option<Account>) {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(rows) = rows {
            let _ = rows.send((facts.clone(), wallet)).await;
        }
    }

    /// Finishes the last file. What is read later is not kept.
    pub(crate) async fn close(&self) -> io::Result<Kept> {
        drop(self.rows.lock().unwrap_or_else(PoisonError::into_inner).take());
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let writer = writer.ok_or_else(|| io::Error::other("facts were closed before"))?;
        let joined = tokio::task::spawn_blocking(move || writer.join()).await.map_err(io::Error::other)?;
        joined.map_err(|_| io::Error::other("the writer of facts panicked"))?
    }
}
