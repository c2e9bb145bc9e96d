//! Whether a pool is what it says: its address is a function of a known factory, its tokens and its fee, so it can be
//! proved without asking anyone.

use alloy_primitives::{Address, B256, U256, keccak256};

use crate::asset::{Account, Asset};
use crate::evm::scene::Scene;
use crate::rules::Factory;
use crate::rules::file::Derive;

/// Distinct tokens seen at one pool that are tried as its pair.
const POOL_TOKENS_MAX: usize = 4;

/// The pack whose factory made this pool.
pub fn maker(scene: &Scene<'_>, pool: Address, derive: Derive) -> Option<usize> {
    let tokens = tokens_of(scene, pool);
    let pairs = tokens.iter().enumerate().flat_map(|(at, first)| {
        tokens.iter().skip(at.saturating_add(1)).map(move |second| (*first.min(second), *first.max(second)))
    });
    pairs.into_iter().find_map(|(low, high)| match derive {
        Derive::UniswapV2 => {
            let salt = keccak256([low.as_slice(), high.as_slice()].concat());
            made_by(scene, pool, derive, salt, |_| true)
        }
        Derive::UniswapV3 => scene.known.fees().iter().find_map(|fee| {
            made_by(scene, pool, derive, v3_salt(low, high, *fee), |factory| factory.fees.contains(fee))
        }),
    })
}

fn made_by(
    scene: &Scene<'_>,
    pool: Address,
    derive: Derive,
    salt: B256,
    knows: impl Fn(&Factory) -> bool,
) -> Option<usize> {
    let mut candidates = scene.known.factories(derive).filter(|factory| knows(factory));
    candidates
        .find(|factory| factory.deployer.create2(salt, factory.init_code_hash) == pool)
        .map(|factory| factory.pack)
}

fn tokens_of(scene: &Scene<'_>, pool: Address) -> Vec<Address> {
    let account = Account::from(pool);
    let mut tokens = Vec::new();
    for m in scene.movements.iter().filter(|m| m.from == account || m.to == account) {
        if let Asset::Token(token) = m.asset
            && let Some(token) = token.evm()
            && token != pool
            && !tokens.contains(&token)
            && tokens.len() < POOL_TOKENS_MAX
        {
            tokens.push(token);
        }
    }
    tokens
}

/// `keccak256(abi.encode(token0, token1, fee))`.
fn v3_salt(low: Address, high: Address, fee: u32) -> B256 {
    let words = [low.into_word().0, high.into_word().0, U256::from(fee).to_be_bytes()];
    keccak256(words.concat())
}
