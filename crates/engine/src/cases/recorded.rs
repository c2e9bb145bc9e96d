//! Whether a pack's rules read the recorded bytes as the pack says. What is checked is what the engine matches by (contract, topic or
//! selector, layout, conditions) and every parameter that the rule uses.

use std::collections::BTreeSet;

use alloy_primitives::{Address, I256, U256};

use crate::Category;
use crate::evm::calldata::{self, Calldata};
use crate::evm::json::Log;
use crate::rules::compile::{self, AccountParam, CallShape, EventShape, Opens, ParamFinder, RulePlace};
use crate::rules::file::RecordedRow;
use crate::rules::file::{CallRow, EventRow};
use crate::rules::recorded::{RecordedReading, RecordedSource};
use crate::rules::solana::{InstructionRule, key};
use crate::rules::{Fault, Known, Pack, Rules};
use crate::solana::json::Instruction;
use crate::sources::call::is_meant;
use crate::sources::explain::Words;
use crate::sources::matched::{LogWords, OtherLog, account, holds};

/// What is wrong with the recorded readings of every pack.
pub fn check(rules: &Rules) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (at, pack) in rules.packs.iter().enumerate() {
        for row in &pack.file.recorded {
            if let Err(what) = read(rules, at, pack, row) {
                let what = format!("recorded `{}`: {what}", row.reads.get_ref());
                faults.push(Fault { file: format!("{}.toml", pack.id), line: pack.line(&row.reads.span()), what });
            }
        }
    }
    faults
}

/// Packs whose rules read events, calls or instructions: each should have recorded bytes of a real transaction. A call that only tells where coin goes
/// reads nothing.
pub fn packs_with_rules(rules: &Rules) -> impl Iterator<Item = &Pack> {
    rules.packs.iter().filter(|pack| {
        let file = &pack.file;
        let has_calls = file.call.iter().any(|row| row.means.is_some() || row.opens.is_some());
        has_calls || !file.event.is_empty() || !file.instruction.is_empty()
    })
}

/// Those of them that name none.
pub fn packs_without(rules: &Rules) -> Vec<&str> {
    packs_with_rules(rules).filter(|pack| pack.file.recorded.is_empty()).map(|pack| pack.id.as_str()).collect()
}

fn read(rules: &Rules, at: usize, pack: &Pack, row: &RecordedRow) -> Result<(), String> {
    let recorded = row.parse()?;
    match &recorded.source {
        RecordedSource::Log { chain, log } => {
            let check = Check { known: rules.on(chain).into(), at, pack, recorded: &recorded };
            any_of(pack.file.event.iter().filter_map(|row| {
                let shape = compile::event_shape(row.signature.get_ref(), row.topic0.as_deref()).ok()?;
                (shape.name() == recorded.name).then(|| check.event(row, &shape, log))
            }))
        }
        RecordedSource::Call { chain, to, input } => {
            let check = Check { known: rules.on(chain).into(), at, pack, recorded: &recorded };
            let call = Calldata::split(input).ok_or("the input holds no selector")?;
            any_of(pack.file.call.iter().filter_map(|row| {
                let shape = compile::call_shape(row.signature.get_ref()).ok()?;
                (shape.name() == recorded.name).then(|| check.call(row, &shape, *to, &call))
            }))
        }
        RecordedSource::Instruction(instruction) => {
            let spoken = rules.solana.instructions(instruction).into_iter().filter(|rule| rule.pack == at);
            any_of(spoken.map(|rule| instructed(pack, rule, &recorded, instruction)))
        }
        RecordedSource::Demo(_) => demo(rules, pack, &recorded),
    }
}

/// One rule must read it; else the reason why none does.
fn any_of(tried: impl Iterator<Item = Result<(), String>>) -> Result<(), String> {
    let mut reasons = BTreeSet::new();
    for result in tried {
        match result {
            Ok(()) => return Ok(()),
            Err(why) => reasons.insert(why),
        };
    }
    if reasons.is_empty() {
        return Err("no rule of this pack is about it".to_owned());
    }
    Err(reasons.into_iter().collect::<Vec<_>>().join("; "))
}

