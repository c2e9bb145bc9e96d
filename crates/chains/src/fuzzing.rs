//! Targets of `fuzz/` over what comes from upstream, and over the files that name it. Only tests and the feature `fuzzing` compile this.

use std::sync::{Arc, LazyLock};

use alloy_sol_types::SolCall;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::token::TOKEN_TEXT_BYTES_MAX;
use engine::{Classification, Knowledge, Missing, NEED_ROUNDS_MAX, Question, Read, Token, TxHash};
use fuzz::contract;
use tokio::runtime::{Builder, Runtime};

use crate::evm::tokens::{aggregate3Call, number, text};
pub use crate::rpc::fuzzing::rpc_body;
use crate::solana::mints::{of_metadata, of_mint};
use crate::{FetchError, Forgetful, Registry, Tape, TokenMemory, UPSTREAM_CODES, Upstreams, tape_node};

/// A shorter address holds no credential.
const SECRET_BYTES_MIN: usize = 12;
const DEMO_CHAINS: &str = include_str!("../../../demo/chain.toml");

#[expect(clippy::expect_used, reason = "without rules and chains there is nothing to hold")]
static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| Knowledge::embedded().expect("embedded packs load"));
#[expect(clippy::expect_used, reason = "without rules and chains there is nothing to hold")]
static REGISTRY: LazyLock<Registry> = LazyLock::new(|| Registry::embedded().expect("chains.toml loads"));
#[expect(clippy::expect_used, reason = "without a runtime nothing is fetched")]
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_time().build().expect("a runtime"));

/// What tokens and mints say of themselves, as each parser takes it: text is bounded and cut on a character, and decimals fit a byte.
pub fn token_text(bytes: &[u8]) {
    let is_bounded = |said: &str| !said.is_empty() && said.len() <= TOKEN_TEXT_BYTES_MAX;
    assert!(text(bytes).is_none_or(|said| is_bounded(&said)));
    if let Some(decimals) = number(bytes) {
        let word = bytes.first_chunk::<32>().map(|word| word.split_last());
        assert!(matches!(word, Some(Some((last, rest))) if *last == decimals && rest.iter().all(|byte| *byte == 0)));
    }
    if let Ok(results) = aggregate3Call::abi_decode_returns(bytes) {
        assert!(results.iter().all(|result| result.returnData.len() <= bytes.len()));
    }
    let encoded = STANDARD.encode(bytes);
    for token in [of_mint(&encoded), of_metadata(&encoded)].into_iter().flatten() {
        let Token { symbol, name, decimals, is_erc721 } = token;
        assert!([symbol, name].into_iter().flatten().all(|said| is_bounded(Token::clip(&said))));
        assert!(decimals.is_none() && !is_erc721, "the account's own decimals are not read here");
    }
}

/// A tape of one transaction, whose first line names its hash: the whole trip from a node's answers to a reading. It ends in a documented
/// failure, or in a reading of that very transaction that keeps the contract.
pub fn tape_trip(bytes: &[u8]) {
    let Ok(lines) = std::str::from_utf8(bytes) else { return };
    let Ok(tape) = Tape::read(lines) else { return };
    let first = lines.lines().next().and_then(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let name = first.as_ref().and_then(|first| first.pointer("/params/0")).and_then(serde_json::Value::as_str);
    let Some(hash) = name.and_then(|name| TxHash::parse(name).ok()) else { return };
    let upstreams = demo(tape);
    let question = Question { explain: true, ..Question::default() };
    let trip = async {
        let mut fetched = upstreams.fetch(hash, None).await?;
        for _ in 0..NEED_ROUNDS_MAX {
            let Ok(Read::Needs(needs)) = engine::read(fetched.facts(), &question, &KNOWLEDGE, Missing::Ask) else {
                break;
            };
            fetched = fetched.answer(&needs).await?;
        }
        Ok(engine::read(fetched.facts(), &question, &KNOWLEDGE, Missing::Accept))
    };
    match RUNTIME.block_on(trip) {
        Ok(answer) => {
            let answer: Option<Classification> = answer.ok().and_then(Read::done);
            assert!(answer.is_some(), "whoever acts is a party");
            if let Some(answer) = answer {
                contract::holds(&answer);
                assert_eq!(answer.hash, Some(hash.to_string()));
            }
        }
        Err(FetchError::Upstream { error, .. }) => assert!(UPSTREAM_CODES.contains(&error.code())),
        Err(FetchError::NotDetected | FetchError::NotYetMined { .. }) => {}
        Err(FetchError::NoBlock { .. }) => unreachable!("no block was asked for"),
        Err(FetchError::NotFound { .. }) => assert!(lines.is_empty(), "no chain was named"),
    }
}

fn demo(tape: Tape) -> Upstreams {
    let mut registry = REGISTRY.clone();
    let added = registry.add(DEMO_CHAINS);
    assert!(added.is_ok(), "{added:?}");
    let tape = Arc::new(tape);
    let node = |slug: &&str| registry.find(slug).map(|chain| tape_node(chain, &tape));
    let memory: Arc<dyn TokenMemory> = Arc::new(Forgetful);
    Upstreams::new(["demo", "demo-solana"].iter().filter_map(node), &memory)
}

/// Chains of an operator: refused with a reason that quotes no endpoint, or each of them is found under every name that it has, and nothing else is.
pub fn chain_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut registry = REGISTRY.clone();
    if let Err(error) = registry.add(text) {
        let said = error.to_string();
        let mut endpoints =
            text.split('"').filter(|quoted| quoted.starts_with("http") && quoted.len() >= SECRET_BYTES_MIN);
        return assert!(!said.is_empty() && !endpoints.any(|endpoint| said.contains(endpoint)), "{said}");
    }
    for chain in registry.chains() {
        let id = chain.chain_id.map(|id| id.to_string());
        for name in chain.aliases.iter().chain(&id).chain([&chain.slug]) {
            assert_eq!(registry.find(name).map(|found| &found.slug), Some(&chain.slug), "{name}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuzz::Shape::{Bytes, Json};
    use fuzz::properties;

    #[test]
    fn bodies_of_endpoints() {
        properties(("rpc_body", rpc_body), Bytes, 2_000);
    }

    #[test]
    fn texts_of_tokens() {
        properties(("token_text", token_text), Bytes, 2_000);
    }

    #[test]
    fn trips_over_strange_tapes() {
        properties(("tape_trip", tape_trip), Json, 200);
    }

    #[test]
    fn chains_of_operators() {
        properties(("chain_file", chain_file), Bytes, 200);
    }
}
