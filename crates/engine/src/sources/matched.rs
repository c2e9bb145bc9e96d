//! A log that a rule matches, and what the rule's own words make of it.

use alloy_primitives::{Address, B256, U256};

use super::explain::{self, Speaker, Words, explain};
use super::trust::{EmitterTrust, proved};
use crate::asset::{Account, Asset, Seen};
use crate::category::{Category, Nature};
use crate::evm::json::Log;
use crate::evm::scene::EvmScene;
use crate::legs::{Direction, position};
use crate::opinion::{Opinion, Source, Strength};
use crate::role::Role;
use crate::rules::compile::{AccountParam, EventRule, Field, LegSpec, LegSubject, Who};
use crate::rules::{Crossing, Known, Rules};
use crate::scene::Own;
use crate::shares::{LegSet, Share, Shares, Tie};

/// A log that a rule matches, whose conditions hold.
#[derive(Debug, Clone, Copy)]
pub struct Matched<'a> {
    /// Its place among the logs.
    pub position: usize,
    pub log: &'a Log,
    pub rule: &'a EventRule,
    pub trust: EmitterTrust,
}

/// A log that a rule wants to see, or not, beside its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherLog {
    /// Of the same contract.
    Same(B256),
    /// Of another contract, with this one as its first indexed parameter.
    Naming(B256),
}

/// Whether the rule's conditions beyond the layout hold. `logged` tells whether another log is there.
pub fn holds(known: &Known<'_>, rule: &EventRule, log: &Log, logged: impl Fn(OtherLog) -> bool) -> bool {
    let words = LogWords(log, None);
    let is_positive = |field| words.amount(field, 0).is_some_and(|word| !word.bit(255) && !word.is_zero());
    let is_negative = |field| words.amount(field, 0).is_some_and(|word| word.bit(255));
    let only = &rule.only;
    only.beside.as_ref().is_none_or(|beside| logged(OtherLog::Same(beside.topic0)))
        && !only.without.is_some_and(|topic0| logged(OtherLog::Same(topic0)))
        && only.named_by.is_none_or(|topic0| logged(OtherLog::Naming(topic0)))
        && !only.not_named_by.is_some_and(|topic0| logged(OtherLog::Naming(topic0)))
        && only.equals.iter().all(|(field, values)| equals(&words, field, values))
        && only.same.iter().all(|(one, other)| words.amount(one, 0) == words.amount(other, 0))
        && only.differ.iter().all(|(one, other)| words.amount(one, 0) != words.amount(other, 0))
        && only.holds.iter().all(|(field, role)| {
            words.address(field, 0).is_some_and(|holder| known.holds_role(holder, rule.pack, role))
        })
        && only.positive.as_ref().is_none_or(is_positive)
        && only.negative.as_ref().is_none_or(is_negative)
}

/// Whether the parameter, or each member of it, has one of the values. An array without members has none.
fn equals(words: &LogWords<'_>, field: &Field, values: &[U256]) -> bool {
    let has_one = |member| words.amount(field, member).is_some_and(|value| values.contains(&value));
    words.count(field).is_some_and(|count| count > 0 && (0..count).all(has_one))
}

/// What the rule's own words make of a log.
pub fn opinion(scene: &EvmScene<'_>, rules: &Rules, matched: &Matched<'_>) -> Option<Opinion> {
    let Matched { position, log, rule, trust } = *matched;
    let words = LogWords(log, Some(position));
    if !is_for_perspective(scene, &rule.who, &words) {
        return None;
    }
    let EmitterTrust { mut strength, pack } = proved(scene, rule, log.address, trust);
    let is_verified = strength == Strength::Verified;
    let speaker = Speaker { contract: log.address, pack: rule.pack, means: rule.means, is_verified, is_loose: false };
    let explained = explain(scene, &rule.out, &rule.incoming, speaker, &words)?;
    // Whoever is asked may do for himself what a known contract logs without a name, and pay the wallet as much.
    let passes =
        || explained.iter().all(|share| share.tie != Tie::Stated || passes_on(scene, rule.pack, log.address, share));
    if !is_named(scene, &rule.who, &words) && asks_stranger(scene) && !passes() {
        strength = Strength::Suggested;
    }
    let is_verified = is_verified && strength == Strength::Verified;
    // Only the amount links such a fill to the wallet.
    let is_exact = |share: &Share| scene.legs.get(share.leg).is_some_and(|leg| leg.amount == share.amount);
    if rule.escrowed && !explained.iter().filter(|share| share.tie == Tie::Stated).all(is_exact) {
        return None;
    }
    let mut said = Opinion {
        protocol: (strength == Strength::Verified || rule.own).then(|| rules.protocol(pack)).flatten(),
        role: rule.role,
        at: Some(Seen::Log(position)),
        counterleg_in_earlier_tx: rule.escrowed,
        speaker: (!is_verified).then(|| log.address.into()),
        whose: another(scene, rules, &rule.whose, &words),
        is_repaid_otherwise: rule.means == Category::Repay && is_of_shares(&rule.out),
        perhaps: rule.perhaps,
        ..Opinion::new(Source::Protocol, rule.id.clone(), rule.means, strength, explained)
    };
    cross(&mut said, rules, rule.pack, rule.becomes.as_ref(), &words);
    Some(said)
}

