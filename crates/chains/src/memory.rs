//! The cache of token metadata, as the shell implements it: nothing here knows a database.

use std::fmt::Debug;
use std::sync::Arc;

use engine::{Account, Token};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// Tokens by chain and address. The implementation decides how long a token without metadata is cached.
pub trait TokenMemory: Debug + Send + Sync {
    /// What is in memory.
    fn known(&self, chain: &str, token: &Account) -> Option<Arc<Token>>;

    /// What is in slower storage, for tokens that are not in memory. It may be nothing.
    fn recall<'a>(&'a self, chain: &'a str, tokens: Vec<Account>) -> BoxFuture<'a, Vec<(Account, Arc<Token>)>>;

    fn keep(&self, chain: &str, token: Account, said: &Arc<Token>);
}

/// Caches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Forgetful;

impl TokenMemory for Forgetful {
    fn known(&self, _: &str, _: &Account) -> Option<Arc<Token>> {
        None
    }

    fn recall<'a>(&'a self, _: &'a str, _: Vec<Account>) -> BoxFuture<'a, Vec<(Account, Arc<Token>)>> {
        std::future::ready(Vec::new()).boxed()
    }

    fn keep(&self, _: &str, _: Account, _: &Arc<Token>) {}
}
