//! What moved, for one wallet. Balances before and after decide the amounts; instructions tell the counterparty.
//!
//! Wrapped SOL is SOL. Rent that goes between a wallet and its own token accounts stays the wallet's, and is no movement.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::U256;
use sha2::{Digest, Sha256};

use super::instructions::{
    ASSOCIATED, Creation, InstructionEffect, SYSTEM, TOKEN, TOKEN_2022, WRAPPED_SOL, done, new_owner,
};
use super::json::{Effects, SolanaTransaction, TokenAccount, TokenHolding};
use super::{Key, instructions};
use crate::asset::{Account, Asset, Movement, NftKind, Seen};

/// The size of a token's own account.
const MINT_BYTES: u64 = 82;
/// What a token account without extensions keeps so that it lives.
const TOKEN_ACCOUNT_RENT: u64 = 2_039_280;
/// Each bump fits half of all addresses, so about one address in a thousand needs a bump below this.
const BUMP_MIN: u8 = 246;

/// Who owns which token account, and what the standard programs did.
#[derive(Debug)]
pub struct Ledger<'a> {
    transaction: &'a SolanaTransaction,
    effects: &'a Effects,
    /// Who owns each token account that is known here; what old answers do not tell, the instructions do.
    pub owners: BTreeMap<Key, Key>,
    /// Whose a token account is in the end, where it was given to somebody.
    new_owners: BTreeMap<Key, Key>,
    mints: BTreeMap<Key, Key>,
    /// Mints of which some account here holds a fraction, or more than one token.
    plural: BTreeSet<Key>,
    /// What was done, and by which instruction of all.
    pub done: Vec<(usize, InstructionEffect)>,
}

/// What an account that this transaction made, or closed, kept.
#[derive(Debug, Clone, Copy)]
pub enum Rent {
    Made(u64),
    Closed(u64),
}

/// An account that this transaction made, and what the wallet paid into it.
#[derive(Debug, Clone, Copy)]
pub struct Made {
    pub program: Option<Key>,
    pub paid: u64,
    /// As much of it as an account of this size must hold.
    pub rent: u64,
    /// It is a token account.
    pub is_token: bool,
    /// A mint of the first token program, which nobody can close.
    pub is_lasting: bool,
}

/// Something that an instruction of the standard programs moved between the wallet and somebody else.
#[derive(Debug, Clone, Copy)]
pub struct Flow {
    /// The position of the instruction that moved it, among all, and of the outer one that it is part of.
    pub at: usize,
    pub outer: usize,
    pub asset: Asset,
    pub comes_in: bool,
    pub amount: u64,
    /// The account on the other side, and whose it is. Where tokens are minted or burned, their mint, and nobody's.
    pub account: Key,
    pub party: Key,
}

impl<'a> Ledger<'a> {
    pub fn open(transaction: &'a SolanaTransaction, effects: &'a Effects) -> Self {
        let mut ledger = Self {
            transaction,
            effects,
            owners: BTreeMap::new(),
            new_owners: BTreeMap::new(),
            mints: effects.token_accounts.iter().map(|account| (account.key, account.mint)).collect(),
            plural: effects.token_accounts.iter().filter(|account| is_plural(account)).map(|a| a.mint).collect(),
            done: Vec::new(),
        };
        for (at, instruction) in transaction.instructions.iter().enumerate() {
            if let Some(done) = done(instruction) {
                ledger.done.push((at, done));
            }
            // The authority of a source account is its owner, unless a delegate acts; the balances say so where they can.
            let authority = match (instruction.program, instruction.data.first()) {
                (TOKEN | TOKEN_2022, Some(3 | 4 | 8 | 9)) => instruction.accounts.get(2),
                (TOKEN | TOKEN_2022, Some(12)) => instruction.accounts.get(3),
                (TOKEN | TOKEN_2022, Some(6)) if new_owner(instruction).is_some() => instruction.accounts.get(1),
                _ => None,
            };
            if let (Some(account), Some(owner)) = (instruction.accounts.first(), new_owner(instruction)) {
                ledger.new_owners.insert(*account, owner);
            }
            if let (Some(account), Some(owner)) = (instruction.accounts.first(), authority) {
                ledger.owners.entry(*account).or_insert(*owner);
            }
        }
        for (_, done) in &ledger.done {
            if let InstructionEffect::Opened { account, mint, owner } = done {
                ledger.owners.insert(*account, *owner);
                // Of one that is closed again no balance tells.
                if *mint == WRAPPED_SOL {
                    ledger.mints.insert(*account, *mint);
                }
            }
        }
        for account in &effects.token_accounts {
            let said = account.after.and_then(|held| held.owner).or(account.before.and_then(|held| held.owner));
            if let Some(owner) = said {
                ledger.owners.insert(account.key, owner);
            }
        }
        ledger.derive_owners();
        ledger
    }

