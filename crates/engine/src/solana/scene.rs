//! From what a Solana node said to the scene.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use alloy_primitives::U256;

use super::instructions::{self, InstructionEffect, RENT_LAMPORTS_MAX, TIP_LAMPORTS_MAX};
use super::json::{Instruction, SolanaTransaction};
use super::movements::{Flow, Ledger, Made, Rent};
use super::{Key, SolanaFacts};
use crate::asset::{Account, Asset, Movement};
use crate::hash::TxHash;
use crate::legs::{Direction, LEGS_MAX, Leg, legs as net_legs, position};
use crate::question::Question;
use crate::rules::Rules;
use crate::scene::{Doubt, Ground, Outcome, Scene, WalletNotInTransaction};

/// The scene, with what only this family has.
#[derive(Debug)]
pub struct SolanaScene<'a> {
    pub scene: Scene<'a>,
    pub facts: &'a SolanaFacts,
    pub wallet_key: Key,
    /// Whether the question names the wallet, so that the caller is none of the others.
    pub is_wallet_named: bool,
    /// What the standard programs did, and by which instruction of all.
    pub done: Vec<(usize, InstructionEffect)>,
    /// What the standard programs moved between the wallet and somebody else.
    pub flows: Vec<Flow>,
    /// Token accounts that were the wallet's and are somebody else's now, or the other way round.
    pub handed_over: Vec<Key>,
    /// Owners of token accounts.
    pub owners: BTreeMap<Key, Key>,
    /// Rent that went into accounts made here, and that came out of accounts closed here.
    pub rents: (u64, u64),
    /// The same of accounts of any size: a program's own are large.
    pub deposits: (u64, u64),
    /// What the wallet paid into accounts made here, but for its own token accounts.
    pub put_into_accounts: u64,
    /// Accounts that were made here, where the wallet's coin went out.
    pub made: Vec<Made>,
    /// What each account held that is gone, but for token accounts, where coin came in.
    pub emptied: Vec<u64>,
    /// The rent of token accounts of others that were closed in its favour.
    pub rent_closed: u64,
}

/// An integrator takes at most one part in this many of what moved.
const FEE_SHARE: u64 = 50;

