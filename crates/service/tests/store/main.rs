//! The store's contract, held against both engines: SQLite in a folder, and a real PostgreSQL server that `tools/postgres` starts.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail loudly"
)]

mod accounts;
mod backup;
mod books;
mod decisions;
mod engines;
mod history;
mod jobs;
mod keys;
mod ledger;
mod listing;
mod migrations;
mod model;
mod outbox;
mod own_books;
mod webhooks;
mod windows;
