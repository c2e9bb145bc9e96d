//! One turn of a call at the ledger: what it settles, then what it wants. `decide` is the rule; SQLite asks it, and PostgreSQL's
//! `taxon_turn` says the same in SQL, so that a turn costs one round trip there.
//!
//! - A hash is counted once per payer and period. Whoever asks again is served free: a repeat.
//! - A place belongs to a hash. Two calls in flight for one hash share its place.
//! - Places are never more than the limit: what is counted and what is held together.
//! - What comes back as failed or free gives its place to the next in line, in the same turn. Who comes back without having had a
//!   place takes one then, in order, or is refused.

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

    /// As it is written in the ledger, so that later periods sort later.
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
    /// The period in which the call took its places; `None` on its first turn.
    pub period: Option<String>,
    pub call_id: String,
    /// Empty for anonymous callers.
    pub key_id: String,
    pub request_id: String,
    /// Whether metered classifications become events.
    pub has_sink: bool,
    /// Distinct hashes.
    pub settled: Vec<Settled>,
    /// Distinct hashes, in the order in which they take places; none of them is settled in the same turn.
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
    /// It failed: as if it had never been asked.
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
    /// It stood in the ledger already.
    Repeat,
    Void,
    /// It had no place, or one that had expired, and none is left: the answer must not be given away.
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
    /// Held by this call.
    pub(super) is_own: bool,
    /// Held by another call.
    pub(super) is_shared: bool,
}

impl HashState {
    fn has_place(self) -> bool {
        self.is_own || self.is_shared
    }
}

/// `free` is the limit less what is counted and held, or `None` without a limit; `seen` is of the settled hashes and then
/// of the wanted ones.
pub(super) fn decide(turn: &Turn, free: Option<i64>, seen: &[HashState]) -> (Vec<Posted>, Vec<Grant>) {
    let mut free = free.unwrap_or(i64::MAX);
    let (settled, wanted) = seen.split_at(turn.settled.len().min(seen.len()));
    let mut posted = Vec::with_capacity(settled.len());
    for (row, seen) in turn.settled.iter().zip(settled) {
        posted.push(match row.outcome {
            SettleOutcome::Billable | SettleOutcome::Free if seen.is_entered => Posted::Repeat,
            // Whoever came without a place needs one to be tried, if only for this moment.
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
