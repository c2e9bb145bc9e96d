//! The scene: one transaction as one wallet saw it, on whichever family of chains. Movements are legs, net per asset; what could not
//! be known is a doubt.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use alloy_primitives::{Address, U256, hex};

use crate::asset::{Account, Asset, Movement, Seen};
use crate::block::Block;
use crate::category::Category;
use crate::chain::Chain;
use crate::classification::Called;
use crate::evm::{EvmFacts, InternalValue, pools, proofs, vouched};
use crate::hash::TxHash;
use crate::legs::{Direction, Leg, position};
use crate::links::Links;
use crate::opinion::Strength;
use crate::question::Question;
use crate::rules::{Known, Rules};
use crate::shares::{MoveSet, Net};
use crate::solana::instructions::{self, TIP_LAMPORTS_MAX, WRAPPED_SOL};
use crate::solana::{Key, SolanaFacts};
use crate::token::Token;

/// Bytes by which a program of Solana tells its instructions apart: Anchor's discriminator.
const DISCRIMINATOR_BYTES: usize = 8;
/// Bytes of a function's selector on EVM.
const SELECTOR_BYTES: usize = 4;
/// Programs that are named where nothing is known of them.
const PROGRAMS_NAMED_MAX: usize = 3;
/// Up to so many movements it costs less to look at each than to compare assets in their order.
const FEW_MOVEMENTS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Succeeded,
    Failed,
}

/// A reason why the scene may not be complete. Each ends in a review, with its sentence in the note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    InternalValueUnknown,
    BalanceDelta,
    SeveralChains(Vec<String>),
    /// Nor could all chains be asked that may hold it.
    UnaskedChains(Vec<String>),
    /// Several accounts act in one transaction.
    SeveralActors(Vec<Account>),
    TooManyLogs(usize),
    TooManyLegs(usize),
    /// Movements of the wallet past the bound are not told apart.
    TooManyMovements(usize),
    /// Calls or claims past the bound were not looked at.
    TooManyClaims,
    /// Two claims of the same strength read the same legs differently.
    Rival(Category, Category),
    OutcomeUnknown,
    /// The wallet, or an account of it, was given to somebody else.
    HandedOver,
    /// Beside what a rule knows, the transaction moved something with somebody else.
    Mixed,
    /// More of what was traded than a fee went to this account, which gave nothing.
    PassedOn(Account),
    /// Of what was put somewhere, or came back, this account that nobody lists kept more than a fee, or added it.
    OnTheWay(Direction, Account),
    /// Income went out again in the same transaction, so that no leg shows it.
    NettedIncome,
    /// Balances that only their owners can read.
    Confidential,
    /// What it comes to is decided in another transaction.
    Unsettled,
    /// The position is this account's, or it sent it from another chain or gets it there.
    AnothersPosition(Account),
    /// The node no longer knows what the transaction did.
    EffectsUnknown,
    /// Accounts of lookup tables that the node did not load.
    AccountsUnknown,
    /// A token changed every balance, and what it came to for the wallet is not known.
    RebaseUnknown,
    /// A token made every balance smaller.
    RebasedDown,
    /// This token moved more than it logged.
    Underlogged(Account),
    /// The calldata is a text that indexers read as a transfer.
    Inscribed,
    /// The log of this number says that it moves something of the wallet's, and cannot be read.
    Unreadable(u64),
    /// The wallet paid for gas, and how much is not known: why.
    FeeUnknown(String),
    /// Why readings on this chain are left to a person.
    Caveat(String),
    /// Amounts that no ledger of 256 bits can hold: the contract's logs contradict themselves.
    AmountOverflow,
}

#[derive(Debug)]
pub struct Scene<'a> {
    pub chain: &'a Chain,
    pub hash: TxHash,
    pub block: Option<Block>,
    pub wallet: Account,
    /// Whether the wallet is the actor: a call counts only for its caller.
    pub acts: bool,
    /// Those for whom the sender submitted the transaction.
    pub carried: BTreeSet<Account>,
    /// Where several accounts act and the question names no wallet: each of them, with what moved for it. Empty otherwise.
    pub actors: Vec<(Account, Vec<Leg>)>,
    pub outcome: Outcome,
    /// What moved, but for what accrued.
    pub movements: Vec<Movement>,
    /// What the wallet's balances grew by, as their tokens state it.
    pub accruals: Vec<Accrual>,
    /// Interest on loans that is part of what was repaid, as the debt's token states it.
    pub interest_paid: Vec<Accrual>,
    pub legs: Vec<Leg>,
    /// What the wallet paid for gas; `None` when someone else paid.
    pub gas: Option<U256>,
    /// The token that gas was paid in; `None` is the native coin.
    pub gas_token: Option<Account>,
    pub doubts: Vec<Doubt>,
    pub ground: Ground<'a>,
    pub own: OnceCell<Vec<Own>>,
    pub own_groups: OnceCell<Vec<Option<usize>>>,
    pub own_amounts: OnceCell<Vec<U256>>,
    pub leg_ranges: OnceCell<Vec<Range<usize>>>,
    pub links: OnceCell<Links>,
    pub exchanged: OnceCell<Vec<usize>>,
    pub given_up: OnceCell<Vec<(Account, Asset)>>,
}

