//! From what a Solana node said to the scene.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::U256;

use super::instructions::{self, Done};
use super::movements::{Flow, Ledger};
use super::{Key, SolanaFacts};
use crate::asset::{Account, Asset};
use crate::hash::TxHash;
use crate::legs::{Direction, LEGS_MAX, Leg, legs};
use crate::question::Question;
use crate::rules::Rules;
use crate::scene::{Doubt, Ground, Outcome, Scene, WalletNotInTransaction};

/// The scene, with what only this family has.
#[derive(Debug)]
pub struct SolanaScene<'a> {
    pub scene: Scene<'a>,
    pub facts: &'a SolanaFacts,
    pub wallet_key: Key,
    /// What the standard programs did, and by which outer instruction.
    pub done: Vec<(usize, Done)>,
    /// What the standard programs moved between the wallet and somebody else.
    pub flows: Vec<Flow>,
    /// Token accounts of the wallet that were handed over.
    pub lost: Vec<Key>,
    /// Owners of token accounts.
    pub owners: BTreeMap<Key, Key>,
    /// Rent that went into accounts made here, and that came out of accounts closed here.
    pub rents: (u64, u64),
    /// The same of accounts of any size: a program's own are large.
    pub deposits: (u64, u64),
}

/// The largest accounts that protocols open for a user, such as positions with many bins, keep less.
const RENT_LAMPORTS_MAX: u64 = 100_000_000;
/// More than this is no tip that anybody would overlook.
const TIP_LAMPORTS_MAX: u64 = 5_000_000;
/// An integrator's part of what moved is one in so many at most.
const FEE_SHARE: u64 = 50;

impl SolanaScene<'_> {
    /// A tip, or an integrator's part: too little to be an exchange of its own.
    pub fn is_small(&self, flow: &Flow) -> bool {
        let leg = self.legs.iter().find(|leg| leg.asset == flow.asset).map_or(U256::ZERO, |leg| leg.amount);
        let is_tip = flow.asset == Asset::Native && flow.amount <= TIP_LAMPORTS_MAX;
        is_tip || U256::from(flow.amount).saturating_mul(U256::from(FEE_SHARE)) <= leg
    }

    /// Whether the coin of this leg may all be rent and tips.
    pub fn is_rent(&self, leg: &Leg) -> bool {
        is_within(self.rents, leg)
    }

    /// The same where programs are deployed, whose accounts are as large as they are.
    pub fn is_deposit(&self, leg: &Leg) -> bool {
        is_within(self.deposits, leg)
    }
}

fn is_within((made, closed): (u64, u64), leg: &Leg) -> bool {
    let rent = match leg.direction {
        Direction::Out => made.saturating_add(TIP_LAMPORTS_MAX),
        Direction::In => closed,
    };
    leg.asset == Asset::Native && leg.amount <= U256::from(rent)
}

impl<'a> std::ops::Deref for SolanaScene<'a> {
    type Target = Scene<'a>;

    fn deref(&self) -> &Scene<'a> {
        &self.scene
    }
}

