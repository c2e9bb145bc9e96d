//! What is left in a caller's pool. It consumes nothing, and a number here is never made up.

use std::sync::Arc;

use engine::TxHash;
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::store::{PoolUsage, Resets};

/// Which quota identity answered. `dev` is every pooled key, whatever its tier.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum QuotaKind {
    Anon,
    Dev,
    Partner,
}

/// What is left: of a pool, or, for partner keys, that a billing rail counts.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum QuotaStatus {
    Pool(PoolStatus),
    Partner(PartnerStatus),
}

/// A pool of billable classifications.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PoolStatus {
    kind: QuotaKind,
    /// Distinct billable classifications of this period. Null when the hash that was asked for is a repeat.
    #[schema(required, minimum = 0)]
    used: Option<i64>,
    /// Size of the pool.
    #[schema(minimum = 0)]
    limit: i64,
    /// `limit` minus `used`, at least 0. Null when the hash that was asked for is a repeat.
    #[schema(required, minimum = 0)]
    remaining: Option<i64>,
    /// With `hash` only: true when that hash was counted in this period, so that asking again is free.
    repeat: bool,
    /// True when the pool is exhausted. Repeats are still served.
    exceeded: bool,
    resets: Resets,
}

impl PoolStatus {
    pub(crate) fn limit(&self) -> i64 {
        self.limit
    }

    /// Where no hash was asked for.
    pub(crate) fn used_now(&self) -> i64 {
        self.used.unwrap_or_default()
    }

    pub(crate) fn left(&self) -> i64 {
        self.remaining.unwrap_or_default()
    }
}

/// A partner key is never refused for quota.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PartnerStatus {
    kind: QuotaKind,
    /// Always `billing-rail`.
    #[schema(value_type = String, pattern = "^billing-rail$")]
    metered: &'static str,
    /// With `hash` only: true when that hash was counted in this period.
    repeat: bool,
    /// Always false.
    exceeded: bool,
}

/// Whose pool is asked for.
#[derive(Debug, Clone)]
pub(crate) enum Asker {
    /// The owner of a key, or whoever is signed in.
    Keyed(Arc<Caller>),
    Anonymous(Arc<Caller>),
}

impl App {
    pub(crate) async fn quota_status(&self, asker: &Asker, hash: Option<&str>) -> Result<QuotaStatus, ApiError> {
        let hash = hash.map(TxHash::parse).transpose().map_err(|error| ApiError::invalid_hash(&error))?;
        let (caller, kind) = match asker {
            Asker::Keyed(caller) => (caller, QuotaKind::Dev),
            Asker::Anonymous(caller) => (caller, QuotaKind::Anon),
        };
        let hash = hash.map(|hash| hash.to_string());
        let PoolUsage { used, is_counted } = self.store.pool_usage(&caller.payer, hash.as_deref()).await?;
        let Some(limit) = caller.payer.limit else {
            let status = PartnerStatus {
                kind: QuotaKind::Partner,
                metered: "billing-rail",
                repeat: is_counted,
                exceeded: false,
            };
            return Ok(QuotaStatus::Partner(status));
        };
        Ok(QuotaStatus::Pool(PoolStatus {
            kind,
            used: (!is_counted).then_some(used),
            limit,
            remaining: (!is_counted).then_some((limit - used).max(0)),
            repeat: is_counted,
            exceeded: used >= limit,
            resets: caller.payer.resets,
        }))
    }
}
