//! The pure core of taxon: facts in, verdict out.
//!
//! `read` is the one entry. It reads what moved and for whom (the scene), lets each source `opine`, `adjudicate`s their
//! opinions into one reading, and writes the `answer`. Nothing here does IO, waits, reads a clock or
//! fails on odd data: where facts are missing, `read` names its needs, and the shell answers them and reads again.

pub mod adjudicate;
pub mod allocate;
pub mod amount;
pub mod answer;
pub mod asset;
pub mod asset_legs;
pub mod audit;
mod base58;
mod belief;
pub mod block;
pub mod books;
pub mod cases;
pub mod category;
pub mod chain;
pub mod classification;
pub mod confidence;
pub mod coverage;
pub mod describe;
pub mod evm;
pub mod facts;
pub mod hash;
mod json;
pub mod knowledge;
pub mod legs;
pub mod links;
pub mod needs;
mod on_the_way;
pub mod opinion;
mod passed_on;
pub mod policy;
pub mod position;
pub mod question;
pub mod read;
pub mod registry;
pub mod role;
pub mod rules;
pub mod scene;
pub mod shares;
pub mod solana;
pub mod sources;
pub mod steps;
pub mod token;
pub mod treatment;
pub mod treatments;
mod whose;

pub use asset::Account;
pub use block::Block;
pub use category::Category;
pub use chain::{Chain, Family, Quirks};
pub use classification::Classification;
pub use evm::EvmFacts;
pub use facts::Facts;
pub use hash::TxHash;
pub use knowledge::Knowledge;
pub use needs::{NEED_ROUNDS_MAX, Need};
pub use policy::Policy;
pub use question::Question;
pub use read::{Missing, Read, read};
pub use registry::Registry;
pub use rules::Rules;
pub use scene::WalletNotInTransaction;
pub use solana::SolanaFacts;
pub use token::Token;
pub use treatment::Treatment;
pub use treatments::{DISCLAIMER, Treatments};
