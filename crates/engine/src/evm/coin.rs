//! To whom a called contract pays coin, where no node traces: what its pack says of this call and of those that it runs of its own, and how much it was,
//! by what the wrapped coin's contract logged.

use alloy_primitives::{Address, B256, U256};

use super::EvmFacts;
use super::calldata::{CALLS_MAX, Calldata};
use super::json::{Log, word_address};
use super::movements::{DEPOSIT, WITHDRAWAL};
use crate::asset::{Asset, Movement, Seen};
use crate::rules::compile::{CallRule, CoinRule, Field, Payee};
use crate::rules::{Known, Rules};

/// To whom coin goes, of each kind that is paid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Payees {
    unwrapped: Option<Address>,
    refunded: Option<Address>,
}

impl Payees {
    /// `None` where two calls name different accounts.
    fn with(self, other: Self) -> Option<Self> {
        let one = |mine: Option<Address>, its: Option<Address>| match (mine, its) {
            (Some(mine), Some(its)) if mine != its => None,
            _ => Some(mine.or(its)),
        };
        Some(Self { unwrapped: one(self.unwrapped, other.unwrapped)?, refunded: one(self.refunded, other.refunded)? })
    }
}

/// The coin that the called contract paid; `None` where its code, or code that the caller chose, may have paid more.
pub fn paid(facts: &EvmFacts, rules: &Rules, known: &Known<'_>) -> Option<Vec<Movement>> {
    let transaction = &facts.transaction;
    let called = transaction.to.filter(|called| known.is_listed(*called))?;
    let reading = Reading { facts, rules, known, called };
    let call = Calldata::split(&transaction.input)?;
    let payees = reading.payees(&call, true)?;
    let mut found = Vec::new();
    let mut pay = |to: Option<Address>, amount: U256, at: usize| {
        if let Some(to) = to.filter(|_| !amount.is_zero()) {
            let (from, to) = (called.into(), to.into());
            found.push(Movement { asset: Asset::Native, from, to, amount, seen: Seen::Log(at) });
        }
    };
    // Tokens that trade of their own wrap and unwrap as well, also by the same router, and pay whom they like.
    match reading.wrapping(WITHDRAWAL)[..] {
        // Some wrapped coins do not log what they pay out.
        [] if payees.unwrapped.is_none() => {}
        [(at, by, amount)] if by == called && payees.unwrapped.is_some() => pay(payees.unwrapped, amount, at),
        _ => return None,
    }
    if payees.refunded.is_some() {
        match reading.wrapping(DEPOSIT)[..] {
            [(at, by, amount)] if by == called => pay(payees.refunded, transaction.value.checked_sub(amount)?, at),
            _ => return None,
        }
    }
    Some(found)
}

struct Reading<'a> {
    facts: &'a EvmFacts,
    rules: &'a Rules,
    known: &'a Known<'a>,
    called: Address,
}

impl Reading<'_> {
    /// What every rule of the contract's packs for this call agrees on.
    fn payees(&self, call: &Calldata<'_>, may_run: bool) -> Option<Payees> {
        let is_its = |rule: &&CallRule| self.known.is_place_of(rule, self.called);
        let mut rules = self.rules.calls(&call.selector).iter().filter(is_its).filter_map(|rule| rule.coin.as_ref());
        let first = self.by(rules.next()?, call, may_run)?;
        rules.try_fold(first, |so_far, rule| so_far.with(self.by(rule, call, may_run)?))
    }

    fn by(&self, rule: &CoinRule, call: &Calldata<'_>, may_run: bool) -> Option<Payees> {
        let nobody = Payees::default();
        Some(match rule {
            CoinRule::Nobody => nobody,
            CoinRule::Unwraps(payee) => Payees { unwrapped: Some(self.payee(payee, call)?), ..nobody },
            CoinRule::Refunds(payee) => Payees { refunded: Some(self.payee(payee, call)?), ..nobody },
            CoinRule::Runs(data) if may_run => self.run(data, call)?,
            CoinRule::RunsCommands if may_run => self.commands(call)?,
            CoinRule::Runs(_) | CoinRule::RunsCommands => return None,
        })
    }

    fn payee(&self, payee: &Payee, call: &Calldata<'_>) -> Option<Address> {
        match payee {
            Payee::Sender => Some(self.facts.transaction.from),
            Payee::Named(field) => field.word(call.arguments, 0).and_then(word_address),
        }
    }

    /// Each of the contract's own functions that are packed inside, all of which must be known. Coin that is left goes back at the end.
    fn run(&self, data: &Field, call: &Calldata<'_>) -> Option<Payees> {
        let count = data.count(call.arguments).filter(|count| *count < CALLS_MAX)?;
        let mut all = Payees::default();
        for member in 0..count {
            let inside = call.bytes_at(data.locate(call.arguments, member)?)?;
            let payees = self.payees(&Calldata::split(inside)?, false)?;
            if payees.refunded.is_some() && member.saturating_add(1) != count {
                return None;
            }
            all = all.with(payees)?;
        }
        Some(all)
    }

    /// The commands of Uniswap's Universal Router: what a command byte means, and whom words 1 and 2 name, is its own convention.
    fn commands(&self, call: &Calldata<'_>) -> Option<Payees> {
        const SENDER: Address = Address::with_last_byte(1);
        const ITSELF: Address = Address::with_last_byte(2);
        let commands = call.bytes_at(call.offset(0)?)?;
        let inputs = call.members(call.offset(1)?)?;
        if commands.len() != inputs.len() || commands.len() >= CALLS_MAX {
            return None;
        }
        let mut all = Payees::default();
        for (command, input) in commands.iter().zip(inputs) {
            let input = Calldata::bare(call.bytes_at(input)?);
            let named = || input.word_at(0).and_then(word_address);
            all = match command {
                // Swaps at pools of versions 3 and 2, permits, and wrapping.
                0x00 | 0x01 | 0x08 | 0x09 | 0x03 | 0x0a | 0x0b => all,
                // A token of the caller's, or the router's, goes to somebody: coin and tokens that nobody knows may not.
                0x02 | 0x04 | 0x05 | 0x06 => {
                    let token = named()?;
                    let is_known = self.known.is_on_list(token) || self.known.is_widespread(token);
                    if !is_known && !self.facts.chain.is_wrapped_native(token) {
                        return None;
                    }
                    all
                }
                0x0c => {
                    let to = match named()? {
                        SENDER => self.facts.transaction.from,
                        ITSELF => return None,
                        other => other,
                    };
                    all.with(Payees { unwrapped: Some(to), ..Payees::default() })?
                }
                _ => return None,
            };
        }
        Some(all)
    }

    /// Who wrapped or unwrapped how much, and where that was logged.
    fn wrapping(&self, topic0: B256) -> Vec<(usize, Address, U256)> {
        let is_its = |log: &Log| log.topic0() == Some(topic0) && self.facts.chain.is_wrapped_native(log.address);
        let logs = self.facts.receipt.logs.iter().enumerate().filter(|(_, log)| is_its(log));
        logs.map(|(at, log)| (at, log.topic_address(1).unwrap_or_default(), log.data_u256(0).unwrap_or_default()))
            .collect()
    }
}
