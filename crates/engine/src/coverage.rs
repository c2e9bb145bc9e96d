//! What of a contract's ABI is read, what is silent and why, and what nobody has looked at. It sees the rules and the text of packs, never a
//! transaction.

use std::collections::BTreeSet;
use std::fmt;

use alloy_primitives::B256;
use toml::Spanned;

use crate::evm::erc20::TRANSFER;
use crate::evm::movements::{APPROVAL, DEPOSIT, TRANSFER_BATCH, TRANSFER_OF_ID, TRANSFER_SINGLE, WITHDRAWAL};
use crate::rules::abi::Signature;
use crate::rules::compile::RulePlace;
use crate::rules::file::SurfaceRow;
use crate::rules::{Fault, Pack, Rules};

/// Logs that are read of any contract: what moved, was wrapped or allowed.
const READ_ANYWHERE: [B256; 7] =
    [TRANSFER, TRANSFER_SINGLE, TRANSFER_BATCH, TRANSFER_OF_ID, APPROVAL, DEPOSIT, WITHDRAWAL];
/// Who is named as the reader of these.
const MOVEMENTS: &str = "movements";

const EVENT: &str = "event ";
const INSTRUCTION: &str = "instruction ";

/// One way to act on a contract, or to be told of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entry {
    /// `supply(address,uint256)`
    Function(String),
    Event(String),
    /// Of a Solana program, in snake case.
    Instruction(String),
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Function(text) => f.write_str(text),
            Self::Event(text) => write!(f, "{EVENT}{text}"),
            Self::Instruction(name) => write!(f, "{INSTRUCTION}{name}"),
        }
    }
}

impl Entry {
    /// As a pack writes it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(name) = text.strip_prefix(INSTRUCTION) {
            return Ok(Self::Instruction(name.to_owned()));
        }
        let event = text.strip_prefix(EVENT);
        let plain = event.unwrap_or(text);
        let signature = Signature::call(plain)?;
        if signature.to_string() != plain {
            return Err(format!("`{plain}` is not as an ABI writes it: `{signature}`"));
        }
        Ok(if event.is_some() { Self::Event(plain.to_owned()) } else { Self::Function(plain.to_owned()) })
    }
}

/// An ABI divided by what is known of it.
#[derive(Debug, Default)]
pub struct Coverage {
    /// With the pack whose rule reads it.
    pub read: Vec<(Entry, String)>,
    /// With the reason.
    pub silent: Vec<(Entry, String)>,
    pub unknown: Vec<Entry>,
}

/// How these entries of an ABI divide at contracts of the role.
pub fn coverage(rules: &Rules, pack: &Pack, role: &str, entries: impl IntoIterator<Item = Entry>) -> Coverage {
    let mut coverage = Coverage::default();
    for entry in entries {
        if let Some(by) = reads(rules, pack, role, &entry) {
            coverage.read.push((entry, by.to_owned()));
        } else if let Some(why) = silence(pack, role, &entry) {
            coverage.silent.push((entry, why.to_owned()));
        } else {
            coverage.unknown.push(entry);
        }
    }
    coverage
}

/// Rows of packs that do not divide their entries as the rules do.
pub fn faults(rules: &Rules) -> Vec<Fault> {
    let rows = rules.packs.iter().flat_map(|pack| pack.file.surface.iter().map(move |row| (pack, row)));
    rows.flat_map(|(pack, row)| row_faults(rules, pack, row)).collect()
}

fn row_faults(rules: &Rules, pack: &Pack, row: &SurfaceRow) -> Vec<Fault> {
    let role = row.on.get_ref();
    let fault =
        |at: &Spanned<String>, what| Fault { file: format!("{}.toml", pack.id), line: pack.line(&at.span()), what };
    if !has_role(pack, role) {
        return vec![fault(&row.on, format!("the pack knows no contract in role `{role}`"))];
    }
    let read = row.read.iter().map(|text| (text, true));
    let rest = row.silent.values().flatten().chain(&row.unknown).map(|text| (text, false));
    let mut seen = BTreeSet::new();
    let mut what = |text: &str, says_read: bool| {
        let entry = match Entry::parse(text) {
            Ok(entry) => entry,
            Err(what) => return Some(what),
        };
        let reader = reads(rules, pack, role, &entry);
        let what = match (reader, says_read) {
            (None, true) => Some(format!("no rule reads `{entry}` at role `{role}`")),
            (Some(by), false) => Some(format!("`{entry}` is read at role `{role}`, by {by}")),
            _ => None,
        };
        let is_first = seen.insert(entry);
        what.or_else(|| (!is_first).then(|| format!("`{text}` stands twice")))
    };
    let faults = read.chain(rest).filter_map(|(text, says_read)| {
        let what = what(text.get_ref(), says_read)?;
        Some(fault(text, what))
    });
    faults.collect()
}