/// Whether a contract that a pack vouches for states income of the wallet's that came in and went out again, in part or in whole, as where it is claimed
/// and staked at once: legs are net, so none shows it.
pub fn is_netted_income(scene: &EvmScene<'_>, matched: &Matched<'_>) -> bool {
    let Matched { position: at, log, rule, trust } = *matched;
    let words = LogWords(log, Some(at));
    let is_income = rule.means.meaning().nature == Nature::Earning && trust.strength == Strength::Verified;
    let came_in = |amount: U256| {
        let is_it = |own: &&Own| own.direction == Direction::In && own.amount == amount && !own.asset.is_nft();
        let left = |own: &Own| {
            let leg = position(&scene.legs, Direction::In, own.asset).and_then(|at| scene.legs.get(at));
            leg.map_or(U256::ZERO, |leg| leg.amount)
        };
        // Whether it moved at all is one search, so that a log costs little however much else moved.
        !amount.is_zero() && scene.has_moved(amount) && scene.own().iter().filter(is_it).any(|own| left(own) < amount)
    };
    is_income
        && is_for_perspective(scene, &rule.who, &words)
        && rule.incoming.iter().filter_map(|spec| words.amount(spec.amount.as_ref()?, 0)).any(came_in)
}

/// Takes out of an opinion the fee that was paid in coin beside what it says: what the contract that spoke, or one of its pack, was given beyond what the
/// rule states. Coin that the opinion had only by the way of the money is the fee's then. Where nothing else moved, the coin is what the opinion speaks of,
/// and there is no fee.
pub fn take_fee(scene: &EvmScene<'_>, (contract, pack): (Address, usize), said: &mut Opinion) -> Option<Opinion> {
    let at = position(&scene.legs, Direction::Out, Asset::Native)?;
    let leg = scene.legs.get(at)?;
    let is_its = |other: Account| {
        let other = other.evm().unwrap_or_default();
        other == contract || scene.known.holders(other).iter().any(|holder| holder.pack == pack)
    };
    let mut coin = LegSet::EMPTY;
    coin.insert(at);
    let rest = said.explains.without_linked(coin);
    // What was too much may have come back from whoever passed the message on.
    let given = scene.net(leg, |_, own| is_its(own.other)).amount.min(leg.amount);
    let mut paid = Shares::default();
    paid.push(at, given.saturating_sub(rest.of(at)), Tie::Linked);
    if rest.is_empty() || paid.is_empty() {
        return None;
    }
    said.explains = rest;
    Some(Opinion {
        protocol: said.protocol.clone(),
        role: Role::Fee,
        at: said.at,
        speaker: said.speaker,
        ..Opinion::new(said.source, said.rule.clone(), Category::FeePayment, said.strength, paid)
    })
}

/// Whether the log tells of the perspective, or was not asked for by it.
fn is_named(scene: &EvmScene<'_>, who: &[Who], words: &impl Words) -> bool {
    words.names(scene.perspective) || !who.iter().any(|who| matches!(who, Who::Anyone | Who::Sender))
}

/// Whether the contract that spoke, or one of its pack, moved this asset with the wallet, or just what the share speaks of with whomever.
fn passes_on(scene: &EvmScene<'_>, pack: usize, contract: Address, share: &Share) -> bool {
    let Some(leg) = scene.legs.get(share.leg) else { return false };
    let asset = scene.kin(leg.asset);
    let is_its = |party: Account, asset: Asset| {
        let party = if party.is_zero() { asset.contract().unwrap_or(party) } else { party };
        let party = party.evm().unwrap_or_default();
        party == contract || scene.known.holders(party).iter().any(|holder| holder.pack == pack)
    };
    let is_unseen = asset == Asset::Native && !scene.ground.shows_coin();
    is_unseen
        || scene.movements.iter().any(|m| {
            let party = if leg.direction == Direction::Out { m.to } else { m.from };
            let is_same =
                m.amount == share.amount || scene.wallet == if leg.direction == Direction::Out { m.from } else { m.to };
            is_same && scene.kin(m.asset) == asset && is_its(party, m.asset)
        })
}