/// A recorded log or call, and the pack whose rules have to read it.
struct Check<'a> {
    known: Known<'a>,
    at: usize,
    pack: &'a Pack,
    recorded: &'a RecordedReading<'a>,
}

impl Check<'_> {
    fn event(&self, row: &EventRow, shape: &EventShape, log: &Log) -> Result<(), String> {
        let rule = compile::event(self.at, &self.pack.id, row)?;
        if log.topic0() != Some(rule.topic0) {
            return Err(format!("the log's first topic is not {}, which the signature gives", rule.topic0));
        }
        if !rule.layout.fits(log) {
            return Err("the log has not the topics and data that the signature gives".to_owned());
        }
        self.place(&rule.place, log.address)?;
        // Other logs of the transaction are not recorded, so conditions on them count as met.
        let is_met = |other| match other {
            OtherLog::Same(topic0) => rule.only.beside.as_ref().is_some_and(|beside| beside.topic0 == topic0),
            OtherLog::Naming(topic0) => rule.only.named_by == Some(topic0),
        };
        if !holds(&self.known, &rule, log, is_met) {
            return Err("the rule's conditions do not hold".to_owned());
        }
        means(Some(rule.means), self.recorded)?;
        let words = LogWords(log, None);
        compare(shape, &event_parameters(row), self.recorded, &words)
    }

    fn call(&self, row: &CallRow, shape: &CallShape, to: Address, call: &Calldata<'_>) -> Result<(), String> {
        let rule = compile::call(self.at, &self.pack.id, row)?;
        if call.selector != rule.selector {
            return Err(format!("the selector is not {}, which the signature gives", rule.selector));
        }
        if call.arguments.len() < rule.words.saturating_mul(32) {
            return Err("the input is shorter than the signature's parameters".to_owned());
        }
        self.place(&rule.place, to)?;
        if !is_meant(&rule, call) {
            return Err("the rule's conditions do not hold".to_owned());
        }
        // Of user operations only those of the acting account are opened, and a call alone does not tell which one that is.
        let opens = rule.opens.as_ref().filter(|opens| **opens != Opens::UserOperations);
        if opens.is_some_and(|opens| calldata::open(call, opens, to, to).is_empty()) {
            return Err("no call inside it can be read".to_owned());
        }
        means(rule.means, self.recorded)?;
        compare(shape, &call_parameters(row), self.recorded, call)
    }

    fn place(&self, place: &RulePlace, contract: Address) -> Result<(), String> {
        let is_allowed = match place {
            RulePlace::Role(role) => self.known.holds_role(contract, self.at, role),
            // The rows of chains are not known here; their wrapped coins are canonical tokens.
            RulePlace::WrappedNative => self.known.is_canonical(contract),
            RulePlace::ListedAs(role) => self.known.holders(contract).iter().any(|holder| *holder.role == **role),
            RulePlace::Anywhere | RulePlace::Called | RulePlace::Paid | RulePlace::Moved => true,
        };
        if is_allowed { Ok(()) } else { Err(format!("the rule is not for {contract} on this chain")) }
    }
}

fn instructed(
    pack: &Pack,
    rule: &InstructionRule,
    recorded: &RecordedReading<'_>,
    instruction: &Instruction,
) -> Result<(), String> {
    if *rule.id != format!("{}/{}", pack.id, recorded.name) {
        return Err(format!("`{}` is about this instruction", rule.id));
    }
    means(Some(rule.means), recorded)?;
    let account = |place: &usize| instruction.accounts.get(*place);
    let mut named = BTreeSet::new();
    for (place, text) in &recorded.values {
        let place = place.parse::<usize>().map_err(|_| format!("`{place}` is no position of an account"))?;
        if account(&place) != Some(&key(text)?) {
            return Err(format!("the account at position {place} is not {text}"));
        }
        named.insert(place);
    }
    let mut whose = rule.who.iter().chain(&rule.owner_of).peekable();
    if whose.peek().is_some() && !whose.any(|place| named.contains(place)) {
        return Err("it does not name an account at a position of the rule's `who` or `owner_of`".to_owned());
    }
    let mut same = rule.same.iter().map(account);
    let first = same.next();
    if !first.is_none_or(|first| first.is_some() && same.all(|other| other == first)) {
        return Err("the accounts that the rule wants to be the same differ".to_owned());
    }
    Ok(())
}