/// What a balance grew by since the chain last told, which is minted together with what was put in or taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accrual {
    pub asset: Asset,
    /// Interest earned, a rebase, or interest paid.
    pub means: Category,
    pub amount: U256,
    pub at: Seen,
    pub rule: Arc<str>,
    pub pack: usize,
    pub strength: Strength,
}

/// A movement between the wallet and somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Own {
    pub direction: Direction,
    pub asset: Asset,
    pub amount: U256,
    pub other: Account,
}

impl Own {
    /// Whose act it was: a mint or a burn is the token's own.
    pub fn counterparty(&self) -> Account {
        if self.other.is_zero() { self.asset.contract().unwrap_or(self.other) } else { self.other }
    }
}

/// Where the family's own facts are looked up.
#[derive(Debug, Clone)]
pub enum Ground<'a> {
    /// `is_coin_known`: a trace shows what coin moved, or it is proved without one.
    Evm {
        facts: &'a EvmFacts,
        known: Known<'a>,
        is_coin_known: bool,
    },
    Solana {
        facts: &'a SolanaFacts,
        rules: &'a Rules,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the wallet is neither sender, recipient nor party to any movement or log of the transaction")]
pub struct WalletNotInTransaction;

impl Scene<'_> {
    /// The legs that the answer lists: the wallet's, and those of each account where several act.
    pub fn listed_legs(&self) -> impl Iterator<Item = &Leg> {
        self.legs.iter().chain(self.actors.iter().flat_map(|(_, legs)| legs))
    }

    /// The wallet's own movements of one asset in one direction, by amount.
    pub fn moved(&self, direction: Direction, asset: Asset) -> &[Own] {
        self.own().get(self.moved_range(direction, asset)).unwrap_or_default()
    }

    /// The movements behind a leg of the wallet's, by amount.
    pub fn moved_by(&self, leg: usize) -> &[Own] {
        let ranges = self
            .leg_ranges
            .get_or_init(|| self.legs.iter().map(|leg| self.moved_range(leg.direction, leg.asset)).collect());
        ranges.get(leg).and_then(|range| self.own().get(range.clone())).unwrap_or_default()
    }

    /// Whether any of the wallet's own movements was of this amount.
    pub fn has_moved(&self, amount: U256) -> bool {
        let own = self.own();
        if own.len() <= FEW_MOVEMENTS {
            return own.iter().any(|own| own.amount == amount);
        }
        let sorted = self.own_amounts.get_or_init(|| {
            let mut amounts: Vec<U256> = own.iter().map(|own| own.amount).collect();
            amounts.sort_unstable();
            amounts
        });
        sorted.binary_search(&amount).is_ok()
    }

    fn moved_range(&self, direction: Direction, asset: Asset) -> Range<usize> {
        let own = self.own();
        if own.len() <= FEW_MOVEMENTS {
            let is_it = |own: &Own| own.direction == direction && own.asset == asset;
            let start = own.iter().position(is_it).unwrap_or(own.len());
            let length = own.iter().skip(start).take_while(|own| is_it(own)).count();
            return start..start.saturating_add(length);
        }
        let start = own.partition_point(|own| (own.direction, own.asset) < (direction, asset));
        let from_here = own.get(start..).unwrap_or_default();
        let length = from_here.partition_point(|own| (own.direction, own.asset) == (direction, asset));
        start..start.saturating_add(length)
    }

    /// Sorted, so that a transaction of many movements takes a binary search per log and not a scan.
    pub fn own(&self) -> &[Own] {
        self.own.get_or_init(|| {
            let own = self.movements.iter().filter_map(|m| match (m.from == self.wallet, m.to == self.wallet) {
                (true, false) => Some((Direction::Out, m.to, m)),
                (false, true) => Some((Direction::In, m.from, m)),
                _ => None,
            });
            let mut all = Vec::with_capacity(self.movements.len());
            all.extend(own.map(|(direction, other, m)| Own { direction, asset: m.asset, amount: m.amount, other }));
            all.sort_unstable();
            all
        })
    }

    /// What these movements come to in the direction of the leg, net of what came back by them. More than the leg where others took some of it
    /// on.
    pub fn net(&self, leg: &Leg, is_of_them: impl Fn(usize, &Own) -> bool) -> Net {
        if self.own().len() > MoveSet::MAX {
            // A person looks at them all: whoever has one of the first may have the leg.
            let moved = self.moved_range(leg.direction, leg.asset).zip(self.moved(leg.direction, leg.asset));
            let has_one = moved.take(MoveSet::MAX).any(|(at, own)| is_of_them(at, own));
            return Net { amount: if has_one { leg.amount } else { U256::ZERO }, moves: MoveSet::default() };
        }
        let mut moves = MoveSet::default();
        let mut sum = |direction| {
            let moved = self.moved_range(direction, leg.asset);
            let mut sum = U256::ZERO;
            let all = moved.clone().zip(self.own().get(moved).unwrap_or_default());
            for (at, own) in all.filter(|(at, own)| is_of_them(*at, own)) {
                sum = sum.saturating_add(own.amount);
                moves.insert(at);
            }
            sum
        };
        let (ahead, back) = (sum(leg.direction), sum(leg.direction.opposite()));
        Net { amount: ahead.saturating_sub(back), moves }
    }

    /// Who is linked to whom by the flow of assets.
    pub fn links(&self) -> &Links {
        self.links.get_or_init(|| {
            let is_hub = |account| self.is_native(Asset::Token(account));
            // Anybody has a token of his own log a movement with whom he likes.
            let is_own =
                |asset| [Direction::Out, Direction::In].iter().any(|way| position(&self.legs, *way, asset).is_some());
            let counts = |m: &&Movement| self.is_listed(m.asset) || is_own(m.asset);
            let mut movements = Vec::with_capacity(self.movements.len());
            movements.extend(self.movements.iter().filter(counts));
            Links::of(&movements, self.wallet, is_hub)
        })
    }

    /// To which group the other side of each of the wallet's own movements belongs, in their order.
    pub fn own_groups(&self) -> &[Option<usize>] {
        self.own_groups.get_or_init(|| self.own().iter().map(|own| self.links().group(own.counterparty())).collect())
    }

    /// The groups of accounts that both took something from the wallet and gave something to it.
    pub fn exchanged_with(&self) -> &[usize] {
        self.exchanged.get_or_init(|| {
            let groups = |direction| {
                let own = self.own().iter().zip(self.own_groups());
                let own = own.filter(|(own, _)| own.direction == direction && !own.amount.is_zero());
                let mut groups: Vec<usize> = own.filter_map(|(_, group)| *group).collect();
                groups.sort_unstable();
                groups.dedup();
                groups
            };
            let (mut took, gave) = (groups(Direction::Out), groups(Direction::In));
            took.retain(|group| gave.binary_search(group).is_ok());
            took
        })
    }

    /// Whether the account burned some of the asset, or gave it back to the contract that made it.
    pub fn gave_up(&self, account: Account, asset: Asset) -> bool {
        let given_up = self.given_up.get_or_init(|| {
            let is_end = |m: &Movement| m.to.is_zero() || m.asset.contract() == Some(m.to);
            let ended = self.movements.iter().filter(|m| is_end(m));
            let mut given_up: Vec<(Account, Asset)> = ended.map(|m| (m.from, m.asset)).collect();
            given_up.sort_unstable();
            given_up
        });
        given_up.binary_search(&(account, asset)).is_ok()
    }

    /// Whether all of the leg moved between the caller's own wallets, not only its largest part.
    pub fn is_own_move(&self, leg: &Leg, question: &Question) -> bool {
        let moved = || self.moved(leg.direction, leg.asset).iter().filter(|own| !own.amount.is_zero());
        question.own_wallets.contains(&leg.other) && moved().all(|own| question.own_wallets.contains(&own.other))
    }

    /// What amounts of the asset are written with; NFTs are counted.
    pub fn decimals(&self, asset: Asset) -> Option<u8> {
        match asset {
            Asset::Native => Some(self.chain.native_decimals),
            Asset::Token(contract) => self.ground.token(contract).and_then(|token| token.decimals),
            Asset::Nft { .. } => None,
        }
    }

    /// The coin, or a canonical token: what cannot be forged.
    pub fn is_real(&self, asset: Asset) -> bool {
        match asset {
            Asset::Native => true,
            Asset::Token(token) => self.ground.is_canonical(token),
            Asset::Nft { .. } => false,
        }
    }

    /// The coin, its wrapper, a canonical token, or a token of some pack: whoever has its log say something about an account is known.
    pub fn is_listed(&self, asset: Asset) -> bool {
        self.is_real(asset)
            || self.is_native(asset)
            || asset.contract().is_some_and(|contract| self.ground.is_listed(contract))
    }

    /// The asset, where the native coin and its wrapper are one: routers wrap and unwrap on the way.
    pub fn kin(&self, asset: Asset) -> Asset {
        if self.is_native(asset) { Asset::Native } else { asset }
    }

    /// The native coin, or its wrapper.
    pub fn is_native(&self, asset: Asset) -> bool {
        match asset {
            Asset::Native => true,
            Asset::Token(Account::Evm(token)) => self.chain.is_wrapped_native(token),
            Asset::Token(Account::Solana(mint)) => mint == WRAPPED_SOL,
            Asset::Nft { .. } => false,
        }
    }
}

