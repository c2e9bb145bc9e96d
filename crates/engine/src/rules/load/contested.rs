//! What two packs cannot both say: the verdict would depend on their order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use alloy_primitives::B256;

use super::{Loader, RulePlace};
use crate::asset::Account;
use crate::rules::{Fault, Holder, Pack};

impl Loader {
    /// Two packs that claim the same event of the same contract would make the verdict depend on their order.
    pub(super) fn contested(&mut self) {
        let mut claimed: BTreeMap<(usize, &str), BTreeSet<B256>> = BTreeMap::new();
        for rule in self.events.values().flatten() {
            if let RulePlace::Role(role) = &rule.place {
                claimed.entry((rule.pack, role)).or_default().insert(rule.topic0);
            }
        }
        let mut found = Vec::new();
        for (slug, chain) in &self.chains {
            for (address, holders) in chain.contracts.own().iter().filter(|(_, holders)| holders.len() > 1) {
                let mut claimants: BTreeMap<B256, BTreeSet<usize>> = BTreeMap::new();
                for holder in &**holders {
                    for topic0 in claimed.get(&(holder.pack, &*holder.role)).into_iter().flatten() {
                        claimants.entry(*topic0).or_default().insert(holder.pack);
                    }
                }
                for (topic0, packs) in claimants {
                    let packs: Vec<&Pack> = packs.iter().filter_map(|pack| self.packs.get(*pack)).collect();
                    if let [first, .., last] = packs.as_slice() {
                        found.push(Fault {
                            file: format!("{}.toml", last.id),
                            line: last.line_of(&address.to_string()),
                            what: format!("{} claims event {topic0} of {address} on {slug} too", first.id),
                        });
                    }
                }
            }
        }
        found.sort_by(|a, b| (&a.file, a.line, &a.what).cmp(&(&b.file, b.line, &b.what)));
        self.faults.extend(found);
    }

    /// The same of programs: one pack says what the instructions of a program mean.
    pub(super) fn contested_programs(&mut self) {
        let mut found = Vec::new();
        for (program, holders) in &self.solana.accounts {
            let has_rules =
                |holder: &&Holder| self.solana.instructions.contains_key(&(holder.pack, Arc::clone(&holder.role)));
            let packs: BTreeSet<usize> = holders.iter().filter(has_rules).map(|holder| holder.pack).collect();
            let packs: Vec<&Pack> = packs.iter().filter_map(|pack| self.packs.get(*pack)).collect();
            if let [first, .., last] = packs.as_slice() {
                let program = Account::Solana(*program).to_string();
                let what = format!("{} claims the instructions of {program} too", first.id);
                found.push(Fault { file: format!("{}.toml", last.id), line: last.line_of(&program), what });
            }
        }
        self.faults.extend(found);
    }

    /// The same of deposits: one row says what brings those of a type.
    pub(super) fn contested_deposits(&mut self) {
        let mut found = Vec::new();
        let mut claimed: BTreeMap<Option<u64>, &str> = BTreeMap::new();
        for pack in &self.packs {
            for row in &pack.file.deposit {
                let none = row.kinds.is_empty().then_some(None);
                for kind in row.kinds.iter().copied().map(Some).chain(none) {
                    if let Some(other) = claimed.insert(kind, &pack.id) {
                        let kind = kind.map_or("nobody".to_owned(), |kind| format!("type {kind:#x}"));
                        let what = format!("{other} says what brings deposits of {kind} too");
                        let line = pack.line(&row.protocol.span());
                        found.push(Fault { file: format!("{}.toml", pack.id), line, what });
                    }
                }
            }
        }
        self.faults.extend(found);
    }
}