/// The engine does no IO: it looks only whether there is such a rule. `tests/packs.rs` finds the document that shows its reading.
fn demo(rules: &Rules, pack: &Pack, recorded: &RecordedReading<'_>) -> Result<(), String> {
    let id = format!("{}/{}", pack.id, recorded.name);
    let events = rules.event_rules().map(|rule| (&rule.id, Some(rule.means)));
    let calls = rules.call_rules().map(|rule| (&rule.id, rule.means));
    let instructions = rules.solana.rules().map(|rule| (&rule.id, Some(rule.means)));
    let mut all = events.chain(calls).chain(instructions);
    if all.any(|(rule, means)| **rule == *id && means == recorded.means) {
        return Ok(());
    }
    Err("the pack has no rule of this name and meaning".to_owned())
}

fn means(found: Option<Category>, recorded: &RecordedReading<'_>) -> Result<(), String> {
    if found == recorded.means {
        return Ok(());
    }
    Err(format!("the rule means {}", found.map_or("only what is inside", Category::name)))
}

/// Every parameter that the rule uses is named, and every one that is named has this value.
fn compare(
    shape: &ParamFinder,
    used: &[&str],
    recorded: &RecordedReading<'_>,
    words: &impl Words,
) -> Result<(), String> {
    let is_named = |used: &str| recorded.values.iter().any(|(name, _)| is_it(name, used));
    if let Some(missing) = used.iter().find(|used| !is_named(used)) {
        return Err(format!("the rule uses `{missing}`, which is not named"));
    }
    for (name, text) in &recorded.values {
        let found = match shape.account(name) {
            Ok(param @ AccountParam::Bytes(_)) => {
                account(&param, words).and_then(|account| account.evm()).map(|it| it.into_word().into())
            }
            _ => words.amount(&shape.word(name)?, 0),
        };
        if found != Some(number(text)?) {
            return Err(format!(
                "`{name}` is {}, not {text}",
                found.map_or("absent".to_owned(), |word| word.to_string())
            ));
        }
    }
    Ok(())
}

/// Whether the named parameter is the used one, or a member of the array that is used: `amounts[1]` of `amounts[*]`.
fn is_it(name: &str, used: &str) -> bool {
    let Some((array, member)) = used.split_once("[*]") else { return name == used };
    let inside = name.strip_prefix(array).and_then(|rest| rest.strip_prefix('[')).and_then(|rest| rest.split_once(']'));
    inside.is_some_and(|(_, rest)| rest == member)
}

fn event_parameters(row: &EventRow) -> Vec<&str> {
    let pairs = row.same.iter().chain(&row.differ).flat_map(|(one, other)| [one, other]);
    let keys = row.equals.keys().chain(row.holds.keys()).chain(pairs);
    let signs = row.positive.iter().chain(&row.negative);
    parameters(row.who.iter().chain(&row.out).chain(&row.incoming).chain(keys).chain(signs))
}

fn call_parameters(row: &CallRow) -> Vec<&str> {
    parameters(row.who.iter().chain(&row.out).chain(&row.incoming).chain(&row.zero).chain(&row.positive))
}

/// The parameters in words such as `token=amount?`, `token#id` and `@with:maker`.
fn parameters<'a>(words: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let pieces = words.flat_map(|word| word.split(['=', '#', ':', '?']));
    pieces.filter(|piece| !piece.is_empty() && !piece.starts_with('@')).collect()
}

/// A number or an address as a word.
fn number(text: &str) -> Result<U256, String> {
    let wrong = |_| format!("`{text}` is neither a number nor an address");
    match text.strip_prefix('-') {
        Some(amount) => amount.parse::<U256>().map(|amount| I256::from_raw(amount).wrapping_neg().into_raw()),
        None => text.parse::<U256>(),
    }
    .map_err(wrong)
}
