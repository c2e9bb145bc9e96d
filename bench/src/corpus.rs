//! The transactions that owners ask for, and which of them an owner has asked for before.

use futures_util::future::try_join_all;
use rand::Rng;
use rand::rngs::SmallRng;

use crate::client::{self, Client};
use crate::upstream::Recording;

/// Transactions in a call.
pub const BATCH: usize = 100;
/// Those of them that are new to the owner's ledger.
pub const NEW: usize = BATCH / 2;
/// Every so many-th transaction is one of Solana.
const SOLANA_EVERY: usize = 4;
const AT_ONCE: usize = 4;

#[derive(Debug)]
pub struct Corpus {
    hashes: Vec<String>,
    owners: usize,
}

impl Corpus {
    /// An owner can make one call for every 50 transactions before it has had them all.
    pub fn new(recording: &Recording, owners: usize, count: usize) -> Self {
        let hash = |at: usize| {
            let number = u64::try_from(at).unwrap_or_default();
            if at.is_multiple_of(SOLANA_EVERY) { recording.solana_hash(number) } else { recording.evm_hash(number) }
        };
        Self { hashes: (0..count).map(hash).collect(), owners }
    }

    pub fn hashes(&self) -> &[String] {
        &self.hashes
    }

    /// What its owner asked for before anything is measured.
    pub fn first(&self, owner: usize) -> Vec<String> {
        (0..NEW).map(|place| self.at(owner, place)).collect()
    }

    /// As many that the owner has had as ones that it has not, in turn.
    pub fn call(&self, owner: usize, call: usize, random: &mut SmallRng) -> Vec<String> {
        let known = NEW * (call + 1);
        let new = (known..known + NEW).map(|place| self.at(owner, place));
        let mut had: Vec<usize> = Vec::with_capacity(NEW);
        while had.len() < NEW {
            let place = random.random_range(0..known);
            if !had.contains(&place) {
                had.push(place);
            }
        }
        let had = had.into_iter().map(|place| self.at(owner, place));
        new.zip(had).flat_map(|(new, had)| [new, had]).collect()
    }

    /// An owner goes through the transactions in order, from a place of its own.
    fn at(&self, owner: usize, place: usize) -> String {
        let start = owner * self.hashes.len() / self.owners.max(1);
        self.hashes.get((start + place) % self.hashes.len().max(1)).cloned().unwrap_or_default()
    }
}

/// Asks for all of them, in as few calls as there can be.
pub async fn ask_once(client: &Client, hashes: &[String]) -> anyhow::Result<()> {
    let calls: Vec<&[String]> = hashes.chunks(BATCH).collect();
    let ask = async |hashes: &[String]| {
        let answer = client.post(client::batch(hashes, None)).await?;
        client::check(&answer, hashes.len())
    };
    for calls in calls.chunks(AT_ONCE) {
        try_join_all(calls.iter().map(|hashes| ask(hashes))).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::SeedableRng;

    use super::*;

    #[test]
    fn half_of_every_call_is_new_to_its_owner() {
        let corpus = Corpus::new(&Recording::demo().unwrap(), 2, 1_000);
        let mut random = SmallRng::seed_from_u64(1);
        for owner in 0..2 {
            let mut had: BTreeSet<String> = corpus.first(owner).into_iter().collect();
            for call in 0..19 {
                let asked = corpus.call(owner, call, &mut random);
                assert_eq!(asked.iter().collect::<BTreeSet<_>>().len(), BATCH);
                assert_eq!(asked.iter().filter(|hash| had.contains(*hash)).count(), NEW, "call {call}");
                had.extend(asked);
            }
        }
    }
}
