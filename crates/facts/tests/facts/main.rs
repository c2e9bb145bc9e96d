//! Rows and files of facts, from what real nodes said of the demo chains.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail loudly"
)]

mod demo;
mod files;
mod hostile;
mod rows;