    /// The associated account of an owner is at an address derived from the owner, so it tells the owner where nothing else does.
    fn derive_owners(&mut self) {
        let known = |account: &&TokenAccount| !self.owners.contains_key(&account.key);
        let accounts: Vec<&TokenAccount> = self.effects.token_accounts.iter().filter(known).collect();
        let mut found = Vec::new();
        for account in accounts {
            let owner = self.transaction.signed().iter().find(|owner| is_associated(account, owner));
            found.extend(owner.map(|owner| (account.key, *owner)));
        }
        self.owners.extend(found);
    }

    /// Whose the account was before, and whose it was after; `None` where it did not exist.
    fn owners_of(&self, account: &TokenAccount) -> [Option<Key>; 2] {
        let known = || self.owners.get(&account.key);
        let before = account.before.and_then(|held| held.owner.or_else(|| known().copied()));
        let given = || self.new_owners.get(&account.key).or_else(known).copied();
        [before, account.after.and_then(|held| held.owner.or_else(given))]
    }

    /// The owner of a token account, or the account itself.
    fn party(&self, account: Key) -> Key {
        self.owners.get(&account).copied().unwrap_or(account)
    }

    /// Everyone who holds or held a token here.
    pub fn holders(&self) -> BTreeSet<Key> {
        let accounts = self.effects.token_accounts.iter();
        accounts.flat_map(|account| self.owners_of(account)).flatten().collect()
    }

    /// What the standard programs moved between the wallet and somebody else, by asset and then in the order of execution.
    pub fn flows(&self, wallet: Key) -> Vec<Flow> {
        let mut flows = Vec::new();
        let mut closings = self.closings();
        for (at, done) in &self.done {
            let (from, to, amount, mint) = match *done {
                // Rent that goes into a token account of the wallet's own is no leg of the wallet's.
                InstructionEffect::Closed { to, .. } if self.keeps_tokens(to, wallet) => continue,
                InstructionEffect::Closed { account, to } => {
                    let (coin, rent) = closings.remove(at).unwrap_or_default();
                    // What the wallet's own account was made with is no leg of the wallet's.
                    let is_own = self.party(account) == wallet;
                    (account, to, if is_own { coin } else { coin.saturating_add(rent) }, None)
                }
                InstructionEffect::Lamports { from, to, amount } => (from, to, amount, None),
                InstructionEffect::Tokens { from, to, amount } => {
                    let Some(mint) = self.mints.get(&from).or_else(|| self.mints.get(&to)) else { continue };
                    (from, to, amount, Some(*mint))
                }
                InstructionEffect::Item { item, from, to } => (from, to, 1, Some(item)),
                InstructionEffect::Minted { mint, to, amount } => (SYSTEM, to, amount, Some(mint)),
                InstructionEffect::Burned { mint, from, amount } => (from, SYSTEM, amount, Some(mint)),
                InstructionEffect::Opened { .. }
                | InstructionEffect::Approved
                | InstructionEffect::Revoked
                | InstructionEffect::HandedOver => {
                    continue;
                }
            };
            let (payer, payee) = (self.party(from), self.party(to));
            if amount > 0 && (payer == wallet) != (payee == wallet) {
                let asset = mint.map_or(Asset::Native, |mint| self.asset_of(mint));
                let comes_in = payee == wallet;
                let (account, party) = if comes_in { (from, payer) } else { (to, payee) };
                let account = mint.filter(|_| party == SYSTEM).unwrap_or(account);
                let outer = self.transaction.instructions.get(*at).map_or(0, |instruction| instruction.outer);
                flows.push(Flow { at: *at, outer, asset, comes_in, amount, account, party });
            }
        }
        flows.sort_by_key(|flow| flow.asset);
        flows
    }