impl SolanaScene<'_> {
    /// A tip, or an integrator's part: too little to be an exchange of its own.
    pub fn is_small(&self, flow: &Flow) -> bool {
        let at = |way| position(&self.legs, way, flow.asset);
        let leg = at(Direction::Out).or_else(|| at(Direction::In)).and_then(|at| self.legs.get(at));
        let leg = leg.map_or(U256::ZERO, |leg| leg.amount);
        let is_tip = flow.asset == Asset::Native && flow.amount <= TIP_LAMPORTS_MAX;
        is_tip || U256::from(flow.amount).saturating_mul(U256::from(FEE_SHARE)) <= leg
    }

    /// Whether instructions that are read moved all of this leg.
    pub fn is_seen(&self, leg: &Leg) -> bool {
        self.seen(leg) == Some(leg.amount)
    }

    /// How much instructions that are read moved of this leg, net; `None` where that is the other way.
    pub fn seen(&self, leg: &Leg) -> Option<U256> {
        let sum = |comes_in| {
            let flows = self.flows.iter().filter(|flow| flow.asset == leg.asset && flow.comes_in == comes_in);
            flows.fold(0_u64, |sum, flow| sum.saturating_add(flow.amount))
        };
        let (incoming, out) = (sum(true), sum(false));
        let net = if leg.direction == Direction::In { incoming.checked_sub(out) } else { out.checked_sub(incoming) };
        net.map(U256::from)
    }

    /// Whether the coin of this leg may all be rent and tips.
    pub fn is_rent(&self, leg: &Leg) -> bool {
        is_within(self.rents, leg)
    }

    /// Whether all of the leg went into accounts that were made here.
    pub fn is_only_rent(&self, leg: &Leg) -> bool {
        let is_coin = leg.asset == Asset::Native && leg.direction == Direction::Out;
        is_coin && leg.amount <= U256::from(self.put_into_accounts)
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

/// Doubts about what the node's answer does not show.
fn doubts(transaction: &SolanaTransaction, wallet: &Key, legs: &[Leg]) -> Vec<Doubt> {
    let asks = |is_asked: &dyn Fn(&Instruction) -> bool| transaction.instructions.iter().any(is_asked);
    let found = [
        (transaction.effects.is_none(), Doubt::EffectsUnknown),
        (transaction.is_unloaded, Doubt::AccountsUnknown),
        (asks(&instructions::is_confidential), Doubt::Confidential),
        (asks(&|instruction| instructions::gives_away(instruction, wallet)), Doubt::HandedOver),
        (legs.len() > LEGS_MAX, Doubt::TooManyLegs(legs.len())),
    ];
    found.into_iter().filter(|(is_so, _)| *is_so).map(|(_, doubt)| doubt).collect()
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
    let view = |wallet: Key| match &ledger {
        Some(ledger) => {
            let flows = ledger.flows(wallet);
            let moved = if failed { Vec::new() } else { ledger.movements(wallet, &flows) };
            View { wallet, moved, flows }
        }
        None => View { wallet, moved: Vec::new(), flows: Vec::new() },
    };
    let View { wallet, moved, flows } = match question.wallet {
        Some(Account::Solana(wallet)) if is_party(wallet, facts, ledger.as_ref()) => {
            // A token account is never the perspective: a caller that names one means its owner.
            let owner = ledger.as_ref().and_then(|ledger| ledger.owners.get(&wallet));
            view(owner.copied().unwrap_or(wallet))
        }
        Some(_) => return Err(WalletNotInTransaction),
        None => actor(facts, ledger.as_ref(), view),
    };
    let payer = transaction.payer().unwrap_or_default();
    let is_carried = wallet != payer && transaction.signed().contains(&wallet);
    // Two accounts signed and something moved for both: the chain does not tell which of them acts.
    let mut actors: Vec<(Account, Vec<Leg>)> = match (&ledger, question.wallet) {
        (Some(ledger), None) if transaction.signers > 1 => {
            let created = ledger.created();
            let signed = transaction.signed().iter().filter(|key| !created.contains(*key));
            let views = signed.map(|key| view(*key)).filter(|view| !view.moved.is_empty());
            let legs = views.map(|view| (Account::Solana(view.wallet), view.moved));
            legs.map(|(account, moved)| (account, net_legs(&moved, account).unwrap_or_default())).collect()
        }
        _ => Vec::new(),
    };
    if actors.len() < 2 {
        actors.clear();
    }
    let legs = net_legs(&moved, Account::Solana(wallet)).unwrap_or_default();
    let mut doubts = doubts(transaction, &wallet, &legs);
    if !actors.is_empty() {
        doubts.push(Doubt::SeveralActors(actors.iter().map(|(account, _)| *account).collect()));
    }
    if ledger.as_ref().is_some_and(Ledger::hides_token_moves) {
        doubts.push(Doubt::EffectsUnknown);
    }
    let scene = Scene {
        chain: &facts.chain,
        hash: TxHash::Solana(facts.signature),
        block: facts.block,
        wallet: Account::Solana(wallet),
        acts: transaction.signed().contains(&wallet),
        carried: (is_carried || !actors.is_empty()).then_some(Account::Solana(wallet)).into_iter().collect(),
        actors,
        outcome: if failed { Outcome::Failed } else { Outcome::Succeeded },
        movements: moved,
        accruals: Vec::new(),
        interest_paid: Vec::new(),
        legs,
        gas: effects.filter(|_| wallet == payer).map(|effects| U256::from(effects.fee)),
        gas_token: None,
        doubts,
        ground: Ground::Solana { facts, rules },
        own: OnceCell::new(),
        own_groups: OnceCell::new(),
        own_amounts: OnceCell::new(),
        leg_ranges: OnceCell::new(),
        links: OnceCell::new(),
        exchanged: OnceCell::new(),
        given_up: OnceCell::new(),
    };
    let rents = ledger.as_ref().map_or_else(Vec::new, |ledger| ledger.rents(wallet));
    // Nothing is asked of rent where no coin moved that way.
    let of_coin = |way| ledger.as_ref().filter(|_| position(&scene.legs, way, Asset::Native).is_some());
    let put_into_accounts = of_coin(Direction::Out).map_or(0, |ledger| ledger.put_into_accounts(wallet));
    let made = of_coin(Direction::Out).map_or_else(Vec::new, |ledger| ledger.made(wallet));
    let emptied = of_coin(Direction::In).map_or_else(Vec::new, Ledger::emptied);
    let rent_closed = of_coin(Direction::In).map_or(0, |ledger| ledger.rent_closed(wallet));
    let handed_over = ledger.as_ref().map_or_else(Vec::new, |ledger| ledger.handed_over(wallet));
    let (owners, done) = ledger.map_or_else(Default::default, |ledger| (ledger.owners, ledger.done));
    Ok(SolanaScene {
        scene,
        facts,
        wallet_key: wallet,
        is_wallet_named: question.wallet.is_some(),
        handed_over,
        flows,
        owners,
        put_into_accounts,
        made,
        emptied,
        rent_closed,
        rents: sums(&rents, RENT_LAMPORTS_MAX),
        deposits: sums(&rents, u64::MAX),
        done,
    })
}

/// What the transaction was for one account.
struct View {
    wallet: Key,
    moved: Vec<Movement>,
    flows: Vec<Flow>,
}

/// The first signer for whom something moved. A fee payer for whom nothing moved submits somebody else's action. An account that this transaction makes signs
/// for its own making.
fn actor(facts: &SolanaFacts, ledger: Option<&Ledger<'_>>, view: impl Fn(Key) -> View) -> View {
    let signed = facts.transaction.signed();
    let first = view(signed.first().copied().unwrap_or_default());
    if !first.moved.is_empty() {
        return first;
    }
    let created = ledger.map(Ledger::created).unwrap_or_default();
    let others = signed.iter().skip(1).filter(|key| !created.contains(*key)).map(|key| view(*key));
    others.into_iter().find(|other| !other.moved.is_empty()).unwrap_or(first)
}

/// What went into accounts made here, and what came out of accounts closed here. One that kept more than `max` kept more than
/// its rent, and is left out.
fn sums(rents: &[Rent], max: u64) -> (u64, u64) {
    rents.iter().fold((0, 0), |(made, closed), rent| match rent {
        Rent::Made(rent) if *rent <= max => (rent.saturating_add(made), closed),
        Rent::Closed(rent) if *rent <= max => (made, rent.saturating_add(closed)),
        Rent::Made(_) | Rent::Closed(_) => (made, closed),
    })
}

fn is_party(wallet: Key, facts: &SolanaFacts, ledger: Option<&Ledger<'_>>) -> bool {
    facts.transaction.keys.contains(&wallet) || ledger.is_some_and(|ledger| ledger.holders().contains(&wallet))
}
