//! What must hold for any bytes from outside. A target is a function over bytes that panics when its property is broken; the same function
//! runs here in two ways: as a property on the stable toolchain (`properties`), and under libFuzzer (`targets/`, `fuzz/run`).
//!
//! The engine's parsers and those of rows of facts are public, so their targets are in `engine` and `facts`. Those of `chains` and `taxon` are private: their targets are
//! inside, in a module `fuzzing` that only tests and the feature of that name compile.

pub mod contract;
pub mod engine;
pub mod facts;
pub mod kept;
pub mod strangers;

use proptest::test_runner::{Config, TestRunner};

/// What a target is called, and what it holds.
pub type Target = (&'static str, fn(&[u8]));

/// How the seeds of a target are mutated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Bytes,
    /// Each line is a JSON value of its own; what follows a blank line too.
    Json,
}

/// Multiplies the cases of every property, to look for longer: `FUZZ_ROUNDS=100 cargo test …`.
const ROUNDS: &str = "FUZZ_ROUNDS";

/// Runs a target over everything that is kept for it, and over mutated variants of its seeds.
pub fn properties((name, check): Target, shape: Shape, cases: u32) {
    kept::replay(name, check);
    let seeds = kept::seeds(name);
    let rounds = std::env::var(ROUNDS).ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let config = Config { cases: cases.saturating_mul(rounds), failure_persistence: None, ..Config::default() };
    let outcome = match shape {
        Shape::Bytes => TestRunner::new(config).run(&strangers::bytes(seeds), |bytes| {
            check(&bytes);
            Ok(())
        }),
        Shape::Json => TestRunner::new(config).run(&strangers::json(seeds), |bytes| {
            check(&bytes);
            Ok(())
        }),
    };
    let said = outcome.map_err(|fault| fault.to_string());
    assert!(said.is_ok(), "{name}: {said:?}; keep the bytes under fuzz/found/{name}/");
}