/// Whether the transaction calls a contract that nothing is known of, and that is not the perspective itself.
fn asks_stranger(scene: &EvmScene<'_>) -> bool {
    let is_known = |called: Address| called == scene.perspective || !scene.known.holders(called).is_empty();
    !scene.facts.transaction.to.is_some_and(is_known)
}

/// Whether the rule's actor is the perspective.
pub fn is_for_perspective(scene: &EvmScene<'_>, who: &[Who], words: &impl Words) -> bool {
    let names = |field: &Field| {
        let count = words.count(field).unwrap_or_default();
        (0..count).any(|member| words.address(field, member) == Some(scene.perspective))
    };
    who.iter().any(|who| match who {
        Who::Anyone => true,
        Who::Sender => scene.acts,
        Who::Field(field) => names(field),
    })
}

/// Whether all that is paid is burned, and a token of its own marks the debt: shares in the lender's pool, and not what was lent. A coin that its own
/// issuer lends is burned as well, and no token marks that.
fn is_of_shares(out: &[LegSpec]) -> bool {
    let (debt, mut paid): (Vec<&LegSpec>, Vec<&LegSpec>) = out.iter().partition(|spec| spec.what == LegSubject::Debt);
    paid.retain(|spec| spec.what != LegSubject::Minted);
    !debt.is_empty() && debt.len() < out.len() && paid.is_empty()
}

/// What crosses a bridge, where the words name both sides of it: two assets of different families are an exchange.
pub fn cross(said: &mut Opinion, rules: &Rules, pack: usize, becomes: Option<&[Field; 2]>, words: &impl Words) {
    let named = becomes.and_then(|[taken, given]| words.address(taken, 0).zip(words.address(given, 0)));
    let crossing = named.map(|(taken, given)| rules.families.crossing(taken, given));
    let is_bridge = matches!(said.category, Category::BridgeIn | Category::BridgeOut);
    match crossing {
        Some(Crossing::Another) if is_bridge => said.category = Category::BridgeSwap,
        Some(Crossing::Same) => said.is_one_family = true,
        Some(Crossing::Another | Crossing::Unknown) | None => {
            said.may_exchange = becomes.is_some() || rules.may_exchange(pack);
        }
    }
}

/// Somebody else than the wallet, where one of the fields names them. A contract that some pack lists, on whichever chain, only passes on what
/// others gave it. 32 bytes that are no address here are an account on a chain of another family, such as Solana: never the wallet itself.
pub fn another(scene: &EvmScene<'_>, rules: &Rules, whose: &[AccountParam], words: &impl Words) -> Option<Account> {
    let mut others = whose.iter().filter_map(|param| account(param, words));
    let no_other = [scene.perspective, Address::ZERO].map(Account::from);
    others.find(|other| !no_other.contains(other) && !rules.is_contract(other))
}

/// The account that the parameter names.
pub fn account(param: &AccountParam, words: &impl Words) -> Option<Account> {
    match param {
        AccountParam::Word(field) => words.word(field, 0).map(Account::from_word),
        AccountParam::Bytes(field) => Account::from_bytes(words.bytes(field)?),
    }
}

/// Whether one of the fields names somebody in a form that is no address here, such as a name on NEAR: nobody can tell who that is.
pub fn is_unreadable(whose: &[AccountParam], words: &impl Words) -> bool {
    whose.iter().any(|param| matches!(param, AccountParam::Bytes(_)) && account(param, words).is_none())
}

/// A log, and its place where that matters.
#[derive(Debug, Clone, Copy)]
pub struct LogWords<'a>(pub &'a Log, pub Option<usize>);

impl Words for LogWords<'_> {
    fn position(&self) -> Option<usize> {
        self.1
    }

    fn word(&self, field: &Field, member: usize) -> Option<&[u8; 32]> {
        field.in_log(self.0, member)
    }

    fn bytes(&self, field: &Field) -> Option<&[u8]> {
        field.bytes(&self.0.data)
    }

    fn names(&self, address: Address) -> bool {
        let word = address.into_word();
        self.0.topics.iter().skip(1).any(|topic| *topic == word) || explain::has_word(&self.0.data, &word)
    }

    fn count(&self, field: &Field) -> Option<usize> {
        explain::count(field, &self.0.data)
    }
}
