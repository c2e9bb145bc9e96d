//! From what an EVM node said to the scene.

use std::cell::OnceCell;

use alloy_primitives::Address;

use super::accruals::{self, Stated};
use super::fee::{Fee, fee};
use super::json::{Log, word_address};
use super::movements::{movements, unreadable};
use super::proofs::{accounts_may_run, coin_inside};
use super::rebases::{self, Outcome as Rebased, Rebase};
use super::underlogged::underlogged;
use super::unseen::unseen_value;
use super::{BalanceChange, EvmFacts, InternalValue, LOGS_MAX, actor, inscription, vouched};
use crate::asset::{Account, Movement, Seen};
use crate::hash::TxHash;
use crate::legs::{Direction, LEGS_MAX, legs as net_legs, position, with_accrued};
use crate::question::Question;
use crate::rules::{Known, Rules};
use crate::scene::{Doubt, Ground, Outcome, Scene, WalletNotInTransaction};

/// The scene, with what only this family has.
#[derive(Debug)]
pub struct EvmScene<'a> {
    pub scene: Scene<'a>,
    pub facts: &'a EvmFacts,
    pub perspective: Address,
    /// What is known of this chain's contracts.
    pub known: Known<'a>,
    /// Of tokens that changed every balance; empty where the question names no wallet.
    pub rebases: Vec<Rebase<'a>>,
    /// Whether the question names the wallet, so that the caller is none of the others.
    pub is_wallet_named: bool,
    /// Whether coin may have moved inside that no trace shows.
    pub may_hide_coin: bool,
    /// Whether the wallet's balance is asked for: coin may have moved unseen, or only what the contracts are known for says that none did.
    pub asks_balance: bool,
    logged: OnceCell<Vec<Vec<usize>>>,
}

impl EvmScene<'_> {
    /// Where the asset of this leg was logged, by anyone, in the order of the logs.
    pub fn logged(&self, leg: usize) -> &[usize] {
        let all = self.logged.get_or_init(|| {
            let mut places = vec![Vec::new(); self.legs.len().min(LEGS_MAX)];
            for m in &self.movements {
                let leg =
                    [Direction::Out, Direction::In].into_iter().find_map(|way| position(&self.legs, way, m.asset));
                if let (Seen::Log(at), Some(places)) = (m.seen, leg.and_then(|leg| places.get_mut(leg))) {
                    places.push(at);
                }
            }
            places.iter_mut().for_each(|places| places.sort_unstable());
            places
        });
        all.get(leg).map_or(&[], Vec::as_slice)
    }
}

impl<'a> std::ops::Deref for EvmScene<'a> {
    type Target = Scene<'a>;

    fn deref(&self) -> &Scene<'a> {
        &self.scene
    }
}