pub fn read<'a>(
    facts: &'a SolanaFacts,
    question: &Question,
    rules: &'a Rules,
) -> Result<SolanaScene<'a>, WalletNotInTransaction> {
    let transaction = &facts.transaction;
    let effects = transaction.effects.as_ref();
    let ledger = effects.map(|effects| Ledger::open(transaction, effects));
    let failed = effects.is_some_and(|effects| effects.failed);
    let movements = |wallet: Key| match &ledger {
        Some(ledger) if !failed => ledger.movements(wallet),
        _ => Vec::new(),
    };
    let wallet = match question.wallet {
        Some(Account::Solana(wallet)) if is_party(wallet, facts, ledger.as_ref()) => {
            // A token account acts for nobody: whoever names one means its owner.
            let owner = ledger.as_ref().and_then(|ledger| ledger.owners().get(&wallet));
            owner.copied().unwrap_or(wallet)
        }
        Some(_) => return Err(WalletNotInTransaction),
        None => actor(facts, |key| !movements(key).is_empty()),
    };
    let payer = transaction.payer().unwrap_or_default();
    let is_carried = wallet != payer && transaction.signed().contains(&wallet);
    let moved = movements(wallet);
    let mut doubts = Vec::new();
    if effects.is_none() {
        doubts.push(Doubt::EffectsUnknown);
    }
    if transaction.is_unloaded {
        doubts.push(Doubt::AccountsUnknown);
    }
    if transaction.instructions.iter().any(instructions::is_confidential) {
        doubts.push(Doubt::Confidential);
    }
    if transaction.instructions.iter().any(|instruction| instructions::gives_away(instruction, &wallet)) {
        doubts.push(Doubt::HandedOver);
    }
    // Two people signed and something moved for both: who of them asks is not on chain.
    let movers = match (&ledger, question.wallet) {
        (Some(ledger), None) if transaction.signers > 1 => {
            let created = ledger.created();
            let is_mover = |key: &&Key| !created.contains(*key) && !movements(**key).is_empty();
            transaction.signed().iter().filter(is_mover).copied().map(Account::Solana).collect()
        }
        _ => Vec::new(),
    };
    let is_shared = movers.len() > 1;
    if is_shared {
        doubts.push(Doubt::SeveralActors(movers));
    }
    if ledger.as_ref().is_some_and(Ledger::is_half_told) {
        doubts.push(Doubt::EffectsUnknown);
    }
    let legs = legs(&moved, Account::Solana(wallet)).unwrap_or_default();
    if legs.len() > LEGS_MAX {
        doubts.push(Doubt::TooManyLegs(legs.len()));
    }
    let scene = Scene {
        chain: &facts.chain,
        hash: TxHash::Solana(facts.signature),
        block: facts.block,
        wallet: Account::Solana(wallet),
        acts: transaction.signed().contains(&wallet),
        carried: if is_carried || is_shared { BTreeSet::from([Account::Solana(wallet)]) } else { BTreeSet::new() },
        outcome: if failed { Outcome::Failed } else { Outcome::Succeeded },
        movements: moved,
        legs,
        gas: effects.filter(|_| wallet == payer).map(|effects| U256::from(effects.fee)),
        doubts,
        ground: Ground::Solana { facts, rules },
    };
    Ok(SolanaScene {
        scene,
        facts,
        wallet_key: wallet,
        lost: ledger.as_ref().map_or_else(Vec::new, |ledger| ledger.lost(wallet)),
        flows: ledger.as_ref().map_or_else(Vec::new, |ledger| ledger.flows(wallet)),
        owners: ledger.as_ref().map_or_else(BTreeMap::new, |ledger| ledger.owners().clone()),
        rents: ledger.as_ref().map_or((0, 0), |ledger| ledger.rents(RENT_LAMPORTS_MAX)),
        deposits: ledger.as_ref().map_or((0, 0), |ledger| ledger.rents(u64::MAX)),
        done: ledger.map_or_else(Vec::new, |ledger| ledger.done),
    })
}

/// The first signer for whom something moved. A fee payer for whom nothing did carries somebody else's action.
fn actor(facts: &SolanaFacts, has_moved: impl Fn(Key) -> bool) -> Key {
    let signed = facts.transaction.signed();
    let first = signed.first().copied().unwrap_or_default();
    let mut others = signed.iter().copied().skip(1).filter(|key| has_moved(*key));
    if has_moved(first) { first } else { others.next().unwrap_or(first) }
}

fn is_party(wallet: Key, facts: &SolanaFacts, ledger: Option<&Ledger<'_>>) -> bool {
    facts.transaction.keys.contains(&wallet) || ledger.is_some_and(|ledger| ledger.holders().contains(&wallet))
}
