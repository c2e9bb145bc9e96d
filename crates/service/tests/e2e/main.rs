//! End to end, at the boundary that users see: the real binary over HTTP, against real local nodes (anvil) that run real
//! protocol bytecode, and against nodes that lie. Run `npm ci` in `tests/anvil` once before (`./test` does).

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail loudly"
)]

mod backup;
mod blocks;
mod bulk;
mod cache;
mod cli;
mod connections;
mod crash;
mod demo;
mod deploy;
mod docs;
mod doctor;
mod eval;
mod explorer;
mod facts;
mod faults;
mod finding;
mod fleet;
mod harness;
mod hostile;
mod instances;
mod jobs;
mod journal;
mod limits;
mod logs;
mod mcp;
mod meter;
mod metrics;
mod openapi;
mod pages;
mod proofs;
mod quota;
mod reading;
mod requests;
mod simulation;
mod solana;
mod upstream_use;
mod wallets;
mod webhooks;
