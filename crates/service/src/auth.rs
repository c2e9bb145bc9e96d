//! API keys: made, stored as hashes, checked on every call. A key is shown once and never stored.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::ValueEnum;
use rand::Rng;
use rand::distr::{Alphanumeric, SampleString};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::store::{Billing, Key, NewKey, OwnerRow, Payer, Resets, Store, StoreError};

const ID_CHARS: usize = 8;
const SECRET_CHARS: usize = 32;
const PREFIX: &str = "txn_";
/// `txn_` + 8 + `_` + 32.
const KEY_CHARS: usize = PREFIX.len() + ID_CHARS + 1 + SECRET_CHARS;
const EMAIL_BYTES_MAX: usize = 254;
const NAME_BYTES_MAX: usize = 200;
/// A key that was valid this long ago is still accepted from the cache; a revoked one is refused within a second on every instance.
const REMEMBERED: Duration = Duration::from_millis(500);
const REMEMBERED_KEYS_MAX: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Tier {
    Dev,
    Pro,
    Platform,
    Enterprise,
    Partner,
}

impl Tier {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::value_variants().iter().copied().find(|tier| tier.name() == name)
    }

    /// Billable classifications a month. Enterprise is the smallest committed volume, unless a contract says otherwise; a partner is
    /// metered.
    fn pool(self, pool_dev: i64) -> i64 {
        match self {
            Self::Dev => pool_dev,
            Self::Pro => 25_000,
            Self::Platform => 120_000,
            Self::Enterprise => 250_000,
            Self::Partner => i64::MAX,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Pro => "pro",
            Self::Platform => "platform",
            Self::Enterprise => "enterprise",
            Self::Partner => "partner",
        }
    }
}

/// The caller: with a valid key, signed in, or known by address only.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) key_id: String,
    pub(crate) payer: Payer,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyError {
    #[error("`{0}` is not an e-mail address")]
    Email(String),
    #[error("a name has at most {NAME_BYTES_MAX} bytes and no control characters")]
    Name,
    #[error("no key is called `{0}`")]
    Unknown(String),
    #[error("as many keys stand as one owner may have: revoke one first")]
    TooMany,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// By the key's hash: when it was found to be valid, and whose it is.
type Remembered = HashMap<[u8; 32], (Instant, Arc<Caller>)>;

/// Checks keys, and caches for a moment which were valid.
#[derive(Debug)]
pub(crate) struct Auth {
    store: Store,
    pool_dev: i64,
    remembered: Mutex<Remembered>,
    /// When keys were last used, buffered until it is written.
    used: Mutex<HashMap<String, i64>>,
}

impl Auth {
    pub(crate) fn new(store: Store, pool_dev: i64) -> Self {
        Self { store, pool_dev, remembered: Mutex::default(), used: Mutex::default() }
    }

    /// Who presents a valid key; `None` for anything else.
    pub(crate) async fn caller(&self, presented: &str) -> Result<Option<Arc<Caller>>, StoreError> {
        let Some(id) = id_of(presented) else { return Ok(None) };
        let hash: [u8; 32] = Sha256::digest(presented.as_bytes()).into();
        if let Some(caller) = self.recall(&hash) {
            self.note_use(&caller.key_id);
            return Ok(Some(caller));
        }
        let asked_at = Instant::now();
        let key = self.store.key(id).await?.filter(|key| key.revoked_at.is_none() && key.hash == hash);
        let Some(key) = key else { return Ok(None) };
        let caller = Arc::new(self.caller_of(key));
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= REMEMBERED_KEYS_MAX {
            remembered.clear();
        }
        remembered.insert(hash, (asked_at, Arc::clone(&caller)));
        drop(remembered);
        self.note_use(&caller.key_id);
        Ok(Some(caller))
    }

    fn recall(&self, hash: &[u8; 32]) -> Option<Arc<Caller>> {
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, caller) = remembered.get(hash)?;
        (since.elapsed() < REMEMBERED).then(|| Arc::clone(caller))
    }

    /// Who has the key of this name; nobody where it was revoked.
    pub(crate) async fn caller_of_key(&self, id: &str) -> Result<Option<Arc<Caller>>, StoreError> {
        let key = self.store.key(id).await?.filter(|key| key.revoked_at.is_none());
        Ok(key.map(|key| Arc::new(self.caller_of(key))))
    }

    fn caller_of(&self, key: Key) -> Caller {
        let limit = match &key.billing {
            Billing::Metered => None,
            Billing::Pool { tier, contracted } => Some(self.pool(tier, *contracted)),
        };
        Caller { key_id: key.id, payer: Payer { id: key.owner_id, resets: Resets::Monthly, limit } }
    }

    /// Billable classifications a month of an owner on this tier.
    pub(crate) fn pool(&self, tier: &str, contracted: Option<i64>) -> i64 {
        // An unknown tier, written by a newer taxon, counts as the smallest.
        let tier = Tier::parse(tier).unwrap_or(Tier::Dev);
        contracted.unwrap_or_else(|| tier.pool(self.pool_dev))
    }

    /// An owner who calls without a key, signed in: the owner's pool pays.
    pub(crate) fn owner_caller(&self, owner: &OwnerRow) -> Caller {
        let limit = Some(self.pool(&owner.tier, owner.pool));
        Caller { key_id: String::new(), payer: Payer { id: owner.id.clone(), resets: Resets::Monthly, limit } }
    }

    fn note_use(&self, key_id: &str) {
        let now = jiff::Timestamp::now().as_millisecond();
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        match used.get_mut(key_id) {
            Some(at) => *at = now,
            None => drop(used.insert(key_id.to_owned(), now)),
        }
    }

    /// Writes when keys were last used, in one batch in the background, so that no request waits for it.
    pub(crate) async fn write_uses(&self) -> Result<(), StoreError> {
        let used = std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner));
        if used.is_empty() {
            return Ok(());
        }
        let written: Vec<(String, i64)> = used.into_iter().collect();
        let done = self.store.touch_keys(&written).await;
        if done.is_err() {
            // Kept for the next attempt; uses since then are newer and win.
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            for (id, at) in written {
                used.entry(id).or_insert(at);
            }
        }
        done
    }
}

