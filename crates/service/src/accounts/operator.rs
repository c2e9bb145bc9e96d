//! What only the operator may do.

use super::{AccountError, Accounts, OFF, ON, OwnerRow, Person, SIGN_UP, own};
use crate::auth::Tier;
use crate::store::StoreError;

const OWNERS_MAX: i64 = 1_000;

/// Proof that the caller is an operator: only `Person::operator` makes one.
#[derive(Debug)]
pub(crate) struct Operator(());

impl Person {
    pub(crate) fn operator(&self) -> Option<Operator> {
        self.is_operator.then_some(Operator(()))
    }
}

impl Accounts {
    pub(crate) async fn set_sign_up(&self, _: &Operator, open: bool) -> Result<(), StoreError> {
        self.store.set_setting(SIGN_UP, if open { ON } else { OFF }).await
    }

    /// After this e-mail address, in their order.
    pub(crate) async fn owners(
        &self,
        _: &Operator,
        after: Option<&str>,
        limit: i64,
    ) -> Result<Vec<OwnerRow>, StoreError> {
        let after = after.filter(|after| own::is_plain(after));
        self.store.owners(after, limit.clamp(0, OWNERS_MAX)).await
    }

    /// False where there is no such owner, or its address is not confirmed. A partner's keys are metered one by one, so it is no tier of an owner.
    pub(crate) async fn set_tier(
        &self,
        _: &Operator,
        owner_id: &str,
        tier: Tier,
        pool: Option<i64>,
    ) -> Result<bool, AccountError> {
        if tier == Tier::Partner {
            return Err(AccountError::Invalid("Partner keys are made on the command line: taxon keys create."));
        }
        if pool.is_some_and(|pool| pool < 0) {
            return Err(AccountError::Invalid("A pool is not less than nothing."));
        }
        if !own::is_plain(owner_id) {
            return Ok(false);
        }
        Ok(self.store.set_tier(owner_id, tier.name(), pool).await?)
    }

    /// Revokes all keys of an owner and tells how many were valid.
    pub(crate) async fn revoke_all(&self, _: &Operator, owner_id: &str) -> Result<u64, StoreError> {
        if !own::is_plain(owner_id) {
            return Ok(0);
        }
        self.store.revoke_owner_keys(owner_id).await
    }
}
