//! Owners as the operator sees them, and the keys of one owner. Every statement on keys names the owner, so the keys of others cannot be
//! reached.

use super::{Key, KeyRow, Resets, Store, StoreError, from_row, lock_owner, on};

/// Revoked keys of one owner that are still listed; with one more the oldest goes.
const REVOKED_MAX: i64 = 100;

/// One owner with the number of valid keys and the usage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerRow {
    pub id: String,
    pub email: String,
    pub tier: String,
    /// A contracted volume; without one the tier's own size applies.
    pub pool: Option<i64>,
    pub has_account: bool,
    pub is_operator: bool,
    /// Whoever has the account only signed up, and never showed that the address is theirs.
    pub is_unproved: bool,
    /// Valid keys.
    pub keys: i64,
    /// Billed to the pool this month.
    pub used: i64,
    /// Seconds since 1970.
    pub created_at: i64,
}

from_row!(OwnerRow: id, email, tier, pool, has_account, is_operator, is_unproved, keys, used, created_at);

macro_rules! owner_rows {
    ($which:literal) => {
        concat!(
            "SELECT owners.id, owners.email, owners.tier, owners.pool, owners.created_at,
                    accounts.owner_id IS NOT NULL AS has_account,
                    coalesce(accounts.is_operator, FALSE) AS is_operator,
                    accounts.owner_id IS NOT NULL AND accounts.proved_at IS NULL AND NOT accounts.is_operator AS is_unproved,
                    (SELECT count(*) FROM keys WHERE keys.owner_id = owners.id AND keys.revoked_at IS NULL) AS keys,
                    coalesce((SELECT pools.used FROM pools WHERE pools.payer = owners.id AND pools.period = $1), 0) AS used
             FROM owners LEFT JOIN accounts ON accounts.owner_id = owners.id WHERE ",
            $which
        )
    };
}

impl Store {
    /// Owners after this address, in the order of their addresses. Those who left have none.
    pub async fn owners(&self, after: Option<&str>, limit: i64) -> Result<Vec<OwnerRow>, StoreError> {
        let month = Resets::Monthly.period(self.now().await?);
        on!(self, store => {
            let rows = sqlx::query_as(owner_rows!(
                "owners.email > $2 AND owners.email LIKE '%@%' ORDER BY owners.email LIMIT $3"
            ));
            Ok(rows.bind(month).bind(after.unwrap_or_default()).bind(limit).fetch_all(store.pool()).await?)
        })
    }

    pub async fn owner(&self, id: &str) -> Result<Option<OwnerRow>, StoreError> {
        let month = Resets::Monthly.period(self.now().await?);
        on!(self, store => {
            let row = sqlx::query_as(owner_rows!("owners.id = $2 AND owners.email LIKE '%@%'"));
            Ok(row.bind(month).bind(id).fetch_optional(store.pool()).await?)
        })
    }

    /// False where there is no such owner, or nobody showed that the account's address is theirs.
    pub async fn set_tier(&self, owner_id: &str, tier: &str, pool: Option<i64>) -> Result<bool, StoreError> {
        on!(self, store => {
            let set = sqlx::query(
                "UPDATE owners SET tier = $2, pool = $3 WHERE id = $1 AND email LIKE '%@%'
                     AND id NOT IN (SELECT owner_id FROM accounts WHERE proved_at IS NULL AND NOT is_operator)",
            );
            let done = set.bind(owner_id).bind(tier).bind(pool).execute(store.pool()).await?;
            Ok(done.rows_affected() == 1)
        })
    }

    /// Newest first, the revoked ones last.
    pub async fn owner_keys(&self, owner_id: &str) -> Result<Vec<Key>, StoreError> {
        on!(self, store => {
            let rows: Vec<KeyRow> = sqlx::query_as(
                "SELECT keys.*, owners.email, owners.tier, owners.pool FROM keys JOIN owners ON owners.id = keys.owner_id
                 WHERE keys.owner_id = $1 ORDER BY keys.revoked_at IS NOT NULL, keys.created_at DESC, keys.id",
            )
            .bind(owner_id)
            .fetch_all(store.pool())
            .await?;
            Ok(rows.into_iter().map(Key::from).collect())
        })
    }

    /// Adds a key on the owner's own tier; false where the owner has `most` valid ones already.
    pub async fn create_owner_key(
        &self,
        owner_id: &str,
        id: &str,
        hash: &[u8],
        name: &str,
        most: i64,
    ) -> Result<bool, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let mut transaction = store.begin().await?;
            // Locks the row: two concurrent calls that make a key are serialised here.
            lock_owner!(transaction, owner_id);
            let made = sqlx::query(
                "INSERT INTO keys (id, owner_id, hash, name, created_at)
                 SELECT $1, owners.id, $3, $4, $5 FROM owners WHERE owners.id = $2 AND owners.email LIKE '%@%'
                     AND (SELECT count(*) FROM keys WHERE keys.owner_id = $2 AND keys.revoked_at IS NULL) < $6",
            )
            .bind(id)
            .bind(owner_id)
            .bind(hash)
            .bind(name)
            .bind(now / 1000)
            .bind(most)
            .execute(&mut *transaction)
            .await?;
            sqlx::query(
                "DELETE FROM keys WHERE owner_id = $1 AND revoked_at IS NOT NULL AND id NOT IN (
                     SELECT id FROM keys WHERE owner_id = $1 AND revoked_at IS NOT NULL ORDER BY revoked_at DESC, id LIMIT $2)",
            )
            .bind(owner_id)
            .bind(REVOKED_MAX)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(made.rows_affected() == 1)
        })
    }

    pub async fn rename_owner_key(&self, owner_id: &str, id: &str, name: &str) -> Result<bool, StoreError> {
        on!(self, store => {
            let done = sqlx::query("UPDATE keys SET name = $3 WHERE id = $2 AND owner_id = $1");
            let done = done.bind(owner_id).bind(id).bind(name).execute(store.pool()).await?;
            Ok(done.rows_affected() == 1)
        })
    }

    /// Whether the owner has such a key. Revoking twice keeps the first time.
    pub async fn revoke_owner_key(&self, owner_id: &str, id: &str) -> Result<bool, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let done = sqlx::query("UPDATE keys SET revoked_at = coalesce(revoked_at, $3) WHERE id = $2 AND owner_id = $1");
            let done = done.bind(owner_id).bind(id).bind(now / 1000).execute(store.pool()).await?;
            Ok(done.rows_affected() == 1)
        })
    }

    /// How many keys were valid.
    pub async fn revoke_owner_keys(&self, owner_id: &str) -> Result<u64, StoreError> {
        let now = self.now().await?;
        on!(self, store => {
            let done = sqlx::query("UPDATE keys SET revoked_at = $2 WHERE owner_id = $1 AND revoked_at IS NULL");
            let done = done.bind(owner_id).bind(now / 1000).execute(store.pool()).await?;
            Ok(done.rows_affected())
        })
    }
}
