//! The binary `taxon`: the service and its command line.

mod app;
mod cli;
mod config;
mod error;
mod keys;
mod rest;

use std::process::ExitCode;

fn main() -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return cli::report(&error.into()),
    };
    match runtime.block_on(cli::run()) {
        Ok(code) => code,
        Err(error) => cli::report(&error),
    }
}
