//! Whether a pool is genuine: its address is a function of a known factory, its tokens and its fee, so it can be
//! proved without asking anyone.

use alloy_primitives::{Address, B256, U256, keccak256};

use crate::asset::{Account, Asset, Movement};
use crate::rules::file::Derive;
use crate::rules::{Factory, Known};

/// Distinct tokens seen at one pool that are tried as its pair.
const POOL_TOKENS_MAX: usize = 4;

/// In place of a fee.
pub const VOLATILE: u32 = 0;
pub const STABLE: u32 = 1;

/// Whether any factory made this pool: forks of Solidly are tried with v2, those of Algebra with v3.
pub fn is_made(known: &Known<'_>, movements: &[Movement], pool: Address) -> bool {
    [Derive::UniswapV2, Derive::UniswapV3].iter().any(|derive| maker(known, movements, pool, *derive).is_some())
}

/// The pack whose factory made this pool.
pub fn maker(known: &Known<'_>, movements: &[Movement], pool: Address, derive: Derive) -> Option<usize> {
    let tokens = tokens_of(movements, pool);
    let pairs = tokens.iter().enumerate().flat_map(|(at, first)| {
        tokens.iter().skip(at.saturating_add(1)).map(move |second| (*first.min(second), *first.max(second)))
    });
    let solidly = |low, high| {
        let mut kinds = [VOLATILE, STABLE].into_iter();
        kinds.find_map(|kind| made_by(known, pool, Derive::Solidly, (low, high, kind)))
    };
    pairs.into_iter().find_map(|(low, high)| match derive {
        // Forks of Solidly log the same events as Uniswap v2, those of Velodrome v2 events of their own.
        Derive::UniswapV2 => made_by(known, pool, derive, (low, high, 0)).or_else(|| solidly(low, high)),
        Derive::Solidly => solidly(low, high),
        // Both log the same events.
        Derive::UniswapV3 | Derive::Algebra => {
            let mut fees = known.fees().iter();
            let by_fee = fees.find_map(|fee| made_by(known, pool, Derive::UniswapV3, (low, high, *fee)));
            by_fee.or_else(|| made_by(known, pool, Derive::Algebra, (low, high, 0)))
        }
    })
}

/// The address of this factory's pool of the two tokens, lower address first.
pub fn address(factory: &Factory, low: Address, high: Address, fee: u32) -> Address {
    factory.deployer.create2(salt(factory.derive, low, high, fee), factory.init_code_hash)
}

/// Hashing is the cost of a proof, so nothing is hashed for factories that do not exist on this chain.
fn made_by(
    known: &Known<'_>,
    pool: Address,
    derive: Derive,
    (low, high, fee): (Address, Address, u32),
) -> Option<usize> {
    let knows = |factory: &&Factory| derive != Derive::UniswapV3 || factory.fees.contains(&fee);
    let mut candidates = known.factories(derive).filter(knows).peekable();
    candidates.peek()?;
    let salt = salt(derive, low, high, fee);
    candidates
        .find(|factory| factory.deployer.create2(salt, factory.init_code_hash) == pool)
        .map(|factory| factory.pack)
}

fn tokens_of(movements: &[Movement], pool: Address) -> Vec<Address> {
    let account = Account::from(pool);
    let mut tokens = Vec::new();
    for m in movements.iter().filter(|m| m.from == account || m.to == account) {
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

/// v2 and Solidly pack the tokens end to end; v3 and its forks encode them as words.
fn salt(derive: Derive, low: Address, high: Address, fee: u32) -> B256 {
    let [low_word, high_word] = [low.into_word(), high.into_word()];
    match derive {
        Derive::UniswapV2 => keccak256([low.as_slice(), high.as_slice()].concat()),
        Derive::Solidly => keccak256([low.as_slice(), high.as_slice(), &[u8::from(fee == STABLE)]].concat()),
        Derive::UniswapV3 => keccak256([low_word.0, high_word.0, U256::from(fee).to_be_bytes()].concat()),
        Derive::Algebra => keccak256([low_word.0, high_word.0].concat()),
    }
}