/// A key as it was made.
pub(crate) struct MadeKey {
    /// It cannot be read again.
    pub(crate) text: String,
    /// Somebody had signed up at the owner's address without showing that it is theirs, and has lost it.
    pub(crate) has_displaced_sign_up: bool,
}

impl std::fmt::Debug for MadeKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MadeKey (redacted)")
    }
}

pub(crate) async fn create(
    store: &Store,
    email: &str,
    tier: Tier,
    name: &str,
    contracted: Option<i64>,
) -> Result<MadeKey, KeyError> {
    if !is_email(email) {
        return Err(KeyError::Email(email.chars().filter(|c| !c.is_control()).take(80).collect()));
    }
    let name = checked_name(name)?;
    let (id, key) = new_key();
    let billing = match tier {
        Tier::Partner => Billing::Metered,
        pooled => Billing::Pool { tier: pooled.name().to_owned(), contracted },
    };
    let new = NewKey {
        id,
        hash: hash(&key),
        email: email.to_lowercase(),
        name: name.to_owned(),
        owner_id: new_owner_id(),
        billing,
    };
    let has_displaced_sign_up = store.create_key(&new).await?;
    Ok(MadeKey { text: key, has_displaced_sign_up })
}

/// The 8 characters that name it, and the key.
pub(crate) fn new_key() -> (String, String) {
    let id = Alphanumeric.sample_string(&mut rand::rng(), ID_CHARS);
    let key = format!("{PREFIX}{id}_{}", Alphanumeric.sample_string(&mut rand::rng(), SECRET_CHARS));
    (id, key)
}

/// The hash under which a key is stored.
pub(crate) fn hash(key: &str) -> Vec<u8> {
    Sha256::digest(key.as_bytes()).to_vec()
}

/// Random, so that it reveals nothing about the person.
pub(crate) fn new_owner_id() -> String {
    format!("{:032x}", rand::rng().random::<u128>())
}

/// By the 8 characters that name it, or by the key itself.
pub(crate) async fn revoke(store: &Store, id_or_key: &str) -> Result<String, KeyError> {
    let id = id_of(id_or_key).unwrap_or(id_or_key);
    if !store.revoke_key(id).await? {
        return Err(unknown(id));
    }
    Ok(id.to_owned())
}

pub(crate) async fn rename(store: &Store, id_or_key: &str, name: &str) -> Result<String, KeyError> {
    let id = id_of(id_or_key).unwrap_or(id_or_key);
    if !store.rename_key(id, checked_name(name)?).await? {
        return Err(unknown(id));
    }
    Ok(id.to_owned())
}

/// The input may be a mistyped key, so it is not echoed.
fn unknown(id: &str) -> KeyError {
    KeyError::Unknown(id.chars().filter(|c| !c.is_control()).take(ID_CHARS).collect())
}

/// The 8 characters that name a key, if the text has exactly the shape of one.
fn id_of(text: &str) -> Option<&str> {
    if text.len() != KEY_CHARS {
        return None;
    }
    let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
    let is_base62 = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (id.len() == ID_CHARS && is_base62(id) && is_base62(secret)).then_some(id)
}

pub(crate) fn checked_name(name: &str) -> Result<&str, KeyError> {
    let fits = name.len() <= NAME_BYTES_MAX && !name.chars().any(char::is_control);
    fits.then_some(name).ok_or(KeyError::Name)
}

pub(crate) fn is_email(text: &str) -> bool {
    let parts = text.split_once('@');
    let is_plain = text.chars().all(|c| !c.is_control() && !c.is_whitespace());
    text.len() <= EMAIL_BYTES_MAX
        && is_plain
        && parts.is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty() && !domain.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_shape_is_a_key() {
        let good = format!("txn_{}_{}", "a1B2c3D4", "x".repeat(32));
        assert_eq!(id_of(&good), Some("a1B2c3D4"));
        let long = "x".repeat(10_000_000);
        for bad in
            ["", "txn_", &good[1..], &format!("{good}x"), &good.replace("_x", "-x"), &good.replace('a', "\0"), &long]
        {
            assert!(id_of(bad).is_none());
        }
    }

    #[test]
    fn an_owner_is_an_address() {
        assert!(is_email("<b>a</b>@example.com"), "markup is stored as it is and escaped where it is shown");
        for bad in ["", "nobody", "@", "a@", "@b", "a@b@c", "a b@c", "a\n@c", &format!("{}@c", "a".repeat(300))] {
            assert!(!is_email(bad), "{bad}");
        }
    }
}
