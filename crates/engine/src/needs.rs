//! What the engine can ask for. It names what it lacks and never fetches: the shell fetches in bulk and reads again.

use crate::asset::Account;
use crate::legs::Leg;

/// How often the shell answers and reads again.
pub const NEED_ROUNDS_MAX: usize = 4;
/// Tokens of one transaction whose metadata is asked for in one round; the legs of further tokens have no symbol.
pub const TOKENS_MAX: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Native coin passed on inside the transaction.
    InternalValue,
    /// The account's balance before and after the block.
    Balance(Account),
    /// What the holder has of a token before and after the block: its balance, and the first word of the view with this selector.
    Holding { token: Account, holder: Account, shares: [u8; 4] },
    /// What the giver gave the taker of a token in earlier blocks, less what came back.
    Given { token: Account, giver: Account, taker: Account },
    /// What a contract answers about another: the first word of the view with this selector. `anytime`: the head may tell where no node has the
    /// state of the transaction's block.
    Vouched { asked: Account, selector: [u8; 4], contract: Account, anytime: bool },
    /// The contract's code before the block, and the beacon that it followed.
    Code(Account),
    /// What a token contract or mint says of itself.
    Token(Account),
}

/// The tokens among these legs of which nothing was asked yet, each once and in order.
pub(crate) fn unknown_tokens<'a>(
    legs: impl Iterator<Item = &'a Leg>,
    is_known: impl Fn(&Account) -> bool,
) -> impl Iterator<Item = Need> {
    let contracts = legs.filter_map(|leg| leg.asset.contract());
    let mut unknown: Vec<Account> = contracts.filter(|contract| !is_known(contract)).collect();
    unknown.sort_unstable();
    unknown.dedup();
    unknown.into_iter().take(TOKENS_MAX).map(Need::Token)
}
