//! The pure core of taxon: facts in, verdict out.
//!
//! The whole trip on one page: `read` what moved and for whom, let each source `opine`, `adjudicate` their opinions into one
//! reading, and `present` it under the caller's policy. Nothing here does IO, waits, reads a clock or fails on odd
//! data: the shell answers the engine's `needs` and asks again.

pub mod adjudicate;
pub mod amount;
pub mod asset;
mod base58;
pub mod cases;
pub mod category;
pub mod chain;
pub mod classification;
pub mod confidence;
pub mod describe;
pub mod evm;
pub mod hash;
pub mod knowledge;
pub mod legs;
pub mod needs;
pub mod opinion;
pub mod policy;
pub mod position;
pub mod present;
pub mod printed;
pub mod question;
pub mod rules;
pub mod scene;
pub mod solana;
pub mod sources;
pub mod steps;
pub mod treatments;

pub use asset::Account;
pub use category::Category;
pub use chain::{Chain, Family};
pub use classification::Classification;
pub use evm::EvmFacts;
pub use hash::TxHash;
pub use knowledge::Knowledge;
pub use needs::{NEED_ROUNDS_MAX, Need, needs};
pub use policy::Policy;
pub use question::Question;
pub use rules::Rules;
pub use scene::WalletNotInTransaction;
pub use solana::SolanaFacts;
pub use treatments::{Treatment, Treatments};

/// Same facts, same question and same rules give the same bytes.
pub fn classify(
    facts: &EvmFacts,
    question: &Question,
    knowledge: &Knowledge,
) -> Result<Classification, WalletNotInTransaction> {
    let rules = &knowledge.rules;
    let scene = evm::scene::read(facts, question, rules)?;
    let opinions = sources::opine(&scene, rules);
    let reading = adjudicate::adjudicate(&scene, opinions);
    let reading = adjudicate::settle(
        &scene,
        reading,
        question,
        || sources::protocol::called(&scene, rules),
        || sources::protocol::named(&scene, rules),
    );
    Ok(present::present(&scene, &reading, question, knowledge))
}

/// The same trip for the second family.
pub fn classify_solana(
    facts: &SolanaFacts,
    question: &Question,
    knowledge: &Knowledge,
) -> Result<Classification, WalletNotInTransaction> {
    let rules = &knowledge.rules;
    let scene = solana::scene::read(facts, question, rules)?;
    let opinions = solana::opine::opine(&scene, rules);
    let reading = adjudicate::adjudicate(&scene, opinions);
    let called = || solana::opine::called(&scene, rules);
    let reading = adjudicate::settle(&scene, reading, question, called, || solana::opine::named(&scene, rules));
    Ok(present::present(&scene, &reading, question, knowledge))
}
