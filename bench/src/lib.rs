//! What the benchmarks share: the release binary as a process, an upstream that answers from the demo recording, load from `wrk`, and
//! figures. Every program prints what a person reads and, last, one `name value` a line, which `bench/run` gathers.

pub mod chart;
pub mod client;
pub mod corpus;
pub mod figures;
pub mod goals;
pub mod ledger;
pub mod monthly;
pub mod nats;
pub mod postgres;
pub mod process;
pub mod recorded;
pub mod service;
pub mod simulation;
pub mod times;
pub mod upstream;
pub mod wrk;
