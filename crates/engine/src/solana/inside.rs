//! What belongs to the instructions that rules match: what moved elsewhere is beside it.

use std::collections::BTreeSet;

use super::instructions::{InstructionEffect, SYSTEM, TOKEN_RENT_LAMPORTS_MAX, WRAPPED_SOL};
use super::json::Instruction;
use super::movements::Flow;
use super::scene::SolanaScene;
use super::{Key, instructions};
use crate::asset::Asset;
use crate::category::Nature;
use crate::rules::Rules;
use crate::rules::solana::InstructionRule;

/// A rule of a pack that matches for the wallet, and the instruction that it matches.
pub type Match<'a> = (&'a InstructionRule, &'a Instruction);

/// Each of them is an exchange.
pub fn is_exchange(matched: &[Match<'_>]) -> bool {
    matched.iter().all(|(rule, _)| rule.means.meaning().nature == Nature::Exchange)
}

/// What the instructions that rules match called, were given and made.
#[derive(Default)]
pub struct Inside {
    /// Positions among all instructions: they, and what they call.
    called: BTreeSet<usize>,
    /// Outer instructions of programs that packs list: all of each.
    outer: BTreeSet<usize>,
    /// Accounts that they use. One that only rides along is used by nothing that they call.
    parties: BTreeSet<Key>,
    /// Accounts that they are given, used or not.
    given: BTreeSet<Key>,
    /// Those of instructions that call nothing. Such a program may find what the wallet paid into an account of its own before; it makes nobody pay.
    filled: BTreeSet<Key>,
    /// Accounts that were made here for tokens, but for those that only wrap coin.
    made: BTreeSet<Key>,
}

impl Inside {
    pub fn of(scene: &SolanaScene<'_>, rules: &Rules, matched: &[Match<'_>]) -> Self {
        if matched.is_empty() {
            return Self::default();
        }
        let all = &scene.facts.transaction.instructions;
        let packs: BTreeSet<usize> = matched.iter().map(|(rule, _)| rule.pack).collect();
        let is_of_them = |program: &Key| rules.solana.holders(program).any(|holder| packs.contains(&holder.pack));
        let is_listed = |program: &Key| rules.solana.holders(program).next().is_some();
        let matched_outer: BTreeSet<usize> = matched.iter().map(|(_, instruction)| instruction.outer).collect();
        let is_exchange = is_exchange(matched);
        // An unknown program may call a known one and pay beside it. What it makes of an exchange is part of the exchange.
        let is_whole = |instruction: &&Instruction| {
            let is_matched = matched_outer.contains(&instruction.outer);
            is_of_them(&instruction.program) || (is_matched && (is_exchange || is_listed(&instruction.program)))
        };
        let outermost = all.iter().filter(|instruction| instruction.depth == 1);
        let outer = outermost.filter(is_whole).map(|instruction| instruction.outer).collect();
        let (mut called, mut parties) = (BTreeSet::new(), BTreeSet::new());
        let (mut given, mut filled) = (BTreeSet::new(), BTreeSet::new());
        // Accounts that are made for a program are its own, whether or not it calls anything.
        let programs: BTreeSet<Key> = matched.iter().map(|(_, instruction)| instruction.program).collect();
        let made = all.iter().filter_map(instructions::creation);
        let made = made.filter(|made| made.owner.is_some_and(|owner| programs.contains(&owner)));
        parties.extend(made.map(|made| made.account));
        let is_one: BTreeSet<*const Instruction> = matched.iter().map(|(_, one)| std::ptr::from_ref(*one)).collect();
        let matched = all.iter().enumerate().filter(|(_, one)| is_one.contains(&std::ptr::from_ref(*one)));
        for (at, instruction) in matched {
            let next = all.iter().enumerate().skip(at.saturating_add(1));
            let below: Vec<(usize, &Instruction)> = next
                .take_while(|(_, other)| other.outer == instruction.outer && other.depth > instruction.depth)
                .collect();
            called.insert(at);
            called.extend(below.iter().map(|(at, _)| *at));
            if below.is_empty() {
                filled.extend(instruction.accounts.iter().copied());
            }
            parties.extend(below.iter().flat_map(|(_, other)| &other.accounts).copied());
            given.extend(instruction.accounts.iter().copied());
        }
        // It is named wherever something is made, and stands for whoever mints or burns.
        parties.remove(&SYSTEM);
        filled.remove(&SYSTEM);
        Self { called, outer, parties, given, filled, made: opened(scene).collect() }
    }

    /// Whether they moved it, it moved with somebody who has a part in them, or an account was made with it.
    pub fn has_part(&self, flow: &Flow) -> bool {
        self.did(flow) || self.takes(flow) || self.is_rent(flow)
    }

    pub fn is_given(&self, account: &Key) -> bool {
        self.given.contains(account)
    }

    fn did(&self, flow: &Flow) -> bool {
        self.called.contains(&flow.at) || self.outer.contains(&flow.outer)
    }

    /// Whether the other side of the flow has a part in them. An NFT is often put into escrow first, by an instruction of its own.
    fn takes(&self, flow: &Flow) -> bool {
        let is_escrow = flow.asset.is_nft() && !flow.comes_in;
        let accounts = if is_escrow { &self.given } else { &self.parties };
        let is_one = |accounts: &BTreeSet<Key>| accounts.contains(&flow.account) || accounts.contains(&flow.party);
        is_one(accounts) || !flow.comes_in && is_one(&self.filled)
    }

    /// What somebody else's account was made with.
    fn is_rent(&self, flow: &Flow) -> bool {
        let is_coin = !flow.comes_in && flow.asset == Asset::Native;
        is_coin && flow.amount <= TOKEN_RENT_LAMPORTS_MAX && self.made.contains(&flow.account)
    }
}

fn opened<'a>(scene: &'a SolanaScene<'_>) -> impl Iterator<Item = Key> + 'a {
    scene.done.iter().filter_map(|(_, done)| match done {
        InstructionEffect::Opened { account, mint, .. } => (*mint != WRAPPED_SOL).then_some(*account),
        _ => None,
    })
}
