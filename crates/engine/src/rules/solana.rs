//! What packs know of Solana: accounts and programs by role, and instructions by the first bytes of their data.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use alloy_primitives::Address;
use sha2::{Digest, Sha256};

use super::file::InstructionRow;
use super::filter::PrefixFilter;
use super::{Holder, compile, fold_symbol};
use crate::asset::Account;
use crate::base58;
use crate::category::{Category, Presence};
use crate::role::Role;
use crate::solana::Key;
use crate::solana::json::Instruction;

/// The chain key of Solana's accounts in a pack.
pub const SOLANA: &str = "solana";
/// Anchor programs begin each instruction with so many bytes of a hash of its name.
const ANCHOR_BYTES: usize = 8;

#[derive(Debug, Default)]
pub struct SolanaRules {
    pub(super) accounts: BTreeMap<Key, Vec<Holder>>,
    /// Of `accounts`.
    known: PrefixFilter,
    /// By pack and role.
    pub(super) instructions: BTreeMap<(usize, Arc<str>), Vec<Arc<InstructionRule>>>,
    /// The same by program, once all packs are loaded.
    by_program: BTreeMap<Key, Vec<Arc<InstructionRule>>>,
    pub(super) canonical_symbols: BTreeSet<String>,
    pub(super) canonical: BTreeSet<Key>,
}

#[derive(Debug, Clone)]
pub struct InstructionRule {
    pub pack: usize,
    pub id: Arc<str>,
    /// How its data begins.
    pub data: Vec<u8>,
    pub means: Category,
    /// Positions in its accounts, one of which must be the wallet; any, if empty.
    pub who: Vec<usize>,
    /// Positions of token accounts, one of which may be the wallet's instead.
    pub owner_of: Vec<usize>,
    /// Positions that hold one account.
    pub same: Vec<usize>,
    pub weight: Weight,
    pub role: Role,
    pub escrowed: bool,
    pub unseen: bool,
    pub unsettled: bool,
    /// Signed numbers in the data that must be above zero, each as offset and length.
    pub positive: Vec<[usize; 2]>,
    /// The same, below zero.
    pub negative: Vec<[usize; 2]>,
    /// The same, of nothing.
    pub zero: Vec<[usize; 2]>,
    /// Where the data names who gets it on another chain.
    pub whose: Option<usize>,
}

impl InstructionRule {
    /// Whether this is the instruction that the rule is about.
    pub fn matches(&self, data: &[u8]) -> bool {
        let number = |[at, length]: &[usize; 2]| data.get(*at..)?.get(..*length);
        let is_below = |number: &[u8]| number.last().is_some_and(|last| last.leading_ones() > 0);
        let is_zero = |number: &[u8]| number.iter().all(|byte| *byte == 0);
        data.starts_with(&self.data)
            && self.positive.iter().all(|at| number(at).is_some_and(|number| !is_below(number) && !is_zero(number)))
            && self.negative.iter().all(|at| number(at).is_some_and(is_below))
            && self.zero.iter().all(|at| number(at).is_some_and(is_zero))
    }

    /// Who gets it on another chain, where the data names somebody.
    pub fn recipient(&self, data: &[u8]) -> Option<Account> {
        let account = Account::from_word(data.get(self.whose?..)?.first_chunk()?);
        (account != Account::from(Address::ZERO)).then_some(account)
    }
}

/// Of the rules that match in a transaction only those of the highest weight are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// What goes with nearly everything.
    Idle,
    Weak,
    Full,
}

impl SolanaRules {
    /// Packs that know the account or program, each with its role.
    pub fn holders(&self, account: &Key) -> impl Iterator<Item = &Holder> {
        let is_known = self.known.may_hold(account);
        is_known.then(|| self.accounts.get(account)).flatten().into_iter().flatten()
    }

    /// The rules of an instruction; of several beginnings that its data has, those of the longest.
    pub fn instructions(&self, instruction: &Instruction) -> Vec<&InstructionRule> {
        let all = self.of_program(&instruction.program);
        let mut found: Vec<&InstructionRule> = all.filter(|rule| rule.matches(&instruction.data)).collect();
        let longest = found.iter().map(|rule| rule.data.len()).max();
        found.retain(|rule| Some(rule.data.len()) == longest);
        found
    }

    /// Every rule of this program.
    pub fn of_program(&self, program: &Key) -> impl Iterator<Item = &InstructionRule> {
        self.by_program.get(program).into_iter().flatten().map(|rule| &**rule)
    }

    pub fn rules(&self) -> impl Iterator<Item = &InstructionRule> {
        self.instructions.values().flatten().map(|rule| &**rule)
    }

    /// Called once all packs are loaded.
    pub(super) fn index(&mut self) {
        self.known = PrefixFilter::of(self.accounts.keys().map(Key::as_slice));
        for (program, holders) in &self.accounts {
            let rows = holders.iter().filter_map(|holder| self.instructions.get(&(holder.pack, holder.role.clone())));
            let rules: Vec<Arc<InstructionRule>> = rows.flatten().cloned().collect();
            if !rules.is_empty() {
                self.by_program.insert(*program, rules);
            }
        }
    }

    pub fn is_canonical(&self, mint: &Key) -> bool {
        self.canonical.contains(mint)
    }

    pub fn symbol_collides(&self, symbol: &str, mint: &Key) -> bool {
        !self.canonical.contains(mint) && self.canonical_symbols.contains(&*fold_symbol(symbol))
    }
}

pub fn key(text: &str) -> Result<Key, String> {
    base58::read_address(text).ok_or_else(|| format!("`{text}` is no Solana address"))
}

pub fn instruction(pack: usize, stem: &str, row: &InstructionRow) -> Result<InstructionRule, String> {
    let (name, data) = match (&row.anchor, &row.data) {
        (Some(name), None) => (name.get_ref().clone(), discriminator(name.get_ref())),
        (None, Some(bytes)) => {
            let text = bytes.get_ref();
            (text.clone(), alloy_primitives::hex::decode(text).map_err(|_| format!("`{text}` is not hexadecimal"))?)
        }
        _ => return Err("an instruction is known by `anchor` or by `data`".to_owned()),
    };
    let means = compile::category(&row.means)?;
    Ok(InstructionRule {
        pack,
        id: format!("{stem}/{name}").into(),
        data,
        means,
        who: row.who.clone(),
        owner_of: row.owner_of.clone(),
        same: row.same.clone(),
        weight: match means.meaning().presence {
            Presence::OnlyAlone => Weight::Idle,
            Presence::Cancels => Weight::Weak,
            Presence::Counts | Presence::InTrade | Presence::MovesNothing if row.weak => Weight::Weak,
            Presence::Counts | Presence::InTrade | Presence::MovesNothing => Weight::Full,
        },
        role: row.role.unwrap_or(means.meaning().role),
        // An NFT that is for sale lies in escrow, or changes hands with its token account, or is compressed: its side often has no leg.
        escrowed: row.escrowed || means.is_nft_sale(),
        unseen: row.unseen,
        unsettled: row.unsettled,
        positive: row.positive.clone(),
        negative: row.negative.clone(),
        zero: row.zero.clone(),
        whose: row.whose,
    })
}

pub fn discriminator(name: &str) -> Vec<u8> {
    let digest = Sha256::digest(format!("global:{name}"));
    digest.iter().take(ANCHOR_BYTES).copied().collect()
}