/// Who reads the entry at contracts of the role: a pack's rule, or what reads movements.
fn reads<'a>(rules: &'a Rules, pack: &'a Pack, role: &str, entry: &Entry) -> Option<&'a str> {
    let own = rules.packs.iter().position(|one| one.id == pack.id)?;
    let stands_there = |at: usize, place: &RulePlace| match place {
        RulePlace::Anywhere | RulePlace::Called | RulePlace::Paid | RulePlace::Moved => true,
        RulePlace::ListedAs(name) => name == role,
        RulePlace::Role(name) => at == own && name == role,
        RulePlace::WrappedNative => false,
    };
    let id = |at: usize| rules.pack(at).map(|pack| pack.id.as_str());
    match entry {
        Entry::Function(text) => {
            let selector = Signature::call(text).ok()?.selector();
            let mut calls = rules.calls(&selector).iter();
            calls.find(|rule| stands_there(rule.pack, &rule.place)).and_then(|rule| id(rule.pack))
        }
        Entry::Event(text) => {
            let topic0 = Signature::event(text).ok()?.topic0();
            if READ_ANYWHERE.contains(&topic0) {
                return Some(MOVEMENTS);
            }
            let events = rules.events(&topic0).iter().map(|rule| (rule.pack, &rule.place));
            let actors = rules.actors(&topic0).iter().map(|rule| (rule.pack, &rule.place));
            let by_rule = events.chain(actors).find(|(at, place)| stands_there(*at, place));
            by_rule.and_then(|(at, _)| id(at)).or_else(|| reads_balances(rules, pack, role, &topic0))
        }
        Entry::Instruction(name) => {
            let is_named = |text: &Option<Spanned<String>>| text.as_ref().is_some_and(|text| text.get_ref() == name);
            let mut rows = pack.file.instruction.iter();
            rows.any(|row| row.on.get_ref() == role && is_named(&row.anchor)).then_some(pack.id.as_str())
        }
    }
}

/// The same of events that only tell that balances changed.
fn reads_balances<'a>(rules: &Rules, pack: &'a Pack, role: &str, topic0: &B256) -> Option<&'a str> {
    let is_it = |text: &Spanned<String>| Signature::event(text.get_ref()).is_ok_and(|it| it.topic0() == *topic0);
    let supplies = pack.file.supply.iter().filter(|row| row.on.get_ref() == role);
    let nfts = pack.file.nft.iter().filter(|row| row.on.get_ref() == role);
    let mut named = supplies
        .flat_map(|row| [&row.minted, &row.burned])
        .chain(nfts.flat_map(|row| std::iter::once(&row.moved).chain(&row.named)));
    let grows = !rules.accruals(topic0).is_empty() || !rules.rebases(topic0).is_empty();
    (grows || named.any(is_it)).then_some(pack.id.as_str())
}

fn has_role(pack: &Pack, role: &str) -> bool {
    let file = &pack.file;
    file.contracts.contains_key(role)
        || file.created.iter().any(|row| row.role.get_ref() == role)
        || file.proof.iter().any(|row| row.of.get_ref() == role)
}

/// Why a pack leaves the entry unread.
fn silence<'a>(pack: &'a Pack, role: &str, entry: &Entry) -> Option<&'a str> {
    let text = entry.to_string();
    let rows = pack.file.surface.iter().filter(|row| row.on.get_ref() == role);
    let mut reasons = rows.flat_map(|row| &row.silent);
    reasons.find(|(_, entries)| entries.iter().any(|one| *one.get_ref() == text)).map(|(why, _)| why.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACK: &str = r#"
name  = "Mine"
about = "x"
links = ["https://example.org/a", "https://example.org/b"]

[contracts.pool]
ethereum = ["0x00000000000000000000000000000000000000bb"]

[[event]]
on        = "pool"
signature = "Staked(address indexed user, uint256 amount)"
means     = "staking_deposit"
who       = ["user"]
out       = ["@counterparty=amount"]

[[surface]]
on   = "pool"
abi  = "https://example.org/abi"
read = ["event Staked(address,uint256)", "event Transfer(address,address,uint256)"]

[surface.silent]
"Its own event says what it did." = ["stake(uint256)"]
"#;

    fn said(change: (&str, &str)) -> Vec<String> {
        let text = PACK.replacen(change.0, change.1, 1);
        let rules = Rules::of(&[("mine", &text)]).expect("the pack loads");
        faults(&rules).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn entries_divide_into_read_silent_and_unknown() {
        let rules = Rules::of(&[("mine", PACK)]).expect("the pack loads");
        assert_eq!(faults(&rules), []);
        let pack = rules.packs.first().expect("it is there");
        let entries = ["event Staked(address,uint256)", "stake(uint256)", "exit()"];
        let entries = entries.map(|text| Entry::parse(text).expect("an entry"));
        let Coverage { read, silent, unknown } = coverage(&rules, pack, "pool", entries.clone());
        let [staked, stake, exit] = entries;
        assert_eq!(read, [(staked, "mine".to_owned())]);
        assert_eq!(silent, [(stake, "Its own event says what it did.".to_owned())]);
        assert_eq!(unknown, [exit]);
    }

    #[test]
    fn a_row_that_divides_otherwise_is_refused_with_its_line() {
        for (change, expected) in [
            (("stake(uint256)", "event Staked(address,uint256)"), "is read at role `pool`, by mine"),
            (("event Transfer(address,address,uint256)", "exit()"), "no rule reads `exit()` at role `pool`"),
            (("\"stake(uint256)\"", "\"exit()\", \"exit()\""), "`exit()` stands twice"),
            (("stake(uint256)", "stake(uint)"), "is not as an ABI writes it"),
            (("stake(uint256)", "stake("), "does not parse"),
            (("on   = \"pool\"", "on   = \"gauge\""), "the pack knows no contract in role `gauge`"),
        ] {
            let said = said(change);
            assert!(said.iter().any(|fault| fault.contains(expected)), "{expected}: {said:?}");
            assert!(said.iter().all(|fault| fault.starts_with("mine.toml:")), "{said:?}");
        }
    }
}