pub fn read<'a>(
    facts: &'a EvmFacts,
    question: &Question,
    rules: &'a Rules,
) -> Result<EvmScene<'a>, WalletNotInTransaction> {
    let outcome = outcome(facts);
    let listed = rules.on(facts.chain.rules_slug());
    let known = Known::new(listed, vouched::proved(facts, listed));
    let mut movements = if outcome == Outcome::Failed { Vec::new() } else { movements(facts, &known) };
    let is_traced = matches!(facts.internal, InternalValue::Traced { .. }) && !facts.has_coin_contract();
    // Until a trace is asked for, coin counts as known, as in `Ground::shows_coin`.
    let is_assumed = matches!(facts.internal, InternalValue::NotAsked);
    let inside = if is_traced { None } else { coin_inside(facts, rules, &known, &movements) };
    let may_hide_coin = !is_traced && inside.is_none();
    let may_err = inside.as_ref().is_some_and(|inside| inside.may_err);
    let paid: Vec<Account> = inside.iter().flat_map(|inside| &inside.coin).map(|coin| coin.to).collect();
    if let Some(inside) = inside {
        // An explorer's list agrees with a proof that may err, or there is none; beside a count of gas it is not believed.
        movements.retain(|m| !matches!(m.seen, Seen::Trace(_)));
        movements.extend(inside.coin);
    }
    let carried = actor::carried(facts, &movements, rules, &known);
    // Whose balances change is not logged: only a caller who names a wallet can be told.
    let rebases = if question.wallet.is_some() { rebases::logged(facts, rules, &known) } else { Vec::new() };
    let perspective = match question.wallet.as_ref() {
        None => carried.first().copied().unwrap_or(facts.transaction.from),
        Some(wallet) => {
            let is_rebased = |wallet| rebases.iter().any(|rebase| rebase.outcome(facts, wallet) != Rebased::Unchanged);
            let is_concerned =
                |wallet: &Address| is_party(*wallet, facts, &movements, may_hide_coin) || is_rebased(*wallet);
            wallet.evm().filter(is_concerned).ok_or(WalletNotInTransaction)?
        }
    };
    let mut doubts = Vec::new();
    let fee = fee(facts, perspective);
    let is_fee_known = !matches!(fee, Fee::Unknown(_));
    let (gas, gas_token) = match fee {
        Fee::NotPaid => (None, None),
        Fee::Coin(amount) => (Some(amount), None),
        Fee::Token(token, amount) => (Some(amount), Some(token)),
        Fee::Unknown(why) => {
            doubts.push(Doubt::FeeUnknown(why));
            (None, None)
        }
    };
    let block = facts.block;
    let caveats = facts.chain.quirks.caveats.iter().filter(|caveat| caveat.holds(facts.transaction.kind(), block));
    doubts.extend(caveats.map(|caveat| Doubt::Caveat(caveat.says.clone())));
    if outcome == Outcome::Succeeded {
        if may_hide_coin && !is_fee_known {
            // What is missing of the balance may be the fee.
            doubts.push(Doubt::InternalValueUnknown);
        } else if may_hide_coin || may_err && is_fee_known && tells_alone(facts, perspective) {
            let gas = gas.filter(|_| gas_token.is_none());
            movements.extend(unseen_value(facts, (rules, &known), (perspective, gas), &movements, &mut doubts));
        } else if accounts_may_run(facts) && paid.contains(&perspective.into()) {
            // What a wallet with code was paid it may have passed on.
            doubts.push(Doubt::InternalValueUnknown);
        }
        doubts.extend(
            unreadable(facts, &known, perspective)
                .and_then(|position| facts.log_index(position))
                .map(Doubt::Unreadable),
        );
        let underlogged = underlogged(facts, &known, &movements, perspective).map(Account::from);
        doubts.extend(underlogged.map(Doubt::Underlogged));
        let inscribed = inscription::hands_on(facts.transaction.input.as_ref());
        doubts.extend(inscribed.then_some(Doubt::Inscribed));
    }
    let Stated { earned: mut accruals, paid: interest_paid } =
        accruals::split(facts, rules, &known, perspective, &mut movements);
    for rebase in &rebases {
        match rebase.outcome(facts, perspective) {
            Rebased::Grew(accrual) => accruals.push(accrual),
            Rebased::Shrank => doubts.push(Doubt::RebasedDown),
            Rebased::Unknown => doubts.push(Doubt::RebaseUnknown),
            Rebased::Unchanged => {}
        }
    }
    let accrued = accruals.iter().map(|accrual| (accrual.asset, accrual.amount));
    let legs = match net_legs(&movements, perspective.into()).and_then(|legs| with_accrued(legs, accrued)) {
        Some(legs) => legs,
        None => {
            doubts.push(Doubt::AmountOverflow);
            Vec::new()
        }
    };
    if facts.receipt.status.is_none() && outcome == Outcome::Succeeded && ran_out_of_gas(facts) {
        doubts.push(Doubt::OutcomeUnknown);
    }
    let mut actors = Vec::new();
    if question.wallet.is_none() && carried.len() > 1 {
        let accounts: Vec<Account> = carried.iter().copied().map(Account::from).collect();
        actors.extend(accounts.iter().map(|actor| (*actor, net_legs(&movements, *actor).unwrap_or_default())));
        doubts.push(Doubt::SeveralActors(accounts));
    }
    if !facts.also_on.is_empty() {
        doubts.push(Doubt::SeveralChains(facts.also_on.clone()));
    }
    if !facts.unasked.is_empty() {
        doubts.push(Doubt::UnaskedChains(facts.unasked.clone()));
    }
    if facts.receipt.logs.len() > LOGS_MAX {
        doubts.push(Doubt::TooManyLogs(facts.receipt.logs.len()));
    }
    if legs.len() > LEGS_MAX {
        doubts.push(Doubt::TooManyLegs(legs.len()));
    }
    // A sender that only submits another account's action is not the actor.
    let acts = if carried.is_empty() { facts.transaction.from == perspective } else { carried.contains(&perspective) };
    let scene = Scene {
        chain: &facts.chain,
        hash: TxHash::Evm(facts.transaction.hash),
        block: facts.block,
        wallet: perspective.into(),
        acts,
        carried: carried.into_iter().map(Account::from).collect(),
        actors,
        outcome,
        movements,
        accruals,
        interest_paid,
        legs,
        gas,
        gas_token: gas_token.map(Account::from),
        doubts,
        ground: Ground::Evm { facts, known: known.clone(), is_coin_known: !may_hide_coin || is_assumed },
        own: OnceCell::new(),
        own_groups: OnceCell::new(),
        own_amounts: OnceCell::new(),
        leg_ranges: OnceCell::new(),
        links: OnceCell::new(),
        exchanged: OnceCell::new(),
        given_up: OnceCell::new(),
    };
    Ok(EvmScene {
        scene,
        facts,
        perspective,
        known,
        rebases,
        is_wallet_named: question.wallet.is_some(),
        may_hide_coin,
        asks_balance: may_hide_coin || may_err,
        logged: OnceCell::new(),
    })
}