    /// Whether it is a token account of the wallet's, and not for wrapped SOL.
    fn keeps_tokens(&self, account: Key, wallet: Key) -> bool {
        self.owners.get(&account) == Some(&wallet) && self.mints.get(&account).is_some_and(|mint| *mint != WRAPPED_SOL)
    }

    /// What each token account that is closed passes on: the coin that it wraps, and what it was made with; by the instruction that closes it.
    fn closings(&self) -> BTreeMap<usize, (u64, u64)> {
        let closed = self.done.iter().filter_map(|(_, done)| match done {
            InstructionEffect::Closed { account, .. } => Some(*account),
            _ => None,
        });
        let mut held: BTreeMap<Key, (u64, u64)> = closed.map(|account| (account, self.kept(account))).collect();
        let mut found = BTreeMap::new();
        if held.is_empty() {
            return found;
        }
        for (at, done) in &self.done {
            match done {
                InstructionEffect::Closed { account, .. } => {
                    let (lamports, rent) = held.insert(*account, (0, TOKEN_ACCOUNT_RENT)).unwrap_or_default();
                    found.insert(*at, (lamports.saturating_sub(rent), lamports.min(rent)));
                }
                InstructionEffect::Lamports { from, to, amount } | InstructionEffect::Tokens { from, to, amount } => {
                    let is_token = matches!(done, InstructionEffect::Tokens { .. });
                    if is_token && ![from, to].iter().any(|key| self.mints.get(*key) == Some(&WRAPPED_SOL)) {
                        continue;
                    }
                    if let Some((lamports, _)) = held.get_mut(from) {
                        *lamports = lamports.saturating_sub(*amount);
                    }
                    if let Some((lamports, _)) = held.get_mut(to) {
                        *lamports = lamports.saturating_add(*amount);
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// The lamports that a token account had before, and how many of them are what it was made with.
    fn kept(&self, account: Key) -> (u64, u64) {
        let at = self.transaction.keys.iter().position(|key| *key == account);
        let lamports = at.and_then(|at| self.effects.lamports.get(at)).map_or(0, |(before, _)| *before);
        if lamports == 0 {
            return (0, TOKEN_ACCOUNT_RENT);
        }
        let wrapped = self.effects.token_accounts.iter().find(|of| of.key == account && of.mint == WRAPPED_SOL);
        let wrapped = wrapped.and_then(|of| of.before).map_or(0, |held| held.amount);
        (lamports, lamports.saturating_sub(wrapped))
    }

    /// Token accounts that went from the wallet to somebody else, or from somebody else to the wallet, with all that they hold.
    pub fn handed_over(&self, wallet: Key) -> Vec<Key> {
        let is_handed_over = |account: &&TokenAccount| match self.owners_of(account) {
            [Some(before), Some(after)] => before != after && [before, after].contains(&wallet),
            _ => false,
        };
        self.effects.token_accounts.iter().filter(is_handed_over).map(|account| account.key).collect()
    }

    /// Whether tokens moved that no balance shows.
    pub fn hides_token_moves(&self) -> bool {
        let opened: LazyCell<BTreeSet<Key>, _> = LazyCell::new(|| self.opened().collect());
        let is_unknown = |key: &Key| !self.mints.contains_key(key) && !opened.contains(key);
        let hides = |(_, done): &(usize, InstructionEffect)| match done {
            InstructionEffect::Tokens { from, to, amount } => *amount > 0 && (is_unknown(from) || is_unknown(to)),
            InstructionEffect::Minted { to, amount, .. } => *amount > 0 && is_unknown(to),
            InstructionEffect::Burned { from, amount, .. } => *amount > 0 && is_unknown(from),
            InstructionEffect::Lamports { .. }
            | InstructionEffect::Item { .. }
            | InstructionEffect::Opened { .. }
            | InstructionEffect::Closed { .. }
            | InstructionEffect::Approved
            | InstructionEffect::Revoked
            | InstructionEffect::HandedOver => false,
        };
        self.done.iter().any(hides)
    }

    /// Accounts with data that this transaction made: plain wallets, which only receive coin, are not among them.
    pub fn created(&self) -> BTreeSet<Key> {
        let made = self.transaction.instructions.iter().filter_map(instructions::creation);
        self.opened().chain(made.map(|made| made.account)).collect()
    }

    fn opened(&self) -> impl Iterator<Item = Key> {
        self.done.iter().filter_map(|(_, done)| match done {
            InstructionEffect::Opened { account, .. } => Some(*account),
            _ => None,
        })
    }

    /// What went into each account that this transaction made, and what came out of each that it closed, but for token accounts that are closed in
    /// favour of somebody else; token accounts of wrapped SOL without what they hold.
    pub fn rents(&self, wallet: Key) -> Vec<Rent> {
        let wrapped = |key: &Key| {
            let account = self.effects.token_accounts.iter().find(|a| a.key == *key && a.mint == WRAPPED_SOL);
            let amount = |held: Option<TokenHolding>| held.map_or(0, |held| held.amount);
            account.map_or((0, 0), |account| (amount(account.before), amount(account.after)))
        };
        let created = LazyCell::new(|| self.created());
        let is_anothers = |key: &Key| {
            let closes = |(_, done): &(usize, InstructionEffect)| match done {
                InstructionEffect::Closed { account, to } => account == key && *to != wallet,
                _ => false,
            };
            self.done.iter().any(closes)
        };
        let payers: LazyCell<BTreeSet<Key>, _> = LazyCell::new(|| {
            let from = |(_, done): &(usize, InstructionEffect)| match done {
                InstructionEffect::Lamports { from, .. } => Some(*from),
                _ => None,
            };
            self.done.iter().filter_map(from).collect()
        });
        let mut rents = Vec::new();
        for (key, (before, after)) in self.transaction.keys.iter().zip(&self.effects.lamports) {
            if *before == 0 && created.contains(key) {
                rents.push(Rent::Made(after.saturating_sub(wrapped(key).1)));
            }
            if *after == 0 && !self.transaction.signed().contains(key) && !payers.contains(key) && !is_anothers(key) {
                rents.push(Rent::Closed(before.saturating_sub(wrapped(key).0)));
            }
        }
        rents
    }

    /// What token accounts of others, such as an escrow, were made with, where it went to the wallet when they were closed.
    pub fn rent_closed(&self, wallet: Key) -> u64 {
        let closings = self.closings();
        let of = |(at, done): &(usize, InstructionEffect)| match done {
            InstructionEffect::Closed { account, to } if self.party(*account) != wallet && *to == wallet => {
                closings.get(at).map_or(0, |(_, rent)| *rent)
            }
            _ => 0,
        };
        self.done.iter().map(of).fold(0, u64::saturating_add)
    }

    /// What the wallet paid into each account that this transaction made and that is there still, but for token accounts of its own.
    pub fn made(&self, wallet: Key) -> Vec<Made> {
        let all = || self.transaction.instructions.iter();
        let created: BTreeMap<Key, Creation> =
            all().filter_map(instructions::creation).map(|made| (made.account, made)).collect();
        if created.is_empty() {
            return Vec::new();
        }
        let assigned: BTreeMap<Key, Key> = all().filter_map(instructions::assigned).collect();
        let opened: BTreeSet<Key> = self.opened().collect();
        let mut paid: BTreeMap<Key, u64> = BTreeMap::new();
        for (_, done) in &self.done {
            if let InstructionEffect::Lamports { from, to, amount } = done
                && *from == wallet
            {
                let sum = paid.entry(*to).or_default();
                *sum = sum.saturating_add(*amount);
            }
        }
        let is_there = |(_, (before, after)): &(&Key, &(u64, u64))| *before == 0 && *after > 0;
        let there = self.transaction.keys.iter().zip(&self.effects.lamports).filter(is_there);
        let others = there.filter_map(|(key, _)| created.get(key));
        let others = others.filter(|made| self.owners.get(&made.account) != Some(&wallet));
        others
            .map(|Creation { account, size, owner }| {
                let paid = paid.get(account).copied().unwrap_or_default();
                let program = owner.or_else(|| assigned.get(account).copied());
                Made {
                    program,
                    paid,
                    rent: instructions::rent(*size).unwrap_or_default().min(paid),
                    is_token: self.mints.contains_key(account) || opened.contains(account),
                    is_lasting: program == Some(TOKEN) && *size == MINT_BYTES,
                }
            })
            .collect()
    }

    /// What each account held that is gone, but for token accounts, whose closing is told elsewhere.
    pub fn emptied(&self) -> Vec<u64> {
        let is_token = |key: &Key| self.effects.token_accounts.iter().any(|account| account.key == *key);
        let keys = self.transaction.keys.iter().zip(&self.effects.lamports);
        let gone = keys.filter(|(key, (before, after))| {
            *before > 0 && *after == 0 && !self.transaction.signed().contains(key) && !is_token(key)
        });
        gone.map(|(_, (before, _))| *before).collect()
    }

    /// What the wallet paid into accounts that this transaction made, but for token accounts of its own.
    pub fn put_into_accounts(&self, wallet: Key) -> u64 {
        let created = self.created();
        let is_own = |account: &Key| self.mints.contains_key(account) && self.owners.get(account) == Some(&wallet);
        let paid = self.done.iter().map(|(_, done)| match done {
            InstructionEffect::Lamports { from, to, amount }
                if *from == wallet && created.contains(to) && !is_own(to) =>
            {
                *amount
            }
            _ => 0,
        });
        paid.fold(0, u64::saturating_add)
    }

    /// The wallet's net movements, by asset.
    pub fn movements(&self, wallet: Key, flows: &[Flow]) -> Vec<Movement> {
        let native = self.lamports(wallet).saturating_add(self.rent(wallet));
        let mut changes: Vec<(Asset, i128)> = vec![(Asset::Native, native)];
        for account in &self.effects.token_accounts {
            let part = |held: Option<TokenHolding>, owner| {
                held.filter(|_| owner == Some(wallet)).map_or(0, |held| i128::from(held.amount))
            };
            let [was_of, is_of] = self.owners_of(account);
            let change = part(account.after, is_of).saturating_sub(part(account.before, was_of));
            changes.push((self.asset_of(account.mint), change));
        }
        let items: BTreeSet<Asset> = self.items().map(|item| self.asset_of(item)).collect();
        let of_items = flows.iter().filter(|flow| items.contains(&flow.asset));
        changes.extend(of_items.map(|flow| (flow.asset, if flow.comes_in { 1 } else { -1 })));
        changes.sort_unstable();
        let mut found = Vec::new();
        for of_asset in changes.chunk_by(|(one, _), (other, _)| one == other) {
            let Some((asset, _)) = of_asset.first().copied() else { continue };
            let change = of_asset.iter().fold(0i128, |sum, (_, change)| sum.saturating_add(*change));
            self.split(wallet, asset, change, of(flows, asset), &mut found);
        }
        found
    }

    /// NFTs that no token balance tells of.
    fn items(&self) -> impl Iterator<Item = Key> {
        self.done.iter().filter_map(|(_, done)| match done {
            InstructionEffect::Item { item, .. } => Some(*item),
            _ => None,
        })
    }

    /// One movement per counterparty where instructions account for the whole amount, else one movement with the largest counterparty.
    fn split(&self, wallet: Key, asset: Asset, change: i128, flows: &[Flow], found: &mut Vec<Movement>) {
        let mut parties: BTreeMap<Key, (i128, usize)> = BTreeMap::new();
        for flow in flows {
            let amount = i128::from(flow.amount);
            let part = parties.entry(flow.party).or_insert((0, flow.outer));
            part.0 = part.0.saturating_add(if flow.comes_in { amount } else { amount.saturating_neg() });
        }
        let sum: i128 = parties.values().map(|(amount, _)| *amount).fold(0, i128::saturating_add);
        if parties.len() < 2 || sum != change {
            found.extend(self.movement(wallet, asset, change, flows));
            return;
        }
        let mine = Account::Solana(wallet);
        let movement = |(party, (amount, outer)): (Key, (i128, usize))| {
            let other = Account::Solana(party);
            let (from, to) = if amount > 0 { (other, mine) } else { (mine, other) };
            Movement { asset, from, to, amount: U256::from(amount.unsigned_abs()), seen: Seen::Instruction(outer) }
        };
        found.extend(parties.into_iter().filter(|(_, (amount, _))| *amount != 0).map(movement));
    }

    /// What the wallet itself gained, with the fee added back.
    fn lamports(&self, wallet: Key) -> i128 {
        let keys = self.transaction.keys.iter().zip(&self.effects.lamports);
        let own = keys.filter(|(key, _)| **key == wallet);
        let gained =
            own.map(|(_, (before, after))| i128::from(*after).saturating_sub(i128::from(*before))).sum::<i128>();
        let fee = if self.transaction.payer() == Some(wallet) { i128::from(self.effects.fee) } else { 0 };
        gained.saturating_add(fee)
    }

    /// Rent that the wallet paid into token accounts of its own, less what came back from them.
    fn rent(&self, wallet: Key) -> i128 {
        let mut rent = 0i128;
        let funded = LazyCell::new(|| self.funded(wallet));
        let closed_into = LazyCell::new(|| self.closed_into(wallet));
        for account in &self.effects.token_accounts {
            let [was_mine, is_mine] = self.owners_of(account).map(|owner| owner == Some(wallet));
            if !was_mine && !is_mine {
                continue;
            }
            let at = self.transaction.keys.iter().position(|key| *key == account.key);
            let Some((before, after)) = at.and_then(|at| self.effects.lamports.get(at)).copied() else { continue };
            let wrapped =
                |held: Option<TokenHolding>| held.filter(|_| account.mint == WRAPPED_SOL).map_or(0, |held| held.amount);
            if before == 0 && is_mine && funded.contains(&account.key) {
                rent = rent.saturating_add(i128::from(after.saturating_sub(wrapped(account.after))));
            }
            if after == 0 && was_mine && closed_into.contains(&account.key) {
                rent = rent.saturating_sub(i128::from(before.saturating_sub(wrapped(account.before))));
            }
        }
        rent
    }

    /// Accounts into which the wallet paid.
    fn funded(&self, wallet: Key) -> BTreeSet<Key> {
        let by_associated = self.transaction.instructions.iter().filter_map(|instruction| {
            let is_payer = instruction.accounts.first() == Some(&wallet);
            (instruction.program == ASSOCIATED && is_payer).then(|| instruction.accounts.get(1).copied()).flatten()
        });
        let paid = self.done.iter().filter_map(|(_, done)| match done {
            InstructionEffect::Lamports { from, to, .. } if *from == wallet => Some(*to),
            _ => None,
        });
        by_associated.chain(paid).collect()
    }

    /// Token accounts that were closed, and of which the rest went to the wallet.
    fn closed_into(&self, wallet: Key) -> BTreeSet<Key> {
        let closes = self.transaction.instructions.iter().filter(|instruction| {
            matches!(instruction.program, TOKEN | TOKEN_2022)
                && instruction.data.first() == Some(&9)
                && instruction.accounts.get(1) == Some(&wallet)
        });
        closes.filter_map(|instruction| instruction.accounts.first().copied()).collect()
    }

    fn asset_of(&self, mint: Key) -> Asset {
        let contract = Account::Solana(mint);
        if mint == WRAPPED_SOL {
            Asset::Native
        } else if self.plural.contains(&mint) {
            Asset::Token(contract)
        } else {
            Asset::Nft { contract, id: U256::ZERO, kind: NftKind::SplNft }
        }
    }

    fn movement(&self, wallet: Key, asset: Asset, change: i128, flows: &[Flow]) -> Option<Movement> {
        if change == 0 {
            return None;
        }
        let (seen, other) = self.other(wallet, asset, change > 0, flows);
        let (mine, other) = (Account::Solana(wallet), Account::Solana(other));
        let (from, to) = if change > 0 { (other, mine) } else { (mine, other) };
        Some(Movement { asset, from, to, amount: U256::from(change.unsigned_abs()), seen })
    }

    /// With whom the largest part of it moved, and in which instruction.
    fn other(&self, wallet: Key, asset: Asset, comes_in: bool, flows: &[Flow]) -> (Seen, Key) {
        let fitting = flows.iter().filter(|flow| flow.comes_in == comes_in);
        // On a tie, the first.
        let largest = fitting.rev().max_by_key(|flow| flow.amount);
        largest.map_or_else(
            || (Seen::Instruction(0), self.counterpart(wallet, asset, comes_in)),
            |flow| (Seen::Instruction(flow.outer), flow.party),
        )
    }

    /// The account whose balance changed most in the other direction: a program moved it without an instruction that says so.
    fn counterpart(&self, wallet: Key, asset: Asset, comes_in: bool) -> Key {
        let change = |before: u64, after: u64| {
            if comes_in { before.saturating_sub(after) } else { after.saturating_sub(before) }
        };
        let lamports = self
            .transaction
            .keys
            .iter()
            .zip(&self.effects.lamports)
            .map(|(key, (b, a))| (self.party(*key), change(*b, *a)));
        let tokens = self
            .effects
            .token_accounts
            .iter()
            .filter(|account| asset.contract() == Some(Account::Solana(account.mint)));
        let tokens = tokens.flat_map(|account| {
            let amount = |held: Option<TokenHolding>| held.map_or(0, |held| held.amount);
            let (before, after) = (amount(account.before), amount(account.after));
            match self.owners_of(account) {
                // All that it holds went over.
                [Some(giver), Some(taker)] if giver != taker => [(giver, change(before, 0)), (taker, change(0, after))],
                _ => [(self.party(account.key), change(before, after)), (wallet, 0)],
            }
        });
        let all: Vec<(Key, u64)> = if asset == Asset::Native { lamports.collect() } else { tokens.collect() };
        let others = all.into_iter().filter(|(party, change)| *party != wallet && *change > 0);
        others.max_by_key(|(_, change)| *change).map_or(SYSTEM, |(party, _)| party)
    }
}

/// Those of one asset, out of flows by asset.
fn of(flows: &[Flow], asset: Asset) -> &[Flow] {
    let (_, from_here) = flows.split_at(flows.partition_point(|flow| flow.asset < asset));
    let (same, _) = from_here.split_at(from_here.partition_point(|flow| flow.asset == asset));
    same
}

/// Whether this cannot be an NFT: it has decimals, or an account here holds more than one.
fn is_plural(account: &TokenAccount) -> bool {
    account.decimals != 0 || [account.before, account.after].into_iter().flatten().any(|held| held.amount > 1)
}

/// Whether the account is the owner's associated one. The right bump is almost always among the first few.
fn is_associated(account: &TokenAccount, owner: &Key) -> bool {
    [TOKEN, TOKEN_2022].iter().any(|program| {
        (BUMP_MIN..=u8::MAX).rev().any(|bump| {
            let mut digest = Sha256::new();
            for part in [owner.as_slice(), program, &account.mint, &[bump], &ASSOCIATED, b"ProgramDerivedAddress"] {
                digest.update(part);
            }
            Key::from(digest.finalize()) == account.key
        })
    })
}
