//! taxon: the service and its command line. `main` is the program; `store` is open to benchmarks and to the contract tests.

mod accounts;
mod app;
mod auth;
mod cache;
mod cli;
mod config;
mod docs;
mod error;
mod fleet;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod history;
mod limits;
mod logs;
mod mcp;
mod meter;
mod metrics;
mod openapi;
mod pages;
mod rest;
mod router;
mod schema;
pub mod store;
mod text;
mod web;
mod webhooks;

use std::process::ExitCode;

pub fn main() -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return cli::report(&error.into()),
    };
    match runtime.block_on(cli::run()) {
        Ok(code) => code,
        Err(error) => cli::report(&error),
    }
}
