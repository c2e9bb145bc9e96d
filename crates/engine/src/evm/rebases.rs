//! Tokens that change every balance at once. An event tells that it happened; what it came to for one wallet only its balance and its shares before
//! and after the block tell.

use alloy_primitives::Address;

use super::{EvmFacts, HoldingChange, LOGS_MAX};
use crate::asset::{Asset, Seen};
use crate::category::Category;
use crate::opinion::Strength;
use crate::rules::compile::RebaseRule;
use crate::rules::{Known, Rules};
use crate::scene::Accrual;

/// Tokens of one transaction whose holdings are asked for.
const REBASED_MAX: usize = 8;

/// A token that changed every balance, and where it told.
#[derive(Debug, Clone, Copy)]
pub struct Rebase<'a> {
    pub token: Address,
    position: usize,
    pub rule: &'a RebaseRule,
}

/// What a rebase came to for one wallet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Grew(Accrual),
    Shrank,
    Unchanged,
    /// No node told, or the wallet's shares moved in the same block.
    Unknown,
}

/// The rebases that the transaction logs, each token once.
pub fn logged<'a>(facts: &EvmFacts, rules: &'a Rules, known: &Known<'_>) -> Vec<Rebase<'a>> {
    let mut found: Vec<Rebase<'a>> = Vec::new();
    for (position, log) in facts.receipt.logs.iter().enumerate().take(LOGS_MAX) {
        let Some(topic0) = log.topic0() else { continue };
        let is_heard = |rule: &&RebaseRule| {
            rule.event.layout.fits(log) && known.holds_role(log.address, rule.pack, rule.logged_by())
        };
        for rule in rules.rebases(&topic0).iter().filter(is_heard) {
            for token in rule.tokens(log.address, facts.chain.rules_slug()) {
                if found.len() < REBASED_MAX && !found.iter().any(|other| other.token == token) {
                    found.push(Rebase { token, position, rule });
                }
            }
        }
    }
    found
}

impl Rebase<'_> {
    pub fn outcome(&self, facts: &EvmFacts, wallet: Address) -> Outcome {
        let change = facts.holdings.get(&(self.token, wallet)).copied();
        let Some(HoldingChange { before: Some(before), after: Some(after) }) = change else { return Outcome::Unknown };
        // Whoever held nothing before got whatever he holds now by a transfer.
        if before.shares.is_zero() && before.balance.is_zero() {
            return Outcome::Unchanged;
        }
        if before.shares != after.shares {
            return Outcome::Unknown;
        }
        match after.balance.checked_sub(before.balance) {
            Some(grew) if grew.is_zero() => Outcome::Unchanged,
            Some(grew) => Outcome::Grew(Accrual {
                asset: Asset::Token(self.token.into()),
                means: Category::StakingRebase,
                amount: grew,
                at: Seen::Log(self.position),
                rule: self.rule.id.clone(),
                pack: self.rule.pack,
                strength: Strength::Verified,
            }),
            None => Outcome::Shrank,
        }
    }
}
