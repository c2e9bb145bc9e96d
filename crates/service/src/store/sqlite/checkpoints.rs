//! Checkpoints the WAL in the background. SQLite by itself does it inside the commit that fills the WAL, and then every writer waits for
//! the disk.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::Mutex;

use super::super::StoreError;
use super::{BUSY_SECONDS_MAX, Gate};

const PERIOD: Duration = Duration::from_millis(250);
/// A WAL up to this size is left alone. After a complete checkpoint the next writer restarts it and truncates it to this.
pub(super) const LOG_BYTES: u32 = 4 * 1024 * 1024;
/// Pages of the WAL at which a commit does the checkpoint after all, because the background thread did not.
pub(super) const LOG_PAGES_MAX: u32 = 20_000;

/// The thread ends when the last owner of the gate is dropped.
pub(super) fn start(path: &Path, gate: &Gate) -> Result<(), StoreError> {
    let unusable =
        |error: &dyn std::error::Error| StoreError::Unusable(format!("the database cannot be opened: {error}"));
    let connection = Connection::open(path).map_err(|error| unusable(&error))?;
    connection.busy_timeout(Duration::from_secs(BUSY_SECONDS_MAX)).map_err(|error| unusable(&error))?;
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let (log, gate) = (PathBuf::from(log), Arc::downgrade(gate));
    let thread = std::thread::Builder::new().name("checkpoints".to_owned());
    thread.spawn(move || keep_short(&connection, &log, &gate)).map_err(|error| unusable(&error))?;
    Ok(())
}

fn keep_short(connection: &Connection, log: &Path, gate: &Weak<Mutex<()>>) {
    loop {
        std::thread::sleep(PERIOD);
        let Some(gate) = gate.upgrade() else { return };
        let is_long = std::fs::metadata(log).is_ok_and(|log| log.len() > u64::from(LOG_BYTES));
        if is_long {
            // Most of it while others write, and the rest while holding the gate: only a completely checkpointed WAL is restarted.
            move_log(connection);
            let _turn = gate.blocking_lock();
            move_log(connection);
        }
    }
}

fn move_log(connection: &Connection) {
    let moved = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    if let Err(error) = moved {
        tracing::warn!(%error, "the database's log could not be moved into it");
    }
}
