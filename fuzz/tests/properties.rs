//! The engine's targets on the stable toolchain: what is kept, and strange variants of it.

use fuzz::Shape::{Bytes, Json};
use fuzz::{engine, facts, properties};

#[test]
fn answers_of_evm_nodes() {
    properties(("evm_answers", engine::evm_answers), Json, 200);
}

#[test]
fn answers_of_solana_nodes() {
    properties(("solana_answer", engine::solana_answer), Json, 200);
}

#[test]
fn logs_of_strangers() {
    properties(("logs", engine::logs), Bytes, 200);
}

#[test]
fn calldata_of_strangers() {
    properties(("calldata", engine::calldata), Bytes, 200);
}

#[test]
fn packs_of_operators() {
    properties(("rule_pack", engine::rule_pack), Bytes, 50);
}

#[test]
fn words_of_requests() {
    properties(("words", engine::words), Bytes, 1_000);
}

#[test]
fn rows_of_facts() {
    properties(("facts_row", facts::row), Json, 300);
}