/// Before Byzantium a receipt has no status: the trace tells, and without one the gas does, in doubt.
fn outcome(facts: &EvmFacts) -> Outcome {
    let failed = match (facts.receipt.status, &facts.internal) {
        (Some(status), _) => status.is_zero(),
        (None, InternalValue::Traced { failed, .. }) => *failed,
        (None, InternalValue::NotAsked | InternalValue::Untraceable | InternalValue::Listed { .. }) => false,
    };
    if failed { Outcome::Failed } else { Outcome::Succeeded }
}

/// Before receipts had a status, a failure spent all gas and left no log; but a plain transfer spends all of its gas too.
fn ran_out_of_gas(facts: &EvmFacts) -> bool {
    let is_traced = matches!(facts.internal, InternalValue::Traced { .. });
    !is_traced
        && facts.receipt.logs.is_empty()
        && !facts.transaction.input.is_empty()
        && facts.transaction.gas == Some(facts.receipt.gas_used)
}

/// Whether the account's balance shows what this transaction did: it sent no other in the block.
fn tells_alone(facts: &EvmFacts, account: Address) -> bool {
    let is_whole = |change: &&BalanceChange| change.before.is_some() && change.after.is_some();
    let change = facts.balances.get(&account).filter(is_whole);
    change.is_some_and(|change| change.sent_exactly(u64::from(facts.transaction.from == account)))
}

fn is_party(wallet: Address, facts: &EvmFacts, movements: &[Movement], may_hide_coin: bool) -> bool {
    let account = Account::from(wallet);
    let tx = &facts.transaction;
    // Without a trace a wallet that only received native coin inside cannot be seen, so its absence is not shown.
    let is_unmoved = |change: &BalanceChange| {
        change.before.is_some() && change.before == change.after && change.sent_exactly(u64::from(tx.from == wallet))
    };
    let unmoved = facts.balances.get(&wallet).is_some_and(is_unmoved);
    let is_hidden = !unmoved && may_hide_coin;
    is_hidden
        || tx.from == wallet
        || tx.to == Some(wallet)
        || facts.receipt.contract_address == Some(wallet)
        || facts.receipt.fee_payer == Some(wallet)
        || movements.iter().any(|m| m.from == account || m.to == account)
        || facts.receipt.logs.iter().any(|log| mentions(log, wallet))
}

/// Whether the contract is the wallet, or says something of it.
pub fn mentions(log: &Log, wallet: Address) -> bool {
    let words = log.data.chunks_exact(32).filter_map(|chunk| chunk.first_chunk());
    log.address == wallet
        || log.topics.iter().skip(1).any(|topic| word_address(&topic.0) == Some(wallet))
        || words.into_iter().any(|word| word_address(word) == Some(wallet))
}
