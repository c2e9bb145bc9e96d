//! The data that a person owns: keys, days and readings.

use engine::TxHash;

use super::{Accounts, Day, OwnerRow, Person, ReadingRow, Recent};
use crate::auth::{self, KeyError};
use crate::store::{Key, Payer, StoreError};

/// Valid keys of one owner at once.
pub(crate) const KEYS_MAX: i64 = 20;
/// Readings per page.
const READINGS_MAX: i64 = 1_000;
/// Longest search text in bytes; a longer one finds nothing.
const TEXT_BYTES_MAX: usize = 200;

/// Characters that occur in no identifier and no search. PostgreSQL rejects NUL in any text.
pub(super) fn is_plain(text: &str) -> bool {
    text.len() <= TEXT_BYTES_MAX && !text.chars().any(char::is_control)
}

impl Accounts {
    /// The person's own tier, pool and what is used of it.
    pub(crate) async fn owner(&self, person: &Person) -> Result<Option<OwnerRow>, StoreError> {
        self.store.owner(&person.owner_id).await
    }

    /// Newest first, the revoked ones last.
    pub(crate) async fn keys(&self, person: &Person) -> Result<Vec<Key>, StoreError> {
        self.store.owner_keys(&person.owner_id).await
    }

    /// On the person's own tier. The key's text is returned only here.
    pub(crate) async fn create_key(&self, person: &Person, name: &str) -> Result<String, KeyError> {
        let name = auth::checked_name(name)?;
        let (id, key) = auth::new_key();
        let hash = auth::hash(&key);
        if !self.store.create_owner_key(&person.owner_id, &id, &hash, name, KEYS_MAX).await? {
            return Err(KeyError::TooMany);
        }
        Ok(key)
    }

    pub(crate) async fn rename_key(&self, person: &Person, id: &str, name: &str) -> Result<bool, KeyError> {
        let name = auth::checked_name(name)?;
        Ok(is_plain(id) && self.store.rename_owner_key(&person.owner_id, id, name).await?)
    }

    /// False where the person has no such key.
    pub(crate) async fn revoke_key(&self, person: &Person, id: &str) -> Result<bool, StoreError> {
        Ok(is_plain(id) && self.store.revoke_owner_key(&person.owner_id, id).await?)
    }

    /// The last `days` UTC days, today included, oldest first.
    pub(crate) async fn usage(&self, owner_id: &str, days: u32) -> Result<Vec<Day>, StoreError> {
        self.store.usage(owner_id, days).await
    }

    /// Readings by the date of the transaction, the newest first. A page starts after the cursor of the last row of the page before.
    pub(crate) async fn recent(
        &self,
        owner_id: &str,
        filter: &Recent,
        limit: i64,
    ) -> Result<Vec<ReadingRow>, StoreError> {
        let cursor = filter.before.iter().flat_map(|(_, hash, wallet)| [hash, wallet]);
        if !cursor.chain(&filter.text).all(|text| is_plain(text)) {
            return Ok(Vec::new());
        }
        self.store.readings(owner_id, filter, limit.clamp(0, READINGS_MAX)).await
    }

    /// Whether the payer, with an account or without, has had this transaction classified in this period.
    pub(crate) async fn was_classified(&self, payer: &Payer, hash: &TxHash) -> Result<bool, StoreError> {
        self.store.was_classified(payer, &hash.to_string()).await
    }
}
