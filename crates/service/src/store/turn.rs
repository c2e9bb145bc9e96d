//! A turn is one ledger transaction of a call: it settles hashes that were read, then reserves quota for further ones. `decide` is the
//! rule; SQLite calls it, and PostgreSQL's `taxon_turn` does the same in SQL, so that a turn costs one round trip there.
//!
//! - A hash is counted once per payer and period. Asking again is free: a repeat.
//! - A reservation, or place, belongs to a hash. Two calls in flight for one hash share it.
//! - Counted and reserved hashes together never exceed the limit.
//! - A failed or free hash releases its reservation to the next in line, in the same turn. A hash that was read without one takes one when
//!   it is settled, in order, or is refused.

/// Who pays, and from what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payer {
    pub id: String,
    pub resets: Resets,
    /// `None`: metered, never refused.
    pub limit: Option<i64>,
}

impl Payer {
    /// The payer of an address that calls without a key.
    pub fn anonymous(address: &str, limit: i64) -> Self {
        Self { id: format!("{ANONYMOUS}{address}"), resets: Resets::Daily, limit: Some(limit) }
    }

    pub fn is_anonymous(&self) -> bool {
        self.id.starts_with(ANONYMOUS)
    }
}

/// No owner's id has a colon.
const ANONYMOUS: &str = "anon:";

/// How long a pool lasts: a UTC calendar day or month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = QuotaResets)]
pub enum Resets {
    Daily,
    Monthly,
}

impl Resets {
    pub fn name(self) -> &'static str {
        match self {
            Self::Daily => "daily",
            Self::Monthly => "monthly",
        }
    }

    /// The period as the ledger writes it; later periods sort later.
    pub fn period(self, millis: i64) -> String {
        let at = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
        let date = at.to_string();
        let chars = match self {
            Self::Daily => "2026-11-15".len(),
            Self::Monthly => "2026-11".len(),
        };
        date.chars().take(chars).collect()
    }
}

#[derive(Debug, Clone)]
pub struct Turn {
    pub payer: Payer,
    /// The period in which the call made its reservations; `None` on its first turn.
    pub period: Option<String>,
    pub call_id: String,
    /// Empty for anonymous callers.
    pub key_id: String,
    pub request_id: String,
    /// Whether metered classifications are written as events.
    pub has_sink: bool,
    /// Distinct hashes.
    pub settled: Vec<Settled>,
    /// Distinct hashes, in the order in which quota is reserved for them; none of them is settled in the same turn.
    pub wanted: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct Settled {
    pub hash: String,
    pub outcome: SettleOutcome,
    pub category: String,
    pub chain: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettleOutcome {
    Billable,
    Free,
    /// It failed, and counts as never asked.
    Void,
}

impl SettleOutcome {
    /// As PostgreSQL's function takes it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Billable => "billable",
            Self::Free => "free",
            Self::Void => "void",
        }
    }
}

/// How a settled hash was written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posted {
    Billed,
    Free,
    /// The ledger had a row of it already.
    Repeat,
    Void,
    /// It had no reservation, or an expired one, and no quota is left: the answer must not be sent.
    Refused,
}

/// What a wanted hash got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant {
    Held,
    Repeat,
    Refused,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turned {
    pub period: String,
    /// One for each settled hash, in order.
    pub posted: Vec<Posted>,
    /// One for each wanted hash, in order.
    pub granted: Vec<Grant>,
}

/// What the ledger knows of a hash before the turn.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HashState {
    pub(super) is_entered: bool,
    /// Reserved by this call.
    pub(super) is_own: bool,
    /// Reserved by another call.
    pub(super) is_shared: bool,
}

impl HashState {
    fn has_place(self) -> bool {
        self.is_own || self.is_shared
    }
}

/// `free` is the limit less what is counted and reserved, or `None` without a limit; `seen` is of the settled hashes and then of the wanted
/// ones.
pub(super) fn decide(turn: &Turn, free: Option<i64>, seen: &[HashState]) -> (Vec<Posted>, Vec<Grant>) {
    let mut free = free.unwrap_or(i64::MAX);
    let (settled, wanted) = seen.split_at(turn.settled.len().min(seen.len()));
    let mut posted = Vec::with_capacity(settled.len());
    for (row, seen) in turn.settled.iter().zip(settled) {
        posted.push(match row.outcome {
            SettleOutcome::Billable | SettleOutcome::Free if seen.is_entered => Posted::Repeat,
            // A hash without a reservation needs quota for one, even if it turns out free.
            _ if !seen.has_place() && free < 1 => Posted::Refused,
            SettleOutcome::Void => {
                free = free.saturating_add(i64::from(seen.is_own && !seen.is_shared));
                Posted::Void
            }
            SettleOutcome::Free => {
                free = free.saturating_add(i64::from(seen.has_place()));
                Posted::Free
            }
            SettleOutcome::Billable => {
                free = free.saturating_sub(i64::from(!seen.has_place()));
                Posted::Billed
            }
        });
    }
    let granted = wanted.iter().map(|seen| match seen.is_entered {
        true => Grant::Repeat,
        false if seen.has_place() || take(&mut free) => Grant::Held,
        false => Grant::Refused,
    });
    (posted, granted.collect())
}

fn take(free: &mut i64) -> bool {
    let has_one = *free >= 1;
    *free = free.saturating_sub(i64::from(has_one));
    has_one
}
