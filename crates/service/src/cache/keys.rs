//! Under what name something is kept: what an answer depends on, in memory and on the shelf.

use alloy_primitives::hex;
use chains::Fetched;
use engine::{Account, Policy, Question, TxHash};
use sha2::{Digest, Sha256};

use super::Wanted;

/// A transaction, and the chain that it was asked for on: `None` for one that no other chain can hold, whoever asks for it there or
/// without a chain. Where it was asked for on another chain, it is that chain's absence which was shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    hash: TxHash,
    pinned: Option<String>,
}

/// Everything that a verdict depends on beside facts and rules.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Asked {
    pub(super) place: Place,
    wallet: Option<Account>,
    /// A digest, for there may be a thousand of them.
    own_wallets: Option<[u8; 32]>,
    policy: Policy,
    explain: bool,
}

impl<'a> Wanted<'a> {
    /// Where an answer may stand.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> + use<'a> {
        let (hash, pinned) = (self.hash, self.pinned);
        let anywhere = Place { hash, pinned: None };
        std::iter::once(anywhere).chain(pinned.map(|slug| Place { hash, pinned: Some(slug.to_owned()) }))
    }

    /// The same for verdicts.
    pub(super) fn asked(&self) -> impl Iterator<Item = Asked> + use<'a> {
        let question = self.question;
        self.places().map(|place| Asked::new(place, question))
    }
}

impl Place {
    /// A transaction that may come to stand on further chains is kept only for whoever names the chain.
    pub(super) fn of(hash: TxHash, pinned: Option<&str>, fetched: &Fetched) -> Option<Self> {
        let slug = fetched.chain().slug.as_str();
        match pinned {
            Some(pinned) if pinned != slug || !fetched.is_unique() => {
                Some(Self { hash, pinned: Some(pinned.to_owned()) })
            }
            None if !fetched.is_unique() => None,
            Some(_) | None => Some(Self { hash, pinned: None }),
        }
    }

    /// Whether what stands here, and is of this chain, answers who asked on that one.
    pub(super) fn answers(&self, chain: &str, pinned: Option<&str>) -> bool {
        self.pinned.is_some() || pinned.is_none_or(|pinned| pinned == chain)
    }

    /// As it stands on the shelf.
    pub(super) fn key(&self) -> String {
        match &self.pinned {
            None => self.hash.to_string(),
            Some(slug) => format!("{}@{slug}", self.hash),
        }
    }
}

impl Asked {
    pub(super) fn new(place: Place, question: &Question) -> Self {
        let digest = |wallets: &[Account]| {
            let mut hash = Sha256::new();
            for wallet in wallets {
                hash.update(wallet.to_string());
                hash.update([0]);
            }
            hash.finalize().into()
        };
        let own_wallets = (!question.own_wallets.is_empty()).then(|| digest(&question.own_wallets));
        Self { place, wallet: question.wallet, own_wallets, policy: question.policy, explain: question.explain }
    }

    /// As it stands on the shelf, where other rules may have written too.
    pub(super) fn key(&self, engine: &str) -> String {
        let Self { place, wallet, own_wallets, policy, explain } = self;
        let whole = format!("{}|{wallet:?}|{own_wallets:?}|{policy:?}|{explain}|{engine}", place.key());
        hex::encode(Sha256::digest(whole))
    }
}