impl Ground<'_> {
    /// Whose coin or tokens changed on Solana, in the order of the accounts; of a token account its owner. On an EVM chain the movements tell.
    pub fn solana_parties(&self) -> Vec<Account> {
        let Self::Solana { facts, .. } = self else { return Vec::new() };
        facts.transaction.changed().into_iter().map(Account::Solana).collect()
    }

    /// Whether the transaction's hash is only the node's word.
    pub fn is_hash_told(&self) -> bool {
        matches!(self, Self::Evm { facts, .. } if !facts.is_hash_computed)
    }

    /// Whether every movement of the coin is known, also those inside the transaction.
    pub fn shows_coin(&self) -> bool {
        let Self::Evm { facts, .. } = self else { return true };
        matches!(facts.internal, InternalValue::Traced { .. } | InternalValue::NotAsked)
    }

    /// Whether it is known who was paid coin, also where nothing shows what a contract and the wrapped coin's passed to each other.
    pub fn tells_who_was_paid(&self) -> bool {
        let Self::Evm { is_coin_known, .. } = self else { return true };
        *is_coin_known
    }

    /// Whether every movement of the coin is known, and an account that holds something is the contract that does so. On Solana each program keeps what
    /// it holds in accounts of its own.
    pub fn tells_who_holds(&self) -> bool {
        matches!(self, Self::Evm { .. }) && self.shows_coin()
    }

    /// Whether a listed factory made the account as a pool.
    pub fn is_pool(&self, account: Account, movements: &[Movement]) -> bool {
        match self {
            Self::Evm { known, .. } => account.evm().is_some_and(|pool| pools::is_made(known, movements, pool)),
            Self::Solana { .. } => false,
        }
    }

    /// Whether nobody was called or logged but the wallet itself, and contracts that are known: listed ones, canonical tokens, widespread ones that log
    /// what their standard asks, and pools that prove their factory.
    pub fn is_among_known(&self, movements: &[Movement], wallet: Account) -> bool {
        let Self::Evm { facts, known, .. } = self else { return true };
        let is_wallet = |contract: Address| wallet == contract.into();
        let is_called_known =
            |called: Address| is_wallet(called) || known.is_on_list(called) || pools::is_made(known, movements, called);
        facts.transaction.to.is_none_or(is_called_known)
            && facts.contract_logs().all(|log| is_wallet(log.address) || proofs::is_known(known, movements, log))
    }

    /// As much coin as whoever submits or arranges a trade may get for it.
    pub fn tip_max(&self) -> U256 {
        match self {
            Self::Evm { .. } => U256::ZERO,
            Self::Solana { .. } => U256::from(TIP_LAMPORTS_MAX),
        }
    }

    /// What was asked and proved that a contract has a role, as evidence shows it.
    pub fn proofs(&self) -> BTreeSet<String> {
        match self {
            Self::Evm { facts, known, .. } => vouched::evidence(facts, known),
            Self::Solana { .. } => BTreeSet::new(),
        }
    }

    /// What the token says of itself.
    pub fn token(&self, contract: Account) -> Option<&Token> {
        match self {
            Self::Evm { facts, .. } => facts.tokens.get(&contract.evm()?).map(|token| &**token),
            Self::Solana { facts, .. } => facts.tokens.get(&key(contract)?).map(|token| &**token),
        }
    }

    /// Whether some pack lists the contract in a role of this name.
    pub fn is_listed_as(&self, contract: Account, role: &str) -> bool {
        match self {
            Self::Evm { known, .. } => {
                let holders = contract.evm().map(|contract| known.holders(contract)).unwrap_or_default();
                holders.iter().any(|holder| *holder.role == *role)
            }
            Self::Solana { .. } => false,
        }
    }

    pub fn is_canonical(&self, contract: Account) -> bool {
        match self {
            Self::Evm { known, .. } => contract.evm().is_some_and(|contract| known.is_canonical(contract)),
            Self::Solana { rules, .. } => key(contract).is_some_and(|mint| rules.solana.is_canonical(&mint)),
        }
    }

    /// Whether some pack lists the contract.
    fn is_listed(&self, contract: Account) -> bool {
        match self {
            Self::Evm { known, .. } => contract.evm().is_some_and(|contract| !known.holders(contract).is_empty()),
            Self::Solana { rules, .. } => {
                key(contract).is_some_and(|mint| rules.solana.holders(&mint).next().is_some())
            }
        }
    }

    /// Whether the token borrows the symbol of a canonical one.
    pub fn collides(&self, symbol: &str, contract: Account) -> bool {
        match self {
            Self::Evm { known, .. } => contract.evm().is_some_and(|contract| known.symbol_collides(symbol, contract)),
            Self::Solana { rules, .. } => key(contract).is_some_and(|mint| rules.solana.symbol_collides(symbol, &mint)),
        }
    }

    /// What was called, in words.
    pub fn called(&self) -> String {
        match self {
            Self::Evm { facts, .. } => {
                let transaction = &facts.transaction;
                match (transaction.to, transaction.input.get(..4)) {
                    (Some(to), Some(selector)) => {
                        format!("the call 0x{} at {}", hex::encode(selector), Account::from(to))
                    }
                    (Some(to), None) => format!("the payment to {}", Account::from(to)),
                    (None, _) => "the deployment".to_owned(),
                }
            }
            Self::Solana { facts, .. } => {
                let outer = facts.transaction.instructions.iter().filter(|instruction| instruction.depth == 1);
                let mut programs: Vec<String> = outer
                    .filter(|instruction| !instructions::is_plumbing(&instruction.program))
                    .map(|instruction| Account::Solana(instruction.program).to_string())
                    .collect();
                programs.sort_unstable();
                programs.dedup();
                programs.truncate(PROGRAMS_NAMED_MAX);
                if programs.is_empty() { "it".to_owned() } else { format!("the call of {}", programs.join(" and ")) }
            }
        }
    }

    /// The contract that the transaction calls, with its input; of several programs the first that is no plumbing.
    fn call(&self) -> Option<(Account, &[u8])> {
        match self {
            Self::Evm { facts, .. } => Some((facts.transaction.to?.into(), &facts.transaction.input)),
            Self::Solana { facts, .. } => {
                let mut outer = facts.transaction.instructions.iter().filter(|instruction| instruction.depth == 1);
                let called = outer.find(|instruction| !instructions::is_plumbing(&instruction.program))?;
                Some((Account::Solana(called.program), &called.data))
            }
        }
    }

    pub fn called_contract(&self) -> Option<Account> {
        self.call().map(|(contract, _)| contract)
    }

    pub fn called_function(&self) -> Option<Called> {
        let (contract, input) = self.call()?;
        let function = match self {
            Self::Evm { .. } => input.get(..SELECTOR_BYTES).unwrap_or_default(),
            Self::Solana { .. } => input.get(..DISCRIMINATOR_BYTES).unwrap_or(input),
        };
        Some(Called { contract, function: hex::encode(function) })
    }

    /// What the giver gave the taker of a token in earlier blocks, less what came back. `None` where nobody asked; `Some(None)` where no node could say.
    pub fn given(&self, token: Account, giver: Account, taker: Account) -> Option<Option<U256>> {
        match self {
            Self::Evm { facts, .. } => facts.given.get(&(token.evm()?, giver.evm()?, taker.evm()?)).copied(),
            Self::Solana { .. } => Some(None),
        }
    }

    /// The number that explorers show for a log, by its position in the receipt.
    pub fn log_index(&self, position: usize) -> Option<u64> {
        match self {
            Self::Evm { facts, .. } => facts.log_index(position),
            Self::Solana { .. } => None,
        }
    }
}

fn key(account: Account) -> Option<Key> {
    match account {
        Account::Solana(key) => Some(key),
        Account::Evm(_) => None,
    }
}
