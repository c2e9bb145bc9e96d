//! Cache keys, in memory and on the shelf: everything that an answer depends on.

use alloy_primitives::hex;
use chains::Fetched;
use engine::{Account, Policy, Question, TxHash};
use sha2::{Digest, Sha256};

use super::CacheQuery;

/// A transaction, and the chain that the caller named: `None` for a transaction that no other chain can hold, whether the caller named its
/// chain or none. Where another chain was named, the entry depends on the transaction being absent there, so that chain is in the key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct TxKey {
    hash: TxHash,
    pinned: Option<String>,
}

/// Everything that a verdict depends on beside facts and rules.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct VerdictKey {
    pub(super) place: TxKey,
    wallet: Option<Account>,
    /// A digest, since there may be a thousand of them.
    own_wallets: Option<[u8; 32]>,
    policy: Policy,
    explain: bool,
    review_below: Option<u8>,
}

impl<'a> CacheQuery<'a> {
    /// The keys that an answer may be cached under.
    pub(super) fn places(&self) -> impl Iterator<Item = TxKey> + use<'a> {
        let (hash, pinned) = (self.hash, self.pinned);
        let anywhere = TxKey { hash, pinned: None };
        std::iter::once(anywhere).chain(pinned.map(|slug| TxKey { hash, pinned: Some(slug.to_owned()) }))
    }

    /// The same for verdicts.
    pub(super) fn asked(&self) -> impl Iterator<Item = VerdictKey> + use<'a> {
        let question = self.question;
        self.places().map(|place| VerdictKey::new(place, question))
    }
}

impl TxKey {
    /// A transaction that may appear on further chains is cached only for requests that name the chain.
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

    /// Whether an entry under this key, read from this chain, answers a request that names `pinned`.
    pub(super) fn answers(&self, chain: &str, pinned: Option<&str>) -> bool {
        self.pinned.is_some() || pinned.is_none_or(|pinned| pinned == chain)
    }

    /// As a key of the shelf.
    pub(super) fn key(&self) -> String {
        match &self.pinned {
            None => self.hash.to_string(),
            Some(slug) => format!("{}@{slug}", self.hash),
        }
    }
}

impl VerdictKey {
    pub(super) fn new(place: TxKey, question: &Question) -> Self {
        let digest = |wallets: &[Account]| {
            let mut hash = Sha256::new();
            for wallet in wallets {
                hash.update(wallet.to_string());
                hash.update([0]);
            }
            hash.finalize().into()
        };
        let own_wallets = (!question.own_wallets.is_empty()).then(|| digest(&question.own_wallets));
        Self {
            place,
            wallet: question.wallet,
            own_wallets,
            policy: question.policy,
            explain: question.explain,
            review_below: question.review_below,
        }
    }

    /// As a key of the shelf, where instances with other rules may have written too.
    pub(super) fn key(&self, engine: &str) -> String {
        let Self { place, wallet, own_wallets, policy, explain, review_below } = self;
        let place = place.key();
        let whole = format!("{place}|{wallet:?}|{own_wallets:?}|{policy:?}|{explain}|{review_below:?}|{engine}");
        hex::encode(Sha256::digest(whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_kept_for_its_own_question_only() {
        let hash = TxHash::parse(&format!("0x{}", "1".repeat(64))).unwrap();
        let key = |question: &Question| VerdictKey::new(TxKey { hash, pinned: None }, question);
        let plain = Question::default();
        let others = [
            Question { review_below: Some(70), ..Question::default() },
            Question { review_below: Some(80), ..Question::default() },
            Question { explain: true, ..Question::default() },
        ];
        for (at, one) in others.iter().enumerate() {
            assert_eq!(key(one).key("engine"), key(&one.clone()).key("engine"));
            for other in others.iter().skip(at + 1).chain([&plain]) {
                assert_ne!(key(one), key(other), "in memory");
                assert_ne!(key(one).key("engine"), key(other).key("engine"), "on the shelf");
            }
        }
    }
}
